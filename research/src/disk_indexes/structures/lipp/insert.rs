//! LIPP inserts: into free slots, conflict nodes, packed nodes and fences.

use super::build::LippBuilder;
use super::cells::{free_cell, write_cell};
use super::change::LippChange;
use super::fence::{self, Fence};
use super::link::Link;
use super::mixed::LippSlot;
use super::node::{LippNode, counts, set_counts};
use super::packed::{self, Packed};
use super::search::{LippStep, path_to};
use super::shape::CLASSES;
use super::state::LippState;
use super::tree::Lipp;
use crate::kinds::batch::Batch;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PagePhase, Pages, Transaction};

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
    /// Those of the pages; [`ogive::Cause::Damaged`].
    pub(super) fn insert_entry<W: Word>(
        &self,
        tx: &mut Transaction,
        bytes: &mut Vec<u8>,
        key: W,
        value: &[u8],
    ) -> Result<bool> {
        tx.enter(PagePhase::Search);
        let (shape, mut state) = self.load::<W>(tx, bytes)?;
        let mut batch = Batch::new(self.value_bytes);
        batch.push(key, value);
        let Some(root) = state.root else {
            tx.enter(PagePhase::Insert);
            let root = LippBuilder::new(&shape, &self.options, &batch, &mut state.free_cells).build(tx, 0)?;
            // A new index is packed; it is rebuilt with slots once it has grown.
            let built = u64::from(self.options.rebuild_keys_min / u32::from(self.options.rebuild_growth));
            state = LippState { entries: 1, built, root: Some(root), ..state };
            *bytes = state.stored(&shape);
            return Ok(true);
        };
        let path = path_to(tx, &shape, &root, key)?;
        tx.enter(PagePhase::Insert);
        let mut change = LippChange { tree: self, tx, shape: &shape, state: &mut state, path: &path };
        let outcome = change.insert_at(&batch)?;
        if outcome != InsertOutcome::Overwritten {
            change.tx.enter(PagePhase::Statistics);
            if let Some(level) = change.count_insert(outcome == InsertOutcome::Conflict)? {
                change.tx.enter(PagePhase::Structure);
                change.tx.count("rebuild");
                change.rebuild(level)?;
            }
        }
        *bytes = state.stored(&shape);
        Ok(outcome != InsertOutcome::Overwritten)
    }
}

