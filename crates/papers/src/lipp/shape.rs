//! Offsets and capacities of LIPP pages, computed from the sizes of a page, a key and a payload.

use super::link::LINK_FIXED_BYTES;
use ogive::index::extend::Word;
use ogive::page::Pages;
use ogive::{Error, Result};

/// Bytes ahead of the cells of a page.
pub(super) const CELLS_HEADER_BYTES: usize = 16;
/// Bytes ahead of the key in the header of a cell.
const CELL_FIXED_BYTES: usize = 20;
/// Bytes ahead of the types of a page of a wide node.
pub(super) const WIDE_HEADER_BYTES: usize = 24;
/// Bytes ahead of the bits of a summary page.
pub(super) const SUMMARY_HEADER_BYTES: usize = 8;
/// Pages of a wide node whose summary lies in its first page.
pub(super) const SUMMARY_IN_PAGE: u32 = 64;
/// Slots that share a byte of types.
const SLOTS_A_BYTE: usize = 4;
/// Slots of a node with a model, at least.
const FEWEST_SLOTS: usize = 4;

/// Classes of cells.
pub(super) const CLASSES: usize = 9;
/// Cells in a page, by class. In a page of 4 KiB a cell of the first class has the eight slots that a node of two keys
/// asks for.
const CELLS_IN_PAGE: [usize; CLASSES] = [24, 16, 12, 8, 6, 4, 3, 2, 1];

/// Sizes and offsets, in bytes unless their names say otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// A key.
    pub(super) word: usize,
    /// A payload.
    pub(super) value: usize,
    /// What a page holds.
    pub(super) page: usize,
}

impl Shape {
    /// # Errors
    /// [`Error::InvalidArgument`] where a page would not hold four slots.
    pub(super) fn new<W: Word>(pages: &dyn Pages, value: usize) -> Result<Self> {
        let shape = Self { word: W::BYTES, value, page: pages.payload_bytes() };
        let largest = shape.cell_slots(CLASSES - 1).min(shape.packed_entries(CLASSES - 1));
        if largest.min(shape.wide_slots()) < FEWEST_SLOTS || shape.fence_entries() < FEWEST_SLOTS {
            return Err(Error::InvalidArgument(format!(
                "a payload of {value} bytes is too large for LIPP in pages of {} bytes; choose larger pages",
                shape.page
            )));
        }
        Ok(shape)
    }

    /// A pointer to a node.
    pub(super) fn link(&self) -> usize {
        LINK_FIXED_BYTES + self.word
    }

    /// A slot: an entry or a pointer.
    pub(super) fn slot(&self) -> usize {
        (self.word + self.value).max(self.link())
    }

    /// An entry of a packed node.
    pub(super) fn entry(&self) -> usize {
        self.word + self.value
    }

    /// Slots and their types in so many bytes.
    fn slots_in(&self, bytes: usize) -> usize {
        let mut slots = bytes * SLOTS_A_BYTE / (self.slot() * SLOTS_A_BYTE + 1);
        while slots > 0 && types_bytes(slots) + slots * self.slot() > bytes {
            slots -= 1;
        }
        slots
    }

    /// Slots in a page of a wide node.
    pub(super) fn wide_slots(&self) -> usize {
        self.slots_in(self.page.saturating_sub(WIDE_HEADER_BYTES))
    }

    /// Bits of a summary page.
    pub(super) fn summary_bits(&self) -> u32 {
        (self.page.saturating_sub(SUMMARY_HEADER_BYTES) * 8) as u32
    }

    /// Summary pages behind the slots of a wide node of so many pages.
    pub(super) fn summary_pages(&self, pages: u32) -> u32 {
        if pages <= SUMMARY_IN_PAGE { 0 } else { pages.div_ceil(self.summary_bits().max(1)) }
    }

    /// Pages of a wide node, its summary included, by the code of its size; `None` where no file has as many.
    pub(super) fn wide_pages_in_all(&self, size: u8) -> Option<u32> {
        let pages = wide_pages(size)?;
        pages.checked_add(self.summary_pages(pages))
    }

    pub(super) fn cells_in_page(&self, class: usize) -> usize {
        CELLS_IN_PAGE.get(class).copied().unwrap_or(1)
    }

    /// A cell of a class.
    pub(super) fn cell(&self, class: usize) -> usize {
        self.page.saturating_sub(CELLS_HEADER_BYTES) / self.cells_in_page(class)
    }

    /// The header of a cell.
    pub(super) fn cell_header(&self) -> usize {
        CELL_FIXED_BYTES + self.word
    }

    fn cell_room(&self, class: usize) -> usize {
        self.cell(class).saturating_sub(self.cell_header())
    }

    /// Slots of a cell of a class.
    pub(super) fn cell_slots(&self, class: usize) -> usize {
        self.slots_in(self.cell_room(class))
    }

    /// Entries of a packed node in a cell of a class.
    pub(super) fn packed_entries(&self, class: usize) -> usize {
        (self.cell_room(class) / self.entry().max(1)).min(usize::from(u16::MAX))
    }

    /// Entries of a fence, which takes a page.
    pub(super) fn fence_entries(&self) -> usize {
        (self.cell_room(CLASSES - 1) / (self.word + self.link())).min(usize::from(u16::MAX))
    }

    /// The smallest class whose cells have so many slots.
    pub(super) fn class_of_slots(&self, slots: usize) -> Option<usize> {
        (0..CLASSES).find(|&class| self.cell_slots(class) >= slots.max(FEWEST_SLOTS))
    }

    /// The smallest class whose cells hold so many packed entries.
    pub(super) fn class_of_entries(&self, entries: usize) -> Option<usize> {
        (0..CLASSES).find(|&class| self.packed_entries(class) >= entries.max(2))
    }
}

/// Bytes of the types of so many slots.
pub(super) fn types_bytes(slots: usize) -> usize {
    slots.div_ceil(SLOTS_A_BYTE)
}

/// Codes below are numbers of pages; beyond, three bits of mantissa and an exponent.
const EXACT_SIZES: u8 = 16;

/// Pages of slots of a wide node, by the code of its size.
pub(super) fn wide_pages(size: u8) -> Option<u32> {
    match size {
        0..EXACT_SIZES => Some(u32::from(size)),
        _ => u32::try_from((8 + u64::from(size % 8)) << (size / 8 - 1)).ok(),
    }
}

/// The least size that has so many pages; `None` beyond all.
pub(super) fn wide_size(pages: usize) -> Option<u8> {
    (1..=u8::MAX).find(|&size| wide_pages(size).is_some_and(|found| found as usize >= pages))
}
