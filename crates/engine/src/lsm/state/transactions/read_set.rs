//! The read set of a transaction: what it has read, as points and intervals of keys, by keyspace.
//!
//! ```text
//! get(b)  range(d..h), ended   range(k..), up to m     b  [d, h)  [k, m]
//! more than the limit: neighbours become intervals     [b, h)  [k, m]
//! ```
//!
//! Intervals of a keyspace are disjoint. One that was read is never forgotten: if they take too many bytes, neighbours
//! become one interval with what lies between them, so that a transaction has more conflicts, and never fewer.

use crate::lsm::state::entry::KeyspaceId;
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Approximate memory of an interval beside its keys, in bytes: two vectors, and a share of a node of the map.
const INTERVAL_BYTES: u64 = 96;

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
    /// By their first key.
    intervals: BTreeMap<Vec<u8>, IntervalEnd>,
}

#[derive(Debug, PartialEq, Eq)]
enum IntervalEnd {
    /// The interval is one key.
    Point,
    /// The first key behind the interval.
    Before(Vec<u8>),
    /// All keys from the first one on.
    Endless,
}

/// An interval of keys: the first one, and the first one behind it, if it has an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lsm) enum ReadInterval<'a> {
    Point(&'a [u8]),
    Range(&'a [u8], Option<&'a [u8]>),
}

impl IntervalEnd {
    fn of(end: Option<Vec<u8>>) -> Self {
        end.map_or(Self::Endless, Self::Before)
    }

    /// The first key behind an interval that begins at `start`; `None` if it has no end.
    fn key<'a>(&'a self, start: &[u8]) -> Option<Cow<'a, [u8]>> {
        match self {
            Self::Point => Some(Cow::Owned([start, &[0]].concat())),
            Self::Before(end) => Some(Cow::Borrowed(end)),
            Self::Endless => None,
        }
    }

    /// Whether an interval that begins at `start` contains a key that is not before it.
    fn is_behind(&self, start: &[u8], key: &[u8]) -> bool {
        match self {
            Self::Point => start == key,
            Self::Before(end) => key < end.as_slice(),
            Self::Endless => true,
        }
    }

    fn bytes(&self) -> u64 {
        INTERVAL_BYTES + if let Self::Before(end) = self { end.len() as u64 } else { 0 }
    }
}

impl KeyspaceReads {
    /// The intervals, in key order.
    pub(in crate::lsm) fn intervals(&self) -> impl Iterator<Item = ReadInterval<'_>> {
        self.intervals.iter().map(|(start, end)| match end {
            IntervalEnd::Point => ReadInterval::Point(start),
            IntervalEnd::Before(end) => ReadInterval::Range(start, Some(end)),
            IntervalEnd::Endless => ReadInterval::Range(start, None),
        })
    }

    /// Whether a key was read.
    pub(in crate::lsm) fn contains(&self, key: &[u8]) -> bool {
        let before = self.intervals.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back();
        before.is_some_and(|(start, end)| end.is_behind(start, key))
    }

    /// A key from `from` up to `to`, if there is one that was read.
    pub(in crate::lsm) fn first_within<'a>(&'a self, from: &'a [u8], to: Option<&[u8]>) -> Option<&'a [u8]> {
        if self.contains(from) {
            return Some(from);
        }
        let (start, _) = self.intervals.range::<[u8], _>((Bound::Excluded(from), Bound::Unbounded)).next()?;
        to.is_none_or(|to| start.as_slice() < to).then_some(start)
    }

    /// Adds an interval, united with those that it meets; returns the bytes added and those taken away.
    fn add(&mut self, mut start: Vec<u8>, end: IntervalEnd) -> (u64, u64) {
        let mut end = end;
        let mut freed = 0;
        let before = self.intervals.range::<[u8], _>((Bound::Unbounded, Bound::Included(start.as_slice())));
        if let Some((first, its_end)) = before.into_iter().next_back()
            && its_end.key(first).is_none_or(|its_end| *its_end >= *start)
        {
            if reaches(its_end, first, &end, &start) {
                return (0, 0);
            }
            // The end is kept as a key, since the interval now begins elsewhere.
            end = IntervalEnd::of(end.key(&start).map(Cow::into_owned));
            start = first.clone();
            freed += self.take(&start);
        }
        while let Some((next, its_end)) =
            self.intervals.range::<[u8], _>((Bound::Included(start.as_slice()), Bound::Unbounded)).next()
            && end.key(&start).is_none_or(|end| *next.as_slice() <= *end)
        {
            if !reaches(&end, &start, its_end, next) {
                end = IntervalEnd::of(its_end.key(next).map(Cow::into_owned));
            }
            let next = next.clone();
            freed += self.take(&next);
        }
        let added = start.len() as u64 + end.bytes();
        self.intervals.insert(start, end);
        (added, freed)
    }

    /// Removes an interval; returns its bytes.
    fn take(&mut self, start: &[u8]) -> u64 {
        self.intervals.remove(start).map_or(0, |end| start.len() as u64 + end.bytes())
    }

    /// Makes one interval of each two neighbours; one that is left alone grows to all keys.
    fn coarsen(&mut self) {
        let mut intervals = std::mem::take(&mut self.intervals).into_iter();
        if intervals.len() == 1 {
            self.intervals.insert(Vec::new(), IntervalEnd::Endless);
            return;
        }
        while let Some((start, end)) = intervals.next() {
            let end = match intervals.next() {
                Some((next, its_end)) => IntervalEnd::of(its_end.key(&next).map(Cow::into_owned)),
                None => end,
            };
            self.intervals.insert(start, end);
        }
    }

    fn bytes(&self) -> u64 {
        self.intervals.iter().map(|(start, end)| start.len() as u64 + end.bytes()).sum()
    }

    fn is_all(&self) -> bool {
        self.intervals.first_key_value().is_none_or(|(start, end)| start.is_empty() && *end == IntervalEnd::Endless)
    }
}

