//! Long values: runs of checksummed chunks, written and read as streams.
//!
//! A value that does not fit a data block is stored elsewhere in the file, as consecutive *chunks* of 64 KiB, the last
//! one shorter. The record in the data block holds a [`ValuePointer`] instead.
//!
//! ```text
//! offset                 + 64 KiB               + 128 KiB
//! | 65,532 bytes | CRC   | 65,532 bytes | CRC   | rest | CRC |
//! ```
//!
//! Each CRC is that of [`checksum`](crate::block::checksum): it covers the chunk's bytes, the file identity, and the
//! chunk's offset. A reader holds one chunk at a time, however long the value is. The value's length is protected by
//! the checksum of the data block that holds the pointer.

use crate::block::checksum::{CHECKSUM_BYTES, check, seal};
use crate::block::stream::{self, ChunkReader, ChunkSource, fill_chunk};
use crate::error::{Error, Result};
use crate::io::{Purpose, ReadRequest, ReadableFile, spoiled};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Stored size of a full chunk in bytes, checksum included.
pub const CHUNK_BYTES: usize = 64 << 10;
/// Bytes of the value in a full chunk.
pub const CHUNK_PAYLOAD_BYTES: usize = CHUNK_BYTES - CHECKSUM_BYTES;
/// Most bytes that are read ahead of a value, and the largest request for them.
const AHEAD_BYTES_MAX: usize = 16 << 20;
const PIECE_BYTES: usize = 4 << 20;
/// Longest value that the format allows, in bytes: 1 GiB.
pub const VALUE_BYTES_MAX: u64 = stream::VALUE_BYTES_MAX;

/// The location of a long value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValuePointer {
    /// Offset of its first chunk in the file, in bytes.
    pub offset: u64,
    /// Length of the value in bytes, without checksums.
    pub length: u64,
}

impl ValuePointer {
    /// Stored size of a pointer in bytes.
    pub const BYTES: usize = 16;

    /// The stored form: offset and length, little-endian.
    #[must_use]
    pub fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    /// Decodes a stored pointer. `None` if `bytes` are not 16; the values are checked by [`ValueReader::new`].
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (offset, length) = bytes.split_first_chunk::<8>()?;
        let length: &[u8; 8] = length.try_into().ok()?;
        Some(Self { offset: u64::from_le_bytes(*offset), length: u64::from_le_bytes(*length) })
    }

    /// Stored size of the value in bytes, checksums included.
    #[must_use]
    pub fn stored_bytes(self) -> u64 {
        let checksums = self.length.div_ceil(CHUNK_PAYLOAD_BYTES as u64).saturating_mul(CHECKSUM_BYTES as u64);
        self.length.saturating_add(checksums)
    }
}

/// The output of a [`ValueWriter`]: appends bytes to the file.
pub type ValueSink<'a> = dyn FnMut(&[u8]) -> Result<()> + 'a;

/// Writes values as chunks; holds one chunk, and serves any number of values.
#[derive(Debug)]
pub struct ValueWriter {
    file_id: u64,
    path: PathBuf,
    chunk: Vec<u8>,
}

impl ValueWriter {
    /// Creates a writer for the file `file_id`; `path` is for messages.
    #[must_use]
    pub fn new(file_id: u64, path: impl Into<PathBuf>) -> Self {
        Self { file_id, path: path.into(), chunk: Vec::new() }
    }

    /// Writes `value` to `sink`, whose next byte is at `offset` of the file. The value takes
    /// [`ValuePointer::stored_bytes`] there.
    ///
    /// # Errors
    /// [`Cause::ValueTooLarge`](crate::Cause::ValueTooLarge) before anything is written; errors of the sink.
    pub fn write(&mut self, offset: u64, value: &[u8], sink: &mut ValueSink<'_>) -> Result<ValuePointer> {
        if value.len() as u64 > VALUE_BYTES_MAX {
            return Err(self.too_large(value.len() as u64));
        }
        self.write_stream(offset, &mut &value[..], sink)
    }

