//! Entries in memory, from which ALEX and LIPP build nodes.

use ogive::index::extend::{Entries, Word};
use ogive::{Error, Result};

/// Entries in memory: keys, and packed payloads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch<W> {
    pub(crate) keys: Vec<W>,
    pub(crate) values: Vec<u8>,
    pub(crate) value_bytes: usize,
}

impl<W: Word> Batch<W> {
    pub(crate) fn new(value_bytes: usize) -> Self {
        Self { keys: Vec::new(), values: Vec::new(), value_bytes }
    }

    pub(crate) fn value(&self, index: usize) -> &[u8] {
        self.values.get(index * self.value_bytes..(index + 1) * self.value_bytes).unwrap_or_default()
    }

    pub(crate) fn push(&mut self, key: W, value: &[u8]) {
        self.keys.push(key);
        self.values.extend_from_slice(value);
    }

    /// Inserts an entry in key order.
    pub(crate) fn insert(&mut self, key: W, value: &[u8]) {
        let index = self.keys.partition_point(|&other| other < key);
        self.keys.insert(index, key);
        let at = index * self.value_bytes;
        self.values.splice(at..at, value.iter().copied());
    }

    /// Collects all entries of a stream, which stay in memory until the nodes are written.
    pub(crate) fn collect(entries: &mut dyn Entries<W>, value_bytes: usize) -> Result<Self> {
        let mut batch = Self::new(value_bytes);
        let mut value = vec![0; value_bytes];
        while let Some(key) = entries.next(&mut value)? {
            if batch.keys.last().is_some_and(|&last| key <= last) {
                let record = batch.keys.len();
                return Err(Error::input(format!("key {key} of record {record} does not ascend; sort the entries")));
            }
            batch.push(key, &value);
        }
        Ok(batch)
    }
}
