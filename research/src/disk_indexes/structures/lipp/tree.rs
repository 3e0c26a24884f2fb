//! `Lipp`: LIPP as a `Structure`.

use super::build::LippBuilder;
use super::cursor::LippCursor;
use super::options::LippOptions;
use super::search::get;
use super::shape::LippLayout;
use super::state::LippState;
use super::verify;
use crate::kinds::batch::Batch;
use ogive::Result;
use ogive::index::extend::{
    Amount, Cursor, Entries, IndexLayout, IndexStatistics, IndexVisit, Structure, Visitor, Word,
};
use ogive::page::{PagePhase, Pages, Transaction};

/// LIPP: an ordered index whose nodes have models that compute the only possible slot of each key.
///
/// ```text
///   state -> | NULL | key 3 | NODE | NULL | key 17 | NULL | NODE |     a wide node, which spans pages
///                               |                             |
///                        | key 5 | NULL | key 7 | ...  | key 20 | ...   cells: small nodes that share pages
/// ```
///
/// Keys that conflict in a slot move to a node below it. A lookup needs no search: it reads one page per level, and
/// ends at the slot. Nodes are built with several slots per key, which trades bytes for fewer conflicts, and so fewer
/// blocks. Keys are unique.
///
/// A bulk load holds all keys and payloads in memory (16 bytes per entry for keys and payloads of 8), and a rebuild
/// those of its subtree, which may be the whole index.
///
/// Source: LIPP (Wu et al., VLDB 2021); the [module](super) lists the differences.
#[derive(Clone, Copy, Debug)]
pub struct Lipp {
    pub(super) value_bytes: usize,
    pub(super) options: LippOptions,
}

impl Lipp {
    /// Creates a LIPP index. The slots per key of the options apply, not the fill of the layout.
    pub fn new(layout: &IndexLayout, options: LippOptions) -> Self {
        Self { value_bytes: layout.payload_bytes, options: options.clamped() }
    }

    /// The layout for the page size of `pages`.
    pub(super) fn shape<W: Word>(&self, pages: &dyn Pages) -> Result<LippLayout> {
        LippLayout::new::<W>(pages, self.value_bytes)
    }

    /// The layout, and the decoded state.
    pub(super) fn load<W: Word>(&self, pages: &dyn Pages, state: &[u8]) -> Result<(LippLayout, LippState<W>)> {
        let shape = self.shape::<W>(pages)?;
        let state = LippState::load(pages, &shape, state)?;
        Ok((shape, state))
    }
}

impl<W: Word> Structure<W> for Lipp {
    fn bulk_load(&self, tx: &mut Transaction, entries: &mut dyn Entries<W>) -> Result<Vec<u8>> {
        let shape = self.shape::<W>(tx)?;
        let batch = Batch::collect(entries, self.value_bytes)?;
        let mut state = LippState::EMPTY;
        if !batch.keys.is_empty() {
            tx.enter(PagePhase::Structure);
            let root = LippBuilder::new(&shape, &self.options, &batch, &mut state.free_cells).build(tx, 0)?;
            let entries = batch.keys.len() as u64;
            state = LippState { entries, built: entries, root: Some(root), ..state };
        }
        Ok(state.stored(&shape))
    }

    fn get(&self, pages: &dyn Pages, state: &[u8], key: W, payload: &mut [u8]) -> Result<bool> {
        match self.load::<W>(pages, state)? {
            (shape, LippState { root: Some(root), .. }) => get(pages, &shape, &root, key, payload),
            _ => Ok(false),
        }
    }

    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, payload: &[u8]) -> Result<bool> {
        self.insert_entry(tx, state, key, payload)
    }

    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, _amount: Amount) -> Result<u64> {
        self.remove_entry(tx, state, key)
    }

    fn cursor(&self, state: &[u8]) -> Result<Box<dyn Cursor<W>>> {
        Ok(Box::new(LippCursor::new(self.value_bytes, state)))
    }

    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics> {
        let (shape, state) = self.load::<W>(pages, state)?;
        verify::statistics(pages, &shape, state.root)
    }

    fn verify(&self, pages: &dyn Pages, state: &[u8], visitor: &mut dyn Visitor<W>) -> Result<()> {
        let (shape, state) = self.load::<W>(pages, state)?;
        verify::verify(pages, shape, &state, visitor)
    }

    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<IndexVisit>> {
        match self.load::<W>(pages, state)? {
            (shape, LippState { root: Some(root), .. }) => verify::explain(pages, &shape, &root, key),
            _ => Ok(Vec::new()),
        }
    }

    fn free(&self, tx: &mut Transaction, state: &[u8]) -> Result<()> {
        let (shape, mut state) = self.load::<W>(tx, state)?;
        let Some(root) = state.root else { return Ok(()) };
        let nodes = Self::all_nodes(tx, &shape, &root)?;
        Self::free_all(tx, &shape, &mut state, &nodes);
        Ok(())
    }
}