    /// Writes all of `source` to `sink`, whose next byte is at `offset` of the file.
    ///
    /// # Errors
    /// `Cause::Io` if the source fails, `Cause::ValueTooLarge` if it yields more than [`VALUE_BYTES_MAX`], and
    /// errors of the sink. Chunks may have been written by then: bytes of the file to which no pointer leads.
    pub fn write_stream(
        &mut self,
        offset: u64,
        source: &mut dyn Read,
        sink: &mut ValueSink<'_>,
    ) -> Result<ValuePointer> {
        let mut pointer = ValuePointer { offset, length: 0 };
        loop {
            let payload_bytes = self.fill(source)?;
            if payload_bytes == 0 {
                return Ok(pointer);
            }
            if pointer.length + payload_bytes as u64 > VALUE_BYTES_MAX {
                return Err(self.too_large(pointer.length + payload_bytes as u64));
            }
            seal(self.file_id, offset + pointer.stored_bytes(), &mut self.chunk);
            sink(&self.chunk)?;
            pointer.length += payload_bytes as u64;
            if payload_bytes < CHUNK_PAYLOAD_BYTES {
                return Ok(pointer);
            }
        }
    }

    /// Fills the chunk from the source, leaving room for its checksum; returns the number of bytes read.
    fn fill(&mut self, source: &mut dyn Read) -> Result<usize> {
        fill_chunk(source, &mut self.chunk, CHUNK_PAYLOAD_BYTES, &self.path)?;
        let payload_bytes = self.chunk.len();
        self.chunk.extend_from_slice(&[0; CHECKSUM_BYTES]);
        Ok(payload_bytes)
    }

    fn too_large(&self, length: u64) -> Error {
        Error::value_too_large(self.path.clone(), length, VALUE_BYTES_MAX)
    }
}

/// Reads one long value as a stream, one checked chunk at a time.
///
/// Errors returned by [`Read`] are [`io::Error`]s that contain the engine's own; [`ValueReader::next_chunk`] returns
/// these directly. After an error every further call fails, so a damaged value never looks like a short one.
#[derive(Debug)]
pub struct ValueReader {
    chunks: ChunkReader<TableChunks>,
}

impl ValueReader {
    /// Creates a reader of the value at `pointer`, without reading yet.
    ///
    /// # Errors
    /// `Cause::Damaged` if the pointer leads past the end of the file, or states a length that no value has.
    pub fn new(file: Arc<dyn ReadableFile>, file_id: u64, pointer: ValuePointer) -> Result<Self> {
        let end = pointer.offset.checked_add(pointer.stored_bytes());
        if pointer.length > VALUE_BYTES_MAX || end.is_none_or(|end| end > file.len()) {
            let detail = format!(
                "a value of {} bytes is said to lie here, and the file ends at byte {}",
                pointer.length,
                file.len()
            );
            return Err(Error::damaged(file.path(), pointer.offset, detail));
        }
        Ok(Self { chunks: ChunkReader::new(TableChunks { file, file_id, pointer, ahead: ChunksAhead::default() }) })
    }

    /// Reads about this many bytes at a time, if that is more than a chunk and less than [`AHEAD_BYTES_MAX`].
    pub(in crate::table) fn ahead(mut self, bytes: usize) -> Self {
        let ahead = &mut self.chunks.source_mut().ahead;
        ahead.most_bytes = bytes.min(AHEAD_BYTES_MAX) / CHUNK_BYTES * CHUNK_BYTES;
        self
    }

    /// A reader of a value that is already in memory.
    pub(in crate::table) fn of_bytes(file: Arc<dyn ReadableFile>, value: Vec<u8>) -> Self {
        let pointer = ValuePointer { offset: 0, length: value.len() as u64 };
        let source = TableChunks { file, file_id: 0, pointer, ahead: ChunksAhead::default() };
        Self { chunks: ChunkReader::of_bytes(source, value) }
    }

    /// Length of the whole value in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.chunks.len()
    }

    /// Whether the value has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next bytes, at most one chunk; `None` at the end of the value.
    ///
    /// # Errors
    /// [`Cause::Damaged`](crate::Cause::Damaged) for a chunk with a wrong checksum; errors of the file.
    pub fn next_chunk(&mut self) -> Result<Option<&[u8]>> {
        self.chunks.next_chunk()
    }

    /// Reads the rest of the value into one buffer.
    ///
    /// # Errors
    /// `Cause::ValueTooLarge` if that is more than `limit_bytes`, before anything is allocated or read; errors of
    /// [`ValueReader::next_chunk`].
    pub fn read_to_vec(self, limit_bytes: u64) -> Result<Vec<u8>> {
        self.chunks.read_to_vec(limit_bytes)
    }
}

