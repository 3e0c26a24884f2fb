//! Capacities of AULID pages: slots, items and arrays in each.

use ogive::index::extend::Word;
use ogive::page::Pages;

/// The most children of a two-layer node (Section 3.3.2).
pub(super) const MOST_CHILDREN: usize = 4;
/// Sizes of packed arrays: 4, 8, 16, 32, 64.
pub(super) const ARRAY_CLASSES: usize = 5;
const LEAST_ARRAY: usize = 4;
/// Links to the next and the previous page of the class, the class, and three bytes of nothing.
pub(super) const ARRAY_HEADER_BYTES: usize = 12;
/// The count before the items of a packed array or of a child.
pub(super) const COUNT_BYTES: usize = 2;
/// A mixed node but for its first key: first page, slots, side entries a page, slope, intercept, and three statistics.
const NODE_BYTES: usize = 4 + 4 + 2 + 8 + 8 + 3 * 4;
/// Nodes of so few pages need no map: the pages are looked at one after the other.
const MOST_PAGES_WITHOUT_MAP: usize = 2;

/// Sizes for one page size and key width.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) payload_bytes: usize,
    pub(super) key_bytes: usize,
}

impl Shape {
    pub(super) fn of<W: Word>(pages: &dyn Pages) -> Self {
        Self { payload_bytes: pages.payload_bytes(), key_bytes: W::BYTES }
    }

    /// A separator and a leaf.
    pub(super) fn item_bytes(self) -> usize {
        self.key_bytes + 4
    }

    /// A separator, a page, and the tag.
    pub(super) fn slot_bytes(self) -> usize {
        self.key_bytes + 8
    }

    /// What the stored form of a mixed node takes.
    pub(super) fn node_bytes(self) -> usize {
        self.key_bytes + NODE_BYTES
    }

    /// What the stored form of a two-layer node takes: children's pages, and pivots between them.
    pub(super) fn children_bytes(self) -> usize {
        MOST_CHILDREN * 4 + (MOST_CHILDREN - 1) * self.key_bytes
    }

    /// A place in the side area of a page: for either of the two.
    pub(super) fn side_bytes(self) -> usize {
        self.node_bytes().max(self.children_bytes())
    }

    /// The most side entries of a page: they get half of it at most.
    pub(super) fn most_side(self) -> usize {
        self.payload_bytes / 2 / self.side_bytes()
    }

    /// Slots of a page that has `side` side entries; at least 1.
    pub(super) fn slots_per_page(self, side: usize) -> usize {
        (self.payload_bytes.saturating_sub(side * self.side_bytes()) / self.slot_bytes()).max(1)
    }

    /// Pages that hold `slots` slots.
    pub(super) fn slot_pages(self, slots: usize, side: usize) -> usize {
        slots.div_ceil(self.slots_per_page(side))
    }

    /// Pages that say which of `slot_pages` pages have a slot that is not empty, a bit for each.
    pub(super) fn map_pages(self, slot_pages: usize) -> usize {
        if slot_pages <= MOST_PAGES_WITHOUT_MAP { 0 } else { slot_pages.div_ceil(self.payload_bytes * 8) }
    }

    /// Items that an array of a class holds.
    pub(super) fn array_capacity(class: usize) -> usize {
        LEAST_ARRAY << class
    }

    /// Bytes of an array.
    pub(super) fn array_bytes(self, class: usize) -> usize {
        COUNT_BYTES + Self::array_capacity(class) * self.item_bytes()
    }

    /// Arrays of a class in one page.
    pub(super) fn arrays_per_page(self, class: usize) -> usize {
        (self.payload_bytes - ARRAY_HEADER_BYTES) / self.array_bytes(class)
    }

    /// The smallest class for so many items; `None` where an array would not fit a page, or none is so large.
    pub(super) fn array_class(self, items: usize) -> Option<usize> {
        (0..ARRAY_CLASSES).find(|&class| Self::array_capacity(class) >= items && self.arrays_per_page(class) > 0)
    }

    /// Items of the largest array.
    pub(super) fn largest_array(self) -> usize {
        let classes = (0..ARRAY_CLASSES).filter(|&class| self.arrays_per_page(class) > 0);
        classes.max().map_or(0, Self::array_capacity)
    }

    /// Items of a child of a two-layer node.
    pub(super) fn child_capacity(self) -> usize {
        (self.payload_bytes - COUNT_BYTES) / self.item_bytes()
    }

    /// Items of a two-layer node that is full: nine tenths, so that children can be evened out before.
    pub(super) fn most_in_children(self) -> usize {
        MOST_CHILDREN * self.child_capacity() * 9 / 10
    }

    /// Children for so many items when they are laid out anew, filled to four fifths as leaves are.
    pub(super) fn children_for(self, items: usize) -> usize {
        items.div_ceil((self.child_capacity() * 4 / 5).max(1)).clamp(1, MOST_CHILDREN)
    }
}
