//! ALEX removals: contractions, merges, and release of empty nodes.

use super::build::write_plans;
use super::child::{Child, Kind};
use super::cost::Rules;
use super::inner::{Plain, Slots, set_slots};
use super::node::{Links, find_page, load_node, relink};
use super::plan::Plan;
use super::search::{Step, path_to};
use super::split::set_child;
use super::state::State;
use super::tree::Alex;
use crate::batch::Batch;
use ogive::Result;
use ogive::index::extend::{Structure, Word};
use ogive::page::{Phase, Transaction};

/// When no more than one in so many entries is left since the tree was made as a whole, it is made anew.
const REBUILD_SHARE: u64 = 8;
/// Part of a page, one in so many, at which its node is looked at: and at half the least density of a node it is
/// contracted.
const THIN_PAGE: usize = 4;

impl Alex {
    /// # Errors
    /// Those of the pages; [`ogive::Error::Damaged`].
    pub(super) fn remove_entry<W: Word>(&self, tx: &mut Transaction, bytes: &mut Vec<u8>, key: W) -> Result<u64> {
        tx.enter(Phase::Search);
        let rules = self.rules::<W>(tx)?;
        let mut state = State::load(tx, &rules.shape, bytes)?;
        let Some(root) = state.root else { return Ok(0) };
        let path = path_to(tx, &rules.shape, &root, key)?;
        let node = path.last().map_or(root, |step| step.node);
        let page = find_page(tx, &rules.shape, &node, key)?;
        let Some(slot) = page.find(key, &node.line) else { return Ok(0) };
        tx.enter(Phase::Insert);
        page.remove(tx, slot)?;
        state.entries = state.entries.saturating_sub(1);
        let left = page.count().saturating_sub(1);
        tx.enter(Phase::Structure);
        if state.entries == 0 {
            self.free_tree::<W>(tx, bytes)?;
            state = State::EMPTY;
        } else if state.entries < state.peak / REBUILD_SHARE && state.peak > rules.page_entries() as u64 {
            tx.count("rebuild");
            state = self.rebuild(tx, &rules, &state)?;
        } else if left == 0 || left == rules.shape.slots / THIN_PAGE {
            self.shrink(tx, &rules, &mut state, &path)?;
        }
        *bytes = state.stored(&rules.shape);
        Ok(1)
    }

    /// The whole tree anew.
    fn rebuild<W: Word>(&self, tx: &mut Transaction, rules: &Rules, state: &State<W>) -> Result<State<W>> {
        let bytes = state.stored(&rules.shape);
        let mut cursor = Structure::<W>::cursor(self, &bytes)?;
        let mut batch = Batch::new(self.value_bytes);
        let mut value = vec![0; self.value_bytes];
        cursor.seek(tx, W::MIN)?;
        while let Some(key) = cursor.next(tx, &mut value)? {
            batch.push(key, &value);
        }
        let plan = rules.plan(&batch.keys, 0..batch.keys.len(), 0);
        let [root] = write_plans(tx, rules, &batch, &[plan], Links::default(), 0)?;
        self.free_tree::<W>(tx, &bytes)?;
        let entries = batch.keys.len() as u64;
        Ok(State { entries, peak: entries, root: Some(root) })
    }

    /// Looks at a data node that has lost entries.
    fn shrink<W: Word>(
        &self,
        tx: &mut Transaction,
        rules: &Rules,
        state: &mut State<W>,
        path: &[Step<W>],
    ) -> Result<()> {
        let Some(&Step { node, .. }) = path.last() else { return Ok(()) };
        let (batch, links) = load_node(tx, &rules.shape, &node)?;
        let (entries, pages) = (batch.keys.len(), usize::from(node.size));
        if entries == 0 {
            if path.len() > 1 {
                tx.count("data node removed");
                relink(tx, links, links.next, links.previous)?;
                tx.free(node.first, node.pages(&rules.shape));
                return remove_child(tx, rules, state, path);
            }
        } else if pages > 1 {
            let room = pages * rules.shape.slots;
            if entries * 200 < room * usize::from(rules.options.min_percent) {
                tx.count("data node contraction");
                let pages = rules.pages_for(entries, rules.options.initial_percent);
                let fit = rules.fit(&batch.keys, pages);
                let plan = Plan::Data { range: 0..entries, fit };
                self.replace(tx, rules, state, path, (&batch, links), &plan)?;
                tx.free(node.first, node.pages(&rules.shape));
            }
        } else if entries <= rules.shape.slots / THIN_PAGE {
            return self.merge(tx, rules, state, path, (batch, links));
        }
        Ok(())
    }

