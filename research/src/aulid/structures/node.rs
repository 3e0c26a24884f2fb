//! AULID mixed nodes and their slots.
//!
//! A mixed node is an extent of pages of slots. Its model, and everything else that a lookup needs to compute the page
//! of its slot, is stored with the pointer to the node: in the parent's page, or in the metanode for the root.
//! Therefore each level costs one block.
//!
//! ```text
//! extent:  page 0 | page 1 | ... | page n-1 | map
//!          map: a bit for each page, set if it has a slot in use; only from 3 pages on
//! page:    slot 0 | slot 1 | ... | slot m-1 | free | side s-1 | ... | side 0
//! slot:    separator (8 or 16) | page (4) | kind (1) | a (1) | b (2)         16 bytes for keys of 8, 24 for keys of 16
//!            NULL                 all zero
//!            DATA, FILL           page: the leaf
//!            packed array         page: of the array; a: class; b: index in that page
//!            two-layer, 1 child   page: the child
//!            two-layer, 2 to 4    a: children; b: index in the side area of this page
//!            mixed node           b: index in the side area
//! side:    two-layer: pages of the children (4 x 4) | pivots (3 x key)
//!          mixed: first page (4) | slots (4) | side entries per page (2) | first key | slope (8) | intercept (8)
//!                 | size (4) | size when built (4) | leaves in the third or a deeper layer (4)
//! ```
//!
//! The separator of a slot of any kind is the greatest one below it. A lookup of a greater key continues at the next
//! slot in use, so that it never descends needlessly. If the side area of a page is full, `b` is 65,535, and the entry
//! has its own page `page`, which costs one more block.

use super::shape::{AulidLayout, CHILDREN_MAX};
use crate::kinds::numbers::{u16_at, u32_at, u64_at};
use crate::models::fmcd::SlotLine;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{Page, PageNumber, Pages};

/// The index of a side entry that has its own page.
const OWN_PAGE: u16 = u16::MAX;
/// A flag in the number of side entries: the node may have FILL slots.
const FILLED: u16 = 1 << 15;

pub(super) const NULL: u8 = 0;
pub(super) const FILL: u8 = 2;
const DATA: u8 = 1;
const ARRAY: u8 = 3;
const CHILDREN: u8 = 4;
const MIXED: u8 = 5;

/// A separator and its leaf.
pub(super) type NodeItem<W> = (W, PageNumber);

/// The entry of a mixed node in its parent: extent, model and statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MixedNode<W> {
    pub(super) first_page: PageNumber,
    pub(super) slots: u32,
    /// Number of side entries per page.
    pub(super) side: u16,
    /// Whether there may be FILL slots.
    pub(super) filled: bool,
    /// The key at which `line` starts; lesser ones share its slot.
    pub(super) origin: W,
    pub(super) line: SlotLine,
    pub(super) counts: AulidCounts,
}

/// The statistics of a mixed node (Section 4.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AulidCounts {
    /// Number of leaves below the node.
    pub(super) size: u32,
    /// The size when it was built.
    pub(super) initial_size: u32,
    /// Number of leaves in its third or a deeper layer: the node is the first, arrays and nodes under it are the
    /// second.
    pub(super) deep: u32,
}

/// Bytes of stored [`AulidCounts`], at the end of a node.
pub(super) const COUNTS_BYTES: usize = 12;

impl AulidCounts {
    pub(super) fn encode(self) -> [u8; COUNTS_BYTES] {
        let mut bytes = [0; COUNTS_BYTES];
        put_u32(&mut bytes, 0, self.size);
        put_u32(&mut bytes, 4, self.initial_size);
        put_u32(&mut bytes, 8, self.deep);
        bytes
    }
}

impl<W: Word> MixedNode<W> {
    pub(super) fn slot_of(&self, key: W) -> u32 {
        // The result is below `slots`, which has 32 bits.
        self.line.slot(key.distance(self.origin), u64::from(self.slots)) as u32
    }

    /// Number of pages of slots.
    pub(super) fn slot_pages(&self, shape: AulidLayout) -> u32 {
        shape.slot_pages(self.slots as usize, usize::from(self.side)) as u32
    }

    /// Number of pages of the map.
    pub(super) fn map_pages(&self, shape: AulidLayout) -> u32 {
        shape.map_pages(self.slot_pages(shape) as usize) as u32
    }

    /// Number of pages of the whole extent.
    pub(super) fn pages(&self, shape: AulidLayout) -> u32 {
        self.slot_pages(shape) + self.map_pages(shape)
    }

    /// The slots of page `index` of the node.
    pub(super) fn slots_of_page(&self, shape: AulidLayout, index: u32) -> std::ops::Range<u32> {
        let per_page = shape.slots_per_page(usize::from(self.side)) as u32;
        let start = index.saturating_mul(per_page).min(self.slots);
        start..start.saturating_add(per_page).min(self.slots)
    }

