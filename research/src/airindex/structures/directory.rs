//! The directory: the pages that map separators to leaves, in order. Each has a gap for further separators, and may
//! have one overflow page.
//!
//! ```text
//!   layers --> [ (low, high]  1200 1260 ... | gap ] [ (low, high] ... | gap ] [ ... ]      consecutive pages
//!                     |                                  | overflow
//!                     leaves                        [ the keys above `split` | gap ]
//! ```
//!
//! A page covers the keys above `low` and up to `high`. These borders stay as they were built, whatever is inserted or
//! removed, so that the layers above remain valid. The borders are checked by each lookup. Layout of a page:
//!
//! ```text
//! kind u8 (1 page, 2 overflow page), 0 x 3, overflow page u32 (0 for none), low, high, split (three keys)
//! a coded node of separators and leaves, as in `docs/format/index-ogive.md`, of level 0 and without a last child
//! ```

use crate::kinds::numbers::u32_at;
use ogive::index::extend::Word;
use ogive::page::{Page, PageNumber};
use ogive_model::inner::{Children as CodedChildren, KeyWidth, NodeView, encode};
use std::cmp::Ordering;

const PAGE: u8 = 1;
const OVERFLOW: u8 = 2;
const OVERFLOW_AT: usize = 4;
const KEYS_AT: usize = 8;

/// Bytes before the node of a page.
pub(super) fn header_bytes<W: Word>() -> usize {
    KEYS_AT + 3 * W::BYTES
}

/// Bytes of the node of a page with `payload_bytes`.
pub(super) fn node_room<W: Word>(payload_bytes: usize) -> usize {
    payload_bytes.saturating_sub(header_bytes::<W>())
}

pub(super) fn key_width<W: Word>() -> KeyWidth {
    if W::BYTES == 8 { KeyWidth::Eight } else { KeyWidth::Sixteen }
}

/// The header of a page of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DirectoryHeader<W> {
    pub(super) is_overflow: bool,
    pub(super) overflow: Option<PageNumber>,
    pub(super) low: W,
    pub(super) high: W,
    /// Keys above are in the overflow page, if there is one.
    pub(super) split: W,
}

impl<W: Word> DirectoryHeader<W> {
    /// A page without an overflow page.
    pub(super) fn new(low: W, high: W) -> Self {
        Self { is_overflow: false, overflow: None, low, high, split: high }
    }

    fn parse(payload: &[u8]) -> Option<Self> {
        let is_overflow = match payload.first() {
            Some(&PAGE) => false,
            Some(&OVERFLOW) => true,
            _ => return None,
        };
        let key = |index: usize| payload.get(KEYS_AT + index * W::BYTES..).map(W::load);
        let overflow = Some(u32_at(payload, OVERFLOW_AT)).filter(|&page| page > 0);
        let header = Self { is_overflow, overflow, low: key(0)?, high: key(1)?, split: key(2)? };
        (header.low <= header.split && header.split <= header.high).then_some(header)
    }

    /// The stored page with this node.
    pub(super) fn image(&self, node: &[u8]) -> Vec<u8> {
        let mut bytes = vec![if self.is_overflow { OVERFLOW } else { PAGE }, 0, 0, 0];
        bytes.extend_from_slice(&self.overflow.unwrap_or(0).to_le_bytes());
        for key in [self.low, self.high, self.split] {
            let mut stored = [0; 16];
            key.store(&mut stored);
            bytes.extend_from_slice(stored.get(..W::BYTES).unwrap_or(&[]));
        }
        bytes.extend_from_slice(node);
        bytes
    }
}

/// A page of the directory in its stored form.
#[derive(Clone, Copy, Debug)]
pub(super) struct DirectoryPage<'a, W> {
    pub(super) header: DirectoryHeader<W>,
    pub(super) node: NodeView<'a>,
}

impl<'a, W: Word> DirectoryPage<'a, W> {
    pub(super) fn parse(payload: &'a [u8]) -> Option<Self> {
        let header = DirectoryHeader::parse(payload)?;
        let node = NodeView::new(payload.get(header_bytes::<W>()..)?, key_width::<W>())?;
        (node.level() == 0 && node.last().is_none()).then_some(Self { header, node })
    }

