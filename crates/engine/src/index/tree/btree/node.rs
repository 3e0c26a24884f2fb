//! The layout of inner nodes, and the state of the tree: root and height.
//!
//! ```text
//! offset  0     1      2        4                                4 + capacity * width
//!         | tag | level| count  | separator 0 | separator 1 | ...| child 0 | child 1 | ...
//!           1     1      2        width                            4
//! ```
//!
//! Level 0 is the one above the leaves. Separator `i` is the greatest one below child `i`; at level 0 it is the leaf's
//! own. On the right edge of the tree, above level 0, the last separator is the greatest key, which no leaf can have as
//! separator. Therefore every key finds a child there, and appended separators change no node above.

use crate::error::Result;
use crate::index::entries::packed::{lower_bound, word_at};
use crate::index::entries::word::Word;
use crate::io::Purpose;
use crate::page::{Page, PageNumber, Pages, Transaction};
use std::marker::PhantomData;

/// The page type: the first byte of each node.
const TAG: u8 = 0xb1;
const COUNT_OFFSET: usize = 2;
const HEADER_BYTES: usize = 4;
const CHILD_BYTES: usize = 4;

/// Greatest height: enough for 2^32 pages, even if nodes of 512 bytes with keys of 16 are 1/4 full.
pub(super) const HEIGHT_MAX: usize = 16;

/// The root page and the height, stored in 4 and 1 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Root {
    /// Undefined in an empty tree.
    pub(super) page: PageNumber,
    /// Number of levels; 0 in an empty tree.
    pub(super) height: u8,
}

impl Root {
    pub(super) const EMPTY: Self = Self { page: 0, height: 0 };

    pub(super) fn parse(pages: &dyn Pages, state: &[u8]) -> Result<Self> {
        match *state {
            [a, b, c, d, height] if usize::from(height) <= HEIGHT_MAX => {
                Ok(Self { page: u32::from_le_bytes([a, b, c, d]), height })
            }
            _ => Err(pages.damaged(0, "the state of the inner nodes is invalid")),
        }
    }

    pub(super) fn store(self, state: &mut Vec<u8>) {
        state.clear();
        state.extend_from_slice(&self.page.to_le_bytes());
        state.push(self.height);
    }

    /// Level of the nodes at a depth.
    pub(super) fn level(self, depth: usize) -> u8 {
        self.height.saturating_sub(1 + depth as u8)
    }
}

/// The capacity of a node, and the offsets of separators and children.
#[derive(Debug)]
pub(super) struct NodeShape<W> {
    pub(super) capacity: usize,
    word: PhantomData<W>,
}

impl<W> Clone for NodeShape<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for NodeShape<W> {}

impl<W: Word> NodeShape<W> {
    pub(super) fn new(payload_bytes: usize) -> Self {
        Self { capacity: (payload_bytes - HEADER_BYTES) / (W::BYTES + CHILD_BYTES), word: PhantomData }
    }

    pub(super) fn separator(self, index: usize) -> usize {
        HEADER_BYTES + index * W::BYTES
    }

    pub(super) fn child(self, index: usize) -> usize {
        self.separator(self.capacity) + index * CHILD_BYTES
    }

    /// The bytes of a node.
    pub(super) fn image(self, level: u8, entries: &[(W, PageNumber)]) -> Vec<u8> {
        let mut bytes = vec![0; self.child(entries.len())];
        bytes[0] = TAG;
        bytes[1] = level;
        bytes[COUNT_OFFSET..HEADER_BYTES].copy_from_slice(&(entries.len() as u16).to_le_bytes());
        for (index, &(separator, child)) in entries.iter().enumerate() {
            separator.store(&mut bytes[self.separator(index)..]);
            bytes[self.child(index)..self.child(index + 1)].copy_from_slice(&child.to_le_bytes());
        }
        bytes
    }
}

/// A node with a valid header.
#[derive(Debug)]
pub(super) struct Node<W> {
    page: Page,
    pub(super) shape: NodeShape<W>,
    pub(super) count: usize,
}

impl<W: Word> Node<W> {
    pub(super) fn read(pages: &dyn Pages, number: PageNumber, root: Root, depth: usize) -> Result<Self> {
        Self::parse(pages, number, pages.read(number, Purpose::Inner(depth as u8))?, root, depth)
    }

