//! The hash index of the block cache: which slots may hold a key, in one cache line.

use super::BlockKey;
use crate::block::number_hash::{MULTIPLIER, folded};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Entries of a bucket: a cache line of them.
const ENTRIES: usize = 16;
/// Entries that are in use on average when all slots are: of buckets with a mean of 6, 2 in 10,000 get more than 16
/// keys.
const ENTRIES_USED: usize = 6;
/// Buckets of a chunk.
const CHUNK: usize = 256;
/// An entry is a tag of the key's hash, and the number of the slot, counted from 1.
const TAG_SHIFT: u32 = 24;
const SLOT_MASK: u32 = (1 << TAG_SHIFT) - 1;
/// Most slots of a cache.
pub(super) const SLOTS_MAX: u64 = SLOT_MASK as u64 - 1;

/// Entries in use come first; 0 is none.
#[derive(Debug, Default)]
#[repr(align(64))]
struct KeyBucket([AtomicU32; ENTRIES]);

/// The buckets. Readers take no lock: an entry may be stale, so they compare the key in the slot. Changes are made by
/// one thread at a time.
#[derive(Debug)]
pub(super) struct KeyBuckets {
    /// Made at first use, so that a cache costs what it holds.
    chunks: Box<[OnceLock<Box<[KeyBucket]>>]>,
    count: u64,
}

/// The place of a key: its bucket, as a share of all in 2^32 parts, and its tag.
#[inline]
fn hash(key: BlockKey) -> (u64, u32) {
    // Multiplied again: numbers of an owner are consecutive, and tags must not follow from buckets.
    let hash = folded(u64::from(key.owner) << 32 | u64::from(key.number)).wrapping_mul(MULTIPLIER);
    (hash >> 32, hash as u32 >> TAG_SHIFT)
}

impl KeyBuckets {
    pub(super) fn for_slots(slots: usize) -> Self {
        let count = slots.div_ceil(ENTRIES_USED);
        Self { chunks: (0..count.div_ceil(CHUNK)).map(|_| OnceLock::new()).collect(), count: count as u64 }
    }

    /// Memory of the buckets for this number of slots in bytes, when all are in use.
    pub(super) fn bytes(slots: usize) -> u64 {
        let count = slots.div_ceil(ENTRIES_USED);
        let list_bytes = count.div_ceil(CHUNK) * size_of::<OnceLock<Box<[KeyBucket]>>>();
        (count * size_of::<KeyBucket>() + list_bytes) as u64
    }

    #[inline]
    fn number(&self, share: u64) -> usize {
        ((share * self.count) >> 32) as usize
    }

    #[inline]
    fn entries(&self, share: u64) -> &[AtomicU32] {
        let number = self.number(share);
        let chunk = self.chunks.get(number / CHUNK).and_then(OnceLock::get);
        let bucket = chunk.and_then(|chunk| chunk.get(number % CHUNK));
        bucket.map_or(&[], |bucket| &bucket.0)
    }

    /// The slots that may hold a key.
    #[inline]
    pub(super) fn candidates(&self, key: BlockKey) -> impl Iterator<Item = u32> {
        let (share, tag) = hash(key);
        let mut entries = self.entries(share).iter();
        std::iter::from_fn(move || {
            loop {
                let entry = entries.next()?.load(Ordering::Acquire);
                if entry == 0 {
                    return None;
                }
                if entry >> TAG_SHIFT == tag {
                    return Some((entry & SLOT_MASK) - 1);
                }
            }
        })
    }

    /// The slots of which one must be emptied before a key is added, since its bucket is full; none mostly.
    pub(super) fn crowd(&self, key: BlockKey) -> impl Iterator<Item = u32> {
        let entries = self.entries(hash(key).0);
        let is_full = entries.last().is_some_and(|last| last.load(Ordering::Relaxed) != 0);
        let crowd = if is_full { entries } else { &[] };
        crowd.iter().map(|entry| (entry.load(Ordering::Relaxed) & SLOT_MASK) - 1)
    }

    /// Adds a key, which is in this slot, to a bucket that is not full.
    pub(super) fn add(&self, key: BlockKey, slot: u32) {
        let (share, tag) = hash(key);
        let number = self.number(share);
        let Some(chunk) = self.chunks.get(number / CHUNK) else { return };
        let rest = self.count as usize - number / CHUNK * CHUNK;
        let chunk = chunk.get_or_init(|| (0..rest.min(CHUNK)).map(|_| KeyBucket::default()).collect());
        let entries = chunk.get(number % CHUNK).into_iter().flat_map(|bucket| &bucket.0);
        if let Some(free) = entries.into_iter().find(|entry| entry.load(Ordering::Relaxed) == 0) {
            free.store(tag << TAG_SHIFT | (slot + 1), Ordering::Release);
        }
    }

    /// Removes a key, which was in this slot. A reader may miss another key of the bucket meanwhile.
    pub(super) fn remove(&self, key: BlockKey, slot: u32) {
        let entries = self.entries(hash(key).0);
        let is_slot = |entry: &AtomicU32| entry.load(Ordering::Relaxed) & SLOT_MASK == slot + 1;
        let Some(at) = entries.iter().position(is_slot) else { return };
        // The last entry in use takes the place of the one that goes.
        let used = entries.iter().take_while(|entry| entry.load(Ordering::Relaxed) != 0).count();
        entries[at].store(entries[used - 1].load(Ordering::Relaxed), Ordering::Release);
        entries[used - 1].store(0, Ordering::Release);
    }
}
