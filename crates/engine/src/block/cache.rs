//! The block cache: checked and decompressed blocks and pages, found by number within a memory budget.
//!
//! ```text
//! key:      owner (a file) and number (of a block, an index page, ...)
//! buckets:  | tag of the key's hash, slot | ... 16 entries      a cache line each
//! slots:    | lock, key, bytes, note, marks |                   a cache line each
//! ```
//!
//! A hit takes the read lock of one slot, so threads that read different blocks share nothing. Eviction is by a clock
//! hand over the slots, with up to 3 marks a block: a block starts without a mark and gets one at each hit,
//! so blocks brought in by a long scan are evicted before the working set of lookups.
//!
//! The budget covers the bytes of the blocks *and* the cache's own bookkeeping. Evicted blocks that a caller still
//! holds are not counted. A store reserves parts of the budget for its other memory.

mod buckets;
#[cfg(test)]
mod tests;

use crate::io::local::sync::{Mutex, RwLock};
use crate::telemetry::Counter;
use buckets::{KeyBuckets, SLOTS_MAX};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Bookkeeping charged for each block: its slot, the counters of its allocation, and the allocator's overhead.
pub const ENTRY_OVERHEAD_BYTES: u64 = 112;
/// Where blocks have a target size, some are smaller, and so are index pages and pages of filters: the cache is laid
/// out for a fraction of it, as 1/N, but not for less than the limit.
const LEAST_BLOCK_DIVISOR: u64 = 4;
const LEAST_BLOCK_BYTES: u64 = 64;
/// Slots are allocated in chunks, of which a full cache has this number, but no chunk is outside these limits: so a
/// small cache allocates little that it does not use, and the list of chunks stays short.
const CHUNKS: usize = 64;
const CHUNK_SLOTS_MIN: usize = 4;
const CHUNK_SLOTS_MAX: usize = 1024;
/// Limit for the memory of flat separators, as 1/N of the budget.
const FLAT_DIVISOR: u64 = 4;
/// Share of the limit kept for blocks when optional data is reserved, as 1/N.
const BLOCK_SHARE_DIVISOR: u64 = 2;
/// Number of rounds of the clock hand that a block survives after its last hit.
const MARKS_MAX: u8 = 3;
/// Files whose owners are remembered, so that a file that is opened again finds its blocks. They take about 3 MiB.
const REMEMBERED_FILES_MAX: usize = 1 << 16;
/// The owner of blocks that are not cached: the numbers of owners have run out.
pub(crate) const NO_OWNER: u32 = u32::MAX;

/// Data that an owner stores with a block, so that a hit need not read the block to know its layout.
pub(crate) type BlockNote = [u32; 5];

/// The identity of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockKey {
    /// The owner: see [`BlockCache::owner`].
    pub owner: u32,
    /// A number that the owner gives the block.
    pub number: u32,
}

#[derive(Debug)]
struct SlotContent {
    bytes: Arc<[u8]>,
    note: BlockNote,
    key: BlockKey,
    marks: AtomicU8,
}

/// A slot and its lock, in one cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct CacheSlot(RwLock<Option<SlotContent>>);

const SLOT_BYTES: u64 = size_of::<CacheSlot>() as u64;

/// The slots, and the buckets that lead to them.
#[derive(Debug)]
struct SlotTable {
    buckets: KeyBuckets,
    chunks: Box<[OnceLock<Box<[CacheSlot]>>]>,
    /// Slots of a chunk, as a power of two.
    chunk_bits: u32,
}

impl SlotTable {
    fn of(slots: usize) -> Self {
        let chunk_slots = chunk_slots(slots);
        Self {
            buckets: KeyBuckets::for_slots(slots),
            chunks: (0..slots.div_ceil(chunk_slots)).map(|_| OnceLock::new()).collect(),
            chunk_bits: chunk_slots.ilog2(),
        }
    }

