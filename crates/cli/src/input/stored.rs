//! Tables, indexes and keyspaces as inputs: their records, in key order.

use super::InputError;
use super::record::{Input, InputFacts, Record};
use std::fmt;
use std::io;

/// Records of something that is stored, from an iterator.
pub(crate) struct StoredInput<I> {
    facts: InputFacts,
    records: I,
    record: (Vec<u8>, Vec<u8>),
    done: u64,
}

impl<I: Iterator<Item = ogive::Result<(Vec<u8>, Vec<u8>)>>> StoredInput<I> {
    /// The records of an iterator. The length that the facts state is a number of records.
    pub(crate) fn new(facts: InputFacts, records: I) -> Self {
        Self { facts, records, record: Default::default(), done: 0 }
    }
}

impl<I> fmt::Debug for StoredInput<I> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StoredInput").field("facts", &self.facts).finish_non_exhaustive()
    }
}

impl<I: Iterator<Item = ogive::Result<(Vec<u8>, Vec<u8>)>>> Input for StoredInput<I> {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, InputError> {
        let Some(record) = self.records.next() else { return Ok(None) };
        self.record = record
            .map_err(|error| InputError::Io { path: self.facts.path.clone(), source: io::Error::other(error) })?;
        self.done += 1;
        Ok(Some(Record { key: &self.record.0, value: &self.record.1 }))
    }

    fn position_bytes(&self) -> u64 {
        self.done
    }
}
