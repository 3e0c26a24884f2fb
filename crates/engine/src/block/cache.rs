//! The block cache: checked and decompressed blocks, evicted by S3-FIFO and charged by bytes.
//!
//! The budget covers the bytes of the blocks *and* the cache's own bookkeeping. Evicted blocks that a caller still
//! holds are not counted. Eviction is S3-FIFO with a Clock-PRO memory of recent evictions (crate `quick_cache`), so
//! that a scan does not displace the working set of lookups.

use super::number_hash::NumberHash;
use super::slots::SlotCache;
use crate::telemetry::Counter;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use std::sync::Arc;

/// Bookkeeping charged for each block: the header of its allocation, its slot, and its share of the empty slots that
/// the cache's tables have after they grew.
pub const ENTRY_OVERHEAD_BYTES: u64 = 256;

/// Smallest size of a shard: shards cost a fixed amount each, and must hold several of the largest blocks.
const SHARD_BYTES_MIN: u64 = 8 << 20;
const SHARDS_MAX: u64 = 64;
/// The memory that remembering an eviction takes.
const MARK_BYTES: u64 = 128;
/// The budget per remembered eviction, if the size of the blocks is not known.
const EVICTED_PER_MARK_BYTES: u64 = 32 << 10;
/// The least budget per remembered eviction: more than a sixteenth would go to memory of what is not there.
const EVICTED_PER_MARK_BYTES_MIN: u64 = 16 * MARK_BYTES;
/// Initial size of the cache's own tables for each shard.
const SHARD_OVERHEAD_BYTES: u64 = 4 << 10;

/// In a cache for tables, the share of the budget for data not found by number: index pages and filters.
const HASHED_DIVISOR: u64 = 32;
const HASHED_BYTES_MAX: u64 = 8 << 20;

/// The identity of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockKey {
    /// Identity of the file, unique among the files that share the cache.
    pub file_id: u64,
    /// Offset of the block in its file, in bytes.
    pub offset: u64,
}

#[derive(Clone, Debug)]
struct BlockWeighter;

impl Weighter<BlockKey, Arc<[u8]>> for BlockWeighter {
    fn weight(&self, _: &BlockKey, block: &Arc<[u8]>) -> u64 {
        (block.len() as u64).saturating_add(ENTRY_OVERHEAD_BYTES)
    }
}

/// A block cache with a memory budget, shared by threads.
#[derive(Debug)]
pub struct BlockCache {
    /// `None` if the budget is too small for a cache.
    cache: Option<Cache<BlockKey, Arc<[u8]>, BlockWeighter, NumberHash>>,
    /// Blocks of tables that find them by number; `None` in a cache that is not for tables.
    slots: Option<SlotCache>,
    hits: Counter,
    misses: Counter,
}

impl BlockCache {
    /// Creates a cache that holds at most `budget_bytes`, bookkeeping included. With a budget of zero (or hardly more)
    /// it holds nothing and costs nothing.
    ///
    /// A block larger than about an eighth of 8 MiB, or than the budget, may not be admitted.
    #[must_use]
    pub fn new(budget_bytes: u64) -> Self {
        Self::remembering(budget_bytes, EVICTED_PER_MARK_BYTES)
    }

    /// As [`Self::new`], for blocks of about this size. The cache remembers as many evicted blocks as it has place for:
    /// with fewer, blocks that are read again and again, but are more than a cache holds on trial, never displace those
    /// of earlier work.
    pub(crate) fn for_blocks_of(budget_bytes: u64, block_bytes: u64) -> Self {
        let per_mark = block_bytes.clamp(EVICTED_PER_MARK_BYTES_MIN, EVICTED_PER_MARK_BYTES);
        Self::remembering(budget_bytes, per_mark)
    }

    fn remembering(budget_bytes: u64, per_mark_bytes: u64) -> Self {
        let shards = (budget_bytes / SHARD_BYTES_MIN).clamp(1, SHARDS_MAX);
        // Rounded down to a power of two, so that `quick_cache` does not round it up.
        let shards = 1_u64 << shards.ilog2();
        let for_marks = budget_bytes / per_mark_bytes * MARK_BYTES;
        let for_blocks = budget_bytes.saturating_sub(shards * SHARD_OVERHEAD_BYTES + for_marks);
        if for_blocks <= ENTRY_OVERHEAD_BYTES {
            return Self::of(None, None);
        }
        let options = OptionsBuilder::new()
            .shards(shards as usize)
            .weight_capacity(for_blocks)
            // This only sizes the memory of recent evictions, which has entries for half as many.
            .estimated_items_capacity(usize::try_from(budget_bytes / per_mark_bytes * 2).unwrap_or(usize::MAX))
            .build();
        let cache = options.ok().map(|options| {
            Cache::with_options(options, BlockWeighter, NumberHash::default(), DefaultLifecycle::default())
        });
        Self::of(cache, None)
    }

    fn of(cache: Option<Cache<BlockKey, Arc<[u8]>, BlockWeighter, NumberHash>>, slots: Option<SlotCache>) -> Self {
        Self { cache, slots, hits: Counter::default(), misses: Counter::default() }
    }

