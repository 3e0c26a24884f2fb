//! ALEX structure modifications for inserts: expansions, splits, appends.

use super::build::write_plans;
use super::child::{Child, Kind};
use super::cost::{Fit, Rules};
use super::inner::{Plain, Slots, set_slots, write_plain};
use super::insert::Entry;
use super::line::Line;
use super::node::{Links, load_node, relink, write_node};
use super::plan::Plan;
use super::search::Step;
use super::state::State;
use super::tree::Alex;
use crate::batch::Batch;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::Transaction;
use std::ops::Range;

/// Part of the entries, one in so many, that each half of a split must have at least.
const LEAST_SHARE: usize = 8;

/// A way to split a data node in two: at an entry, and there at a slot or a separator.
pub(super) struct Cut<W> {
    pub(super) left: Fit<W>,
    pub(super) right: Fit<W>,
    pub(super) at: usize,
    pub(super) cost: f64,
    pub(super) border: Border<W>,
}

/// What parts the halves.
pub(super) enum Border<W> {
    /// The slots of the model node above that lead to the node: those before `.1` go on to lead to the left half (the
    /// paper's split sideways).
    Slot(Range<u32>, u32),
    /// The least key of the right half.
    Key(W),
}

impl Alex {
    /// The first node.
    pub(super) fn plant<W: Word>(&self, tx: &mut Transaction, rules: &Rules, entry: Entry<'_, W>) -> Result<Child<W>> {
        let mut batch = Batch::new(self.value_bytes);
        batch.push(entry.key, entry.value);
        let fit = rules.fit(&batch.keys, 1);
        let [root] = write_plans(tx, rules, &batch, &[Plan::Data { range: 0..1, fit }], Links::default(), 0)?;
        Ok(root)
    }

    /// Puts an entry into a data node that has no room where it belongs: by an expansion or a split, whichever costs
    /// less.
    pub(super) fn make_room<W: Word>(
        &self,
        tx: &mut Transaction,
        rules: &Rules,
        state: &mut State<W>,
        path: &[Step<W>],
        entry: Entry<'_, W>,
    ) -> Result<()> {
        let Some((step, above)) = path.split_last() else { return Ok(()) };
        let (mut batch, links) = load_node(tx, &rules.shape, &step.node)?;
        if links.next == 0 && batch.keys.last().is_some_and(|&last| entry.key > last) {
            return self.append(tx, rules, state, path, (batch, links), entry);
        }
        batch.insert(entry.key, entry.value);
        let keys = &batch.keys;
        let expanded = grown_pages(rules, keys.len()).map(|pages| rules.fit(keys, pages));
        let cut = match above.last() {
            Some(parent) if parent.node.kind == Kind::Model => sideways(tx, rules, parent, step, keys)?,
            Some(_) => by_count(rules, keys),
            None => None,
        };
        match (expanded, cut) {
            (Some(fit), cut) if cut.as_ref().is_none_or(|cut| fit.cost <= cut.cost) => {
                tx.count("data node expansion");
                let plan = Plan::Data { range: 0..keys.len(), fit };
                self.replace(tx, rules, state, path, (&batch, links), &plan)?;
            }
            (_, Some(cut)) => self.split(tx, rules, state, path, (&batch, links), cut)?,
            (_, None) if self.widen(tx, rules, state, path, (&batch, links))? => {}
            (_, None) => {
                tx.count("data node split downwards");
                let plan = rules.plan_inner(keys, 0..keys.len(), step.depth);
                self.replace(tx, rules, state, path, (&batch, links), &plan)?;
            }
        }
        tx.free(step.node.first, step.node.pages(&rules.shape));
        Ok(())
    }

    /// Puts other nodes in the place of a data node.
    pub(super) fn replace<W: Word>(
        &self,
        tx: &mut Transaction,
        rules: &Rules,
        state: &mut State<W>,
        path: &[Step<W>],
        (batch, links): (&Batch<W>, Links),
        plan: &Plan<W>,
    ) -> Result<()> {
        let depth = path.last().map_or(0, |step| step.depth);
        let [root] = write_plans(tx, rules, batch, std::array::from_ref(plan), links, depth)?;
        set_child(tx, rules, state, path, &root)
    }

