//! LIPP removals: rebuilds, merges, and release of empty nodes.

use super::cells::{free_cell, write_cell};
use super::link::Link;
use super::mixed::LippSlot;
use super::node::{LippNode, counts, set_counts};
use super::packed::{self, Packed};
use super::rebuild::set_link;
use super::search::{LippStep, path_to};
use super::shape::{CLASSES, LippLayout};
use super::state::LippState;
use super::tree::Lipp;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{Phase, Transaction};

/// A node is rebuilt when less than 1/8 of the entries that it was built with is left.
const REBUILD_DIVISOR: u64 = 8;
/// A packed node under a fence is merged with a sibling when it has at most 1/8 of the entries of the largest one.
const SPARSE_DIVISOR: usize = 8;

impl Lipp {
    /// # Errors
    /// Those of the pages; [`ogive::Error::Damaged`].
    pub(super) fn remove_entry<W: Word>(&self, tx: &mut Transaction, bytes: &mut Vec<u8>, key: W) -> Result<u64> {
        tx.enter(Phase::Search);
        let shape = self.shape::<W>(tx)?;
        let mut state = LippState::load(tx, &shape, bytes)?;
        let Some(root) = state.root else { return Ok(0) };
        let path = path_to(tx, &shape, &root, key)?;
        tx.enter(Phase::Insert);
        if !remove_at(tx, &path, key)? {
            return Ok(0);
        }
        state.entries = state.entries.saturating_sub(1);
        tx.enter(Phase::Statistics);
        let sparse = self.count_removal(tx, &shape, &state, &path)?;
        tx.enter(Phase::Structure);
        if state.entries == 0 {
            // The last entry was removed: the only nodes are those on the path.
            let nodes: Vec<Link<W>> = path.iter().map(|step| step.link).collect();
            Self::free_all(tx, &shape, &mut state, &nodes);
            state = LippState::EMPTY;
        } else if let Some(level) = sparse {
            tx.count("rebuild");
            self.rebuild(tx, &shape, &mut state, &path, level)?;
        } else if let Some(LippStep { node: LippNode::Packed(before), .. }) = path.last() {
            self.shrink_packed(tx, &shape, &mut state, &path, before.count - 1)?;
        }
        *bytes = state.stored(&shape);
        Ok(1)
    }

    /// Counts a removal in all nodes with models on its path; returns the topmost one to rebuild or remove.
    fn count_removal<W: Word>(
        &self,
        tx: &mut Transaction,
        shape: &LippLayout,
        state: &LippState<W>,
        path: &[LippStep<W>],
    ) -> Result<Option<usize>> {
        let built_min = u64::from(self.options.rebuild_keys_min / u32::from(self.options.rebuild_growth));
        let mut topmost = (state.built > built_min && state.entries < state.built / REBUILD_DIVISOR).then_some(0);
        for (level, step) in path.iter().enumerate().skip(1) {
            if !matches!(step.node, LippNode::Mixed(_)) {
                continue;
            }
            let mut counts = counts(tx, shape, &step.link, level as u8)?;
            counts.entries = counts.entries.saturating_sub(1);
            set_counts(tx, shape, &step.link, level as u8, &counts)?;
            let in_slot = level > 0 && matches!(path.get(level - 1), Some(LippStep { node: LippNode::Mixed(_), .. }));
            let is_sparse = u64::from(counts.entries) < u64::from(counts.built) / REBUILD_DIVISOR;
            if is_sparse || counts.entries == 0 || in_slot && counts.entries == 1 {
                topmost = topmost.or(Some(level));
            }
        }
        Ok(topmost)
    }

