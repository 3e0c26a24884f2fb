//! `Alex`: ALEX as a `Structure`.

use super::build::write_plans;
use super::cost::Planner;
use super::cursor::AlexCursor;
use super::insert::NewEntry;
use super::node::{NodeLinks, find_page};
use super::options::AlexOptions;
use super::search::data_node;
use super::shape::AlexLayout;
use super::state::AlexState;
use super::verify::{self, AlexWalk};
use crate::kinds::batch::Batch;
use ogive::Result;
use ogive::index::extend::{
    Amount, Cursor, Entries, IndexLayout, IndexStatistics, IndexVisit, Structure, Visitor, Word,
};
use ogive::page::{PagePhase, Pages, Transaction};

/// ALEX: an ordered index whose inner nodes compute the child of a key by a linear model, and whose data nodes compute
/// its slot.
///
/// ```text
///   state -> model node (2^b child pointers, each with the child's model; neighbours may be equal)
///              |            |
///              |            model node, or plain node (separators) for keys that a line divides badly
///              data nodes: 1 to 16 pages of slots, some of them free; linked both ways
/// ```
///
/// A lookup reads one page per level: the pointer contains the model, from which the page of the slot, or of the data
/// node, is computed. If the model of a data node predicts a wrong page, neighbouring pages are read too. Keys are
/// unique.
///
/// A bulk load, and a rebuild after 7/8 of the entries were removed, hold all keys and payloads in memory (16 bytes per
/// entry for keys and payloads of 8), and 16 bytes per slot of the widest inner node.
///
/// Source: ALEX (Ding et al., SIGMOD 2020); the [module](super) lists the differences.
#[derive(Clone, Copy, Debug)]
pub struct Alex {
    pub(super) value_bytes: usize,
    pub(super) options: AlexOptions,
}

impl Alex {
    /// Creates an ALEX index. The densities of the options apply, not the fill of the layout.
    pub fn new(layout: &IndexLayout, options: AlexOptions) -> Self {
        Self { value_bytes: layout.payload_bytes, options: options.clamped() }
    }

    /// The planner for the page size of `pages`.
    pub(super) fn planner<W: Word>(&self, pages: &dyn Pages) -> Result<Planner> {
        Ok(Planner { shape: AlexLayout::new::<W>(pages, self.value_bytes)?, options: self.options })
    }

    /// The planner, and the decoded state.
    pub(super) fn load<W: Word>(&self, pages: &dyn Pages, state: &[u8]) -> Result<(Planner, AlexState<W>)> {
        let planner = self.planner::<W>(pages)?;
        let state = AlexState::load(pages, &planner.shape, state)?;
        Ok((planner, state))
    }
}

impl<W: Word> Structure<W> for Alex {
    fn bulk_load(&self, tx: &mut Transaction, entries: &mut dyn Entries<W>) -> Result<Vec<u8>> {
        let planner = self.planner::<W>(tx)?;
        let batch = Batch::collect(entries, self.value_bytes)?;
        let mut state = AlexState::EMPTY;
        if !batch.keys.is_empty() {
            tx.enter(PagePhase::Structure);
            let plan = planner.plan(&batch.keys, 0..batch.keys.len(), 0);
            let [root] = write_plans(tx, &planner, &batch, &[plan], NodeLinks::default(), 0)?;
            let entries = batch.keys.len() as u64;
            state = AlexState { entries, peak: entries, root: Some(root) };
        }
        Ok(state.stored(&planner.shape))
    }

    fn get(&self, pages: &dyn Pages, state: &[u8], key: W, payload: &mut [u8]) -> Result<bool> {
        let shape = AlexLayout::new::<W>(pages, self.value_bytes)?;
        let Some(root) = AlexState::<W>::load(pages, &shape, state)?.root else { return Ok(false) };
        let node = data_node(pages, &shape, &root, key)?;
        let page = find_page(pages, &shape, &node, key)?;
        let slot = page.find(key, &node.line);
        if let Some(slot) = slot {
            payload.copy_from_slice(page.value(slot));
        }
        Ok(slot.is_some())
    }

    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, payload: &[u8]) -> Result<bool> {
        self.insert_entry(tx, state, NewEntry { key, value: payload })
    }

    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, _amount: Amount) -> Result<u64> {
        self.remove_entry(tx, state, key)
    }

    fn cursor(&self, state: &[u8]) -> Result<Box<dyn Cursor<W>>> {
        Ok(Box::new(AlexCursor::new(self.value_bytes, state)))
    }

    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics> {
        let (planner, state) = self.load::<W>(pages, state)?;
        verify::statistics(&mut AlexWalk::new(pages, planner), &state)
    }

    fn verify(&self, pages: &dyn Pages, state: &[u8], visitor: &mut dyn Visitor<W>) -> Result<()> {
        let (planner, state) = self.load::<W>(pages, state)?;
        verify::verify(&mut AlexWalk::new(pages, planner), &state, visitor)
    }

    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<IndexVisit>> {
        let (planner, state) = self.load::<W>(pages, state)?;
        verify::explain(pages, &planner.shape, &state, key)
    }

    fn free(&self, tx: &mut Transaction, state: &[u8]) -> Result<()> {
        self.free_tree::<W>(tx, state)
    }
}
