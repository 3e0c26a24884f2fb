//! A change of a LIPP tree in progress.

use super::link::Link;
use super::mixed::LippSlot;
use super::node::LippNode;
use super::search::LippStep;
use super::shape::LippLayout;
use super::state::LippState;
use super::tree::Lipp;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::Transaction;

/// A change of a tree in progress, along the path to a key.
pub(super) struct LippChange<'a, W> {
    pub(super) tree: &'a Lipp,
    pub(super) tx: &'a mut Transaction,
    pub(super) shape: &'a LippLayout,
    pub(super) state: &'a mut LippState<W>,
    pub(super) path: &'a [LippStep<W>],
}

impl<'a, W: Word> LippChange<'a, W> {
    /// The step above step `level` of the path; `None` for the root.
    pub(super) fn above(&self, level: usize) -> Option<&'a LippStep<W>> {
        self.path.get(level.checked_sub(1)?)
    }

    /// Replaces the pointer to step `level` of the path.
    pub(super) fn set_link(&mut self, level: usize, link: &Link<W>) -> Result<()> {
        let Some(above) = self.above(level) else {
            self.state.root = Some(*link);
            return Ok(());
        };
        match &above.node {
            LippNode::Mixed(mixed) => mixed.set(self.tx, above.index, &LippSlot::Node(*link)),
            LippNode::Fence(fence) => fence.set_link(self.tx, above.index as usize, link),
            LippNode::Packed(_) => Ok(()),
        }
    }
}
