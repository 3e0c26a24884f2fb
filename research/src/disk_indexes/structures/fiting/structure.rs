//! The FITing-tree as a `Structure`: its operations on the decoded state.

use super::cursor::FitingCursor;
use super::node::FitingState;
use super::tree::Fiting;
use super::{build, insert, remove, search, verify};
use ogive::index::extend::{Amount, Cursor, Entries, IndexStatistics, IndexVisit, Structure, Visitor, Word};
use ogive::page::{Pages, Transaction};
use ogive::{Error, Result};

impl<W: Word> Structure<W> for Fiting {
    fn bulk_load(&self, tx: &mut Transaction, entries: &mut dyn Entries<W>) -> Result<Vec<u8>> {
        let entry_bytes = W::BYTES + self.layout().payload_bytes;
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
