//! Scrubbing: tables and complete value files are read over and over at a bounded rate, so that damage is found while
//! backups, or other copies, still have what was damaged.
//!
//! A file is read as a verification reads it: every checksum, and of a table that its index leads to its records. The
//! reads go to the storage and bypass the block cache. They are paced where they are made, in a wrapper of the storage:
//! each one waits until those before it are within the rate, and fails when the store closes or the file has become
//! obsolete, so that neither is delayed.

use crate::error::{Cause, Error, Result};
use crate::io::local::sync::Mutex;
use crate::io::{LenientStorage, ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper, Timer};
use crate::lsm::core::scrub::ScrubFinding;
use crate::lsm::core::store::Core;
use crate::lsm::state::tables::table_file::TableFile;
use crate::lsm::state::tables::value_files::ValueHandle;
use crate::lsm::state::version::{FileKind, file_name};
use crate::table::{Table, TableOptions};
use crate::vlog::{ScannedItem, ValueFile};
use std::sync::Arc;

/// Pause between two passes in microseconds, so that a small store is not read all the time.
const PASS_PAUSE_US: f64 = 1e6;

/// Time between two looks whether a file has become obsolete, in microseconds.
const LOOK_US: f64 = 1e5;

/// Memory of the reads of a file, in bytes; an open table takes more.
const READS_BYTES: u64 = 5 << 18;

/// Memory stated for an open table, in bytes; it takes what it needs.
const TABLE_MEMORY_BYTES: u64 = 1 << 20;

/// Findings that are reported of a file, at most.
const FILE_FINDINGS_MAX: usize = 10;

/// A file that is read. It stays until its reader leaves it.
#[derive(Clone, Debug)]
enum ScrubbedFile {
    Table(Arc<TableFile>),
    Values(Arc<ValueHandle>),
}

impl ScrubbedFile {
    fn number(&self) -> u64 {
        match self {
            Self::Table(table) => table.meta.number,
            Self::Values(values) => values.number,
        }
    }

    fn name(&self) -> String {
        let kind = if matches!(self, Self::Table(_)) { FileKind::Table } else { FileKind::Values };
        file_name(self.number(), kind)
    }

    fn is_obsolete(&self) -> bool {
        match self {
            Self::Table(table) => table.is_obsolete(),
            Self::Values(values) => values.is_obsolete(),
        }
    }

    fn memory_bytes(&self) -> u64 {
        match self {
            Self::Table(table) => READS_BYTES + table.reserved_bytes(),
            Self::Values(_) => READS_BYTES,
        }
    }
}

/// The rate of all reads.
#[derive(Debug)]
struct ScrubPace {
    bytes_per_us: f64,
    timer: Timer,
    /// When the next read may begin.
    next_us: Mutex<f64>,
}

impl ScrubPace {
    /// Counts a read; returns the time that it has to wait, in microseconds.
    fn wait_us(&self, bytes: u64) -> f64 {
        let (mut next_us, now_us) = (self.next_us.lock(), self.timer.elapsed_us());
        let begin_us = next_us.max(now_us);
        *next_us = begin_us + bytes as f64 / self.bytes_per_us;
        begin_us - now_us
    }
}

/// The storage of a store for the reading of one file.
#[derive(Clone, Debug)]
struct PacedStorage {
    core: Arc<Core>,
    file: ScrubbedFile,
    pace: Arc<ScrubPace>,
}

impl PacedStorage {
    fn check(&self) -> Result<()> {
        if self.core.is_stopped() || self.file.is_obsolete() { Err(Error::interrupted()) } else { Ok(()) }
    }

    fn admit(&self, bytes: u64) -> Result<()> {
        let (wait_us, timer) = (self.pace.wait_us(bytes), Timer::start());
        loop {
            self.check()?;
            let left_us = wait_us - timer.elapsed_us();
            if left_us <= 0.0 {
                self.core.note_scrubbed(bytes);
                return Ok(());
            }
            self.core.background.pause(left_us.min(LOOK_US));
        }
    }
}

impl StorageWrapper for PacedStorage {
    fn inner(&self) -> &dyn Storage {
        &*self.core.files.storage
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        self.check()?;
        Ok(Arc::new(PacedReader { inner: self.core.files.storage.open(name)?, storage: self.clone() }))
    }
}

#[derive(Debug)]
struct PacedReader {
    inner: Arc<dyn ReadableFile>,
    storage: PacedStorage,
}

