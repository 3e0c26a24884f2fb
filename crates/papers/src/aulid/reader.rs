//! Read access to AULID nodes.

use super::node::{
    ArrayPlace, COUNTS_BYTES, Content, Home, NULL, Node, RawSlot, Side, Slot, kind_at, put_u32, raw_at, side_offset,
};
use super::options::AulidOptions;
use super::run::Run;
use super::shape::{ARRAY_CLASSES, ARRAY_HEADER_BYTES, Shape};
use crate::numbers::u32_at;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages};

/// No path is longer, whatever a damaged file says. Building ends far above: each mixed node has at most a third of its
/// parent's leaves in any slot.
pub(super) const DEEPEST: usize = 40;

/// The purpose of reading a node at a depth.
pub(super) fn inner(depth: usize) -> Purpose {
    Purpose::Inner(depth.min(usize::from(u8::MAX)) as u8)
}

/// The metanode (Section 3.3.1), but for the last leaf, which is the business of whoever holds the leaves.
///
/// ```text
/// state:  root, as in a side entry (46 or 54) | page of the lists of packed arrays (4)
///         50 bytes for keys of 8; nothing for no leaves
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Metanode<W> {
    pub(super) root: Option<Node<W>>,
    /// The page that holds the heads of the lists of pages with room for packed arrays; 0 as long as there never was
    /// one.
    pub(super) lists: PageNumber,
}

impl<W: Word> Metanode<W> {
    pub(super) fn decode(pages: &dyn Pages, state: &[u8]) -> Result<Self> {
        let shape = Shape::of::<W>(pages);
        if state.is_empty() {
            return Ok(Self { root: None, lists: 0 });
        }
        if state.len() != shape.node_bytes() + 4 {
            return Err(pages.damaged(0, "a metanode of the wrong length"));
        }
        let root = match u32_at(state, 0) {
            0 => None,
            _ => Some(Node::decode(pages, shape, state, 0)?),
        };
        Ok(Self { root, lists: u32_at(state, shape.node_bytes()) })
    }

    pub(super) fn encode(&self, shape: Shape) -> Vec<u8> {
        let mut state = self.root.map_or_else(|| vec![0; shape.node_bytes()], |root| root.encode(shape));
        state.extend([0; 4]);
        put_u32(&mut state, shape.node_bytes(), self.lists);
        state
    }
}

/// One look at nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) pages: &'a dyn Pages,
    pub(super) shape: Shape,
    pub(super) options: &'a AulidOptions,
}

/// A slot in use, and where it was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<W> {
    pub(super) slot_number: u32,
    pub(super) slot: Slot<W>,
    /// Where its side entry lies, if it has one.
    pub(super) home: Option<Home>,
}

impl<'a> View<'a> {
    pub(super) fn of<W: Word>(pages: &'a dyn Pages, options: &'a AulidOptions) -> Self {
        Self { pages, shape: Shape::of::<W>(pages), options }
    }

    /// Page `index` of a mixed node.
    pub(super) fn node_page<W: Word>(&self, node: &Node<W>, depth: usize, index: u32) -> Result<Page> {
        self.pages.read(node.first_page + index, inner(depth))
    }

    /// The slot of a number.
    pub(super) fn slot<W: Word>(&self, node: &Node<W>, depth: usize, slot_number: u32) -> Result<Found<W>> {
        let (index, offset) = node.locate(self.shape, slot_number);
        let page = self.node_page(node, depth, index)?;
        self.understand(node, depth, (node.first_page + index, &page), slot_number, &raw_at(&page, offset))
    }

    /// The meaning of a slot that was read from a page.
    pub(super) fn understand<W: Word>(
        &self,
        node: &Node<W>,
        depth: usize,
        (number, page): (PageNumber, &Page),
        slot_number: u32,
        raw: &RawSlot<W>,
    ) -> Result<Found<W>> {
        let (home, other);
        let (entry, from): (&[u8], _) = match raw.side() {
            Side::None => {
                home = None;
                (&[], number)
            }
            Side::Here(place) if place < usize::from(node.side) => {
                let offset = side_offset(self.shape, place);
                home = Some(Home { page: number, offset });
                (page.get(offset..).unwrap_or_default(), number)
            }
            Side::Here(_) => return Err(self.pages.damaged(number, "a slot with an entry beyond the side area")),
            Side::Elsewhere(entry_page) => {
                other = self.pages.read(entry_page, inner(depth))?;
                home = Some(Home { page: entry_page, offset: 0 });
                (&other, entry_page)
            }
        };
        let content = raw.content(self.pages, self.shape, entry, from)?;
        Ok(Found { slot_number, slot: Slot { separator: raw.separator, content }, home })
    }

    /// The first slot at or after `from` that is in use and whose separator is not below `key`.
    pub(super) fn successor<W: Word>(
        &self,
        node: &Node<W>,
        depth: usize,
        from: u32,
        key: W,
    ) -> Result<Option<Found<W>>> {
        let (mut index, _) = node.locate(self.shape, from);
        let pages = node.slot_pages(self.shape);
        let start = index;
        while index < pages {
            let page = self.node_page(node, depth, index)?;
            for slot_number in node.slots_of_page(self.shape, index).skip_while(|&number| number < from) {
                let (_, offset) = node.locate(self.shape, slot_number);
                if kind_at::<W>(&page, offset) == NULL {
                    continue;
                }
                let raw = raw_at(&page, offset);
                if raw.separator >= key {
                    return self.understand(node, depth, (node.first_page + index, &page), slot_number, &raw).map(Some);
                }
                self.miss(slot_number, from, &raw)?;
            }
            index = match index == start || node.map_pages(self.shape) == 0 {
                true => index + 1,
                false => self.next_used_page(node, depth, index + 1)?,
            };
        }
        Ok(None)
    }

