//! ALEX inserts into a data node with room.

use super::child::Child;
use super::cost::Rules;
use super::leaf::{DataPage, Header, compose};
use super::line::Line;
use super::node::{find_page, read_page};
use super::search::{Step, path_to};
use super::split::set_child;
use super::state::State;
use super::tree::Alex;
use crate::batch::Batch;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Phase, Transaction};

/// Parts of a page, in eighths, up to which a neighbour takes over entries of a full page: fuller ones would soon have
/// to give them back.
const EIGHTHS_TO_SHARE: usize = 7;

/// An entry on its way in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a, W> {
    pub(super) key: W,
    pub(super) value: &'a [u8],
}

impl Alex {
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
        let rules = self.rules::<W>(tx)?;
        let mut state = State::load(tx, &rules.shape, bytes)?;
        let grew = match state.root {
            None => {
                tx.enter(Phase::Insert);
                state.root = Some(self.plant(tx, &rules, Entry { key, value })?);
                true
            }
            Some(root) => {
                let path = path_to(tx, &rules.shape, &root, key)?;
                let node = path.last().map_or(root, |step| step.node);
                let page = find_page(tx, &rules.shape, &node, key)?;
                if let Some(slot) = page.find(key, &node.line) {
                    tx.enter(Phase::Insert);
                    page.overwrite(tx, slot, value)?;
                    return Ok(false);
                }
                if page.count() < rules.shape.slots {
                    tx.enter(Phase::Insert);
                    page.insert(tx, &node.line, key, value)?;
                } else if !share(tx, &rules, &mut state, &path, page, Entry { key, value })? {
                    tx.enter(Phase::Structure);
                    self.make_room(tx, &rules, &mut state, &path, Entry { key, value })?;
                }
                true
            }
        };
        state.entries = state.entries.saturating_add(1);
        state.peak = state.peak.max(state.entries);
        *bytes = state.stored(&rules.shape);
        Ok(grew)
    }
}

/// Shifts entries of a full page to the page beside it in the node, if that has room, and puts the new entry in: the
/// bounded distance. An append into a vacant page moves nothing; the model follows the keys, to find the end again.
fn share<W: Word>(
    tx: &mut Transaction,
    rules: &Rules,
    state: &mut State<W>,
    path: &[Step<W>],
    page: DataPage<W>,
    entry: Entry<'_, W>,
) -> Result<bool> {
    let shape = &rules.shape;
    let Some(Step { node, .. }) = path.last() else { return Ok(false) };
    let index = usize::from(page.header.index);
    let mut best: Option<DataPage<W>> = None;
    for beside in [index.checked_sub(1), Some(index + 1).filter(|&index| index < usize::from(node.size))] {
        let Some(beside) = beside else { continue };
        let neighbour = read_page(tx, shape, node, beside, Purpose::Leaf)?;
        let room = neighbour.count() * 8 <= shape.slots * EIGHTHS_TO_SHARE;
        if room && best.as_ref().is_none_or(|best| neighbour.count() < best.count()) {
            best = Some(neighbour);
        }
    }
    let Some(neighbour) = best else { return Ok(false) };
    tx.enter(Phase::Insert);
    let (left, right) = if neighbour.number < page.number { (neighbour, page) } else { (page, neighbour) };
    let appends = right.header.vacant && left.last_key().is_some_and(|last| entry.key > last);
    tx.count(if appends { "page opened" } else { "page shared" });
    let mut batch = Batch::new(shape.value);
    left.entries().chain(right.entries()).for_each(|(key, value)| batch.push(key, value));
    batch.insert(entry.key, entry.value);
    let cut = if appends { left.count() } else { batch.keys.len() / 2 };
    rewrite(tx, rules, &node.line, (&left, &right), &batch, cut)?;
    if let Some(&first) = batch.keys.first().filter(|_| appends) {
        let slope = cut as f64 / entry.key.distance(first);
        let line = Line::through(entry.key, slope, f64::from(right.header.index) * shape.slots as f64);
        set_child(tx, rules, state, path, &Child { line, ..*node })?;
    }
    Ok(true)
}

/// Writes two neighbouring pages anew, with the border between them before entry `cut`.
fn rewrite<W: Word>(
    tx: &mut Transaction,
    rules: &Rules,
    line: &Line<W>,
    (left, right): (&DataPage<W>, &DataPage<W>),
    batch: &Batch<W>,
    cut: usize,
) -> Result<()> {
    let shape = &rules.shape;
    let border = batch.keys.get(cut).copied().unwrap_or_default();
    let last = left.header.last || right.header.last;
    let left_header = Header { last: false, high: border, ..left.header };
    let right_header = Header { vacant: false, last, low: border, ..right.header };
    if cut == left.count() && right.header.vacant {
        // An append leaves the entries of the full page where they are.
        tx.edit(left.number, Purpose::Leaf)?.write(0, &left_header.stored(shape));
    } else {
        let bytes = compose(shape, left_header, line, batch, 0..cut);
        tx.edit(left.number, Purpose::Leaf)?.write(0, &bytes);
    }
    let bytes = compose(shape, right_header, line, batch, cut..batch.keys.len());
    tx.edit(right.number, Purpose::Leaf)?.write(0, &bytes);
    Ok(())
}