    fn split<W: Word>(
        &self,
        tx: &mut Transaction,
        rules: &Rules,
        state: &mut State<W>,
        path: &[Step<W>],
        (batch, links): (&Batch<W>, Links),
        cut: Cut<W>,
    ) -> Result<()> {
        let Some((step, above)) = path.split_last() else { return Ok(()) };
        let halves = [
            Plan::Data { range: 0..cut.at, fit: cut.left },
            Plan::Data { range: cut.at..batch.keys.len(), fit: cut.right },
        ];
        let [left, right] = write_plans(tx, rules, batch, &halves, links, step.depth)?;
        match (cut.border, above.last()) {
            (Border::Slot(run, slot), Some(parent)) => {
                tx.count("data node split sideways");
                set_slots(tx, &rules.shape, &parent.node, parent.depth, run.start..slot, &left)?;
                set_slots(tx, &rules.shape, &parent.node, parent.depth, slot..run.end, &right)
            }
            (Border::Key(separator), _) => {
                tx.count("data node split by count");
                set_child(tx, rules, state, path, &left)?;
                insert_right(tx, rules, state, path, &left, (separator, right))
            }
            (Border::Slot(..), None) => Ok(()),
        }
    }

    /// An entry behind all others, for which the last node has no room: entries stay as they are, packed, and the node
    /// is doubled; or, from the greatest size on, the next node begins, with room for as many appends as a node takes.
    fn append<W: Word>(
        &self,
        tx: &mut Transaction,
        rules: &Rules,
        state: &mut State<W>,
        path: &[Step<W>],
        (mut batch, links): (Batch<W>, Links),
        entry: Entry<'_, W>,
    ) -> Result<()> {
        tx.count("data node append");
        let Some(&Step { node: old, .. }) = path.last() else { return Ok(()) };
        let (old_pages, most) = (u32::from(old.size), u32::from(rules.options.max_node_pages));
        let slots = rules.shape.slots;
        if old_pages < most {
            batch.push(entry.key, entry.value);
            let count = batch.keys.len();
            let ends: Vec<usize> = (1..=count.div_ceil(slots)).map(|page| (page * slots).min(count)).collect();
            let pages = most.min(old_pages * 2);
            let node = Child::data(tx.allocate_extent(pages)?, pages, Line::fit(&batch.keys, count));
            let fit = Fit { line: node.line, ends, cost: 0.0 };
            write_node(tx, rules, &node, links, &fit, (&batch, 0..count))?;
            relink(tx, links, node.first, node.first + pages - 1)?;
            set_child(tx, rules, state, path, &node)?;
            tx.free(old.first, old_pages);
            return Ok(());
        }
        // The old node is full: its model, which followed the last appends, is fitted to all of it.
        let old = Child { line: Line::fit(&batch.keys, batch.keys.len()), ..old };
        set_child(tx, rules, state, path, &old)?;
        let mut alone = Batch::new(self.value_bytes);
        alone.push(entry.key, entry.value);
        let line = Line { base: entry.key, slope: old.line.slope };
        let node = Child::data(tx.allocate_extent(most)?, most, line);
        let links = Links { previous: old.first + old_pages - 1, next: 0 };
        write_node(tx, rules, &node, links, &Fit { line, ends: vec![1], cost: 0.0 }, (&alone, 0..1))?;
        relink(tx, links, node.first, node.first)?;
        insert_right(tx, rules, state, path, &old, (entry.key, node))
    }
}

/// Pages of a data node that is written with room to grow; `None` where it would be too large.
fn grown_pages(rules: &Rules, entries: usize) -> Option<usize> {
    let most = usize::from(rules.options.max_node_pages);
    (entries <= rules.node_entries()).then(|| rules.pages_for(entries, rules.options.min_percent).min(most))
}

/// Costs of the halves of a split before entry `at`; `None` where one would be too large, or hardly worth a node.
pub(super) fn halves<W: Word>(rules: &Rules, keys: &[W], at: usize, border: Border<W>) -> Option<Cut<W>> {
    let (left, right) = keys.split_at(at);
    if left.len().min(right.len()) * LEAST_SHARE < keys.len() {
        return None;
    }
    let left = rules.fit(left, grown_pages(rules, left.len())?);
    let right = rules.fit(right, grown_pages(rules, right.len())?);
    let cost = left.cost + right.cost;
    Some(Cut { left, right, at, cost, border })
}

