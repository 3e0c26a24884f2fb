//! ALEX structure modifications for inserts: expansions, splits, appends.

use super::build::write_plans;
use super::change::AlexChange;
use super::child::{AlexNodeKind, ChildPointer};
use super::cost::{NodeFit, Planner};
use super::inner::{ModelSlots, PlainNode, set_slots, write_plain};
use super::insert::NewEntry;
use super::line::AlexLine;
use super::node::{NodeLinks, load_node, relink, write_node};
use super::plan::NodePlan;
use super::search::AlexStep;
use super::tree::Alex;
use crate::kinds::batch::Batch;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::Transaction;
use std::ops::Range;

/// Each half of a split must have at least 1/8 of the entries.
const HALF_SHARE_DIVISOR: usize = 8;

/// A candidate split of a data node: before entry `at`, at a slot or a separator.
pub(super) struct SplitPlan<W> {
    pub(super) left: NodeFit<W>,
    pub(super) right: NodeFit<W>,
    pub(super) at: usize,
    pub(super) cost: f64,
    pub(super) border: SplitBorder<W>,
}

/// The border between the halves of a split.
pub(super) enum SplitBorder<W> {
    /// The slots of the node in its parent model node: those before `.1` keep the left half (the paper's sideways
    /// split).
    Slot(Range<u32>, u32),
    /// The least key of the right half.
    Key(W),
}

/// The entries of a data node, and its links.
pub(super) type NodeContents<'a, W> = (&'a Batch<W>, NodeLinks);

impl Alex {
    /// Creates the first node.
    pub(super) fn create_root<W: Word>(
        &self,
        tx: &mut Transaction,
        planner: &Planner,
        entry: NewEntry<'_, W>,
    ) -> Result<ChildPointer<W>> {
        let mut batch = Batch::new(self.value_bytes);
        batch.push(entry.key, entry.value);
        let fit = planner.fit(&batch.keys, 1);
        let [root] = write_plans(tx, planner, &batch, &[NodePlan::Data { range: 0..1, fit }], NodeLinks::default(), 0)?;
        Ok(root)
    }
}