    /// The page index and the offset of a slot.
    pub(super) fn locate(&self, shape: AulidLayout, slot: u32) -> (u32, usize) {
        let per_page = shape.slots_per_page(usize::from(self.side)) as u32;
        (slot / per_page, (slot % per_page) as usize * shape.slot_bytes())
    }

    pub(super) fn encode(&self, shape: AulidLayout) -> Vec<u8> {
        let mut bytes = vec![0; shape.node_bytes()];
        put_u32(&mut bytes, 0, self.first_page);
        put_u32(&mut bytes, 4, self.slots);
        let side = self.side | if self.filled { FILLED } else { 0 };
        bytes[8..10].copy_from_slice(&side.to_le_bytes());
        self.origin.store(&mut bytes[10..]);
        let rest = &mut bytes[10 + W::BYTES..];
        rest[..8].copy_from_slice(&self.line.slope.to_bits().to_le_bytes());
        rest[8..16].copy_from_slice(&self.line.intercept.to_bits().to_le_bytes());
        rest[16..].copy_from_slice(&self.counts.encode());
        bytes
    }

    /// Decodes a node; `from` is the page of the bytes, for errors.
    pub(super) fn decode(pages: &dyn Pages, shape: AulidLayout, bytes: &[u8], from: PageNumber) -> Result<Self> {
        let rest = bytes.get(10 + W::BYTES..).unwrap_or_default();
        let side = u16_at(bytes, 8);
        let node = Self {
            first_page: u32_at(bytes, 0),
            slots: u32_at(bytes, 4),
            side: side & !FILLED,
            filled: side & FILLED != 0,
            origin: W::load(bytes.get(10..).unwrap_or_default()),
            line: SlotLine { slope: f64_at(rest, 0), intercept: f64_at(rest, 8) },
            counts: AulidCounts { size: u32_at(rest, 16), initial_size: u32_at(rest, 20), deep: u32_at(rest, 24) },
        };
        let fits = usize::from(node.side) <= shape.side_entries_max()
            && node.slots > 0
            && u64::from(node.first_page) + node.slots.div_ceil(shape.slots_per_page(0) as u32) as u64
                <= u64::from(pages.page_count())
            && u64::from(node.first_page) + u64::from(node.pages(shape)) <= u64::from(pages.page_count());
        if !fits || node.first_page == 0 || !node.line.is_monotone() {
            return Err(pages.damaged(from, "an invalid mixed node"));
        }
        Ok(node)
    }
}

/// A two-layer B+-tree node: up to four children, and the greatest separators of all but the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Children<W> {
    pub(super) count: usize,
    pub(super) pages: [PageNumber; CHILDREN_MAX],
    pub(super) pivots: [W; CHILDREN_MAX - 1],
}

impl<W: Word> Children<W> {
    pub(super) fn one(page: PageNumber) -> Self {
        Self { count: 1, pages: [page, 0, 0, 0], pivots: [W::MIN; CHILDREN_MAX - 1] }
    }

    /// The child for `key`: that of the first separator not below it, if the node has one.
    pub(super) fn child_of(&self, key: W) -> usize {
        self.pivots[..self.count - 1].iter().take_while(|&&pivot| pivot < key).count()
    }

    fn encode(&self, shape: AulidLayout) -> Vec<u8> {
        let mut bytes = vec![0; shape.children_bytes()];
        for (i, &page) in self.pages[..self.count].iter().enumerate() {
            put_u32(&mut bytes, 4 * i, page);
        }
        for (i, pivot) in self.pivots[..self.count - 1].iter().enumerate() {
            pivot.store(&mut bytes[4 * CHILDREN_MAX + i * W::BYTES..]);
        }
        bytes
    }

    fn decode(count: usize, bytes: &[u8]) -> Self {
        let mut children = Self { count, pages: [0; CHILDREN_MAX], pivots: [W::MIN; CHILDREN_MAX - 1] };
        for (i, page) in children.pages[..count].iter_mut().enumerate() {
            *page = u32_at(bytes, 4 * i);
        }
        for (i, pivot) in children.pivots[..count - 1].iter_mut().enumerate() {
            *pivot = W::load(bytes.get(4 * CHILDREN_MAX + i * W::BYTES..).unwrap_or_default());
        }
        children
    }
}

/// The content of a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NodeContent<W> {
    Null,
    Data(PageNumber),
    /// A copy of the next DATA slot.
    Fill(PageNumber),
    Array(ArrayLocation),
    Children(Children<W>),
    Mixed(MixedNode<W>),
}

/// The location of a packed array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArrayLocation {
    pub(super) page: PageNumber,
    pub(super) class: u8,
    pub(super) index: u16,
}

/// The location of a side entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntryLocation {
    pub(super) page: PageNumber,
    pub(super) offset: usize,
}

/// A slot, with its side entry if it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AulidSlot<W> {
    pub(super) separator: W,
    pub(super) content: NodeContent<W>,
}

/// The side entry that a slot refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    None,
    InPage(usize),
    OwnPage(PageNumber),
}

/// A slot without its side entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawSlot<W> {
    pub(super) separator: W,
    page: PageNumber,
    pub(super) kind: u8,
    a: u8,
    b: u16,
}