    /// Parses a node of a known level. Levels decrease by one from node to child, so that paths end even in damaged
    /// trees.
    pub(super) fn parse(pages: &dyn Pages, number: PageNumber, page: Page, root: Root, depth: usize) -> Result<Self> {
        let shape = NodeShape::new(page.len());
        match *page {
            [TAG, level, low, high, ..] => {
                let count = usize::from(u16::from_le_bytes([low, high]));
                if level == root.level(depth) && (1..=shape.capacity).contains(&count) {
                    return Ok(Self { page, shape, count });
                }
                Err(pages.damaged(number, "the header of an inner node is invalid"))
            }
            _ => Err(pages.damaged(number, "an inner node was expected here")),
        }
    }

    pub(super) fn separator(&self, index: usize) -> W {
        word_at(self.page.get(HEADER_BYTES..).unwrap_or(&[]), W::BYTES, index)
    }

    pub(super) fn child(&self, index: usize) -> PageNumber {
        let bytes = self.page.get(self.shape.child(index)..).and_then(|bytes| bytes.first_chunk());
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// The index of the first separator not below `key`.
    pub(super) fn lower_bound(&self, key: W) -> usize {
        lower_bound(self.page.get(HEADER_BYTES..).unwrap_or(&[]), W::BYTES, self.count, key)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (W, PageNumber)> {
        (0..self.count).map(|index| (self.separator(index), self.child(index)))
    }

    /// Whether this node above level 0 is the last of its level.
    pub(super) fn is_open(&self) -> bool {
        self.separator(self.count - 1) == W::MAX
    }
}

/// In-place edits of a node, each logged as a few bytes.
pub(super) struct NodeEdit<'a, W> {
    edit: crate::page::PageEdit<'a>,
    shape: NodeShape<W>,
}

impl<'a, W: Word> NodeEdit<'a, W> {
    pub(super) fn new(tx: &'a mut Transaction, number: PageNumber, depth: usize) -> Result<Self> {
        let shape = NodeShape::new(tx.payload_bytes());
        Ok(Self { edit: tx.edit(number, Purpose::Inner(depth as u8))?, shape })
    }

    pub(super) fn set_count(&mut self, count: usize) {
        self.edit.write(COUNT_OFFSET, &(count as u16).to_le_bytes());
    }

    pub(super) fn set_separator(&mut self, index: usize, separator: W) {
        // Keys have at most 16 bytes.
        let mut bytes = [0; 16];
        separator.store(&mut bytes);
        self.edit.write(self.shape.separator(index), &bytes[..W::BYTES]);
    }

    pub(super) fn set_child(&mut self, index: usize, child: PageNumber) {
        self.edit.write(self.shape.child(index), &child.to_le_bytes());
    }

    /// Moves the entries `from..count` to `to`, and writes the new count.
    pub(super) fn move_entries(&mut self, from: usize, to: usize, count: usize) {
        let shape = self.shape;
        self.edit.shift(shape.separator(from)..shape.separator(count), shape.separator(to));
        self.edit.shift(shape.child(from)..shape.child(count), shape.child(to));
        self.set_count(count + to - from);
    }

    /// Writes consecutive entries.
    pub(super) fn fill(&mut self, first: usize, entries: &[(W, PageNumber)]) {
        let mut bytes = vec![0; entries.len() * W::BYTES];
        for ((separator, _), target) in entries.iter().zip(bytes.chunks_exact_mut(W::BYTES)) {
            separator.store(target);
        }
        self.edit.write(self.shape.separator(first), &bytes);
        let children: Vec<u8> = entries.iter().flat_map(|(_, child)| child.to_le_bytes()).collect();
        self.edit.write(self.shape.child(first), &children);
    }

    pub(super) fn rewrite(&mut self, image: &[u8]) {
        self.edit.write(0, image);
    }
}

/// Writes a new node of one page.
pub(super) fn write_node<W: Word>(
    tx: &mut Transaction,
    level: u8,
    depth: usize,
    entries: &[(W, PageNumber)],
) -> Result<PageNumber> {
    let number = tx.allocate()?;
    let image = NodeShape::new(tx.payload_bytes()).image(level, entries);
    tx.edit(number, Purpose::Inner(depth as u8))?.write(0, &image);
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::test_documents::example_of_leaves;

    #[test]
    fn the_documented_node_matches_the_written_one() {
        let shape = NodeShape::<u64>::new(512 - 8);
        let image = shape.image(1, &[(1000, 7), (2000, 8), (u64::MAX, 300)]);
        let (front, children) = (example_of_leaves("inner"), example_of_leaves("children"));
        assert_eq!((&image[..front.len()], &image[332..]), (&front[..], &children[..]));
        assert!(image[front.len()..332].iter().all(|&byte| byte == 0));
    }
}
