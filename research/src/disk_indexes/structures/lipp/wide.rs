//! Wide nodes: LIPP nodes that span pages.
//!
//! ```text
//!   page of slots:  0    1       4        8      12         16       24
//!                   tag  unused  entries  built  conflicts  summary  types | slots
//!   summary page:   0    1       8
//!                   tag  unused  bits
//! ```
//!
//! Statistics and summary are in the first page only. The summary has a bit per page, set if the page has an occupied
//! slot; from 65 pages on it is in separate pages after the slots.

use super::header::{COUNTS_OFFSET, LippCounts};
use super::mixed::{LippSlot, Mixed, put};
use super::shape::{LippLayout, SUMMARY_HEADER_BYTES, SUMMARY_IN_PAGE_MAX, WIDE_HEADER_BYTES, types_bytes};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages, Transaction};

const TAG: u8 = 0xb2;
const SUMMARY_TAG: u8 = 0xb3;
const SUMMARY_OFFSET: usize = 16;

/// # Errors
/// [`ogive::Cause::Damaged`] if the page is not one of a wide node.
pub(super) fn check_page(pages: &dyn Pages, number: PageNumber, page: &[u8]) -> Result<()> {
    match page.first() {
        Some(&TAG) => Ok(()),
        _ => Err(pages.damaged(number, "not a page of a wide node")),
    }
}

/// The location of the summary bit of a page: page, byte, bit.
fn bit_location<W: Word>(shape: &LippLayout, node: &Mixed<W>, pages: u32, index: u32) -> (PageNumber, usize, u32) {
    if pages <= SUMMARY_IN_PAGE_MAX {
        return (node.first, SUMMARY_OFFSET + (index / 8) as usize, index % 8);
    }
    let bits = shape.summary_bits().max(1);
    let page = node.first.saturating_add(pages).saturating_add(index / bits);
    (page, SUMMARY_HEADER_BYTES + (index % bits / 8) as usize, index % 8)
}

/// Sets or clears the summary bit of a page.
pub(super) fn set_page_used<W: Word>(
    tx: &mut Transaction,
    shape: &LippLayout,
    node: &Mixed<W>,
    pages: u32,
    index: u32,
    used: bool,
) -> Result<()> {
    let (page, byte, bit) = bit_location(shape, node, pages, index);
    let before = read_bits(tx, node, page)?.get(byte).copied().unwrap_or(0);
    let after = if used { before | 1 << bit } else { before & !(1 << bit) };
    tx.edit(page, node.purpose)?.write(byte, &[after]);
    Ok(())
}

/// Reads a page with summary bits, and checks its type.
fn read_bits<W: Word>(pages: &dyn Pages, node: &Mixed<W>, number: PageNumber) -> Result<Page> {
    let page = pages.read(number, node.purpose)?;
    let tag = if number == node.first { TAG } else { SUMMARY_TAG };
    if page.first() != Some(&tag) {
        return Err(pages.damaged(number, "not a summary page of a node"));
    }
    Ok(page)
}

/// Whether a page of the node is in use, by its summary.
pub(super) fn is_page_used<W: Word>(
    pages: &dyn Pages,
    shape: &LippLayout,
    node: &Mixed<W>,
    index: u32,
) -> Result<bool> {
    let Some(all) = node.wide else { return Ok(true) };
    let (page, byte, bit) = bit_location(shape, node, all, index);
    Ok(read_bits(pages, node, page)?.get(byte).is_some_and(|byte| byte >> bit & 1 != 0))
}

