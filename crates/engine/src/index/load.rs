//! The entry stream of a bulk load: checks order and payload sizes, counts entries, and calls the observer.

use super::key::Key;
use super::payload::Payload;
use super::shared::IndexShared;
use super::structure::Entries;
use crate::error::{Error, Result};
use std::fmt;
use std::marker::PhantomData;

/// Number of entries between two calls of the observer.
const ENTRIES_PER_OBSERVER_CALL: u64 = 1 << 12;

/// A stream of entries with checked order, whose observer gets the number of entries read.
pub(super) struct CheckedEntries<'a, K: Key, V, I> {
    shared: &'a IndexShared<K>,
    source: I,
    observer: &'a mut dyn FnMut(u64) -> Result<()>,
    last: Option<K::Word>,
    pub(super) entries: u64,
    payload: PhantomData<fn() -> V>,
}

impl<'a, K: Key, V, I> CheckedEntries<'a, K, V, I> {
    pub(super) fn new(shared: &'a IndexShared<K>, source: I, observer: &'a mut dyn FnMut(u64) -> Result<()>) -> Self {
        Self { shared, source, observer, last: None, entries: 0, payload: PhantomData }
    }

    /// Checks that a word may follow the last one.
    fn check(&self, word: K::Word) -> Result<()> {
        let (path, record) = (&self.shared.path, self.entries);
        match self.last {
            Some(last) if word < last => Err(Error::Unsorted { path: path.clone(), record }),
            Some(last) if word == last && !self.shared.header.layout.duplicates => {
                Err(Error::Repeated { path: path.clone(), record })
            }
            _ => Ok(()),
        }
    }
}

impl<K: Key, V, I> fmt::Debug for CheckedEntries<'_, K, V, I> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CheckedEntries").field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl<K: Key, V: Payload, I: Iterator<Item = Result<(K, V)>>> Entries<K::Word> for CheckedEntries<'_, K, V, I> {
    fn next(&mut self, payload: &mut [u8]) -> Result<Option<K::Word>> {
        if self.entries.is_multiple_of(ENTRIES_PER_OBSERVER_CALL) {
            (self.observer)(self.entries)?;
        }
        let Some(entry) = self.source.next() else { return Ok(None) };
        let (key, value) = entry?;
        let word = key.to_word();
        self.check(word)?;
        self.shared.store(&value, payload)?;
        self.last = Some(word);
        self.entries += 1;
        Ok(Some(word))
    }
}
