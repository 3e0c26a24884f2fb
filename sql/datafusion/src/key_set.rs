//! Sets of keys, as disjoint ranges in ascending order.

use std::cmp::Ordering;
use std::ops::Bound;

/// A range of keys, by their encoded bytes.
pub type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// A set of keys: ranges that are disjoint, ascending, and not empty by their bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeySet {
    ranges: Vec<KeyRange>,
}

impl KeySet {
    /// All keys.
    pub(crate) fn all() -> Self {
        Self { ranges: vec![(Bound::Unbounded, Bound::Unbounded)] }
    }

    /// The union of ranges in any order.
    pub(crate) fn of(mut ranges: Vec<KeyRange>) -> Self {
        ranges.retain(|range| !is_empty(range));
        ranges.sort_by(|one, other| compare_starts(&one.0, &other.0));
        let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(last) if touches(&last.1, &range.0) => {
                    if compare_ends(&last.1, &range.1) == Ordering::Less {
                        last.1 = range.1;
                    }
                }
                _ => merged.push(range),
            }
        }
        Self { ranges: merged }
    }

    pub(crate) fn union(mut self, other: Self) -> Self {
        self.ranges.extend(other.ranges);
        Self::of(self.ranges)
    }

    pub(crate) fn intersection(self, other: &Self) -> Self {
        let mut found = Vec::new();
        let (mut own, mut others) = (self.ranges.into_iter().peekable(), other.ranges.iter().peekable());
        while let (Some(one), Some(two)) = (own.peek(), others.peek()) {
            let start = std::cmp::max_by(&one.0, &two.0, |a, b| compare_starts(a, b)).clone();
            let end = std::cmp::min_by(&one.1, &two.1, |a, b| compare_ends(a, b)).clone();
            let range = (start, end);
            if !is_empty(&range) {
                found.push(range);
            }
            if compare_ends(&one.1, &two.1) == Ordering::Less {
                own.next();
            } else {
                others.next();
            }
        }
        Self { ranges: found }
    }

    pub(crate) fn ranges(&self) -> &[KeyRange] {
        &self.ranges
    }

    /// Whether it has a key.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let behind = self.ranges.partition_point(|(start, _)| match start {
            Bound::Unbounded => true,
            Bound::Included(start) => start.as_slice() <= key,
            Bound::Excluded(start) => start.as_slice() < key,
        });
        behind.checked_sub(1).and_then(|at| self.ranges.get(at)).is_some_and(|(_, end)| match end {
            Bound::Unbounded => true,
            Bound::Included(end) => key <= end.as_slice(),
            Bound::Excluded(end) => key < end.as_slice(),
        })
    }

    /// No keys.
    pub(crate) fn none() -> Self {
        Self { ranges: Vec::new() }
    }

    /// Whether it has all keys.
    pub(crate) fn is_all(&self) -> bool {
        self.ranges == Self::all().ranges
    }

    /// Whether each range is a single key.
    pub(crate) fn is_points(&self) -> bool {
        self.ranges.iter().all(|range| single(range).is_some())
    }

    /// The least range that has all its keys; `None` without keys.
    pub(crate) fn hull(&self) -> Option<KeyRange> {
        Some((self.ranges.first()?.0.clone(), self.ranges.last()?.1.clone()))
    }
}

/// The key of a range of one.
pub(crate) fn single((start, end): &KeyRange) -> Option<&[u8]> {
    match (start, end) {
        (Bound::Included(start), Bound::Included(end)) if start == end => Some(start),
        _ => None,
    }
}

/// The range of one key.
pub(crate) fn point(key: Vec<u8>) -> KeyRange {
    (Bound::Included(key.clone()), Bound::Included(key))
}

fn is_empty((start, end): &KeyRange) -> bool {
    match (start, end) {
        (Bound::Unbounded, Bound::Excluded(end)) => end.is_empty(),
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(start), Bound::Included(end)) => start > end,
        (Bound::Included(start) | Bound::Excluded(start), Bound::Included(end) | Bound::Excluded(end)) => start >= end,
    }
}

