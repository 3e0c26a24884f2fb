//! A change of an ALEX tree in progress.

use super::child::{AlexNodeKind, ChildPointer};
use super::cost::Planner;
use super::inner::{ModelSlots, PlainNode, set_slots};
use super::search::AlexStep;
use super::state::AlexState;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::Transaction;

/// A change of a tree in progress, at the last node of a path.
pub(super) struct AlexChange<'a, W> {
    pub(super) tx: &'a mut Transaction,
    pub(super) planner: &'a Planner,
    pub(super) state: &'a mut AlexState<W>,
    pub(super) path: &'a [AlexStep<W>],
}

impl<W: Word> AlexChange<'_, W> {
    /// The same change, at the last node of another path.
    pub(super) fn at<'b>(&'b mut self, path: &'b [AlexStep<W>]) -> AlexChange<'b, W> {
        AlexChange { tx: self.tx, planner: self.planner, state: self.state, path }
    }

    /// Replaces the pointer to the node.
    pub(super) fn set_child(&mut self, child: &ChildPointer<W>) -> Result<()> {
        let Some((step, above)) = self.path.split_last() else { return Ok(()) };
        let Some(parent) = above.last() else {
            self.state.root = Some(*child);
            return Ok(());
        };
        let shape = &self.planner.shape;
        if parent.node.kind == AlexNodeKind::Model {
            let run = ModelSlots::new(self.tx, shape, &parent.node, parent.depth).run(step.index)?;
            return set_slots(self.tx, shape, &parent.node, parent.depth, run, child);
        }
        let plain: PlainNode<W> = PlainNode::read(self.tx, shape, parent.node.first, parent.depth)?;
        plain.set_child(self.tx, parent.depth, step.index as usize, child)
    }
}
