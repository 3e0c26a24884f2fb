//! The pending entries of a bulk load: a short look-ahead shows where leaves may end.

use crate::error::{Error, Result};
use crate::index::structure::Entries;
use crate::index::word::Word;

/// The entries ahead.
pub(super) struct Pending<'a, W> {
    source: &'a mut dyn Entries<W>,
    exhausted: bool,
    duplicates: bool,
    stride: usize,
    keys: Vec<W>,
    /// Keys and payloads as leaves hold them.
    bytes: Vec<u8>,
    /// Entries at the front that were taken.
    taken: usize,
}

impl<'a, W: Word> Pending<'a, W> {
    pub(super) fn new(source: &'a mut dyn Entries<W>, stride: usize, duplicates: bool) -> Self {
        Self { source, exhausted: false, duplicates, stride, keys: Vec::new(), bytes: Vec::new(), taken: 0 }
    }

    /// Reads until `wanted` entries are ahead, or all that there are.
    pub(super) fn look_ahead(&mut self, wanted: usize) -> Result<()> {
        if self.exhausted || self.keys.len() - self.taken >= wanted {
            return Ok(());
        }
        // Read eightfold, so that moving what is left to the front costs little.
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
                return Err(Error::InvalidArgument(format!(
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

    pub(super) fn take(&mut self, count: usize) {
        self.taken += count;
    }

    /// Whether the entries ahead are all that are left.
    pub(super) fn is_end(&self) -> bool {
        self.exhausted
    }
}
