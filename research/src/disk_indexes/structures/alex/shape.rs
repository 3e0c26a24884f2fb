//! The layout of ALEX pages: offsets and capacities, from the sizes of pages, keys and payloads.

use ogive::index::extend::Word;
use ogive::page::Pages;
use ogive::{Error, Result};

/// Bytes before the two keys in the header of a data page.
pub(super) const DATA_FIXED_BYTES: usize = 16;
/// Bytes before the slots or entries of an inner page.
pub(super) const INNER_HEADER_BYTES: usize = 8;
/// Bytes of a child pointer without its key.
const CHILD_FIXED_BYTES: usize = 12;
/// Least number of entries for which a page must have room.
const SLOTS_MIN: usize = 4;

/// Sizes and offsets, in bytes unless their names say otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct AlexLayout {
    /// Size of a key.
    pub(super) word: usize,
    /// Size of a payload.
    pub(super) value: usize,
    /// Size of a page payload.
    pub(super) page: usize,
    /// Number of slots of a data page.
    pub(super) slots: usize,
}

impl AlexLayout {
    /// # Errors
    /// [`Cause::Input`](ogive::Cause::Input) if a page cannot hold four entries.
    pub(super) fn new<W: Word>(pages: &dyn Pages, value: usize) -> Result<Self> {
        let (page, word) = (pages.payload_bytes(), W::BYTES);
        let room = page.saturating_sub(DATA_FIXED_BYTES + 2 * word);
        let entry = word + value;
        let mut slots = (room * 8 / (entry * 8 + 1)).min(usize::from(u16::MAX));
        while slots > 0 && slots.div_ceil(8) + slots * entry > room {
            slots -= 1;
        }
        let shape = Self { word, value, page, slots };
        if slots < SLOTS_MIN || shape.plain_entries() < SLOTS_MIN {
            return Err(Error::input(format!(
                "a payload of {value} bytes is too large for ALEX in pages of {page} bytes; choose larger pages"
            )));
        }
        Ok(shape)
    }

    /// Size of an entry.
    pub(super) fn entry(&self) -> usize {
        self.word + self.value
    }

    pub(super) fn bitmap_offset(&self) -> usize {
        DATA_FIXED_BYTES + 2 * self.word
    }

    pub(super) fn slot_offset(&self, slot: usize) -> usize {
        self.bitmap_offset() + self.slots.div_ceil(8) + slot * self.entry()
    }

    /// Size of a child pointer.
    pub(super) fn child(&self) -> usize {
        CHILD_FIXED_BYTES + self.word
    }

    /// Number of child pointers in a page of a model node.
    pub(super) fn model_slots(&self) -> usize {
        (self.page - INNER_HEADER_BYTES) / self.child()
    }

    /// Number of pages of a model node with `slots` slots.
    pub(super) fn model_pages(&self, slots: u32) -> u32 {
        slots.div_ceil(self.model_slots() as u32)
    }

    /// Most children of a plain node.
    pub(super) fn plain_entries(&self) -> usize {
        self.page.saturating_sub(INNER_HEADER_BYTES) / (self.word + self.child())
    }

    /// Offset of an entry of a plain node: its separator, followed by the child pointer.
    pub(super) fn plain_offset(&self, index: usize) -> usize {
        INNER_HEADER_BYTES + index * (self.word + self.child())
    }
}
