//! LIPP inserts: into free slots, conflict nodes, packed nodes and fences.

use super::build::LippBuilder;
use super::cells::{free_cell, write_cell};
use super::fence::{self, Fence};
use super::link::Link;
use super::mixed::LippSlot;
use super::node::{LippNode, counts, set_counts};
use super::packed::{self, Packed};
use super::rebuild::set_link;
use super::search::{LippStep, path_to};
use super::shape::{CLASSES, LippLayout};
use super::state::LippState;
use super::tree::Lipp;
use crate::batch::Batch;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{Pages, Phase, Transaction};

/// The outcome of an insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InsertOutcome {
    /// The key existed.
    Overwritten,
    /// The slot was free.
    Placed,
    /// The slot was occupied, or the node has no slots.
    Conflict,
}

impl Lipp {
    /// # Errors
    /// Those of the pages; [`ogive::Error::Damaged`].
    pub(super) fn insert_entry<W: Word>(
        &self,
        tx: &mut Transaction,
        bytes: &mut Vec<u8>,
        key: W,
        value: &[u8],
    ) -> Result<bool> {
        tx.enter(Phase::Search);
        let shape = self.shape::<W>(tx)?;
        let mut state = LippState::load(tx, &shape, bytes)?;
        let mut batch = Batch::new(self.value_bytes);
        batch.push(key, value);
        let Some(root) = state.root else {
            tx.enter(Phase::Insert);
            let root = LippBuilder::new(&shape, &self.options, &batch, &mut state.free_cells).build(tx, 0)?;
            // A new index is packed; it is rebuilt with slots once it has grown.
            let built = u64::from(self.options.rebuild_keys_min / u32::from(self.options.rebuild_growth));
            state = LippState { entries: 1, built, root: Some(root), ..state };
            *bytes = state.stored(&shape);
            return Ok(true);
        };
        let path = path_to(tx, &shape, &root, key)?;
        tx.enter(Phase::Insert);
        let outcome = self.insert_at(tx, &shape, &mut state, &path, &batch)?;
        if outcome != InsertOutcome::Overwritten {
            tx.enter(Phase::Statistics);
            state.entries = state.entries.saturating_add(1);
            state.conflicts = state.conflicts.saturating_add(u32::from(outcome == InsertOutcome::Conflict));
            let crowded = self.count_insert(tx, &shape, &state, &path, outcome == InsertOutcome::Conflict)?;
            if let Some(level) = crowded {
                tx.enter(Phase::Structure);
                tx.count("rebuild");
                self.rebuild(tx, &shape, &mut state, &path, level)?;
            }
        }
        *bytes = state.stored(&shape);
        Ok(outcome != InsertOutcome::Overwritten)
    }

    /// Inserts the only entry of `batch` at the end of a path.
    fn insert_at<W: Word>(
        &self,
        tx: &mut Transaction,
        shape: &LippLayout,
        state: &mut LippState<W>,
        path: &[LippStep<W>],
        batch: &Batch<W>,
    ) -> Result<InsertOutcome> {
        let (Some(step), Some(&key)) = (path.last(), batch.keys.first()) else { return Ok(InsertOutcome::Overwritten) };
        let value = batch.value(0);
        match &step.node {
            LippNode::Mixed(mixed) => match mixed.slot(tx, step.index)? {
                LippSlot::Data(other, old) if other != key => {
                    tx.enter(Phase::Structure);
                    tx.count("conflict node");
                    let mut pair = Batch::new(self.value_bytes);
                    let both =
                        if other < key { [(other, &*old), (key, value)] } else { [(key, value), (other, &*old)] };
                    both.into_iter().for_each(|(key, value)| pair.push(key, value));
                    let builder = LippBuilder::new(shape, &self.options, &pair, &mut state.free_cells);
                    let link = builder.build(tx, path.len() as u8)?;
                    mixed.set(tx, step.index, &LippSlot::Node(link))?;
                    Ok(InsertOutcome::Conflict)
                }
                slot => {
                    mixed.set(tx, step.index, &LippSlot::Data(key, value.to_vec()))?;
                    Ok(if slot == LippSlot::Null { InsertOutcome::Placed } else { InsertOutcome::Overwritten })
                }
            },
            LippNode::Packed(packed) => match packed.find(key) {
                Ok(index) => packed.overwrite(tx, index, value).map(|()| InsertOutcome::Overwritten),
                Err(index) if packed.is_full() => {
                    tx.enter(Phase::Structure);
                    grow_packed(tx, shape, state, path, packed, (index, key, value))?;
                    Ok(InsertOutcome::Conflict)
                }
                Err(index) => packed.insert(tx, index, key, value).map(|()| InsertOutcome::Conflict),
            },
            LippNode::Fence(fence) => Err(tx.damaged(fence.cell.number, "a path ends at a fence")),
        }
    }

