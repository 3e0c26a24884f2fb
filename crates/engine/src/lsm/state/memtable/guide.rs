//! The guide: a sorted array of tall skiplist nodes, from which searches start instead of the head.

use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Entries of the lower row per entry of the upper row.
const UPPER_STRIDE: usize = 64;

/// Maximum number of guides of a memtable; each is half as large again as the previous one.
const GUIDES_MAX: usize = 48;

/// Tall nodes needed for a first guide.
const FIRST_GUIDE_NODES_MIN: usize = 32;

/// The key prefixes of the tall nodes in order, with the nodes. The two short rows replace most levels of the skiplist,
/// where each halving jumps to another place in memory. A guide is immutable; newer nodes are reached from those it
/// contains.
#[derive(Debug)]
struct Guide {
    upper: Box<[u64]>,
    key_prefixes: Box<[u64]>,
    nodes: Box<[u32]>,
}

impl Guide {
    fn new(entries: &[(u64, u32)]) -> Self {
        let key_prefixes: Box<[u64]> = entries.iter().map(|entry| entry.0).collect();
        let upper = key_prefixes.iter().step_by(UPPER_STRIDE).copied().collect();
        Self { upper, key_prefixes, nodes: entries.iter().map(|entry| entry.1).collect() }
    }

    /// The last node with a smaller key prefix.
    fn before(&self, key_prefix: u64) -> Option<u32> {
        let from = self.upper.partition_point(|&upper| upper < key_prefix).checked_sub(1)? * UPPER_STRIDE;
        let part = &self.key_prefixes[from..self.key_prefixes.len().min(from + UPPER_STRIDE)];
        let index = part.partition_point(|&there| there < key_prefix).checked_sub(1)?;
        self.nodes.get(from + index).copied()
    }

    fn memory_bytes(&self) -> u64 {
        (size_of_val(&*self.upper) + size_of_val(&*self.key_prefixes) + size_of_val(&*self.nodes)) as u64
    }
}

/// The guides of a memtable. Older guides stay, since readers may be using them; all of them together take three times
/// the memory of the newest.
#[derive(Debug)]
pub(super) struct Guides {
    guides: [OnceLock<Guide>; GUIDES_MAX],
    count: AtomicUsize,
}

impl Guides {
    pub(super) fn new() -> Self {
        Self { guides: [const { OnceLock::new() }; GUIDES_MAX], count: AtomicUsize::new(0) }
    }

    /// A tall node with a smaller key prefix; a close one, unless most nodes are newer than the guide.
    pub(super) fn before(&self, key_prefix: u64) -> Option<u32> {
        self.newest()?.before(key_prefix)
    }

    fn newest(&self) -> Option<&Guide> {
        self.guides[self.count.load(Acquire).checked_sub(1)?].get()
    }

    /// Builds a new guide if there are enough `recent` nodes, and clears these; returns its size in bytes. Called only
    /// by the inserting thread.
    pub(super) fn renew(&self, recent: &mut Vec<(u64, u32)>) -> u64 {
        let known = self.newest().map_or(0, |guide| guide.nodes.len());
        let count = self.count.load(Acquire);
        if recent.len() < FIRST_GUIDE_NODES_MIN.max(known / 2) || count == GUIDES_MAX {
            return 0;
        }
        let mut recent = std::mem::take(recent);
        if let Some(guide) = self.newest() {
            recent.extend(guide.key_prefixes.iter().copied().zip(guide.nodes.iter().copied()));
        }
        // The older part is sorted already, so this costs little more than a merge.
        recent.sort();
        let bytes = self.guides[count].get_or_init(|| Guide::new(&recent)).memory_bytes();
        self.count.store(count + 1, Release);
        bytes
    }
}
