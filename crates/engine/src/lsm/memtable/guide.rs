//! The guide: a sorted array of tall skiplist nodes, from which searches start instead of the head.

use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Entries that one entry of the upper row stands for.
const STRIDE: usize = 64;

/// Guides made of one memtable at most: each is half as large again as the one before.
const GUIDES: usize = 48;

/// So many tall nodes are worth a first guide.
const FIRST_NODES: usize = 32;

/// The coordinates of tall nodes in order, and the nodes: two short rows, where a skiplist takes a step to another
/// place in memory for each halving. It is never changed; nodes that came later are reached from those it has.
#[derive(Debug)]
struct Guide {
    upper: Box<[u64]>,
    coordinates: Box<[u64]>,
    nodes: Box<[u32]>,
}

impl Guide {
    fn new(entries: &[(u64, u32)]) -> Self {
        let coordinates: Box<[u64]> = entries.iter().map(|entry| entry.0).collect();
        let upper = coordinates.iter().step_by(STRIDE).copied().collect();
        Self { upper, coordinates, nodes: entries.iter().map(|entry| entry.1).collect() }
    }

    /// The last node with a lesser coordinate.
    fn before(&self, coordinate: u64) -> Option<u32> {
        let from = self.upper.partition_point(|&upper| upper < coordinate).checked_sub(1)? * STRIDE;
        let part = &self.coordinates[from..self.coordinates.len().min(from + STRIDE)];
        let place = part.partition_point(|&there| there < coordinate).checked_sub(1)?;
        self.nodes.get(from + place).copied()
    }

    fn memory_bytes(&self) -> u64 {
        (size_of_val(&*self.upper) + size_of_val(&*self.coordinates) + size_of_val(&*self.nodes)) as u64
    }
}

/// The guides of a memtable. Older ones stay, as readers may be in them; all together they are three times the newest.
#[derive(Debug)]
pub(super) struct Guides {
    guides: [OnceLock<Guide>; GUIDES],
    count: AtomicUsize,
}

impl Guides {
    pub(super) fn new() -> Self {
        Self { guides: [const { OnceLock::new() }; GUIDES], count: AtomicUsize::new(0) }
    }

    /// A tall node whose coordinate is less, and not by much unless most nodes are newer than the guide.
    pub(super) fn before(&self, coordinate: u64) -> Option<u32> {
        self.newest()?.before(coordinate)
    }

    fn newest(&self) -> Option<&Guide> {
        self.guides[self.count.load(Acquire).checked_sub(1)?].get()
    }

    /// Makes a new guide if there are enough `recent` nodes, which are taken up then; returns its bytes. Called by the inserting thread alone.
    pub(super) fn renew(&self, recent: &mut Vec<(u64, u32)>) -> u64 {
        let known = self.newest().map_or(0, |guide| guide.nodes.len());
        let count = self.count.load(Acquire);
        if recent.len() < FIRST_NODES.max(known / 2) || count == GUIDES {
            return 0;
        }
        let mut recent = std::mem::take(recent);
        if let Some(guide) = self.newest() {
            recent.extend(guide.coordinates.iter().copied().zip(guide.nodes.iter().copied()));
        }
        // The older part is in order, so sorting is little more than merging.
        recent.sort();
        let bytes = self.guides[count].get_or_init(|| Guide::new(&recent)).memory_bytes();
        self.count.store(count + 1, Release);
        bytes
    }
}
