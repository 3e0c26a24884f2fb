//! Sets of keys as points and disjoint intervals: what a transaction has read, and the ranges that it has removed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Approximate memory of an interval beside its keys, in bytes: two vectors, and a share of a node of the map.
pub(in crate::lsm) const INTERVAL_BYTES: u64 = 96;

/// Disjoint intervals of keys.
#[derive(Clone, Debug, Default)]
pub(in crate::lsm) struct KeyIntervals {
    by_start: BTreeMap<Vec<u8>, IntervalEnd>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
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
pub(in crate::lsm) enum PointOrRange<'a> {
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

impl KeyIntervals {
    /// Number of intervals.
    pub(in crate::lsm) fn len(&self) -> usize {
        self.by_start.len()
    }

    /// The intervals, in key order.
    pub(in crate::lsm) fn iter(&self) -> impl Iterator<Item = PointOrRange<'_>> {
        self.by_start.iter().map(|(start, end)| match end {
            IntervalEnd::Point => PointOrRange::Point(start),
            IntervalEnd::Before(end) => PointOrRange::Range(start, Some(end)),
            IntervalEnd::Endless => PointOrRange::Range(start, None),
        })
    }

    /// Whether a key is in one of them.
    pub(in crate::lsm) fn contains(&self, key: &[u8]) -> bool {
        let before = self.by_start.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back();
        before.is_some_and(|(start, end)| end.is_behind(start, key))
    }

    /// A key from `from` up to `to`, if one of them has any.
    pub(in crate::lsm) fn first_within<'a>(&'a self, from: &'a [u8], to: Option<&[u8]>) -> Option<&'a [u8]> {
        if self.contains(from) {
            return Some(from);
        }
        let (start, _) = self.by_start.range::<[u8], _>((Bound::Excluded(from), Bound::Unbounded)).next()?;
        to.is_none_or(|to| start.as_slice() < to).then_some(start)
    }

    /// Adds a key, unless one of them has it; returns the bytes added and those taken away.
    pub(in crate::lsm) fn add_point(&mut self, key: &[u8]) -> (u64, u64) {
        if self.contains(key) { (0, 0) } else { self.add(key.to_vec(), IntervalEnd::Point) }
    }

    /// Adds the keys from `start` up to `end`, or all from `start` on; returns the bytes added and those taken away.
    pub(in crate::lsm) fn add_range(&mut self, start: &[u8], end: Option<&[u8]>) -> (u64, u64) {
        match end.is_none_or(|end| start < end) {
            true => self.add(start.to_vec(), IntervalEnd::of(end.map(<[u8]>::to_vec))),
            false => (0, 0),
        }
    }

    /// Adds an interval, united with those that it meets; returns the bytes added and those taken away.
    fn add(&mut self, mut start: Vec<u8>, end: IntervalEnd) -> (u64, u64) {
        let mut end = end;
        let mut freed = 0;
        let before = self.by_start.range::<[u8], _>((Bound::Unbounded, Bound::Included(start.as_slice())));
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
            self.by_start.range::<[u8], _>((Bound::Included(start.as_slice()), Bound::Unbounded)).next()
            && end.key(&start).is_none_or(|end| *next.as_slice() <= *end)
        {
            if !reaches(&end, &start, its_end, next) {
                end = IntervalEnd::of(its_end.key(next).map(Cow::into_owned));
            }
            let next = next.clone();
            freed += self.take(&next);
        }
        let added = start.len() as u64 + end.bytes();
        self.by_start.insert(start, end);
        (added, freed)
    }

    /// Removes an interval; returns its bytes.
    fn take(&mut self, start: &[u8]) -> u64 {
        self.by_start.remove(start).map_or(0, |end| start.len() as u64 + end.bytes())
    }

    /// Makes one interval of each two neighbours; one that is left alone grows to all keys.
    pub(in crate::lsm) fn coarsen(&mut self) {
        let mut intervals = std::mem::take(&mut self.by_start).into_iter();
        if intervals.len() == 1 {
            self.by_start.insert(Vec::new(), IntervalEnd::Endless);
            return;
        }
        while let Some((start, end)) = intervals.next() {
            let end = match intervals.next() {
                Some((next, its_end)) => IntervalEnd::of(its_end.key(&next).map(Cow::into_owned)),
                None => end,
            };
            self.by_start.insert(start, end);
        }
    }

    /// Approximate memory in bytes.
    pub(in crate::lsm) fn bytes(&self) -> u64 {
        self.by_start.iter().map(|(start, end)| start.len() as u64 + end.bytes()).sum()
    }

    /// Whether they are all keys, or there are none.
    pub(in crate::lsm) fn is_all(&self) -> bool {
        self.by_start.first_key_value().is_none_or(|(start, end)| start.is_empty() && *end == IntervalEnd::Endless)
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