    /// Shrinks the packed node at the end of a path after a removal, which has `left` entries now.
    fn shrink_packed<W: Word>(
        &self,
        tx: &mut Transaction,
        shape: &LippLayout,
        state: &mut LippState<W>,
        path: &[LippStep<W>],
        left: usize,
    ) -> Result<()> {
        let level = path.len().saturating_sub(1);
        let above = level.checked_sub(1).and_then(|above| path.get(above));
        match above.map(|above| &above.node) {
            Some(LippNode::Mixed(_)) if left == 1 => self.rebuild(tx, shape, state, path, level),
            Some(_) if left == 0 => {
                tx.count("packed node removed");
                let Some(Link::Cell { page, cell }) = path.last().map(|step| step.link) else { return Ok(()) };
                free_cell(tx, shape, &mut state.free_cells, page, cell)?;
                self.drop_child(tx, shape, state, path, level)
            }
            Some(LippNode::Fence(_)) if left * SPARSE_DIVISOR <= shape.packed_entries(CLASSES - 1) => {
                self.merge(tx, shape, state, path)
            }
            _ => Ok(()),
        }
    }

    /// Merges a packed node with a sibling under the same fence, if both together fill at most 3/4 of the largest one.
    fn merge<W: Word>(
        &self,
        tx: &mut Transaction,
        shape: &LippLayout,
        state: &mut LippState<W>,
        path: &[LippStep<W>],
    ) -> Result<()> {
        let [above @ .., step] = path else { return Ok(()) };
        let Some(LippStep { node: LippNode::Fence(fence), index, .. }) = above.last() else { return Ok(()) };
        let (level, index) = (above.len(), *index as usize);
        let neighbour = index.checked_sub(1).unwrap_or(index + 1);
        if neighbour >= fence.count {
            return Ok(());
        }
        let depth = level as u8;
        let sibling = fence.link(tx, neighbour)?;
        let (LippNode::Packed(mine), LippNode::Packed(other)) =
            (LippNode::open(tx, shape, &step.link, depth)?, LippNode::open(tx, shape, &sibling, depth)?)
        else {
            return Ok(());
        };
        let entries = mine.count + other.count;
        if entries > shape.packed_entries(CLASSES - 1) * 3 / 4 {
            return Ok(());
        }
        tx.count("packed node merge");
        let (first, second) = if neighbour < index { (&other, &mine) } else { (&mine, &other) };
        let all =
            |packed: &Packed<W>| (0..packed.count).map(|at| (packed.key(at), packed.value(at).to_vec())).collect();
        let both: Vec<(W, Vec<u8>)> =
            [first, second].into_iter().flat_map(|packed| -> Vec<_> { all(packed) }).collect();
        let class = shape.class_of_entries(entries).unwrap_or(CLASSES - 1);
        let content = packed::content(shape, both.iter().map(|(key, value)| (*key, &**value)));
        let merged = write_cell(tx, shape, &mut state.free_cells, class, &content)?;
        for packed in [&mine, &other] {
            free_cell(tx, shape, &mut state.free_cells, packed.cell.number, packed.cell.cell)?;
        }
        fence.set_link(tx, neighbour, &merged)?;
        self.drop_child(tx, shape, state, path, level)
    }

    /// Removes the pointer to step `level` of a path. A fence with one child left is replaced by that child.
    pub(super) fn drop_child<W: Word>(
        &self,
        tx: &mut Transaction,
        shape: &LippLayout,
        state: &mut LippState<W>,
        path: &[LippStep<W>],
        level: usize,
    ) -> Result<()> {
        let above = level.checked_sub(1);
        let Some((above, step)) = above.and_then(|above| Some((above, path.get(above)?))) else {
            state.root = None;
            return Ok(());
        };
        match &step.node {
            LippNode::Mixed(mixed) => mixed.set(tx, step.index, &LippSlot::Null),
            LippNode::Packed(_) => Ok(()),
            LippNode::Fence(_) => {
                let LippNode::Fence(fence) = LippNode::open(tx, shape, &step.link, above as u8)? else { return Ok(()) };
                if fence.count > 2 {
                    return fence.remove(tx, step.index as usize);
                }
                tx.count("fence removed");
                let remaining =
                    (fence.count == 2).then(|| fence.link(tx, 1 - (step.index as usize).min(1))).transpose()?;
                free_cell(tx, shape, &mut state.free_cells, fence.cell.number, fence.cell.cell)?;
                match remaining {
                    Some(remaining) => set_link(tx, state, path, above, &remaining),
                    None => self.drop_child(tx, shape, state, path, above),
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
