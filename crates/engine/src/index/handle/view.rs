//! Read operations of an index, over the pages of a snapshot or of a transaction.

use super::range::{Bounds, RangeScan};
use super::shared::IndexShared;
use crate::error::Result;
use crate::index::entries::key::Key;
use crate::index::entries::payload::Payload;
use crate::index::tree::structure::{IndexStatistics, IndexVisit};
use crate::page::Pages;

/// Bytes of the number of entries, which precedes the state of the structure.
const COUNT_BYTES: usize = 8;

/// The committed state of an index: the number of its entries, and the state of its structure. An index that was never
/// written to has none: the first transaction creates the structure.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) struct IndexState<'a> {
    pub(in crate::index) entries: u64,
    pub(in crate::index) structure: &'a [u8],
}

impl<'a> IndexState<'a> {
    /// Parses a committed state; `None` if the index has no structure yet.
    ///
    /// # Errors
    /// [`crate::Cause::Damaged`] if the state is too short.
    pub(in crate::index) fn parse(pages: &dyn Pages, state: &'a [u8]) -> Result<Option<Self>> {
        if state.is_empty() {
            return Ok(None);
        }
        let (count, structure) =
            state.split_first_chunk::<COUNT_BYTES>().ok_or_else(|| pages.damaged(0, "the state has no count"))?;
        Ok(Some(Self { entries: u64::from_le_bytes(*count), structure }))
    }

    /// The committed form.
    pub(in crate::index) fn join(entries: u64, structure: &[u8]) -> Vec<u8> {
        let mut state = Vec::with_capacity(COUNT_BYTES + structure.len());
        state.extend_from_slice(&entries.to_le_bytes());
        state.extend_from_slice(structure);
        state
    }
}

/// An index over the pages and the state of one snapshot or transaction.
#[derive(Clone, Copy, Debug)]
pub(in crate::index) struct IndexView<'a, K: Key> {
    pub(in crate::index) shared: &'a IndexShared<K>,
    pub(in crate::index) pages: &'a dyn Pages,
    pub(in crate::index) state: Option<IndexState<'a>>,
}

impl<K: Key> IndexView<'_, K> {
    pub(in crate::index) fn get<V: Payload>(&self, key: K) -> Result<Option<V>> {
        self.shared.gets.add(1);
        let Some(state) = self.state else { return Ok(None) };
        let mut payload = self.shared.payload();
        let found = self.shared.structure.get(self.pages, state.structure, key.to_word(), payload.as_mut_slice())?;
        Ok(found.then(|| V::load(payload.as_slice())))
    }

    pub(in crate::index) fn contains_key(&self, key: K) -> Result<bool> {
        let Some(state) = self.state else { return Ok(false) };
        let mut payload = self.shared.payload();
        self.shared.structure.get(self.pages, state.structure, key.to_word(), payload.as_mut_slice())
    }

    pub(in crate::index) fn multi_get<V: Payload>(&self, keys: &[K]) -> Result<Vec<Option<V>>> {
        if !self.shared.file.options().fast_paths.batches {
            return keys.iter().map(|&key| self.get(key)).collect();
        }
        let mut values: Vec<Option<V>> = keys.iter().map(|_| None).collect();
        let Some(state) = self.state else { return Ok(values) };
        let width = self.shared.header.layout.payload_bytes;
        let mut order: Vec<(K::Word, usize)> = keys.iter().map(|key| key.to_word()).zip(0..).collect();
        order.sort_unstable();
        let words: Vec<K::Word> = order.iter().map(|&(word, _)| word).collect();
        let mut payloads = vec![0; words.len() * width];
        let mut found = vec![false; words.len()];
        self.shared.structure.get_many(self.pages, state.structure, &words, &mut payloads, &mut found)?;
        for (rank, &(_, position)) in order.iter().enumerate() {
            if found.get(rank) == Some(&true)
                && let Some(payload) = payloads.get(rank * width..(rank + 1) * width)
                && let Some(value) = values.get_mut(position)
            {
                *value = Some(V::load(payload));
            }
        }
        Ok(values)
    }

    pub(in crate::index) fn get_all<V: Payload>(&self, key: K) -> Result<Vec<V>> {
        let mut scan = RangeScan::new(Bounds::only(key.to_word()));
        let mut values = Vec::new();
        while scan.step(self, true)?.is_some() {
            values.push(V::load(scan.payload()));
        }
        Ok(values)
    }

    pub(in crate::index) fn end<V: Payload>(&self, first: bool) -> Result<Option<(K, V)>> {
        let mut scan = RangeScan::new(Bounds::all());
        let word = scan.step(self, first)?;
        Ok(word.map(|word| (K::from_word(word), V::load(scan.payload()))))
    }

    pub(in crate::index) fn len(&self) -> u64 {
        self.state.map_or(0, |state| state.entries)
    }

    pub(in crate::index) fn statistics(&self) -> Result<IndexStatistics> {
        match self.state {
            Some(state) => self.shared.structure.statistics(self.pages, state.structure),
            None => Ok(IndexStatistics::default()),
        }
    }

    pub(in crate::index) fn explain(&self, key: K) -> Result<Vec<IndexVisit>> {
        match self.state {
            Some(state) => self.shared.structure.explain(self.pages, state.structure, key.to_word()),
            None => Ok(Vec::new()),
        }
    }
}
