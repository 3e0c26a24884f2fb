//! Buffers for long direct reads, in large pages of memory where the system gives them.
//!
//! A direct read into ordinary memory is a list of pages of 4 KiB, and a device takes a limited number of entries in
//! each request. In a large page, the same read is one entry.

use std::ops::{Deref, DerefMut};

/// Alignment of direct reads, in the file and in memory, in bytes: suits every device in use.
const ALIGNMENT: usize = 4096;
/// A large page, in bytes: that of x86-64, and of other processors with pages of 4 KiB.
pub(crate) const LARGE_PAGE_BYTES: usize = 2 << 20;

/// Bytes that begin at the alignment of direct reads.
#[derive(Debug, Default)]
pub(crate) struct LargeBuffer {
    memory: BufferMemory,
    /// Where the bytes begin in the memory, and their number.
    begin: usize,
    bytes: usize,
}

#[derive(Debug)]
enum BufferMemory {
    Ordinary(Vec<u8>),
    #[cfg(target_os = "linux")]
    Mapped(memmap2::MmapMut),
}

impl Default for BufferMemory {
    fn default() -> Self {
        Self::Ordinary(Vec::new())
    }
}

impl BufferMemory {
    fn all(&self) -> &[u8] {
        match self {
            Self::Ordinary(memory) => memory,
            #[cfg(target_os = "linux")]
            Self::Mapped(memory) => memory,
        }
    }
}

impl LargeBuffer {
    /// Takes memory for `most_bytes`, or for `bytes` if that is more, unless there is room for `bytes`. The content is
    /// then zero. Large pages are taken only for whole ones, and only if the bytes fill half of the first.
    pub(crate) fn make_room(&mut self, bytes: usize, most_bytes: usize, large_pages: bool) {
        if self.bytes >= bytes {
            return;
        }
        // Before the next memory is taken, so that both never are.
        *self = Self::default();
        let wanted = bytes.max(most_bytes);
        let is_large = large_pages && wanted >= LARGE_PAGE_BYTES && bytes >= LARGE_PAGE_BYTES / 2;
        *self = is_large.then(|| mapped(wanted)).flatten().unwrap_or_else(|| Self::ordinary(wanted));
    }

    fn ordinary(bytes: usize) -> Self {
        let memory = vec![0; bytes + ALIGNMENT];
        let begin = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { memory: BufferMemory::Ordinary(memory), begin, bytes }
    }

    /// Whether the memory was taken for large pages. The system may still give others.
    #[cfg(test)]
    pub(crate) fn is_large(&self) -> bool {
        !matches!(self.memory, BufferMemory::Ordinary(_))
    }
}

/// Memory of large pages; `None` if the system has none.
#[cfg(target_os = "linux")]
fn mapped(bytes: usize) -> Option<LargeBuffer> {
    // Addresses that nothing is written to take no memory.
    let memory = memmap2::MmapMut::map_anon(bytes + LARGE_PAGE_BYTES).ok()?;
    let begin = memory.as_ptr().align_offset(LARGE_PAGE_BYTES);
    let whole = bytes - bytes % LARGE_PAGE_BYTES;
    memory.advise_range(memmap2::Advice::HugePage, begin, whole).ok()?;
    Some(LargeBuffer { memory: BufferMemory::Mapped(memory), begin, bytes })
}

/// Other systems choose the size of pages themselves.
#[cfg(not(target_os = "linux"))]
fn mapped(_bytes: usize) -> Option<LargeBuffer> {
    None
}

impl Deref for LargeBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.memory.all().get(self.begin..self.begin + self.bytes).unwrap_or_default()
    }
}

impl DerefMut for LargeBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        let all: &mut [u8] = match &mut self.memory {
            BufferMemory::Ordinary(memory) => memory,
            #[cfg(target_os = "linux")]
            BufferMemory::Mapped(memory) => memory,
        };
        all.get_mut(self.begin..self.begin + self.bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_buffer_is_aligned_zero_and_as_long_as_asked_for() {
        let mut buffer = LargeBuffer::default();
        assert!(buffer.is_empty());
        for large_pages in [false, true] {
            for (bytes, most_bytes) in
                [(1, 0), (5000, 9000), (1 << 20, 2 << 20), (3 << 20, 1), (2 << 20, (4 << 20) + 7), (6 << 20, 6 << 20)]
            {
                buffer = LargeBuffer::default();
                buffer.make_room(bytes, most_bytes, large_pages);
                assert_eq!(buffer.len(), bytes.max(most_bytes));
                assert_eq!(buffer.as_ptr().align_offset(ALIGNMENT), 0);
                assert!(buffer.iter().all(|&byte| byte == 0));
                let last = buffer.len() - 1;
                (buffer[0], buffer[last]) = (1, 2);
                buffer.make_room(bytes / 2, usize::MAX, large_pages);
                assert_eq!((buffer[0], buffer[last]), (if last == 0 { 2 } else { 1 }, 2), "memory that suffices stays");
            }
        }
        buffer.make_room(9 << 20, 0, true);
        assert!(buffer.len() == 9 << 20 && buffer.iter().all(|&byte| byte == 0));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_long_reads_take_large_pages() {
        for (bytes, most_bytes, large_pages, is_large) in [
            (2 << 20, 0, true, true),
            (1 << 20, 2 << 20, true, true),
            (1 << 20, 0, true, false),
            (64 << 10, 8 << 20, true, false),
            (8 << 20, 8 << 20, false, false),
        ] {
            let mut buffer = LargeBuffer::default();
            buffer.make_room(bytes, most_bytes, large_pages);
            assert_eq!(buffer.is_large(), is_large, "{bytes} of {most_bytes} bytes");
        }
    }
}