impl<W: Word> AlexChange<'_, W> {
    /// Inserts an entry into a data node without room, by an expansion or a split, whichever costs less.
    pub(super) fn insert_into_full(&mut self, entry: NewEntry<'_, W>) -> Result<()> {
        let Some((step, above)) = self.path.split_last() else { return Ok(()) };
        let (mut batch, links) = load_node(self.tx, &self.planner.shape, &step.node)?;
        if links.next == 0 && batch.keys.last().is_some_and(|&last| entry.key > last) {
            return self.append(batch, links, entry);
        }
        batch.insert(entry.key, entry.value);
        let keys = &batch.keys;
        let expanded = grown_pages(self.planner, keys.len()).map(|pages| self.planner.fit(keys, pages));
        let cut = match above.last() {
            Some(parent) if parent.node.kind == AlexNodeKind::Model => {
                sideways(self.tx, self.planner, parent, step, keys)?
            }
            Some(_) => by_count(self.planner, keys),
            None => None,
        };
        match (expanded, cut) {
            (Some(fit), cut) if cut.as_ref().is_none_or(|cut| fit.cost <= cut.cost) => {
                self.tx.count("data node expansion");
                let plan = NodePlan::Data { range: 0..keys.len(), fit };
                self.replace((&batch, links), &plan)?;
            }
            (_, Some(cut)) => self.split((&batch, links), cut)?,
            (_, None) if self.widen((&batch, links))? => {}
            (_, None) => {
                self.tx.count("data node split downwards");
                let plan = self.planner.plan_inner(keys, 0..keys.len(), step.depth);
                self.replace((&batch, links), &plan)?;
            }
        }
        self.tx.free(step.node.first, step.node.pages(&self.planner.shape));
        Ok(())
    }

    /// Replaces a data node by a planned subtree.
    pub(super) fn replace(&mut self, contents: NodeContents<'_, W>, plan: &NodePlan<W>) -> Result<()> {
        let (batch, links) = contents;
        let depth = self.path.last().map_or(0, |step| step.depth);
        let [root] = write_plans(self.tx, self.planner, batch, std::array::from_ref(plan), links, depth)?;
        self.set_child(&root)
    }

    fn split(&mut self, contents: NodeContents<'_, W>, cut: SplitPlan<W>) -> Result<()> {
        let Some((step, above)) = self.path.split_last() else { return Ok(()) };
        let (batch, links) = contents;
        let halves = [
            NodePlan::Data { range: 0..cut.at, fit: cut.left },
            NodePlan::Data { range: cut.at..batch.keys.len(), fit: cut.right },
        ];
        let [left, right] = write_plans(self.tx, self.planner, batch, &halves, links, step.depth)?;
        match (cut.border, above.last()) {
            (SplitBorder::Slot(run, slot), Some(parent)) => {
                self.tx.count("data node split sideways");
                set_slots(self.tx, &self.planner.shape, &parent.node, parent.depth, run.start..slot, &left)?;
                set_slots(self.tx, &self.planner.shape, &parent.node, parent.depth, slot..run.end, &right)
            }
            (SplitBorder::Key(separator), _) => {
                self.tx.count("data node split by count");
                self.set_child(&left)?;
                self.insert_right(&left, (separator, right))
            }
            (SplitBorder::Slot(..), None) => Ok(()),
        }
    }

    /// Appends an entry to the last node, which has no room: doubles the node, with its entries packed; or, if it has
    /// the greatest size, starts a new node with room for further appends.
    fn append(&mut self, mut batch: Batch<W>, links: NodeLinks, entry: NewEntry<'_, W>) -> Result<()> {
        self.tx.count("data node append");
        let Some(&AlexStep { node: old, .. }) = self.path.last() else { return Ok(()) };
        let (old_pages, pages_max) = (u32::from(old.size), u32::from(self.planner.options.max_node_pages));
        let slots = self.planner.shape.slots;
        if old_pages < pages_max {
            batch.push(entry.key, entry.value);
            let count = batch.keys.len();
            let ends: Vec<usize> = (1..=count.div_ceil(slots)).map(|page| (page * slots).min(count)).collect();
            let pages = pages_max.min(old_pages * 2);
            let node = ChildPointer::data(self.tx.allocate_extent(pages)?, pages, AlexLine::fit(&batch.keys, count));
            let fit = NodeFit { line: node.line, ends, cost: 0.0 };
            write_node(self.tx, self.planner, &node, links, &fit, (&batch, 0..count))?;
            relink(self.tx, links, node.first, node.first + pages - 1)?;
            self.set_child(&node)?;
            self.tx.free(old.first, old_pages);
            return Ok(());
        }
        // The model of the old node followed its last appends; now it is fitted to all entries.
        let old = ChildPointer { line: AlexLine::fit(&batch.keys, batch.keys.len()), ..old };
        self.set_child(&old)?;
        let mut single = Batch::new(self.planner.shape.value);
        single.push(entry.key, entry.value);
        let line = AlexLine { base: entry.key, slope: old.line.slope };
        let node = ChildPointer::data(self.tx.allocate_extent(pages_max)?, pages_max, line);
        let links = NodeLinks { previous: old.first + old_pages - 1, next: 0 };
        write_node(self.tx, self.planner, &node, links, &NodeFit { line, ends: vec![1], cost: 0.0 }, (&single, 0..1))?;
        relink(self.tx, links, node.first, node.first)?;
        self.insert_right(&old, (entry.key, node))
    }

    /// Inserts a node after the last node of a path, which is now `left`: into the plain node above, which may split in
    /// turn, or with `left` under a new plain node.
    fn insert_right(&mut self, left: &ChildPointer<W>, right: (W, ChildPointer<W>)) -> Result<()> {
        let shape = &self.planner.shape;
        let Some((step, above)) = self.path.split_last() else { return Ok(()) };
        let Some(parent) = above.last().filter(|parent| parent.node.kind == AlexNodeKind::Plain) else {
            self.tx.count("plain node");
            let plain = write_plain(self.tx, shape, step.depth, &[(W::MIN, *left), right])?;
            return self.set_child(&plain);
        };
        let plain: PlainNode<W> = PlainNode::read(self.tx, shape, parent.node.first, parent.depth)?;
        let index = step.index as usize + 1;
        if plain.count < shape.plain_entries() {
            return plain.insert(self.tx, parent.depth, index.min(plain.count), right);
        }
        self.tx.count("plain node split");
        let mut entries = plain.entries(self.tx)?;
        entries.insert(index.min(entries.len()), right);
        // An append moves only the new entry.
        let cut = if index >= plain.count { plain.count } else { entries.len() / 2 };
        let upper = entries.split_off(cut);
        let Some(&(separator, _)) = upper.first() else { return Ok(()) };
        let right = write_plain(self.tx, shape, parent.depth, &upper)?;
        if let Some(&entry) = entries.get(index) {
            plain.truncate(self.tx, parent.depth, cut - 1)?;
            PlainNode::read(self.tx, shape, plain.number, parent.depth)?.insert(self.tx, parent.depth, index, entry)?;
        } else {
            plain.truncate(self.tx, parent.depth, cut.min(plain.count))?;
        }
        self.at(above).insert_right(&parent.node, (separator, right))
    }
}

