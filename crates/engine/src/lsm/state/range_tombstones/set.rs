//! The set of range tombstones of a memtable or a table.

use super::fragments::FragmentTree;
use crate::lsm::state::entry::Sequence;
use crate::table::KEY_BYTES_MAX;
use std::cmp::Reverse;
use std::sync::Arc;

/// Maximum number of tombstones that are searched linearly; beyond it they become a run.
const RECENT_MAX: usize = 16;

/// Memory that a tombstone takes in the tree of a run, unless hundreds of them are nested, in bytes.
const SEARCH_BYTES: u64 = 128;

/// A removal of all older entries from `start` up to `end`, exclusively. An empty `end` means no end; it cannot occur
/// otherwise, since nothing would precede it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RangeTombstone {
    pub(crate) start: Box<[u8]>,
    pub(crate) end: Box<[u8]>,
    pub(crate) sequence: Sequence,
}

impl RangeTombstone {
    pub(super) fn new(start: &[u8], end: &[u8], sequence: Sequence) -> Self {
        Self { start: start.into(), end: known_end(end).into(), sequence }
    }

    /// Whether `key` lies in the range.
    pub(crate) fn covers(&self, key: &[u8]) -> bool {
        *self.start <= *key && !is_ended(&self.end, key)
    }

    /// Whether the range is empty.
    fn is_empty(&self) -> bool {
        is_ended(&self.end, &self.start)
    }

    /// Memory in bytes.
    fn memory_bytes(&self) -> u64 {
        // Includes the reference counts.
        (self.start.len() + self.end.len() + size_of::<Self>() + 2 * size_of::<usize>()) as u64
    }
}

/// Whether a range with this end ends at or before `key`.
pub(super) fn is_ended(end: &[u8], key: &[u8]) -> bool {
    !end.is_empty() && end <= key
}

/// Normalizes an end: early versions wrote a maximal key instead of no end.
pub(crate) fn known_end(end: &[u8]) -> &[u8] {
    let is_none = end.len() > KEY_BYTES_MAX && end.iter().all(|&byte| byte == u8::MAX);
    if is_none { &[] } else { end }
}

/// The smaller of two ends.
fn lesser_end<'a>(one: &'a [u8], other: &'a [u8]) -> &'a [u8] {
    if !other.is_empty() && (one.is_empty() || other < one) { other } else { one }
}

/// Whether the end `one` is at or after the end `other`.
pub(crate) fn reaches(one: &[u8], other: &[u8]) -> bool {
    lesser_end(one, other) == other
}

/// A set of any number of range tombstones, which may overlap. Cloning is cheap, and clones are independent.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeTombstones {
    /// From large to small, each at least twice as large as the next.
    runs: Vec<Arc<FragmentTree>>,
    recent: Vec<Arc<RangeTombstone>>,
}

impl RangeTombstones {
    /// Creates an empty set.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The set of these tombstones, without empty ranges.
    pub(crate) fn of(tombstones: impl IntoIterator<Item = RangeTombstone>) -> Self {
        Self::of_shared(tombstones.into_iter().map(Arc::new).collect())
    }

    fn of_shared(mut tombstones: Vec<Arc<RangeTombstone>>) -> Self {
        tombstones.retain(|tombstone| !tombstone.is_empty());
        if tombstones.len() < RECENT_MAX {
            return Self { runs: Vec::new(), recent: tombstones };
        }
        Self { runs: vec![Arc::new(FragmentTree::new(tombstones))], recent: Vec::new() }
    }

    /// Adds the range `start..end` unless it is empty; `start..` if `end` is empty.
    pub(crate) fn add(&mut self, start: &[u8], end: &[u8], sequence: Sequence) {
        self.add_shared(Arc::new(RangeTombstone::new(start, end, sequence)));
    }

    /// Adds all of `others`.
    pub(crate) fn extend(&mut self, others: &Self) {
        if self.is_empty() {
            self.clone_from(others);
            return;
        }
        for tombstone in others.shared() {
            self.add_shared(Arc::clone(tombstone));
        }
    }

    fn add_shared(&mut self, tombstone: Arc<RangeTombstone>) {
        if tombstone.is_empty() {
            return;
        }
        self.recent.push(tombstone);
        if self.recent.len() < RECENT_MAX {
            return;
        }
        let mut merged = std::mem::take(&mut self.recent);
        while let Some(run) = self.runs.pop_if(|run| run.tombstones().len() < 2 * merged.len()) {
            merged.extend(run.tombstones().iter().map(Arc::clone));
        }
        self.runs.push(Arc::new(FragmentTree::new(merged)));
    }

