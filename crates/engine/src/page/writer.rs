//! The single writer of a page file: segments of the log, the header, and the length of the file.

use super::header::Header;
use super::shared::PageFileShared;
use super::writer_state::{PageWriter, SealedSegment};
use crate::error::{Error, Result};
use crate::io::UpdatableFile;
use crate::log::{SegmentHeader, SegmentId, SegmentWriter};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl PageWriter {
    /// Number of the segment that the next commit goes to.
    pub(super) fn segment_number(&self) -> u32 {
        self.segment.as_ref().map_or(self.next_segment, |segment| segment.segment.number())
    }

    /// Length of the log.
    pub(super) fn log_bytes(&self) -> u64 {
        let growing = self.segment.as_ref().map_or(0, SegmentWriter::position);
        growing + self.sealed.iter().map(|sealed| sealed.bytes).sum::<u64>()
    }

    /// The growing segment, created if necessary.
    pub(super) fn segment_mut(&mut self, shared: &PageFileShared) -> Result<&mut SegmentWriter> {
        if self.segment.is_none() {
            self.segment = Some(self.begin_segment(shared)?);
        }
        self.segment.as_mut().ok_or_else(|| Error::poisoned(shared.store.path.clone()))
    }

    /// Creates a segment, and updates the page file's header to lead to it before it has content, so that the loss of
    /// the whole log is detected.
    fn begin_segment(&mut self, shared: &PageFileShared) -> Result<SegmentWriter> {
        let number = self.next_segment;
        let exhausted = || Error::input("the numbers of log segments are used up: copy the file");
        self.next_segment = number.checked_add(1).ok_or_else(exhausted)?;
        let id = SegmentId { number, nonce: self.nonce };
        let previous = self.sealed.last().map(|sealed| sealed.id).unwrap_or_default();
        let base = shared.current().sequence;
        let header = SegmentHeader { owner: shared.store.file_id, id, previous, base, note: self.epoch };
        let created = SegmentWriter::create(&*shared.storage, &shared.name, header)?;
        self.write_header(Header { last_segment: id, ..self.header.clone() })?;
        shared.log_map_mut().add_segment(Arc::clone(&created.segment));
        Ok(created)
    }

    /// Writes the header durably.
    pub(super) fn write_header(&mut self, header: Header) -> Result<()> {
        let mut header = Header { turn: self.header.turn, ..header };
        header.write(&*self.file)?;
        self.header = header;
        Ok(())
    }

    /// Writes the header anew where one of its slots was found invalid or older. It leads to the segments that were
    /// replayed, including those to which only the invalid slot led.
    pub(super) fn mirror_header(&mut self) -> Result<()> {
        let last_segment = self.sealed.last().map_or(self.header.last_segment, |sealed| sealed.id);
        self.write_header(Header { last_segment, ..self.header.clone() })
    }

    /// Gives up the pages from `page_count` on, which an aborted transaction has added, and cuts them off the file. If
    /// the file cannot be cut, the next opening does it.
    pub(super) fn shrink(&mut self, shared: &PageFileShared, page_count: u32) {
        self.space.shrink(page_count);
        if self.cut(shared).is_err() {
            // A handle whose write failed refuses everything, and a full disk is what most needs the space.
            _ = shared.storage.open_update(&shared.name).and_then(|file| cut(&*file, self.length_bytes(shared)));
        }
    }

    /// Cuts off what follows the last page: the rest of an aborted transaction or an interrupted checkpoint.
    pub(super) fn cut(&self, shared: &PageFileShared) -> Result<()> {
        cut(&*self.file, self.length_bytes(shared))
    }

    fn length_bytes(&self, shared: &PageFileShared) -> u64 {
        u64::from(self.space.page_count) * shared.store.page_bytes as u64
    }

    /// Syncs all commits so far.
    pub(super) fn sync(&mut self) -> Result<()> {
        let Some(segment) = &mut self.segment else {
            return Ok(());
        };
        segment.flush()?;
        segment.sync()?;
        (self.waiting_commits, self.waiting_bytes) = (0, 0);
        Ok(())
    }

    /// Closes the growing segment; the next commit starts a new one.
    pub(super) fn seal(&mut self, shared: &PageFileShared) -> Result<()> {
        self.sync()?;
        if let Some(segment) = self.segment.take() {
            let current = shared.current();
            self.sealed.push(SealedSegment {
                id: segment.segment.id,
                bytes: segment.position(),
                sequence: current.sequence,
                state: Arc::clone(&current.state),
            });
        }
        Ok(())
    }

    /// Updates the public counters.
    pub(super) fn publish_counts(&self, shared: &PageFileShared) {
        let counters = &shared.counters;
        counters.log_bytes.store(self.log_bytes(), Ordering::Relaxed);
        counters.free_pages.store(self.space.free_pages(), Ordering::Relaxed);
        counters.page_count.store(u64::from(self.space.page_count), Ordering::Relaxed);
        counters.checkpointed.store(self.header.sequence, Ordering::Relaxed);
        let parts = self.places.parts.iter().filter(|place| place.0 != 0).count();
        counters.map_pages.store((parts + self.places.directory.len()) as u64, Ordering::Relaxed);
    }
}

/// Cuts a file that is longer than this. It may be shorter, while its last pages are only in the log.
fn cut(file: &dyn UpdatableFile, length_bytes: u64) -> Result<()> {
    if file.len() > length_bytes { file.set_len(length_bytes) } else { Ok(()) }
}