    /// Memory for this number of slots, apart from those in use. Of the last chunk, hardly a slot may be in use.
    fn own_bytes(slots: usize) -> u64 {
        let chunk_slots = chunk_slots(slots);
        let list_bytes = slots.div_ceil(chunk_slots) * size_of::<OnceLock<Box<[CacheSlot]>>>();
        KeyBuckets::bytes(slots) + list_bytes as u64 + chunk_slots as u64 * SLOT_BYTES
    }

    #[inline]
    fn slot(&self, number: u32) -> Option<&CacheSlot> {
        let number = number as usize;
        self.chunks.get(number >> self.chunk_bits)?.get()?.get(number & ((1 << self.chunk_bits) - 1))
    }
}

fn chunk_slots(slots: usize) -> usize {
    (slots / CHUNKS).next_power_of_two().clamp(CHUNK_SLOTS_MIN, CHUNK_SLOTS_MAX)
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

/// A block cache with a memory budget, shared by threads.
#[derive(Debug)]
pub struct BlockCache {
    /// The limit in bytes for blocks and reservations.
    limit_bytes: u64,
    /// Bytes of the limit that are reserved for other data.
    reserved_bytes: AtomicU64,
    /// Bytes of the reservation for flat separators.
    flat_bytes: AtomicU64,
    held_bytes: AtomicU64,
    /// Bytes of slots that were in use and are free.
    free_bytes: AtomicU64,
    /// The most slots, which have their table at first use: so a cache costs what it holds.
    slots: usize,
    table: OnceLock<SlotTable>,
    hand: Mutex<ClockHand>,
    owners: AtomicU32,
    /// The owners of files.
    files: Mutex<BTreeMap<u64, u32>>,
    hits: Counter,
    misses: Counter,
}

fn charge(bytes: &[u8]) -> u64 {
    (bytes.len() as u64).saturating_add(ENTRY_OVERHEAD_BYTES)
}

impl BlockCache {
    /// Creates a cache that holds at most `budget_bytes`, bookkeeping included. Where most blocks are smaller than
    /// `least_block_bytes`, part of the budget stays unused.
    #[must_use]
    pub fn new(budget_bytes: u64, least_block_bytes: u64) -> Self {
        let slots = (budget_bytes / least_block_bytes.saturating_add(ENTRY_OVERHEAD_BYTES)).min(SLOTS_MAX) as usize;
        Self { slots, ..Self::accounting(budget_bytes.saturating_sub(SlotTable::own_bytes(slots))) }
    }

    /// As [`Self::new`], for tables with blocks of about this size.
    #[must_use]
    pub fn for_blocks_of(budget_bytes: u64, block_bytes: u64) -> Self {
        Self::new(budget_bytes, (block_bytes / LEAST_BLOCK_DIVISOR).max(LEAST_BLOCK_BYTES))
    }

    /// A cache that holds nothing, and only accounts for other memory.
    pub(crate) fn accounting(budget_bytes: u64) -> Self {
        Self {
            limit_bytes: budget_bytes,
            reserved_bytes: AtomicU64::new(0),
            flat_bytes: AtomicU64::new(0),
            held_bytes: AtomicU64::new(0),
            free_bytes: AtomicU64::new(0),
            slots: 0,
            table: OnceLock::new(),
            hand: Mutex::new(ClockHand::default()),
            owners: AtomicU32::new(0),
            files: Mutex::new(BTreeMap::new()),
            hits: Counter::default(),
            misses: Counter::default(),
        }
    }

    /// A cache that holds nothing, and grants every reservation.
    pub(crate) fn none() -> Self {
        Self::accounting(u64::MAX)
    }

    /// Counts lookups in metrics from now on.
    pub(crate) fn count_in(&mut self, hits: Counter, misses: Counter) {
        (self.hits, self.misses) = (hits, misses);
    }

    /// A new owner of blocks.
    pub fn owner(&self) -> u32 {
        let next = |owner: u32| owner.checked_add(1);
        self.owners.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or(NO_OWNER)
    }

    /// The owner of the blocks of a file with this identity: mostly the same one when the file is opened again.
    pub(crate) fn owner_of_file(&self, file_id: u64) -> u32 {
        let mut files = self.files.lock();
        if files.len() >= REMEMBERED_FILES_MAX {
            files.clear();
        }
        *files.entry(file_id).or_insert_with(|| self.owner())
    }

    /// Bytes currently available to blocks.
    pub(crate) fn budget_bytes(&self) -> u64 {
        let other_bytes = self.reserved_bytes.load(Ordering::Relaxed) + self.free_bytes.load(Ordering::Relaxed);
        self.limit_bytes.saturating_sub(other_bytes)
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

    /// Reserves `bytes` of the limit for required data, and evicts blocks if necessary.
    pub(crate) fn reserve(&self, bytes: u64) {
        self.reserved_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.shrink();
    }

    /// Releases reserved bytes.
    pub(crate) fn release(&self, bytes: u64) {
        self.reserved_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// As [`Self::reserve`], until the returned guard is dropped.
    pub(crate) fn reserve_scoped(self: &Arc<Self>, bytes: u64) -> Reservation {
        self.reserve(bytes);
        Reservation { cache: Arc::clone(self), bytes }
    }

    /// Evicts blocks until the rest fits the budget.
    fn shrink(&self) {
        if self.held_bytes() > self.budget_bytes() {
            let mut hand = self.hand.lock();
            while self.held_bytes() > self.budget_bytes() && self.evict(&mut hand) {}
        }
    }

    /// Bytes charged against the budget: those of the blocks, and [`ENTRY_OVERHEAD_BYTES`] for each.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.held_bytes.load(Ordering::Relaxed)
    }

    fn slot(&self, number: u32) -> Option<&CacheSlot> {
        self.table.get()?.slot(number)
    }

    /// Returns a cached block.
    pub fn get(&self, key: BlockKey) -> Option<Arc<[u8]>> {
        self.visit(key, |bytes, _| bytes.clone())
    }

    /// As [`Self::get`], with its note, for a block that is asked for again if it is absent: only hits are counted.
    pub(crate) fn get_if_cached(&self, key: BlockKey) -> Option<(Arc<[u8]>, BlockNote)> {
        self.visit_if_cached(key, |bytes, note| (bytes.clone(), *note))
    }

    /// Passes a cached block and its note to `visit`. The slot stays locked for reading meanwhile, so `visit` must not
    /// use the cache. Only hits are counted: an absent block is asked for again.
    #[inline]
    pub(crate) fn visit_if_cached<R>(
        &self,
        key: BlockKey,
        visit: impl FnOnce(&Arc<[u8]>, &BlockNote) -> R,
    ) -> Option<R> {
        let found = self.find(key, visit)?;
        self.hits.add(1);
        Some(found)
    }

    /// As [`Self::visit_if_cached`]; an absent block is counted.
    #[inline]
    pub(crate) fn visit<R>(&self, key: BlockKey, visit: impl FnOnce(&Arc<[u8]>, &BlockNote) -> R) -> Option<R> {
        let found = self.find(key, visit);
        if found.is_some() {
            self.hits.add(1)
        } else {
            self.misses.add(1)
        }
        found
    }

    #[inline]
    fn find<R>(&self, key: BlockKey, visit: impl FnOnce(&Arc<[u8]>, &BlockNote) -> R) -> Option<R> {
        let table = self.table.get()?;
        for number in table.buckets.candidates(key) {
            let Some(slot) = table.slot(number) else { continue };
            let slot = slot.0.read();
            let Some(held) = slot.as_ref().filter(|held| held.key == key) else { continue };
            let marks = held.marks.load(Ordering::Relaxed);
            if marks < MARKS_MAX {
                held.marks.store(marks + 1, Ordering::Relaxed);
            }
            return Some(visit(&held.bytes, &held.note));
        }
        None
    }

    /// Caches a block, evicting others if necessary. The bytes must have been checked; they are not checked again.
    pub(crate) fn insert_noted(&self, key: BlockKey, bytes: Arc<[u8]>, note: BlockNote) {
        let cost = charge(&bytes);
        if cost > self.budget_bytes() || key.owner == NO_OWNER {
            return;
        }
        let mut hand = self.hand.lock();
        let table = self.table.get_or_init(|| SlotTable::of(self.slots));
        if let Some(number) = self.number_of(key) {
            self.vacate(number, &mut hand);
        }
        if let Some(number) = table.buckets.crowd(key).min_by_key(|&number| self.marks_of(number)) {
            self.vacate(number, &mut hand);
        }
        // A free slot is paid for.
        let paid_bytes = |hand: &ClockHand| if hand.free.is_empty() { 0 } else { SLOT_BYTES };
        while self.held_bytes() + cost > self.budget_bytes() + paid_bytes(&hand) {
            if !self.evict(&mut hand) {
                return;
            }
        }
        let Some(number) = self.free_slot(&mut hand) else { return };
        let Some(slot) = self.slot(number) else { return };
        *slot.0.write() = Some(SlotContent { bytes, note, key, marks: AtomicU8::new(0) });
        self.held_bytes.fetch_add(cost, Ordering::Relaxed);
        table.buckets.add(key, number);
    }

    /// Replaces the note of a block, if it is cached.
    pub(crate) fn set_note(&self, key: BlockKey, note: BlockNote) {
        let Some(table) = self.table.get() else { return };
        for slot in table.buckets.candidates(key).filter_map(|number| table.slot(number)) {
            if let Some(held) = slot.0.write().as_mut().filter(|held| held.key == key) {
                held.note = note;
                return;
            }
        }
    }

    /// As [`Self::insert_noted`], without a note.
    pub fn insert(&self, key: BlockKey, bytes: Arc<[u8]>) {
        self.insert_noted(key, bytes, BlockNote::default());
    }

    /// The slot of a block.
    fn number_of(&self, key: BlockKey) -> Option<u32> {
        let holds = |number: u32| self.slot(number)?.0.read().as_ref().map(|held| held.key == key);
        self.table.get()?.buckets.candidates(key).find(|&number| holds(number).unwrap_or(false))
    }

    /// The marks of the block in a slot.
    fn marks_of(&self, number: u32) -> Option<u8> {
        Some(self.slot(number)?.0.read().as_ref()?.marks.load(Ordering::Relaxed))
    }

    /// Removes a block.
    pub(crate) fn remove(&self, key: BlockKey) {
        let mut hand = self.hand.lock();
        if let Some(number) = self.number_of(key) {
            self.vacate(number, &mut hand);
        }
    }

    /// Removes all blocks of an owner, whose numbers are less than `end`.
    pub(crate) fn forget(&self, owner: u32, end: u32) {
        if self.held_bytes() > 0 {
            (0..end).for_each(|number| self.remove(BlockKey { owner, number }));
        }
    }

    /// Empties a slot.
    fn vacate(&self, number: u32, hand: &mut ClockHand) {
        let Some(table) = self.table.get() else { return };
        let Some(slot) = table.slot(number) else { return };
        if let Some(held) = slot.0.write().take() {
            self.held_bytes.fetch_sub(charge(&held.bytes), Ordering::Relaxed);
            table.buckets.remove(held.key, number);
            self.free_bytes.fetch_add(SLOT_BYTES, Ordering::Relaxed);
            hand.free.push(number);
        }
    }

    fn free_slot(&self, hand: &mut ClockHand) -> Option<u32> {
        let table = self.table.get()?;
        loop {
            if let Some(number) = hand.free.pop() {
                self.free_bytes.fetch_sub(SLOT_BYTES, Ordering::Relaxed);
                return Some(number);
            }
            if let Some(chunk) = table.chunks.get(hand.used as usize >> table.chunk_bits) {
                chunk.get_or_init(|| (0..1 << table.chunk_bits).map(|_| CacheSlot::default()).collect());
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
            let is_last = match slot.0.write().as_mut().map(|held| held.marks.get_mut()) {
                None => false,
                Some(0) => true,
                Some(marks) => {
                    *marks -= 1;
                    false
                }
            };
            if is_last {
                self.vacate(number, hand);
                return true;
            }
        }
        false
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
