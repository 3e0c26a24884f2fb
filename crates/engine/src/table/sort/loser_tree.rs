//! A loser tree: finds the least of the current items of many sorted sources.
//!
//! ```text
//! node 0                  0           the winner of all matches
//! node 1                  1           each inner node keeps the loser of the match between its two subtrees
//! nodes 2, 3         2         3
//! leaves           2   0     1   3    source i is leaf n + i, the child of node (n + i) / 2
//! ```
//!
//! After the winner's source has moved on, only the matches on its path to the root are played again: one comparison
//! per level, without the second one that a heap needs to choose a child.
//!
//! The tree holds numbers of sources and nothing else. The caller compares, by a closure that is compiled into each
//! use: rows of one width, records of any length, and the entries of a store.
//!
//! Source: Knuth, The Art of Computer Programming, volume 3, section 5.4.1.

/// A node that has not seen its first contender yet.
const VACANT: usize = usize::MAX;

/// A tree over sources `0..n`.
#[derive(Debug, Default)]
pub(crate) struct LoserTree {
    /// The winner, then the losers of the inner nodes.
    nodes: Vec<usize>,
}

impl LoserTree {
    /// Plays all matches between `sources` sources. `is_before(a, b)` returns whether source `a` wins against source
    /// `b`; exhausted sources lose.
    pub(crate) fn new(sources: usize, is_before: impl Fn(usize, usize) -> bool) -> Self {
        let mut tree = Self::default();
        tree.rebuild(sources, is_before);
        tree
    }

    /// As [`Self::new`], in the same memory.
    pub(crate) fn rebuild(&mut self, sources: usize, is_before: impl Fn(usize, usize) -> bool) {
        self.nodes.clear();
        self.nodes.resize(sources, VACANT);
        for source in 0..sources {
            let (mut winner, mut node) = (source, (source + sources) / 2);
            while node > 0 && self.nodes[node] != VACANT {
                self.play(node, &mut winner, &is_before);
                node /= 2;
            }
            self.nodes[node] = winner;
        }
    }

    /// Forgets all sources.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
    }

    /// The source with the least item; an exhausted one if all are. `None` without sources.
    #[inline]
    pub(crate) fn winner(&self) -> Option<usize> {
        self.nodes.first().copied()
    }

    /// Returns the winner after a step of `source`, which was the winner before.
    #[inline]
    pub(crate) fn replay(&mut self, source: usize, is_before: impl Fn(usize, usize) -> bool) -> usize {
        let (mut winner, mut node) = (source, (source + self.nodes.len()) / 2);
        while node > 0 {
            self.play(node, &mut winner, &is_before);
            node /= 2;
        }
        self.nodes[0] = winner;
        winner
    }

    #[inline]
    fn play(&mut self, node: usize, winner: &mut usize, is_before: &impl Fn(usize, usize) -> bool) {
        let rival = self.nodes[node];
        if is_before(rival, *winner) {
            self.nodes[node] = std::mem::replace(winner, rival);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Merges sorted sources; ties go to the earlier source.
    fn merge(sources: &[Vec<u8>]) -> Vec<(u8, usize)> {
        let mut positions = vec![0; sources.len()];
        let is_before = |positions: &[usize], a: usize, b: usize| match (
            sources[a].get(positions[a]),
            sources[b].get(positions[b]),
        ) {
            (Some(left), Some(right)) => (left, a) < (right, b),
            (left, _) => left.is_some(),
        };
        let mut tree = LoserTree::new(sources.len(), |a, b| is_before(&positions, a, b));
        let mut merged = Vec::new();
        let Some(mut winner) = tree.winner() else { return merged };
        while let Some(&item) = sources[winner].get(positions[winner]) {
            merged.push((item, winner));
            positions[winner] += 1;
            winner = tree.replay(winner, |a, b| is_before(&positions, a, b));
            assert_eq!(tree.winner(), Some(winner));
        }
        merged
    }

    proptest! {
        #[test]
        fn sources_of_any_number_and_length_merge_to_a_sorted_vector(
            mut sources in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 0..40),
        ) {
            sources.iter_mut().for_each(|source| source.sort_unstable());
            let numbered = sources.iter().enumerate();
            let items = numbered.flat_map(|(source, items)| items.iter().map(move |&item| (item, source)));
            let mut expected: Vec<(u8, usize)> = items.collect();
            expected.sort_unstable();
            prop_assert_eq!(merge(&sources), expected);
        }
    }

    #[test]
    fn a_tree_is_rebuilt_for_another_number_of_sources() {
        let mut tree = LoserTree::new(5, |a, b| a > b);
        assert_eq!(tree.winner(), Some(4));
        tree.rebuild(3, |a, b| a < b);
        assert_eq!(tree.winner(), Some(0));
        tree.clear();
        assert_eq!(tree.winner(), None);
    }
}
