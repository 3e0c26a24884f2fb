//! ALEX removals: contractions, merges, and release of empty nodes.

use super::build::write_plans;
use super::change::AlexChange;
use super::child::{AlexNodeKind, ChildPointer};
use super::cost::Planner;
use super::inner::{ModelSlots, PlainNode, set_slots};
use super::node::{NodeLinks, find_page, load_node, relink};
use super::plan::NodePlan;
use super::search::{AlexStep, path_to};
use super::state::AlexState;
use super::tree::Alex;
use crate::kinds::batch::Batch;
use ogive::Result;
use ogive::index::extend::{Structure, Word};
use ogive::page::{PagePhase, Transaction};

/// The tree is rebuilt when less than 1/8 of its peak number of entries is left.
const REBUILD_DIVISOR: u64 = 8;
/// A page with 1/4 of its slots occupied triggers a check of its node, which may be contracted or merged.
const SPARSE_PAGE_DIVISOR: usize = 4;

impl Alex {
    /// # Errors
    /// Those of the pages; [`ogive::Cause::Damaged`].
    pub(super) fn remove_entry<W: Word>(&self, tx: &mut Transaction, bytes: &mut Vec<u8>, key: W) -> Result<u64> {
        tx.enter(PagePhase::Search);
        let (planner, mut state) = self.load::<W>(tx, bytes)?;
        let Some(root) = state.root else { return Ok(0) };
        let path = path_to(tx, &planner.shape, &root, key)?;
        let node = path.last().map_or(root, |step| step.node);
        let page = find_page(tx, &planner.shape, &node, key)?;
        let Some(slot) = page.find(key, &node.line) else { return Ok(0) };
        tx.enter(PagePhase::Insert);
        page.remove(tx, slot)?;
        state.entries = state.entries.saturating_sub(1);
        let left = page.count().saturating_sub(1);
        tx.enter(PagePhase::Structure);
        if state.entries == 0 {
            self.free_tree::<W>(tx, bytes)?;
            state = AlexState::EMPTY;
        } else if state.entries < state.peak / REBUILD_DIVISOR && state.peak > planner.page_entries() as u64 {
            tx.count("rebuild");
            state = self.rebuild(tx, &planner, &state)?;
        } else if left == 0 || left == planner.shape.slots / SPARSE_PAGE_DIVISOR {
            AlexChange { tx, planner: &planner, state: &mut state, path: &path }.shrink()?;
        }
        *bytes = state.stored(&planner.shape);
        Ok(1)
    }

    /// Rebuilds the whole tree.
    fn rebuild<W: Word>(&self, tx: &mut Transaction, planner: &Planner, state: &AlexState<W>) -> Result<AlexState<W>> {
        let bytes = state.stored(&planner.shape);
        let mut cursor = Structure::<W>::cursor(self, &bytes)?;
        let mut batch = Batch::new(self.value_bytes);
        let mut value = vec![0; self.value_bytes];
        cursor.seek(tx, W::MIN)?;
        while let Some(key) = cursor.next(tx, &mut value)? {
            batch.push(key, &value);
        }
        let plan = planner.plan(&batch.keys, 0..batch.keys.len(), 0);
        let [root] = write_plans(tx, planner, &batch, &[plan], NodeLinks::default(), 0)?;
        self.free_tree::<W>(tx, &bytes)?;
        let entries = batch.keys.len() as u64;
        Ok(AlexState { entries, peak: entries, root: Some(root) })
    }
}

