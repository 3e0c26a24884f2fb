//! Cells: small nodes that share pages.
//!
//! ```text
//!   0    1      2     4     8         16
//!   tag  class  used  next  previous  cell | cell | cell | ...
//! ```
//!
//! All cells of a page have the size of its class. The pages of a class with a free cell form a doubly linked list,
//! whose head is in the state.

use super::header::CellHeader;
use super::link::Link;
use super::shape::{CELLS_HEADER_BYTES, CLASSES, LippLayout};
use crate::kinds::numbers::{u16_at, u32_at};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages, Transaction};

const TAG: u8 = 0xb1;
const USED_OFFSET: usize = 2;
const NEXT_OFFSET: usize = 4;
const PREVIOUS_OFFSET: usize = 8;

/// A parsed cell.
#[derive(Clone, Debug)]
pub(super) struct Cell<W> {
    pub(super) number: PageNumber,
    pub(super) cell: u16,
    pub(super) class: usize,
    pub(super) header: CellHeader<W>,
    /// The offset of the cell in its page.
    pub(super) offset: usize,
    pub(super) page: Page,
}

impl<W: Word> Cell<W> {
    /// # Errors
    /// Those of the pages; [`ogive::Cause::Damaged`] if there is no such cell, or it is free.
    pub(super) fn read(
        pages: &dyn Pages,
        shape: &LippLayout,
        number: PageNumber,
        cell: u16,
        purpose: Purpose,
    ) -> Result<Self> {
        let page = pages.read(number, purpose)?;
        let class = class_of(&page).filter(|&class| usize::from(cell) < shape.cells_in_page(class));
        let Some(class) = class else { return Err(pages.damaged(number, "the page has no such cell")) };
        let offset = CELLS_HEADER_BYTES + usize::from(cell) * shape.cell(class);
        let header = CellHeader::load(page.get(offset..).unwrap_or_default());
        let Some(header) = header else { return Err(pages.damaged(number, "a pointer leads to a free cell")) };
        Ok(Self { number, cell, class, header, offset, page })
    }

    /// The offset in the page of the cell's content after its header.
    pub(super) fn body(&self, shape: &LippLayout) -> usize {
        self.offset + shape.cell_header()
    }
}

/// The class of a page of cells; `None` for other pages.
fn class_of(page: &[u8]) -> Option<usize> {
    match page {
        [TAG, class, ..] if usize::from(*class) < CLASSES => Some(usize::from(*class)),
        _ => None,
    }
}

/// The header of a page of cells: class, number of cells in use, and list links.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellPage {
    pub(super) class: usize,
    pub(super) used: u16,
    pub(super) next: PageNumber,
    pub(super) previous: PageNumber,
}

impl CellPage {
    /// # Errors
    /// Those of the pages; [`ogive::Cause::Damaged`] if it is not a page of cells.
    pub(super) fn read(pages: &dyn Pages, number: PageNumber) -> Result<Self> {
        let page = pages.read(number, Purpose::Leaf)?;
        let Some(class) = class_of(&page) else { return Err(pages.damaged(number, "not a page of cells")) };
        let used = u16_at(&page, USED_OFFSET);
        Ok(Self { class, used, next: u32_at(&page, NEXT_OFFSET), previous: u32_at(&page, PREVIOUS_OFFSET) })
    }
}

/// Writes a cell to a page with room, or to a new one; the write is logged.
pub(super) fn write_cell<W: Word>(
    tx: &mut Transaction,
    shape: &LippLayout,
    lists: &mut [PageNumber; CLASSES],
    class: usize,
    content: &[u8],
) -> Result<Link<W>> {
    let cells = shape.cells_in_page(class);
    let number = if lists[class] == 0 {
        let number = tx.allocate()?;
        tx.edit(number, Purpose::Leaf)?.write(0, &[TAG, class as u8]);
        lists[class] = number;
        number
    } else {
        lists[class]
    };
    let page = tx.read(number, Purpose::Leaf)?;
    let is_free = |cell: &usize| page.get(CELLS_HEADER_BYTES + cell * shape.cell(class)) == Some(&0);
    let cell = (0..cells).find(is_free).filter(|_| class_of(&page) == Some(class));
    let Some(cell) = cell else { return Err(tx.damaged(number, "a page in a list of free cells is full")) };
    let used = usize::from(u16_at(&page, USED_OFFSET)) + 1;
    let next = u32_at(&page, NEXT_OFFSET);
    let mut edit = tx.edit(number, Purpose::Leaf)?;
    edit.write(CELLS_HEADER_BYTES + cell * shape.cell(class), content);
    edit.write(USED_OFFSET, &(used as u16).to_le_bytes());
    if used >= cells {
        edit.write(NEXT_OFFSET, &[0; 8]);
        drop(edit);
        lists[class] = next;
        set_previous(tx, next, 0)?;
    }
    Ok(Link::Cell { page: number, cell: cell as u16 })
}

