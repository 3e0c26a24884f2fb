//! ALEX inner nodes: model nodes with slots, and plain nodes with separators.
//!
//! ```text
//!   model node:  each page  tag, 7 bytes unused | child pointer | child pointer | ...
//!   plain node:  one page   tag, unused, count (u16), unused | separator, child pointer | ...
//! ```
//!
//! Equal adjacent slots of a model node are one child (the paper's duplicate pointers). Entry `i` of a plain node
//! holds the keys from its separator up to the next one; the first separator counts as the least key.

use super::child::{AlexNodeKind, ChildPointer};
use super::shape::{AlexLayout, INNER_HEADER_BYTES};
use crate::kinds::numbers::u16_at;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::index::extend::packed;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages, Transaction};
use std::ops::Range;

const MODEL_TAG: u8 = 0xa2;
const PLAIN_TAG: u8 = 0xa3;
const COUNT_OFFSET: usize = 2;

/// A reader of the slots of one model node, which caches the last page.
#[derive(Debug)]
pub(super) struct ModelSlots<'a, W> {
    pages: &'a dyn Pages,
    shape: AlexLayout,
    node: ChildPointer<W>,
    purpose: Purpose,
    page: Option<(PageNumber, Page)>,
}

impl<'a, W: Word> ModelSlots<'a, W> {
    pub(super) fn new(pages: &'a dyn Pages, shape: &AlexLayout, node: &ChildPointer<W>, depth: u8) -> Self {
        Self { pages, shape: *shape, node: *node, purpose: Purpose::Inner(depth), page: None }
    }

    fn page(&mut self, number: PageNumber) -> Result<&Page> {
        let page = match self.page.take() {
            Some((held, page)) if held == number => page,
            _ => {
                let page = self.pages.read(number, self.purpose)?;
                if page.first() != Some(&MODEL_TAG) {
                    return Err(self.pages.damaged(number, "not a page of an inner node with a model"));
                }
                page
            }
        };
        Ok(&self.page.insert((number, page)).1)
    }

    fn bytes(&mut self, slot: u32) -> Result<(PageNumber, Vec<u8>)> {
        let (number, offset) = slot_location(&self.shape, &self.node, slot);
        let width = self.shape.child();
        let page = self.page(number)?;
        Ok((number, page.get(offset..offset + width).unwrap_or_default().to_vec()))
    }

    pub(super) fn child(&mut self, slot: u32) -> Result<ChildPointer<W>> {
        let (number, bytes) = self.bytes(slot)?;
        ChildPointer::load(self.pages, &self.shape, number, &bytes)
    }

    /// The children in order, each with the end of its slots.
    pub(super) fn runs(&mut self) -> Result<Vec<(u32, ChildPointer<W>)>> {
        let mut runs: Vec<(u32, ChildPointer<W>)> = Vec::new();
        for slot in 0..self.node.fanout() {
            let child = self.child(slot)?;
            match runs.last_mut() {
                Some((end, last)) if last.first == child.first => *end = slot + 1,
                _ => runs.push((slot + 1, child)),
            }
        }
        Ok(runs)
    }

    /// The slots around `slot` with the same child.
    pub(super) fn run(&mut self, slot: u32) -> Result<Range<u32>> {
        let (_, child) = self.bytes(slot)?;
        let (mut start, mut end) = (slot, slot + 1);
        while start > 0 && self.bytes(start - 1)?.1 == child {
            start -= 1;
        }
        while end < self.node.fanout() && self.bytes(end)?.1 == child {
            end += 1;
        }
        Ok(start..end)
    }
}

/// The page and the offset of a slot.
fn slot_location<W: Word>(shape: &AlexLayout, node: &ChildPointer<W>, slot: u32) -> (PageNumber, usize) {
    let slots_per_page = shape.model_slots() as u32;
    (node.first + slot / slots_per_page, INNER_HEADER_BYTES + (slot % slots_per_page) as usize * shape.child())
}

/// Sets a run of slots to a child.
pub(super) fn set_slots<W: Word>(
    tx: &mut Transaction,
    shape: &AlexLayout,
    node: &ChildPointer<W>,
    depth: u8,
    run: Range<u32>,
    child: &ChildPointer<W>,
) -> Result<()> {
    let slots_per_page = shape.model_slots() as u32;
    let bytes = child.stored(shape);
    let mut slot = run.start;
    while slot < run.end {
        let (number, offset) = slot_location(shape, node, slot);
        let end = run.end.min((slot / slots_per_page + 1) * slots_per_page);
        tx.edit(number, Purpose::Inner(depth))?.write(offset, &bytes.repeat((end - slot) as usize));
        slot = end;
    }
    Ok(())
}

/// Writes a model node to fresh pages; each child comes with the end of its slots.
pub(super) fn write_model<W: Word>(
    tx: &mut Transaction,
    shape: &AlexLayout,
    node: &ChildPointer<W>,
    depth: u8,
    runs: &[(u32, ChildPointer<W>)],
) -> Result<()> {
    let slots_per_page = shape.model_slots() as u32;
    let mut run = 0;
    for page in 0..node.pages(shape) {
        let mut bytes = vec![0; INNER_HEADER_BYTES];
        bytes[0] = MODEL_TAG;
        for slot in page * slots_per_page..((page + 1) * slots_per_page).min(node.fanout()) {
            while run + 1 < runs.len() && runs[run].0 <= slot {
                run += 1;
            }
            bytes.extend(runs.get(run).iter().flat_map(|(_, child)| child.stored(shape)));
        }
        tx.write_fresh(node.first + page, Purpose::Inner(depth), &bytes)?;
    }
    Ok(())
}

