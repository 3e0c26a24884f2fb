//! The slot cache: cached blocks that their owners find by number, without hashing, within a memory budget.
//!
//! ```text
//! owner's directory:  | frame of block 0 | of block 1 | ...      four bytes a block
//! frames:             | lock, owner, block, note, marks, bytes | ...      a cache line each
//! ```
//!
//! A directory may be stale: each slot stores the owner and the number of the block that it holds. A hit takes only the
//! slot's read lock, so threads that read different blocks share nothing. Eviction is by a clock hand over the slots,
//! with up to [`MARKS_MAX`] marks a block: a block starts without a mark and gets one at each hit, so blocks brought in
//! by a long scan are evicted before the working set of lookups.

use crate::io::local::sync::{Mutex, RwLock};
use crate::telemetry::Counter;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Bookkeeping charged for each block: its slot, its directory entry, the counters of its allocation, and the
/// allocator's overhead.
pub(crate) const SLOT_OVERHEAD_BYTES: u64 = 128;
/// Slots are allocated in chunks of this number.
const CHUNK_SLOTS: usize = 1024;
/// Typical smallest block, which bounds the number of slots; so does the size of the list of chunks, at most 400 KiB.
const BLOCK_BYTES_MIN: u64 = 512;
const CHUNKS_MAX: usize = 1 << 14;
/// Limit for the memory of flat separators, as 1/N of the budget.
const FLAT_DIVISOR: u64 = 4;
/// Share of the limit kept for blocks when optional data is reserved, as 1/N.
const BLOCK_SHARE_DIVISOR: u64 = 2;
/// Number of rounds of the clock hand that a block survives after its last hit.
const MARKS_MAX: u8 = 3;

/// Data that an owner stores with a block, so that a hit need not read the block to know its layout.
pub(crate) type BlockNote = [u32; 5];

#[derive(Debug)]
struct SlotContent {
    bytes: Arc<[u8]>,
    note: BlockNote,
    owner: u32,
    block: u32,
    marks: AtomicU8,
}

/// A slot and its lock, in one cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct CacheSlot(RwLock<Option<SlotContent>>);

/// The slots of one owner's blocks.
#[derive(Debug)]
pub(crate) struct SlotDirectory {
    owner: u32,
    /// Number of the slot, counted from 1; 0 for none.
    slots: Box<[AtomicU32]>,
}

impl SlotDirectory {
    /// Memory use of the directory in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.slots.len() as u64 * 4
    }
}

/// The state of the clock, modified by one thread at a time.
#[derive(Debug, Default)]
struct ClockHand {
    /// Position of the hand.
    at: u32,
    /// Number of slots ever used.
    used: u32,
    free: Vec<u32>,
}

/// Cached blocks with a memory budget, shared by threads.
#[derive(Debug)]
pub(crate) struct SlotCache {
    /// The limit in bytes, without reservations.
    limit_bytes: u64,
    /// Bytes of the limit that are reserved for other data.
    reserved_bytes: AtomicU64,
    /// Bytes of the reservation for flat separators.
    flat_bytes: AtomicU64,
    held_bytes: AtomicU64,
    chunks: Box<[OnceLock<Box<[CacheSlot]>>]>,
    hand: Mutex<ClockHand>,
    owners: AtomicU32,
    hits: Counter,
    misses: Counter,
}

fn charge(bytes: &[u8]) -> u64 {
    bytes.len() as u64 + SLOT_OVERHEAD_BYTES
}

impl SlotCache {
    /// Creates slots for at most `budget_bytes` of blocks, bookkeeping included.
    pub(crate) fn new(budget_bytes: u64) -> Self {
        let chunk_bytes = (BLOCK_BYTES_MIN + SLOT_OVERHEAD_BYTES) * CHUNK_SLOTS as u64;
        let count = usize::try_from(budget_bytes.div_ceil(chunk_bytes)).unwrap_or(CHUNKS_MAX).min(CHUNKS_MAX);
        let chunks = (0..count).map(|_| OnceLock::new()).collect();
        Self {
            limit_bytes: budget_bytes,
            reserved_bytes: AtomicU64::new(0),
            flat_bytes: AtomicU64::new(0),
            held_bytes: AtomicU64::new(0),
            chunks,
            hand: Mutex::new(ClockHand::default()),
            owners: AtomicU32::new(0),
            hits: Counter::default(),
            misses: Counter::default(),
        }
    }

