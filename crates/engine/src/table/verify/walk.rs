//! The verification walk: its steps, its progress, and its handling of errors.

use super::report::TableVerifyReport;
use super::route::RouteCache;
use crate::error::{Cause, Error, Result};
use crate::io::{LenientStorage, LongPieces, PieceShape, Purpose, ReadRequest, ReadableFile, Storage, UnreadablePart};
use crate::table::format::meta as format;
use crate::table::format::meta::{DataSource, Section};
use crate::table::read::context::ReadContext;
use crate::table::read::reader::{Table, TableInner};
use std::sync::Arc;

/// Size of a read in bytes.
pub(super) const READ_RUN_BYTES: u64 = 256 << 10;

/// The state of a verification.
pub(super) struct VerifyWalk<'t> {
    pub(super) inner: &'t TableInner,
    /// The table's own file and that of the blocks, read around what the device cannot read.
    file: Arc<dyn ReadableFile>,
    pub(super) data: Arc<dyn ReadableFile>,
    pub(super) report: TableVerifyReport,
    pub(super) routes: RouteCache,
    /// Whether the record counts could be read; otherwise they are not checked.
    pub(super) has_counts: bool,
    progress: &'t mut dyn FnMut(WalkStep),
    done_bytes: u64,
    total_bytes: u64,
}

/// How far a verification has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkStep {
    /// Bytes checked so far, and in total.
    pub(crate) done_bytes: u64,
    pub(crate) total_bytes: u64,
    /// Records checked so far, from the front.
    pub(crate) records: u64,
}

impl Table {
    /// Verifies the whole table: every checksum, the order of the records, that the index routes every key to its place
    /// within the reads that the file states, and that every byte of the file belongs to a section.
    ///
    /// `progress` receives the number of bytes checked so far and in total. Memory use does not grow with the table.
    /// Nothing is modified. Defects are listed in the report, and the walk continues after them where it can.
    ///
    /// # Errors
    /// Storage errors only. What the device cannot read is a finding, unless it is too much: see [`LenientStorage`].
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<TableVerifyReport> {
        let files = &self.inner.files;
        let mut files = (Arc::clone(files.own()), Arc::clone(files.data()));
        // Half of the memory, so that the rest of the table has some.
        let memory_bytes = self.inner.memory.limit_bytes() / 2;
        if let Some(shape) = PieceShape::for_storage(&**self.inner.files.storage(), memory_bytes) {
            let pieces = LongPieces::new(shape, None);
            let own: Arc<dyn ReadableFile> = pieces.file(Arc::clone(&files.0));
            files.1 = if Arc::ptr_eq(&files.0, &files.1) { Arc::clone(&own) } else { pieces.file(files.1) };
            files.0 = own;
        }
        self.verify_files(files, &mut |step| progress(step.done_bytes, step.total_bytes))
    }

    /// As [`Self::verify`], through the files as the table has them.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn verify_as_open(&self, progress: &mut dyn FnMut(WalkStep)) -> Result<TableVerifyReport> {
        let files = &self.inner.files;
        self.verify_files((Arc::clone(files.own()), Arc::clone(files.data())), progress)
    }

    /// Verifies the table through its own file, and that of the blocks.
    fn verify_files(
        &self,
        (own, data): (Arc<dyn ReadableFile>, Arc<dyn ReadableFile>),
        progress: &mut dyn FnMut(WalkStep),
    ) -> Result<TableVerifyReport> {
        let inner = &*self.inner;
        let beside = if inner.meta.source == DataSource::Own { 0 } else { inner.files.data().len() };
        let lenient = &LenientStorage::over(inner.files.storage());
        let mut walk = VerifyWalk {
            inner,
            file: lenient.file(own),
            data: lenient.file(data),
            report: TableVerifyReport::default(),
            routes: RouteCache::default(),
            has_counts: true,
            progress,
            done_bytes: 0,
            total_bytes: inner.files.own().len() + beside,
        };
        walk.tail()?;
        walk.layers()?;
        walk.filter_pages()?;
        walk.counts()?;
        let coverage = walk.blocks()?;
        walk.space(coverage)?;
        walk.advance(walk.total_bytes - walk.done_bytes);
        let is_read =
            |part: &UnreadablePart| part.path == inner.files.own().path() || part.path == inner.files.data().path();
        // First, since other findings follow from them.
        let found = std::mem::take(&mut walk.report.findings);
        for part in Storage::unreadable(lenient).into_iter().filter(is_read) {
            walk.absorb(Err::<(), _>(part.to_error()))?;
        }
        walk.report.findings.extend(found);
        Ok(walk.report)
    }
}

