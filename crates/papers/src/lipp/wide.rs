//! LIPP nodes that take pages of their own.
//!
//! ```text
//!   page of slots:  0    1       4        8      12         16       24
//!                   tag  unused  entries  built  conflicts  summary  types | slots
//!   summary page:   0    1       8
//!                   tag  unused  bits
//! ```
//!
//! Statistics and summary count in the first page alone. The summary has a bit for each page that holds anything; from
//! 65 pages on it lies behind the slots, in pages of its own.

use super::header::{COUNTS_OFFSET, Counts};
use super::mixed::{Mixed, Slot, put};
use super::shape::{SUMMARY_HEADER_BYTES, SUMMARY_IN_PAGE, Shape, WIDE_HEADER_BYTES, types_bytes};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages, Transaction};

const TAG: u8 = 0xb2;
const SUMMARY_TAG: u8 = 0xb3;
const SUMMARY_OFFSET: usize = 16;

/// # Errors
/// [`ogive::Error::Damaged`] where the page is none of a wide node.
pub(super) fn check_page(pages: &dyn Pages, number: PageNumber, page: &[u8]) -> Result<()> {
    match page.first() {
        Some(&TAG) => Ok(()),
        _ => Err(pages.damaged(number, "this is no page of a node with slots")),
    }
}

/// Where the bit of a page lies: the page of bits, the byte, the bit.
fn place<W: Word>(shape: &Shape, node: &Mixed<W>, pages: u32, index: u32) -> (PageNumber, usize, u32) {
    if pages <= SUMMARY_IN_PAGE {
        return (node.first, SUMMARY_OFFSET + (index / 8) as usize, index % 8);
    }
    let bits = shape.summary_bits().max(1);
    let page = node.first.saturating_add(pages).saturating_add(index / bits);
    (page, SUMMARY_HEADER_BYTES + (index % bits / 8) as usize, index % 8)
}

/// Notes that a page of a node holds something now, or nothing.
pub(super) fn note<W: Word>(
    tx: &mut Transaction,
    shape: &Shape,
    node: &Mixed<W>,
    pages: u32,
    index: u32,
    holds: bool,
) -> Result<()> {
    let (page, byte, bit) = place(shape, node, pages, index);
    let before = read_bits(tx, node, page)?.get(byte).copied().unwrap_or(0);
    let after = if holds { before | 1 << bit } else { before & !(1 << bit) };
    tx.edit(page, node.purpose)?.write(byte, &[after]);
    Ok(())
}

/// A page of bits, checked for its tag.
fn read_bits<W: Word>(pages: &dyn Pages, node: &Mixed<W>, number: PageNumber) -> Result<Page> {
    let page = pages.read(number, node.purpose)?;
    let tag = if number == node.first { TAG } else { SUMMARY_TAG };
    if page.first() != Some(&tag) {
        return Err(pages.damaged(number, "this is no summary of a node"));
    }
    Ok(page)
}

/// Whether the summary says that a page of the node holds anything.
pub(super) fn holds<W: Word>(pages: &dyn Pages, shape: &Shape, node: &Mixed<W>, index: u32) -> Result<bool> {
    let Some(all) = node.wide else { return Ok(true) };
    let (page, byte, bit) = place(shape, node, all, index);
    Ok(read_bits(pages, node, page)?.get(byte).is_some_and(|byte| byte >> bit & 1 != 0))
}

/// The nearest page, from `index` on in a direction, that the summary says to hold anything.
pub(super) fn nearest<W: Word>(
    pages: &dyn Pages,
    shape: &Shape,
    node: &Mixed<W>,
    index: Option<u32>,
    forward: bool,
) -> Result<Option<u32>> {
    let (Some(all), Some(mut index)) = (node.wide, index) else { return Ok(None) };
    let mut held: Option<(PageNumber, Page)> = None;
    while index < all {
        let (number, byte, bit) = place(shape, node, all, index);
        let bits = match held.take() {
            Some((page, bits)) if page == number => bits,
            _ => read_bits(pages, node, number)?,
        };
        let value = bits.get(byte).copied().unwrap_or(0);
        if value >> bit & 1 != 0 {
            return Ok(Some(index));
        }
        // A byte of no bits is passed at once.
        let step = match (value, forward) {
            (0, true) => 8 - index % 8,
            (0, false) => index % 8 + 1,
            _ => 1,
        };
        held = Some((number, bits));
        index = match if forward { index.checked_add(step) } else { index.checked_sub(step) } {
            Some(next) => next,
            None => return Ok(None),
        };
    }
    Ok(None)
}

/// Writes a wide node, page after page, into fresh pages.
#[derive(Debug)]
pub(super) struct WideWriter<'a> {
    shape: &'a Shape,
    first: PageNumber,
    pages: u32,
    purpose: Purpose,
    counts: Counts,
    /// One bit for each page of slots: whether it holds anything.
    holds: Vec<u8>,
    open: (u32, Vec<u8>),
}

impl<'a> WideWriter<'a> {
    /// A node of which `holds` tells, by bits, which pages hold anything.
    pub(super) fn new<W: Word>(shape: &'a Shape, node: &Mixed<W>, counts: Counts, holds: Vec<u8>) -> Self {
        let pages = node.wide.unwrap_or(1);
        let writer =
            Self { shape, first: node.first, pages, purpose: node.purpose, counts, holds, open: (0, Vec::new()) };
        let open = (0, writer.blank(0));
        Self { open, ..writer }
    }

    fn blank(&self, index: u32) -> Vec<u8> {
        let mut bytes = vec![0; WIDE_HEADER_BYTES + types_bytes(self.shape.wide_slots())];
        bytes[0] = TAG;
        if index == 0 {
            bytes[COUNTS_OFFSET..SUMMARY_OFFSET].copy_from_slice(&self.counts.stored());
            if self.pages <= SUMMARY_IN_PAGE {
                bytes[SUMMARY_OFFSET..SUMMARY_OFFSET + self.holds.len()].copy_from_slice(&self.holds);
            }
        }
        bytes.resize(self.shape.page, 0);
        bytes
    }

    /// Writes a slot; slots ascend.
    pub(super) fn put<W: Word>(&mut self, tx: &mut Transaction, slot: u32, content: &Slot<W>) -> Result<()> {
        let a_page = self.shape.wide_slots();
        self.advance(tx, slot / a_page as u32)?;
        put(&mut self.open.1, self.shape, WIDE_HEADER_BYTES, a_page, slot as usize % a_page, content);
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

    /// Writes the last pages, and the summary.
    pub(super) fn finish(mut self, tx: &mut Transaction) -> Result<()> {
        self.advance(tx, self.pages)?;
        if self.pages > SUMMARY_IN_PAGE {
            let a_page = self.shape.summary_bits() as usize / 8;
            for (index, bits) in self.holds.chunks(a_page).enumerate() {
                let mut bytes = vec![0; SUMMARY_HEADER_BYTES];
                bytes[0] = SUMMARY_TAG;
                bytes.extend_from_slice(bits);
                tx.write_fresh(self.first + self.pages + index as u32, self.purpose, &bytes)?;
            }
        }
        Ok(())
    }
}
