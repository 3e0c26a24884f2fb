//! The leaf layout: a header, then entries in key order.
//!
//! ```text
//! offset  0             1        3           7        11                            11 + stride
//!         | tag, flags  | count  | previous  | next  | key 0 | payload of entry 0 | key 1 | ...
//!           1             2        4           4
//! ```
//!
//! With keys and payloads of 8 bytes, a page of 4 KiB holds 254 entries. Page 0, which is never a leaf, ends the chain
//! of leaves on both sides.

use crate::error::Result;
use crate::index::entries::packed::{lower_bound, upper_bound, word_at};
use crate::index::entries::word::Word;
use crate::io::Purpose;
use crate::page::{Page, PageEdit, PageNumber, Pages, Transaction};

/// The page type: the upper bits of the first byte of each leaf.
const TAG: u8 = 0xa4;
/// Flag: the run of the leaf continues in the next one.
const CONTINUES: u8 = 1;
/// Flag: the leaf continues the run of the previous one.
const CONTINUATION: u8 = 2;
const COUNT_OFFSET: usize = 1;
const PREVIOUS_OFFSET: usize = 3;
const NEXT_OFFSET: usize = 7;
const HEADER_BYTES: usize = 11;
/// Entries up to this size are inserted by one write, and so logged as one range.
const COMBINED_ENTRY_BYTES_MAX: usize = 64;

/// The end of the chain of leaves.
pub(super) const NO_PAGE: PageNumber = 0;

/// The role of a leaf in a run of equal keys: head, middle, end, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RunFlags {
    /// The run continues in the next leaf.
    pub(super) continues: bool,
    /// The run began in an earlier leaf.
    pub(super) continuation: bool,
}

impl RunFlags {
    #[inline]
    fn byte(self) -> u8 {
        TAG | if self.continues { CONTINUES } else { 0 } | if self.continuation { CONTINUATION } else { 0 }
    }
}

/// The size of an entry, and the number of entries of a full leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeafShape {
    pub(super) stride: usize,
    pub(super) capacity: usize,
}

impl LeafShape {
    pub(super) fn new<W: Word>(page_payload_bytes: usize, payload_bytes: usize) -> Self {
        let stride = W::BYTES + payload_bytes;
        Self { stride, capacity: page_payload_bytes.saturating_sub(HEADER_BYTES) / stride }
    }

    #[inline]
    fn offset(self, index: usize) -> usize {
        HEADER_BYTES + index * self.stride
    }
}

/// The header of a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeafHeader {
    pub(super) run_flags: RunFlags,
    pub(super) count: usize,
    pub(super) previous: PageNumber,
    pub(super) next: PageNumber,
}

impl LeafHeader {
    /// The bytes of a leaf: header and entries.
    pub(super) fn image(&self, entries: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + entries.len());
        bytes.push(self.run_flags.byte());
        bytes.extend_from_slice(&(self.count as u16).to_le_bytes());
        bytes.extend_from_slice(&self.previous.to_le_bytes());
        bytes.extend_from_slice(&self.next.to_le_bytes());
        bytes.extend_from_slice(entries);
        bytes
    }
}

/// A leaf with a valid header.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    page: Page,
    pub(super) number: PageNumber,
    pub(super) shape: LeafShape,
    pub(super) header: LeafHeader,
}

impl Leaf {
    #[inline]
    pub(super) fn read(pages: &dyn Pages, number: PageNumber, shape: LeafShape) -> Result<Self> {
        Self::parse(pages, number, pages.read(number, Purpose::Leaf)?, shape)
    }

    #[inline]
    pub(super) fn parse(pages: &dyn Pages, number: PageNumber, page: Page, shape: LeafShape) -> Result<Self> {
        let Some(&[flags, low, high, a, b, c, d, e, f, g, h]) = page.first_chunk::<HEADER_BYTES>() else {
            return Err(pages.damaged(number, "too short for a leaf"));
        };
        let count = usize::from(u16::from_le_bytes([low, high]));
        if flags & !(CONTINUES | CONTINUATION) != TAG || count > shape.capacity {
            return Err(pages.damaged(number, "a leaf was expected here"));
        }
        let run_flags = RunFlags { continues: flags & CONTINUES > 0, continuation: flags & CONTINUATION > 0 };
        if count == 0 && run_flags != RunFlags::default() {
            return Err(pages.damaged(number, "a leaf of a run of equal keys is empty"));
        }
        let header = LeafHeader {
            run_flags,
            count,
            previous: u32::from_le_bytes([a, b, c, d]),
            next: u32::from_le_bytes([e, f, g, h]),
        };
        Ok(Self { page, number, shape, header })
    }

    #[inline]
    pub(super) fn count(&self) -> usize {
        self.header.count
    }

    /// The entries, packed.
    #[inline]
    pub(super) fn entries(&self) -> &[u8] {
        self.page.get(HEADER_BYTES..self.shape.offset(self.header.count)).unwrap_or(&[])
    }

    pub(super) fn key<W: Word>(&self, index: usize) -> W {
        word_at(self.entries(), self.shape.stride, index)
    }

    pub(super) fn keys<W: Word>(&self) -> impl Iterator<Item = W> {
        (0..self.header.count).map(|index| self.key(index))
    }

    /// The greatest key; 0 in an empty leaf.
    pub(super) fn greatest<W: Word>(&self) -> W {
        self.key(self.header.count.saturating_sub(1))
    }

    pub(super) fn copy_payload<W: Word>(&self, index: usize, payload: &mut [u8]) {
        let start = index * self.shape.stride + W::BYTES;
        if let Some(stored) = self.entries().get(start..start + payload.len()) {
            payload.copy_from_slice(stored);
        }
    }