    /// The memory for blocks, in bytes: of those found by number, in a cache for tables.
    pub(crate) fn budget_bytes(&self) -> u64 {
        match (&self.slots, &self.cache) {
            (Some(slots), _) => slots.budget_bytes(),
            (None, Some(cache)) => cache.capacity(),
            (None, None) => 0,
        }
    }

    /// Counts lookups in metrics from now on: in a cache for tables those by number, else all.
    pub(crate) fn count_in(&mut self, hits: Counter, misses: Counter) {
        match &mut self.slots {
            Some(slots) => slots.count_in(hits, misses),
            None => (self.hits, self.misses) = (hits, misses),
        }
    }

    /// Creates a cache for the tables of a store. Nearly all of it consists of slots for their blocks, found by number;
    /// the rest is for their other reads.
    #[must_use]
    pub fn for_store(budget_bytes: u64) -> Self {
        let hashed_bytes = (budget_bytes / HASHED_DIVISOR).min(HASHED_BYTES_MAX);
        Self { slots: Some(SlotCache::new(budget_bytes - hashed_bytes)), ..Self::new(hashed_bytes) }
    }

    /// As [`Self::for_store`], but the cache holds nothing: it only accounts for the store's other memory. Tables must
    /// not insert blocks.
    #[must_use]
    pub(crate) fn for_accounting(budget_bytes: u64) -> Self {
        Self::of(None, Some(SlotCache::new(budget_bytes)))
    }

    /// The slots, in a cache for tables.
    pub(crate) fn slots(&self) -> Option<&SlotCache> {
        self.slots.as_ref()
    }

    /// Reserves `bytes` of the budget for optional data, if enough of it is left for blocks.
    pub(crate) fn try_reserve(&self, bytes: u64) -> bool {
        self.slots.as_ref().is_none_or(|slots| slots.try_reserve(bytes))
    }

    /// Reserves `bytes` of the budget for required data, and evicts blocks if necessary.
    pub(crate) fn reserve(&self, bytes: u64) {
        if let Some(slots) = &self.slots {
            slots.reserve(bytes);
        }
    }

    /// Releases reserved bytes.
    pub(crate) fn release(&self, bytes: u64) {
        if let Some(slots) = &self.slots {
            slots.release(bytes);
        }
    }

    /// As [`Self::reserve`], until the returned guard is dropped.
    pub(crate) fn reserve_scoped(self: &Arc<Self>, bytes: u64) -> Reservation {
        self.reserve(bytes);
        Reservation { cache: Arc::clone(self), bytes }
    }

    /// Returns a cached block.
    pub fn get(&self, key: BlockKey) -> Option<Arc<[u8]>> {
        let found = self.cache.as_ref()?.get(&key);
        if found.is_some() {
            self.hits.add(1)
        } else {
            self.misses.add(1)
        }
        found
    }

    /// As [`Self::get`], for a block that is asked for again if it is absent: only hits are counted.
    pub(crate) fn get_if_cached(&self, key: BlockKey) -> Option<Arc<[u8]>> {
        let found = self.cache.as_ref()?.get(&key)?;
        self.hits.add(1);
        Some(found)
    }

    /// Caches a block, evicting others if necessary. The bytes must have been checked; they are not checked again.
    pub fn insert(&self, key: BlockKey, block: Arc<[u8]>) {
        if let Some(cache) = &self.cache {
            cache.insert(key, block);
        }
    }

    /// Removes a block.
    pub fn remove(&self, key: BlockKey) {
        if let Some(cache) = &self.cache {
            cache.remove(&key);
        }
    }

    /// Removes all blocks of a file, in time proportional to the size of the cache.
    pub fn remove_file(&self, file_id: u64) {
        if let Some(cache) = &self.cache {
            cache.retain(|key, _| key.file_id != file_id);
        }
    }

    /// Bytes charged against the budget: those of the blocks, and [`ENTRY_OVERHEAD_BYTES`] for each.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let in_frames = self.slots.as_ref().map_or(0, SlotCache::held_bytes);
        in_frames + self.cache.as_ref().map_or(0, Cache::weight)
    }

    /// Number of cached blocks, except those in slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cache.as_ref().map_or(0, Cache::len)
    }

    /// Whether no block is cached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A reservation of a cache's budget that is released when dropped.
#[derive(Debug)]
pub struct Reservation {
    cache: Arc<BlockCache>,
    bytes: u64,
}

impl Reservation {
    /// Size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.cache.release(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Weak;

    fn key(offset: u64) -> BlockKey {
        BlockKey { file_id: 1, offset }
    }

    fn block(length: usize, filled_with: u64) -> Arc<[u8]> {
        vec![filled_with as u8; length].into()
    }

    /// Bytes actually held: the blocks that are still alive, and the cache's tables by its own account.
    fn really_held(cache: &BlockCache, blocks: &[Weak<[u8]>]) -> u64 {
        let alive = blocks.iter().filter_map(Weak::upgrade);
        // Two counters of an `Arc`, and the overhead of an allocation.
        let blocks: u64 = alive.map(|block| block.len() as u64 + 16 + 16).sum();
        let tables = cache.cache.as_ref().unwrap().memory_used();
        blocks + (tables.entries + tables.map) as u64
    }

