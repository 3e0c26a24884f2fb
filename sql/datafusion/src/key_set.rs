//! Sets of keys, as disjoint ranges in ascending order.

use crate::packed_keys::{KeyBuffer, PackedKeys};
use std::cmp::Ordering;
use std::ops::{Bound, Range};
use std::sync::Arc;

/// A range of keys, by their encoded bytes.
pub type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// A set of keys: ranges that are disjoint, ascending, and not empty by their bounds. Clones are cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeySet {
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// All ranges are single keys, perhaps none.
    Points(PackedKeys),
    /// At least one range is not.
    Ranges(Arc<[KeyRange]>),
}

impl KeySet {
    /// All keys.
    pub(crate) fn all() -> Self {
        Self { form: Form::Ranges(Arc::new([(Bound::Unbounded, Bound::Unbounded)])) }
    }

    /// No keys.
    pub(crate) fn none() -> Self {
        Self::of_keys(KeyBuffer::default())
    }

    /// Single keys, in any order.
    pub(crate) fn of_keys(keys: KeyBuffer) -> Self {
        Self { form: Form::Points(PackedKeys::of(keys)) }
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
        Self::of_sorted(merged)
    }

    /// Ranges that are disjoint, ascending and not empty.
    fn of_sorted(ranges: Vec<KeyRange>) -> Self {
        match ranges.iter().map(single).collect::<Option<KeyBuffer>>() {
            Some(keys) => Self::of_keys(keys),
            None => Self { form: Form::Ranges(ranges.into()) },
        }
    }

    pub(crate) fn union(self, other: Self) -> Self {
        match (&self.form, &other.form) {
            (Form::Points(one), Form::Points(two)) => Self { form: Form::Points(one.union(two)) },
            _ => Self::of(self.ranges().chain(other.ranges()).collect()),
        }
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        match (&self.form, &other.form) {
            (Form::Points(one), Form::Points(two)) => match one.len() <= two.len() {
                true => Self { form: Form::Points(one.intersection(two)) },
                false => Self { form: Form::Points(two.intersection(one)) },
            },
            (Form::Points(keys), Form::Ranges(ranges)) | (Form::Ranges(ranges), Form::Points(keys)) => {
                Self { form: Form::Points(keys_within(keys, ranges)) }
            }
            (Form::Ranges(one), Form::Ranges(two)) => Self::of_sorted(overlaps(one, two)),
        }
    }

    /// The number of ranges.
    pub(crate) fn len(&self) -> usize {
        match &self.form {
            Form::Points(keys) => keys.len(),
            Form::Ranges(ranges) => ranges.len(),
        }
    }

    /// The ranges.
    pub(crate) fn ranges(&self) -> impl DoubleEndedIterator<Item = KeyRange> {
        (0..self.len()).filter_map(|at| self.range(at))
    }

    /// The range at a place.
    pub(crate) fn range(&self, at: usize) -> Option<KeyRange> {
        match &self.form {
            Form::Points(keys) => keys.get(at).map(|key| point(key.to_vec())),
            Form::Ranges(ranges) => ranges.get(at).cloned(),
        }
    }

    /// The key of the range at a place, if it has one only.
    pub(crate) fn single(&self, at: usize) -> Option<&[u8]> {
        match &self.form {
            Form::Points(keys) => keys.get(at),
            Form::Ranges(ranges) => ranges.get(at).and_then(single),
        }
    }

    /// The range, if there is one, and it is more than a key.
    pub(crate) fn only_range(&self) -> Option<&KeyRange> {
        match &self.form {
            Form::Ranges(ranges) if ranges.len() == 1 => ranges.first(),
            _ => None,
        }
    }

    /// The keys, if each range is a single one.
    pub(crate) fn points(&self) -> Option<&PackedKeys> {
        match &self.form {
            Form::Points(keys) => Some(keys),
            Form::Ranges(_) => None,
        }
    }

    /// The ranges at these places, as far as there are any.
    pub(crate) fn part(&self, places: Range<usize>) -> Self {
        match &self.form {
            Form::Points(keys) => Self { form: Form::Points(keys.part(places)) },
            Form::Ranges(_) => Self::of_sorted(places.filter_map(|at| self.range(at)).collect()),
        }
    }

    /// At most `most` parts with equal numbers of ranges, and at least `ranges_min` each if there are several. An empty
    /// set has one part.
    pub(crate) fn parts(&self, most: usize, ranges_min: usize) -> Vec<Self> {
        let parts = most.min(self.len() / ranges_min.max(1)).max(1);
        let size = self.len().div_ceil(parts).max(1);
        (0..self.len().max(1)).step_by(size).map(|from| self.part(from..from + size)).collect()
    }

    /// Whether it has a key.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        match &self.form {
            Form::Points(keys) => keys.contains(key),
            Form::Ranges(ranges) => is_within(ranges, key),
        }
    }

    /// Whether it has all keys.
    pub(crate) fn is_all(&self) -> bool {
        matches!(self.only_range(), Some((Bound::Unbounded, Bound::Unbounded)))
    }

    /// The least range that has all its keys; `None` without keys.
    pub(crate) fn hull(&self) -> Option<KeyRange> {
        Some((self.range(0)?.0, self.range(self.len().checked_sub(1)?)?.1))
    }
}

/// The keys that are in one of the ranges.
fn keys_within(keys: &PackedKeys, ranges: &[KeyRange]) -> PackedKeys {
    if let [(start, end)] = ranges {
        let from = keys.partition_point(|key| !is_behind(start, key));
        let to = keys.partition_point(|key| is_before(key, end));
        return keys.part(from..to);
    }
    PackedKeys::of(keys.iter().filter(|key| is_within(ranges, key)).collect())
}

