//! Runs of items: the content of packed arrays and of children of two-layer nodes.
//!
//! ```text
//! run:  count (2) | separator (8 or 16), leaf (4) | separator, leaf | ...        separators ascend strictly
//! ```

use super::node::NodeItem;
use super::shape::{AulidLayout, COUNT_BYTES};
use crate::kinds::numbers::{u16_at, u32_at};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{Page, PageEdit, PageNumber, Pages};

/// A run in a page.
#[derive(Clone, Debug)]
pub(super) struct ItemRun {
    page: Page,
    start: usize,
    count: usize,
    shape: AulidLayout,
}

impl ItemRun {
    /// Reads the run at `start` of page `from`, with at most `capacity` items.
    pub(super) fn new(
        pages: &dyn Pages,
        shape: AulidLayout,
        (from, page): (PageNumber, Page),
        start: usize,
        capacity: usize,
    ) -> Result<Self> {
        let count = usize::from(u16_at(&page, start));
        if count > capacity || start + COUNT_BYTES + count * shape.item_bytes() > page.len() {
            return Err(pages.damaged(from, "a run of more items than fit"));
        }
        Ok(Self { page, start, count, shape })
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    fn bytes(&self, index: usize) -> &[u8] {
        self.page.get(self.start + COUNT_BYTES + index * self.shape.item_bytes()..).unwrap_or_default()
    }

    pub(super) fn item<W: Word>(&self, index: usize) -> NodeItem<W> {
        let bytes = self.bytes(index);
        (W::load(bytes), u32_at(bytes, W::BYTES))
    }

    pub(super) fn items<W: Word>(&self) -> impl Iterator<Item = NodeItem<W>> + '_ {
        (0..self.count).map(|index| self.item(index))
    }

    /// The number of separators below `key`.
    pub(super) fn rank<W: Word>(&self, key: W) -> usize {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if W::load(self.bytes(middle)) < key { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// The bytes of a run.
pub(super) fn encode<W: Word>(items: &[NodeItem<W>]) -> Vec<u8> {
    let mut bytes = (items.len() as u16).to_le_bytes().to_vec();
    for &item in items {
        bytes.extend(encode_item(item));
    }
    bytes
}

fn encode_item<W: Word>((separator, leaf): NodeItem<W>) -> Vec<u8> {
    let mut bytes = vec![0; W::BYTES + 4];
    separator.store(&mut bytes);
    bytes[W::BYTES..].copy_from_slice(&leaf.to_le_bytes());
    bytes
}

/// Inserts an item before item `index` of a run of `count` items at `start`, which must have room.
pub(super) fn insert<W: Word>(edit: &mut PageEdit<'_>, start: usize, count: usize, index: usize, item: NodeItem<W>) {
    let (item_bytes, first) = (W::BYTES + 4, start + COUNT_BYTES);
    edit.shift(first + index * item_bytes..first + count * item_bytes, first + (index + 1) * item_bytes);
    edit.write(first + index * item_bytes, &encode_item(item));
    edit.write(start, &(count as u16 + 1).to_le_bytes());
}

/// Removes item `index` of a run of `count` items at `start`.
pub(super) fn remove<W: Word>(edit: &mut PageEdit<'_>, start: usize, count: usize, index: usize) {
    let (item_bytes, first) = (W::BYTES + 4, start + COUNT_BYTES);
    edit.shift(first + (index + 1) * item_bytes..first + count * item_bytes, first + index * item_bytes);
    edit.write(start, &(count as u16 - 1).to_le_bytes());
}

/// Replaces the leaf of item `index` of the run at `start`.
pub(super) fn replace<W: Word>(edit: &mut PageEdit<'_>, start: usize, index: usize, leaf: PageNumber) {
    edit.write(start + COUNT_BYTES + index * (W::BYTES + 4) + W::BYTES, &leaf.to_le_bytes());
}
