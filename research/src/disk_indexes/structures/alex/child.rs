//! ALEX child pointers, which contain the model of their node.

use super::line::AlexLine;
use super::shape::AlexLayout;
use crate::kinds::numbers::{u16_at, u32_at};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Pages};

/// Log2 of the greatest fan-out.
const FANOUT_BITS_MAX: u16 = 24;

/// The type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AlexNodeKind {
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
pub(super) struct ChildPointer<W> {
    pub(super) first: PageNumber,
    pub(super) kind: AlexNodeKind,
    pub(super) size: u16,
    pub(super) line: AlexLine<W>,
}

impl<W: Word> ChildPointer<W> {
    pub(super) fn data(first: PageNumber, pages: u32, line: AlexLine<W>) -> Self {
        Self { first, kind: AlexNodeKind::Data, size: pages as u16, line }
    }

    pub(super) fn plain(first: PageNumber) -> Self {
        Self { first, kind: AlexNodeKind::Plain, size: 0, line: AlexLine::default() }
    }

    pub(super) fn model(first: PageNumber, bits: u32, line: AlexLine<W>) -> Self {
        Self { first, kind: AlexNodeKind::Model, size: bits as u16, line }
    }

    /// Number of child slots of a model node.
    pub(super) fn fanout(&self) -> u32 {
        1 << self.size.min(FANOUT_BITS_MAX)
    }

    /// Number of pages of the node.
    pub(super) fn pages(&self, shape: &AlexLayout) -> u32 {
        match self.kind {
            AlexNodeKind::Data => u32::from(self.size),
            AlexNodeKind::Model => shape.model_pages(self.fanout()),
            AlexNodeKind::Plain => 1,
        }
    }

    /// The slot of a key in a model node.
    pub(super) fn slot(&self, key: W) -> u32 {
        self.line.slot(key, self.fanout() as usize) as u32
    }

    pub(super) fn store(&self, bytes: &mut [u8]) {
        let kind: u16 = match self.kind {
            AlexNodeKind::Data => 1,
            AlexNodeKind::Model => 2,
            AlexNodeKind::Plain => 3,
        };
        let (head, base) = bytes.split_at_mut(12);
        head[..4].copy_from_slice(&self.first.to_le_bytes());
        head[4..6].copy_from_slice(&self.size.to_le_bytes());
        head[6..8].copy_from_slice(&kind.to_le_bytes());
        head[8..].copy_from_slice(&self.line.slope.to_le_bytes());
        self.line.base.store(base);
    }

    pub(super) fn stored(&self, shape: &AlexLayout) -> Vec<u8> {
        let mut bytes = vec![0; shape.child()];
        self.store(&mut bytes);
        bytes
    }

    /// Parses a pointer in page `from`.
    ///
    /// # Errors
    /// [`ogive::Cause::Damaged`] if it points beyond the file, or has an unknown node type.
    pub(super) fn load(pages: &dyn Pages, shape: &AlexLayout, from: PageNumber, bytes: &[u8]) -> Result<Self> {
        let size = u16_at(bytes, 4);
        let kind = match (u16_at(bytes, 6), size) {
            (1, 1..) => AlexNodeKind::Data,
            (2, 1..=FANOUT_BITS_MAX) => AlexNodeKind::Model,
            (3, 0) => AlexNodeKind::Plain,
            _ => return Err(pages.damaged(from, "a child pointer has an unknown node type")),
        };
        let slope = f32::from_bits(u32_at(bytes, 8));
        let line = AlexLine { base: W::load(bytes.get(12..).unwrap_or_default()), slope };
        let child = Self { first: u32_at(bytes, 0), kind, size, line };
        let end = child.first.checked_add(child.pages(shape));
        if child.first == 0 || end.is_none_or(|end| end > pages.page_count()) {
            return Err(pages.damaged(from, "a child pointer leads beyond the end of the file"));
        }
        Ok(child)
    }
}
