//! The layout of LIPP pages: offsets and capacities, from the sizes of pages, keys and payloads.

use super::link::LINK_FIXED_BYTES;
use ogive::index::extend::Word;
use ogive::page::Pages;
use ogive::{Error, Result};

/// Bytes before the cells of a page.
pub(super) const CELLS_HEADER_BYTES: usize = 16;
/// Bytes before the key in the header of a cell.
const CELL_FIXED_BYTES: usize = 20;
/// Bytes before the types of a page of a wide node.
pub(super) const WIDE_HEADER_BYTES: usize = 24;
/// Bytes before the bits of a summary page.
pub(super) const SUMMARY_HEADER_BYTES: usize = 8;
/// Most pages of a wide node with its summary in the first page.
pub(super) const SUMMARY_IN_PAGE_MAX: u32 = 64;
/// Number of slots that share a byte of types.
const SLOTS_PER_BYTE: usize = 4;
/// Least number of slots of a node with a model.
const SLOTS_MIN: usize = 4;

/// Number of size classes of cells.
pub(super) const CLASSES: usize = 9;
/// Number of cells per page, by class. In a page of 4 KiB, a cell of the first class has the eight slots of a node of
/// two keys.
const CELLS_PER_PAGE: [usize; CLASSES] = [24, 16, 12, 8, 6, 4, 3, 2, 1];

/// Sizes and offsets, in bytes unless their names say otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct LippLayout {
    /// Size of a key.
    pub(super) word: usize,
    /// Size of a payload.
    pub(super) value: usize,
    /// Size of a page payload.
    pub(super) page: usize,
}

impl LippLayout {
    /// # Errors
    /// [`Cause::Input`](ogive::Cause::Input) if a page cannot hold four slots.
    pub(super) fn new<W: Word>(pages: &dyn Pages, value: usize) -> Result<Self> {
        let shape = Self { word: W::BYTES, value, page: pages.payload_bytes() };
        let largest = shape.cell_slots(CLASSES - 1).min(shape.packed_entries(CLASSES - 1));
        if largest.min(shape.wide_slots()) < SLOTS_MIN || shape.fence_entries() < SLOTS_MIN {
            return Err(Error::input(format!(
                "a payload of {value} bytes is too large for LIPP in pages of {} bytes; choose larger pages",
                shape.page
            )));
        }
        Ok(shape)
    }

    /// Size of a pointer to a node.
    pub(super) fn link(&self) -> usize {
        LINK_FIXED_BYTES + self.word
    }

    /// Size of a slot: an entry or a pointer.
    pub(super) fn slot(&self) -> usize {
        (self.word + self.value).max(self.link())
    }

    /// Size of an entry of a packed node.
    pub(super) fn entry(&self) -> usize {
        self.word + self.value
    }

    /// Number of slots, with their types, in `bytes` bytes.
    fn slots_in(&self, bytes: usize) -> usize {
        let mut slots = bytes * SLOTS_PER_BYTE / (self.slot() * SLOTS_PER_BYTE + 1);
        while slots > 0 && types_bytes(slots) + slots * self.slot() > bytes {
            slots -= 1;
        }
        slots
    }

    /// Number of slots in a page of a wide node.
    pub(super) fn wide_slots(&self) -> usize {
        self.slots_in(self.page.saturating_sub(WIDE_HEADER_BYTES))
    }

    /// Number of bits of a summary page.
    pub(super) fn summary_bits(&self) -> u32 {
        (self.page.saturating_sub(SUMMARY_HEADER_BYTES) * 8) as u32
    }

    /// Number of summary pages after the slots of a wide node of `pages` pages.
    pub(super) fn summary_pages(&self, pages: u32) -> u32 {
        if pages <= SUMMARY_IN_PAGE_MAX { 0 } else { pages.div_ceil(self.summary_bits().max(1)) }
    }

    /// Number of pages of a wide node with its summary, by size code; `None` if it exceeds any file.
    pub(super) fn wide_extent_pages(&self, size: u8) -> Option<u32> {
        let pages = wide_pages(size)?;
        pages.checked_add(self.summary_pages(pages))
    }

    pub(super) fn cells_in_page(&self, class: usize) -> usize {
        CELLS_PER_PAGE.get(class).copied().unwrap_or(1)
    }

    /// Size of a cell of a class.
    pub(super) fn cell(&self, class: usize) -> usize {
        self.page.saturating_sub(CELLS_HEADER_BYTES) / self.cells_in_page(class)
    }

    /// Size of the header of a cell.
    pub(super) fn cell_header(&self) -> usize {
        CELL_FIXED_BYTES + self.word
    }

    fn cell_room(&self, class: usize) -> usize {
        self.cell(class).saturating_sub(self.cell_header())
    }

    /// Number of slots of a cell of a class.
    pub(super) fn cell_slots(&self, class: usize) -> usize {
        self.slots_in(self.cell_room(class))
    }

    /// Most entries of a packed node in a cell of a class.
    pub(super) fn packed_entries(&self, class: usize) -> usize {
        (self.cell_room(class) / self.entry().max(1)).min(usize::from(u16::MAX))
    }

    /// Most entries of a fence, which takes a page.
    pub(super) fn fence_entries(&self) -> usize {
        (self.cell_room(CLASSES - 1) / (self.word + self.link())).min(usize::from(u16::MAX))
    }

    /// The smallest class whose cells have `slots` slots.
    pub(super) fn class_of_slots(&self, slots: usize) -> Option<usize> {
        (0..CLASSES).find(|&class| self.cell_slots(class) >= slots.max(SLOTS_MIN))
    }

    /// The smallest class whose cells hold `entries` packed entries.
    pub(super) fn class_of_entries(&self, entries: usize) -> Option<usize> {
        (0..CLASSES).find(|&class| self.packed_entries(class) >= entries.max(2))
    }
}

/// Bytes of the types of `slots` slots.
pub(super) fn types_bytes(slots: usize) -> usize {
    slots.div_ceil(SLOTS_PER_BYTE)
}

/// Size codes below this are numbers of pages; others have three bits of mantissa and an exponent.
const EXACT_SIZES: u8 = 16;

/// Number of pages of slots of a wide node, by size code.
pub(super) fn wide_pages(size: u8) -> Option<u32> {
    match size {
        0..EXACT_SIZES => Some(u32::from(size)),
        _ => u32::try_from((8 + u64::from(size % 8)) << (size / 8 - 1)).ok(),
    }
}

/// The least size code with at least `pages` pages; `None` if there is none.
pub(super) fn wide_size(pages: usize) -> Option<u8> {
    (1..=u8::MAX).find(|&size| wide_pages(size).is_some_and(|found| found as usize >= pages))
}