/// A split at the border of two slots of the model node above: the one that comes nearest to the middle.
fn sideways<W: Word>(
    tx: &Transaction,
    rules: &Rules,
    parent: &Step<W>,
    step: &Step<W>,
    keys: &[W],
) -> Result<Option<Cut<W>>> {
    let run = Slots::new(tx, &rules.shape, &parent.node, parent.depth).run(step.place)?;
    let Some(middle) = keys.get(keys.len() / 2) else { return Ok(None) };
    let middle_slot = parent.node.slot(*middle);
    let cuts = [middle_slot, middle_slot + 1].into_iter().filter(|slot| run.start < *slot && *slot < run.end);
    let cuts = cuts.map(|slot| (slot, keys.partition_point(|&key| parent.node.slot(key) < slot)));
    let best = cuts.min_by_key(|(_, at)| at.abs_diff(keys.len() / 2));
    Ok(best.and_then(|(slot, at)| halves(rules, keys, at, Border::Slot(run, slot))))
}

/// A split in the middle, under a plain node.
fn by_count<W: Word>(rules: &Rules, keys: &[W]) -> Option<Cut<W>> {
    let at = keys.len() / 2;
    let cut = halves(rules, keys, at, Border::Key(*keys.get(at)?))?;
    let cost = cut.cost + rules.division_cost(keys.len());
    Some(Cut { cost, ..cut })
}

/// Leads the pointer to the last node of a path to another node.
pub(super) fn set_child<W: Word>(
    tx: &mut Transaction,
    rules: &Rules,
    state: &mut State<W>,
    path: &[Step<W>],
    child: &Child<W>,
) -> Result<()> {
    let Some((step, above)) = path.split_last() else { return Ok(()) };
    let Some(parent) = above.last() else {
        state.root = Some(*child);
        return Ok(());
    };
    if parent.node.kind == Kind::Model {
        let run = Slots::new(tx, &rules.shape, &parent.node, parent.depth).run(step.place)?;
        return set_slots(tx, &rules.shape, &parent.node, parent.depth, run, child);
    }
    let plain: Plain<W> = Plain::read(tx, &rules.shape, parent.node.first, parent.depth)?;
    plain.set_child(tx, parent.depth, step.place as usize, child)
}

/// Puts a node in behind the last node of a path, which is `left` by now: into the plain node above, which may split in
/// turn; or both under a new plain node.
fn insert_right<W: Word>(
    tx: &mut Transaction,
    rules: &Rules,
    state: &mut State<W>,
    path: &[Step<W>],
    left: &Child<W>,
    right: (W, Child<W>),
) -> Result<()> {
    let Some((step, above)) = path.split_last() else { return Ok(()) };
    let Some(parent) = above.last().filter(|parent| parent.node.kind == Kind::Plain) else {
        tx.count("plain node");
        let plain = write_plain(tx, &rules.shape, step.depth, &[(W::MIN, *left), right])?;
        return set_child(tx, rules, state, path, &plain);
    };
    let plain: Plain<W> = Plain::read(tx, &rules.shape, parent.node.first, parent.depth)?;
    let index = step.place as usize + 1;
    if plain.count < rules.shape.plain_entries() {
        return plain.insert(tx, parent.depth, index.min(plain.count), right);
    }
    tx.count("plain node split");
    let mut entries = plain.entries(tx)?;
    entries.insert(index.min(entries.len()), right);
    // Behind the last entry, as appends do, nothing but the new one moves.
    let cut = if index >= plain.count { plain.count } else { entries.len() / 2 };
    let upper = entries.split_off(cut);
    let Some(&(separator, _)) = upper.first() else { return Ok(()) };
    let right = write_plain(tx, &rules.shape, parent.depth, &upper)?;
    if let Some(&entry) = entries.get(index) {
        plain.truncate(tx, parent.depth, cut - 1)?;
        Plain::read(tx, &rules.shape, plain.number, parent.depth)?.insert(tx, parent.depth, index, entry)?;
    } else {
        plain.truncate(tx, parent.depth, cut.min(plain.count))?;
    }
    insert_right(tx, rules, state, above, &parent.node, (separator, right))
}