impl Read for ValueReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.chunks.read(buffer)
    }
}

/// The chunks of one value of a table.
#[derive(Debug)]
struct TableChunks {
    file: Arc<dyn ReadableFile>,
    file_id: u64,
    pointer: ValuePointer,
    ahead: ChunksAhead,
}

/// Chunks that were read ahead, as they are stored.
#[derive(Debug, Default)]
struct ChunksAhead {
    /// 0 to read nothing ahead.
    most_bytes: usize,
    offset: u64,
    bytes: Vec<u8>,
}

impl ChunksAhead {
    /// The chunk at an offset, if it is there.
    fn chunk(&self, offset: u64, bytes: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        self.bytes.get(start..start.checked_add(bytes)?)
    }

    /// Reads chunks from an offset on, until the end of the value.
    fn fill(&mut self, file: &dyn ReadableFile, offset: u64, end: u64) -> Result<()> {
        let length = (end - offset).min(self.most_bytes as u64) as usize;
        self.bytes.clear();
        self.bytes.resize(length, 0);
        let mut next = offset;
        let request = |buffer| {
            let request = ReadRequest { offset: next, buffer, purpose: Purpose::Value };
            next += request.buffer.len() as u64;
            request
        };
        let read = file.read_many(self.bytes.chunks_mut(PIECE_BYTES).map(request).collect());
        if read.is_err() {
            self.bytes.clear();
        }
        self.offset = offset;
        read
    }
}

impl TableChunks {
    /// The offset of the chunk after the first `read_bytes`. All chunks before it are full.
    fn chunk_offset(&self, read_bytes: u64) -> u64 {
        self.pointer.offset + read_bytes / CHUNK_PAYLOAD_BYTES as u64 * CHUNK_BYTES as u64
    }
}

impl ChunkSource for TableChunks {
    fn length(&self) -> u64 {
        self.pointer.length
    }

    fn read_chunk(&mut self, read_bytes: u64, chunk: &mut Vec<u8>) -> Result<()> {
        let payload_bytes = (self.pointer.length - read_bytes).min(CHUNK_PAYLOAD_BYTES as u64) as usize;
        let offset = self.chunk_offset(read_bytes);
        chunk.resize(payload_bytes + CHECKSUM_BYTES, 0);
        if self.ahead.most_bytes > CHUNK_BYTES {
            if self.ahead.chunk(offset, chunk.len()).is_none() {
                self.ahead.fill(&*self.file, offset, self.pointer.offset + self.pointer.stored_bytes())?;
            }
            let bytes = chunk.len();
            chunk.clear();
            chunk.extend_from_slice(self.ahead.chunk(offset, bytes).unwrap_or_default());
        } else {
            self.file.read(ReadRequest { offset, buffer: chunk, purpose: Purpose::Value })?;
        }
        if !check(self.file_id, offset, chunk) {
            let detail = "the checksum of a chunk of a long value does not match";
            return Err(spoiled(&*self.file, offset, detail));
        }
        chunk.truncate(payload_bytes);
        Ok(())
    }

