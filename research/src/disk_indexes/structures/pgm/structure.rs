//! The PGM index as a `Structure`: its operations on the decoded state.

use super::cursor::PgmCursor;
use super::state::PgmState;
use super::tree::PgmTree;
use super::{build, insert, remove, search, verify};
use ogive::index::extend::{Amount, Cursor, Entries, IndexStatistics, IndexVisit, Structure, Visitor, Word};
use ogive::page::{Pages, Transaction};
use ogive::{Error, Result};

impl<W: Word> Structure<W> for PgmTree {
    fn bulk_load(&self, tx: &mut Transaction, entries: &mut dyn Entries<W>) -> Result<Vec<u8>> {
        let entry_bytes = W::BYTES + self.payload_bytes();
        let geometry = self.geometry::<W>(tx);
        let buffer = geometry.buffer(0);
        if buffer.flags_offset() + buffer.flags_bytes() > tx.payload_bytes() {
            return Err(Error::input(format!("an entry of {entry_bytes} bytes does not fit into a page")));
        }
        build::bulk_load(self, tx, entries)
    }

    fn get(&self, pages: &dyn Pages, state: &[u8], key: W, payload: &mut [u8]) -> Result<bool> {
        let geometry = self.geometry::<W>(pages);
        search::get(&geometry, pages, &PgmState::load(state, pages, &geometry)?, key, payload)
    }

    fn insert(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, payload: &[u8]) -> Result<bool> {
        let geometry = self.geometry::<W>(tx);
        let mut changed = PgmState::load(state, tx, &geometry)?;
        let grown = insert::insert(self, tx, &mut changed, key, payload)?;
        *state = changed.bytes();
        Ok(grown)
    }

    fn remove(&self, tx: &mut Transaction, state: &mut Vec<u8>, key: W, _amount: Amount) -> Result<u64> {
        let geometry = self.geometry::<W>(tx);
        let mut changed = PgmState::load(state, tx, &geometry)?;
        let removed = remove::remove(self, tx, &mut changed, key)?;
        *state = changed.bytes();
        Ok(u64::from(removed))
    }

    fn cursor(&self, state: &[u8]) -> Result<Box<dyn Cursor<W>>> {
        Ok(Box::new(PgmCursor::<W>::new(*self, state)))
    }

    fn statistics(&self, pages: &dyn Pages, state: &[u8]) -> Result<IndexStatistics> {
        verify::statistics::<W>(self, pages, state)
    }

    fn verify(&self, pages: &dyn Pages, state: &[u8], visitor: &mut dyn Visitor<W>) -> Result<()> {
        verify::verify(self, pages, state, visitor)
    }

    fn explain(&self, pages: &dyn Pages, state: &[u8], key: W) -> Result<Vec<IndexVisit>> {
        let geometry = self.geometry::<W>(pages);
        search::explain(&geometry, pages, &PgmState::load(state, pages, &geometry)?, key)
    }

    fn free(&self, tx: &mut Transaction, state: &[u8]) -> Result<()> {
        verify::free::<W>(self, tx, state)
    }
}
