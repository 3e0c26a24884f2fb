//! Sets of keys, as disjoint ranges in ascending order.

use std::cmp::Ordering;
use std::ops::Bound;

/// A range of keys.
pub(crate) type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

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

fn compare_starts(one: &Bound<Vec<u8>>, other: &Bound<Vec<u8>>) -> Ordering {
    let rank = |bound: &Bound<Vec<u8>>| u8::from(matches!(bound, Bound::Excluded(_)));
    match (one, other) {
        (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
        (Bound::Unbounded, _) => Ordering::Less,
        (_, Bound::Unbounded) => Ordering::Greater,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
            a.cmp(b).then(rank(one).cmp(&rank(other)))
        }
    }
}

fn compare_ends(one: &Bound<Vec<u8>>, other: &Bound<Vec<u8>>) -> Ordering {
    let rank = |bound: &Bound<Vec<u8>>| u8::from(matches!(bound, Bound::Included(_)));
    match (one, other) {
        (Bound::Unbounded, Bound::Unbounded) => Ordering::Equal,
        (Bound::Unbounded, _) => Ordering::Greater,
        (_, Bound::Unbounded) => Ordering::Less,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
            a.cmp(b).then(rank(one).cmp(&rank(other)))
        }
    }
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
    use std::ops::RangeBounds;

    /// A generator of numbers from a seed (SplitMix64).
    struct Draw(u64);

    impl Draw {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = self.0;
            word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            (word ^ word >> 31) % end
        }

        fn key(&mut self) -> Vec<u8> {
            (0..self.below(3)).map(|_| self.below(3) as u8).collect()
        }

        fn bound(&mut self) -> Bound<Vec<u8>> {
            match self.below(5) {
                0 => Bound::Unbounded,
                1 | 2 => Bound::Included(self.key()),
                _ => Bound::Excluded(self.key()),
            }
        }

        fn ranges(&mut self) -> Vec<KeyRange> {
            (0..self.below(5)).map(|_| (self.bound(), self.bound())).collect()
        }
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
            let mut draw = Draw(seed);
            let (one, two) = (draw.ranges(), draw.ranges());
            let (a, b) = (KeySet::of(one.clone()), KeySet::of(two.clone()));
            let (both, either) = (a.clone().intersection(&b), a.clone().union(b.clone()));
            for key in &keys {
                let (in_one, in_two) = (contains(&one, key), contains(&two, key));
                assert_eq!(contains(a.ranges(), key), in_one, "seed {seed}: {key:?}");
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