    #[test]
    fn a_block_is_found_again_and_an_absent_one_is_not() {
        let cache = BlockCache::new(1 << 20);
        cache.insert(key(4096), block(512, 3));
        assert_eq!(cache.get(key(4096)).unwrap()[..], [3; 512]);
        assert_eq!(cache.get(key(0)), None);
        assert_eq!(cache.get(BlockKey { file_id: 2, offset: 4096 }), None);
        cache.remove(key(4096));
        assert_eq!(cache.get(key(4096)), None);
    }

    #[test]
    fn work_that_is_repeated_displaces_earlier_work() {
        let cache = BlockCache::for_blocks_of(8 << 20, 2048);
        let read = |blocks: std::ops::Range<u64>| {
            let mut hits = 0;
            for offset in blocks.map(|block| block * 2048) {
                match cache.get(key(offset)) {
                    Some(_) => hits += 1,
                    None => cache.insert(key(offset), block(2048, offset)),
                }
            }
            hits
        };
        (0..4).for_each(|_| _ = read(0..3_000));
        (0..4).for_each(|_| _ = read(10_000..12_000));
        assert_eq!(read(10_000..12_000), 2_000, "blocks that were read five times");
    }

    #[test]
    fn a_budget_of_nothing_holds_nothing() {
        for budget in [0, 1, ENTRY_OVERHEAD_BYTES] {
            let cache = BlockCache::new(budget);
            cache.insert(key(0), block(0, 0));
            cache.insert(key(512), block(512, 0));
            assert_eq!((cache.len(), cache.held_bytes(), cache.is_empty()), (0, 0, true));
        }
    }

    #[test]
    fn a_block_larger_than_the_budget_is_not_held() {
        let cache = BlockCache::new(100_000);
        cache.insert(key(0), block(100_001, 0));
        assert_eq!(cache.len(), 0);
    }

    #[test]
    fn the_largest_blocks_are_held_where_the_budget_is_ample() {
        for budget in [8 << 20, 100 << 20] {
            let cache = BlockCache::new(budget);
            cache.insert(key(0), block(1 << 20, 5));
            assert!(cache.get(key(0)).is_some(), "a block of 1 MiB was refused within {budget} bytes");
        }
    }

    #[test]
    fn forgetting_a_file_leaves_the_others() {
        let cache = BlockCache::new(1 << 20);
        for file_id in 0..3 {
            for offset in (0..10_240).step_by(512) {
                cache.insert(BlockKey { file_id, offset }, block(512, file_id));
            }
        }
        cache.remove_file(1);
        assert_eq!(cache.len(), 40);
        assert_eq!(cache.get(BlockKey { file_id: 1, offset: 512 }), None);
        assert!(cache.get(BlockKey { file_id: 2, offset: 512 }).is_some());
    }

    #[test]
    fn blocks_of_every_size_stay_within_the_budget_with_their_tables() {
        for (budget, length) in
            [(64 << 10, 0), (64 << 10, 64), (1 << 20, 512), (3 << 20, 4096), (20 << 20, 16_384), (40 << 20, 65_536)]
        {
            let cache = BlockCache::new(budget);
            let mut blocks = Vec::new();
            for i in 0..6000 {
                let block = block(length, i);
                blocks.push(Arc::downgrade(&block));
                cache.insert(key(i * 512), block);
                // Some are read again, and become hot.
                cache.get(key(i / 3 * 512));
                if i % 500 == 499 {
                    let held = really_held(&cache, &blocks);
                    assert!(held <= budget, "{held} bytes within {budget}, blocks of {length}");
                }
            }
            assert!(cache.held_bytes() > budget / 2, "the budget of {budget} is hardly used: {}", cache.held_bytes());
        }
    }

    #[test]
    fn threads_together_stay_within_the_budget() {
        let cache = BlockCache::new(1 << 20);
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let cache = &cache;
                scope.spawn(move || {
                    for i in 0..2000 {
                        cache.insert(key((i * 4 + thread) * 4096), block(4096, i));
                        assert!(cache.held_bytes() <= 1 << 20);
                        if let Some(found) = cache.get(key(i * 4 * 4096)) {
                            assert_eq!(found.len(), 4096);
                        }
                    }
                });
            }
        });
    }

    proptest! {
        #[test]
        fn what_is_held_never_exceeds_the_budget(
            budget in 0_u64..400_000, inserts in proptest::collection::vec((0_u64..60, 0_usize..20_000), 0..120),
        ) {
            let cache = BlockCache::new(budget);
            let mut blocks = Vec::new();
            for (offset, length) in inserts {
                let block = block(length, offset);
                blocks.push(Arc::downgrade(&block));
                cache.insert(key(offset), block);
                prop_assert!(cache.held_bytes() <= budget);
                if cache.cache.is_some() {
                    prop_assert!(really_held(&cache, &blocks) <= budget);
                }
            }
        }
    }
}
