//! `PgmTree`: the PGM index as a `Structure`.

use super::cursor::PgmCursor;
use super::run::PgmGeometry;
use super::state::PgmState;
use super::{build, insert, remove, search, verify};
use ogive::index::extend::{
    Amount, Cursor, Entries, IndexLayout, IndexStatistics, IndexVisit, Structure, Visitor, Word,
};
use ogive::page::{Pages, Transaction};
use ogive::{Error, Result};

/// Options of a PGM index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PgmOptions {
    /// The greatest error of a lowest segment's line, in positions.
    pub error: u32,
    /// The growth factor of the levels of the logarithmic method; at least 2.
    pub base: u32,
    /// Most entries of the insert buffer; limited to one page, minus the run descriptions there.
    pub buffer_entries: usize,
}

impl Default for PgmOptions {
    /// The settings of Lan et al.: error 64, base 8; a buffer of one page.
    fn default() -> Self {
        Self { error: 64, base: 8, buffer_entries: 256 }
    }
}

/// The PGM index; see the [module](super). Keys are unique.
#[derive(Clone, Copy, Debug)]
pub struct PgmTree {
    payload_bytes: usize,
    options: PgmOptions,
}

impl PgmTree {
    /// Creates a PGM index with payloads of `layout.payload_bytes` bytes. Runs are always full: `layout.fill_percent`
    /// is ignored.
    pub fn new(layout: IndexLayout, options: PgmOptions) -> Self {
        Self { payload_bytes: layout.payload_bytes, options }
    }

    pub(super) fn geometry<W: Word>(&self, pages: &dyn Pages) -> PgmGeometry {
        PgmGeometry::new::<W>(pages.payload_bytes(), self.payload_bytes, u64::from(self.options.error))
    }

    pub(super) fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// Most entries of the buffer in a page with room for `room`.
    pub(super) fn buffer_entries(&self, room: usize) -> usize {
        self.options.buffer_entries.clamp(1, room.clamp(1, usize::from(u16::MAX)))
    }

    /// Most entries of a run of a level.
    pub(super) fn capacity(&self, geometry: &PgmGeometry, level: u8) -> u64 {
        let buffer = self.buffer_entries(geometry.buffer(0).per_page()) as u64;
        let factor = u64::from(self.options.base.max(2)).saturating_pow(u32::from(level) + 1);
        buffer.saturating_mul(factor)
    }

    /// The lowest level whose runs may have `entries` entries.
    pub(super) fn level_of(&self, geometry: &PgmGeometry, entries: u64) -> u8 {
        (0..u8::MAX).find(|&level| self.capacity(geometry, level) >= entries).unwrap_or(u8::MAX)
    }
}

impl<W: Word> Structure<W> for PgmTree {
    fn bulk_load(&self, tx: &mut Transaction, entries: &mut dyn Entries<W>) -> Result<Vec<u8>> {
        let entry_bytes = W::BYTES + self.payload_bytes;
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
