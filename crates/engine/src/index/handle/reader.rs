//! The reader: a snapshot of an index at one commit.

use super::range::IndexRange;
use super::shared::IndexShared;
use super::verify::{self, IndexVerifyReport};
use super::view::{IndexState, IndexView};
use crate::error::Result;
use crate::index::entries::key::Key;
use crate::index::entries::payload::Payload;
use crate::index::tree::structure::{IndexStatistics, IndexVisit};
use crate::page::PageSnapshot;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

/// A snapshot of an index at one commit: later writes do not change its answers. Cheap to clone, and shareable between
/// threads.
///
/// The file retains the commit while the reader exists, which delays checkpoints: drop readers when you no longer need
/// them.
#[derive(Debug)]
pub struct IndexReader<K: Key, V: Payload> {
    shared: Arc<IndexShared<K>>,
    snapshot: PageSnapshot,
    payload: PhantomData<fn() -> V>,
}

impl<K: Key, V: Payload> Clone for IndexReader<K, V> {
    fn clone(&self) -> Self {
        let (shared, snapshot) = (Arc::clone(&self.shared), self.snapshot.clone());
        Self { shared, snapshot, payload: PhantomData }
    }
}

impl<K: Key, V: Payload> IndexReader<K, V> {
    pub(in crate::index) fn new(shared: Arc<IndexShared<K>>) -> Result<Self> {
        let snapshot = shared.file.snapshot()?;
        Ok(Self { shared, snapshot, payload: PhantomData })
    }

    fn view(&self) -> Result<IndexView<'_, K>> {
        let state = IndexState::parse(&self.snapshot, self.snapshot.state())?;
        Ok(IndexView { shared: &self.shared, pages: &self.snapshot, state })
    }

    /// The payload of a key; of its first entry if keys repeat.
    ///
    /// # Errors
    /// [`crate::Cause::Io`], [`crate::Cause::Damaged`].
    pub fn get(&self, key: K) -> Result<Option<V>> {
        self.view()?.get(key)
    }

    /// Whether the key exists.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn contains_key(&self, key: K) -> Result<bool> {
        self.view()?.contains_key(key)
    }

    /// [`Self::get`] for many keys, in any order; keys of the same page share its read.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn multi_get(&self, keys: &[K]) -> Result<Vec<Option<V>>> {
        self.view()?.multi_get(keys)
    }

    /// The payloads of all entries of a key, in order. If they may exceed memory, use [`Self::range`].
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn get_all(&self, key: K) -> Result<Vec<V>> {
        self.view()?.get_all(key)
    }

    /// The entries with keys within the bounds, in order; none if the bounds cross.
    pub fn range(&self, range: impl RangeBounds<K>) -> IndexRange<K, V> {
        IndexRange::new(Arc::clone(&self.shared), self.snapshot.clone(), &range)
    }

    /// All entries in order.
    pub fn iter(&self) -> IndexRange<K, V> {
        self.range(..)
    }

    /// The first entry.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn first(&self) -> Result<Option<(K, V)>> {
        self.view()?.end(true)
    }

    /// The last entry.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn last(&self) -> Result<Option<(K, V)>> {
        self.view()?.end(false)
    }

    /// Number of entries.
    ///
    /// # Errors
    /// [`crate::Cause::Damaged`].
    pub fn len(&self) -> Result<u64> {
        Ok(self.view()?.len())
    }

    /// Whether the index is empty.
    ///
    /// # Errors
    /// As for [`Self::len`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Statistics of nodes and levels, by a walk over all of them.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn statistics(&self) -> Result<IndexStatistics> {
        self.view()?.statistics()
    }

    /// The nodes that a lookup of `key` visits, from the root down.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn explain(&self, key: K) -> Result<Vec<IndexVisit>> {
        self.view()?.explain(key)
    }

    /// Verifies the whole index: order, links, models and counts of all nodes; then every page of the file on storage,
    /// and that each is either free or used once. Takes a few bytes of memory per page, beyond that of the index.
    ///
    /// # Errors
    /// [`crate::Cause::Damaged`] at the first violation, or part that the device cannot read.
    pub fn verify(&self) -> Result<IndexVerifyReport> {
        let verified = self.view().and_then(|view| {
            verify::verify(&view, |claimed| {
                self.snapshot.verify(claimed)?;
                self.snapshot.header_copies()
            })
        });
        self.snapshot.or_unreadable(verified)
    }
}

impl<K: Key, V: Payload> IntoIterator for &IndexReader<K, V> {
    type Item = Result<(K, V)>;
    type IntoIter = IndexRange<K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