    fn place(&self, read_bytes: u64) -> (&Path, u64) {
        (self.file.path(), self.chunk_offset(read_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
    use proptest::prelude::*;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    const FILE_ID: u64 = 99;

    /// A file in memory that records the longest read.
    #[derive(Debug, Default)]
    struct Bytes {
        content: Vec<u8>,
        longest_read: AtomicUsize,
        fails_once: AtomicBool,
    }

    impl ReadableFile for Bytes {
        fn len(&self) -> u64 {
            self.content.len() as u64
        }

        fn read(&self, request: ReadRequest<'_>) -> Result<()> {
            assert_eq!(request.purpose, Purpose::Value);
            self.longest_read.fetch_max(request.buffer.len(), Ordering::Relaxed);
            if self.fails_once.swap(false, Ordering::Relaxed) {
                return Err(Error::io("read", self.path(), io::ErrorKind::Other.into()));
            }
            let start = usize::try_from(request.offset).unwrap();
            let found = self.content.get(start..start + request.buffer.len());
            let found = found.ok_or_else(|| Error::io("read", self.path(), io::ErrorKind::UnexpectedEof.into()))?;
            request.buffer.copy_from_slice(found);
            Ok(())
        }

        fn path(&self) -> &Path {
            Path::new("values")
        }
    }

    fn file(content: Vec<u8>) -> Arc<Bytes> {
        Arc::new(Bytes { content, ..Bytes::default() })
    }

    fn value_of(length: usize) -> Vec<u8> {
        (0..length).map(|i| (i * 7 + i / 65_000) as u8).collect()
    }

    /// A file with `before` other bytes and then the value.
    fn stored(before: usize, value: &[u8]) -> (Vec<u8>, ValuePointer) {
        let mut content = vec![0xaa; before];
        let mut writer = ValueWriter::new(FILE_ID, "values");
        let mut sink = |bytes: &[u8]| {
            content.extend_from_slice(bytes);
            Ok(())
        };
        let pointer = writer.write(before as u64, value, &mut sink).unwrap();
        (content, pointer)
    }

    fn read(content: Vec<u8>, pointer: ValuePointer) -> Result<Vec<u8>> {
        ValueReader::new(file(content), FILE_ID, pointer)?.read_to_vec(VALUE_BYTES_MAX)
    }

    #[test]
    fn lengths_around_the_chunks_come_back_and_take_what_was_computed() {
        let full = CHUNK_PAYLOAD_BYTES;
        for length in
            [0, 1, 100, full - 1, full, full + 1, CHUNK_BYTES, 2 * full - 1, 2 * full, 2 * full + 1, 5 * full + 17]
        {
            for before in [0, 1, 4096] {
                let value = value_of(length);
                let (content, pointer) = stored(before, &value);
                assert_eq!(content.len() as u64, before as u64 + pointer.stored_bytes());
                assert_eq!(pointer, ValuePointer { offset: before as u64, length: length as u64 });
                assert_eq!(read(content, pointer).unwrap(), value);
            }
        }
    }

    #[test]
    fn a_value_is_read_as_a_stream_one_chunk_at_a_time() {
        let value = value_of(300_000);
        let (content, pointer) = stored(10, &value);
        let file = file(content);
        let mut reader = ValueReader::new(Arc::clone(&file) as Arc<dyn ReadableFile>, FILE_ID, pointer).unwrap();
        let mut read = Vec::new();
        let mut small = [0; 1000];
        loop {
            let taken = reader.read(&mut small).unwrap();
            if taken == 0 {
                break;
            }
            read.extend_from_slice(&small[..taken]);
            assert!(reader.chunks.held_bytes() <= CHUNK_BYTES);
        }
        assert_eq!(read, value);
        assert_eq!(file.longest_read.load(Ordering::Relaxed), CHUNK_BYTES);
    }

    #[test]
    fn reading_on_in_another_way_goes_on_where_the_first_stopped() {
        let value = value_of(150_000);
        let (content, pointer) = stored(0, &value);
        let mut reader = ValueReader::new(file(content), FILE_ID, pointer).unwrap();
        let mut start = [0; 70_000];
        reader.read_exact(&mut start).unwrap();
        assert_eq!(start[..], value[..70_000]);
        assert_eq!(reader.next_chunk().unwrap().unwrap(), &value[70_000..2 * CHUNK_PAYLOAD_BYTES]);
        assert_eq!(reader.read_to_vec(1 << 20).unwrap(), &value[2 * CHUNK_PAYLOAD_BYTES..]);
    }

    #[test]
    fn a_value_above_the_limit_is_refused_before_it_is_read() {
        let (content, pointer) = stored(0, &value_of(1000));
        let file = file(content);
        let reader = ValueReader::new(Arc::clone(&file) as Arc<dyn ReadableFile>, FILE_ID, pointer).unwrap();
        let refused = reader.read_to_vec(999);
        assert!(matches!(refused, Err(Error { cause: Cause::ValueTooLarge { length: 1000, limit: 999 }, .. })));
        assert_eq!(file.longest_read.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_source_longer_than_the_format_takes_is_refused() {
        let mut writer = ValueWriter::new(FILE_ID, "values");
        let mut written = 0;
        let mut sink = |bytes: &[u8]| {
            written += bytes.len() as u64;
            Ok(())
        };
        let refused = writer.write_stream(0, &mut io::repeat(1).take(VALUE_BYTES_MAX + 1), &mut sink);
        assert!(matches!(refused, Err(Error { cause: Cause::ValueTooLarge { limit: VALUE_BYTES_MAX, .. }, .. })));
        assert!(written <= VALUE_BYTES_MAX + (1 << 20));
        assert!(writer.chunk.capacity() <= 2 * CHUNK_BYTES, "the writer holds {} bytes", writer.chunk.capacity());
    }

    #[test]
    fn a_failing_source_and_a_full_disk_are_typed_errors() {
        #[derive(Debug)]
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
        let mut writer = ValueWriter::new(FILE_ID, "values");
        let failed = writer.write_stream(0, &mut Broken, &mut |_| Ok(()));
        assert!(matches!(failed, Err(Error { cause: Cause::Io(_), .. })));
        let mut full = |_: &[u8]| Err(Error::io("write", "values", io::ErrorKind::StorageFull.into()));
        let failed = writer.write(0, b"value", &mut full);
        assert!(matches!(failed, Err(Error { cause: Cause::Io(io::ErrorKind::StorageFull), .. })));
    }

    #[test]
    fn a_source_that_gives_a_byte_at_a_time_or_is_interrupted_is_read_whole() {
        struct Trickle(Vec<u8>, bool);
        impl Read for Trickle {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.1 = !self.1;
                if self.1 {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                let taken = self.0.len().min(1).min(buffer.len());
                buffer[..taken].copy_from_slice(&self.0[..taken]);
                self.0.drain(..taken);
                Ok(taken)
            }
        }
        let mut content = Vec::new();
        let value = value_of(3000);
        let mut sink = |bytes: &[u8]| {
            content.extend_from_slice(bytes);
            Ok(())
        };
        let mut writer = ValueWriter::new(FILE_ID, "values");
        let pointer = writer.write_stream(0, &mut Trickle(value.clone(), false), &mut sink).unwrap();
        assert_eq!(read(content, pointer).unwrap(), value);
    }

    #[test]
    fn pointers_past_the_file_or_of_absurd_length_are_damage() {
        let (content, good) = stored(100, &value_of(70_000));
        let ends = content.len() as u64;
        let bad = [
            ValuePointer { length: good.length + 1, ..good },
            ValuePointer { offset: good.offset + 1, ..good },
            ValuePointer { offset: ends, length: 1 },
            ValuePointer { offset: ends + 1, length: 0 },
            ValuePointer { offset: u64::MAX, length: 1 },
            ValuePointer { offset: u64::MAX, length: 0 },
            ValuePointer { offset: 0, length: u64::MAX },
            ValuePointer { offset: u64::MAX, length: u64::MAX },
            ValuePointer { offset: 0, length: VALUE_BYTES_MAX + 1 },
            ValuePointer { offset: 0, length: VALUE_BYTES_MAX },
        ];
        for pointer in bad {
            let refused = ValueReader::new(file(content.clone()), FILE_ID, pointer);
            assert!(
                matches!(refused, Err(error @ Error { cause: Cause::Damaged, .. })
                    if error.offset() == Some(pointer.offset)),
                "{pointer:?}"
            );
        }
    }

    #[test]
    fn a_value_longer_than_the_format_takes_is_damage_even_where_the_file_is_long_enough() {
        #[derive(Debug)]
        struct Huge;
        impl ReadableFile for Huge {
            fn len(&self) -> u64 {
                u64::MAX
            }
            fn read(&self, _: ReadRequest<'_>) -> Result<()> {
                Ok(())
            }
            fn path(&self) -> &Path {
                Path::new("huge")
            }
        }
        let at = |length| ValueReader::new(Arc::new(Huge), FILE_ID, ValuePointer { offset: 0, length });
        assert!(at(VALUE_BYTES_MAX).is_ok());
        assert!(matches!(at(VALUE_BYTES_MAX + 1), Err(Error { cause: Cause::Damaged, .. })));
    }

    #[test]
    fn every_flipped_bit_is_damage_at_its_chunk() {
        let value = value_of(200);
        let (content, pointer) = stored(3, &value);
        for bit in 3 * 8..content.len() * 8 {
            let mut damaged = content.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(
                matches!(read(damaged, pointer), Err(error @ Error { cause: Cause::Damaged, .. })
                    if error.offset() == Some(3)),
                "bit {bit}"
            );
        }
    }

    #[test]
    fn chunks_swapped_or_of_another_file_are_damage() {
        let (content, pointer) = stored(0, &vec![5; 2 * CHUNK_PAYLOAD_BYTES]);
        let mut swapped = content[CHUNK_BYTES..].to_vec();
        swapped.extend_from_slice(&content[..CHUNK_BYTES]);
        assert!(matches!(read(swapped, pointer), Err(error @ Error { cause: Cause::Damaged, .. })
                if error.offset() == Some(0)));
        let other = ValueReader::new(file(content), FILE_ID + 1, pointer).unwrap();
        assert!(matches!(other.read_to_vec(1 << 20), Err(error @ Error { cause: Cause::Damaged, .. })
                if error.offset() == Some(0)));
    }

    #[test]
    fn a_damaged_value_stays_damaged_and_never_looks_short() {
        let (mut content, pointer) = stored(0, &value_of(3 * CHUNK_PAYLOAD_BYTES));
        content[CHUNK_BYTES + 5] ^= 1;
        let mut reader = ValueReader::new(file(content), FILE_ID, pointer).unwrap();
        assert_eq!(reader.next_chunk().unwrap().unwrap().len(), CHUNK_PAYLOAD_BYTES);
        for _ in 0..3 {
            let error = reader.read(&mut [0; 100]).unwrap_err();
            let error = error.get_ref().unwrap().downcast_ref::<Error>();
            assert!(matches!(error, Some(error @ Error { cause: Cause::Damaged, .. })
                    if error.offset() == Some(CHUNK_BYTES as u64)));
            assert!(reader.next_chunk().is_err());
        }
        assert!(reader.read_to_vec(1 << 20).is_err());
    }

    #[test]
    fn a_reader_that_failed_once_gives_nothing_more() {
        let (content, pointer) = stored(0, &value_of(1000));
        let file = file(content);
        file.fails_once.store(true, Ordering::Relaxed);
        let mut reader = ValueReader::new(file, FILE_ID, pointer).unwrap();
        assert!(matches!(reader.next_chunk(), Err(Error { cause: Cause::Io(_), .. })));
        assert!(matches!(reader.next_chunk(), Err(Error { cause: Cause::Damaged, .. })));
        assert!(reader.read(&mut [0; 10]).is_err());
    }

    proptest! {
        #[test]
        fn pointers_come_back(offset: u64, length: u64, bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let pointer = ValuePointer { offset, length };
            prop_assert_eq!(ValuePointer::decode(&pointer.encode()), Some(pointer));
            prop_assert_eq!(ValuePointer::decode(&bytes).is_some(), bytes.len() == ValuePointer::BYTES);
        }

        #[test]
        fn hostile_pointers_into_any_file_give_an_error_and_no_bytes(
            content in proptest::collection::vec(any::<u8>(), 0..5000), offset in 0_u64..6000, length in 1_u64..6000,
        ) {
            let refused = read(content, ValuePointer { offset, length });
            let is_damage = matches!(refused, Err(Error { cause: Cause::Damaged, .. }));
            prop_assert!(is_damage);
        }

        #[test]
        fn values_written_one_after_another_come_back(lengths in proptest::collection::vec(0_usize..200_000, 1..6)) {
            let mut content = Vec::new();
            let mut writer = ValueWriter::new(FILE_ID, "values");
            let mut pointers = Vec::new();
            for &length in &lengths {
                let offset = content.len() as u64;
                let mut sink = |bytes: &[u8]| { content.extend_from_slice(bytes); Ok(()) };
                pointers.push(writer.write(offset, &value_of(length), &mut sink).unwrap());
            }
            for (pointer, length) in pointers.into_iter().zip(lengths) {
                prop_assert_eq!(read(content.clone(), pointer).unwrap(), value_of(length));
            }
        }
    }
}