    /// The index of the first key not below `key`.
    pub(super) fn lower_bound<W: Word>(&self, key: W) -> usize {
        lower_bound(self.entries(), self.shape.stride, self.header.count, key)
    }

    /// The index of the first key above `key`.
    pub(super) fn upper_bound<W: Word>(&self, key: W) -> usize {
        upper_bound(self.entries(), self.shape.stride, self.header.count, key)
    }

    /// The index of the first entry of `key`.
    pub(super) fn position<W: Word>(&self, key: W) -> Option<usize> {
        let index = self.lower_bound(key);
        (index < self.header.count && self.key::<W>(index) == key).then_some(index)
    }
}

/// In-place edits of a leaf, each logged as a few bytes.
pub(super) struct LeafEdit<'a> {
    edit: PageEdit<'a>,
    shape: LeafShape,
}

impl<'a> LeafEdit<'a> {
    pub(super) fn new(tx: &'a mut Transaction, number: PageNumber, shape: LeafShape) -> Result<Self> {
        Ok(Self { edit: tx.edit(number, Purpose::Leaf)?, shape })
    }

    #[inline]
    pub(super) fn set_run_flags(&mut self, run_flags: RunFlags) {
        self.edit.write(0, &[run_flags.byte()]);
    }

    #[inline]
    pub(super) fn set_count(&mut self, count: usize) {
        self.edit.write(COUNT_OFFSET, &(count as u16).to_le_bytes());
    }

    #[inline]
    pub(super) fn set_previous(&mut self, page: PageNumber) {
        self.edit.write(PREVIOUS_OFFSET, &page.to_le_bytes());
    }

    #[inline]
    pub(super) fn set_next(&mut self, page: PageNumber) {
        self.edit.write(NEXT_OFFSET, &page.to_le_bytes());
    }

    pub(super) fn set_payload<W: Word>(&mut self, index: usize, payload: &[u8]) {
        self.edit.write(self.shape.offset(index) + W::BYTES, payload);
    }

    /// Inserts an entry at `index` among `count` entries.
    pub(super) fn insert<W: Word>(&mut self, index: usize, count: usize, key: W, payload: &[u8]) {
        self.move_entries(index, index + 1, count);
        let offset = self.shape.offset(index);
        let mut entry = [0; COMBINED_ENTRY_BYTES_MAX];
        key.store(&mut entry);
        match entry.get_mut(W::BYTES..self.shape.stride) {
            Some(target) => {
                target.copy_from_slice(payload);
                self.edit.write(offset, &entry[..self.shape.stride]);
            }
            None => {
                self.edit.write(offset, &entry[..W::BYTES]);
                self.edit.write(offset + W::BYTES, payload);
            }
        }
    }

    /// Appends `added` entries behind `count` ones.
    pub(super) fn append_entries(&mut self, count: usize, added: usize, entries: &[u8]) {
        self.edit.write(self.shape.offset(count), entries);
        self.set_count(count + added);
    }

    /// Moves the entries `from..count` to `to`, and writes the new count.
    pub(super) fn move_entries(&mut self, from: usize, to: usize, count: usize) {
        if from < count && from != to {
            self.edit.shift(self.shape.offset(from)..self.shape.offset(count), self.shape.offset(to));
        }
        self.set_count(count + to - from);
    }

    /// Overwrites the first entries.
    pub(super) fn fill_front(&mut self, entries: &[u8]) {
        self.edit.write(HEADER_BYTES, entries);
    }

    pub(super) fn rewrite(&mut self, image: &[u8]) {
        self.edit.write(0, image);
    }
}

/// Writes a new leaf, and links its neighbours to it.
pub(super) fn link_new_leaf(
    tx: &mut Transaction,
    shape: LeafShape,
    header: LeafHeader,
    entries: &[u8],
) -> Result<PageNumber> {
    let number = tx.allocate()?;
    LeafEdit::new(tx, number, shape)?.rewrite(&header.image(entries));
    if header.previous != NO_PAGE {
        LeafEdit::new(tx, header.previous, shape)?.set_next(number);
    }
    if header.next != NO_PAGE {
        LeafEdit::new(tx, header.next, shape)?.set_previous(number);
    }
    Ok(number)
}

/// Links two leaves to each other.
pub(super) fn link(tx: &mut Transaction, shape: LeafShape, previous: PageNumber, next: PageNumber) -> Result<()> {
    if previous != NO_PAGE {
        LeafEdit::new(tx, previous, shape)?.set_next(next);
    }
    if next != NO_PAGE {
        LeafEdit::new(tx, next, shape)?.set_previous(previous);
    }
    Ok(())
}

/// The bytes of one entry.
pub(super) fn entry_bytes<W: Word>(key: W, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; W::BYTES + payload.len()];
    key.store(&mut bytes);
    bytes[W::BYTES..].copy_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::test_documents::example_of_leaves;

    #[test]
    fn the_documented_leaf_matches_the_written_one() {
        let entries: Vec<u8> = (1..5_u16).flat_map(|i| entry_bytes(u64::from(i) * 10, &i.to_le_bytes())).collect();
        let header = LeafHeader { run_flags: RunFlags::default(), count: 4, previous: 6, next: 9 };
        assert_eq!(header.image(&entries), example_of_leaves("leaf"));
        let run = LeafHeader { run_flags: RunFlags { continues: true, continuation: true }, ..header };
        assert_eq!(run.image(&[])[0], 0xa4 + 1 + 2);
    }
}
