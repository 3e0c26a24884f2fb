//! `AulidRouter`: the inner nodes of AULID as a `Router`.

use super::build::AulidBuilder;
use super::edit::Editor;
use super::many;
use super::options::AulidOptions;
use super::reader::{Metanode, NodeReader};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::index::extend::{Gap, LeafVisit, PageVisit, Router, RouterBuilder};
use ogive::index::extend::{IndexStatistics, IndexVisit};
use ogive::page::{PageNumber, PagePhase, Pages, Transaction};

/// The inner structure of AULID.
///
/// ```text
///   metanode: root's extent and model
///       |
///   mixed node  [ DATA |      | array | DATA |  two-layer  |      | mixed | DATA ]      slots, chosen by the model
///                  |              |      |    /    |    \             |      |
///                leaf      4 to 64 items leaf  1 to 4 children      slots  leaf         one block for each layer
/// ```
///
/// As the number of separators in a slot grows, they move from a DATA slot to packed arrays of 4, 8, 16, 32 and 64, to
/// a two-layer B+-tree node, and to a mixed node; removals move them back. [`LeafTree`](ogive::index::extend::LeafTree)
/// manages the leaves, including the last one.
///
/// Source: Lan et al., "A Simple Yet High-Performing On-disk Learned Index", Sections 3.3 and 4. Beyond the paper:
/// slots of all kinds store the greatest separator below them, so that a lookup never reads an array or a leaf
/// needlessly; a map of the pages in use bounds the search for the next one; no slot of a new node gets more than 1/3
/// of its separators, which bounds the depth for all key sets; nodes that have shrunk are rebuilt.
#[derive(Clone, Debug, Default)]
pub struct AulidRouter {
    options: AulidOptions,
}

impl AulidRouter {
    /// Creates a router with the given options.
    pub fn new(options: AulidOptions) -> Self {
        Self { options }
    }
}

/// Changes are divided into phases: [`PagePhase::Insert`] into a slot, an array or a child, [`PagePhase::Statistics`],
/// and [`PagePhase::Structure`] for creating, splitting and rebuilding nodes.
impl<W: Word> Router<W> for AulidRouter {
    fn builder(&self, _tx: &mut Transaction) -> Result<Box<dyn RouterBuilder<W>>> {
        Ok(Box::new(AulidBuilder::new(self.options)))
    }

    fn find(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Option<PageNumber>> {
        NodeReader::of::<W>(pages, &self.options).leaf(&Metanode::decode(pages, state)?, key)
    }

    fn find_many(&self, pages: &dyn Pages, state: &[u8], keys: &[W]) -> Result<Vec<Option<PageNumber>>> {
        many::leaves(pages, &self.options, &Metanode::decode(pages, state)?, keys)
    }

    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        let mut editor = Editor::open(tx, &self.options, state)?;
        editor.insert(gap.low, leaf)?;
        *state = editor.state();
        tx.enter(PagePhase::Structure);
        Ok(())
    }

    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W) -> Result<Option<PageNumber>> {
        let mut editor = Editor::open(tx, &self.options, state)?;
        let leaf = editor.remove(key)?;
        *state = editor.state();
        tx.enter(PagePhase::Structure);
        Ok(leaf)
    }

    fn replace(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, leaf: PageNumber) -> Result<bool> {
        Editor::open(tx, &self.options, state)?.replace(key, leaf)
    }

    fn walk(&self, pages: &dyn Pages, state: &[u8], claim: PageVisit<'_>, leaf: LeafVisit<'_, W>) -> Result<()> {
        NodeReader::of::<W>(pages, &self.options).walk(&Metanode::decode(pages, state)?, claim, leaf)?;
        Ok(())
    }

    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics> {
        let meta = Metanode::<W>::decode(pages, state)?;
        NodeReader::of::<W>(pages, &self.options).walk(&meta, &mut |_, _| Ok(()), &mut |_, _| Ok(()))
    }

    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<IndexVisit>> {
        NodeReader::of::<W>(pages, &self.options).explain(&Metanode::decode(pages, state)?, key)
    }
}
