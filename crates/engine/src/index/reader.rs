//! An index at one commit.

use super::key::Key;
use super::payload::Payload;
use super::range::Range;
use super::shared::Shared;
use super::structure::{Statistics, Visit};
use super::verify::{self, VerifyReport};
use super::view::{State, View};
use crate::error::Result;
use crate::page::Snapshot;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

/// An index as one commit left it: whatever is written meanwhile, the answers stay the same. Cheap to clone, and to be
/// shared by threads.
///
/// While it is held, the file keeps what it may still read, so that a checkpoint stops there: do not hold a reader for
/// longer than you need it.
#[derive(Debug)]
pub struct Reader<K: Key, V: Payload> {
    shared: Arc<Shared<K>>,
    snapshot: Snapshot,
    payload: PhantomData<fn() -> V>,
}

impl<K: Key, V: Payload> Clone for Reader<K, V> {
    fn clone(&self) -> Self {
        let (shared, snapshot) = (Arc::clone(&self.shared), self.snapshot.clone());
        Self { shared, snapshot, payload: PhantomData }
    }
}

impl<K: Key, V: Payload> Reader<K, V> {
    pub(super) fn new(shared: Arc<Shared<K>>) -> Result<Self> {
        let snapshot = shared.file.snapshot()?;
        Ok(Self { shared, snapshot, payload: PhantomData })
    }

    fn view(&self) -> Result<View<'_, K>> {
        let state = State::parse(&self.snapshot, self.snapshot.state())?;
        Ok(View { shared: &self.shared, pages: &self.snapshot, state })
    }

    /// The payload of a key; of its first entry where keys repeat.
    ///
    /// # Errors
    /// [`crate::Error::Io`], [`crate::Error::Damaged`].
    pub fn get(&self, key: K) -> Result<Option<V>> {
        self.view()?.get(key)
    }

    /// Whether there is an entry of this key.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn contains_key(&self, key: K) -> Result<bool> {
        self.view()?.contains_key(key)
    }

    /// What [`Self::get`] answers for each key, in the order asked for; neighbouring keys share their reads.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn multi_get(&self, keys: &[K]) -> Result<Vec<Option<V>>> {
        self.view()?.multi_get(keys)
    }

    /// The payloads of all entries of a key, in order. For more than memory holds, use [`Self::range`].
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn get_all(&self, key: K) -> Result<Vec<V>> {
        self.view()?.get_all(key)
    }

    /// The entries whose keys lie within the bounds, in order; bounds that cross hold none.
    pub fn range(&self, range: impl RangeBounds<K>) -> Range<'static, K, V> {
        Range::of_snapshot(Arc::clone(&self.shared), self.snapshot.clone(), &range)
    }

    /// All entries in order.
    pub fn iter(&self) -> Range<'static, K, V> {
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
    /// [`crate::Error::Damaged`].
    pub fn len(&self) -> Result<u64> {
        Ok(self.view()?.len())
    }

    /// Whether there is no entry.
    ///
    /// # Errors
    /// As for [`Self::len`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Counts of nodes and levels, by walking over all of them.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn statistics(&self) -> Result<Statistics> {
        self.view()?.statistics()
    }

    /// The nodes that a look-up of `key` visits, from the root down.
    ///
    /// # Errors
    /// As for [`Self::get`].
    pub fn explain(&self, key: K) -> Result<Vec<Visit>> {
        self.view()?.explain(key)
    }

    /// Walks over everything, trusting nothing: order, links, models and counts of the nodes; then every page of the
    /// file, as it is on the disk, and that each is in use once or free. Takes some bytes of memory for each page,
    /// beyond the budget.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] at the first thing that does not hold.
    pub fn verify(&self) -> Result<VerifyReport> {
        verify::verify(&self.view()?, |claimed| self.snapshot.verify(claimed))
    }
}

impl<K: Key, V: Payload> IntoIterator for &Reader<K, V> {
    type Item = Result<(K, V)>;
    type IntoIter = Range<'static, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
