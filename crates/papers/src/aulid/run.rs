//! Runs of items: what packed arrays and the children of two-layer nodes hold.
//!
//! ```text
//! run:  count (2) | separator (8 or 16), leaf (4) | separator, leaf | ...        separators ascend strictly
//! ```

use super::node::Item;
use super::shape::{COUNT_BYTES, Shape};
use crate::numbers::{u16_at, u32_at};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{Page, PageEdit, PageNumber, Pages};

/// A run in a page.
#[derive(Clone, Debug)]
pub(super) struct Run {
    page: Page,
    start: usize,
    count: usize,
    shape: Shape,
}

impl Run {
    /// The run at `start` of page `from`, which holds at most `capacity` items.
    pub(super) fn new(
        pages: &dyn Pages,
        shape: Shape,
        (from, page): (PageNumber, Page),
        start: usize,
        capacity: usize,
    ) -> Result<Self> {
        let count = usize::from(u16_at(&page, start));
        if count > capacity || start + COUNT_BYTES + count * shape.item_bytes() > page.len() {
            return Err(pages.damaged(from, "a run of more items than have room"));
        }
        Ok(Self { page, start, count, shape })
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    fn bytes(&self, index: usize) -> &[u8] {
        self.page.get(self.start + COUNT_BYTES + index * self.shape.item_bytes()..).unwrap_or_default()
    }

    pub(super) fn item<W: Word>(&self, index: usize) -> Item<W> {
        let bytes = self.bytes(index);
        (W::load(bytes), u32_at(bytes, W::BYTES))
    }

    pub(super) fn items<W: Word>(&self) -> impl Iterator<Item = Item<W>> + '_ {
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
pub(super) fn encode<W: Word>(items: &[Item<W>]) -> Vec<u8> {
    let mut bytes = (items.len() as u16).to_le_bytes().to_vec();
    for &item in items {
        bytes.extend(encode_item(item));
    }
    bytes
}

fn encode_item<W: Word>((separator, leaf): Item<W>) -> Vec<u8> {
    let mut bytes = vec![0; W::BYTES + 4];
    separator.store(&mut bytes);
    bytes[W::BYTES..].copy_from_slice(&leaf.to_le_bytes());
    bytes
}

/// Puts an item in before item `index` of a run of `count` at `start`, which has room.
pub(super) fn insert<W: Word>(edit: &mut PageEdit<'_>, start: usize, count: usize, index: usize, item: Item<W>) {
    let (each, first) = (W::BYTES + 4, start + COUNT_BYTES);
    edit.shift(first + index * each..first + count * each, first + (index + 1) * each);
    edit.write(first + index * each, &encode_item(item));
    edit.write(start, &(count as u16 + 1).to_le_bytes());
}

/// Takes item `index` out of a run of `count` at `start`.
pub(super) fn remove<W: Word>(edit: &mut PageEdit<'_>, start: usize, count: usize, index: usize) {
    let (each, first) = (W::BYTES + 4, start + COUNT_BYTES);
    edit.shift(first + (index + 1) * each..first + count * each, first + index * each);
    edit.write(start, &(count as u16 - 1).to_le_bytes());
}

/// Gives item `index` of the run at `start` another leaf.
pub(super) fn replace<W: Word>(edit: &mut PageEdit<'_>, start: usize, index: usize, leaf: PageNumber) {
    edit.write(start + COUNT_BYTES + index * (W::BYTES + 4) + W::BYTES, &leaf.to_le_bytes());
}
