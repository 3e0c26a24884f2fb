//! Packed nodes: sorted entries in a cell.

use super::cells::Cell;
use super::header::{CellHeader, CellKind, LENGTH_OFFSET, LippCounts};
use super::line::LippLine;
use super::shape::LippLayout;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::index::extend::packed;
use ogive::io::Purpose;
use ogive::page::{Pages, Transaction};

/// A parsed packed node.
#[derive(Clone, Debug)]
pub(super) struct Packed<W> {
    pub(super) cell: Cell<W>,
    pub(super) count: usize,
    shape: LippLayout,
}

impl<W: Word> Packed<W> {
    /// # Errors
    /// [`ogive::Cause::Damaged`] if its count exceeds its capacity.
    pub(super) fn new(pages: &dyn Pages, shape: &LippLayout, cell: Cell<W>) -> Result<Self> {
        let count = usize::from(cell.header.length);
        if count > shape.packed_entries(cell.class) {
            return Err(pages.damaged(cell.number, "a packed node has more entries than fit"));
        }
        Ok(Self { cell, count, shape: *shape })
    }

    fn offset(&self, index: usize) -> usize {
        self.cell.body(&self.shape) + index * self.shape.entry()
    }

    pub(super) fn key(&self, index: usize) -> W {
        W::load(self.cell.page.get(self.offset(index)..).unwrap_or_default())
    }

    pub(super) fn value(&self, index: usize) -> &[u8] {
        let start = self.offset(index) + self.shape.word;
        self.cell.page.get(start..start + self.shape.value).unwrap_or_default()
    }

    /// The index of the first entry not below `key`.
    pub(super) fn lower_bound(&self, key: W) -> usize {
        let keys = self.cell.page.get(self.offset(0)..).unwrap_or_default();
        packed::lower_bound(keys, self.shape.entry(), self.count, key)
    }

    /// The index of a key, or as an error the index where it belongs.
    pub(super) fn find(&self, key: W) -> std::result::Result<usize, usize> {
        let index = self.lower_bound(key);
        if index < self.count && self.key(index) == key { Ok(index) } else { Err(index) }
    }

    pub(super) fn is_full(&self) -> bool {
        self.count >= self.shape.packed_entries(self.cell.class)
    }

    pub(super) fn overwrite(&self, tx: &mut Transaction, index: usize, value: &[u8]) -> Result<()> {
        tx.edit(self.cell.number, Purpose::Leaf)?.write(self.offset(index) + self.shape.word, value);
        Ok(())
    }

    /// Inserts an entry; the node must have room.
    pub(super) fn insert(&self, tx: &mut Transaction, index: usize, key: W, value: &[u8]) -> Result<()> {
        let mut entry = vec![0; self.shape.word];
        key.store(&mut entry);
        entry.extend_from_slice(value);
        let mut edit = tx.edit(self.cell.number, Purpose::Leaf)?;
        edit.shift(self.offset(index)..self.offset(self.count), self.offset(index + 1));
        edit.write(self.offset(index), &entry);
        edit.write(self.cell.offset + LENGTH_OFFSET, &(self.count as u16 + 1).to_le_bytes());
        Ok(())
    }

    /// Removes an entry; the node may become empty.
    pub(super) fn remove(&self, tx: &mut Transaction, index: usize) -> Result<()> {
        let mut edit = tx.edit(self.cell.number, Purpose::Leaf)?;
        edit.shift(self.offset(index + 1)..self.offset(self.count), self.offset(index));
        edit.write(self.cell.offset + LENGTH_OFFSET, &(self.count as u16 - 1).to_le_bytes());
        Ok(())
    }
}

/// The bytes of a cell with sorted entries.
pub(super) fn content<'a, W: Word>(
    shape: &LippLayout,
    entries: impl ExactSizeIterator<Item = (W, &'a [u8])>,
) -> Vec<u8> {
    let (kind, length) = (CellKind::Packed, entries.len() as u16);
    let mut bytes = vec![0; shape.cell_header()];
    CellHeader::<W> { kind, length, counts: LippCounts::default(), line: LippLine::default() }.store(&mut bytes);
    for (key, value) in entries {
        let start = bytes.len();
        bytes.resize(start + shape.word, 0);
        key.store(&mut bytes[start..]);
        bytes.extend_from_slice(value);
    }
    bytes
}