    /// Counts an insert in all nodes with models on its path; returns the topmost one to rebuild.
    fn count_insert<W: Word>(
        &self,
        tx: &mut Transaction,
        shape: &LippLayout,
        state: &LippState<W>,
        path: &[LippStep<W>],
        conflict: bool,
    ) -> Result<Option<usize>> {
        let options = &self.options;
        let is_crowded = |entries: u64, built: u64, conflicts: u64| {
            entries >= u64::from(options.rebuild_keys_min)
                && entries >= built.saturating_mul(u64::from(options.rebuild_growth))
                && conflicts.saturating_mul(100)
                    >= (entries - built).saturating_mul(u64::from(options.rebuild_conflict_percent))
        };
        let mut topmost = None;
        for (level, step) in path.iter().enumerate() {
            if level == 0 {
                let sorted = !matches!(step.node, LippNode::Mixed(_));
                let conflicts = if sorted { state.entries } else { u64::from(state.conflicts) };
                topmost = is_crowded(state.entries, state.built, conflicts).then_some(0);
            } else if matches!(step.node, LippNode::Mixed(_)) {
                let mut counts = counts(tx, shape, &step.link, level as u8)?;
                counts.entries = counts.entries.saturating_add(1);
                counts.conflicts = counts.conflicts.saturating_add(u32::from(conflict));
                set_counts(tx, shape, &step.link, level as u8, &counts)?;
                let [entries, built, conflicts] = [counts.entries, counts.built, counts.conflicts].map(u64::from);
                topmost = topmost.or(is_crowded(entries, built, conflicts).then_some(level));
            }
        }
        Ok(topmost)
    }
}

/// Moves a full packed node to a larger cell, or splits it if it has the largest.
fn grow_packed<W: Word>(
    tx: &mut Transaction,
    shape: &LippLayout,
    state: &mut LippState<W>,
    path: &[LippStep<W>],
    packed: &Packed<W>,
    (index, key, value): (usize, W, &[u8]),
) -> Result<()> {
    let mut entries: Vec<(W, &[u8])> = (0..packed.count).map(|at| (packed.key(at), packed.value(at))).collect();
    entries.insert(index, (key, value));
    let level = path.len().saturating_sub(1);
    let old = &packed.cell;
    if old.class + 1 < CLASSES {
        tx.count("packed node grown");
        let class = shape.class_of_entries(entries.len()).unwrap_or(CLASSES - 1);
        let content = packed::content(shape, entries.into_iter());
        let link = write_cell(tx, shape, &mut state.free_cells, class, &content)?;
        free_cell(tx, shape, &mut state.free_cells, old.number, old.cell)?;
        return set_link(tx, state, path, level, &link);
    }
    tx.count("packed node split");
    // An append moves only the new entry.
    let cut = if index == packed.count { index } else { entries.len() / 2 };
    let mut halves = [Link::Cell { page: 0, cell: 0 }; 2];
    for (half, part) in halves.iter_mut().zip([&entries[..cut], &entries[cut..]]) {
        let class = shape.class_of_entries((part.len() * 2).min(packed.count)).unwrap_or(CLASSES - 1);
        let content = packed::content(shape, part.iter().copied());
        *half = write_cell(tx, shape, &mut state.free_cells, class, &content)?;
    }
    free_cell(tx, shape, &mut state.free_cells, old.number, old.cell)?;
    let [left, right] = halves;
    set_link(tx, state, path, level, &left)?;
    insert_right(tx, shape, state, path.get(..level).unwrap_or_default(), left, (entries[cut].0, right))
}

/// Inserts a node after `left`, which is at the end of the path `above`: into the last fence of the path, which may
/// split in turn, or with `left` under a new fence.
fn insert_right<W: Word>(
    tx: &mut Transaction,
    shape: &LippLayout,
    state: &mut LippState<W>,
    above: &[LippStep<W>],
    left: Link<W>,
    right: (W, Link<W>),
) -> Result<()> {
    let level = above.len();
    let Some(LippStep { node: LippNode::Fence(old), index: position, link }) = above.last() else {
        tx.count("fence");
        let content = fence::content(shape, &[(W::MIN, left), right]);
        let link = write_cell(tx, shape, &mut state.free_cells, CLASSES - 1, &content)?;
        return set_link(tx, state, above, level, &link);
    };
    // The page has changed since the path was read: it points to `left` now.
    let LippNode::Fence(fence) = LippNode::open(tx, shape, link, level as u8)? else { return Ok(()) };
    let index = (*position as usize + 1).min(fence.count);
    if !fence.is_full() {
        return fence.insert(tx, index, &right);
    }
    tx.count("fence split");
    let mut entries = fence.entries(tx)?;
    entries.insert(index, right);
    let cut = if index == fence.count { index } else { entries.len() / 2 };
    let upper = entries.split_off(cut);
    Fence::rewrite(&fence, tx, &entries)?;
    let content = fence::content(shape, &upper);
    let link_right = write_cell(tx, shape, &mut state.free_cells, CLASSES - 1, &content)?;
    let Some(&(separator, _)) = upper.first() else { return Err(tx.damaged(old.cell.number, "a fence is empty")) };
    insert_right(tx, shape, state, above.get(..level - 1).unwrap_or_default(), *link, (separator, link_right))
}
