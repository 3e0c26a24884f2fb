//! The operations of a [`LeafTree`] as a [`Structure`].

use super::tree::LeafTree;
use super::{batch, build, cursor, rescue, search, walk};
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::router::Router;
use crate::index::tree::structure::{
    Amount, BatchAnswers, Cursor, Entries, IndexStatistics, IndexVisit, RescuedEntries, Structure, Visitor,
};
use crate::page::{PageNumber, Pages, Transaction};

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
