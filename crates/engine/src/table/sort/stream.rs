//! Byte streams in a temporary file, cut into chunks of one size: written once, read sequentially any number of times.

use super::chunks::{ChunkFile, ChunkFileWriter, ClosedChunkFile, TemporaryFile};
use crate::block::checksum::CHECKSUM_BYTES;
use crate::error::{Error, Result};
use std::sync::Arc;

/// Writes byte streams consecutively to one file.
#[derive(Debug)]
pub(crate) struct ByteStreamWriter<T> {
    writer: ChunkFileWriter<T>,
    payload_bytes: usize,
    chunk: Vec<u8>,
    /// The range of the current stream so far.
    range: StreamRange,
}

/// The range of a byte stream in its file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamRange {
    offset: u64,
    end: u64,
}

impl<T: TemporaryFile> ByteStreamWriter<T> {
    /// Creates a file of chunks of `payload_bytes`, at least 1. Rows of a width that divides it never cross chunks.
    /// Takes [`Self::memory_bytes`] of memory.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn create(file: T, payload_bytes: usize) -> Result<Self> {
        Ok(Self::over(ChunkFileWriter::create(file)?, payload_bytes))
    }

    /// As [`Self::create`], with a file that was created.
    pub(super) fn over(writer: ChunkFileWriter<T>, payload_bytes: usize) -> Self {
        let payload_bytes = payload_bytes.max(1);
        let chunk = Vec::with_capacity(Self::memory_bytes(payload_bytes));
        Self { writer, payload_bytes, chunk, range: StreamRange::default() }
    }

    /// Memory of a writer.
    pub(crate) fn memory_bytes(payload_bytes: usize) -> usize {
        payload_bytes.saturating_add(CHECKSUM_BYTES)
    }

    /// Appends bytes to the current stream.
    ///
    /// # Errors
    /// Those of the storage, and those of the owner.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(self.payload_bytes - self.chunk.len()));
            self.chunk.extend_from_slice(now);
            bytes = later;
            if self.chunk.len() == self.payload_bytes {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let location = self.writer.append(&mut self.chunk)?;
        self.range.end = location.offset + u64::from(location.stored_bytes);
        Ok(())
    }

    /// Ends the current stream, and begins the next one.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn cut(&mut self) -> Result<StreamRange> {
        if !self.chunk.is_empty() {
            self.flush()?;
        }
        let next = StreamRange { offset: self.range.end, end: self.range.end };
        Ok(std::mem::replace(&mut self.range, next))
    }

    /// Completes the file; its streams can then be read.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn finish_with(self, sections: Vec<StreamRange>) -> Result<Vec<ByteStream<T>>> {
        let Self { writer, payload_bytes, .. } = self;
        let file = writer.finish()?;
        Ok(sections.into_iter().map(|range| ByteStream { file: Arc::clone(&file), payload_bytes, range }).collect())
    }

    /// Completes a file of one stream for reading.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn finish(mut self) -> Result<ByteStream<T>> {
        let range = self.cut()?;
        let Self { writer, payload_bytes, .. } = self;
        Ok(ByteStream { file: writer.finish()?, payload_bytes, range })
    }

    /// Completes and closes a file of one stream.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn close(mut self) -> Result<ClosedByteStream<T>> {
        self.cut()?;
        Ok(ClosedByteStream { file: self.writer.close()?, payload_bytes: self.payload_bytes })
    }
}

/// A file of one byte stream that is not open.
#[derive(Debug)]
pub(crate) struct ClosedByteStream<T> {
    file: ClosedChunkFile<T>,
    payload_bytes: usize,
}

impl<T: TemporaryFile> ClosedByteStream<T> {
    /// Opens the stream for reading.
    ///
    /// # Errors
    /// Those of the storage; [`Cause::Damaged`](crate::Cause::Damaged) if the file is not as long as what was written.
    pub(crate) fn open(self) -> Result<ByteStream<T>> {
        let range = StreamRange { offset: 0, end: self.file.length() };
        Ok(ByteStream { file: self.file.open()?, payload_bytes: self.payload_bytes, range })
    }
}

/// A written byte stream. Its file is removed with the last clone and the last reader of all its streams.
#[derive(Debug)]
pub(crate) struct ByteStream<T> {
    file: Arc<ChunkFile<T>>,
    payload_bytes: usize,
    range: StreamRange,
}