impl<W: Word> AlexChange<'_, W> {
    /// Removes, contracts or merges a data node that has lost entries.
    fn shrink(&mut self) -> Result<()> {
        let Some(&AlexStep { node, .. }) = self.path.last() else { return Ok(()) };
        let (batch, links) = load_node(self.tx, &self.planner.shape, &node)?;
        let (entries, pages) = (batch.keys.len(), usize::from(node.size));
        if entries == 0 {
            if self.path.len() > 1 {
                self.tx.count("data node removed");
                relink(self.tx, links, links.next, links.previous)?;
                self.tx.free(node.first, node.pages(&self.planner.shape));
                return self.remove_child();
            }
        } else if pages > 1 {
            let room = pages * self.planner.shape.slots;
            if entries * 200 < room * usize::from(self.planner.options.min_percent) {
                self.tx.count("data node contraction");
                let pages = self.planner.pages_for(entries, self.planner.options.initial_percent);
                let fit = self.planner.fit(&batch.keys, pages);
                let plan = NodePlan::Data { range: 0..entries, fit };
                self.replace((&batch, links), &plan)?;
                self.tx.free(node.first, node.pages(&self.planner.shape));
            }
        } else if entries <= self.planner.shape.slots / SPARSE_PAGE_DIVISOR {
            return self.merge(batch, links);
        }
        Ok(())
    }

    /// Merges a data node of few entries with its sibling, if both have one page and fit into one.
    fn merge(&mut self, batch: Batch<W>, links: NodeLinks) -> Result<()> {
        let Some((step, above)) = self.path.split_last() else { return Ok(()) };
        let Some((sibling_index, sibling)) = sibling(self.tx, self.planner, self.path)? else { return Ok(()) };
        if sibling.kind != AlexNodeKind::Data || sibling.size != 1 {
            return Ok(());
        }
        let (other, other_links) = load_node(self.tx, &self.planner.shape, &sibling)?;
        let ((mut all, rest), links) = if sibling_index < step.index {
            ((other, batch), NodeLinks { previous: other_links.previous, next: links.next })
        } else {
            ((batch, other), NodeLinks { previous: links.previous, next: other_links.next })
        };
        let entries = all.keys.len() + rest.keys.len();
        let ascend = all.keys.last() < rest.keys.first() || rest.keys.is_empty();
        if !ascend || entries > self.planner.shape.slots * usize::from(self.planner.options.initial_percent) / 100 {
            return Ok(());
        }
        self.tx.count("data node merge");
        all.keys.extend(rest.keys);
        all.values.extend(rest.values);
        let fit = self.planner.fit(&all.keys, 1);
        let plan = NodePlan::Data { range: 0..entries, fit };
        let to_sibling = [above, &[AlexStep { node: sibling, index: sibling_index, depth: step.depth }]].concat();
        self.at(&to_sibling).replace((&all, links), &plan)?;
        self.tx.free(sibling.first, 1);
        self.tx.free(step.node.first, 1);
        self.remove_child()
    }

    /// Removes the pointer to the last node of a path. An inner node with one child left is replaced by that child; one
    /// with none is removed too.
    fn remove_child(&mut self) -> Result<()> {
        let Some((step, above)) = self.path.split_last() else { return Ok(()) };
        let Some(parent) = above.last() else {
            self.state.root = None;
            return Ok(());
        };
        let (shape, node, depth) = (&self.planner.shape, &parent.node, parent.depth);
        let Some((sibling_index, sibling_node)) = sibling(self.tx, self.planner, self.path)? else {
            self.tx.free(node.first, node.pages(shape));
            return self.at(above).remove_child();
        };
        let only = if node.kind == AlexNodeKind::Model {
            let run = ModelSlots::new(self.tx, shape, node, depth).run(step.index)?;
            set_slots(self.tx, shape, node, depth, run, &sibling_node)?;
            ModelSlots::new(self.tx, shape, node, depth).run(sibling_index)? == (0..node.fanout())
        } else {
            let plain: PlainNode<W> = PlainNode::read(self.tx, shape, node.first, depth)?;
            plain.remove(self.tx, depth, step.index as usize)?;
            plain.count == 2
        };
        if only {
            self.tx.count("inner node removed");
            self.tx.free(node.first, node.pages(shape));
            self.at(above).set_child(&sibling_node)?;
        }
        Ok(())
    }
}

/// The sibling that takes over the keys of the last node of a path if that is removed, and its position in the parent:
/// the previous one, else the next.
fn sibling<W: Word>(
    tx: &Transaction,
    planner: &Planner,
    path: &[AlexStep<W>],
) -> Result<Option<(u32, ChildPointer<W>)>> {
    let Some((step, above)) = path.split_last() else { return Ok(None) };
    let Some(parent) = above.last() else { return Ok(None) };
    if parent.node.kind == AlexNodeKind::Model {
        let mut slots = ModelSlots::new(tx, &planner.shape, &parent.node, parent.depth);
        let run = slots.run(step.index)?;
        let sibling_index = run.start.checked_sub(1).or(Some(run.end).filter(|&end| end < parent.node.fanout()));
        return sibling_index.map(|sibling_index| Ok((sibling_index, slots.child(sibling_index)?))).transpose();
    }
    let plain: PlainNode<W> = PlainNode::read(tx, &planner.shape, parent.node.first, parent.depth)?;
    let index = step.index as usize;
    let sibling_index = index.checked_sub(1).or(Some(index + 1).filter(|&index| index < plain.count));
    sibling_index.map(|sibling_index| Ok((sibling_index as u32, plain.child(tx, sibling_index)?))).transpose()
}
