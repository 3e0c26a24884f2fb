//! The pages of an ALEX data node: gapped arrays of entries.

use super::line::AlexLine;
use super::shape::AlexLayout;
use crate::kinds::batch::Batch;
use crate::kinds::numbers::{u16_at, u32_at};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages, Transaction};
use std::ops::Range;

/// The page type: the first byte of a data page.
const TAG: u8 = 0xa1;
/// Flag: the page is reserved for appends, and no keys belong to it yet.
const VACANT: u8 = 1;
/// Flag: the last page of its node that is not vacant.
const LAST: u8 = 2;

/// The header of a data page.
///
/// ```text
///   0    1      2      4      6      8         12    16   16 + word   16 + 2 word
///   tag  flags  count  index  pages  previous  next  low  high        bitmap, slots
/// ```
///
/// The keys in `low..high` belong to the page; the first page of a node has no lower bound, and the last one no upper
/// bound. Therefore one page decides whether a key exists, or on which side to continue the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DataPageHeader<W> {
    pub(super) vacant: bool,
    pub(super) last: bool,
    /// Number of entries in the page.
    pub(super) count: u16,
    /// Index of the page in its node.
    pub(super) index: u16,
    /// Number of pages of the node.
    pub(super) pages: u16,
    /// In the first page of a node: the last page of the previous node; 0 if there is none.
    pub(super) previous: PageNumber,
    /// In the last page of a node, vacant or not: the first page of the next node; 0 if there is none.
    pub(super) next: PageNumber,
    pub(super) low: W,
    pub(super) high: W,
}

/// Offsets of the fields that are written separately.
pub(super) const COUNT_OFFSET: usize = 2;
pub(super) const PREVIOUS_OFFSET: usize = 8;
pub(super) const NEXT_OFFSET: usize = 12;

impl<W: Word> DataPageHeader<W> {
    fn load(bytes: &[u8]) -> Self {
        let flags = bytes.get(1).copied().unwrap_or(0);
        let word = |at: usize| W::load(bytes.get(at..).unwrap_or_default());
        Self {
            vacant: flags & VACANT != 0,
            last: flags & LAST != 0,
            count: u16_at(bytes, COUNT_OFFSET),
            index: u16_at(bytes, 4),
            pages: u16_at(bytes, 6),
            previous: u32_at(bytes, PREVIOUS_OFFSET),
            next: u32_at(bytes, NEXT_OFFSET),
            low: word(16),
            high: word(16 + W::BYTES),
        }
    }

    pub(super) fn stored(&self, shape: &AlexLayout) -> Vec<u8> {
        let mut bytes = vec![0; shape.bitmap_offset()];
        bytes[0] = TAG;
        bytes[1] = if self.vacant { VACANT } else { 0 } | if self.last { LAST } else { 0 };
        bytes[COUNT_OFFSET..4].copy_from_slice(&self.count.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.index.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.pages.to_le_bytes());
        bytes[PREVIOUS_OFFSET..12].copy_from_slice(&self.previous.to_le_bytes());
        bytes[NEXT_OFFSET..16].copy_from_slice(&self.next.to_le_bytes());
        self.low.store(&mut bytes[16..]);
        self.high.store(&mut bytes[16 + W::BYTES..]);
        bytes
    }
}

/// A parsed page of a data node.
#[derive(Clone, Debug)]
pub(super) struct DataPage<W> {
    pub(super) number: PageNumber,
    pub(super) header: DataPageHeader<W>,
    page: Page,
    shape: AlexLayout,
}

impl<W: Word> DataPage<W> {
    /// # Errors
    /// Those of the pages; [`ogive::Cause::Damaged`] if it is not a data page, or if its bitmap contradicts its count.
    pub(super) fn read(pages: &dyn Pages, shape: &AlexLayout, number: PageNumber, purpose: Purpose) -> Result<Self> {
        let page = pages.read(number, purpose)?;
        let header: DataPageHeader<W> = DataPageHeader::load(&page);
        let found = Self { number, header, page, shape: *shape };
        let bits: u32 = found.bitmap().iter().map(|byte| byte.count_ones()).sum();
        let beyond = found.next_occupied(shape.slots).is_some();
        if found.page.first() != Some(&TAG) || header.pages == 0 || header.index >= header.pages {
            return Err(pages.damaged(number, "not a page of a data node"));
        }
        if bits != u32::from(header.count) || beyond {
            return Err(pages.damaged(number, "the bitmap of a data page contradicts its count"));
        }
        Ok(found)
    }

