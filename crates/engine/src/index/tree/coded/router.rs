//! `CodedRouter`: coded inner nodes as a [`Router`].

use super::build::CodedBuilder;
use super::state::CodedState;
use super::{choose, search, verify};
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::router::{Gap, LeafVisit, PageVisit, Router, RouterBuilder};
use crate::index::tree::structure::{IndexStatistics, IndexVisit};
use crate::page::{PageNumber, Pages, Transaction};

/// A map from separators to leaves in coded inner nodes.
///
/// [`ogive_model::inner`] describes the stored form, its cost, and why it is exact. A lookup reads one page per level.
/// With pages of 4 KiB, a node has 1,000 to 2,500 children on most keys, and never fewer than a B+-tree node, so that
/// two levels serve more than a hundred million entries. An insert changes one group of one node in place, which logs a
/// few hundred bytes; an overflow rewrites a node, up to four siblings, and their parent.
#[derive(Clone, Copy, Debug, Default)]
pub struct CodedRouter;

impl CodedRouter {
    /// Creates a router, which has no state of its own.
    pub fn new() -> Self {
        Self
    }
}

impl<W: Word> Router<W> for CodedRouter {
    fn builder(&self, tx: &mut Transaction) -> Result<Box<dyn RouterBuilder<W>>> {
        Ok(Box::new(CodedBuilder::<W>::new(tx.payload_bytes())))
    }

    fn find(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Option<PageNumber>> {
        search::find(pages, &CodedState::load::<W>(pages, state)?, key)
    }

    fn find_many(&self, pages: &dyn Pages, state: &[u8], keys: &[W]) -> Result<Vec<Option<PageNumber>>> {
        search::find_many(pages, &CodedState::load::<W>(pages, state)?, keys)
    }

    fn choose_split(&self, _pages: &dyn Pages, _state: &[u8], gaps: &[Gap<W>]) -> Result<usize> {
        Ok(choose::split(gaps))
    }

    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        CodedState::change::<W, _>(tx, state, |tree| tree.insert(gap, leaf))
    }

    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W) -> Result<Option<PageNumber>> {
        CodedState::change::<W, _>(tx, state, |tree| tree.remove(key))
    }

    fn replace(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, leaf: PageNumber) -> Result<bool> {
        CodedState::change::<W, _>(tx, state, |tree| tree.replace(key, leaf))
    }

    fn walk(&self, pages: &dyn Pages, state: &[u8], claim: PageVisit<'_>, leaf: LeafVisit<'_, W>) -> Result<()> {
        verify::walk(pages, &CodedState::load::<W>(pages, state)?, claim, leaf)
    }

    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics> {
        verify::statistics::<W>(pages, &CodedState::load::<W>(pages, state)?)
    }

    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<IndexVisit>> {
        search::explain(pages, &CodedState::load::<W>(pages, state)?, key)
    }
}
