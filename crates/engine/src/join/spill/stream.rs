//! Byte streams in a spill file, cut into chunks of one size: written once, read sequentially any number of times.

use super::claim::Spill;
use super::file::{ChunkWriter, SpillFile};
use crate::error::Result;
use std::sync::Arc;

/// Writes sequences of bytes, one behind the other, into one file.
#[derive(Debug)]
pub(crate) struct ByteWriter {
    writer: ChunkWriter,
    payload_bytes: usize,
    chunk: Vec<u8>,
    /// Where the present sequence begins.
    range: StreamRange,
}

/// Where a sequence of bytes lies in its file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamRange {
    offset: u64,
    end: u64,
}

impl ByteWriter {
    /// A new file of chunks of `payload_bytes`, which is at least 1: rows of one width that divides it never cross chunks. Takes
    /// [`Self::memory_bytes`] of memory.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn create(spill: &Arc<Spill>, payload_bytes: usize) -> Result<Self> {
        let payload_bytes = payload_bytes.max(1);
        let chunk = Vec::with_capacity(Self::memory_bytes(payload_bytes));
        Ok(Self { writer: spill.create()?, payload_bytes, chunk, range: StreamRange::default() })
    }

    /// Memory that a writer takes.
    pub(crate) fn memory_bytes(payload_bytes: usize) -> usize {
        payload_bytes.saturating_add(ChunkWriter::OVERHEAD_BYTES)
    }

    /// Appends bytes to the present sequence.
    ///
    /// # Errors
    /// Those of the storage; [`crate::Error::Interrupted`].
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

    /// Ends the present sequence, and begins another behind it.
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

    /// Ends the file; its sequences can be read from now on.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn finish_with(self, sections: Vec<StreamRange>) -> Result<Vec<SpilledBytes>> {
        let Self { writer, payload_bytes, .. } = self;
        let file = writer.finish()?;
        Ok(sections.into_iter().map(|range| SpilledBytes { file: Arc::clone(&file), payload_bytes, range }).collect())
    }

    /// Ends a file of one sequence, to be read from now on.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn finish(mut self) -> Result<SpilledBytes> {
        let range = self.cut()?;
        let Self { writer, payload_bytes, .. } = self;
        Ok(SpilledBytes { file: writer.finish()?, payload_bytes, range })
    }
}

/// A sequence of bytes that was written; its file is removed with the last clone and the last reader of all that are in it.
#[derive(Clone, Debug)]
pub(crate) struct SpilledBytes {
    file: Arc<SpillFile>,
    payload_bytes: usize,
    range: StreamRange,
}

impl SpilledBytes {
    /// Bytes of each chunk but the last, without its checksum.
    pub(crate) fn chunk_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// A reader of all of them, which reads about `buffer_bytes` at a time, at least a chunk; it takes [`Self::buffer_bytes`].
    pub(crate) fn reader(&self, buffer_bytes: usize) -> ByteReader {
        ByteReader {
            bytes: self.clone(),
            next_offset: self.range.offset,
            stored: Vec::new(),
            capacity_bytes: self.buffer_bytes(buffer_bytes),
            next_chunk: 0,
            payload: 0..0,
        }
    }

    /// Memory that a reader takes which is to read about `buffer_bytes` at a time.
    pub(crate) fn buffer_bytes(&self, buffer_bytes: usize) -> usize {
        let stored = self.payload_bytes + ChunkWriter::OVERHEAD_BYTES;
        let most = usize::try_from(self.range.end - self.range.offset).unwrap_or(usize::MAX);
        ((buffer_bytes / stored).max(1) * stored).min(most)
    }
}

/// Reads a sequence of bytes from front to back.
#[derive(Debug)]
pub(crate) struct ByteReader {
    bytes: SpilledBytes,
    /// Where the chunks behind the buffer begin.
    next_offset: u64,
    stored: Vec<u8>,
    capacity_bytes: usize,
    /// Where the next chunk begins in the buffer.
    next_chunk: usize,
    /// What was not taken yet of the payload of the chunk at hand.
    payload: std::ops::Range<usize>,
}

impl ByteReader {
    /// What is left of the chunk at hand; empty before the first [`Self::advance`].
    #[inline]
    pub(crate) fn rest(&self) -> &[u8] {
        self.stored.get(self.payload.clone()).unwrap_or_default()
    }

    /// Takes bytes of the chunk at hand.
    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.payload.start = self.payload.end.min(self.payload.start + bytes);
    }

    /// Goes to the next chunk, whatever is left of this one; `false` at the end.
    ///
    /// # Errors
    /// Those of the storage; [`crate::Error::Damaged`]; [`crate::Error::Interrupted`].
    pub(crate) fn advance(&mut self) -> Result<bool> {
        if self.next_chunk == self.stored.len() && !self.load()? {
            self.payload = 0..0;
            return Ok(false);
        }
        let stored_bytes = self.bytes.payload_bytes + ChunkWriter::OVERHEAD_BYTES;
        let end = self.stored.len().min(self.next_chunk + stored_bytes);
        let offset = self.next_offset - (self.stored.len() - self.next_chunk) as u64;
        self.bytes.file.check(offset, &self.stored[self.next_chunk..end])?;
        self.payload = self.next_chunk..end - ChunkWriter::OVERHEAD_BYTES;
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

    /// Appends the next bytes to `target`, across chunks; `false` where the end came first, so many as there were being appended.
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
}
