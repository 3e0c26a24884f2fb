//! The look-ahead of bulk loads and batches: buffered entries, among which the router chooses the ends of leaves.

use crate::error::{Error, Result};
use crate::index::entries::word::Word;
use crate::index::tree::structure::Entries;

/// Buffered entries of a bulk load or a batch.
pub(super) struct PendingEntries<'a, W> {
    source: &'a mut dyn Entries<W>,
    exhausted: bool,
    duplicates: bool,
    stride: usize,
    keys: Vec<W>,
    /// Keys and payloads in the layout of leaves.
    bytes: Vec<u8>,
    /// Number of entries already taken from the front.
    taken: usize,
}

impl<'a, W: Word> PendingEntries<'a, W> {
    pub(super) fn new(source: &'a mut dyn Entries<W>, stride: usize, duplicates: bool) -> Self {
        Self { source, exhausted: false, duplicates, stride, keys: Vec::new(), bytes: Vec::new(), taken: 0 }
    }

    /// Reads until `wanted` entries, or all the rest, are buffered.
    pub(super) fn look_ahead(&mut self, wanted: usize) -> Result<()> {
        if self.exhausted || self.keys.len() - self.taken >= wanted {
            return Ok(());
        }
        // Reading eight times as many amortizes the move of the rest to the front.
        self.keys.drain(..self.taken);
        self.bytes.drain(..self.taken * self.stride);
        self.taken = 0;
        while self.keys.len() < wanted * 8 {
            let start = self.bytes.len();
            self.bytes.resize(start + self.stride, 0);
            let (key_bytes, payload) = self.bytes[start..].split_at_mut(W::BYTES);
            let Some(key) = self.source.next(payload)? else {
                self.bytes.truncate(start);
                self.exhausted = true;
                break;
            };
            key.store(key_bytes);
            if let Some(&last) = self.keys.last()
                && (key < last || key == last && !self.duplicates)
            {
                return Err(Error::input(format!(
                    "key {key} of a bulk load comes behind key {last}; sort the entries, or insert them one by one"
                )));
            }
            self.keys.push(key);
        }
        Ok(())
    }

    pub(super) fn keys(&self) -> &[W] {
        &self.keys[self.taken..]
    }

    pub(super) fn entries(&self, count: usize) -> &[u8] {
        &self.bytes[self.taken * self.stride..(self.taken + count) * self.stride]
    }

    /// The first entries, one by one.
    pub(super) fn entries_of(&self, count: usize) -> impl Iterator<Item = &[u8]> {
        self.entries(count).chunks_exact(self.stride)
    }

    pub(super) fn take(&mut self, count: usize) {
        self.taken += count;
    }

    /// Whether the source is exhausted.
    pub(super) fn is_end(&self) -> bool {
        self.exhausted
    }
}
