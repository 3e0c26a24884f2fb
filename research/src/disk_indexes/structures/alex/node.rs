//! An ALEX data node, an extent of pages: reads, the search for the page of a key, and writes.

use super::child::ChildPointer;
use super::cost::{NodeFit, Planner};
use super::leaf::{DataPage, DataPageHeader, NEXT_OFFSET, PREVIOUS_OFFSET, compose};
use super::shape::AlexLayout;
use crate::kinds::batch::Batch;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages, Transaction};
use std::cmp::Ordering;
use std::ops::Range;

/// The neighbours of a data node, or of several that replace one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodeLinks {
    /// The last page of the previous node; 0 if there is none.
    pub(super) previous: PageNumber,
    /// The first page of the next node; 0 if there is none.
    pub(super) next: PageNumber,
}

/// Reads the page of a data node that a key belongs to, by a galloping search from the predicted one.
///
/// # Errors
/// [`ogive::Cause::Damaged`] if the key ranges of the pages contradict each other.
pub(super) fn find_page<W: Word>(
    pages: &dyn Pages,
    shape: &AlexLayout,
    node: &ChildPointer<W>,
    key: W,
) -> Result<DataPage<W>> {
    let count = usize::from(node.size);
    let (mut low, mut high) = (0, count);
    let mut index = node.line.slot(key, count * shape.slots) / shape.slots;
    let (mut step, mut last_side) = (1, Ordering::Equal);
    while low < high {
        let page = read_page(pages, shape, node, index, Purpose::Leaf)?;
        let side = page.side(key);
        match side {
            Ordering::Less => high = index,
            Ordering::Greater => low = index + 1,
            Ordering::Equal => return Ok(page),
        }
        if last_side != Ordering::Equal && last_side != side {
            index = low + (high.saturating_sub(low)) / 2;
        } else {
            let target = if side == Ordering::Less { index.saturating_sub(step) } else { index + step };
            index = target.clamp(low, high.saturating_sub(1).max(low));
            step *= 2;
            last_side = side;
        }
    }
    Err(pages.damaged(node.first, "no page of a data node holds the keys of a range"))
}

/// Reads page `index` of a node.
///
/// # Errors
/// [`ogive::Cause::Damaged`] if its header names another node or index.
pub(super) fn read_page<W: Word>(
    pages: &dyn Pages,
    shape: &AlexLayout,
    node: &ChildPointer<W>,
    index: usize,
    purpose: Purpose,
) -> Result<DataPage<W>> {
    let page = DataPage::read(pages, shape, node.first + index as u32, purpose)?;
    if usize::from(page.header.index) != index || page.header.pages != node.size {
        return Err(pages.damaged(page.number, "a data page belongs to another node"));
    }
    Ok(page)
}

/// Reads all entries of a node, and its links.
///
/// # Errors
/// [`ogive::Cause::Damaged`] if keys do not ascend.
pub(super) fn load_node<W: Word>(
    pages: &dyn Pages,
    shape: &AlexLayout,
    node: &ChildPointer<W>,
) -> Result<(Batch<W>, NodeLinks)> {
    let mut batch = Batch::new(shape.value);
    let mut links = NodeLinks::default();
    for index in 0..usize::from(node.size) {
        let page = read_page(pages, shape, node, index, Purpose::Leaf)?;
        for (key, value) in page.entries() {
            if batch.keys.last().is_some_and(|&last| key <= last) {
                return Err(pages.damaged(page.number, "keys of a data node do not ascend"));
            }
            batch.push(key, value);
        }
        if index == 0 {
            links.previous = page.header.previous;
        }
        links.next = page.header.next;
    }
    Ok((batch, links))
}

/// Writes a data node to fresh pages: the entries of `range`, distributed as `fit` says; further pages stay vacant.
pub(super) fn write_node<W: Word>(
    tx: &mut Transaction,
    planner: &Planner,
    node: &ChildPointer<W>,
    links: NodeLinks,
    fit: &NodeFit<W>,
    (batch, range): (&Batch<W>, Range<usize>),
) -> Result<()> {
    let pages = usize::from(node.size);
    let used = fit.ends.len();
    let mut start = range.start;
    for index in 0..pages {
        let end = range.start + fit.ends.get(index).copied().unwrap_or(range.len());
        let fence = |at: usize| batch.keys.get(at).or(batch.keys.last()).copied().unwrap_or_default();
        let header = DataPageHeader {
            vacant: index >= used,
            last: index + 1 == used,
            count: 0,
            index: index as u16,
            pages: node.size,
            previous: if index == 0 { links.previous } else { 0 },
            next: if index + 1 == pages { links.next } else { 0 },
            low: fence(start),
            high: fence(end),
        };
        let bytes = compose(&planner.shape, header, &node.line, batch, start..end);
        tx.write_fresh(node.first + index as u32, Purpose::Leaf, &bytes)?;
        start = end;
    }
    Ok(())
}

/// Links both neighbours to the pages between them.
pub(super) fn relink(tx: &mut Transaction, links: NodeLinks, first: PageNumber, last: PageNumber) -> Result<()> {
    if links.previous != 0 {
        tx.edit(links.previous, Purpose::Leaf)?.write(NEXT_OFFSET, &first.to_le_bytes());
    }
    if links.next != 0 {
        tx.edit(links.next, Purpose::Leaf)?.write(PREVIOUS_OFFSET, &last.to_le_bytes());
    }
    Ok(())
}
