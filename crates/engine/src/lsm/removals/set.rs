//! The set of range removals.

use super::pieces::Pieces;
use crate::lsm::entry::Sequence;
use std::cmp::Reverse;
use std::sync::Arc;

/// So many removals are looked through one by one; more of them become a run.
const RECENT: usize = 16;

/// A removal of all keys from `start` up to, and without, `end` that are older than it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Removal {
    pub(crate) start: Box<[u8]>,
    pub(crate) end: Box<[u8]>,
    pub(crate) sequence: Sequence,
}

impl Removal {
    /// Whether `key` lies in the range.
    pub(crate) fn covers(&self, key: &[u8]) -> bool {
        *self.start <= *key && *key < *self.end
    }

    /// Bytes of memory.
    fn memory_bytes(&self) -> u64 {
        // The counts of the handle stand in front of it.
        (self.start.len() + self.end.len() + size_of::<Self>() + 2 * size_of::<usize>()) as u64
    }
}

/// Range removals, in any number and however they lie. A clone costs little, and neither changes with the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Removals {
    /// From large to small, each at least twice as large as the next.
    runs: Vec<Arc<Pieces>>,
    recent: Vec<Arc<Removal>>,
}

impl Removals {
    /// None.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Those given; empty ranges are left out.
    pub(crate) fn of(removals: impl IntoIterator<Item = Removal>) -> Self {
        Self::of_shared(removals.into_iter().map(Arc::new).collect())
    }

    fn of_shared(mut removals: Vec<Arc<Removal>>) -> Self {
        removals.retain(|removal| removal.start < removal.end);
        if removals.len() < RECENT {
            return Self { runs: Vec::new(), recent: removals };
        }
        Self { runs: vec![Arc::new(Pieces::new(removals))], recent: Vec::new() }
    }

    /// Adds the removal of `start..end`, unless it is empty.
    pub(crate) fn add(&mut self, start: &[u8], end: &[u8], sequence: Sequence) {
        self.add_shared(Arc::new(Removal { start: start.into(), end: end.into(), sequence }));
    }

    /// Adds all of `others`.
    pub(crate) fn extend(&mut self, others: &Self) {
        if self.is_empty() {
            self.clone_from(others);
            return;
        }
        for removal in others.shared() {
            self.add_shared(Arc::clone(removal));
        }
    }

    fn add_shared(&mut self, removal: Arc<Removal>) {
        if removal.start >= removal.end {
            return;
        }
        self.recent.push(removal);
        if self.recent.len() < RECENT {
            return;
        }
        let mut merged = std::mem::take(&mut self.recent);
        while let Some(run) = self.runs.pop_if(|run| run.removals().len() < 2 * merged.len()) {
            merged.extend(run.removals().iter().map(Arc::clone));
        }
        self.runs.push(Arc::new(Pieces::new(merged)));
    }

    /// The newest removal that is not newer than `at` and has `key` in its range; 0 if there is none.
    pub(crate) fn covering(&self, key: &[u8], at: Sequence) -> Sequence {
        let recent = self.recent.iter().filter(|removal| removal.sequence <= at && removal.covers(key));
        let newest = recent.map(|removal| removal.sequence).max().unwrap_or(0);
        self.runs.iter().map(|run| run.covering(key, at)).fold(newest, Sequence::max)
    }

    /// What of them lies between `from` and, exclusively, `to`.
    pub(crate) fn clip(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Self {
        let clipped = self.shared().filter_map(|removal| {
            let start = from.map_or(&*removal.start, |from| from.max(&removal.start));
            let end = to.map_or(&*removal.end, |to| to.min(&removal.end));
            let is_whole = start.len() == removal.start.len() && end.len() == removal.end.len();
            match (start < end, is_whole && *start == *removal.start && *end == *removal.end) {
                (false, _) => None,
                (true, true) => Some(Arc::clone(removal)),
                (true, false) => {
                    Some(Arc::new(Removal { start: start.into(), end: end.into(), sequence: removal.sequence }))
                }
            }
        });
        Self::of_shared(clipped.collect())
    }

    /// Those for which `keep` holds.
    #[cfg(test)]
    pub(crate) fn filter(&self, mut keep: impl FnMut(&Removal) -> bool) -> Self {
        Self::of_shared(self.shared().filter(|removal| keep(removal)).map(Arc::clone).collect())
    }

    /// All of them, by start, then newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Removal> {
        let mut all: Vec<&Removal> = self.shared().map(|removal| &**removal).collect();
        all.sort_by(|one, other| {
            (&one.start, Reverse(one.sequence), &one.end).cmp(&(&other.start, Reverse(other.sequence), &other.end))
        });
        all.into_iter()
    }

    /// All of them, in any order.
    fn shared(&self) -> impl Iterator<Item = &Arc<Removal>> {
        self.runs.iter().flat_map(|run| run.removals()).chain(&self.recent)
    }

    /// The least key of all ranges, and the key that all of them end at or before.
    pub(crate) fn bounds(&self) -> Option<(&[u8], &[u8])> {
        let start = self.shared().map(|removal| &*removal.start).min()?;
        let end = self.shared().map(|removal| &*removal.end).max()?;
        Some((start, end))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.recent.is_empty()
    }

    /// Number of removals.
    pub(crate) fn len(&self) -> usize {
        self.recent.len() + self.runs.iter().map(|run| run.removals().len()).sum::<usize>()
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let recent: u64 = self.recent.iter().map(|removal| removal.memory_bytes()).sum();
        let handles = (self.recent.len() + self.runs.len()) * size_of::<usize>();
        recent + handles as u64 + self.runs.iter().map(|run| run.memory_bytes()).sum::<u64>()
    }
}

impl PartialEq for Removals {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// Bytes of memory of removals themselves.
pub(super) fn bytes_of(removals: &[Arc<Removal>]) -> u64 {
    removals.iter().map(|removal| removal.memory_bytes()).sum()
}
