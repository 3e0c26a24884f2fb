//! Runs: temporary files of sorted records, in checksummed chunks.
//!
//! A run is read only by the sort that wrote it, so it needs no header: its length and its number of records stay in
//! memory. A record is two lengths (u32, little-endian) of key and value, followed by their bytes; it may cross chunks.

use super::buffer::{HEADER_BYTES, record_bytes};
use super::chunks::{ChunkFileWriter, TemporaryFile};
use super::stream::{ByteStreamReader, ByteStreamWriter, ClosedByteStream};
use crate::block::checksum::CHECKSUM_BYTES;
use crate::error::{Advice, Call, Error, Result};
use crate::io::Storage;
use std::sync::Arc;

/// Suffix of the names of all temporary files of a sort.
pub(crate) const SORT_SUFFIX: &str = ".ogive-sort";

fn run_name(prefix: &str, number: u64) -> String {
    format!("{prefix}.{number:06}{SORT_SUFFIX}")
}

/// Removes the run files of a killed sort with the same `prefix`, and returns their number.
///
/// No such sort may be running: call this under the lock of the file that is being written.
///
/// # Errors
/// Storage errors.
pub(crate) fn remove_leftovers(storage: &dyn Storage, prefix: &str) -> Result<usize> {
    let is_run = |name: &str| {
        let number = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.'));
        let number = number.and_then(|rest| rest.strip_suffix(SORT_SUFFIX));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut removed = 0;
    for name in storage.list()?.iter().filter(|name| is_run(name)) {
        storage.remove(name)?;
        removed += 1;
    }
    Ok(removed)
}

/// The name of a run.
#[derive(Debug)]
struct RunFile {
    storage: Arc<dyn Storage>,
    name: String,
    number: u64,
}

impl TemporaryFile for RunFile {
    fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> u64 {
        self.number
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        // A file that cannot be removed now is found by its name at the next start.
        let _ = self.storage.remove(&self.name);
    }
}

/// A complete run.
#[derive(Debug)]
pub(super) struct SortedRun {
    bytes: ClosedByteStream<RunFile>,
    pub(super) records: u64,
    record_bytes: u64,
    pub(super) longest_record_bytes: usize,
}

/// What a plan of merges needs to know of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunSize {
    /// Bytes of its records.
    pub(super) record_bytes: u64,
    pub(super) longest_record_bytes: usize,
}

impl SortedRun {
    pub(super) fn size(&self) -> RunSize {
        RunSize { record_bytes: self.record_bytes, longest_record_bytes: self.longest_record_bytes }
    }
}

/// Writes one run.
#[derive(Debug)]
pub(super) struct RunWriter {
    bytes: ByteStreamWriter<RunFile>,
    records: u64,
    record_bytes: u64,
    longest_record_bytes: usize,
}

impl RunWriter {
    /// Creates a run of chunks of `chunk_bytes`, checksums included.
    pub(super) fn create(storage: &Arc<dyn Storage>, prefix: &str, number: u64, chunk_bytes: usize) -> Result<Self> {
        let name = run_name(prefix, number);
        if storage.is_object_store() {
            let error = Error::unsupported(storage.path(&name), "sort in", "the records exceed the memory");
            return Err(error.advise(Advice::Use(Call::SortElsewhere)));
        }
        // A file that exists already is not a run of this sort, and stays.
        let writer = storage.create(&name)?;
        let file = RunFile { storage: Arc::clone(storage), name, number };
        let bytes = ByteStreamWriter::over(ChunkFileWriter::over(writer, file), chunk_bytes - CHECKSUM_BYTES);
        Ok(Self { bytes, records: 0, record_bytes: 0, longest_record_bytes: 0 })
    }

    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(&(key.len() as u32).to_le_bytes());
        header[4..].copy_from_slice(&(value.len() as u32).to_le_bytes());
        self.bytes.write(&header)?;
        self.bytes.write(key)?;
        self.bytes.write(value)?;
        self.records += 1;
        let bytes = record_bytes(key, value);
        self.record_bytes += bytes as u64;
        self.longest_record_bytes = self.longest_record_bytes.max(bytes);
        Ok(())
    }

    /// Ends the run. It is not synced: after a crash it is not needed.
    pub(super) fn finish(self) -> Result<SortedRun> {
        let Self { bytes, records, record_bytes, longest_record_bytes } = self;
        Ok(SortedRun { bytes: bytes.close()?, records, record_bytes, longest_record_bytes })
    }
}

/// Reads one run from front to back, and removes it when dropped.
#[derive(Debug)]
pub(super) struct RunReader {
    bytes: ByteStreamReader<RunFile>,
    records_left: u64,
    longest_record_bytes: usize,
    record: Vec<u8>,
    key_length: usize,
}

impl RunReader {
    /// Opens a run, to be read `buffer_bytes` at a time.
    pub(super) fn open(run: SortedRun, buffer_bytes: usize) -> Result<Self> {
        let SortedRun { bytes, records, longest_record_bytes, .. } = run;
        let bytes = bytes.open()?.reader(buffer_bytes);
        Ok(Self { bytes, records_left: records, longest_record_bytes, record: Vec::new(), key_length: 0 })
    }

    /// Moves to the next record; `false` at the end of the run.
    pub(super) fn advance(&mut self) -> Result<bool> {
        if self.records_left == 0 {
            return Ok(false);
        }
        self.read_record(HEADER_BYTES)?;
        let length_at =
            |at: usize| self.record.get(at..).and_then(|rest| rest.first_chunk()).copied().map(u32::from_le_bytes);
        let (key_length, value_length) = (length_at(0).unwrap_or(0) as usize, length_at(4).unwrap_or(0) as usize);
        let record_bytes = HEADER_BYTES.saturating_add(key_length).saturating_add(value_length);
        if record_bytes > self.longest_record_bytes {
            return Err(self.bytes.damaged("a record of a temporary file is longer than any record written"));
        }
        self.key_length = key_length;
        self.read_record(key_length + value_length)?;
        self.records_left -= 1;
        Ok(true)
    }

    pub(super) fn key(&self) -> &[u8] {
        self.record.get(..self.key_length).unwrap_or_default()
    }

    pub(super) fn value(&self) -> &[u8] {
        self.record.get(self.key_length..).unwrap_or_default()
    }

    /// Replaces the record by the next `length` bytes of the run.
    fn read_record(&mut self, length: usize) -> Result<()> {
        self.record.clear();
        self.record.reserve_exact(length);
        match self.bytes.read(length, &mut self.record)? {
            true => Ok(()),
            false => Err(self.bytes.damaged("a temporary file ends within a record")),
        }
    }

    #[cfg(test)]
    pub(super) fn allocated_bytes(&self) -> usize {
        self.bytes.allocated_bytes() + self.record.capacity()
    }
}
