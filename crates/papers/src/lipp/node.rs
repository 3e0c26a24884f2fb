//! A LIPP node of any kind.

use super::cells::Cell;
use super::fence::Fence;
use super::header::{COUNTS_OFFSET, Counts, Kind};
use super::link::Link;
use super::mixed::Mixed;
use super::packed::Packed;
use super::shape::Shape;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages, Transaction};

/// A node on a path. Cells are read; of wide nodes nothing is.
#[derive(Clone, Debug)]
pub(super) enum Node<W> {
    /// Slots that a model computes.
    Mixed(Mixed<W>),
    /// Sorted entries.
    Packed(Packed<W>),
    /// Separators and pointers.
    Fence(Fence<W>),
}

impl<W: Word> Node<W> {
    /// # Errors
    /// Those of the pages; [`ogive::Error::Damaged`].
    pub(super) fn open(pages: &dyn Pages, shape: &Shape, link: &Link<W>, depth: u8) -> Result<Self> {
        match *link {
            Link::Wide { first, size, line } => Ok(Self::Mixed(Mixed::wide(shape, first, size, line, depth))),
            Link::Cell { page, cell } => {
                let cell = Cell::read(pages, shape, page, cell, Purpose::Leaf)?;
                match cell.header.kind {
                    Kind::Mixed => Ok(Self::Mixed(Mixed::of_cell(pages, shape, &cell)?)),
                    Kind::Packed => Ok(Self::Packed(Packed::new(pages, shape, cell)?)),
                    Kind::Fence => Ok(Self::Fence(Fence::new(pages, shape, cell)?)),
                }
            }
        }
    }
}

/// Where the statistics of a node with a model lie.
fn counts_place<W: Word>(
    pages: &dyn Pages,
    shape: &Shape,
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

/// The statistics of a node with a model.
pub(super) fn counts<W: Word>(pages: &dyn Pages, shape: &Shape, link: &Link<W>, depth: u8) -> Result<Counts> {
    let (page, offset, purpose) = counts_place(pages, shape, link, depth)?;
    Ok(Counts::load(&pages.read(page, purpose)?, offset))
}

/// Writes the statistics of a node with a model.
pub(super) fn set_counts<W: Word>(
    tx: &mut Transaction,
    shape: &Shape,
    link: &Link<W>,
    depth: u8,
    counts: &Counts,
) -> Result<()> {
    let (page, offset, purpose) = counts_place(tx, shape, link, depth)?;
    tx.edit(page, purpose)?.write(offset, &counts.stored());
    Ok(())
}
