//! The reference table: the expected answers of a table, from a sorted array.

use std::ops::{Bound, Range, RangeBounds};

/// A record: key and value.
pub type Record = (Vec<u8>, Vec<u8>);

/// A sorted array with the operations of a table. Records of equal keys keep the order in which they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReferenceTable {
    records: Vec<Record>,
}

impl ReferenceTable {
    /// Sorts the records by key.
    pub fn new(records: impl IntoIterator<Item = Record>) -> Self {
        let mut records: Vec<Record> = records.into_iter().collect();
        records.sort_by(|left, right| left.0.cmp(&right.0));
        Self { records }
    }

    /// All records, sorted.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The value of the first record of this key.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.of_key(key).first().map(|record| record.1.clone())
    }

    /// Whether there is a record of this key.
    pub fn contains_key(&self, key: &[u8]) -> bool {
        !self.of_key(key).is_empty()
    }

    /// The values of all records of this key.
    pub fn get_all(&self, key: &[u8]) -> Vec<Vec<u8>> {
        self.of_key(key).iter().map(|record| record.1.clone()).collect()
    }

    /// The answer of [`ReferenceTable::get`] for each key.
    pub fn multi_get(&self, keys: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        keys.iter().map(|key| self.get(key)).collect()
    }

    /// The records within the bounds, in order; bounds that cross hold nothing. Reverse the slice to go backward.
    pub fn range(&self, bounds: impl RangeBounds<Vec<u8>>) -> &[Record] {
        &self.records[self.positions(bounds)]
    }

    /// Number of records with a smaller key.
    pub fn rank(&self, key: &[u8]) -> u64 {
        self.records.partition_point(|record| record.0.as_slice() < key) as u64
    }

    /// The record at this position, counted from 0.
    pub fn nth(&self, position: u64) -> Option<Record> {
        usize::try_from(position).ok().and_then(|position| self.records.get(position)).cloned()
    }

    /// Number of records within the bounds.
    pub fn count(&self, bounds: impl RangeBounds<Vec<u8>>) -> u64 {
        self.positions(bounds).len() as u64
    }

    /// The first record.
    pub fn first(&self) -> Option<Record> {
        self.records.first().cloned()
    }

    /// The last record.
    pub fn last(&self) -> Option<Record> {
        self.records.last().cloned()
    }

    fn of_key(&self, key: &[u8]) -> &[Record] {
        &self.records[self.before(key)..self.through(key)]
    }

    fn before(&self, key: &[u8]) -> usize {
        self.records.partition_point(|record| record.0.as_slice() < key)
    }

    fn through(&self, key: &[u8]) -> usize {
        self.records.partition_point(|record| record.0.as_slice() <= key)
    }

    fn positions(&self, bounds: impl RangeBounds<Vec<u8>>) -> Range<usize> {
        let start = match bounds.start_bound() {
            Bound::Included(key) => self.before(key),
            Bound::Excluded(key) => self.through(key),
            Bound::Unbounded => 0,
        };
        let end = match bounds.end_bound() {
            Bound::Included(key) => self.through(key),
            Bound::Excluded(key) => self.before(key),
            Bound::Unbounded => self.records.len(),
        };
        start..end.max(start)
    }
}
