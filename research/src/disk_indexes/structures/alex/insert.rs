//! ALEX inserts into data nodes that have room in the page or in a neighbouring one.

use super::change::AlexChange;
use super::child::ChildPointer;
use super::cost::Planner;
use super::leaf::{DataPage, DataPageHeader, compose};
use super::line::AlexLine;
use super::node::{find_page, read_page};
use super::search::{AlexStep, path_to};
use super::tree::Alex;
use crate::kinds::batch::Batch;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{PagePhase, Transaction};

/// A neighbour takes over entries of a full page if it is at most 7/8 full: a fuller one would soon overflow itself.
const SHARED_PAGE_EIGHTHS_MAX: usize = 7;

/// An entry to insert.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewEntry<'a, W> {
    pub(super) key: W,
    pub(super) value: &'a [u8],
}

impl Alex {
    /// # Errors
    /// Those of the pages; [`ogive::Cause::Damaged`].
    pub(super) fn insert_entry<W: Word>(
        &self,
        tx: &mut Transaction,
        bytes: &mut Vec<u8>,
        entry: NewEntry<'_, W>,
    ) -> Result<bool> {
        let NewEntry { key, value } = entry;
        tx.enter(PagePhase::Search);
        let (planner, mut state) = self.load::<W>(tx, bytes)?;
        let grew = match state.root {
            None => {
                tx.enter(PagePhase::Insert);
                state.root = Some(self.create_root(tx, &planner, entry)?);
                true
            }
            Some(root) => {
                let path = path_to(tx, &planner.shape, &root, key)?;
                let node = path.last().map_or(root, |step| step.node);
                let page = find_page(tx, &planner.shape, &node, key)?;
                if let Some(slot) = page.find(key, &node.line) {
                    tx.enter(PagePhase::Insert);
                    page.overwrite(tx, slot, value)?;
                    return Ok(false);
                }
                if page.count() < planner.shape.slots {
                    tx.enter(PagePhase::Insert);
                    page.insert(tx, &node.line, key, value)?;
                } else {
                    let mut change = AlexChange { tx, planner: &planner, state: &mut state, path: &path };
                    if !change.share_with_neighbour(page, entry)? {
                        change.tx.enter(PagePhase::Structure);
                        change.insert_into_full(entry)?;
                    }
                }
                true
            }
        };
        state.entries = state.entries.saturating_add(1);
        state.peak = state.peak.max(state.entries);
        *bytes = state.stored(&planner.shape);
        Ok(grew)
    }
}

impl<W: Word> AlexChange<'_, W> {
    /// Inserts an entry by shifting entries of a full page to an adjacent page of the node, if that has room. An append
    /// to a vacant page moves nothing, but adjusts the model so that it predicts the end.
    fn share_with_neighbour(&mut self, page: DataPage<W>, entry: NewEntry<'_, W>) -> Result<bool> {
        let shape = &self.planner.shape;
        let Some(AlexStep { node, .. }) = self.path.last() else { return Ok(false) };
        let index = usize::from(page.header.index);
        let mut best: Option<DataPage<W>> = None;
        for neighbour in [index.checked_sub(1), Some(index + 1).filter(|&index| index < usize::from(node.size))] {
            let Some(neighbour) = neighbour else { continue };
            let neighbour = read_page(self.tx, shape, node, neighbour, Purpose::Leaf)?;
            let room = neighbour.count() * 8 <= shape.slots * SHARED_PAGE_EIGHTHS_MAX;
            if room && best.as_ref().is_none_or(|best| neighbour.count() < best.count()) {
                best = Some(neighbour);
            }
        }
        let Some(neighbour) = best else { return Ok(false) };
        self.tx.enter(PagePhase::Insert);
        let (left, right) = if neighbour.number < page.number { (neighbour, page) } else { (page, neighbour) };
        let appends = right.header.vacant && left.last_key().is_some_and(|last| entry.key > last);
        self.tx.count(if appends { "page opened" } else { "page shared" });
        let mut batch = Batch::new(shape.value);
        left.entries().chain(right.entries()).for_each(|(key, value)| batch.push(key, value));
        batch.insert(entry.key, entry.value);
        let cut = if appends { left.count() } else { batch.keys.len() / 2 };
        rewrite(self.tx, self.planner, &node.line, (&left, &right), &batch, cut)?;
        if let Some(&first) = batch.keys.first().filter(|_| appends) {
            let slope = cut as f64 / entry.key.distance(first);
            let line = AlexLine::through(entry.key, slope, f64::from(right.header.index) * shape.slots as f64);
            self.set_child(&ChildPointer { line, ..*node })?;
        }
        Ok(true)
    }
}

/// Rewrites two adjacent pages, with the border before entry `cut`.
fn rewrite<W: Word>(
    tx: &mut Transaction,
    planner: &Planner,
    line: &AlexLine<W>,
    (left, right): (&DataPage<W>, &DataPage<W>),
    batch: &Batch<W>,
    cut: usize,
) -> Result<()> {
    let shape = &planner.shape;
    let border = batch.keys.get(cut).copied().unwrap_or_default();
    let last = left.header.last || right.header.last;
    let left_header = DataPageHeader { last: false, high: border, ..left.header };
    let right_header = DataPageHeader { vacant: false, last, low: border, ..right.header };
    if cut == left.count() && right.header.vacant {
        // An append does not move the entries of the full page.
        tx.edit(left.number, Purpose::Leaf)?.write(0, &left_header.stored(shape));
    } else {
        let bytes = compose(shape, left_header, line, batch, 0..cut);
        tx.edit(left.number, Purpose::Leaf)?.write(0, &bytes);
    }
    let bytes = compose(shape, right_header, line, batch, cut..batch.keys.len());
    tx.edit(right.number, Purpose::Leaf)?.write(0, &bytes);
    Ok(())
}
