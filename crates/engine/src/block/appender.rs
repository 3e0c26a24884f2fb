//! A buffered appender to a file that is open for in-place writes.

use crate::error::Result;
use crate::io::{Purpose, ReadRequest, UpdatableFile};
use std::sync::Arc;

/// Number of buffered bytes at which callers flush.
pub(crate) const FLUSH_BYTES: usize = 1 << 20;

/// Direct writes begin and end at multiples of this size, so that the storage need not read around them.
const DIRECT_BLOCK_BYTES: usize = 4096;

/// Appends to a file. Any content after the end, such as that of a previous file, is overwritten.
#[derive(Debug)]
pub(crate) struct Appender {
    file: Arc<dyn UpdatableFile>,
    purpose: Purpose,
    /// Bytes that are not in the file yet; with direct writes, preceded by the partial last block.
    buffer: Vec<u8>,
    /// Offset of the buffer in the file.
    buffer_at: u64,
    /// Number of bytes of the buffer that are in the file.
    written: usize,
    /// Everything before this position is synced.
    synced: u64,
}

impl Appender {
    /// Appends from the start of a file.
    pub(crate) fn new(file: Arc<dyn UpdatableFile>, purpose: Purpose) -> Self {
        Self { file, purpose, buffer: Vec::new(), buffer_at: 0, written: 0, synced: 0 }
    }

    /// Appends after the first `end` bytes of a file.
    pub(crate) fn resume(file: Arc<dyn UpdatableFile>, purpose: Purpose, end: u64) -> Result<Self> {
        let kept = if file.is_direct() { end % DIRECT_BLOCK_BYTES as u64 } else { 0 };
        let mut buffer = vec![0; kept as usize];
        file.read(ReadRequest { offset: end - kept, buffer: &mut buffer, purpose })?;
        Ok(Self { file, purpose, written: buffer.len(), buffer, buffer_at: end - kept, synced: 0 })
    }

    /// The file, for readers.
    pub(crate) fn file(&self) -> &Arc<dyn UpdatableFile> {
        &self.file
    }

    /// Offset of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.buffer_at + self.buffer.len() as u64
    }

    /// Everything before this position is synced.
    pub(crate) fn synced(&self) -> u64 {
        self.synced
    }

    /// The buffer to append to.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Number of bytes that are not in the file yet.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.buffer.len() - self.written
    }

    /// Writes buffered bytes with one call, without a sync.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if self.written == self.buffer.len() {
            return Ok(());
        }
        if !self.file.is_direct() {
            let waiting = &self.buffer[self.written..];
            self.file.write_at(self.buffer_at + self.written as u64, waiting, self.purpose)?;
            self.buffer_at += self.buffer.len() as u64;
            self.buffer.clear();
            self.written = 0;
            return Ok(());
        }
        let length = self.buffer.len();
        self.buffer.resize(length.next_multiple_of(DIRECT_BLOCK_BYTES), 0);
        let outcome = self.file.write_at(self.buffer_at, &self.buffer, self.purpose);
        self.buffer.truncate(length);
        outcome?;
        let whole = length - length % DIRECT_BLOCK_BYTES;
        self.buffer.drain(..whole);
        self.buffer_at += whole as u64;
        self.written = self.buffer.len();
        Ok(())
    }

    /// Syncs everything that was written.
    pub(crate) fn sync(&mut self) -> Result<()> {
        let end = self.buffer_at + self.written as u64;
        if self.synced < end {
            self.file.sync()?;
            self.synced = end;
        }
        Ok(())
    }

    /// Writes buffered bytes, truncates the file after them, and syncs it.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.flush()?;
        if self.file.len() != self.position() {
            self.file.set_len(self.position())?;
        }
        self.file.sync()?;
        self.synced = self.position();
        Ok(())
    }
}
