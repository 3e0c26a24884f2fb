//! The committed state of a LIPP index, from which every operation starts.

use super::link::Link;
use super::shape::{CLASSES, LippLayout};
use crate::kinds::numbers::{u32_at, u64_at};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Pages};

/// Offset of the root.
const ROOT_OFFSET: usize = 20;

/// The state of an index: statistics and pointer of the root, and for each class of cells the first page with a free
/// one.
///
/// ```text
///   0        8      16         20    20 + link
///   entries  built  conflicts  root  first page with a free cell, of each of the nine classes; 0 if there is none
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct LippState<W> {
    pub(super) entries: u64,
    /// Number of entries when the root was built.
    pub(super) built: u64,
    /// Number of inserts since then that hit an occupied slot.
    pub(super) conflicts: u32,
    pub(super) root: Option<Link<W>>,
    pub(super) free_cells: [PageNumber; CLASSES],
}

impl<W: Word> LippState<W> {
    pub(super) const EMPTY: Self = Self { entries: 0, built: 0, conflicts: 0, root: None, free_cells: [0; CLASSES] };

    /// # Errors
    /// [`ogive::Cause::Damaged`] for an invalid state.
    pub(super) fn load(pages: &dyn Pages, shape: &LippLayout, bytes: &[u8]) -> Result<Self> {
        if bytes.is_empty() {
            return Ok(Self::EMPTY);
        }
        let lists = ROOT_OFFSET + shape.link();
        if bytes.len() != lists + 4 * CLASSES {
            return Err(pages.damaged(0, "the state of the index has an invalid length"));
        }
        let root = bytes.get(ROOT_OFFSET..lists).filter(|root| root.iter().any(|&byte| byte != 0));
        let root = root.map(|root| Link::load(pages, shape, 0, root)).transpose()?;
        let free_cells = std::array::from_fn(|class| u32_at(bytes, lists + 4 * class));
        Ok(Self { entries: u64_at(bytes, 0), built: u64_at(bytes, 8), conflicts: u32_at(bytes, 16), root, free_cells })
    }

    pub(super) fn stored(&self, shape: &LippLayout) -> Vec<u8> {
        let mut bytes = [self.entries.to_le_bytes(), self.built.to_le_bytes()].concat();
        bytes.extend(self.conflicts.to_le_bytes());
        bytes.extend(self.root.map_or(vec![0; shape.link()], |root| root.stored(shape)));
        bytes.extend(self.free_cells.iter().flat_map(|page| page.to_le_bytes()));
        bytes
    }
}
