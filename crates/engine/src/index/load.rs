//! Entries of a bulk load on their way into a structure.

use super::key::Key;
use super::payload::Payload;
use super::shared::Shared;
use super::structure::Entries;
use crate::error::{Error, Result};
use std::fmt;
use std::marker::PhantomData;

/// Entries between two calls of the observer of a bulk load.
const ENTRIES_A_STEP: u64 = 1 << 12;

/// Checks the order of a stream of entries, counts them, and tells an observer how many there were.
pub(super) struct Sorted<'a, K: Key, V, I> {
    shared: &'a Shared<K>,
    source: I,
    observer: &'a mut dyn FnMut(u64) -> Result<()>,
    last: Option<K::Word>,
    pub(super) entries: u64,
    payload: PhantomData<fn() -> V>,
}

impl<'a, K: Key, V, I> Sorted<'a, K, V, I> {
    pub(super) fn new(shared: &'a Shared<K>, source: I, observer: &'a mut dyn FnMut(u64) -> Result<()>) -> Self {
        Self { shared, source, observer, last: None, entries: 0, payload: PhantomData }
    }

    /// Whether a word may follow the last one.
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

impl<K: Key, V, I> fmt::Debug for Sorted<'_, K, V, I> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Sorted").field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl<K: Key, V: Payload, I: Iterator<Item = Result<(K, V)>>> Entries<K::Word> for Sorted<'_, K, V, I> {
    fn next(&mut self, payload: &mut [u8]) -> Result<Option<K::Word>> {
        if self.entries.is_multiple_of(ENTRIES_A_STEP) {
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