    /// Counts lookups in metrics from now on.
    pub(super) fn count_in(&mut self, hits: Counter, misses: Counter) {
        (self.hits, self.misses) = (hits, misses);
    }

    /// A directory for an owner of this number of blocks.
    pub(crate) fn directory(&self, blocks: usize) -> SlotDirectory {
        let slots = (0..blocks).map(|_| AtomicU32::new(0)).collect();
        SlotDirectory { owner: self.owners.fetch_add(1, Ordering::Relaxed), slots }
    }

    /// Bytes currently available to blocks.
    pub(crate) fn budget_bytes(&self) -> u64 {
        self.limit_bytes.saturating_sub(self.reserved_bytes.load(Ordering::Relaxed))
    }

    /// Reserves `bytes` of the limit for optional data, if enough of it is left for blocks.
    pub(crate) fn try_reserve(&self, bytes: u64) -> bool {
        let most = self.limit_bytes - self.limit_bytes / BLOCK_SHARE_DIVISOR;
        let taken = self.reserved_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            taken.checked_add(bytes).filter(|&taken| taken <= most)
        });
        if taken.is_ok() {
            self.shrink();
        }
        taken.is_ok()
    }

    /// Reserves `bytes` of the limit for flat separators, if their total stays within its share.
    pub(crate) fn try_reserve_flat(&self, bytes: u64) -> bool {
        let most = self.limit_bytes / FLAT_DIVISOR;
        let taken = self.flat_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            taken.checked_add(bytes).filter(|&taken| taken <= most)
        });
        if taken.is_ok() {
            self.reserve(bytes);
        }
        taken.is_ok()
    }

    /// Releases what [`Self::try_reserve_flat`] reserved.
    pub(crate) fn release_flat(&self, bytes: u64) {
        self.flat_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.release(bytes);
    }

    /// Reserves `bytes` of the limit for required data.
    pub(crate) fn reserve(&self, bytes: u64) {
        self.reserved_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.shrink();
    }

    /// Releases reserved bytes.
    pub(crate) fn release(&self, bytes: u64) {
        self.reserved_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Evicts blocks until the rest fits the budget.
    fn shrink(&self) {
        if self.held_bytes() > self.budget_bytes() {
            let mut hand = self.hand.lock();
            while self.held_bytes() > self.budget_bytes() && self.evict(&mut hand) {}
        }
    }

    /// Bytes charged against the budget.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes.load(Ordering::Relaxed)
    }

    fn slot(&self, number: u32) -> Option<&CacheSlot> {
        self.chunks.get(number as usize / CHUNK_SLOTS)?.get()?.get(number as usize % CHUNK_SLOTS)
    }

    /// Passes a cached block and its note to `visit`. The slot stays locked for reading meanwhile, so `visit` must not
    /// use the cache.
    pub(crate) fn visit<R>(
        &self,
        directory: &SlotDirectory,
        block: u64,
        visit: impl FnOnce(&Arc<[u8]>, &BlockNote) -> R,
    ) -> Option<R> {
        let found = self.find(directory, block, visit);
        if found.is_some() {
            self.hits.add(1)
        } else {
            self.misses.add(1)
        }
        found
    }

    #[inline]
    fn find<R>(
        &self,
        directory: &SlotDirectory,
        block: u64,
        visit: impl FnOnce(&Arc<[u8]>, &BlockNote) -> R,
    ) -> Option<R> {
        let number = directory.slots.get(block as usize)?.load(Ordering::Acquire).checked_sub(1)?;
        let slot = self.slot(number)?.0.read();
        let held = slot.as_ref().filter(|held| held.owner == directory.owner && u64::from(held.block) == block)?;
        let marks = held.marks.load(Ordering::Relaxed);
        if marks < MARKS_MAX {
            held.marks.store(marks + 1, Ordering::Relaxed);
        }
        Some(visit(&held.bytes, &held.note))
    }

    /// Caches a block, evicting others if necessary. The bytes must have been checked; they are not checked again.
    pub(crate) fn insert(&self, directory: &SlotDirectory, block: u64, bytes: Arc<[u8]>, note: BlockNote) {
        let (Some(place), Ok(block)) = (directory.slots.get(block as usize), u32::try_from(block)) else { return };
        let cost = charge(&bytes);
        if cost > self.budget_bytes() {
            return;
        }
        let mut hand = self.hand.lock();
        let holds = |number: u32| {
            let held = self.slot(number).map(|slot| slot.0.read());
            held.is_some_and(|held| {
                held.as_ref().is_some_and(|held| held.owner == directory.owner && held.block == block)
            })
        };
        if place.load(Ordering::Acquire).checked_sub(1).is_some_and(holds) {
            return;
        }
        while self.held_bytes() + cost > self.budget_bytes() {
            if !self.evict(&mut hand) {
                return;
            }
        }
        let Some(number) = self.free_frame(&mut hand) else { return };
        let Some(slot) = self.slot(number) else { return };
        let held = SlotContent { bytes, note, owner: directory.owner, block, marks: AtomicU8::new(0) };
        *slot.0.write() = Some(held);
        self.held_bytes.fetch_add(cost, Ordering::Relaxed);
        place.store(number + 1, Ordering::Release);
    }

    fn free_frame(&self, hand: &mut ClockHand) -> Option<u32> {
        loop {
            if let Some(number) = hand.free.pop() {
                return Some(number);
            }
            if let Some(chunk) = self.chunks.get(hand.used as usize / CHUNK_SLOTS) {
                chunk.get_or_init(|| (0..CHUNK_SLOTS).map(|_| CacheSlot::default()).collect());
                hand.used += 1;
                return Some(hand.used - 1);
            }
            if !self.evict(hand) {
                return None;
            }
        }
    }

    /// Evicts the next block without marks; `false` if there is no block.
    fn evict(&self, hand: &mut ClockHand) -> bool {
        for _ in 0..u64::from(hand.used) * (u64::from(MARKS_MAX) + 2) {
            let number = hand.at;
            hand.at = (hand.at + 1) % hand.used;
            let Some(slot) = self.slot(number) else { continue };
            let mut slot = slot.0.write();
            let Some(held) = slot.as_mut() else { continue };
            match held.marks.get_mut() {
                0 => {
                    self.held_bytes.fetch_sub(charge(&held.bytes), Ordering::Relaxed);
                    *slot = None;
                    hand.free.push(number);
                    return true;
                }
                marks => *marks -= 1,
            }
        }
        false
    }

    /// Removes all blocks of an owner.
    pub(crate) fn forget(&self, directory: &SlotDirectory) {
        let mut hand = self.hand.lock();
        for place in &directory.slots {
            let Some(number) = place.swap(0, Ordering::AcqRel).checked_sub(1) else { continue };
            let Some(slot) = self.slot(number) else { continue };
            let mut slot = slot.0.write();
            if slot.as_ref().is_some_and(|held| held.owner == directory.owner)
                && let Some(held) = slot.take()
            {
                self.held_bytes.fetch_sub(charge(&held.bytes), Ordering::Relaxed);
                hand.free.push(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(length: usize, with: u64) -> Arc<[u8]> {
        vec![with as u8; length].into()
    }

    fn found(slots: &SlotCache, directory: &SlotDirectory, block: u64) -> Option<(usize, u8, BlockNote)> {
        slots.visit(directory, block, |bytes, note| (bytes.len(), bytes[0], *note))
    }

    #[test]
    fn a_frame_takes_one_cache_line() {
        assert_eq!(size_of::<CacheSlot>(), 64);
    }

    #[test]
    fn blocks_are_found_by_their_own_owner_and_number() {
        let slots = SlotCache::new(1 << 20);
        let (one, other) = (slots.directory(10), slots.directory(10));
        slots.insert(&one, 3, block(512, 7), [1, 2, 3, 4, 5]);
        assert_eq!(found(&slots, &one, 3), Some((512, 7, [1, 2, 3, 4, 5])));
        for (directory, number) in [(&one, 2), (&other, 3), (&one, 10), (&one, u64::MAX)] {
            assert_eq!(found(&slots, directory, number), None);
        }
        slots.insert(&one, 10, block(512, 7), [0; 5]);
        slots.forget(&one);
        assert_eq!((found(&slots, &one, 3), slots.held_bytes()), (None, 0));
        slots.insert(&other, 3, block(512, 8), [0; 5]);
        assert_eq!((found(&slots, &one, 3), found(&slots, &other, 3)), (None, Some((512, 8, [0; 5]))));
    }

    #[test]
    fn what_is_asked_for_again_outlives_a_scan() {
        let slots = SlotCache::new(100 * (4096 + SLOT_OVERHEAD_BYTES));
        let directory = slots.directory(10_000);
        for hot in 0..20 {
            slots.insert(&directory, hot, block(4096, hot), [0; 5]);
            (0..3).for_each(|_| _ = found(&slots, &directory, hot));
        }
        for scanned in 20..220 {
            slots.insert(&directory, scanned, block(4096, scanned), [0; 5]);
        }
        assert!((0..20).all(|hot| found(&slots, &directory, hot).is_some()));
    }

    #[test]
    fn all_blocks_stay_where_the_budget_has_room_for_them() {
        let slots = SlotCache::new(5000 * (512 + SLOT_OVERHEAD_BYTES));
        let directory = slots.directory(5000);
        (0..5000).for_each(|number| slots.insert(&directory, number, block(512, number), [0; 5]));
        assert!((0..5000).all(|number| found(&slots, &directory, number).is_some()));
    }

    #[test]
    fn what_is_kept_for_other_things_comes_off_the_blocks() {
        let slots = SlotCache::new(1 << 20);
        let directory = slots.directory(1000);
        let fill = || (0..1000).for_each(|number| slots.insert(&directory, number, block(4096, number), [0; 5]));
        fill();
        assert!(slots.try_reserve(500 << 10) && slots.held_bytes() <= 524 << 10);
        fill();
        assert!(!slots.try_reserve(400 << 10) && slots.held_bytes() <= 524 << 10);
        slots.reserve(500 << 10);
        assert!(slots.held_bytes() <= 24 << 10);
        slots.reserve(400 << 10);
        fill();
        assert_eq!(slots.held_bytes(), 0);
        slots.release(1400 << 10);
        fill();
        assert!(slots.held_bytes() > 1000 << 10);
    }

    #[test]
    fn threads_together_stay_within_the_budget_and_get_what_they_ask_for() {
        let slots = SlotCache::new(300_000);
        let directories: Vec<SlotDirectory> = (0..2).map(|_| slots.directory(500)).collect();
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let (slots, directories) = (&slots, &directories);
                scope.spawn(move || {
                    for i in 0..4000_u64 {
                        let (directory, number) = (&directories[(i % 2) as usize], (i * 7 + thread * 13) % 500);
                        match found(slots, directory, number) {
                            Some((length, with, _)) => assert_eq!((length, with), (2048, number as u8)),
                            None => slots.insert(directory, number, block(2048, number), [0; 5]),
                        }
                        assert!(slots.held_bytes() <= 300_000);
                    }
                });
            }
        });
    }

    proptest! {
        #[test]
        fn what_is_held_is_what_was_put_there_within_the_budget(
            budget in 0_u64..60_000, steps in proptest::collection::vec((0_u64..60, 1_usize..9000, 0_u8..8), 0..200),
        ) {
            let slots = SlotCache::new(budget);
            let mut directory = slots.directory(60);
            let mut put = [None; 60];
            for (number, length, what) in steps {
                match what {
                    0 => {
                        slots.forget(&directory);
                        directory = slots.directory(60);
                        put = [None; 60];
                    }
                    1..4 => {
                        let held = found(&slots, &directory, number).map(|(length, ..)| length);
                        prop_assert!(held.is_none() || held == put[number as usize]);
                    }
                    _ => {
                        if found(&slots, &directory, number).is_none() {
                            put[number as usize] = Some(length);
                        }
                        slots.insert(&directory, number, block(length, number), [0; 5]);
                    }
                }
                prop_assert!(slots.held_bytes() <= budget);
            }
        }
    }
}
