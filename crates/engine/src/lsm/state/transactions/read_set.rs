//! The read set of a transaction: what it has read, as points and intervals of keys, by keyspace.
//!
//! ```text
//! get(b)  range(d..h), ended   range(k..), up to m     b  [d, h)  [k, m]
//! more than the limit: neighbours become intervals     [b, h)  [k, m]
//! ```
//!
//! Intervals of a keyspace are disjoint. One that was read is never forgotten: if they take too many bytes, neighbours
//! become one interval with what lies between them, so that a transaction has more conflicts, and never fewer.

use super::key_intervals::KeyIntervals;
use crate::lsm::state::entry::KeyspaceId;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use std::sync::Arc;

/// What a transaction has read.
#[derive(Debug)]
pub(in crate::lsm) struct ReadSet {
    keyspaces: Vec<KeyspaceReads>,
    bytes: u64,
    limit_bytes: u64,
}

/// What a transaction has read of a keyspace.
#[derive(Debug)]
pub(in crate::lsm) struct KeyspaceReads {
    pub(in crate::lsm) tree: Arc<KeyspaceTree>,
    /// How often types had been stated before the first read.
    pub(in crate::lsm) generation: u64,
    pub(in crate::lsm) intervals: KeyIntervals,
}

impl ReadSet {
    /// An empty one, of about this many bytes at most.
    pub(in crate::lsm) fn new(limit_bytes: u64) -> Self {
        Self { keyspaces: Vec::new(), bytes: 0, limit_bytes }
    }

    /// Adds a key.
    pub(in crate::lsm) fn add_point(&mut self, tree: &Arc<KeyspaceTree>, key: &[u8]) {
        let sizes = self.of_tree(tree).intervals.add_point(key);
        self.account(sizes);
    }

    /// Adds the keys from `start` up to `end`, or all from `start` on.
    pub(in crate::lsm) fn add_range(&mut self, tree: &Arc<KeyspaceTree>, start: &[u8], end: Option<&[u8]>) {
        let sizes = self.of_tree(tree).intervals.add_range(start, end);
        self.account(sizes);
    }

    /// The keyspaces that were read.
    pub(in crate::lsm) fn keyspaces(&self) -> &[KeyspaceReads] {
        &self.keyspaces
    }

    /// What was read of a keyspace, if it was.
    pub(in crate::lsm) fn of(&self, id: KeyspaceId) -> Option<&KeyspaceReads> {
        self.keyspaces.iter().find(|reads| reads.tree.id == id)
    }

    /// Whether nothing was read.
    pub(in crate::lsm) fn is_empty(&self) -> bool {
        self.keyspaces.is_empty()
    }

    /// Approximate memory in bytes.
    pub(in crate::lsm) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn of_tree(&mut self, tree: &Arc<KeyspaceTree>) -> &mut KeyspaceReads {
        let known = self.keyspaces.iter().position(|reads| reads.tree.id == tree.id);
        let at = known.unwrap_or_else(|| {
            let (tree, generation) = (Arc::clone(tree), tree.generation());
            self.keyspaces.push(KeyspaceReads { tree, generation, intervals: KeyIntervals::default() });
            self.keyspaces.len() - 1
        });
        &mut self.keyspaces[at]
    }

    fn account(&mut self, (added, freed): (u64, u64)) {
        self.bytes = (self.bytes + added).saturating_sub(freed);
        if self.bytes <= self.limit_bytes {
            return;
        }
        // To half of the limit, so that not every further read has to.
        while self.bytes > self.limit_bytes / 2 && !self.keyspaces.iter().all(|reads| reads.intervals.is_all()) {
            let has_neighbours = self.keyspaces.iter().any(|reads| reads.intervals.len() > 1);
            let all = self.keyspaces.iter_mut().map(|reads| &mut reads.intervals);
            let coarsened = all.filter(|intervals| !has_neighbours || intervals.len() > 1);
            coarsened.for_each(KeyIntervals::coarsen);
            self.bytes = self.keyspaces.iter().map(|reads| reads.intervals.bytes()).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::state::memtable::Memtable;
    use crate::lsm::state::transactions::key_intervals::{INTERVAL_BYTES, PointOrRange};
    use crate::lsm::state::view::KeyspaceView;
    use proptest::prelude::*;
    use std::path::Path;

    fn tree(id: KeyspaceId) -> Arc<KeyspaceTree> {
        let view = KeyspaceView {
            active: Arc::new(Memtable::new()),
            sealed: Vec::new(),
            levels: Arc::default(),
            values: Arc::default(),
            time: Arc::default(),
        };
        Arc::new(KeyspaceTree::new((id, "k".to_owned()), Path::new("s").into(), Default::default(), view))
    }

    /// Short keys of few bytes, so that intervals meet.
    fn keys() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(0..3_u8, 0..4)
    }

    fn all_keys() -> Vec<Vec<u8>> {
        let longer = |keys: &[Vec<u8>]| -> Vec<Vec<u8>> {
            keys.iter().flat_map(|key| (0..3).map(move |byte| [&key[..], &[byte]].concat())).collect()
        };
        let mut all = vec![vec![Vec::new()]];
        (0..4).for_each(|length: usize| all.push(longer(&all[length])));
        all.concat()
    }

    fn is_within(key: &[u8], start: &[u8], end: Option<&[u8]>) -> bool {
        start <= key && end.is_none_or(|end| key < end)
    }

    proptest! {
        #[test]
        fn what_was_read_is_kept_and_nothing_else_unless_memory_is_short(
            reads in proptest::collection::vec((0..2_u32, keys(), proptest::option::of(keys()), any::<bool>()), 0..40),
            limit in prop_oneof![Just(u64::MAX), 0..3000_u64],
        ) {
            let trees = [tree(0), tree(1)];
            let mut set = ReadSet::new(limit);
            for (id, start, end, is_point) in &reads {
                match is_point {
                    true => set.add_point(&trees[*id as usize], start),
                    false => set.add_range(&trees[*id as usize], start, end.as_deref()),
                }
            }
            for (id, key) in (0..2).flat_map(|id| all_keys().into_iter().map(move |key| (id, key))) {
                let is_read = reads.iter().any(|(its, start, end, is_point)| *its == id && match is_point {
                    true => *start == key,
                    false => is_within(&key, start, end.as_deref()),
                });
                let has = |key: &[u8]| set.of(id).is_some_and(|reads| reads.intervals.contains(key));
                let found = has(&key);
                prop_assert!(found == is_read || found && limit < u64::MAX, "{:?} of {:?}", key, set);
                let intervals = || set.of(id).into_iter().flat_map(|reads| reads.intervals.iter());
                let by_intervals = intervals().filter(|interval| match interval {
                    PointOrRange::Point(point) => *point == key,
                    PointOrRange::Range(start, end) => is_within(&key, start, *end),
                });
                prop_assert_eq!(by_intervals.count(), usize::from(found));
                let behind = [&key[..], &[1]].concat();
                let first = set.of(id).and_then(|reads| reads.intervals.first_within(&key, Some(&behind)));
                let is_any = all_keys().iter().any(|of_all| is_within(of_all, &key, Some(&behind)) && has(of_all));
                prop_assert!(first.is_some() || !is_any);
                prop_assert!(first.is_none_or(has));
            }
            let bytes: u64 = set.keyspaces().iter().map(|reads| reads.intervals.bytes()).sum();
            prop_assert_eq!(bytes, set.bytes());
            prop_assert!(bytes <= limit.max(2 * INTERVAL_BYTES));
        }
    }
}
