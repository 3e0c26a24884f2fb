//! Value streams: reading a value chunk by chunk.

use super::chunk::{CHUNK_BYTES, ChunkHead, ChunkPart, LATER_BYTES_MAX, STORED_BYTES_MAX};
use super::pointer::ValueFilePointer;
use crate::block::compress::CODEC_STORED;
use crate::block::stream::{ChunkReader, ChunkSource};
use crate::block::window::ReadWindow;
use crate::error::Result;
use crate::io::{Purpose, ReadableFile, spoiled};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// Read size: four chunks, so that the cost of a request is small.
const READ_BYTES: usize = 4 * CHUNK_BYTES;

/// A value as a stream. After an error every further call fails, so a damaged value never looks like a short one.
///
/// Memory: a few hundred KiB, whatever the length of the value.
#[derive(Debug)]
pub(crate) struct ValueStream {
    chunks: ChunkReader<ValueChunks>,
}

impl ValueStream {
    pub(super) fn new(file: Arc<dyn ReadableFile>, identity: u64, pointer: ValueFilePointer) -> Self {
        let end = pointer.end().unwrap_or(u64::MAX);
        let window = ReadWindow::new(end, READ_BYTES, Purpose::Value);
        let chunks = ValueChunks { file, identity, pointer, end, window, position: pointer.offset };
        Self { chunks: ChunkReader::new(chunks) }
    }

    /// Returns the next bytes, at most 64 KiB; `None` at the end.
    ///
    /// # Errors
    /// [`Cause::Damaged`](crate::Cause::Damaged) for a damaged chunk; errors of the storage.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<&[u8]>> {
        self.chunks.next_chunk()
    }

    /// Reads the rest of the value.
    ///
    /// # Errors
    /// `Cause::ValueTooLarge` for more than `limit_bytes`, before anything is allocated; those of
    /// [`Self::next_chunk`].
    pub(crate) fn read_to_vec(self, limit_bytes: u64) -> Result<Vec<u8>> {
        self.chunks.read_to_vec(limit_bytes)
    }
}

impl Read for ValueStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.chunks.read(buffer)
    }
}

/// The chunks of one value.
#[derive(Debug)]
struct ValueChunks {
    file: Arc<dyn ReadableFile>,
    identity: u64,
    pointer: ValueFilePointer,
    end: u64,
    window: ReadWindow,
    /// Offset of the next chunk.
    position: u64,
}

impl ValueChunks {
    /// The position and the length of the chunk after the first `read_bytes` of the value.
    fn expected(&self, read_bytes: u64) -> (ChunkPart, usize) {
        let left = self.pointer.length - read_bytes;
        let part = match (read_bytes == 0, left <= CHUNK_BYTES as u64) {
            (true, true) => ChunkPart::Whole,
            (true, false) => ChunkPart::First,
            (false, false) => ChunkPart::Middle,
            (false, true) => ChunkPart::Last,
        };
        (part, left.min(CHUNK_BYTES as u64) as usize)
    }
}

impl ChunkSource for ValueChunks {
    fn length(&self) -> u64 {
        self.pointer.length
    }

    fn read_chunk(&mut self, read_bytes: u64, chunk: &mut Vec<u8>) -> Result<()> {
        let expected = self.expected(read_bytes);
        let (position, end) = (self.position, self.end);
        let damaged = |detail: String| spoiled(&*self.file, position, detail);
        let wanted = if expected.0.begins() { STORED_BYTES_MAX } else { LATER_BYTES_MAX };
        let bytes = self.window.at(&*self.file, position, wanted)?;
        let head = ChunkHead::checked(self.identity, position, bytes)
            .filter(|head| (head.part, head.length) == expected)
            .filter(|head| !head.part.ends() || position + head.chunk_bytes() as u64 == end)
            .ok_or_else(|| damaged("the value is missing or damaged".into()))?;
        if head.codec == CODEC_STORED {
            chunk.clear();
            chunk.extend_from_slice(bytes.get(head.value.clone()).unwrap_or_default());
        } else {
            head.unpack(bytes, chunk)
                .map_err(|error| error.in_file(self.file.path(), || damaged(error.to_string())))?;
        }
        self.position += head.chunk_bytes() as u64;
        Ok(())
    }

    fn place(&self, _read_bytes: u64) -> (&Path, u64) {
        (self.file.path(), self.position)
    }
}
