//! Records to write in one commit.

use std::ops::Range;

/// Keys and values in the order in which they came, in one piece of memory.
#[derive(Debug, Default)]
pub struct StoreBatch {
    bytes: Vec<u8>,
    records: Vec<(Range<usize>, Range<usize>)>,
}

impl StoreBatch {
    /// Removes all records, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
    }

    /// Adds a record.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.records.push((start..middle, middle..self.bytes.len()));
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Keys and values in the order in which they came. Of records with the same key the last one counts.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.records.iter().map(|(key, value)| (&self.bytes[key.clone()], &self.bytes[value.clone()]))
    }
}
