//! Fences: nodes of sorted separators and pointers, of one page each.
//!
//! Entry `i` holds the keys from its separator up to the next one; the first separator counts as the least key.

use super::cells::Cell;
use super::header::{CellHeader, CellKind, LENGTH_OFFSET, LippCounts};
use super::line::LippLine;
use super::link::Link;
use super::shape::LippLayout;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::index::extend::packed;
use ogive::io::Purpose;
use ogive::page::{Pages, Transaction};

/// A parsed fence.
#[derive(Clone, Debug)]
pub(super) struct Fence<W> {
    pub(super) cell: Cell<W>,
    pub(super) count: usize,
    shape: LippLayout,
}

impl<W: Word> Fence<W> {
    /// # Errors
    /// [`ogive::Cause::Damaged`] if its count is 0 or exceeds its capacity.
    pub(super) fn new(pages: &dyn Pages, shape: &LippLayout, cell: Cell<W>) -> Result<Self> {
        let count = usize::from(cell.header.length);
        if count == 0 || count > shape.fence_entries() || shape.cells_in_page(cell.class) > 1 {
            return Err(pages.damaged(cell.number, "a fence has no children, or more than fit"));
        }
        Ok(Self { cell, count, shape: *shape })
    }

    fn offset(&self, index: usize) -> usize {
        self.cell.body(&self.shape) + index * (self.shape.word + self.shape.link())
    }

    pub(super) fn separator(&self, index: usize) -> W {
        W::load(self.cell.page.get(self.offset(index)..).unwrap_or_default())
    }

    pub(super) fn link(&self, pages: &dyn Pages, index: usize) -> Result<Link<W>> {
        let start = self.offset(index) + self.shape.word;
        Link::load(pages, &self.shape, self.cell.number, self.cell.page.get(start..).unwrap_or_default())
    }

    /// The index of the entry for a key.
    pub(super) fn find(&self, key: W) -> usize {
        // The first separator is below all keys.
        let stride = self.offset(1) - self.offset(0);
        let rest = self.cell.page.get(self.offset(1)..).unwrap_or_default();
        packed::upper_bound(rest, stride, self.count.saturating_sub(1), key)
    }

    pub(super) fn entries(&self, pages: &dyn Pages) -> Result<Vec<(W, Link<W>)>> {
        (0..self.count).map(|index| Ok((self.separator(index), self.link(pages, index)?))).collect()
    }

    pub(super) fn is_full(&self) -> bool {
        self.count >= self.shape.fence_entries()
    }

    pub(super) fn set_link(&self, tx: &mut Transaction, index: usize, link: &Link<W>) -> Result<()> {
        let offset = self.offset(index) + self.shape.word;
        tx.edit(self.cell.number, Purpose::Leaf)?.write(offset, &link.stored(&self.shape));
        Ok(())
    }

    fn set_count(&self, tx: &mut Transaction, count: usize) -> Result<()> {
        let offset = self.cell.offset + LENGTH_OFFSET;
        tx.edit(self.cell.number, Purpose::Leaf)?.write(offset, &(count as u16).to_le_bytes());
        Ok(())
    }

    /// Inserts an entry; the fence must have room.
    pub(super) fn insert(&self, tx: &mut Transaction, index: usize, entry: &(W, Link<W>)) -> Result<()> {
        let mut edit = tx.edit(self.cell.number, Purpose::Leaf)?;
        edit.shift(self.offset(index)..self.offset(self.count), self.offset(index + 1));
        edit.write(self.offset(index), &stored(&self.shape, entry));
        drop(edit);
        self.set_count(tx, self.count + 1)
    }

    /// Removes an entry; the entry on its left, or the new first one, takes over its keys.
    pub(super) fn remove(&self, tx: &mut Transaction, index: usize) -> Result<()> {
        let mut edit = tx.edit(self.cell.number, Purpose::Leaf)?;
        edit.shift(self.offset(index + 1)..self.offset(self.count), self.offset(index));
        drop(edit);
        self.set_count(tx, self.count.saturating_sub(1))
    }

    /// Rewrites all entries.
    pub(super) fn rewrite(&self, tx: &mut Transaction, entries: &[(W, Link<W>)]) -> Result<()> {
        let bytes: Vec<u8> = entries.iter().flat_map(|entry| stored(&self.shape, entry)).collect();
        tx.edit(self.cell.number, Purpose::Leaf)?.write(self.offset(0), &bytes);
        self.set_count(tx, entries.len())
    }
}

fn stored<W: Word>(shape: &LippLayout, (separator, link): &(W, Link<W>)) -> Vec<u8> {
    let mut bytes = vec![0; shape.word + shape.link()];
    separator.store(&mut bytes);
    link.store(&mut bytes[shape.word..]);
    bytes
}

/// The bytes of a cell with a fence.
pub(super) fn content<W: Word>(shape: &LippLayout, entries: &[(W, Link<W>)]) -> Vec<u8> {
    let (kind, length) = (CellKind::Fence, entries.len() as u16);
    let mut bytes = vec![0; shape.cell_header()];
    CellHeader::<W> { kind, length, counts: LippCounts::default(), line: LippLine::default() }.store(&mut bytes);
    bytes.extend(entries.iter().flat_map(|entry| stored(shape, entry)));
    bytes
}
