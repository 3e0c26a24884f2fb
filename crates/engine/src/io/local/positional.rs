//! Positional I/O: reads and writes at an offset on every operating system, and unaligned ranges by aligned reads.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::ops::Range;

/// Largest buffer of one aligned read; a longer range takes several reads.
const SCRATCH_BYTES_MAX: usize = 4 << 20;

/// A single attempt to read at an offset, which may be interrupted or return less than requested.
pub(in crate::io) trait ReadAt {
    /// Reads once; returns the number of bytes read, 0 at the end of the file.
    fn read_at_once(&self, buffer: &mut [u8], offset: u64) -> Result<usize>;
}

#[cfg(unix)]
impl ReadAt for File {
    fn read_at_once(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }
}

#[cfg(windows)]
impl ReadAt for File {
    fn read_at_once(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, buffer, offset)
    }
}

/// A single attempt to write at an offset, which may be interrupted or write less than requested.
pub(in crate::io) trait WriteAt {
    /// Writes once; returns the number of bytes written.
    fn write_at_once(&self, bytes: &[u8], offset: u64) -> Result<usize>;
}

#[cfg(unix)]
impl WriteAt for File {
    fn write_at_once(&self, bytes: &[u8], offset: u64) -> Result<usize> {
        std::os::unix::fs::FileExt::write_at(self, bytes, offset)
    }
}

#[cfg(windows)]
impl WriteAt for File {
    fn write_at_once(&self, bytes: &[u8], offset: u64) -> Result<usize> {
        std::os::windows::fs::FileExt::seek_write(self, bytes, offset)
    }
}

