//! Fragmented range tombstones: one run, cut into disjoint fragments with a tree over them.

use super::set::{RangeTombstone, bytes_of};
use crate::lsm::state::entry::Sequence;
use std::sync::Arc;

/// Range tombstones, and a segment tree over the fragments between their ends (J. L. Bentley, "Algorithms for Klee's
/// rectangle problems", 1977).
///
/// ```text
///   tombstones    [a------------e)  7         fragments [a   b) [b   c) [c   e)
///                      [b----c)     9         tree         7       9,7      7
/// ```
///
/// Each tombstone is recorded at the O(log n) nodes that make up its range, so nested ranges take O(n log n) rather
/// than O(n^2) memory. A query goes from the leaf of its fragment up to the root, and looks for the newest visible
/// tombstone at each node.
#[derive(Debug)]
pub(super) struct FragmentTree {
    tombstones: Vec<Arc<RangeTombstone>>,
    /// The ends of all ranges, in order: the index of the tombstone, and whether it is its end or its start.
    ends: Vec<(u32, bool)>,
    /// Offsets of the sequence numbers of each node. Node 1 is the root; the first fragment has half the number of
    /// nodes.
    first: Vec<u32>,
    /// The sequence numbers of all nodes, ascending within each.
    sequences: Vec<Sequence>,
    bytes: u64,
}

impl FragmentTree {
    pub(super) fn new(mut tombstones: Vec<Arc<RangeTombstone>>) -> Self {
        tombstones.sort_by_key(|tombstone| tombstone.sequence);
        let mut fragments = Self {
            bytes: bytes_of(&tombstones),
            tombstones,
            ends: Vec::new(),
            first: Vec::new(),
            sequences: Vec::new(),
        };
        let mut ends: Vec<(u32, bool)> =
            (0..fragments.tombstones.len() as u32).flat_map(|i| [(i, false), (i, true)]).collect();
        // The last fragment has no end.
        ends.retain(|&(tombstone, is_end)| !is_end || !fragments.tombstones[tombstone as usize].end.is_empty());
        ends.sort_by(|&one, &other| fragments.end(one).cmp(fragments.end(other)));
        ends.dedup_by(|one, other| fragments.end(*one) == fragments.end(*other));
        fragments.ends = ends;
        fragments.note();
        fragments
    }

    /// Records each tombstone at the nodes of its range: counts first, then sequence numbers, oldest first.
    fn note(&mut self) {
        let leaves = self.ends.len().next_power_of_two();
        let mut counts = vec![0_u32; 2 * leaves + 1];
        self.each(leaves, |node, _| counts[node + 1] += 1);
        for node in 1..counts.len() {
            counts[node] += counts[node - 1];
        }
        let mut next = counts.clone();
        let mut sequences = vec![0; counts.last().map_or(0, |&count| count as usize)];
        self.each(leaves, |node, sequence| {
            sequences[next[node] as usize] = sequence;
            next[node] += 1;
        });
        (self.first, self.sequences) = (counts, sequences);
    }

    /// Visits the nodes of each tombstone.
    fn each(&self, leaves: usize, mut visit: impl FnMut(usize, Sequence)) {
        for tombstone in &self.tombstones {
            let place = |key: &[u8]| leaves + self.ends.partition_point(|&end| self.end(end) < key);
            let end = if tombstone.end.is_empty() { leaves + self.ends.len() } else { place(&tombstone.end) };
            let (mut from, mut to) = (place(&tombstone.start), end);
            while from < to {
                if from % 2 == 1 {
                    visit(from, tombstone.sequence);
                    from += 1;
                }
                if to % 2 == 1 {
                    to -= 1;
                    visit(to, tombstone.sequence);
                }
                (from, to) = (from / 2, to / 2);
            }
        }
    }

    fn end(&self, (tombstone, is_end): (u32, bool)) -> &[u8] {
        let tombstone = &self.tombstones[tombstone as usize];
        if is_end { &tombstone.end } else { &tombstone.start }
    }

    /// The newest tombstone at or below `at` that covers `key`; 0 if there is none.
    pub(super) fn covering(&self, key: &[u8], at: Sequence) -> Sequence {
        let behind = self.ends.partition_point(|&end| self.end(end) <= key);
        let Some(fragment) = behind.checked_sub(1) else { return 0 };
        let (mut node, mut newest) = (self.first.len() / 2 + fragment, 0);
        while node > 0 {
            let noted = &self.sequences[self.first[node] as usize..self.first[node + 1] as usize];
            let visible = noted.partition_point(|&sequence| sequence <= at);
            newest = newest.max(noted[..visible].last().copied().unwrap_or(0));
            node /= 2;
        }
        newest
    }

    pub(super) fn tombstones(&self) -> &[Arc<RangeTombstone>] {
        &self.tombstones
    }

    /// Memory in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let tombstones = self.tombstones.capacity() * size_of::<Arc<RangeTombstone>>();
        let ends = self.ends.capacity() * size_of::<(u32, bool)>();
        let tree = self.first.capacity() * size_of::<u32>() + self.sequences.capacity() * size_of::<Sequence>();
        self.bytes + (tombstones + ends + tree + size_of::<Self>()) as u64
    }
}
