//! A buffered appender to a file that is open for in-place writes.

use crate::error::Result;
use crate::io::{Purpose, ReadRequest, UpdatableFile};
use std::sync::Arc;

/// Whoever fills the buffer writes it out when so many bytes wait.
pub(crate) const FLUSH_BYTES: usize = 1 << 20;

/// Direct writes begin and end at multiples of this, so that the storage need not read what lies around them.
const DIRECT_BLOCK_BYTES: usize = 4096;

/// Appends to a file. What lies behind the end in the file (it may have been another's) is written over.
#[derive(Debug)]
pub(crate) struct Appender {
    file: Arc<dyn UpdatableFile>,
    purpose: Purpose,
    /// Bytes that are not in the file yet; with direct writes, the last block that is there in part comes first.
    buffer: Vec<u8>,
    /// Where the buffer begins in the file.
    buffer_at: u64,
    /// How much of the buffer is in the file.
    written: usize,
    /// Everything before this position is durable.
    synced: u64,
}

impl Appender {
    /// Appends from the start of a file.
    pub(crate) fn new(file: Arc<dyn UpdatableFile>, purpose: Purpose) -> Self {
        Self { file, purpose, buffer: Vec::new(), buffer_at: 0, written: 0, synced: 0 }
    }

    /// Appends behind the first `end` bytes of a file.
    pub(crate) fn resume(file: Arc<dyn UpdatableFile>, purpose: Purpose, end: u64) -> Result<Self> {
        let kept = if file.is_direct() { end % DIRECT_BLOCK_BYTES as u64 } else { 0 };
        let mut buffer = vec![0; kept as usize];
        file.read(ReadRequest { offset: end - kept, buffer: &mut buffer, purpose })?;
        Ok(Self { file, purpose, written: buffer.len(), buffer, buffer_at: end - kept, synced: 0 })
    }

    /// The file, for whoever reads it as well.
    pub(crate) fn file(&self) -> &Arc<dyn UpdatableFile> {
        &self.file
    }

    /// Where the next byte will lie.
    pub(crate) fn position(&self) -> u64 {
        self.buffer_at + self.buffer.len() as u64
    }

    /// Everything before this position is durable.
    pub(crate) fn synced(&self) -> u64 {
        self.synced
    }

    /// Where bytes are appended to.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Bytes that are not in the file yet.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.buffer.len() - self.written
    }

    /// Writes out what waits, by one call; a crash of the machine may still lose it.
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

    /// Makes everything that was written out durable.
    pub(crate) fn sync(&mut self) -> Result<()> {
        let end = self.buffer_at + self.written as u64;
        if self.synced < end {
            self.file.sync()?;
            self.synced = end;
        }
        Ok(())
    }

    /// Writes out what waits, cuts off what lies behind it, and makes all of it durable.
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