impl<W: Word> LippChange<'_, W> {
    /// Inserts the only entry of `batch` at the end of a path.
    fn insert_at(&mut self, batch: &Batch<W>) -> Result<InsertOutcome> {
        let (Some(step), Some(&key)) = (self.path.last(), batch.keys.first()) else {
            return Ok(InsertOutcome::Overwritten);
        };
        let value = batch.value(0);
        match &step.node {
            LippNode::Mixed(mixed) => match mixed.slot(self.tx, step.index)? {
                LippSlot::Data(other, old) if other != key => {
                    self.tx.enter(PagePhase::Structure);
                    self.tx.count("conflict node");
                    let mut pair = Batch::new(self.tree.value_bytes);
                    let both =
                        if other < key { [(other, &*old), (key, value)] } else { [(key, value), (other, &*old)] };
                    both.into_iter().for_each(|(key, value)| pair.push(key, value));
                    let builder = LippBuilder::new(self.shape, &self.tree.options, &pair, &mut self.state.free_cells);
                    let link = builder.build(self.tx, self.path.len() as u8)?;
                    mixed.set(self.tx, step.index, &LippSlot::Node(link))?;
                    Ok(InsertOutcome::Conflict)
                }
                slot => {
                    mixed.set(self.tx, step.index, &LippSlot::Data(key, value.to_vec()))?;
                    Ok(if slot == LippSlot::Null { InsertOutcome::Placed } else { InsertOutcome::Overwritten })
                }
            },
            LippNode::Packed(packed) => match packed.find(key) {
                Ok(index) => packed.overwrite(self.tx, index, value).map(|()| InsertOutcome::Overwritten),
                Err(index) if packed.is_full() => {
                    self.tx.enter(PagePhase::Structure);
                    self.grow_packed(packed, (index, key, value))?;
                    Ok(InsertOutcome::Conflict)
                }
                Err(index) => packed.insert(self.tx, index, key, value).map(|()| InsertOutcome::Conflict),
            },
            LippNode::Fence(fence) => Err(self.tx.damaged(fence.cell.number, "a path ends at a fence")),
        }
    }

    /// Counts an insert in all nodes with models on its path; returns the topmost one to rebuild.
    fn count_insert(&mut self, conflict: bool) -> Result<Option<usize>> {
        self.state.entries = self.state.entries.saturating_add(1);
        self.state.conflicts = self.state.conflicts.saturating_add(u32::from(conflict));
        let options = &self.tree.options;
        let is_crowded = |entries: u64, built: u64, conflicts: u64| {
            entries >= u64::from(options.rebuild_keys_min)
                && entries >= built.saturating_mul(u64::from(options.rebuild_growth))
                && conflicts.saturating_mul(100)
                    >= (entries - built).saturating_mul(u64::from(options.rebuild_conflict_percent))
        };
        let mut topmost = None;
        for (level, step) in self.path.iter().enumerate() {
            if level == 0 {
                let sorted = !matches!(step.node, LippNode::Mixed(_));
                let conflicts = if sorted { self.state.entries } else { u64::from(self.state.conflicts) };
                topmost = is_crowded(self.state.entries, self.state.built, conflicts).then_some(0);
            } else if matches!(step.node, LippNode::Mixed(_)) {
                let mut counts = counts(self.tx, self.shape, &step.link, level as u8)?;
                counts.entries = counts.entries.saturating_add(1);
                counts.conflicts = counts.conflicts.saturating_add(u32::from(conflict));
                set_counts(self.tx, self.shape, &step.link, level as u8, &counts)?;
                let [entries, built, conflicts] = [counts.entries, counts.built, counts.conflicts].map(u64::from);
                topmost = topmost.or(is_crowded(entries, built, conflicts).then_some(level));
            }
        }
        Ok(topmost)
    }

    /// Moves a full packed node to a larger cell, or splits it if it has the largest.
    fn grow_packed(&mut self, packed: &Packed<W>, (index, key, value): (usize, W, &[u8])) -> Result<()> {
        let mut entries: Vec<(W, &[u8])> = (0..packed.count).map(|at| (packed.key(at), packed.value(at))).collect();
        entries.insert(index, (key, value));
        let level = self.path.len().saturating_sub(1);
        let old = &packed.cell;
        if old.class + 1 < CLASSES {
            self.tx.count("packed node grown");
            let class = self.shape.class_of_entries(entries.len()).unwrap_or(CLASSES - 1);
            let content = packed::content(self.shape, entries.into_iter());
            let link = write_cell(self.tx, self.shape, &mut self.state.free_cells, class, &content)?;
            free_cell(self.tx, self.shape, &mut self.state.free_cells, old.number, old.cell)?;
            return self.set_link(level, &link);
        }
        self.tx.count("packed node split");
        // An append moves only the new entry.
        let cut = if index == packed.count { index } else { entries.len() / 2 };
        let mut halves = [Link::Cell { page: 0, cell: 0 }; 2];
        for (half, part) in halves.iter_mut().zip([&entries[..cut], &entries[cut..]]) {
            let class = self.shape.class_of_entries((part.len() * 2).min(packed.count)).unwrap_or(CLASSES - 1);
            let content = packed::content(self.shape, part.iter().copied());
            *half = write_cell(self.tx, self.shape, &mut self.state.free_cells, class, &content)?;
        }
        free_cell(self.tx, self.shape, &mut self.state.free_cells, old.number, old.cell)?;
        let [left, right] = halves;
        self.set_link(level, &left)?;
        self.insert_right(level, left, (entries[cut].0, right))
    }

    /// Inserts a node after `left`, which is at step `level` of the path: into the fence above it, which may split in
    /// turn, or with `left` under a new fence.
    fn insert_right(&mut self, level: usize, left: Link<W>, right: (W, Link<W>)) -> Result<()> {
        let Some(LippStep { node: LippNode::Fence(old), index: position, link }) = self.above(level) else {
            self.tx.count("fence");
            let content = fence::content(self.shape, &[(W::MIN, left), right]);
            let link = write_cell(self.tx, self.shape, &mut self.state.free_cells, CLASSES - 1, &content)?;
            return self.set_link(level, &link);
        };
        // The page has changed since the path was read: it points to `left` now.
        let LippNode::Fence(fence) = LippNode::open(self.tx, self.shape, link, level as u8)? else { return Ok(()) };
        let index = (*position as usize + 1).min(fence.count);
        if !fence.is_full() {
            return fence.insert(self.tx, index, &right);
        }
        self.tx.count("fence split");
        let mut entries = fence.entries(self.tx)?;
        entries.insert(index, right);
        let cut = if index == fence.count { index } else { entries.len() / 2 };
        let upper = entries.split_off(cut);
        Fence::rewrite(&fence, self.tx, &entries)?;
        let content = fence::content(self.shape, &upper);
        let link_right = write_cell(self.tx, self.shape, &mut self.state.free_cells, CLASSES - 1, &content)?;
        let Some(&(separator, _)) = upper.first() else {
            return Err(self.tx.damaged(old.cell.number, "a fence is empty"));
        };
        self.insert_right(level - 1, *link, (separator, link_right))
    }
}
