//! LIPP links: pointers to nodes.

use super::line::LippLine;
use super::shape::LippLayout;
use crate::kinds::numbers::{u16_at, u32_at};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Pages};

/// A pointer to a node: a cell, or a wide node together with its model.
///
/// ```text
///   0      4     5            8
///   first  0     cell (u16)   unused       a cell: its page, its index there
///   first  size  slope (u24)  base         a wide node: its first page, its size code, its model
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Link<W> {
    Cell { page: PageNumber, cell: u16 },
    Wide { first: PageNumber, size: u8, line: LippLine<W> },
}

/// Bytes of a link without its key.
pub(super) const LINK_FIXED_BYTES: usize = 8;

impl<W: Word> Link<W> {
    pub(super) fn store(&self, bytes: &mut [u8]) {
        match self {
            Self::Cell { page, cell } => {
                bytes[..4].copy_from_slice(&page.to_le_bytes());
                bytes[5..7].copy_from_slice(&cell.to_le_bytes());
            }
            Self::Wide { first, size, line } => {
                bytes[..4].copy_from_slice(&first.to_le_bytes());
                bytes[4] = *size;
                bytes[5..8].copy_from_slice(&line.slope_bits.to_le_bytes()[..3]);
                line.base.store(&mut bytes[LINK_FIXED_BYTES..]);
            }
        }
    }

    pub(super) fn stored(&self, shape: &LippLayout) -> Vec<u8> {
        let mut bytes = vec![0; shape.link()];
        self.store(&mut bytes);
        bytes
    }

    /// Parses a pointer in page `from`.
    ///
    /// # Errors
    /// [`ogive::Cause::Damaged`] if it points beyond the file.
    pub(super) fn load(pages: &dyn Pages, shape: &LippLayout, from: PageNumber, bytes: &[u8]) -> Result<Self> {
        let first = u32_at(bytes, 0);
        let size = bytes.get(4).copied().unwrap_or(0);
        let taken = if size == 0 { Some(1) } else { shape.wide_extent_pages(size) };
        let end = taken.and_then(|taken| first.checked_add(taken));
        if first == 0 || end.is_none_or(|end| end > pages.page_count()) {
            return Err(pages.damaged(from, "a pointer to a node leads beyond the end of the file"));
        }
        if size == 0 {
            return Ok(Self::Cell { page: first, cell: u16_at(bytes, 5) });
        }
        let base = W::load(bytes.get(LINK_FIXED_BYTES..).unwrap_or_default());
        Ok(Self::Wide { first, size, line: LippLine { base, slope_bits: u32_at(bytes, 4) >> 8 } })
    }

    /// The first page of the node.
    pub(super) fn page(&self) -> PageNumber {
        match self {
            Self::Cell { page, .. } => *page,
            Self::Wide { first, .. } => *first,
        }
    }
}