    /// Without ScanForward, a DATA slot sends a look-up to its leaf even if the key lies beyond.
    fn miss<W: Word>(&self, slot_number: u32, from: u32, raw: &RawSlot<W>) -> Result<()> {
        if let Some(leaf) = raw.leaf().filter(|_| slot_number == from && !self.options.scan_forward) {
            self.pages.read(leaf, Purpose::Leaf)?;
        }
        Ok(())
    }

    /// The first page at or after `index` of a node with a map that has a slot in use; the number of pages if there is
    /// none.
    pub(super) fn next_used_page<W: Word>(&self, node: &Node<W>, depth: usize, index: u32) -> Result<u32> {
        let pages = node.slot_pages(self.shape);
        let bits_per_page = self.shape.payload_bytes as u32 * 8;
        let mut next = index;
        while next < pages {
            let map = self.map_page(node, depth, next)?;
            let end = (next / bits_per_page + 1).saturating_mul(bits_per_page).min(pages);
            if let Some(used) = (next..end).find(|&page| map_bit(&map, page % bits_per_page)) {
                return Ok(used);
            }
            next = end;
        }
        Ok(pages)
    }

    /// The last page before `end` of a node with a map that has a slot in use.
    pub(super) fn last_used_page<W: Word>(&self, node: &Node<W>, depth: usize, end: u32) -> Result<Option<u32>> {
        let bits_per_page = self.shape.payload_bytes as u32 * 8;
        let mut end = end;
        while end > 0 {
            let map = self.map_page(node, depth, end - 1)?;
            let start = (end - 1) / bits_per_page * bits_per_page;
            if let Some(used) = (start..end).rev().find(|&page| map_bit(&map, page % bits_per_page)) {
                return Ok(Some(used));
            }
            end = start;
        }
        Ok(None)
    }

    /// The page of the map with the bit of page `index`.
    fn map_page<W: Word>(&self, node: &Node<W>, depth: usize, index: u32) -> Result<Page> {
        let bits_per_page = self.shape.payload_bytes as u32 * 8;
        self.pages.read(node.first_page + node.slot_pages(self.shape) + index / bits_per_page, inner(depth))
    }

    /// The last slot in use of a node; `None` where all are empty.
    pub(super) fn last_slot<W: Word>(&self, node: &Node<W>, depth: usize) -> Result<Option<Found<W>>> {
        let mut end = node.slot_pages(self.shape);
        while end > 0 {
            let index = match node.map_pages(self.shape) {
                0 => end - 1,
                _ => match self.last_used_page(node, depth, end)? {
                    Some(index) => index,
                    None => return Ok(None),
                },
            };
            let page = self.node_page(node, depth, index)?;
            for slot_number in node.slots_of_page(self.shape, index).rev() {
                let (_, offset) = node.locate(self.shape, slot_number);
                if kind_at::<W>(&page, offset) != NULL {
                    let raw = raw_at(&page, offset);
                    return self.understand(node, depth, (node.first_page + index, &page), slot_number, &raw).map(Some);
                }
            }
            end = index;
        }
        Ok(None)
    }

    /// Where an array begins in its page.
    pub(super) fn array_offset(&self, array: ArrayPlace) -> usize {
        ARRAY_HEADER_BYTES + usize::from(array.place) * self.shape.array_bytes(usize::from(array.class))
    }

    /// A packed array under a mixed node of depth `depth`.
    pub(super) fn array(&self, array: ArrayPlace, depth: usize) -> Result<Run> {
        let page = self.pages.read(array.page, inner(depth + 1))?;
        self.array_in(array, page)
    }

    /// The same, of a page that was read.
    pub(super) fn array_in(&self, array: ArrayPlace, page: Page) -> Result<Run> {
        let class = usize::from(array.class);
        let fits = class < ARRAY_CLASSES && usize::from(array.place) < self.shape.arrays_per_page(class);
        if !fits || page.get(8) != Some(&array.class) {
            return Err(self.pages.damaged(array.page, "a packed array where none can be"));
        }
        let capacity = Shape::array_capacity(class);
        Run::new(self.pages, self.shape, (array.page, page), self.array_offset(array), capacity)
    }

    /// A child of a two-layer node under a mixed node of depth `depth`.
    pub(super) fn child(&self, page: PageNumber, depth: usize) -> Result<Run> {
        let content = self.pages.read(page, inner(depth + 1))?;
        Run::new(self.pages, self.shape, (page, content), 0, self.shape.child_capacity())
    }

    /// The mixed node that a slot leads to.
    pub(super) fn mixed<W: Word>(found: &Found<W>) -> Option<(Node<W>, Home)> {
        match (&found.slot.content, found.home) {
            (Content::Mixed(node), Some(home)) => Some((*node, home)),
            _ => None,
        }
    }

    /// Where the statistics of a mixed node lie, whose entry begins at `home`.
    pub(super) fn counts_offset(&self, home: Home) -> usize {
        home.offset + self.shape.node_bytes() - COUNTS_BYTES
    }

    /// The most leaves that there can be: what counts from a file are held against.
    pub(super) fn most_items(&self) -> u64 {
        u64::from(self.pages.page_count()) * (self.shape.payload_bytes / self.shape.item_bytes()) as u64
    }
}

/// A bit of a page of a map.
pub(super) fn map_bit(map: &[u8], bit: u32) -> bool {
    map.get(bit as usize / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
}
