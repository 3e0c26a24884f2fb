//! ALEX child pointers, which carry the model of the node they lead to.

use super::line::Line;
use super::shape::Shape;
use crate::numbers::{u16_at, u32_at};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Pages};

/// Fan-outs that make sense, as powers of two.
const MAX_BITS: u16 = 24;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A gapped array of entries.
    Data,
    /// An inner node whose model computes the slot of the child.
    Model,
    /// An inner node with separators, of one page.
    Plain,
}

/// A pointer to a node.
///
/// ```text
///   0      4     6     8        12      12 + word
///   first  size  kind  slope    base             first: page number, never 0; size: pages of a data node,
///   u32    u16   u16   f32      word             fan-out of a model node as a power of two, else 0
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Child<W> {
    pub(super) first: PageNumber,
    pub(super) kind: Kind,
    pub(super) size: u16,
    pub(super) line: Line<W>,
}

impl<W: Word> Child<W> {
    pub(super) fn data(first: PageNumber, pages: u32, line: Line<W>) -> Self {
        Self { first, kind: Kind::Data, size: pages as u16, line }
    }

    pub(super) fn plain(first: PageNumber) -> Self {
        Self { first, kind: Kind::Plain, size: 0, line: Line::default() }
    }

    pub(super) fn model(first: PageNumber, bits: u32, line: Line<W>) -> Self {
        Self { first, kind: Kind::Model, size: bits as u16, line }
    }

    /// Child slots of a model node.
    pub(super) fn fanout(&self) -> u32 {
        1 << self.size.min(MAX_BITS)
    }

    /// Pages that the node takes.
    pub(super) fn pages(&self, shape: &Shape) -> u32 {
        match self.kind {
            Kind::Data => u32::from(self.size),
            Kind::Model => shape.model_pages(self.fanout()),
            Kind::Plain => 1,
        }
    }

    /// The slot of a key in a model node.
    pub(super) fn slot(&self, key: W) -> u32 {
        self.line.place(key, self.fanout() as usize) as u32
    }

    pub(super) fn store(&self, bytes: &mut [u8]) {
        let kind: u16 = match self.kind {
            Kind::Data => 1,
            Kind::Model => 2,
            Kind::Plain => 3,
        };
        let (head, base) = bytes.split_at_mut(12);
        head[..4].copy_from_slice(&self.first.to_le_bytes());
        head[4..6].copy_from_slice(&self.size.to_le_bytes());
        head[6..8].copy_from_slice(&kind.to_le_bytes());
        head[8..].copy_from_slice(&self.line.slope.to_le_bytes());
        self.line.base.store(base);
    }

    pub(super) fn stored(&self, shape: &Shape) -> Vec<u8> {
        let mut bytes = vec![0; shape.child()];
        self.store(&mut bytes);
        bytes
    }

    /// Reads a pointer that stands in page `from`.
    ///
    /// # Errors
    /// [`ogive::Error::Damaged`] where it leads out of the file, or to no kind of node.
    pub(super) fn load(pages: &dyn Pages, shape: &Shape, from: PageNumber, bytes: &[u8]) -> Result<Self> {
        let size = u16_at(bytes, 4);
        let kind = match (u16_at(bytes, 6), size) {
            (1, 1..) => Kind::Data,
            (2, 1..=MAX_BITS) => Kind::Model,
            (3, 0) => Kind::Plain,
            _ => return Err(pages.damaged(from, "a child pointer leads to no kind of node")),
        };
        let slope = f32::from_bits(u32_at(bytes, 8));
        let line = Line { base: W::load(bytes.get(12..).unwrap_or_default()), slope };
        let child = Self { first: u32_at(bytes, 0), kind, size, line };
        let end = child.first.checked_add(child.pages(shape));
        if child.first == 0 || end.is_none_or(|end| end > pages.page_count()) {
            return Err(pages.damaged(from, "a child pointer leads out of the file"));
        }
        Ok(child)
    }
}
