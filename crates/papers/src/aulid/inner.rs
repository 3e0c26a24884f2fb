//! AULID's inner nodes as a `Router`.

use super::build::AulidBuilder;
use super::edit::Editor;
use super::many;
use super::options::AulidOptions;
use super::view::{Metanode, View};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::index::extend::{Gap, LeafVisit, PageVisit, Router, RouterBuilder};
use ogive::index::extend::{Statistics, Visit};
use ogive::page::{PageNumber, Pages, Phase, Transaction};

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
/// Separators that share a slot move, as they grow more, from a DATA slot to packed arrays of 4, 8, 16, 32 and 64, to a
/// two-layer B+-tree node, and to a mixed node of their own; the way back is open, too. What the last leaf needs, and
/// all about leaves, is the business of [`LeafTree`](ogive::index::extend::LeafTree).
///
/// Source: Lan et al., "A Simple Yet High-Performing On-disk Learned Index", Sections 3.3 and 4. Beyond the paper:
/// slots know the greatest separator beneath them whatever their kind, so that a look-up never reads an array or a leaf
/// in vain; a map of the pages in use bounds the search for the next one; no slot of a new node gets more than a third
/// of its separators, which bounds the depth on any keys; nodes that have shrunk are rebuilt.
#[derive(Clone, Debug, Default)]
pub struct AulidRouter {
    options: AulidOptions,
}

impl AulidRouter {
    /// AULID with these options.
    pub fn new(options: AulidOptions) -> Self {
        Self { options }
    }
}

/// Within the structure modification of whoever changes the leaves, the parts of a change are told apart:
/// [`Phase::Insert`] into a slot, an array or a child, [`Phase::Statistics`], and [`Phase::Structure`] for all that
/// makes, splits or rebuilds nodes.
impl<W: Word> Router<W> for AulidRouter {
    fn builder(&self, _tx: &mut Transaction) -> Result<Box<dyn RouterBuilder<W>>> {
        Ok(Box::new(AulidBuilder::new(self.options)))
    }

    fn find(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Option<PageNumber>> {
        View::of::<W>(pages, &self.options).leaf(&Metanode::decode(pages, state)?, key)
    }

    fn find_many(&self, pages: &dyn Pages, state: &[u8], keys: &[W]) -> Result<Vec<Option<PageNumber>>> {
        many::leaves(pages, &self.options, &Metanode::decode(pages, state)?, keys)
    }

    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        let mut editor = Editor::open(tx, &self.options, state)?;
        editor.insert(gap.low, leaf)?;
        *state = editor.state();
        tx.enter(Phase::Structure);
        Ok(())
    }

    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W) -> Result<Option<PageNumber>> {
        let mut editor = Editor::open(tx, &self.options, state)?;
        let leaf = editor.remove(key)?;
        *state = editor.state();
        tx.enter(Phase::Structure);
        Ok(leaf)
    }

    fn replace(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, leaf: PageNumber) -> Result<bool> {
        Editor::open(tx, &self.options, state)?.replace(key, leaf)
    }

    fn walk(&self, pages: &dyn Pages, state: &[u8], claim: PageVisit<'_>, leaf: LeafVisit<'_, W>) -> Result<()> {
        View::of::<W>(pages, &self.options).walk(&Metanode::decode(pages, state)?, claim, leaf)?;
        Ok(())
    }

    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<Statistics> {
        let meta = Metanode::<W>::decode(pages, state)?;
        View::of::<W>(pages, &self.options).walk(&meta, &mut |_, _| Ok(()), &mut |_, _| Ok(()))
    }

    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<Visit>> {
        View::of::<W>(pages, &self.options).explain(&Metanode::decode(pages, state)?, key)
    }
}