/// A parsed plain node.
#[derive(Clone, Debug)]
pub(super) struct PlainNode<W> {
    pub(super) number: PageNumber,
    pub(super) count: usize,
    page: Page,
    shape: AlexLayout,
    word: std::marker::PhantomData<W>,
}

impl<W: Word> PlainNode<W> {
    /// # Errors
    /// [`ogive::Cause::Damaged`] if the page is not a plain node.
    pub(super) fn read(pages: &dyn Pages, shape: &AlexLayout, number: PageNumber, depth: u8) -> Result<Self> {
        let page = pages.read(number, Purpose::Inner(depth))?;
        let count = usize::from(u16_at(&page, COUNT_OFFSET));
        if page.first() != Some(&PLAIN_TAG) || count == 0 || count > shape.plain_entries() {
            return Err(pages.damaged(number, "not an inner node with separators"));
        }
        Ok(Self { number, count, page, shape: *shape, word: std::marker::PhantomData })
    }

    pub(super) fn separator(&self, index: usize) -> W {
        W::load(self.page.get(self.shape.plain_offset(index)..).unwrap_or_default())
    }

    pub(super) fn child(&self, pages: &dyn Pages, index: usize) -> Result<ChildPointer<W>> {
        let start = self.shape.plain_offset(index) + self.shape.word;
        ChildPointer::load(pages, &self.shape, self.number, self.page.get(start..).unwrap_or_default())
    }

    /// The index of the entry for a key.
    pub(super) fn find(&self, key: W) -> usize {
        // The first separator is below all keys.
        let stride = self.shape.plain_offset(1) - self.shape.plain_offset(0);
        let rest = self.page.get(self.shape.plain_offset(1)..).unwrap_or_default();
        packed::upper_bound(rest, stride, self.count.saturating_sub(1), key)
    }

    /// All entries.
    pub(super) fn entries(&self, pages: &dyn Pages) -> Result<Vec<(W, ChildPointer<W>)>> {
        (0..self.count).map(|index| Ok((self.separator(index), self.child(pages, index)?))).collect()
    }

    /// Replaces the child of an entry.
    pub(super) fn set_child(
        &self,
        tx: &mut Transaction,
        depth: u8,
        index: usize,
        child: &ChildPointer<W>,
    ) -> Result<()> {
        let offset = self.shape.plain_offset(index) + self.shape.word;
        tx.edit(self.number, Purpose::Inner(depth))?.write(offset, &child.stored(&self.shape));
        Ok(())
    }

    /// Inserts an entry at `index`; the node must have room.
    pub(super) fn insert(
        &self,
        tx: &mut Transaction,
        depth: u8,
        index: usize,
        entry: (W, ChildPointer<W>),
    ) -> Result<()> {
        let shape = &self.shape;
        let mut edit = tx.edit(self.number, Purpose::Inner(depth))?;
        edit.shift(shape.plain_offset(index)..shape.plain_offset(self.count), shape.plain_offset(index + 1));
        edit.write(shape.plain_offset(index), &stored_entry(shape, &entry));
        edit.write(COUNT_OFFSET, &(self.count as u16 + 1).to_le_bytes());
        Ok(())
    }

    /// Removes an entry; the entry on its left, or the new first one, takes over its keys.
    pub(super) fn remove(&self, tx: &mut Transaction, depth: u8, index: usize) -> Result<()> {
        let shape = &self.shape;
        let mut edit = tx.edit(self.number, Purpose::Inner(depth))?;
        edit.shift(shape.plain_offset(index + 1)..shape.plain_offset(self.count), shape.plain_offset(index));
        edit.write(COUNT_OFFSET, &(self.count as u16).saturating_sub(1).to_le_bytes());
        Ok(())
    }

    /// Keeps only the first `count` entries.
    pub(super) fn truncate(&self, tx: &mut Transaction, depth: u8, count: usize) -> Result<()> {
        tx.edit(self.number, Purpose::Inner(depth))?.write(COUNT_OFFSET, &(count as u16).to_le_bytes());
        Ok(())
    }
}

fn stored_entry<W: Word>(shape: &AlexLayout, (separator, child): &(W, ChildPointer<W>)) -> Vec<u8> {
    let mut bytes = vec![0; shape.word + shape.child()];
    separator.store(&mut bytes);
    child.store(&mut bytes[shape.word..]);
    bytes
}

/// Writes a plain node to a fresh page, and returns a pointer to it.
pub(super) fn write_plain<W: Word>(
    tx: &mut Transaction,
    shape: &AlexLayout,
    depth: u8,
    entries: &[(W, ChildPointer<W>)],
) -> Result<ChildPointer<W>> {
    let mut bytes = vec![0; INNER_HEADER_BYTES];
    bytes[0] = PLAIN_TAG;
    bytes[COUNT_OFFSET..COUNT_OFFSET + 2].copy_from_slice(&(entries.len() as u16).to_le_bytes());
    bytes.extend(entries.iter().flat_map(|entry| stored_entry(shape, entry)));
    let first = tx.allocate_extent(1)?;
    tx.write_fresh(first, Purpose::Inner(depth), &bytes)?;
    Ok(ChildPointer::plain(first))
}

/// The child of an inner node for a key, and its slot or entry there.
///
/// # Errors
/// [`ogive::Cause::Damaged`].
pub(super) fn step<W: Word>(
    pages: &dyn Pages,
    shape: &AlexLayout,
    node: &ChildPointer<W>,
    depth: u8,
    key: W,
) -> Result<(u32, ChildPointer<W>)> {
    if node.kind == AlexNodeKind::Model {
        let slot = node.slot(key);
        return Ok((slot, ModelSlots::new(pages, shape, node, depth).child(slot)?));
    }
    let plain: PlainNode<W> = PlainNode::read(pages, shape, node.first, depth)?;
    let index = plain.find(key);
    Ok((index as u32, plain.child(pages, index)?))
}
