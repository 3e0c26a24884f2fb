//! Runs: temporary files of sorted records, in checksummed chunks.
//!
//! A run is read only by the sort that wrote it, so it needs no header: its length and its number of records stay in
//! memory. A record is two lengths (u32, little-endian) of key and value, followed by their bytes; it may cross chunks.

use super::buffer::{HEADER_BYTES, record_bytes};
use crate::block::checksum::{CHECKSUM_BYTES, check, seal};
use crate::error::{Error, Result};
use crate::io::{Purpose, ReadRequest, ReadableFile, Storage, WritableFile};
use std::sync::Arc;

/// Suffix of the names of all temporary files of a sort.
pub const SORT_SUFFIX: &str = ".ogive-sort";

fn run_name(prefix: &str, number: u64) -> String {
    format!("{prefix}.{number:06}{SORT_SUFFIX}")
}

/// Removes the run files of a killed sort with the same `prefix`, and returns their number.
///
/// No such sort may be running: call this under the lock of the file that is being written.
///
/// # Errors
/// Storage errors.
pub fn remove_leftovers(storage: &dyn Storage, prefix: &str) -> Result<usize> {
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

/// A file that is removed when this is dropped.
#[derive(Debug)]
struct TemporaryFile {
    storage: Arc<dyn Storage>,
    name: String,
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // A file that cannot be removed now is found by its name at the next start.
        let _ = self.storage.remove(&self.name);
    }
}

/// A complete run.
#[derive(Debug)]
pub(super) struct SortedRun {
    file: TemporaryFile,
    number: u64,
    chunk_bytes: usize,
    /// Stored size in bytes.
    pub(super) size_bytes: u64,
    pub(super) records: u64,
    pub(super) longest_record_bytes: usize,
}

/// Writes one run.
#[derive(Debug)]
pub(super) struct RunWriter {
    // The file is closed before it is removed.
    writer: Box<dyn WritableFile>,
    run: SortedRun,
    chunk: Vec<u8>,
}

impl RunWriter {
    pub(super) fn create(storage: &Arc<dyn Storage>, prefix: &str, number: u64, chunk_bytes: usize) -> Result<Self> {
        let name = run_name(prefix, number);
        let writer = storage.create(&name)?;
        let file = TemporaryFile { storage: Arc::clone(storage), name };
        let run = SortedRun { file, number, chunk_bytes, size_bytes: 0, records: 0, longest_record_bytes: 0 };
        Ok(Self { writer, run, chunk: Vec::with_capacity(chunk_bytes) })
    }

    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(&(key.len() as u32).to_le_bytes());
        header[4..].copy_from_slice(&(value.len() as u32).to_le_bytes());
        self.write(&header)?;
        self.write(key)?;
        self.write(value)?;
        self.run.records += 1;
        self.run.longest_record_bytes = self.run.longest_record_bytes.max(record_bytes(key, value));
        Ok(())
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let room = self.run.chunk_bytes - CHECKSUM_BYTES - self.chunk.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.chunk.extend_from_slice(now);
            bytes = later;
            if now.len() == room {
                self.write_chunk()?;
            }
        }
        Ok(())
    }

    fn write_chunk(&mut self) -> Result<()> {
        self.chunk.extend_from_slice(&[0; CHECKSUM_BYTES]);
        seal(self.run.number, self.run.size_bytes, &mut self.chunk);
        self.writer.append(&self.chunk)?;
        self.run.size_bytes += self.chunk.len() as u64;
        self.chunk.clear();
        Ok(())
    }

    /// Ends the run. It is not synced: after a crash it is not needed.
    pub(super) fn finish(mut self) -> Result<SortedRun> {
        if !self.chunk.is_empty() {
            self.write_chunk()?;
        }
        self.writer.flush()?;
        Ok(self.run)
    }
}

/// Reads one run from front to back, and removes it when dropped.
#[derive(Debug)]
pub(super) struct RunReader {
    // The file is closed before it is removed.
    file: Arc<dyn ReadableFile>,
    run: SortedRun,
    records_read: u64,
    /// Offset of the buffer's first byte in the file.
    buffer_offset: u64,
    /// Whole chunks; the last buffer ends with the short last chunk.
    buffer: Vec<u8>,
    buffer_bytes: usize,
    /// The unread payload of the current chunk, and the offset of the next chunk in the buffer.
    payload_from: usize,
    payload_to: usize,
    next_chunk: usize,
    record: Vec<u8>,
    key_length: usize,
}

