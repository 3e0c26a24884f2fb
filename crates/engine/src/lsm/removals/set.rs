//! The set of range removals.

use super::pieces::Pieces;
use crate::lsm::entry::Sequence;
use crate::table::KEY_BYTES_MAX;
use std::cmp::Reverse;
use std::sync::Arc;

/// So many removals are looked through one by one; more of them become a run.
const RECENT: usize = 16;

/// A removal of all keys from `start` up to, and without, `end` that are older than it. An empty `end` is none: nothing would lie before
/// it, so that no other removal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Removal {
    pub(crate) start: Box<[u8]>,
    pub(crate) end: Box<[u8]>,
    pub(crate) sequence: Sequence,
}

impl Removal {
    pub(super) fn new(start: &[u8], end: &[u8], sequence: Sequence) -> Self {
        Self { start: start.into(), end: known_end(end).into(), sequence }
    }

    /// Whether `key` lies in the range.
    pub(crate) fn covers(&self, key: &[u8]) -> bool {
        *self.start <= *key && !is_ended(&self.end, key)
    }

    /// Whether the range has no keys.
    fn is_empty(&self) -> bool {
        is_ended(&self.end, &self.start)
    }

    /// Bytes of memory.
    fn memory_bytes(&self) -> u64 {
        // The counts of the handle stand in front of it.
        (self.start.len() + self.end.len() + size_of::<Self>() + 2 * size_of::<usize>()) as u64
    }
}

/// Whether a range with this end ends at or before `key`.
pub(super) fn is_ended(end: &[u8], key: &[u8]) -> bool {
    !end.is_empty() && end <= key
}

/// The end of a range: none, too, for what early versions wrote in its stead, behind which no key lies.
pub(crate) fn known_end(end: &[u8]) -> &[u8] {
    let is_none = end.len() > KEY_BYTES_MAX && end.iter().all(|&byte| byte == u8::MAX);
    if is_none { &[] } else { end }
}

/// The lesser of two ends of ranges.
fn lesser_end<'a>(one: &'a [u8], other: &'a [u8]) -> &'a [u8] {
    if !other.is_empty() && (one.is_empty() || other < one) { other } else { one }
}

/// Whether a range with the end `one` goes as far as one with the end `other`.
pub(crate) fn reaches(one: &[u8], other: &[u8]) -> bool {
    lesser_end(one, other) == other
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
        removals.retain(|removal| !removal.is_empty());
        if removals.len() < RECENT {
            return Self { runs: Vec::new(), recent: removals };
        }
        Self { runs: vec![Arc::new(Pieces::new(removals))], recent: Vec::new() }
    }

    /// Adds the removal of `start..end`, unless it is empty; of `start..` where `end` is empty.
    pub(crate) fn add(&mut self, start: &[u8], end: &[u8], sequence: Sequence) {
        self.add_shared(Arc::new(Removal::new(start, end, sequence)));
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
        if removal.is_empty() {
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
        if to.is_some_and(<[u8]>::is_empty) {
            return Self::new();
        }
        let clipped = self.shared().filter_map(|removal| {
            let start = from.map_or(&*removal.start, |from| from.max(&removal.start));
            let end = lesser_end(&removal.end, to.unwrap_or_default());
            let is_whole = start.len() == removal.start.len() && end.len() == removal.end.len();
            match (!is_ended(end, start), is_whole && *start == *removal.start && *end == *removal.end) {
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

    /// The least key of all ranges, and the key that all of them end at or before; an empty one where there is none.
    pub(crate) fn bounds(&self) -> Option<(&[u8], &[u8])> {
        let start = self.shared().map(|removal| &*removal.start).min()?;
        let end = self
            .shared()
            .map(|removal| &*removal.end)
            .reduce(|one, other| if reaches(one, other) { one } else { other })?;
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