impl<W: Word> RawSlot<W> {
    pub(super) fn decode(bytes: &[u8]) -> Self {
        let rest = bytes.get(W::BYTES..).unwrap_or_default();
        Self {
            separator: W::load(bytes),
            page: u32_at(rest, 0),
            kind: rest.get(4).copied().unwrap_or(NULL),
            a: rest.get(5).copied().unwrap_or_default(),
            b: u16_at(rest, 6),
        }
    }

    /// The leaf of a DATA slot.
    pub(super) fn leaf(&self) -> Option<PageNumber> {
        (self.kind == DATA).then_some(self.page)
    }

    pub(super) fn side(&self) -> Side {
        match self.kind {
            CHILDREN if self.a == 1 => Side::None,
            CHILDREN | MIXED if self.b == OWN_PAGE => Side::OwnPage(self.page),
            CHILDREN | MIXED => Side::InPage(usize::from(self.b)),
            _ => Side::None,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; W::BYTES + 8];
        self.separator.store(&mut bytes);
        put_u32(&mut bytes, W::BYTES, self.page);
        bytes[W::BYTES + 4] = self.kind;
        bytes[W::BYTES + 5] = self.a;
        bytes[W::BYTES + 6..].copy_from_slice(&self.b.to_le_bytes());
        bytes
    }

    /// The stored form of a slot with its side entry at `side`.
    pub(super) fn of(slot: &AulidSlot<W>, side: Side) -> Self {
        let (entry_page, b) = match side {
            Side::None => (0, 0),
            Side::InPage(index) => (0, index as u16),
            Side::OwnPage(page) => (page, OWN_PAGE),
        };
        let (page, kind, a, b) = match slot.content {
            NodeContent::Null => return Self { separator: W::default(), page: 0, kind: NULL, a: 0, b: 0 },
            NodeContent::Data(leaf) => (leaf, DATA, 0, 0),
            NodeContent::Fill(leaf) => (leaf, FILL, 0, 0),
            NodeContent::Array(array) => (array.page, ARRAY, array.class, array.index),
            NodeContent::Children(Children { count: 1, pages, .. }) => (pages[0], CHILDREN, 1, 0),
            NodeContent::Children(Children { count, .. }) => (entry_page, CHILDREN, count as u8, b),
            NodeContent::Mixed(_) => (entry_page, MIXED, 0, b),
        };
        Self { separator: slot.separator, page, kind, a, b }
    }

    /// Decodes the content of the slot; `entry` are the bytes of its side entry, `from` is its page.
    pub(super) fn content(
        &self,
        pages: &dyn Pages,
        shape: AulidLayout,
        entry: &[u8],
        from: PageNumber,
    ) -> Result<NodeContent<W>> {
        Ok(match self.kind {
            NULL => NodeContent::Null,
            DATA => NodeContent::Data(self.page),
            FILL => NodeContent::Fill(self.page),
            ARRAY => NodeContent::Array(ArrayLocation { page: self.page, class: self.a, index: self.b }),
            CHILDREN if self.a == 1 => NodeContent::Children(Children::one(self.page)),
            CHILDREN if (2..=CHILDREN_MAX).contains(&usize::from(self.a)) => {
                NodeContent::Children(Children::decode(usize::from(self.a), entry))
            }
            MIXED => NodeContent::Mixed(MixedNode::decode(pages, shape, entry, from)?),
            _ => return Err(pages.damaged(from, "a slot of unknown kind")),
        })
    }
}

impl<W: Word> AulidSlot<W> {
    pub(super) fn empty() -> Self {
        Self { separator: W::default(), content: NodeContent::Null }
    }

    /// The bytes of the side entry; `None` if the slot has none.
    pub(super) fn side_entry(&self, shape: AulidLayout) -> Option<Vec<u8>> {
        match &self.content {
            NodeContent::Children(children) if children.count > 1 => Some(children.encode(shape)),
            NodeContent::Mixed(node) => Some(node.encode(shape)),
            _ => None,
        }
    }
}

/// The offset of a side entry in a page of slots.
pub(super) fn side_offset(shape: AulidLayout, index: usize) -> usize {
    shape.payload_bytes.saturating_sub((index + 1) * shape.side_bytes())
}

/// The kind of the slot at `offset`.
pub(super) fn kind_at<W: Word>(page: &[u8], offset: usize) -> u8 {
    page.get(offset + W::BYTES + 4).copied().unwrap_or(NULL)
}

/// The slot at `offset`.
pub(super) fn raw_at<W: Word>(page: &Page, offset: usize) -> RawSlot<W> {
    RawSlot::decode(page.get(offset..).unwrap_or_default())
}

pub(super) fn put_u32(bytes: &mut [u8], offset: usize, value: u32) {
    if let Some(target) = bytes.get_mut(offset..offset + 4) {
        target.copy_from_slice(&value.to_le_bytes());
    }
}

fn f64_at(bytes: &[u8], offset: usize) -> f64 {
    f64::from_bits(u64_at(bytes, offset))
}
