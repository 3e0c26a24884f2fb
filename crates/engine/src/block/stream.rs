//! Value streams: long values read and written as checksummed chunks, shared by tables and value files.

pub(crate) use crate::error::VALUE_BYTES_MAX;
use crate::error::{Error, Result};
use std::fmt::Debug;
use std::io::{self, Read};
use std::path::Path;

/// The chunks of one value.
pub(crate) trait ChunkSource: Debug {
    /// Length of the value in bytes.
    fn length(&self) -> u64;

    /// Reads and checks the chunk after the first `read_bytes` of the value into `chunk`, which is cleared first. The
    /// value must not be read completely; the chunk has at least one byte, and at most the missing ones.
    fn read_chunk(&mut self, read_bytes: u64, chunk: &mut Vec<u8>) -> Result<()>;

    /// The file, and the offset of the next chunk, for messages.
    fn place(&self, read_bytes: u64) -> (&Path, u64);
}

/// Reads one value as a stream, one checked chunk at a time.
///
/// After an error every further call fails, so a damaged value never looks like a short one.
#[derive(Debug)]
pub(crate) struct ChunkReader<S> {
    source: S,
    /// The current chunk, and the number of bytes consumed.
    chunk: Vec<u8>,
    taken_bytes: usize,
    /// Bytes of the value in this and all earlier chunks.
    read_bytes: u64,
    failed: bool,
}

impl<S: ChunkSource> ChunkReader<S> {
    /// Creates a reader at the start of the value, without reading yet.
    pub(crate) fn new(source: S) -> Self {
        Self { source, chunk: Vec::new(), taken_bytes: 0, read_bytes: 0, failed: false }
    }

    pub(crate) fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// A reader of a value that is already in memory; the source only provides length and location.
    pub(crate) fn of_bytes(source: S, value: Vec<u8>) -> Self {
        Self { read_bytes: source.length(), chunk: value, ..Self::new(source) }
    }

    /// Length of the whole value in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.source.length()
    }

    /// The next bytes, at most one chunk; `None` at the end of the value.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<&[u8]>> {
        if !self.load()? {
            return Ok(None);
        }
        let from = self.taken_bytes;
        self.taken_bytes = self.chunk.len();
        Ok(self.chunk.get(from..))
    }

    /// Reads the rest of the value into one buffer; `Cause::ValueTooLarge` if that is more than `limit_bytes`, before
    /// anything is allocated or read.
    pub(crate) fn read_to_vec(mut self, limit_bytes: u64) -> Result<Vec<u8>> {
        let rest = self.len() - self.read_bytes + (self.chunk.len() - self.taken_bytes) as u64;
        let path = self.source.place(0).0.to_path_buf();
        let too_large = move || Error::value_too_large(path, rest, limit_bytes);
        let mut value = Vec::new();
        if rest > limit_bytes || value.try_reserve_exact(rest as usize).is_err() {
            return Err(too_large());
        }
        while let Some(bytes) = self.next_chunk()? {
            value.extend_from_slice(bytes);
        }
        Ok(value)
    }

    /// Loads the next chunk if the current one is consumed; `false` at the end of the value.
    fn load(&mut self) -> Result<bool> {
        if self.failed {
            let (path, offset) = self.source.place(self.read_bytes);
            return Err(Error::damaged(path, offset, "an earlier read of this value failed"));
        }
        if self.taken_bytes < self.chunk.len() {
            return Ok(true);
        }
        if self.read_bytes == self.len() {
            return Ok(false);
        }
        self.taken_bytes = 0;
        let loaded = self.source.read_chunk(self.read_bytes, &mut self.chunk);
        if loaded.is_err() {
            self.failed = true;
            self.chunk.clear();
        }
        self.read_bytes += self.chunk.len() as u64;
        loaded.map(|()| true)
    }

    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> usize {
        self.chunk.capacity()
    }
}

impl<S: ChunkSource> Read for ChunkReader<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || !self.load().map_err(io::Error::other)? {
            return Ok(0);
        }
        let taken = (&self.chunk[self.taken_bytes..]).read(buffer)?;
        self.taken_bytes += taken;
        Ok(taken)
    }
}

/// Fills `chunk` (which is cleared first) with up to `most` bytes from a stream; fewer mean that the stream has ended.
pub(crate) fn fill_chunk(source: &mut dyn Read, chunk: &mut Vec<u8>, most: usize, path: &Path) -> Result<()> {
    chunk.clear();
    let filled = source.take(most as u64).read_to_end(chunk);
    filled.map(drop).map_err(|error| Error::io("read the source of a long value for", path, error))
}
