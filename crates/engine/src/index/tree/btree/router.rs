//! `BtreeRouter`: the inner nodes of a B+-tree as a [`Router`].

use super::build::BtreeBuilder;
use super::node::Root;
use super::{insert, remove, search, walk};
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::router::{Gap, LeafVisit, PageVisit, Router, RouterBuilder};
use crate::index::tree::structure::{IndexStatistics, IndexVisit};
use crate::page::{PageNumber, Pages, Transaction};

/// Inner nodes of a B+-tree. Its state takes 5 bytes: the root's page and the height.
///
/// Separators are the greatest keys of the leaves. A full node splits into halves or, at the right edge, stays full
/// next to a new one; a node less than 1/4 full merges with a neighbour if both fit into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtreeRouter {
    /// Fill of inner nodes after a bulk load, in percent. (The root may be fuller: it is not split while it fits a
    /// page.)
    pub fill_percent: u8,
}

impl Default for BtreeRouter {
    /// The fill of the AULID paper's B+-tree.
    fn default() -> Self {
        Self { fill_percent: 80 }
    }
}

impl<W: Word> Router<W> for BtreeRouter {
    fn builder(&self, tx: &mut Transaction) -> Result<Box<dyn RouterBuilder<W>>> {
        Ok(Box::new(BtreeBuilder::new(tx.payload_bytes(), self.fill_percent)))
    }

    fn find(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Option<PageNumber>> {
        search::find(pages, Root::parse(pages, state)?, key)
    }

    fn find_many(&self, pages: &dyn Pages, state: &[u8], keys: &[W]) -> Result<Vec<Option<PageNumber>>> {
        search::find_many(pages, Root::parse(pages, state)?, keys)
    }

    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        let mut root = Root::parse(tx, state)?;
        insert::insert(tx, &mut root, gap.low, leaf)?;
        root.store(state);
        Ok(())
    }

    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W) -> Result<Option<PageNumber>> {
        let mut root = Root::parse(tx, state)?;
        let leaf = remove::remove(tx, &mut root, key)?;
        root.store(state);
        Ok(leaf)
    }

    fn replace(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, leaf: PageNumber) -> Result<bool> {
        let root = Root::parse(tx, state)?;
        remove::replace(tx, root, key, leaf)
    }

    fn walk(&self, pages: &dyn Pages, state: &[u8], claim: PageVisit<'_>, leaf: LeafVisit<'_, W>) -> Result<()> {
        walk::walk(pages, Root::parse(pages, state)?, claim, leaf).map(|_| ())
    }

    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics> {
        walk::statistics::<W>(pages, Root::parse(pages, state)?)
    }

    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<IndexVisit>> {
        search::explain(pages, Root::parse(pages, state)?, key)
    }
}
