//! LIPP nodes of any kind, and their statistics.

use super::cells::Cell;
use super::fence::Fence;
use super::header::{COUNTS_OFFSET, CellKind, LippCounts};
use super::link::Link;
use super::mixed::Mixed;
use super::packed::Packed;
use super::shape::LippLayout;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages, Transaction};

/// A node on a path. Cells have been read, wide nodes have not.
#[derive(Clone, Debug)]
pub(super) enum LippNode<W> {
    /// A node with slots that its model computes.
    Mixed(Mixed<W>),
    /// A node of sorted entries.
    Packed(Packed<W>),
    /// A node of separators and pointers.
    Fence(Fence<W>),
}

impl<W: Word> LippNode<W> {
    /// # Errors
    /// Those of the pages; [`ogive::Cause::Damaged`].
    pub(super) fn open(pages: &dyn Pages, shape: &LippLayout, link: &Link<W>, depth: u8) -> Result<Self> {
        match *link {
            Link::Wide { first, size, line } => Ok(Self::Mixed(Mixed::wide(shape, first, size, line, depth))),
            Link::Cell { page, cell } => {
                let cell = Cell::read(pages, shape, page, cell, Purpose::Leaf)?;
                match cell.header.kind {
                    CellKind::Mixed => Ok(Self::Mixed(Mixed::of_cell(pages, shape, &cell)?)),
                    CellKind::Packed => Ok(Self::Packed(Packed::new(pages, shape, cell)?)),
                    CellKind::Fence => Ok(Self::Fence(Fence::new(pages, shape, cell)?)),
                }
            }
        }
    }
}

/// The location of the statistics of a node with a model.
fn counts_location<W: Word>(
    pages: &dyn Pages,
    shape: &LippLayout,
    link: &Link<W>,
    depth: u8,
) -> Result<(PageNumber, usize, Purpose)> {
    match *link {
        Link::Wide { first, .. } => Ok((first, COUNTS_OFFSET, Purpose::Inner(depth))),
        Link::Cell { page, cell } => {
            let cell: Cell<W> = Cell::read(pages, shape, page, cell, Purpose::Leaf)?;
            Ok((page, cell.offset + COUNTS_OFFSET, Purpose::Leaf))
        }
    }
}

/// Reads the statistics of a node with a model.
pub(super) fn counts<W: Word>(pages: &dyn Pages, shape: &LippLayout, link: &Link<W>, depth: u8) -> Result<LippCounts> {
    let (page, offset, purpose) = counts_location(pages, shape, link, depth)?;
    Ok(LippCounts::load(&pages.read(page, purpose)?, offset))
}

/// Writes the statistics of a node with a model.
pub(super) fn set_counts<W: Word>(
    tx: &mut Transaction,
    shape: &LippLayout,
    link: &Link<W>,
    depth: u8,
    counts: &LippCounts,
) -> Result<()> {
    let (page, offset, purpose) = counts_location(tx, shape, link, depth)?;
    tx.edit(page, purpose)?.write(offset, &counts.stored());
    Ok(())
}
