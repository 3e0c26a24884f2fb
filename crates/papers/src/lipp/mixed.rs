//! The slots of LIPP nodes with models, in cells or in pages of their own.

use super::cells::Cell;
use super::line::Line;
use super::link::Link;
use super::shape::{Shape, WIDE_HEADER_BYTES, types_bytes, wide_pages};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages, Transaction};

/// What a slot holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Slot<W> {
    /// Nothing.
    Null,
    /// The only entry whose key the model leads here.
    Data(W, Vec<u8>),
    /// A node of all entries whose keys the model leads here.
    Node(Link<W>),
}

/// Types of slots, two bits each.
pub(super) const NULL: u8 = 0;
pub(super) const DATA: u8 = 1;
pub(super) const NODE: u8 = 2;

/// A node with a model: where its slots lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mixed<W> {
    pub(super) first: PageNumber,
    pub(super) line: Line<W>,
    pub(super) slots: u32,
    /// Slots in a page.
    pub(super) a_page: u32,
    /// Where in a page the types begin; the slots follow.
    types: usize,
    /// Pages of slots, for a node of pages of its own.
    pub(super) wide: Option<u32>,
    pub(super) purpose: Purpose,
    shape: Shape,
}

/// Where a slot lies.
#[derive(Clone, Copy, Debug)]
struct Place {
    page: PageNumber,
    types: usize,
    shift: u32,
    offset: usize,
}

impl<W: Word> Mixed<W> {
    /// A node of pages of its own; nothing is read.
    pub(super) fn wide(shape: &Shape, first: PageNumber, size: u8, line: Line<W>, depth: u8) -> Self {
        let (pages, a_page) = (wide_pages(size).unwrap_or(1), shape.wide_slots() as u32);
        Self {
            first,
            line,
            slots: pages.saturating_mul(a_page),
            a_page,
            types: WIDE_HEADER_BYTES,
            wide: Some(pages),
            purpose: Purpose::Inner(depth),
            shape: *shape,
        }
    }

    /// # Errors
    /// [`ogive::Error::Damaged`] where the cell states more slots than it has.
    pub(super) fn of_cell(pages: &dyn Pages, shape: &Shape, cell: &Cell<W>) -> Result<Self> {
        let slots = u32::from(cell.header.length);
        if slots == 0 || slots as usize > shape.cell_slots(cell.class) {
            return Err(pages.damaged(cell.number, "a node states more slots than it has"));
        }
        Ok(Self {
            first: cell.number,
            line: cell.header.line,
            slots,
            a_page: slots,
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
        self.first.saturating_add(slot / self.a_page.max(1))
    }

    fn place(&self, slot: u32) -> Place {
        let (page, local) = (self.page_of(slot), (slot % self.a_page.max(1)) as usize);
        let slots = self.types + types_bytes(self.a_page as usize);
        Place {
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

    /// The type of a slot, in its page.
    pub(super) fn kind(&self, page: &[u8], slot: u32) -> u8 {
        let place = self.place(slot);
        page.get(place.types).map_or(NULL, |types| types >> place.shift & 3)
    }

    /// A slot, in its page.
    ///
    /// # Errors
    /// [`ogive::Error::Damaged`].
    pub(super) fn slot_in(&self, pages: &dyn Pages, page: &[u8], slot: u32) -> Result<Slot<W>> {
        let place = self.place(slot);
        let bytes = page.get(place.offset..).unwrap_or_default();
        match self.kind(page, slot) {
            NULL => Ok(Slot::Null),
            DATA => {
                let value = bytes.get(self.shape.word..self.shape.word + self.shape.value).unwrap_or_default();
                Ok(Slot::Data(W::load(bytes), value.to_vec()))
            }
            NODE => Ok(Slot::Node(Link::load(pages, &self.shape, place.page, bytes)?)),
            _ => Err(pages.damaged(place.page, "a slot is of no type")),
        }
    }

    /// Reads a slot.
    ///
    /// # Errors
    /// Those of the pages; [`ogive::Error::Damaged`].
    pub(super) fn slot(&self, pages: &dyn Pages, slot: u32) -> Result<Slot<W>> {
        let page = self.read_page(pages, self.page_of(slot))?;
        self.slot_in(pages, &page, slot)
    }

    /// Writes a slot; a wide node learns which of its pages hold anything.
    pub(super) fn set(&self, tx: &mut Transaction, slot: u32, content: &Slot<W>) -> Result<()> {
        let place = self.place(slot);
        let (kind, bytes) = stored(&self.shape, content);
        let page = self.read_page(tx, place.page)?;
        let before = page.get(place.types).copied().unwrap_or(0);
        let after = before & !(3 << place.shift) | kind << place.shift;
        let others = self.wide.is_some() && self.others_in_page(&page, slot);
        let mut edit = tx.edit(place.page, self.purpose)?;
        edit.write(place.offset, &bytes);
        if after != before {
            edit.write(place.types, &[after]);
        }
        drop(edit);
        let was_null = before >> place.shift & 3 == NULL;
        match self.wide {
            Some(pages) if !others && was_null != (kind == NULL) => {
                super::wide::note(tx, &self.shape, self, pages, slot / self.a_page.max(1), kind != NULL)
            }
            _ => Ok(()),
        }
    }

    /// Whether another slot of the page of `slot` holds anything.
    fn others_in_page(&self, page: &[u8], slot: u32) -> bool {
        let start = slot - slot % self.a_page.max(1);
        (start..start.saturating_add(self.a_page).min(self.slots))
            .any(|other| other != slot && self.kind(page, other) != NULL)
    }
}

/// The type and the bytes of a slot.
pub(super) fn stored<W: Word>(shape: &Shape, content: &Slot<W>) -> (u8, Vec<u8>) {
    match content {
        Slot::Null => (NULL, Vec::new()),
        Slot::Data(key, value) => {
            let mut bytes = vec![0; shape.word];
            key.store(&mut bytes);
            bytes.extend_from_slice(value);
            (DATA, bytes)
        }
        Slot::Node(link) => (NODE, link.stored(shape)),
    }
}

/// Writes a slot into memory: types begin at `types`, and `slots` slots follow them.
pub(super) fn put<W: Word>(
    bytes: &mut [u8],
    shape: &Shape,
    types: usize,
    slots: usize,
    slot: usize,
    content: &Slot<W>,
) {
    let (kind, stored) = stored(shape, content);
    bytes[types + slot / 4] |= kind << (slot % 4 * 2);
    let offset = types + types_bytes(slots) + slot * shape.slot();
    bytes[offset..offset + stored.len()].copy_from_slice(&stored);
}
