//! The reader of AULID nodes: slots, maps, arrays and children; and the metanode.

use super::node::{
    ArrayLocation, AulidSlot, COUNTS_BYTES, EntryLocation, MixedNode, NULL, NodeContent, RawSlot, Side, kind_at,
    put_u32, raw_at, side_offset,
};
use super::options::AulidOptions;
use super::run::ItemRun;
use super::shape::{ARRAY_CLASSES, ARRAY_HEADER_BYTES, AulidLayout};
use crate::kinds::numbers::u32_at;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages};

/// Most nodes on a path, which bounds searches in damaged files. Built trees are far lower: each mixed node has at most
/// 1/3 of its parent's leaves in any slot.
pub(super) const DEPTH_MAX: usize = 40;

/// The purpose of reading a node at a depth.
pub(super) fn inner(depth: usize) -> Purpose {
    Purpose::Inner(depth.min(usize::from(u8::MAX)) as u8)
}

/// The metanode (Section 3.3.1), without the last leaf, which is in the state of the leaves.
///
/// ```text
/// state:  root, as in a side entry (46 or 54) | page of the lists of packed arrays (4)
///         50 bytes for keys of 8; empty without leaves
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Metanode<W> {
    pub(super) root: Option<MixedNode<W>>,
    /// The page with the heads of the lists of pages with room for packed arrays; 0 until there is one.
    pub(super) lists: PageNumber,
}

impl<W: Word> Metanode<W> {
    pub(super) fn decode(pages: &dyn Pages, state: &[u8]) -> Result<Self> {
        let shape = AulidLayout::of::<W>(pages);
        if state.is_empty() {
            return Ok(Self { root: None, lists: 0 });
        }
        if state.len() != shape.node_bytes() + 4 {
            return Err(pages.damaged(0, "a metanode of the wrong length"));
        }
        let root = match u32_at(state, 0) {
            0 => None,
            _ => Some(MixedNode::decode(pages, shape, state, 0)?),
        };
        Ok(Self { root, lists: u32_at(state, shape.node_bytes()) })
    }

    pub(super) fn encode(&self, shape: AulidLayout) -> Vec<u8> {
        let mut state = self.root.map_or_else(|| vec![0; shape.node_bytes()], |root| root.encode(shape));
        state.extend([0; 4]);
        put_u32(&mut state, shape.node_bytes(), self.lists);
        state
    }
}

/// A reader of nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeReader<'a> {
    pub(super) pages: &'a dyn Pages,
    pub(super) shape: AulidLayout,
    pub(super) options: &'a AulidOptions,
}

/// A slot, its number, and the location of its side entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundSlot<W> {
    pub(super) slot_number: u32,
    pub(super) slot: AulidSlot<W>,
    /// The location of its side entry, if it has one.
    pub(super) location: Option<EntryLocation>,
}

impl<'a> NodeReader<'a> {
    pub(super) fn of<W: Word>(pages: &'a dyn Pages, options: &'a AulidOptions) -> Self {
        Self { pages, shape: AulidLayout::of::<W>(pages), options }
    }

    /// Reads page `index` of a mixed node.
    pub(super) fn node_page<W: Word>(&self, node: &MixedNode<W>, depth: usize, index: u32) -> Result<Page> {
        self.pages.read(node.first_page + index, inner(depth))
    }

    /// Reads a slot.
    pub(super) fn slot<W: Word>(&self, node: &MixedNode<W>, depth: usize, slot_number: u32) -> Result<FoundSlot<W>> {
        let (index, offset) = node.locate(self.shape, slot_number);
        let page = self.node_page(node, depth, index)?;
        self.decode_slot(node, depth, (node.first_page + index, &page), slot_number, &raw_at(&page, offset))
    }

    /// Decodes a slot of a page that was read.
    pub(super) fn decode_slot<W: Word>(
        &self,
        node: &MixedNode<W>,
        depth: usize,
        (number, page): (PageNumber, &Page),
        slot_number: u32,
        raw: &RawSlot<W>,
    ) -> Result<FoundSlot<W>> {
        let (location, other);
        let (entry, from): (&[u8], _) = match raw.side() {
            Side::None => {
                location = None;
                (&[], number)
            }
            Side::InPage(index) if index < usize::from(node.side) => {
                let offset = side_offset(self.shape, index);
                location = Some(EntryLocation { page: number, offset });
                (page.get(offset..).unwrap_or_default(), number)
            }
            Side::InPage(_) => return Err(self.pages.damaged(number, "a slot with an entry beyond the side area")),
            Side::OwnPage(entry_page) => {
                other = self.pages.read(entry_page, inner(depth))?;
                location = Some(EntryLocation { page: entry_page, offset: 0 });
                (&other, entry_page)
            }
        };
        let content = raw.content(self.pages, self.shape, entry, from)?;
        Ok(FoundSlot { slot_number, slot: AulidSlot { separator: raw.separator, content }, location })
    }