    fn bitmap(&self) -> &[u8] {
        let start = self.shape.bitmap_offset();
        self.page.get(start..start + self.shape.slots.div_ceil(8)).unwrap_or_default()
    }

    pub(super) fn count(&self) -> usize {
        usize::from(self.header.count)
    }

    /// Whether `key` belongs to a page on the left, to this one, or to one on the right.
    pub(super) fn side(&self, key: W) -> std::cmp::Ordering {
        use std::cmp::Ordering;
        let header = &self.header;
        if header.vacant || header.index > 0 && key < header.low {
            Ordering::Less
        } else if !header.last && key >= header.high {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }

    pub(super) fn key(&self, slot: usize) -> W {
        W::load(self.page.get(self.shape.slot_offset(slot)..).unwrap_or_default())
    }

    pub(super) fn value(&self, slot: usize) -> &[u8] {
        let start = self.shape.slot_offset(slot) + self.shape.word;
        self.page.get(start..start + self.shape.value).unwrap_or_default()
    }

    fn is_occupied(&self, slot: usize) -> bool {
        self.bitmap().get(slot / 8).is_some_and(|byte| byte >> (slot % 8) & 1 != 0)
    }

    /// The first occupied slot at or after `slot`.
    pub(super) fn next_occupied(&self, slot: usize) -> Option<usize> {
        let mut mask = u8::MAX << (slot % 8);
        for (index, byte) in self.bitmap().iter().enumerate().skip(slot / 8) {
            if byte & mask != 0 {
                return Some(index * 8 + (byte & mask).trailing_zeros() as usize);
            }
            mask = u8::MAX;
        }
        None
    }

    /// The last occupied slot before `slot`.
    pub(super) fn previous_occupied(&self, slot: usize) -> Option<usize> {
        (0..slot.min(self.shape.slots)).rev().find(|&slot| self.is_occupied(slot))
    }

    /// The first occupied slot whose key is not below `key`, by exponential search from the predicted slot.
    pub(super) fn lower_bound(&self, key: W, line: &AlexLine<W>) -> Option<usize> {
        let below = |slot: usize| self.next_occupied(slot).is_some_and(|slot| self.key(slot) < key);
        self.next_occupied(exponential_search(self.predicted(key, line), self.shape.slots, below))
    }

    /// The slot of this page nearest to the prediction of the model.
    pub(super) fn predicted(&self, key: W, line: &AlexLine<W>) -> usize {
        let slots = self.shape.slots;
        let slot = line.slot(key, usize::from(self.header.pages) * slots);
        slot.saturating_sub(usize::from(self.header.index) * slots).min(slots - 1)
    }

    /// The slot of a key, if it exists.
    pub(super) fn find(&self, key: W, line: &AlexLine<W>) -> Option<usize> {
        self.lower_bound(key, line).filter(|&slot| self.key(slot) == key)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (W, &[u8])> {
        let mut slot = 0;
        std::iter::from_fn(move || {
            let here = self.next_occupied(slot)?;
            slot = here + 1;
            Some((self.key(here), self.value(here)))
        })
    }

    pub(super) fn last_key(&self) -> Option<W> {
        self.previous_occupied(self.shape.slots).map(|slot| self.key(slot))
    }

    /// Inserts a new entry; the page must have room. It takes the predicted slot, or the nearest one within the right
    /// gap; if there is no gap, entries move towards the nearest one.
    pub(super) fn insert(&self, tx: &mut Transaction, line: &AlexLine<W>, key: W, value: &[u8]) -> Result<()> {
        let shape = &self.shape;
        let next = self.lower_bound(key, line).unwrap_or(shape.slots);
        let before = self.previous_occupied(next).map_or(0, |slot| slot + 1);
        let moves = (before == next).then(|| self.nearest_gap(next));
        let (target, taken, moved) = match moves {
            None => {
                let target = self.predicted(key, line).clamp(before, next - 1);
                (target, target, None)
            }
            Some(gap) if gap >= next => (next, gap, Some((next..gap, next + 1))),
            Some(gap) => (next - 1, gap, Some((gap + 1..next, gap))),
        };
        let bit = shape.bitmap_offset() + taken / 8;
        let byte = self.page.get(bit).copied().unwrap_or(0) | 1 << (taken % 8);
        let mut entry = vec![0; shape.entry()];
        key.store(&mut entry);
        entry[shape.word..].copy_from_slice(value);
        let mut edit = tx.edit(self.number, Purpose::Leaf)?;
        if let Some((range, to)) = moved {
            edit.shift(shape.slot_offset(range.start)..shape.slot_offset(range.end), shape.slot_offset(to));
        }
        edit.write(shape.slot_offset(target), &entry);
        edit.write(bit, &[byte]);
        edit.write(COUNT_OFFSET, &(self.header.count + 1).to_le_bytes());
        Ok(())
    }

    /// The free slot nearest to `slot`, if there is one.
    fn nearest_gap(&self, slot: usize) -> usize {
        let right = (slot..self.shape.slots).find(|&slot| !self.is_occupied(slot));
        let left = (0..slot).rev().find(|&slot| !self.is_occupied(slot));
        match (left, right) {
            (Some(left), Some(right)) if slot - left <= right - slot => left,
            (Some(left), None) => left,
            (_, Some(right)) => right,
            (None, None) => slot.min(self.shape.slots - 1),
        }
    }

    /// Overwrites the payload in a slot.
    pub(super) fn overwrite(&self, tx: &mut Transaction, slot: usize, value: &[u8]) -> Result<()> {
        tx.edit(self.number, Purpose::Leaf)?.write(self.shape.slot_offset(slot) + self.shape.word, value);
        Ok(())
    }

    /// Removes the entry in a slot.
    pub(super) fn remove(&self, tx: &mut Transaction, slot: usize) -> Result<()> {
        let bit = self.shape.bitmap_offset() + slot / 8;
        let byte = self.page.get(bit).copied().unwrap_or(0) & !(1 << (slot % 8));
        let mut edit = tx.edit(self.number, Purpose::Leaf)?;
        edit.write(bit, &[byte]);
        edit.write(COUNT_OFFSET, &self.header.count.saturating_sub(1).to_le_bytes());
        Ok(())
    }
}

/// Exponential search from `start`: the partition point of `below` in `0..length`.
fn exponential_search(start: usize, length: usize, below: impl Fn(usize) -> bool) -> usize {
    let start = start.min(length);
    let (mut low, mut high) = (0, length);
    let mut step = 1;
    if start < length && below(start) {
        low = start + 1;
        while low < length {
            let probe = (start + step).min(length - 1);
            if !below(probe) {
                high = probe;
                break;
            }
            low = probe + 1;
            step *= 2;
        }
    } else {
        high = start;
        while high > 0 {
            let probe = start.saturating_sub(step);
            if below(probe) {
                low = probe + 1;
                break;
            }
            high = probe;
            step *= 2;
        }
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if below(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The bytes of a data page: each entry of `range` is as near to its predicted slot as the order allows.
pub(super) fn compose<W: Word>(
    shape: &AlexLayout,
    header: DataPageHeader<W>,
    line: &AlexLine<W>,
    batch: &Batch<W>,
    range: Range<usize>,
) -> Vec<u8> {
    let header = DataPageHeader { count: range.len() as u16, ..header };
    let mut bytes = header.stored(shape);
    bytes.resize(shape.page, 0);
    let node_slots = usize::from(header.pages) * shape.slots;
    let start = usize::from(header.index) * shape.slots;
    let mut free = 0;
    let end = range.end;
    for index in range {
        let key = batch.keys[index];
        let limit = shape.slots - (end - index);
        let slot = line.slot(key, node_slots).saturating_sub(start).clamp(free, limit);
        bytes[shape.bitmap_offset() + slot / 8] |= 1 << (slot % 8);
        let at = shape.slot_offset(slot);
        key.store(&mut bytes[at..]);
        bytes[at + shape.word..at + shape.entry()].copy_from_slice(batch.value(index));
        free = slot + 1;
    }
    bytes
}
