//! LIPP removals: rebuilds, merges, and release of empty nodes.

use super::cells::{free_cell, write_cell};
use super::change::LippChange;
use super::link::Link;
use super::mixed::LippSlot;
use super::node::{LippNode, counts, set_counts};
use super::packed::{self, Packed};
use super::search::{LippStep, path_to};
use super::shape::CLASSES;
use super::state::LippState;
use super::tree::Lipp;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PagePhase, Transaction};

/// A node is rebuilt when less than 1/8 of the entries that it was built with is left.
const REBUILD_DIVISOR: u64 = 8;
/// A packed node under a fence is merged with a sibling when it has at most 1/8 of the entries of the largest one.
const SPARSE_DIVISOR: usize = 8;

impl Lipp {
    /// # Errors
    /// Those of the pages; [`ogive::Cause::Damaged`].
    pub(super) fn remove_entry<W: Word>(&self, tx: &mut Transaction, bytes: &mut Vec<u8>, key: W) -> Result<u64> {
        tx.enter(PagePhase::Search);
        let (shape, mut state) = self.load::<W>(tx, bytes)?;
        let Some(root) = state.root else { return Ok(0) };
        let path = path_to(tx, &shape, &root, key)?;
        tx.enter(PagePhase::Insert);
        if !remove_at(tx, &path, key)? {
            return Ok(0);
        }
        let mut change = LippChange { tree: self, tx, shape: &shape, state: &mut state, path: &path };
        change.tx.enter(PagePhase::Statistics);
        let sparse = change.count_removal()?;
        change.tx.enter(PagePhase::Structure);
        if change.state.entries == 0 {
            // The last entry was removed: the only nodes are those on the path.
            let nodes: Vec<Link<W>> = path.iter().map(|step| step.link).collect();
            Self::free_all(change.tx, &shape, change.state, &nodes);
            state = LippState::EMPTY;
        } else if let Some(level) = sparse {
            change.tx.count("rebuild");
            change.rebuild(level)?;
        } else if let Some(LippStep { node: LippNode::Packed(before), .. }) = path.last() {
            change.shrink_packed(before.count - 1)?;
        }
        *bytes = state.stored(&shape);
        Ok(1)
    }
}