    /// The first slot at or after `from` that is in use and whose separator is not below `key`.
    pub(super) fn successor<W: Word>(
        &self,
        node: &MixedNode<W>,
        depth: usize,
        from: u32,
        key: W,
    ) -> Result<Option<FoundSlot<W>>> {
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
                    return self
                        .decode_slot(node, depth, (node.first_page + index, &page), slot_number, &raw)
                        .map(Some);
                }
                self.read_needless_leaf(slot_number, from, &raw)?;
            }
            index = match index == start || node.map_pages(self.shape) == 0 {
                true => index + 1,
                false => self.next_used_page(node, depth, index + 1)?,
            };
        }
        Ok(None)
    }

    /// Without ScanForward, reads the leaf of a DATA slot even if the key is above its separator.
    fn read_needless_leaf<W: Word>(&self, slot_number: u32, from: u32, raw: &RawSlot<W>) -> Result<()> {
        if let Some(leaf) = raw.leaf().filter(|_| slot_number == from && !self.options.scan_forward) {
            self.pages.read(leaf, Purpose::Leaf)?;
        }
        Ok(())
    }

    /// The first page at or after `index` that has a slot in use, by the map of the node; the number of pages if there
    /// is none.
    pub(super) fn next_used_page<W: Word>(&self, node: &MixedNode<W>, depth: usize, index: u32) -> Result<u32> {
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

    /// The last page before `end` that has a slot in use, by the map of the node.
    pub(super) fn last_used_page<W: Word>(&self, node: &MixedNode<W>, depth: usize, end: u32) -> Result<Option<u32>> {
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
    fn map_page<W: Word>(&self, node: &MixedNode<W>, depth: usize, index: u32) -> Result<Page> {
        let bits_per_page = self.shape.payload_bytes as u32 * 8;
        self.pages.read(node.first_page + node.slot_pages(self.shape) + index / bits_per_page, inner(depth))
    }

    /// The last slot in use of a node; `None` if all are empty.
    pub(super) fn last_slot<W: Word>(&self, node: &MixedNode<W>, depth: usize) -> Result<Option<FoundSlot<W>>> {
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
                    return self
                        .decode_slot(node, depth, (node.first_page + index, &page), slot_number, &raw)
                        .map(Some);
                }
            }
            end = index;
        }
        Ok(None)
    }

    /// The offset of an array in its page.
    pub(super) fn array_offset(&self, array: ArrayLocation) -> usize {
        ARRAY_HEADER_BYTES + usize::from(array.index) * self.shape.array_bytes(usize::from(array.class))
    }

    /// Reads a packed array under a mixed node of depth `depth`.
    pub(super) fn array(&self, array: ArrayLocation, depth: usize) -> Result<ItemRun> {
        let page = self.pages.read(array.page, inner(depth + 1))?;
        self.array_in(array, page)
    }

    /// The packed array in a page that was read.
    pub(super) fn array_in(&self, array: ArrayLocation, page: Page) -> Result<ItemRun> {
        let class = usize::from(array.class);
        let fits = class < ARRAY_CLASSES && usize::from(array.index) < self.shape.arrays_per_page(class);
        if !fits || page.get(8) != Some(&array.class) {
            return Err(self.pages.damaged(array.page, "a packed array at an invalid location"));
        }
        let capacity = AulidLayout::array_capacity(class);
        ItemRun::new(self.pages, self.shape, (array.page, page), self.array_offset(array), capacity)
    }

    /// Reads a child of a two-layer node under a mixed node of depth `depth`.
    pub(super) fn child(&self, page: PageNumber, depth: usize) -> Result<ItemRun> {
        let content = self.pages.read(page, inner(depth + 1))?;
        ItemRun::new(self.pages, self.shape, (page, content), 0, self.shape.child_capacity())
    }

    /// The mixed node of a slot, if it has one.
    pub(super) fn mixed<W: Word>(found: &FoundSlot<W>) -> Option<(MixedNode<W>, EntryLocation)> {
        match (&found.slot.content, found.location) {
            (NodeContent::Mixed(node), Some(location)) => Some((*node, location)),
            _ => None,
        }
    }

    /// The offset of the statistics of a mixed node, for the location of its entry.
    pub(super) fn counts_offset(&self, location: EntryLocation) -> usize {
        location.offset + self.shape.node_bytes() - COUNTS_BYTES
    }

    /// Most items of the whole tree, a bound for counts from the file.
    pub(super) fn items_max(&self) -> u64 {
        u64::from(self.pages.page_count()) * (self.shape.payload_bytes / self.shape.item_bytes()) as u64
    }
}

/// A bit of a page of a map.
pub(super) fn map_bit(map: &[u8], bit: u32) -> bool {
    map.get(bit as usize / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
}
