//! The entry streams of bulk loads and batches: check order and payload sizes, count entries, and call the observer.

use super::shared::IndexShared;
use crate::error::{Error, Result};
use crate::index::entries::key::Key;
use crate::index::entries::payload::Payload;
use crate::index::entries::word::Word;
use crate::index::tree::structure::Entries;
use std::fmt;
use std::marker::PhantomData;

/// Number of entries between two calls of the observer.
const ENTRIES_PER_OBSERVER_CALL: u64 = 1 << 12;

/// A stream of entries with checked order, whose observer gets the number of entries read.
pub(in crate::index) struct CheckedEntries<'a, K: Key, V, I> {
    shared: &'a IndexShared<K>,
    source: I,
    observer: &'a mut dyn FnMut(u64) -> Result<()>,
    last: Option<K::Word>,
    may_repeat: bool,
    pub(in crate::index) entries: u64,
    payload: PhantomData<fn() -> V>,
}

impl<'a, K: Key, V, I> CheckedEntries<'a, K, V, I> {
    pub(in crate::index) fn new(
        shared: &'a IndexShared<K>,
        source: I,
        observer: &'a mut dyn FnMut(u64) -> Result<()>,
    ) -> Self {
        let may_repeat = shared.header.layout.duplicates;
        Self { shared, source, observer, last: None, may_repeat, entries: 0, payload: PhantomData }
    }

    /// Accepts repeated keys.
    pub(in crate::index) fn repeating(self) -> Self {
        Self { may_repeat: true, ..self }
    }

    /// Checks that a word may follow the last one.
    fn check(&self, word: K::Word) -> Result<()> {
        let (path, record) = (&self.shared.path, self.entries);
        match self.last {
            Some(last) if word < last => Err(Error::unsorted(path.clone(), record)),
            Some(last) if word == last && !self.may_repeat => Err(Error::repeated(path.clone(), record)),
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

/// The last entry of each key of a sorted stream: what remains of entries that overwrite each other.
pub(in crate::index) struct LastEntries<'a, W> {
    source: &'a mut dyn Entries<W>,
    /// The entry read last, whose key may repeat.
    key: Option<W>,
    payload: Vec<u8>,
    /// The payload of the entry after it.
    next_payload: Vec<u8>,
    started: bool,
}

impl<'a, W: Word> LastEntries<'a, W> {
    pub(in crate::index) fn new(source: &'a mut dyn Entries<W>, payload_bytes: usize) -> Self {
        let (payload, next_payload) = (vec![0; payload_bytes], vec![0; payload_bytes]);
        Self { source, key: None, payload, next_payload, started: false }
    }

    /// The stream itself, with all entries.
    pub(in crate::index) fn source(&mut self) -> &mut dyn Entries<W> {
        self.source
    }
}

impl<W: Word> Entries<W> for LastEntries<'_, W> {
    fn next(&mut self, payload: &mut [u8]) -> Result<Option<W>> {
        if !std::mem::replace(&mut self.started, true) {
            self.key = self.source.next(&mut self.payload)?;
        }
        let Some(key) = self.key else { return Ok(None) };
        loop {
            let next = self.source.next(&mut self.next_payload)?;
            let is_last = next != Some(key);
            if is_last {
                payload.copy_from_slice(&self.payload);
                self.key = next;
            }
            std::mem::swap(&mut self.payload, &mut self.next_payload);
            if is_last {
                return Ok(Some(key));
            }
        }
    }
}

/// A stream that counts its entries.
pub(in crate::index) struct CountedEntries<'a, W> {
    source: &'a mut dyn Entries<W>,
    pub(in crate::index) entries: u64,
}

impl<'a, W: Word> CountedEntries<'a, W> {
    pub(in crate::index) fn new(source: &'a mut dyn Entries<W>) -> Self {
        Self { source, entries: 0 }
    }
}

impl<W: Word> Entries<W> for CountedEntries<'_, W> {
    fn next(&mut self, payload: &mut [u8]) -> Result<Option<W>> {
        let word = self.source.next(payload)?;
        self.entries += u64::from(word.is_some());
        Ok(word)
    }
}