    /// The leaf of the first separator not below `key`: `Some(None)` if there is none in this page, `None` for an
    /// invalid node.
    pub(super) fn leaf(&self, key: W) -> Option<Option<PageNumber>> {
        self.node.search(key.to_u128()).map(|found| found.page)
    }
}

/// Position of the page of `key` relative to the page at `place` of the directory.
pub(super) fn side_of<W: Word>(key: W, place: u32, payload: &[u8]) -> Option<Ordering> {
    let header = DirectoryHeader::<W>::parse(payload).filter(|header| !header.is_overflow)?;
    Some(if place > 0 && key <= header.low {
        Ordering::Less
    } else if key > header.high {
        Ordering::Greater
    } else {
        Ordering::Equal
    })
}

/// A page of the directory, decoded to be changed.
#[derive(Clone, Debug)]
pub(super) struct DirectoryPart<W> {
    pub(super) number: PageNumber,
    pub(super) header: DirectoryHeader<W>,
    pub(super) children: CodedChildren,
}

impl<W: Word> DirectoryPart<W> {
    /// `None` for an invalid page.
    pub(super) fn decode(number: PageNumber, content: &Page, is_overflow: bool) -> Option<Self> {
        let page = DirectoryPage::<W>::parse(content)?;
        let children = page.node.children()?;
        (page.header.is_overflow == is_overflow).then_some(Self { number, header: page.header, children })
    }

    /// Whether this is the overflow page of `base`.
    pub(super) fn continues(&self, base: &Self) -> bool {
        let (header, base) = (self.header, base.header);
        (header.low, header.high, header.overflow) == (base.split, base.high, None)
    }

    /// The stored form; `None` if it does not fit.
    pub(super) fn image(&self, payload_bytes: usize) -> Option<Vec<u8>> {
        let node = encode(&self.children, key_width::<W>(), node_room::<W>(payload_bytes))?;
        Some(self.header.image(&node))
    }

    /// The index of the first separator not below `key`; their number if there is none.
    pub(super) fn lower_bound(&self, key: W) -> usize {
        self.children.separators.partition_point(|&separator| separator < key.to_u128())
    }
}

/// A page of the directory and its overflow page.
#[derive(Clone, Debug)]
pub(super) struct DirectoryGroup<W> {
    pub(super) place: u32,
    pub(super) base: DirectoryPart<W>,
    pub(super) overflow: Option<DirectoryPart<W>>,
}

/// One of the pages of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GroupSide {
    Base,
    Overflow,
}

impl<W: Word> DirectoryGroup<W> {
    /// The page that a separator belongs to.
    pub(super) fn side_of(&self, separator: W) -> GroupSide {
        if self.overflow.is_some() && separator > self.base.header.split {
            GroupSide::Overflow
        } else {
            GroupSide::Base
        }
    }

    pub(super) fn part(&mut self, side: GroupSide) -> &mut DirectoryPart<W> {
        match (side, &mut self.overflow) {
            (GroupSide::Overflow, Some(overflow)) => overflow,
            _ => &mut self.base,
        }
    }

    /// The place of the first separator not below `key`; `None` if there is none in the group.
    pub(super) fn find(&self, key: W) -> Option<(GroupSide, usize)> {
        let in_part = |part: &DirectoryPart<W>| {
            let index = part.lower_bound(key);
            (index < part.children.separators.len()).then_some(index)
        };
        let in_overflow = || self.overflow.as_ref().and_then(in_part).map(|index| (GroupSide::Overflow, index));
        in_part(&self.base).map(|index| (GroupSide::Base, index)).or_else(in_overflow)
    }

    /// All its separators and leaves, in order.
    pub(super) fn append_to(&self, all: &mut CodedChildren) {
        for part in [Some(&self.base), self.overflow.as_ref()].into_iter().flatten() {
            all.separators.extend_from_slice(&part.children.separators);
            all.pages.extend_from_slice(&part.children.pages);
        }
    }
}