/// Fills `buffer` from `offset`, with as many attempts as necessary.
pub(in crate::io) fn read_exactly(source: &impl ReadAt, mut buffer: &mut [u8], mut offset: u64) -> Result<()> {
    while !buffer.is_empty() {
        match source.read_at_once(buffer, offset) {
            Ok(0) => return Err(end_of_file()),
            Ok(count) => {
                buffer = buffer.get_mut(count..).unwrap_or_default();
                offset += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes all of `bytes` at `offset`; an attempt that writes nothing is an error, to avoid an endless loop.
pub(in crate::io) fn write_exactly(target: &impl WriteAt, mut bytes: &[u8], mut offset: u64) -> Result<()> {
    while !bytes.is_empty() {
        match target.write_at_once(bytes, offset) {
            Ok(0) => return Err(Error::new(ErrorKind::WriteZero, "the file takes no more bytes")),
            Ok(count) => {
                bytes = bytes.get(count..).unwrap_or_default();
                offset += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A buffer whose usable part starts at the alignment of direct reads.
#[derive(Debug, Default)]
pub(in crate::io) struct AlignedBuffer {
    bytes: Vec<u8>,
}

impl AlignedBuffer {
    /// `length` bytes at an address that is a multiple of `alignment`, which must be a power of two.
    pub(in crate::io) fn slice(&mut self, length: usize, alignment: usize) -> &mut [u8] {
        let needed = length + alignment;
        if self.bytes.len() < needed {
            self.bytes = vec![0; needed];
        }
        let start = self.start(alignment);
        self.bytes.get_mut(start..start + length).unwrap_or_default()
    }

    /// The first aligned position.
    fn start(&self, alignment: usize) -> usize {
        // `align_offset` may fail only at compile time; the `min` keeps even that case in bounds.
        self.bytes.as_ptr().align_offset(alignment).min(alignment)
    }

    /// A buffer in memory that was allocated before.
    pub(in crate::io) fn of(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    pub(in crate::io) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Capacity in bytes.
    pub(in crate::io) fn capacity_bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// Fills `buffer` from `offset` by reads whose offset, length and address are multiples of `alignment`. The last block
/// of a file may be partial; its read is short.
pub(in crate::io) fn read_aligned(
    source: &impl ReadAt,
    scratch: &mut AlignedBuffer,
    buffer: &mut [u8],
    offset: u64,
    alignment: usize,
) -> Result<()> {
    let mask = alignment as u64 - 1;
    if buffer.as_ptr().align_offset(alignment) == 0 && offset & mask == 0 && buffer.len() as u64 & mask == 0 {
        let length = buffer.len();
        return read_blocks(source, buffer, offset, length, alignment);
    }
    let mut done = 0;
    while done < buffer.len() {
        let from = offset + done as u64;
        let skip = (from & mask) as usize;
        let take = (buffer.len() - done).min(SCRATCH_BYTES_MAX - skip);
        let blocks = scratch.slice((skip + take).next_multiple_of(alignment), alignment);
        read_blocks(source, blocks, from - skip as u64, skip + take, alignment)?;
        buffer[done..done + take].copy_from_slice(&blocks[skip..skip + take]);
        done += take;
    }
    Ok(())
}

/// Reads the blocks that contain a range into `buffer`, and returns where the range lies in the whole buffer.
pub(in crate::io) fn read_whole_blocks(
    source: &impl ReadAt,
    buffer: &mut AlignedBuffer,
    offset: u64,
    length: usize,
    alignment: usize,
) -> Result<Range<usize>> {
    let skip = (offset & (alignment as u64 - 1)) as usize;
    let blocks = buffer.slice((skip + length).next_multiple_of(alignment), alignment);
    read_blocks(source, blocks, offset - skip as u64, skip + length, alignment)?;
    let start = buffer.start(alignment) + skip;
    Ok(start..start + length)
}

/// Reads blocks into an aligned buffer until its first `needed` bytes are filled. After a read that ended inside a
/// block, the next one starts at that block again, because it must be aligned.
fn read_blocks(source: &impl ReadAt, blocks: &mut [u8], offset: u64, needed: usize, alignment: usize) -> Result<()> {
    let mut filled = 0;
    let mut whole = 0;
    while filled < needed {
        match source.read_at_once(&mut blocks[whole..], offset + whole as u64) {
            Ok(count) if whole + count <= filled => return Err(end_of_file()),
            Ok(count) => {
                filled = whole + count;
                whole = filled - filled % alignment;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn end_of_file() -> Error {
    Error::new(ErrorKind::UnexpectedEof, "the file ends before the range that was asked for")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A file that interrupts every other attempt and returns at most `most` bytes at a time.
    struct UnreliableFile {
        content: Vec<u8>,
        most: usize,
        attempts: Cell<usize>,
        alignment: usize,
    }

    impl UnreliableFile {
        fn new(length: usize, most: usize, alignment: usize) -> Self {
            let content = (0..length).map(|i| (i * 7 % 251) as u8).collect();
            Self { content, most, attempts: Cell::new(0), alignment }
        }
    }

    impl ReadAt for UnreliableFile {
        fn read_at_once(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
            assert_eq!(offset as usize % self.alignment, 0, "offset of a direct read");
            assert_eq!(buffer.len() % self.alignment, 0, "length of a direct read");
            assert_eq!(buffer.as_ptr().align_offset(self.alignment), 0, "address of a direct read");
            self.attempts.set(self.attempts.get() + 1);
            if self.attempts.get() % 2 == 1 {
                return Err(ErrorKind::Interrupted.into());
            }
            let start = (offset as usize).min(self.content.len());
            let count = buffer.len().min(self.most).min(self.content.len() - start);
            buffer[..count].copy_from_slice(&self.content[start..start + count]);
            Ok(count)
        }
    }

    #[test]
    fn interrupted_and_short_reads_still_fill_the_range() {
        let file = UnreliableFile::new(1000, 7, 1);
        let mut buffer = vec![0; 900];
        read_exactly(&file, &mut buffer, 50).unwrap();
        assert_eq!(buffer, file.content[50..950]);
        assert_eq!(read_exactly(&file, &mut buffer, 101).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn aligned_reads_fill_every_range_up_to_the_partial_last_block() {
        for most in [512, 700, 1 << 20] {
            let file = UnreliableFile::new(5000, most, 512);
            for (offset, length) in
                [(0, 5000), (0, 512), (1, 1), (511, 2), (4999, 1), (4608, 392), (1024, 1024), (3, 0)]
            {
                let mut buffer = vec![0; length];
                read_aligned(&file, &mut AlignedBuffer::default(), &mut buffer, offset, 512).unwrap();
                assert_eq!(buffer, file.content[offset as usize..offset as usize + length], "{offset}+{length}/{most}");
            }
            let error = read_aligned(&file, &mut AlignedBuffer::default(), &mut [0; 2], 4999, 512).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn ranges_longer_than_the_scratch_buffer_are_read_in_parts() {
        let file = UnreliableFile::new(SCRATCH_BYTES_MAX * 2 + 77, usize::MAX, 4096);
        let mut scratch = AlignedBuffer::default();
        let mut buffer = vec![0; SCRATCH_BYTES_MAX * 2 + 70];
        read_aligned(&file, &mut scratch, &mut buffer, 5, 4096).unwrap();
        assert!(buffer == file.content[5..SCRATCH_BYTES_MAX * 2 + 75]);
        assert!(scratch.capacity_bytes() <= SCRATCH_BYTES_MAX + 4096);
    }

    struct Full(Cell<usize>);

    impl WriteAt for Full {
        fn write_at_once(&self, bytes: &[u8], _offset: u64) -> Result<usize> {
            let taken = bytes.len().min(self.0.get()).min(3);
            self.0.set(self.0.get() - taken);
            Ok(taken)
        }
    }

    #[test]
    fn a_file_that_takes_nothing_ends_the_write_with_an_error() {
        write_exactly(&Full(Cell::new(10)), &[0; 10], 0).unwrap();
        assert_eq!(write_exactly(&Full(Cell::new(9)), &[0; 10], 0).unwrap_err().kind(), ErrorKind::WriteZero);
    }
}