    /// The newest tombstone at or below `at` that covers `key`; 0 if there is none.
    pub(crate) fn covering(&self, key: &[u8], at: Sequence) -> Sequence {
        let recent = self.recent.iter().filter(|tombstone| tombstone.sequence <= at && tombstone.covers(key));
        let newest = recent.map(|tombstone| tombstone.sequence).max().unwrap_or(0);
        self.runs.iter().map(|run| run.covering(key, at)).fold(newest, Sequence::max)
    }

    /// A key of the range `start..end`, or of `start..`, that a tombstone newer than `after` covers, if there is one.
    pub(crate) fn newer_within(&self, start: &[u8], end: Option<&[u8]>, after: Sequence) -> Option<Vec<u8>> {
        let is_met = |tombstone: &&Arc<RangeTombstone>| {
            !is_ended(&tombstone.end, start) && end.is_none_or(|end| *tombstone.start < *end)
        };
        let newer = self.shared().filter(|tombstone| tombstone.sequence > after).find(is_met)?;
        Some(start.max(&newer.start).to_vec())
    }

    /// The parts of the tombstones between `from` and `to`, exclusively.
    pub(crate) fn clip(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Self {
        if to.is_some_and(<[u8]>::is_empty) {
            return Self::new();
        }
        let clipped = self.shared().filter_map(|tombstone| {
            let start = from.map_or(&*tombstone.start, |from| from.max(&tombstone.start));
            let end = lesser_end(&tombstone.end, to.unwrap_or_default());
            let is_whole = start.len() == tombstone.start.len() && end.len() == tombstone.end.len();
            match (!is_ended(end, start), is_whole && *start == *tombstone.start && *end == *tombstone.end) {
                (false, _) => None,
                (true, true) => Some(Arc::clone(tombstone)),
                (true, false) => Some(Arc::new(RangeTombstone {
                    start: start.into(),
                    end: end.into(),
                    sequence: tombstone.sequence,
                })),
            }
        });
        Self::of_shared(clipped.collect())
    }

    /// The tombstones for which `keep` returns `true`.
    #[cfg(test)]
    pub(crate) fn filter(&self, mut keep: impl FnMut(&RangeTombstone) -> bool) -> Self {
        Self::of_shared(self.shared().filter(|tombstone| keep(tombstone)).map(Arc::clone).collect())
    }

    /// All tombstones by start, then newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &RangeTombstone> {
        let mut all: Vec<&RangeTombstone> = self.shared().map(|tombstone| &**tombstone).collect();
        all.sort_by(|one, other| {
            (&one.start, Reverse(one.sequence), &one.end).cmp(&(&other.start, Reverse(other.sequence), &other.end))
        });
        all.into_iter()
    }

    /// All tombstones in any order.
    fn shared(&self) -> impl Iterator<Item = &Arc<RangeTombstone>> {
        self.runs.iter().flat_map(|run| run.tombstones()).chain(&self.recent)
    }

    /// The smallest start and the largest end; an empty end if there is none.
    pub(crate) fn bounds(&self) -> Option<(&[u8], &[u8])> {
        let start = self.shared().map(|tombstone| &*tombstone.start).min()?;
        let end = self
            .shared()
            .map(|tombstone| &*tombstone.end)
            .reduce(|one, other| if reaches(one, other) { one } else { other })?;
        Some((start, end))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.recent.is_empty()
    }

    /// Number of tombstones.
    pub(crate) fn len(&self) -> usize {
        self.recent.len() + self.runs.iter().map(|run| run.tombstones().len()).sum::<usize>()
    }

    /// Memory in bytes that the set counts, however it is divided or merged with others: each tombstone for itself.
    pub(crate) fn counted_bytes(&self) -> u64 {
        self.shared().map(|tombstone| tombstone.memory_bytes() + SEARCH_BYTES).sum()
    }

    /// Memory in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let recent: u64 = self.recent.iter().map(|tombstone| tombstone.memory_bytes()).sum();
        let handles = (self.recent.len() + self.runs.len()) * size_of::<usize>();
        recent + handles as u64 + self.runs.iter().map(|run| run.memory_bytes()).sum::<u64>()
    }
}

impl PartialEq for RangeTombstones {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// Memory of tombstones without the set's own, in bytes.
pub(super) fn bytes_of(tombstones: &[Arc<RangeTombstone>]) -> u64 {
    tombstones.iter().map(|tombstone| tombstone.memory_bytes()).sum()
}
