//! The block cache: checked and decompressed blocks, evicted by S3-FIFO and charged by bytes.
//!
//! The budget is a limit: it counts the bytes of the blocks *and* what the cache needs to keep track of them. Blocks
//! that a caller still holds after they were evicted are the caller's. Which block to evict is decided by S3-FIFO with
//! a Clock-PRO memory of what was evicted lately (crate `quick_cache`), so that one scan does not push out what
//! look-ups need again and again.

use super::slots::SlotCache;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use std::sync::Arc;

/// Counted for each block beyond its own bytes: its allocation's header, its slot, and its share of the empty
/// slots that the cache's tables have after they grew.
pub const ENTRY_OVERHEAD_BYTES: u64 = 256;

/// Shards cost a fixed amount each, and none may be smaller than a few of the largest blocks.
const SHARD_BYTES_MIN: u64 = 8 << 20;
const SHARDS_MAX: u64 = 64;
/// One evicted block is remembered for so much of the budget, and takes so much of it.
const EVICTED_PER_MARK_BYTES: u64 = 32 << 10;
const MARK_BYTES: u64 = 128;
/// The cache's own tables start with this much for each shard.
const SHARD_OVERHEAD_BYTES: u64 = 4 << 10;

/// In a cache for tables, this part of the budget is for what is not found by number: units of layers, filters.
const HASHED_DIVISOR: u64 = 32;
const HASHED_BYTES_MAX: u64 = 8 << 20;

/// Which block: the file's identity, and the offset in it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockKey {
    /// Identity of the file, unique among those that share the cache.
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

/// Blocks in memory, within a budget; shared by threads.
#[derive(Debug)]
pub struct BlockCache {
    /// `None` where the budget does not suffice for a cache at all.
    cache: Option<Cache<BlockKey, Arc<[u8]>, BlockWeighter>>,
    /// Blocks of tables that find them by number; `None` in a cache that is not for tables.
    slots: Option<SlotCache>,
}

impl BlockCache {
    /// A cache that holds at most `budget_bytes`, its own tables included. With zero (or hardly more) it holds nothing
    /// and costs nothing.
    ///
    /// A block larger than about an eighth of 8 MiB, or than the budget, may not be admitted.
    #[must_use]
    pub fn new(budget_bytes: u64) -> Self {
        let shards = (budget_bytes / SHARD_BYTES_MIN).clamp(1, SHARDS_MAX);
        // Rounded down to a power of two, so that `quick_cache` does not round it up.
        let shards = 1_u64 << shards.ilog2();
        let for_marks = budget_bytes / EVICTED_PER_MARK_BYTES * MARK_BYTES;
        let for_blocks = budget_bytes.saturating_sub(shards * SHARD_OVERHEAD_BYTES + for_marks);
        if for_blocks <= ENTRY_OVERHEAD_BYTES {
            return Self { cache: None, slots: None };
        }
        let options = OptionsBuilder::new()
            .shards(shards as usize)
            .weight_capacity(for_blocks)
            // It only sizes the memory of what was evicted lately, which has marks for half as many.
            .estimated_items_capacity(usize::try_from(budget_bytes / EVICTED_PER_MARK_BYTES * 2).unwrap_or(usize::MAX))
            .build();
        let cache = options.ok().map(|options| {
            Cache::with_options(options, BlockWeighter, DefaultHashBuilder::default(), DefaultLifecycle::default())
        });
        Self { cache, slots: None }
    }

    /// A cache for the tables of a store, which keep nearly all of it in frames: their blocks, found by number. The rest is for what
    /// else they read.
    #[must_use]
    pub fn for_tables(budget_bytes: u64) -> Self {
        let hashed_bytes = (budget_bytes / HASHED_DIVISOR).min(HASHED_BYTES_MAX);
        Self { slots: Some(SlotCache::new(budget_bytes - hashed_bytes)), ..Self::new(hashed_bytes) }
    }

    /// As [`Self::for_tables`], but nothing is held in it: it only counts what a store keeps in memory beside. Tables must give it no
    /// blocks.
    #[must_use]
    pub(crate) fn for_accounting(budget_bytes: u64) -> Self {
        Self { slots: Some(SlotCache::new(budget_bytes)), cache: None }
    }

    /// The frames, in a cache for tables.
    pub(crate) fn slots(&self) -> Option<&SlotCache> {
        self.slots.as_ref()
    }

    /// Keeps `bytes` of the budget for what could do without them, if a share of it is still left for blocks.
    pub(crate) fn try_reserve(&self, bytes: u64) -> bool {
        self.slots.as_ref().is_none_or(|slots| slots.try_reserve(bytes))
    }

    /// Keeps `bytes` of the budget for something that is there in any case: blocks make room.
    pub(crate) fn reserve(&self, bytes: u64) {
        if let Some(slots) = &self.slots {
            slots.reserve(bytes);
        }
    }

    /// Gives back what was taken or reserved.
    pub(crate) fn release(&self, bytes: u64) {
        if let Some(slots) = &self.slots {
            slots.release(bytes);
        }
    }

    /// As [`Self::reserve`], until what is returned is dropped.
    pub(crate) fn reserve_scoped(self: &Arc<Self>, bytes: u64) -> Reservation {
        self.reserve(bytes);
        Reservation { cache: Arc::clone(self), bytes }
    }

    /// The block, if it is in memory.
    pub fn get(&self, key: BlockKey) -> Option<Arc<[u8]>> {
        self.cache.as_ref()?.get(&key)
    }

    /// Keeps a block, evicting others as needed. The bytes must have been checked: nobody checks them again.
    pub fn insert(&self, key: BlockKey, block: Arc<[u8]>) {
        if let Some(cache) = &self.cache {
            cache.insert(key, block);
        }
    }

    /// Forgets one block.
    pub fn remove(&self, key: BlockKey) {
        if let Some(cache) = &self.cache {
            cache.remove(&key);
        }
    }

    /// Forgets all blocks of a file, which takes time in proportion to the whole cache.
    pub fn remove_file(&self, file_id: u64) {
        if let Some(cache) = &self.cache {
            cache.retain(|key, _| key.file_id != file_id);
        }
    }

    /// Bytes counted against the budget now: those of the blocks and [`ENTRY_OVERHEAD_BYTES`] for each.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let in_frames = self.slots.as_ref().map_or(0, SlotCache::held_bytes);
        in_frames + self.cache.as_ref().map_or(0, Cache::weight)
    }

    /// Blocks held now, without those in frames.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cache.as_ref().map_or(0, Cache::len)
    }

    /// Whether nothing is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Bytes of a cache's budget that are kept for something else for as long as this lives.
#[derive(Debug)]
pub(crate) struct Reservation {
    cache: Arc<BlockCache>,
    bytes: u64,
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

    /// What is really held: the blocks that are still alive, and the tables by the cache's own account.
    fn really_held(cache: &BlockCache, blocks: &[Weak<[u8]>]) -> u64 {
        let alive = blocks.iter().filter_map(Weak::upgrade);
        // Two counters of an `Arc` and what an allocator keeps beside an allocation.
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
                // Some are asked for again, and so become hot.
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