/// The nearest page in use from `index` on in a direction, by the summary.
pub(super) fn nearest_used_page<W: Word>(
    pages: &dyn Pages,
    shape: &LippLayout,
    node: &Mixed<W>,
    index: Option<u32>,
    forward: bool,
) -> Result<Option<u32>> {
    let (Some(all), Some(mut index)) = (node.wide, index) else { return Ok(None) };
    let mut cached: Option<(PageNumber, Page)> = None;
    while index < all {
        let (number, byte, bit) = bit_location(shape, node, all, index);
        let bits = match cached.take() {
            Some((page, bits)) if page == number => bits,
            _ => read_bits(pages, node, number)?,
        };
        let value = bits.get(byte).copied().unwrap_or(0);
        if value >> bit & 1 != 0 {
            return Ok(Some(index));
        }
        // Skips a whole byte without set bits.
        let step = match (value, forward) {
            (0, true) => 8 - index % 8,
            (0, false) => index % 8 + 1,
            _ => 1,
        };
        cached = Some((number, bits));
        index = match if forward { index.checked_add(step) } else { index.checked_sub(step) } {
            Some(next) => next,
            None => return Ok(None),
        };
    }
    Ok(None)
}

/// A writer of a wide node to fresh pages, one after another.
#[derive(Debug)]
pub(super) struct WideWriter<'a> {
    shape: &'a LippLayout,
    first: PageNumber,
    pages: u32,
    purpose: Purpose,
    counts: LippCounts,
    /// The summary: one bit per page of slots.
    summary: Vec<u8>,
    open: (u32, Vec<u8>),
}

impl<'a> WideWriter<'a> {
    /// Creates a writer of a node with its summary.
    pub(super) fn new<W: Word>(shape: &'a LippLayout, node: &Mixed<W>, counts: LippCounts, summary: Vec<u8>) -> Self {
        let pages = node.wide.unwrap_or(1);
        let writer =
            Self { shape, first: node.first, pages, purpose: node.purpose, counts, summary, open: (0, Vec::new()) };
        let open = (0, writer.blank(0));
        Self { open, ..writer }
    }

    fn blank(&self, index: u32) -> Vec<u8> {
        let mut bytes = vec![0; WIDE_HEADER_BYTES + types_bytes(self.shape.wide_slots())];
        bytes[0] = TAG;
        if index == 0 {
            bytes[COUNTS_OFFSET..SUMMARY_OFFSET].copy_from_slice(&self.counts.stored());
            if self.pages <= SUMMARY_IN_PAGE_MAX {
                bytes[SUMMARY_OFFSET..SUMMARY_OFFSET + self.summary.len()].copy_from_slice(&self.summary);
            }
        }
        bytes.resize(self.shape.page, 0);
        bytes
    }

    /// Adds a slot; slots ascend.
    pub(super) fn put<W: Word>(&mut self, tx: &mut Transaction, slot: u32, content: &LippSlot<W>) -> Result<()> {
        let slots_per_page = self.shape.wide_slots();
        self.advance(tx, slot / slots_per_page as u32)?;
        put(&mut self.open.1, self.shape, WIDE_HEADER_BYTES, slots_per_page, slot as usize % slots_per_page, content);
        Ok(())
    }

    /// Writes all pages before `index`.
    fn advance(&mut self, tx: &mut Transaction, index: u32) -> Result<()> {
        while self.open.0 < index {
            tx.write_fresh(self.first + self.open.0, self.purpose, &self.open.1)?;
            let next = self.open.0 + 1;
            self.open = (next, if next < self.pages { self.blank(next) } else { Vec::new() });
        }
        Ok(())
    }

    /// Writes the remaining pages and the summary.
    pub(super) fn finish(mut self, tx: &mut Transaction) -> Result<()> {
        self.advance(tx, self.pages)?;
        if self.pages > SUMMARY_IN_PAGE_MAX {
            let page_bytes = self.shape.summary_bits() as usize / 8;
            for (index, bits) in self.summary.chunks(page_bytes).enumerate() {
                let mut bytes = vec![0; SUMMARY_HEADER_BYTES];
                bytes[0] = SUMMARY_TAG;
                bytes.extend_from_slice(bits);
                tx.write_fresh(self.first + self.pages + index as u32, self.purpose, &bytes)?;
            }
        }
        Ok(())
    }
}