impl<T> Clone for ByteStream<T> {
    fn clone(&self) -> Self {
        Self { file: Arc::clone(&self.file), ..*self }
    }
}

impl<T: TemporaryFile> ByteStream<T> {
    /// Payload bytes of each chunk but the last.
    pub(crate) fn chunk_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// A reader that reads about `buffer_bytes` at a time, at least a chunk; it takes [`Self::buffer_bytes`].
    pub(crate) fn reader(&self, buffer_bytes: usize) -> ByteStreamReader<T> {
        ByteStreamReader {
            bytes: self.clone(),
            next_offset: self.range.offset,
            stored: Vec::new(),
            capacity_bytes: self.buffer_bytes(buffer_bytes),
            next_chunk: 0,
            payload: 0..0,
        }
    }

    /// Memory of a reader that reads about `buffer_bytes` at a time.
    pub(crate) fn buffer_bytes(&self, buffer_bytes: usize) -> usize {
        let stored = self.payload_bytes + CHECKSUM_BYTES;
        let most = usize::try_from(self.range.end - self.range.offset).unwrap_or(usize::MAX);
        ((buffer_bytes / stored).max(1) * stored).min(most)
    }
}

/// Reads a byte stream sequentially.
#[derive(Debug)]
pub(crate) struct ByteStreamReader<T> {
    bytes: ByteStream<T>,
    /// Offset of the chunks after the buffer.
    next_offset: u64,
    stored: Vec<u8>,
    capacity_bytes: usize,
    /// Offset of the next chunk in the buffer.
    next_chunk: usize,
    /// The unread payload of the current chunk.
    payload: std::ops::Range<usize>,
}

impl<T: TemporaryFile> ByteStreamReader<T> {
    /// The unread rest of the current chunk; empty before the first [`Self::advance`].
    #[inline]
    pub(crate) fn rest(&self) -> &[u8] {
        self.stored.get(self.payload.clone()).unwrap_or_default()
    }

    /// Consumes bytes of the current chunk.
    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.payload.start = self.payload.end.min(self.payload.start + bytes);
    }

    /// Moves to the next chunk, discarding the rest of the current one; `false` at the end.
    ///
    /// # Errors
    /// Those of the storage; [`Cause::Damaged`](crate::Cause::Damaged), and those of the owner.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        if self.next_chunk == self.stored.len() && !self.load()? {
            self.payload = 0..0;
            return Ok(false);
        }
        let stored_bytes = self.bytes.payload_bytes + CHECKSUM_BYTES;
        let end = self.stored.len().min(self.next_chunk + stored_bytes);
        let offset = self.next_offset - (self.stored.len() - self.next_chunk) as u64;
        self.bytes.file.check(offset, &self.stored[self.next_chunk..end])?;
        self.payload = self.next_chunk..end - CHECKSUM_BYTES;
        self.next_chunk = end;
        Ok(true)
    }

    fn load(&mut self) -> Result<bool> {
        let left = self.bytes.range.end - self.next_offset;
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(self.capacity_bytes);
        self.stored.reserve_exact(length.saturating_sub(self.stored.len()));
        self.stored.resize(length, 0);
        self.next_chunk = 0;
        if length > 0 {
            self.bytes.file.read(self.next_offset, &mut self.stored)?;
            self.next_offset += length as u64;
        }
        Ok(length > 0)
    }

    /// Appends the next bytes to `target`, across chunks; `false` at the end of the stream, with the remaining bytes
    /// appended.
    ///
    /// # Errors
    /// As [`Self::advance`].
    pub(crate) fn read(&mut self, bytes: usize, target: &mut Vec<u8>) -> Result<bool> {
        let mut missing = bytes;
        while missing > 0 {
            let rest = self.rest();
            let now = missing.min(rest.len());
            target.extend_from_slice(&rest[..now]);
            self.consume(now);
            missing -= now;
            if missing > 0 && !self.advance()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The error for what was read last.
    pub(crate) fn damaged(&self, detail: &str) -> Error {
        let chunk_at = self.next_offset - (self.stored.len() - self.payload.start.min(self.stored.len())) as u64;
        self.bytes.file.damaged(chunk_at, detail)
    }

    #[cfg(test)]
    pub(super) fn allocated_bytes(&self) -> usize {
        self.stored.capacity()
    }
}
