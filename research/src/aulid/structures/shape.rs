//! The layout of AULID pages: capacities for slots, items and arrays.

use ogive::index::extend::Word;
use ogive::page::Pages;

/// Most children of a two-layer node (Section 3.3.2).
pub(super) const CHILDREN_MAX: usize = 4;
/// Sizes of packed arrays: 4, 8, 16, 32, 64.
pub(super) const ARRAY_CLASSES: usize = 5;
const ARRAY_ITEMS_MIN: usize = 4;
/// Bytes of the header of a page of arrays: next and previous page of the class, the class, and three unused bytes.
pub(super) const ARRAY_HEADER_BYTES: usize = 12;
/// Bytes of the count before the items of a packed array or of a child.
pub(super) const COUNT_BYTES: usize = 2;
/// Bytes of a mixed node without its first key: first page, slots, side entries per page, slope, intercept, and three
/// statistics.
const NODE_BYTES: usize = 4 + 4 + 2 + 8 + 8 + 3 * 4;
/// Most pages of a node without a map, whose pages are searched one after another.
const UNMAPPED_PAGES_MAX: usize = 2;

/// Sizes for one page size and key width.
#[derive(Clone, Copy, Debug)]
pub(super) struct AulidLayout {
    pub(super) payload_bytes: usize,
    pub(super) key_bytes: usize,
}

impl AulidLayout {
    pub(super) fn of<W: Word>(pages: &dyn Pages) -> Self {
        Self { payload_bytes: pages.payload_bytes(), key_bytes: W::BYTES }
    }

    /// Bytes of an item: separator and leaf.
    pub(super) fn item_bytes(self) -> usize {
        self.key_bytes + 4
    }

    /// Bytes of a slot: separator, page, and kind.
    pub(super) fn slot_bytes(self) -> usize {
        self.key_bytes + 8
    }

    /// Bytes of a stored mixed node.
    pub(super) fn node_bytes(self) -> usize {
        self.key_bytes + NODE_BYTES
    }

    /// Bytes of a stored two-layer node: pages of the children, and pivots between them.
    pub(super) fn children_bytes(self) -> usize {
        CHILDREN_MAX * 4 + (CHILDREN_MAX - 1) * self.key_bytes
    }

    /// Bytes of a side entry, which can hold either of the two.
    pub(super) fn side_bytes(self) -> usize {
        self.node_bytes().max(self.children_bytes())
    }

    /// Most side entries of a page, which take at most half of it.
    pub(super) fn side_entries_max(self) -> usize {
        self.payload_bytes / 2 / self.side_bytes()
    }

    /// Number of slots of a page with `side` side entries; at least 1.
    pub(super) fn slots_per_page(self, side: usize) -> usize {
        (self.payload_bytes.saturating_sub(side * self.side_bytes()) / self.slot_bytes()).max(1)
    }

    /// Number of pages for `slots` slots.
    pub(super) fn slot_pages(self, slots: usize, side: usize) -> usize {
        slots.div_ceil(self.slots_per_page(side))
    }

    /// Number of map pages for `slot_pages` pages, one bit each.
    pub(super) fn map_pages(self, slot_pages: usize) -> usize {
        if slot_pages <= UNMAPPED_PAGES_MAX { 0 } else { slot_pages.div_ceil(self.payload_bytes * 8) }
    }

    /// Most items of an array of a class.
    pub(super) fn array_capacity(class: usize) -> usize {
        ARRAY_ITEMS_MIN << class
    }

    /// Bytes of an array.
    pub(super) fn array_bytes(self, class: usize) -> usize {
        COUNT_BYTES + Self::array_capacity(class) * self.item_bytes()
    }

    /// Number of arrays of a class in one page.
    pub(super) fn arrays_per_page(self, class: usize) -> usize {
        (self.payload_bytes - ARRAY_HEADER_BYTES) / self.array_bytes(class)
    }

    /// The smallest class for a number of items; `None` if none is large enough, or fits a page.
    pub(super) fn array_class(self, items: usize) -> Option<usize> {
        (0..ARRAY_CLASSES).find(|&class| Self::array_capacity(class) >= items && self.arrays_per_page(class) > 0)
    }

    /// Most items of the largest array.
    pub(super) fn array_items_max(self) -> usize {
        let classes = (0..ARRAY_CLASSES).filter(|&class| self.arrays_per_page(class) > 0);
        classes.max().map_or(0, Self::array_capacity)
    }

    /// Most items of a child of a two-layer node.
    pub(super) fn child_capacity(self) -> usize {
        (self.payload_bytes - COUNT_BYTES) / self.item_bytes()
    }

    /// Most items of a rebuilt two-layer node: 9/10 of its capacity, so that children can be rebalanced before it is
    /// full.
    pub(super) fn children_items_max(self) -> usize {
        CHILDREN_MAX * self.child_capacity() * 9 / 10
    }

    /// Number of children of a new two-layer node, filled to 4/5 as leaves are.
    pub(super) fn children_for(self, items: usize) -> usize {
        items.div_ceil((self.child_capacity() * 4 / 5).max(1)).clamp(1, CHILDREN_MAX)
    }
}