/// Number of pages of a data node with room to grow; `None` if it would be too large.
fn grown_pages(planner: &Planner, entries: usize) -> Option<usize> {
    let pages_max = usize::from(planner.options.max_node_pages);
    (entries <= planner.node_entries()).then(|| planner.pages_for(entries, planner.options.min_percent).min(pages_max))
}

/// The split before entry `at`; `None` if a half would be too large or too small.
pub(super) fn halves<W: Word>(
    planner: &Planner,
    keys: &[W],
    at: usize,
    border: SplitBorder<W>,
) -> Option<SplitPlan<W>> {
    let (left, right) = keys.split_at(at);
    if left.len().min(right.len()) * HALF_SHARE_DIVISOR < keys.len() {
        return None;
    }
    let left = planner.fit(left, grown_pages(planner, left.len())?);
    let right = planner.fit(right, grown_pages(planner, right.len())?);
    let cost = left.cost + right.cost;
    Some(SplitPlan { left, right, at, cost, border })
}

/// The split at a slot border of the parent model node that is nearest to the middle.
fn sideways<W: Word>(
    tx: &Transaction,
    planner: &Planner,
    parent: &AlexStep<W>,
    step: &AlexStep<W>,
    keys: &[W],
) -> Result<Option<SplitPlan<W>>> {
    let run = ModelSlots::new(tx, &planner.shape, &parent.node, parent.depth).run(step.index)?;
    let Some(middle) = keys.get(keys.len() / 2) else { return Ok(None) };
    let middle_slot = parent.node.slot(*middle);
    let cuts = [middle_slot, middle_slot + 1].into_iter().filter(|slot| run.start < *slot && *slot < run.end);
    let cuts = cuts.map(|slot| (slot, keys.partition_point(|&key| parent.node.slot(key) < slot)));
    let best = cuts.min_by_key(|(_, at)| at.abs_diff(keys.len() / 2));
    Ok(best.and_then(|(slot, at)| halves(planner, keys, at, SplitBorder::Slot(run, slot))))
}

/// The split in the middle, under a plain node.
fn by_count<W: Word>(planner: &Planner, keys: &[W]) -> Option<SplitPlan<W>> {
    let at = keys.len() / 2;
    let cut = halves(planner, keys, at, SplitBorder::Key(*keys.get(at)?))?;
    let cost = cut.cost + planner.division_cost(keys.len());
    Some(SplitPlan { cost, ..cut })
}
