//! `LeafTree`: B+-tree leaves and a router as a [`Structure`].

use super::chain::ChainState;
use super::leaf::{Leaf, LeafShape};
use super::{batch, build, cursor, rescue, search, walk};
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::options::IndexLayout;
use crate::index::tree::router::Router;
use crate::index::tree::structure::{
    Amount, BatchAnswers, Cursor, Entries, IndexStatistics, IndexVisit, RescuedEntries, Structure, Visitor,
};
use crate::page::{PageNumber, Pages, Transaction};
use std::sync::Arc;

/// B+-tree leaves under an inner structure.
///
/// Its state takes 24 bytes for keys of 8, in addition to the router's. It contains the last leaf, and a key above
/// which all keys belong there, so that appends read no other page. The last leaf fills up before a new one is
/// appended; other leaves split near the middle, at a boundary that the router chooses.
#[derive(Debug)]
pub struct LeafTree<R> {
    pub(super) router: Arc<R>,
    pub(super) layout: IndexLayout,
}

impl<R> Clone for LeafTree<R> {
    fn clone(&self) -> Self {
        Self { router: Arc::clone(&self.router), layout: self.layout }
    }
}

impl<R> LeafTree<R> {
    /// A tree under `router`.
    pub fn new(router: R, layout: IndexLayout) -> Self {
        Self { router: Arc::new(router), layout }
    }

    pub(super) fn shape<W: Word>(&self, pages: &dyn Pages) -> LeafShape {
        LeafShape::new::<W>(pages.payload_bytes(), self.layout.payload_bytes)
    }

    pub(super) fn read<W: Word>(&self, pages: &dyn Pages, number: PageNumber) -> Result<Leaf> {
        Leaf::read(pages, number, self.shape::<W>(pages))
    }

    /// The head of the group of leaves for `key`.
    pub(super) fn route<W: Word>(
        &self,
        pages: &dyn Pages,
        chain: &ChainState<W>,
        router_state: &[u8],
        key: W,
    ) -> Result<PageNumber>
    where
        R: Router<W>,
    {
        if chain.is_single() || key > chain.low {
            return Ok(chain.last);
        }
        Ok(self.router.find(pages, router_state, key)?.unwrap_or(chain.last))
    }
}

impl<W: Word, R: Router<W> + 'static> Structure<W> for LeafTree<R> {
    fn bulk_load(&self, tx: &mut Transaction, entries: &mut dyn Entries<W>) -> Result<Vec<u8>> {
        build::bulk_load(self, tx, entries)
    }

    fn get(&self, pages: &dyn Pages, state: &[u8], key: W, payload: &mut [u8]) -> Result<bool> {
        search::get(self, pages, state, key, payload)
    }

    fn get_many(
        &self,
        pages: &dyn Pages,
        state: &[u8],
        keys: &[W],
        payloads: &mut [u8],
        found: &mut [bool],
    ) -> Result<()> {
        search::get_many(self, pages, state, keys, BatchAnswers::new(keys.len(), payloads, found))
    }

    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, payload: &[u8]) -> Result<bool> {
        self.insert_entry(tx, state, key, payload)
    }

    fn insert_sorted(
        &self,
        tx: &mut Transaction,
        state: &mut Vec<u8>,
        entries: &mut dyn Entries<W>,
        _payload_bytes: usize,
    ) -> Result<u64> {
        batch::LeafBatch::new(self, tx, state, entries).insert()
    }

    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, amount: Amount) -> Result<u64> {
        self.remove_entries(tx, state, key, amount)
    }

    fn cursor(&self, state: &[u8]) -> Result<Box<dyn Cursor<W>>> {
        Ok(Box::new(cursor::LeafCursor::new(self.clone(), state)))
    }

    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics> {
        walk::statistics::<W, R>(self, pages, state)
    }

    fn verify(&self, pages: &dyn Pages, state: &[u8], visitor: &mut dyn Visitor<W>) -> Result<()> {
        walk::verify(self, pages, state, visitor)
    }

    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<IndexVisit>> {
        search::explain(self, pages, state, key)
    }

    fn free(&self, tx: &mut Transaction, state: &[u8]) -> Result<()> {
        walk::free::<W, R>(self, tx, state)
    }

    fn rescue(
        &self,
        pages: &dyn Pages,
        state: &[u8],
        in_use: Option<&[PageNumber]>,
    ) -> Result<Option<Box<dyn RescuedEntries<W>>>> {
        rescue::rescue(self, pages, state, in_use).map(Some)
    }
}
