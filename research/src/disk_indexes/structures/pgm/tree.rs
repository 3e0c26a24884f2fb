//! `PgmTree`: a PGM index, by its payloads and options.

use super::run::PgmGeometry;
use ogive::index::extend::{IndexLayout, Word};
use ogive::page::Pages;

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