/// Whether one interval ends at or behind the end of another.
fn reaches(one: &IntervalEnd, start: &[u8], other: &IntervalEnd, its_start: &[u8]) -> bool {
    match (one.key(start), other.key(its_start)) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(one), Some(other)) => one >= other,
    }
}

impl ReadSet {
    /// An empty one, of about this many bytes at most.
    pub(in crate::lsm) fn new(limit_bytes: u64) -> Self {
        Self { keyspaces: Vec::new(), bytes: 0, limit_bytes }
    }

    /// Adds a key.
    pub(in crate::lsm) fn add_point(&mut self, tree: &Arc<KeyspaceTree>, key: &[u8]) {
        let reads = self.of_tree(tree);
        if !reads.contains(key) {
            let sizes = reads.add(key.to_vec(), IntervalEnd::Point);
            self.account(sizes);
        }
    }

    /// Adds the keys from `start` up to `end`, or all from `start` on.
    pub(in crate::lsm) fn add_range(&mut self, tree: &Arc<KeyspaceTree>, start: &[u8], end: Option<&[u8]>) {
        let reads = self.of_tree(tree);
        if end.is_none_or(|end| start < end) {
            let sizes = reads.add(start.to_vec(), IntervalEnd::of(end.map(<[u8]>::to_vec)));
            self.account(sizes);
        }
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
            self.keyspaces.push(KeyspaceReads { tree, generation, intervals: BTreeMap::new() });
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
        while self.bytes > self.limit_bytes / 2 && !self.keyspaces.iter().all(KeyspaceReads::is_all) {
            let has_neighbours = self.keyspaces.iter().any(|reads| reads.intervals.len() > 1);
            let coarsened = self.keyspaces.iter_mut().filter(|reads| !has_neighbours || reads.intervals.len() > 1);
            coarsened.for_each(KeyspaceReads::coarsen);
            self.bytes = self.keyspaces.iter().map(KeyspaceReads::bytes).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::state::memtable::Memtable;
    use crate::lsm::state::view::KeyspaceView;
    use proptest::prelude::*;
    use std::path::Path;

    fn tree(id: KeyspaceId) -> Arc<KeyspaceTree> {
        let view = KeyspaceView {
            active: Arc::new(Memtable::new()),
            sealed: Vec::new(),
            levels: Arc::default(),
            values: Arc::default(),
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
                let found = set.of(id).is_some_and(|reads| reads.contains(&key));
                prop_assert!(found == is_read || found && limit < u64::MAX, "{:?} of {:?}", key, set);
                let intervals = || set.of(id).into_iter().flat_map(KeyspaceReads::intervals);
                let by_intervals = intervals().filter(|interval| match interval {
                    ReadInterval::Point(point) => *point == key,
                    ReadInterval::Range(start, end) => is_within(&key, start, *end),
                });
                prop_assert_eq!(by_intervals.count(), usize::from(found));
                let behind = [&key[..], &[1]].concat();
                let first = set.of(id).and_then(|reads| reads.first_within(&key, Some(&behind)).map(<[u8]>::to_vec));
                let is_any = all_keys().iter().any(|key_of_all| {
                    is_within(key_of_all, &key, Some(&behind)) && set.of(id).is_some_and(|it| it.contains(key_of_all))
                });
                prop_assert!(first.is_some() || !is_any);
                prop_assert!(first.is_none_or(|first| set.of(id).is_some_and(|it| it.contains(&first))));
            }
            let bytes: u64 = set.keyspaces().iter().map(KeyspaceReads::bytes).sum();
            prop_assert_eq!(bytes, set.bytes());
            prop_assert!(bytes <= limit.max(2 * INTERVAL_BYTES));
        }
    }
}
