//! Fragmented range tombstones: one run, cut into disjoint fragments with a tree over them.

use super::set::{Removal, bytes_of};
use crate::lsm::entry::Sequence;
use std::sync::Arc;

/// Range removals and a segment tree over the pieces between their ends (J. L. Bentley, "Algorithms for Klee's rectangle
/// problems", 1977).
///
/// ```text
///   removals      [a------------e)  7         pieces   [a   b) [b   c) [c   e)
///                      [b----c)     9         tree         7       9,7      7
/// ```
///
/// Each removal is noted at the O(log n) nodes that make up its range, so that ranges inside ranges take O(n log n) and not
/// O(n^2) of memory. A query goes from the leaf of its piece up to the root, and looks at each node for the newest that is not too new.
#[derive(Debug)]
pub(super) struct Pieces {
    removals: Vec<Arc<Removal>>,
    /// The ends of ranges, in order: index of the removal, and whether it is its end.
    ends: Vec<(u32, bool)>,
    /// Where the sequence numbers of each node begin; node 1 is the root, that of the first piece is half the number of nodes.
    first: Vec<u32>,
    /// The sequence numbers of all nodes, of each in ascending order.
    sequences: Vec<Sequence>,
    bytes: u64,
}

impl Pieces {
    pub(super) fn new(mut removals: Vec<Arc<Removal>>) -> Self {
        removals.sort_by_key(|removal| removal.sequence);
        let mut pieces =
            Self { bytes: bytes_of(&removals), removals, ends: Vec::new(), first: Vec::new(), sequences: Vec::new() };
        let mut ends: Vec<(u32, bool)> =
            (0..pieces.removals.len() as u32).flat_map(|i| [(i, false), (i, true)]).collect();
        // The last piece has no end.
        ends.retain(|&(removal, is_end)| !is_end || !pieces.removals[removal as usize].end.is_empty());
        ends.sort_by(|&one, &other| pieces.end(one).cmp(pieces.end(other)));
        ends.dedup_by(|one, other| pieces.end(*one) == pieces.end(*other));
        pieces.ends = ends;
        pieces.note();
        pieces
    }

    /// Notes each removal at the nodes of its range: counts first, then places, oldest first.
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

    /// Visits the nodes of each removal.
    fn each(&self, leaves: usize, mut visit: impl FnMut(usize, Sequence)) {
        for removal in &self.removals {
            let place = |key: &[u8]| leaves + self.ends.partition_point(|&end| self.end(end) < key);
            let end = if removal.end.is_empty() { leaves + self.ends.len() } else { place(&removal.end) };
            let (mut from, mut to) = (place(&removal.start), end);
            while from < to {
                if from % 2 == 1 {
                    visit(from, removal.sequence);
                    from += 1;
                }
                if to % 2 == 1 {
                    to -= 1;
                    visit(to, removal.sequence);
                }
                (from, to) = (from / 2, to / 2);
            }
        }
    }

    fn end(&self, (removal, is_end): (u32, bool)) -> &[u8] {
        let removal = &self.removals[removal as usize];
        if is_end { &removal.end } else { &removal.start }
    }

    /// The newest removal that is not newer than `at` and has `key` in its range; 0 if there is none.
    pub(super) fn covering(&self, key: &[u8], at: Sequence) -> Sequence {
        let behind = self.ends.partition_point(|&end| self.end(end) <= key);
        let Some(piece) = behind.checked_sub(1) else { return 0 };
        let (mut node, mut newest) = (self.first.len() / 2 + piece, 0);
        while node > 0 {
            let noted = &self.sequences[self.first[node] as usize..self.first[node + 1] as usize];
            let visible = noted.partition_point(|&sequence| sequence <= at);
            newest = newest.max(noted[..visible].last().copied().unwrap_or(0));
            node /= 2;
        }
        newest
    }

    pub(super) fn removals(&self) -> &[Arc<Removal>] {
        &self.removals
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        let removals = self.removals.capacity() * size_of::<Arc<Removal>>();
        let ends = self.ends.capacity() * size_of::<(u32, bool)>();
        let tree = self.first.capacity() * size_of::<u32>() + self.sequences.capacity() * size_of::<Sequence>();
        self.bytes + (removals + ends + tree + size_of::<Self>()) as u64
    }
}