impl<W: Word> LippChange<'_, W> {
    /// Counts a removal in all nodes with models on its path; returns the topmost one to rebuild or remove.
    fn count_removal(&mut self) -> Result<Option<usize>> {
        self.state.entries = self.state.entries.saturating_sub(1);
        let built_min = u64::from(self.tree.options.rebuild_keys_min / u32::from(self.tree.options.rebuild_growth));
        let mut topmost =
            (self.state.built > built_min && self.state.entries < self.state.built / REBUILD_DIVISOR).then_some(0);
        for (level, step) in self.path.iter().enumerate().skip(1) {
            if !matches!(step.node, LippNode::Mixed(_)) {
                continue;
            }
            let mut counts = counts(self.tx, self.shape, &step.link, level as u8)?;
            counts.entries = counts.entries.saturating_sub(1);
            set_counts(self.tx, self.shape, &step.link, level as u8, &counts)?;
            let in_slot = matches!(self.above(level), Some(LippStep { node: LippNode::Mixed(_), .. }));
            let is_sparse = u64::from(counts.entries) < u64::from(counts.built) / REBUILD_DIVISOR;
            if is_sparse || counts.entries == 0 || in_slot && counts.entries == 1 {
                topmost = topmost.or(Some(level));
            }
        }
        Ok(topmost)
    }

    /// Shrinks the packed node at the end of the path after a removal, which has `left` entries now.
    fn shrink_packed(&mut self, left: usize) -> Result<()> {
        let level = self.path.len().saturating_sub(1);
        match self.above(level).map(|above| &above.node) {
            Some(LippNode::Mixed(_)) if left == 1 => self.rebuild(level),
            Some(_) if left == 0 => {
                self.tx.count("packed node removed");
                let Some(Link::Cell { page, cell }) = self.path.last().map(|step| step.link) else { return Ok(()) };
                free_cell(self.tx, self.shape, &mut self.state.free_cells, page, cell)?;
                self.drop_child(level)
            }
            Some(LippNode::Fence(_)) if left * SPARSE_DIVISOR <= self.shape.packed_entries(CLASSES - 1) => self.merge(),
            _ => Ok(()),
        }
    }

    /// Merges a packed node with a sibling under the same fence, if both together fill at most 3/4 of the largest one.
    fn merge(&mut self) -> Result<()> {
        let [above @ .., step] = self.path else { return Ok(()) };
        let Some(LippStep { node: LippNode::Fence(fence), index, .. }) = above.last() else { return Ok(()) };
        let (level, index) = (above.len(), *index as usize);
        let neighbour = index.checked_sub(1).unwrap_or(index + 1);
        if neighbour >= fence.count {
            return Ok(());
        }
        let depth = level as u8;
        let sibling = fence.link(self.tx, neighbour)?;
        let (LippNode::Packed(mine), LippNode::Packed(other)) = (
            LippNode::open(self.tx, self.shape, &step.link, depth)?,
            LippNode::open(self.tx, self.shape, &sibling, depth)?,
        ) else {
            return Ok(());
        };
        let entries = mine.count + other.count;
        if entries > self.shape.packed_entries(CLASSES - 1) * 3 / 4 {
            return Ok(());
        }
        self.tx.count("packed node merge");
        let (first, second) = if neighbour < index { (&other, &mine) } else { (&mine, &other) };
        let all =
            |packed: &Packed<W>| (0..packed.count).map(|at| (packed.key(at), packed.value(at).to_vec())).collect();
        let both: Vec<(W, Vec<u8>)> =
            [first, second].into_iter().flat_map(|packed| -> Vec<_> { all(packed) }).collect();
        let class = self.shape.class_of_entries(entries).unwrap_or(CLASSES - 1);
        let content = packed::content(self.shape, both.iter().map(|(key, value)| (*key, &**value)));
        let merged = write_cell(self.tx, self.shape, &mut self.state.free_cells, class, &content)?;
        for packed in [&mine, &other] {
            free_cell(self.tx, self.shape, &mut self.state.free_cells, packed.cell.number, packed.cell.cell)?;
        }
        fence.set_link(self.tx, neighbour, &merged)?;
        self.drop_child(level)
    }

    /// Removes the pointer to step `level` of the path. A fence with one child left is replaced by that child.
    pub(super) fn drop_child(&mut self, level: usize) -> Result<()> {
        let above = level.checked_sub(1);
        let Some((above, step)) = above.and_then(|above| Some((above, self.path.get(above)?))) else {
            self.state.root = None;
            return Ok(());
        };
        match &step.node {
            LippNode::Mixed(mixed) => mixed.set(self.tx, step.index, &LippSlot::Null),
            LippNode::Packed(_) => Ok(()),
            LippNode::Fence(_) => {
                let LippNode::Fence(fence) = LippNode::open(self.tx, self.shape, &step.link, above as u8)? else {
                    return Ok(());
                };
                if fence.count > 2 {
                    return fence.remove(self.tx, step.index as usize);
                }
                self.tx.count("fence removed");
                let remaining =
                    (fence.count == 2).then(|| fence.link(self.tx, 1 - (step.index as usize).min(1))).transpose()?;
                free_cell(self.tx, self.shape, &mut self.state.free_cells, fence.cell.number, fence.cell.cell)?;
                match remaining {
                    Some(remaining) => self.set_link(above, &remaining),
                    None => self.drop_child(above),
                }
            }
        }
    }
}

/// Removes the entry of a key from the node at the end of its path; false if it is absent.
fn remove_at<W: Word>(tx: &mut Transaction, path: &[LippStep<W>], key: W) -> Result<bool> {
    let Some(step) = path.last() else { return Ok(false) };
    match &step.node {
        LippNode::Mixed(mixed) => match mixed.slot(tx, step.index)? {
            LippSlot::Data(found, _) if found == key => mixed.set(tx, step.index, &LippSlot::Null).map(|()| true),
            _ => Ok(false),
        },
        LippNode::Packed(packed) => match packed.find(key) {
            Ok(index) => packed.remove(tx, index).map(|()| true),
            Err(_) => Ok(false),
        },
        LippNode::Fence(_) => Ok(false),
    }
}