    /// Puts the few entries of a data node into the one beside it, under the same inner node, where both are of one
    /// page and fit one.
    fn merge<W: Word>(
        &self,
        tx: &mut Transaction,
        rules: &Rules,
        state: &mut State<W>,
        path: &[Step<W>],
        (batch, links): (Batch<W>, Links),
    ) -> Result<()> {
        let Some((step, above)) = path.split_last() else { return Ok(()) };
        let Some((place, sibling)) = sibling(tx, rules, path)? else { return Ok(()) };
        if sibling.kind != Kind::Data || sibling.size != 1 {
            return Ok(());
        }
        let (other, other_links) = load_node(tx, &rules.shape, &sibling)?;
        let ((mut all, rest), links) = if place < step.place {
            ((other, batch), Links { previous: other_links.previous, next: links.next })
        } else {
            ((batch, other), Links { previous: links.previous, next: other_links.next })
        };
        let entries = all.keys.len() + rest.keys.len();
        let ascend = all.keys.last() < rest.keys.first() || rest.keys.is_empty();
        if !ascend || entries > rules.shape.slots * usize::from(rules.options.initial_percent) / 100 {
            return Ok(());
        }
        tx.count("data node merge");
        all.keys.extend(rest.keys);
        all.values.extend(rest.values);
        let fit = rules.fit(&all.keys, 1);
        let plan = Plan::Data { range: 0..entries, fit };
        let to_sibling = [above, &[Step { node: sibling, place, depth: step.depth }]].concat();
        self.replace(tx, rules, state, &to_sibling, (&all, links), &plan)?;
        tx.free(sibling.first, 1);
        tx.free(step.node.first, 1);
        remove_child(tx, rules, state, path)
    }
}

/// The node that the keys of the last node of a path fall to when it goes: the one before it under the same inner node,
/// else the one behind; and where it stands.
fn sibling<W: Word>(tx: &Transaction, rules: &Rules, path: &[Step<W>]) -> Result<Option<(u32, Child<W>)>> {
    let Some((step, above)) = path.split_last() else { return Ok(None) };
    let Some(parent) = above.last() else { return Ok(None) };
    if parent.node.kind == Kind::Model {
        let mut slots = Slots::new(tx, &rules.shape, &parent.node, parent.depth);
        let run = slots.run(step.place)?;
        let place = run.start.checked_sub(1).or(Some(run.end).filter(|&end| end < parent.node.fanout()));
        return place.map(|place| Ok((place, slots.child(place)?))).transpose();
    }
    let plain: Plain<W> = Plain::read(tx, &rules.shape, parent.node.first, parent.depth)?;
    let index = step.place as usize;
    let place = index.checked_sub(1).or(Some(index + 1).filter(|&index| index < plain.count));
    place.map(|place| Ok((place as u32, plain.child(tx, place)?))).transpose()
}

/// Takes out the pointer to the last node of a path; an inner node that is left with one child gives way to it, one
/// that is left with none goes, too.
fn remove_child<W: Word>(tx: &mut Transaction, rules: &Rules, state: &mut State<W>, path: &[Step<W>]) -> Result<()> {
    let Some((step, above)) = path.split_last() else { return Ok(()) };
    let Some(parent) = above.last() else {
        state.root = None;
        return Ok(());
    };
    let (shape, node, depth) = (&rules.shape, &parent.node, parent.depth);
    let Some((place, heir)) = sibling(tx, rules, path)? else {
        tx.free(node.first, node.pages(shape));
        return remove_child(tx, rules, state, above);
    };
    let only = if node.kind == Kind::Model {
        let run = Slots::new(tx, shape, node, depth).run(step.place)?;
        set_slots(tx, shape, node, depth, run, &heir)?;
        Slots::new(tx, shape, node, depth).run(place)? == (0..node.fanout())
    } else {
        let plain: Plain<W> = Plain::read(tx, shape, node.first, depth)?;
        plain.remove(tx, depth, step.place as usize)?;
        plain.count == 2
    };
    if only {
        tx.count("inner node removed");
        tx.free(node.first, node.pages(shape));
        set_child(tx, rules, state, above, &heir)?;
    }
    Ok(())
}