impl ReaderWrapper for PacedReader {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.storage.admit(request.buffer.len() as u64)?;
        self.inner.read(request)
    }
}

impl Core {
    /// The loop of the thread that scrubs.
    pub(in crate::lsm) fn scrub(self: &Arc<Self>) {
        let bytes_per_us = self.options.scrub_bytes_per_s as f64 / 1e6;
        let pace = Arc::new(ScrubPace { bytes_per_us, timer: Timer::start(), next_us: Mutex::new(0.0) });
        let mut after = None;
        while !self.is_stopped() {
            match self.next_to_scrub(after) {
                Some(file) => {
                    after = Some(file.number());
                    self.scrub_file(file, &pace);
                }
                None => {
                    let shared = self.contents.lock();
                    let files = shared.failure.is_none().then(|| shared.needed_files());
                    drop(shared);
                    if let Some(files) = files {
                        after = None;
                        self.end_scrub_pass(&files);
                    }
                    self.background.pause(PASS_PAUSE_US);
                }
            }
        }
    }

    /// The table or complete value file with the least number after this one. After a failure there is none, since
    /// another writer may have removed any.
    fn next_to_scrub(&self, after: Option<u64>) -> Option<ScrubbedFile> {
        let shared = self.contents.lock();
        let from = after.map_or(0, |number| number + 1);
        if shared.failure.is_some() {
            return None;
        }
        let table = shared.tables.range(from..).next().map(|(_, table)| ScrubbedFile::Table(Arc::clone(table)));
        let mut values = shared.state.value_files.range(from..).filter_map(|(number, _)| shared.values.0.get(number));
        let values = values.next().map(|values| ScrubbedFile::Values(Arc::clone(values)));
        table.into_iter().chain(values).min_by_key(ScrubbedFile::number)
    }

    fn scrub_file(self: &Arc<Self>, file: ScrubbedFile, pace: &Arc<ScrubPace>) {
        let _held = self.files.cache.reserve_scoped(file.memory_bytes());
        let name = file.name();
        let paced: Arc<dyn Storage> =
            Arc::new(PacedStorage { core: Arc::clone(self), file: file.clone(), pace: Arc::clone(pace) });
        let storage = LenientStorage::around(&paced);
        let mut found = Vec::new();
        let mut note = |offset: u64, detail: String| {
            if found.len() < FILE_FINDINGS_MAX {
                found.push(ScrubFinding { file: name.clone(), offset, detail });
            }
        };
        let outcome = match &file {
            ScrubbedFile::Table(_) => scrub_table(&storage, &name, &mut note),
            ScrubbedFile::Values(values) => scrub_values(&*storage, values, &mut note),
        };
        let unreadable: Vec<Error> = storage.unreadable().iter().map(|part| part.to_error()).collect();
        unreadable.iter().for_each(|error| note(error.offset().unwrap_or(0), error.detail().to_owned()));
        match outcome {
            Err(Error { cause: Cause::Interrupted, .. }) => return,
            Err(error) if file.is_obsolete() || self.is_stopped() => drop(error),
            Err(error) => note(error.offset().unwrap_or(0), error.to_string()),
            Ok(()) => {}
        }
        if !(file.is_obsolete() || self.is_stopped()) {
            self.report_scrubbed(&name, &found);
        }
    }
}

/// Reads a table, as a verification does.
fn scrub_table(storage: &Arc<dyn Storage>, name: &str, note: &mut dyn FnMut(u64, String)) -> Result<()> {
    let options = TableOptions::default().memory_bytes(TABLE_MEMORY_BYTES);
    let table = Table::open_for_walk(Arc::clone(storage), name, &options)?;
    let report = table.verify_as_open(&mut |_| {})?;
    report.findings.into_iter().for_each(|finding| note(finding.offset, finding.detail));
    Ok(())
}

/// Reads a value file, as a verification does.
fn scrub_values(storage: &dyn Storage, values: &ValueHandle, note: &mut dyn FnMut(u64, String)) -> Result<()> {
    let file = ValueFile::open(storage, values.file.binding(), values.number)?;
    let mut is_damaged = false;
    let scanned = file.scan(&mut |item| {
        if let ScannedItem::Unknown { offset, bytes } = item {
            is_damaged = true;
            note(offset, format!("{bytes} bytes are not part of any value"));
        }
        Ok(())
    })?;
    if !scanned.is_proved && !is_damaged {
        note(scanned.end, "its footer does not prove that it is complete".to_owned());
    }
    Ok(())
}