/// The order of two starts or of two ends of ranges: by the first or the last key that they let in.
fn compare(one: &Bound<Vec<u8>>, other: &Bound<Vec<u8>>, are_starts: bool) -> Ordering {
    let unbounded = if are_starts { Ordering::Less } else { Ordering::Greater };
    // At the same key, an excluded start is behind an included one, and an included end behind an excluded one.
    let is_behind = |bound: &Bound<Vec<u8>>| matches!(bound, Bound::Excluded(_)) == are_starts;
    match (one, other) {
        (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
        (Bound::Unbounded, _) => unbounded,
        (_, Bound::Unbounded) => unbounded.reverse(),
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
            a.cmp(b).then(is_behind(one).cmp(&is_behind(other)))
        }
    }
}

fn compare_starts(one: &Bound<Vec<u8>>, other: &Bound<Vec<u8>>) -> Ordering {
    compare(one, other, true)
}

fn compare_ends(one: &Bound<Vec<u8>>, other: &Bound<Vec<u8>>) -> Ordering {
    compare(one, other, false)
}

/// Whether a range that ends so meets or overlaps one that starts so and is not before it.
fn touches(end: &Bound<Vec<u8>>, start: &Bound<Vec<u8>>) -> bool {
    match (end, start) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
        (Bound::Excluded(end), Bound::Excluded(start)) => end > start,
        (Bound::Included(end) | Bound::Excluded(end), Bound::Included(start) | Bound::Excluded(start)) => end >= start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive_testkit::Random;
    use std::ops::RangeBounds;

    fn draw_key(random: &mut Random) -> Vec<u8> {
        (0..random.below(3)).map(|_| random.below(3) as u8).collect()
    }

    fn draw_bound(random: &mut Random) -> Bound<Vec<u8>> {
        match random.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(draw_key(random)),
            _ => Bound::Excluded(draw_key(random)),
        }
    }

    fn draw_ranges(random: &mut Random) -> Vec<KeyRange> {
        (0..random.below(5)).map(|_| (draw_bound(random), draw_bound(random))).collect()
    }

    fn all_keys() -> Vec<Vec<u8>> {
        let mut keys = vec![Vec::new()];
        for length in 1..=4 {
            let shorter: Vec<Vec<u8>> = keys.iter().filter(|key| key.len() == length - 1).cloned().collect();
            keys.extend(shorter.iter().flat_map(|key| (0..4).map(|byte| [&key[..], &[byte]].concat())));
        }
        keys
    }

    fn contains(ranges: &[KeyRange], key: &Vec<u8>) -> bool {
        ranges.iter().any(|(start, end)| RangeBounds::<Vec<u8>>::contains(&(start.as_ref(), end.as_ref()), key))
    }

    #[test]
    fn unions_and_intersections_have_the_keys_of_their_parts() {
        let keys = all_keys();
        for seed in 0..3_000 {
            let mut random = Random::new(seed);
            let (one, two) = (draw_ranges(&mut random), draw_ranges(&mut random));
            let (a, b) = (KeySet::of(one.clone()), KeySet::of(two.clone()));
            let (both, either) = (a.clone().intersection(&b), a.clone().union(b.clone()));
            for key in &keys {
                let (in_one, in_two) = (contains(&one, key), contains(&two, key));
                assert_eq!(contains(a.ranges(), key), in_one, "seed {seed}: {key:?}");
                assert_eq!(a.contains(key), in_one, "seed {seed}: {key:?}");
                assert_eq!(contains(both.ranges(), key), in_one && in_two, "seed {seed}: {key:?}");
                assert_eq!(contains(either.ranges(), key), in_one || in_two, "seed {seed}: {key:?}");
            }
            for set in [&a, &both, &either] {
                for key in &keys {
                    let holding = set.ranges().iter().filter(|range| contains(std::slice::from_ref(range), key));
                    assert!(holding.count() <= 1, "seed {seed}: {key:?} is in several ranges of {set:?}");
                }
            }
        }
    }
}
