//! An ALEX data node as an extent of pages: reading it, finding the page of a key, writing it.

use super::child::Child;
use super::cost::{Fit, Rules};
use super::leaf::{DataPage, Header, NEXT_OFFSET, PREVIOUS_OFFSET, compose};
use super::shape::Shape;
use crate::batch::Batch;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages, Transaction};
use std::cmp::Ordering;
use std::ops::Range;

/// The nodes beside a data node, or beside several that replace one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Links {
    /// The last page of the node before; 0 if there is none.
    pub(super) previous: PageNumber,
    /// The first page of the node behind; 0 if there is none.
    pub(super) next: PageNumber,
}

/// Reads the page of a data node that a key belongs to: the one predicted, or by steps that double, and then halve,
/// another.
///
/// # Errors
/// [`ogive::Error::Damaged`] where the pages do not agree on who holds the key.
pub(super) fn find_page<W: Word>(pages: &dyn Pages, shape: &Shape, node: &Child<W>, key: W) -> Result<DataPage<W>> {
    let count = usize::from(node.size);
    let (mut low, mut high) = (0, count);
    let mut index = node.line.place(key, count * shape.slots) / shape.slots;
    let (mut step, mut came) = (1, Ordering::Equal);
    while low < high {
        let page = read_page(pages, shape, node, index, Purpose::Leaf)?;
        let side = page.side(key);
        match side {
            Ordering::Less => high = index,
            Ordering::Greater => low = index + 1,
            Ordering::Equal => return Ok(page),
        }
        if came != Ordering::Equal && came != side {
            index = low + (high.saturating_sub(low)) / 2;
        } else {
            let target = if side == Ordering::Less { index.saturating_sub(step) } else { index + step };
            index = target.clamp(low, high.saturating_sub(1).max(low));
            step *= 2;
            came = side;
        }
    }
    Err(pages.damaged(node.first, "no page of a data node holds the keys of a range"))
}

/// Page `index` of a node.
///
/// # Errors
/// [`ogive::Error::Damaged`] where it says that it is another.
pub(super) fn read_page<W: Word>(
    pages: &dyn Pages,
    shape: &Shape,
    node: &Child<W>,
    index: usize,
    purpose: Purpose,
) -> Result<DataPage<W>> {
    let page = DataPage::read(pages, shape, node.first + index as u32, purpose)?;
    if usize::from(page.header.index) != index || page.header.pages != node.size {
        return Err(pages.damaged(page.number, "a data page belongs to another node"));
    }
    Ok(page)
}

/// All entries of a node, and its neighbours.
///
/// # Errors
/// [`ogive::Error::Damaged`] where keys do not ascend.
pub(super) fn load_node<W: Word>(pages: &dyn Pages, shape: &Shape, node: &Child<W>) -> Result<(Batch<W>, Links)> {
    let mut batch = Batch::new(shape.value);
    let mut links = Links::default();
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

/// Writes a data node into fresh pages: the entries of `range`, in `pages` pages of which those that `fit` names are in
/// use.
pub(super) fn write_node<W: Word>(
    tx: &mut Transaction,
    rules: &Rules,
    node: &Child<W>,
    links: Links,
    fit: &Fit<W>,
    (batch, range): (&Batch<W>, Range<usize>),
) -> Result<()> {
    let pages = usize::from(node.size);
    let used = fit.ends.len();
    let mut start = range.start;
    for index in 0..pages {
        let end = range.start + fit.ends.get(index).copied().unwrap_or(range.len());
        let fence = |at: usize| batch.keys.get(at).or(batch.keys.last()).copied().unwrap_or_default();
        let header = Header {
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
        let bytes = compose(&rules.shape, header, &node.line, batch, start..end);
        tx.write_fresh(node.first + index as u32, Purpose::Leaf, &bytes)?;
        start = end;
    }
    Ok(())
}

/// Tells the nodes on both sides who is between them now.
pub(super) fn relink(tx: &mut Transaction, links: Links, first: PageNumber, last: PageNumber) -> Result<()> {
    if links.previous != 0 {
        tx.edit(links.previous, Purpose::Leaf)?.write(NEXT_OFFSET, &first.to_le_bytes());
    }
    if links.next != 0 {
        tx.edit(links.next, Purpose::Leaf)?.write(PREVIOUS_OFFSET, &last.to_le_bytes());
    }
    Ok(())
}