impl VerifyWalk<'_> {
    /// Advances the progress by `bytes`.
    pub(super) fn advance(&mut self, bytes: u64) {
        self.done_bytes = (self.done_bytes + bytes).min(self.total_bytes);
        let (done_bytes, total_bytes) = (self.done_bytes, self.total_bytes);
        (self.progress)(WalkStep { done_bytes, total_bytes, records: self.report.records });
    }

    /// Reports damage as a finding, and returns other errors.
    pub(super) fn absorb<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error @ Error { cause: Cause::Changed, .. }) => {
                self.report.add(0, format!("{} has changed: {}", error.place().display(), error.detail()));
                Ok(None)
            }
            Err(error @ Error { cause: Cause::Damaged, .. }) => {
                let (path, detail) = (error.place(), error.detail());
                let is_own = path == self.inner.files.own().path();
                let detail = if is_own { detail.to_owned() } else { format!("{}: {detail}", path.display()) };
                self.report.add(error.offset().unwrap_or(0), detail);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Reports a finding in the file that holds the blocks.
    pub(super) fn found_in_data(&mut self, offset: u64, detail: &str) {
        match self.inner.meta.source {
            DataSource::Own => self.report.add(offset, detail),
            _ => self.report.add(offset, format!("{}: {detail}", self.inner.files.data().path().display())),
        }
    }

    /// Reads a section of the table's own file.
    pub(super) fn read(&self, section: Section) -> Result<Vec<u8>> {
        let mut bytes = vec![0; section.bytes as usize];
        self.file.read(ReadRequest { offset: section.offset, buffer: &mut bytes, purpose: Purpose::Walk })?;
        Ok(bytes)
    }

    /// Reads the tail again from storage: the file may have changed since it was opened.
    fn tail(&mut self) -> Result<()> {
        let inner = self.inner;
        let opening = Section { offset: inner.files.opening().offset, bytes: inner.files.opening().bytes };
        let read = self.read(opening)?;
        let tail = match format::decode_tail(inner.files.own().path(), inner.files.own().len(), &read) {
            Err(error @ Error { cause: Cause::NotATable | Cause::Version { .. }, .. }) => {
                self.report.add(inner.files.tail_offset(), error.message());
                return Ok(());
            }
            tail => self.absorb(tail)?,
        };
        if tail
            .is_some_and(|tail| tail.file_id != inner.files.id() || tail.meta != inner.meta || tail.root != inner.root)
        {
            self.report.add(inner.files.tail_offset(), "the file has changed since it was opened");
        }
        self.advance(inner.files.own().len() - inner.files.tail_offset());
        Ok(())
    }

    /// Reads the cumulative counts, which are checked during the walk over the blocks.
    fn counts(&mut self) -> Result<()> {
        let section = self.inner.meta.counts;
        let counts = match section.bytes {
            0 => self.inner.counts(&mut ReadContext::default()),
            // They may have been in memory already.
            _ => self.read(section).and_then(|bytes| self.inner.keep_counts(bytes)),
        };
        self.has_counts = self.absorb(counts.map(|_| ()))?.is_some();
        self.advance(section.bytes);
        Ok(())
    }
}
