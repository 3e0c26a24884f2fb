//! Mixed nodes: the slots of LIPP nodes with models, in cells or in wide nodes.

use super::cells::Cell;
use super::line::LippLine;
use super::link::Link;
use super::shape::{LippLayout, WIDE_HEADER_BYTES, types_bytes, wide_pages};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages, Transaction};

/// The content of a slot.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LippSlot<W> {
    /// Nothing.
    Null,
    /// The only entry with this slot.
    Data(W, Vec<u8>),
    /// A node of all entries with this slot.
    Node(Link<W>),
}

/// Types of slots, two bits each.
pub(super) const NULL: u8 = 0;
pub(super) const DATA: u8 = 1;
pub(super) const NODE: u8 = 2;

/// A node with a model: the location of its slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mixed<W> {
    pub(super) first: PageNumber,
    pub(super) line: LippLine<W>,
    pub(super) slots: u32,
    /// Number of slots per page.
    pub(super) slots_per_page: u32,
    /// Offset of the types in a page; the slots follow.
    types: usize,
    /// Number of pages of slots, for a wide node.
    pub(super) wide: Option<u32>,
    pub(super) purpose: Purpose,
    shape: LippLayout,
}

/// The location of a slot.
#[derive(Clone, Copy, Debug)]
struct SlotLocation {
    page: PageNumber,
    types: usize,
    shift: u32,
    offset: usize,
}

impl<W: Word> Mixed<W> {
    /// A wide node; reads no page.
    pub(super) fn wide(shape: &LippLayout, first: PageNumber, size: u8, line: LippLine<W>, depth: u8) -> Self {
        let (pages, slots_per_page) = (wide_pages(size).unwrap_or(1), shape.wide_slots() as u32);
        Self {
            first,
            line,
            slots: pages.saturating_mul(slots_per_page),
            slots_per_page,
            types: WIDE_HEADER_BYTES,
            wide: Some(pages),
            purpose: Purpose::Inner(depth),
            shape: *shape,
        }
    }

    /// # Errors
    /// [`ogive::Cause::Damaged`] if the cell has no slots, or more than fit.
    pub(super) fn of_cell(pages: &dyn Pages, shape: &LippLayout, cell: &Cell<W>) -> Result<Self> {
        let slots = u32::from(cell.header.length);
        if slots == 0 || slots as usize > shape.cell_slots(cell.class) {
            return Err(pages.damaged(cell.number, "a node has no slots, or more than fit"));
        }
        Ok(Self {
            first: cell.number,
            line: cell.header.line,
            slots,
            slots_per_page: slots,
            types: cell.body(shape),
            wide: None,
            purpose: Purpose::Leaf,
            shape: *shape,
        })
    }

    pub(super) fn slot_of(&self, key: W) -> u32 {
        self.line.slot(key, self.slots)
    }

    pub(super) fn page_of(&self, slot: u32) -> PageNumber {
        self.first.saturating_add(slot / self.slots_per_page.max(1))
    }

    fn locate(&self, slot: u32) -> SlotLocation {
        let (page, local) = (self.page_of(slot), (slot % self.slots_per_page.max(1)) as usize);
        let slots = self.types + types_bytes(self.slots_per_page as usize);
        SlotLocation {
            page,
            types: self.types + local / 4,
            shift: (local % 4) as u32 * 2,
            offset: slots + local * self.shape.slot(),
        }
    }

    pub(super) fn read_page(&self, pages: &dyn Pages, number: PageNumber) -> Result<Page> {
        let page = pages.read(number, self.purpose)?;
        if self.wide.is_some() {
            super::wide::check_page(pages, number, &page)?;
        }
        Ok(page)
    }

    /// The type of a slot in a page.
    pub(super) fn kind(&self, page: &[u8], slot: u32) -> u8 {
        let location = self.locate(slot);
        page.get(location.types).map_or(NULL, |types| types >> location.shift & 3)
    }

    /// The slot in a page.
    ///
    /// # Errors
    /// [`ogive::Cause::Damaged`].
    pub(super) fn slot_in(&self, pages: &dyn Pages, page: &[u8], slot: u32) -> Result<LippSlot<W>> {
        let location = self.locate(slot);
        let bytes = page.get(location.offset..).unwrap_or_default();
        match self.kind(page, slot) {
            NULL => Ok(LippSlot::Null),
            DATA => {
                let value = bytes.get(self.shape.word..self.shape.word + self.shape.value).unwrap_or_default();
                Ok(LippSlot::Data(W::load(bytes), value.to_vec()))
            }
            NODE => Ok(LippSlot::Node(Link::load(pages, &self.shape, location.page, bytes)?)),
            _ => Err(pages.damaged(location.page, "a slot of unknown type")),
        }
    }

    /// Reads a slot.
    ///
    /// # Errors
    /// Those of the pages; [`ogive::Cause::Damaged`].
    pub(super) fn slot(&self, pages: &dyn Pages, slot: u32) -> Result<LippSlot<W>> {
        let page = self.read_page(pages, self.page_of(slot))?;
        self.slot_in(pages, &page, slot)
    }

    /// Writes a slot, and updates the summary of a wide node.
    pub(super) fn set(&self, tx: &mut Transaction, slot: u32, content: &LippSlot<W>) -> Result<()> {
        let location = self.locate(slot);
        let (kind, bytes) = stored(&self.shape, content);
        let page = self.read_page(tx, location.page)?;
        let before = page.get(location.types).copied().unwrap_or(0);
        let after = before & !(3 << location.shift) | kind << location.shift;
        let others = self.wide.is_some() && self.others_in_page(&page, slot);
        let mut edit = tx.edit(location.page, self.purpose)?;
        edit.write(location.offset, &bytes);
        if after != before {
            edit.write(location.types, &[after]);
        }
        drop(edit);
        let was_null = before >> location.shift & 3 == NULL;
        match self.wide {
            Some(pages) if !others && was_null != (kind == NULL) => super::wide::set_page_used(
                tx,
                &self.shape,
                self,
                pages,
                slot / self.slots_per_page.max(1),
                kind != NULL,
            ),
            _ => Ok(()),
        }
    }

    /// Whether another slot in the page of `slot` is occupied.
    fn others_in_page(&self, page: &[u8], slot: u32) -> bool {
        let start = slot - slot % self.slots_per_page.max(1);
        (start..start.saturating_add(self.slots_per_page).min(self.slots))
            .any(|other| other != slot && self.kind(page, other) != NULL)
    }
}

/// The type and the bytes of a slot.
pub(super) fn stored<W: Word>(shape: &LippLayout, content: &LippSlot<W>) -> (u8, Vec<u8>) {
    match content {
        LippSlot::Null => (NULL, Vec::new()),
        LippSlot::Data(key, value) => {
            let mut bytes = vec![0; shape.word];
            key.store(&mut bytes);
            bytes.extend_from_slice(value);
            (DATA, bytes)
        }
        LippSlot::Node(link) => (NODE, link.stored(shape)),
    }
}

/// Writes a slot to a buffer with types at `types`, followed by `slots` slots.
pub(super) fn put<W: Word>(
    bytes: &mut [u8],
    shape: &LippLayout,
    types: usize,
    slots: usize,
    slot: usize,
    content: &LippSlot<W>,
) {
    let (kind, stored) = stored(shape, content);
    bytes[types + slot / 4] |= kind << (slot % 4 * 2);
    let offset = types + types_bytes(slots) + slot * shape.slot();
    bytes[offset..offset + stored.len()].copy_from_slice(&stored);
}