fn set_previous(tx: &mut Transaction, page: PageNumber, previous: PageNumber) -> Result<()> {
    if page != 0 {
        tx.edit(page, Purpose::Leaf)?.write(PREVIOUS_OFFSET, &previous.to_le_bytes());
    }
    Ok(())
}

/// Frees a cell, and its page if it was the last one there.
pub(super) fn free_cell(
    tx: &mut Transaction,
    shape: &LippLayout,
    lists: &mut [PageNumber; CLASSES],
    number: PageNumber,
    cell: u16,
) -> Result<()> {
    let CellPage { class, used, next, previous } = CellPage::read(tx, number)?;
    let cells = shape.cells_in_page(class);
    let was_full = usize::from(used) >= cells;
    if used <= 1 {
        if !was_full {
            match previous {
                0 => lists[class] = next,
                _ => tx.edit(previous, Purpose::Leaf)?.write(NEXT_OFFSET, &next.to_le_bytes()),
            }
            set_previous(tx, next, previous)?;
        }
        tx.free(number, 1);
        return Ok(());
    }
    let mut edit = tx.edit(number, Purpose::Leaf)?;
    edit.write(CELLS_HEADER_BYTES + usize::from(cell) * shape.cell(class), &[0]);
    edit.write(USED_OFFSET, &(used - 1).to_le_bytes());
    if was_full {
        edit.write(NEXT_OFFSET, &lists[class].to_le_bytes());
        edit.write(PREVIOUS_OFFSET, &[0; 4]);
        drop(edit);
        set_previous(tx, lists[class], number)?;
        lists[class] = number;
    }
    Ok(())
}

/// A writer of cells to fresh pages, one open page per class: for large builds, which bypass the log.
#[derive(Debug, Default)]
pub(super) struct FreshCells {
    open: [Option<OpenPage>; CLASSES],
}

#[derive(Debug)]
struct OpenPage {
    number: PageNumber,
    used: usize,
    content: Vec<u8>,
}

impl FreshCells {
    /// Writes a cell.
    pub(super) fn write<W: Word>(
        &mut self,
        tx: &mut Transaction,
        shape: &LippLayout,
        class: usize,
        content: &[u8],
    ) -> Result<Link<W>> {
        let mut page = match self.open[class].take() {
            Some(page) => page,
            None => {
                let mut header = vec![0; shape.page];
                header[..2].copy_from_slice(&[TAG, class as u8]);
                OpenPage { number: tx.allocate_extent(1)?, used: 0, content: header }
            }
        };
        let offset = CELLS_HEADER_BYTES + page.used * shape.cell(class);
        page.content[offset..offset + content.len()].copy_from_slice(content);
        let link = Link::Cell { page: page.number, cell: page.used as u16 };
        page.used += 1;
        page.content[USED_OFFSET..NEXT_OFFSET].copy_from_slice(&(page.used as u16).to_le_bytes());
        if page.used == shape.cells_in_page(class) {
            tx.write_fresh(page.number, Purpose::Leaf, &page.content)?;
        } else {
            self.open[class] = Some(page);
        }
        Ok(link)
    }

    /// Writes the open pages, and adds them to the lists.
    pub(super) fn finish(self, tx: &mut Transaction, lists: &mut [PageNumber; CLASSES]) -> Result<()> {
        for (page, list) in self.open.into_iter().zip(lists) {
            let Some(mut page) = page else { continue };
            page.content[NEXT_OFFSET..PREVIOUS_OFFSET].copy_from_slice(&list.to_le_bytes());
            tx.write_fresh(page.number, Purpose::Leaf, &page.content)?;
            set_previous(tx, *list, page.number)?;
            *list = page.number;
        }
        Ok(())
    }
}
