//! Models of ranges whose ends are moved: records of a sorted map between two bounds, and elements of a list.

use crate::model::Record;
use std::collections::BTreeMap;
use std::ops::Bound;

type KeyBound = Bound<Vec<u8>>;

/// A range of a sorted map, read from both ends, which move to any key within it.
#[derive(Clone, Debug)]
pub struct MovedRange {
    records: BTreeMap<Vec<u8>, Vec<u8>>,
    whole: (KeyBound, KeyBound),
    left: (KeyBound, KeyBound),
    passed: Vec<(KeyBound, KeyBound)>,
}

impl MovedRange {
    /// The records of a map within bounds.
    pub fn new(records: &BTreeMap<Vec<u8>, Vec<u8>>, bounds: (KeyBound, KeyBound)) -> Self {
        Self { records: records.clone(), whole: bounds.clone(), left: bounds, passed: Vec::new() }
    }

    /// The next record of one end.
    pub fn step(&mut self, forward: bool) -> Option<Record> {
        let mut within = self.records.iter().filter(|(key, _)| is_within(key, &self.left));
        let found = if forward { within.next() } else { within.next_back() };
        let found = found.map(|(key, value)| (key.clone(), value.clone()));
        let (start, end) = self.left.clone();
        match &found {
            Some((key, _)) if forward => {
                self.left.0 = Bound::Excluded(key.clone());
                self.passed.push((start, Bound::Included(key.clone())));
            }
            Some((key, _)) => {
                self.left.1 = Bound::Excluded(key.clone());
                self.passed.push((Bound::Included(key.clone()), end));
            }
            None => self.passed.push((start, end)),
        }
        found
    }

    /// Moves the front to the first record at or behind a key.
    pub fn seek(&mut self, key: &[u8]) {
        let is_before = match &self.whole.0 {
            Bound::Unbounded => false,
            Bound::Included(start) | Bound::Excluded(start) => key <= start.as_slice(),
        };
        self.left.0 = if is_before { self.whole.0.clone() } else { Bound::Included(key.to_vec()) };
    }

    /// Moves the back to the last record at or before a key.
    pub fn seek_for_prev(&mut self, key: &[u8]) {
        let is_behind = match &self.whole.1 {
            Bound::Unbounded => false,
            Bound::Included(end) | Bound::Excluded(end) => key >= end.as_slice(),
        };
        self.left.1 = if is_behind { self.whole.1.clone() } else { Bound::Included(key.to_vec()) };
    }

    /// Whether steps have passed a key, present or not.
    pub fn has_passed(&self, key: &[u8]) -> bool {
        self.passed.iter().any(|bounds| is_within(key, bounds))
    }
}

/// A range of all elements of a sorted list, in whatever order and with equal ones, whose ends are moved.
#[derive(Clone, Debug)]
pub struct MovedList<T> {
    all: Vec<T>,
    front: usize,
    back: usize,
}

impl<T: Clone> MovedList<T> {
    /// The elements of a sorted list.
    pub fn new(all: Vec<T>) -> Self {
        let back = all.len();
        Self { all, front: 0, back }
    }

    /// The next element of one end.
    pub fn step(&mut self, forward: bool) -> Option<T> {
        if self.front >= self.back {
            return None;
        }
        if forward {
            self.front += 1;
            return self.all.get(self.front - 1).cloned();
        }
        self.back -= 1;
        self.all.get(self.back).cloned()
    }

    /// Moves the front behind the elements that are before a place.
    pub fn seek(&mut self, is_before: impl Fn(&T) -> bool) {
        self.front = self.all.partition_point(is_before);
    }

    /// Moves the back behind the elements that are at or before a place.
    pub fn seek_for_prev(&mut self, is_not_behind: impl Fn(&T) -> bool) {
        self.back = self.all.partition_point(is_not_behind);
    }
}

fn is_within(key: &[u8], (start, end): &(KeyBound, KeyBound)) -> bool {
    let is_behind_start = match start {
        Bound::Unbounded => true,
        Bound::Included(start) => start.as_slice() <= key,
        Bound::Excluded(start) => start.as_slice() < key,
    };
    let is_before_end = match end {
        Bound::Unbounded => true,
        Bound::Included(end) => key <= end.as_slice(),
        Bound::Excluded(end) => key < end.as_slice(),
    };
    is_behind_start && is_before_end
}