impl RunReader {
    /// Opens a run, to be read `buffer_chunks` chunks at a time.
    pub(super) fn open(run: SortedRun, buffer_chunks: usize) -> Result<Self> {
        let file = run.file.storage.open(&run.file.name)?;
        if file.len() != run.size_bytes {
            let detail = format!("a temporary file has {} bytes instead of {}", file.len(), run.size_bytes);
            return Err(Error::damaged(file.path(), file.len(), detail));
        }
        let buffer_bytes = buffer_chunks.max(1) * run.chunk_bytes;
        Ok(Self {
            file,
            run,
            records_read: 0,
            buffer_offset: 0,
            buffer: Vec::new(),
            buffer_bytes,
            payload_from: 0,
            payload_to: 0,
            next_chunk: 0,
            record: Vec::new(),
            key_length: 0,
        })
    }

    /// Moves to the next record; `false` at the end of the run.
    pub(super) fn advance(&mut self) -> Result<bool> {
        if self.records_read == self.run.records {
            return Ok(false);
        }
        self.record.clear();
        self.read_record(HEADER_BYTES)?;
        let length_at =
            |at: usize| self.record.get(at..).and_then(|rest| rest.first_chunk()).copied().map(u32::from_le_bytes);
        let (key_length, value_length) = (length_at(0).unwrap_or(0) as usize, length_at(4).unwrap_or(0) as usize);
        let record_bytes = HEADER_BYTES.saturating_add(key_length).saturating_add(value_length);
        if record_bytes > self.run.longest_record_bytes {
            return Err(self.damaged("a record of a temporary file is longer than any record written"));
        }
        self.record.clear();
        self.key_length = key_length;
        self.read_record(key_length + value_length)?;
        self.records_read += 1;
        Ok(true)
    }

    pub(super) fn key(&self) -> &[u8] {
        self.record.get(..self.key_length).unwrap_or_default()
    }

    pub(super) fn value(&self) -> &[u8] {
        self.record.get(self.key_length..).unwrap_or_default()
    }

    /// Appends the next `length` bytes of the run to the record.
    fn read_record(&mut self, length: usize) -> Result<()> {
        self.record.reserve_exact(length);
        let mut missing = length;
        while missing > 0 {
            if self.payload_from == self.payload_to {
                self.load_chunk()?;
            }
            let taken = missing.min(self.payload_to - self.payload_from);
            self.record.extend_from_slice(&self.buffer[self.payload_from..self.payload_from + taken]);
            self.payload_from += taken;
            missing -= taken;
        }
        Ok(())
    }

    fn load_chunk(&mut self) -> Result<()> {
        if self.next_chunk == self.buffer.len() {
            self.load_buffer()?;
        }
        let end = self.buffer.len().min(self.next_chunk + self.run.chunk_bytes);
        let offset = self.buffer_offset + self.next_chunk as u64;
        let chunk = self.buffer.get(self.next_chunk..end).unwrap_or_default();
        if chunk.len() <= CHECKSUM_BYTES || !check(self.run.number, offset, chunk) {
            return Err(self.damaged("a chunk of a temporary file is not what was written"));
        }
        (self.payload_from, self.payload_to, self.next_chunk) = (self.next_chunk, end - CHECKSUM_BYTES, end);
        Ok(())
    }

    fn load_buffer(&mut self) -> Result<()> {
        self.buffer_offset += self.buffer.len() as u64;
        let left = self.run.size_bytes - self.buffer_offset;
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer_bytes);
        self.buffer.reserve_exact(length.saturating_sub(self.buffer.len()));
        self.buffer.resize(length, 0);
        self.next_chunk = 0;
        self.file.read(ReadRequest { offset: self.buffer_offset, buffer: &mut self.buffer, purpose: Purpose::Input })
    }

    fn damaged(&self, detail: &str) -> Error {
        Error::damaged(self.file.path(), self.buffer_offset + self.next_chunk as u64, detail)
    }

    #[cfg(test)]
    pub(super) fn allocated_bytes(&self) -> usize {
        self.buffer.capacity() + self.record.capacity()
    }
}