/// Whether one of the ranges has a key.
fn is_within(ranges: &[KeyRange], key: &[u8]) -> bool {
    let begun = ranges.partition_point(|(start, _)| is_behind(start, key));
    begun.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|(_, end)| is_before(key, end))
}

/// Whether a key is behind the start of a range.
fn is_behind(start: &Bound<Vec<u8>>, key: &[u8]) -> bool {
    match start {
        Bound::Unbounded => true,
        Bound::Included(start) => start.as_slice() <= key,
        Bound::Excluded(start) => start.as_slice() < key,
    }
}

/// Whether a key is before the end of a range.
fn is_before(key: &[u8], end: &Bound<Vec<u8>>) -> bool {
    match end {
        Bound::Unbounded => true,
        Bound::Included(end) => key <= end.as_slice(),
        Bound::Excluded(end) => key < end.as_slice(),
    }
}

/// What is in ranges of both.
fn overlaps(one: &[KeyRange], other: &[KeyRange]) -> Vec<KeyRange> {
    let mut found = Vec::new();
    let (mut own, mut others) = (one.iter().peekable(), other.iter().peekable());
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
    found
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
    use std::collections::BTreeSet;
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

    /// Ranges, some of which are single keys, or all.
    fn draw_ranges(random: &mut Random) -> Vec<KeyRange> {
        let points_of = random.below(3);
        let draw = |random: &mut Random| match random.below(2) < points_of {
            true => point(draw_key(random)),
            false => (draw_bound(random), draw_bound(random)),
        };
        (0..random.below(7)).map(|_| draw(random)).collect()
    }

    fn all_keys() -> Vec<Vec<u8>> {
        let mut keys = vec![Vec::new()];
        for length in 1..=4 {
            let shorter: Vec<Vec<u8>> = keys.iter().filter(|key| key.len() == length - 1).cloned().collect();
            keys.extend(shorter.iter().flat_map(|key| (0..4).map(|byte| [&key[..], &[byte]].concat())));
        }
        keys
    }

    /// The set of ranges; where it may be, as one of keys.
    fn set_of(ranges: &[KeyRange]) -> KeySet {
        match ranges.iter().map(single).collect::<Option<KeyBuffer>>() {
            Some(keys) => KeySet::of_keys(keys),
            None => KeySet::of(ranges.to_vec()),
        }
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
            let (a, b) = (set_of(&one), set_of(&two));
            let (both, either) = (a.intersection(&b), a.clone().union(b.clone()));
            let cut = random.below(a.len() as u64 + 1) as usize;
            let (front, back) = (a.part(0..cut), a.part(cut..a.len()));
            for key in &keys {
                let (in_one, in_two) = (contains(&one, key), contains(&two, key));
                for (set, wanted) in [(&a, in_one), (&both, in_one && in_two), (&either, in_one || in_two)] {
                    assert_eq!(set.contains(key), wanted, "seed {seed}: {key:?} in {set:?}");
                    let holding = set.ranges().filter(|range| contains(std::slice::from_ref(range), key)).count();
                    assert_eq!(holding, usize::from(wanted), "seed {seed}: ranges of {set:?} with {key:?}");
                }
                assert_eq!(u8::from(front.contains(key)) + u8::from(back.contains(key)), u8::from(in_one));
            }
            for set in [&a, &both, &either, &front, &back] {
                let ranges: Vec<KeyRange> = set.ranges().collect();
                assert_eq!(*set, KeySet::of(ranges.clone()), "seed {seed}: one set has one form");
                assert_eq!(ranges.len(), set.len(), "seed {seed}");
                assert_eq!(set.points().is_some(), ranges.iter().all(|range| single(range).is_some()), "seed {seed}");
                let hull = ranges.first().zip(ranges.last()).map(|(first, last)| (first.0.clone(), last.1.clone()));
                assert_eq!(set.hull(), hull, "seed {seed}");
            }
        }
    }

    #[test]
    fn many_keys_of_any_width_are_sorted_and_found() {
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let width = random.below(10) as usize;
            let same_width = random.one_in(2);
            let draw = |random: &mut Random| -> Vec<u8> {
                let width = if same_width { width } else { random.below(width as u64 + 1) as usize };
                (0..width).map(|_| random.below(5) as u8).collect()
            };
            let lists: [Vec<Vec<u8>>; 2] =
                std::array::from_fn(|_| (0..random.below(200)).map(|_| draw(&mut random)).collect());
            let [one, two] = &lists.each_ref().map(|list| KeySet::of_keys(list.iter().map(Vec::as_slice).collect()));
            let [wanted, others] = lists.each_ref().map(|list| list.iter().collect::<BTreeSet<_>>());
            let keys = |set: &KeySet| (0..set.len()).map(|at| set.single(at).unwrap().to_vec()).collect::<Vec<_>>();
            assert!(keys(one).iter().eq(wanted.iter().copied()), "seed {seed}");
            assert!(keys(&one.intersection(two)).iter().eq(wanted.intersection(&others).copied()), "seed {seed}");
            assert!(keys(&one.clone().union(two.clone())).iter().eq(wanted.union(&others).copied()), "seed {seed}");
            for key in &lists[1] {
                assert_eq!(one.contains(key), wanted.contains(key), "seed {seed}: {key:?}");
            }
        }
    }
}
