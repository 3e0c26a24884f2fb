//! `Fiting`: the FITing-tree as a `Structure`.

use super::cursor::FitingCursor;
use super::node::{FitingGeometry, FitingState};
use super::{build, insert, remove, search, verify};
use ogive::index::extend::{
    Amount, Cursor, Entries, IndexLayout, IndexStatistics, IndexVisit, Structure, Visitor, Word,
};
use ogive::page::{Pages, Transaction};
use ogive::{Error, Result};

/// Options of a FITing-tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FitingOptions {
    /// The greatest error of a segment's line, in positions.
    pub error: u32,
    /// Most entries of a segment's buffer; limited to one page.
    pub buffer_entries: usize,
}

impl Default for FitingOptions {
    /// The settings of Lan et al.: error 64, 256 entries.
    fn default() -> Self {
        Self { error: 64, buffer_entries: 256 }
    }
}

/// The FITing-tree; see the [module](super). Keys are unique.
#[derive(Clone, Copy, Debug)]
pub struct Fiting {
    layout: IndexLayout,
    options: FitingOptions,
}

impl Fiting {
    /// Creates a FITing-tree with payloads of `layout.payload_bytes` bytes. Segments are always full;
    /// `layout.fill_percent` is the fill of directory nodes.
    pub fn new(layout: IndexLayout, options: FitingOptions) -> Self {
        Self { layout, options }
    }

    pub(super) fn geometry<W: Word>(&self, pages: &dyn Pages) -> FitingGeometry {
        FitingGeometry::new::<W>(pages.payload_bytes(), self.layout.payload_bytes, self.options.buffer_entries)
    }

    pub(super) fn layout(&self) -> &IndexLayout {
        &self.layout
    }

    pub(super) fn error(&self) -> u64 {
        u64::from(self.options.error)
    }
}

impl<W: Word> Structure<W> for Fiting {
    fn bulk_load(&self, tx: &mut Transaction, entries: &mut dyn Entries<W>) -> Result<Vec<u8>> {
        let entry_bytes = W::BYTES + self.layout.payload_bytes;
        if entry_bytes + 1 > tx.payload_bytes() {
            return Err(Error::input(format!("an entry of {entry_bytes} bytes does not fit into a page")));
        }
        build::bulk_load(self, tx, entries)
    }

    fn get(&self, pages: &dyn Pages, state: &[u8], key: W, payload: &mut [u8]) -> Result<bool> {
        search::get(&self.geometry::<W>(pages), pages, &FitingState::load(state, pages)?, key, payload)
    }

    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, payload: &[u8]) -> Result<bool> {
        let mut changed = FitingState::load(state, tx)?;
        let grown = insert::insert(self, tx, &mut changed, key, payload)?;
        *state = changed.bytes();
        Ok(grown)
    }

    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, _amount: Amount) -> Result<u64> {
        let mut changed = FitingState::load(state, tx)?;
        let removed = remove::remove(self, tx, &mut changed, key)?;
        *state = changed.bytes();
        Ok(u64::from(removed))
    }

    fn cursor(&self, state: &[u8]) -> Result<Box<dyn Cursor<W>>> {
        Ok(Box::new(FitingCursor::<W>::new(*self, state)))
    }

    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics> {
        verify::statistics::<W>(self, pages, &FitingState::load(state, pages)?)
    }

    fn verify(&self, pages: &dyn Pages, state: &[u8], visitor: &mut dyn Visitor<W>) -> Result<()> {
        verify::verify(self, pages, &FitingState::load(state, pages)?, visitor)
    }

    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<IndexVisit>> {
        search::explain(&self.geometry::<W>(pages), pages, &FitingState::load(state, pages)?, key)
    }

    fn free(&self, tx: &mut Transaction, state: &[u8]) -> Result<()> {
        let state = FitingState::load(state, tx)?;
        verify::free::<W>(self, tx, &state)
    }
}
