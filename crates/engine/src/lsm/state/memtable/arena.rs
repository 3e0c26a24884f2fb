//! The arena: a vector that grows by chunks and never moves its elements, so readers continue while it grows.

use std::sync::OnceLock;

/// An index consists of a chunk number and an offset of this many bits.
const OFFSET_BITS: u32 = 25;

/// Maximum number of chunks.
const CHUNKS_MAX: usize = 1 << (u32::BITS - OFFSET_BITS);

/// Elements of the first chunk.
const FIRST_CHUNK_ELEMENTS: usize = 256;

/// Chunk sizes double after this many chunks, so at most a fifth of the memory is unused.
const CHUNKS_PER_DOUBLING: usize = 4;

/// The first chunk of the maximum size.
const FIRST_FULL_CHUNK: usize = 68;

/// Elements by index. All elements of a chunk exist once the chunk does.
#[derive(Debug)]
pub(super) struct Arena<T> {
    chunks: [OnceLock<Box<[T]>>; CHUNKS_MAX],
}

/// The position of the next free elements.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ArenaEnd {
    chunk: usize,
    used: usize,
}

impl<T: Default> Arena<T> {
    pub(super) fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS_MAX] }
    }

    /// The elements from `index` to the end of its chunk.
    #[inline]
    pub(super) fn from(&self, index: u32) -> &[T] {
        let offset = (index & ((1 << OFFSET_BITS) - 1)) as usize;
        match self.chunks[(index >> OFFSET_BITS) as usize].get() {
            Some(chunk) => &chunk[offset..],
            None => &[],
        }
    }

    /// Allocates `count` adjacent elements, at most [`FIRST_CHUNK_ELEMENTS`]; returns the index of the first and the
    /// bytes by which the arena grew. `None` if it is full.
    pub(super) fn take(&self, end: &mut ArenaEnd, count: usize) -> Option<(u32, u64)> {
        let grown = if end.used + count > self.elements(end.chunk) { self.grow(end)? } else { 0 };
        let index = (end.chunk as u32) << OFFSET_BITS | end.used as u32;
        end.used += count;
        Some((index, grown))
    }

    /// A lower bound of the elements that can still be allocated: those of the remaining full chunks, each of which
    /// wastes less than one allocation at its end.
    pub(super) fn room(end: &ArenaEnd) -> usize {
        (CHUNKS_MAX - FIRST_FULL_CHUNK.max(end.chunk + 1)) * ((1 << OFFSET_BITS) - FIRST_CHUNK_ELEMENTS)
    }

    fn elements(&self, chunk: usize) -> usize {
        self.chunks[chunk].get().map_or(0, |elements| elements.len())
    }

    fn grow(&self, end: &mut ArenaEnd) -> Option<u64> {
        let chunk = if self.elements(0) == 0 { 0 } else { end.chunk + 1 };
        let elements = elements_of(chunk);
        self.chunks.get(chunk)?.get_or_init(|| (0..elements).map(|_| T::default()).collect());
        *end = ArenaEnd { chunk, used: 0 };
        Some((elements * size_of::<T>()) as u64)
    }
}

/// Number of elements of a chunk.
fn elements_of(chunk: usize) -> usize {
    let (doublings, step) = (chunk / CHUNKS_PER_DOUBLING, chunk % CHUNKS_PER_DOUBLING);
    let elements =
        (FIRST_CHUNK_ELEMENTS / CHUNKS_PER_DOUBLING * (CHUNKS_PER_DOUBLING + step)).checked_shl(doublings as u32);
    elements.unwrap_or(usize::MAX).min(1 << OFFSET_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn elements_stay_where_they_are_while_the_arena_grows() {
        let (arena, mut end, mut bytes) = (Arena::<AtomicU64>::new(), ArenaEnd::default(), 0);
        let mut taken = Vec::new();
        for number in 0..30_000_u64 {
            let (index, grown) = arena.take(&mut end, 1 + number as usize % 7).unwrap();
            bytes += grown;
            arena.from(index)[number as usize % 7].store(number, Ordering::Relaxed);
            taken.push((index, number));
        }
        assert!(
            taken
                .iter()
                .all(|&(index, number)| { arena.from(index)[number as usize % 7].load(Ordering::Relaxed) == number })
        );
        let used = 8 * (0..30_000).map(|number| 1 + number % 7).sum::<u64>();
        assert!(used < bytes && bytes < used * 13 / 10, "{used} of {bytes}");
    }

    #[test]
    fn an_arena_has_room_for_a_billion_elements() {
        assert!((0..CHUNKS_MAX).map(elements_of).sum::<usize>() > 1 << 30);
        assert!((0..FIRST_FULL_CHUNK).all(|chunk| elements_of(chunk) < 1 << OFFSET_BITS));
        assert!((FIRST_FULL_CHUNK..CHUNKS_MAX).all(|chunk| elements_of(chunk) == 1 << OFFSET_BITS));
    }

    #[test]
    fn a_full_arena_says_so() {
        let arena = Arena::<AtomicU64>::new();
        arena.take(&mut ArenaEnd::default(), 1).unwrap();
        let mut end = ArenaEnd { chunk: CHUNKS_MAX - 1, used: 0 };
        assert_eq!(arena.take(&mut end, 1), None);
        assert_eq!(Arena::<AtomicU64>::room(&end), 0);
        assert!(Arena::<AtomicU64>::room(&ArenaEnd { chunk: CHUNKS_MAX - 2, used: 0 }) > 1 << 24);
    }
}
