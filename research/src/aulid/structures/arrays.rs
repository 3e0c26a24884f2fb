//! Packed arrays of 4 to 64 items: arrays of one size share pages.
//!
//! ```text
//! page:   next (4) | previous (4) | class (1) | unused (3) | array 0 | array 1 | ... | array m-1
//! array:  a run with room for 4, 8, 16, 32 or 64 items; its count comes first, and is 0 if the array is free
//! lists:  the first page with a free array, for each class (5 x 4)
//! ```
//!
//! The pages of a class that have a free array form a doubly linked list; full pages are not in it, and a page without
//! arrays is freed.

use super::edit::Editor;
use super::node::{ArrayLocation, NodeItem, put_u32};
use super::reader::inner;
use super::run;
use super::shape::{ARRAY_CLASSES, ARRAY_HEADER_BYTES, AulidLayout};
use crate::kinds::numbers::{u16_at, u32_at};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages, Transaction};
use std::collections::BTreeMap;

const NEXT: usize = 0;
const PREVIOUS: usize = 4;
pub(super) const CLASS: usize = 8;

/// The purpose of reading pages only for the lists.
pub(super) const LISTS: Purpose = Purpose::Inner(u8::MAX);

/// Pages of arrays while nodes are built, one per class: written when full, never read.
#[derive(Debug, Default)]
pub(super) struct FreshArrays {
    current: [Option<FreshPage>; ARRAY_CLASSES],
}

#[derive(Debug)]
struct FreshPage {
    number: PageNumber,
    content: Vec<u8>,
    arrays: usize,
}

impl FreshArrays {
    fn add<W: Word>(
        &mut self,
        tx: &mut Transaction,
        shape: AulidLayout,
        class: usize,
        items: &[NodeItem<W>],
    ) -> Result<ArrayLocation> {
        let mut page = match self.current[class].take() {
            Some(page) => page,
            None => FreshPage { number: tx.allocate_extent(1)?, content: empty_page(shape, class), arrays: 0 },
        };
        let array = ArrayLocation { page: page.number, class: class as u8, index: page.arrays as u16 };
        let offset = offset_of(shape, class, page.arrays);
        let bytes = run::encode(items);
        page.content[offset..offset + bytes.len()].copy_from_slice(&bytes);
        page.arrays += 1;
        if page.arrays == shape.arrays_per_page(class) {
            tx.write_fresh(page.number, inner(1), &page.content)?;
        } else {
            self.current[class] = Some(page);
        }
        Ok(array)
    }
}

fn empty_page(shape: AulidLayout, class: usize) -> Vec<u8> {
    let mut content = vec![0; shape.payload_bytes];
    content[CLASS] = class as u8;
    content
}

/// The offset of array `index` in a page of a class.
pub(super) fn offset_of(shape: AulidLayout, class: usize, index: usize) -> usize {
    ARRAY_HEADER_BYTES + index * shape.array_bytes(class)
}

/// The first free array of a page, except `other_than`.
fn first_free(shape: AulidLayout, class: usize, page: &[u8], other_than: Option<usize>) -> Option<usize> {
    (0..shape.arrays_per_page(class))
        .filter(|&index| Some(index) != other_than)
        .find(|&index| u16_at(page, offset_of(shape, class, index)) == 0)
}

impl<W: Word> Editor<'_, W> {
    /// Creates an array of items: at least one, at most the capacity of the class.
    pub(super) fn add_array(&mut self, class: usize, items: &[NodeItem<W>], depth: usize) -> Result<ArrayLocation> {
        self.tx.count("packed array created");
        if let Some(mut fresh) = self.fresh.take() {
            let array = fresh.add(self.tx, self.shape, class, items);
            self.fresh = Some(fresh);
            return array;
        }
        let head = self.head(class)?;
        let number = if head == 0 { self.new_page(class)? } else { head };
        let page = self.tx.read(number, inner(depth + 1))?;
        let Some(index) = first_free(self.shape, class, &page, None).filter(|_| page[CLASS] == class as u8) else {
            return Err(self.tx.damaged(number, "a full page in a list of packed arrays"));
        };
        let bytes = run::encode(items);
        self.tx.edit(number, inner(depth + 1))?.write(offset_of(self.shape, class, index), &bytes);
        if first_free(self.shape, class, &page, Some(index)).is_none() {
            self.unlink(class, number)?;
        }
        Ok(ArrayLocation { page: number, class: class as u8, index: index as u16 })
    }

    /// Frees an array, and its page if it was the last one there.
    pub(super) fn free_array(&mut self, array: ArrayLocation, depth: usize) -> Result<()> {
        let (class, index) = (usize::from(array.class), usize::from(array.index));
        let page = self.tx.read(array.page, inner(depth + 1))?;
        self.reader().array_in(array, page.clone())?;
        let was_full = first_free(self.shape, class, &page, None).is_none();
        self.tx.edit(array.page, inner(depth + 1))?.write(offset_of(self.shape, class, index), &[0, 0]);
        let mut others = (0..self.shape.arrays_per_page(class)).filter(|&other| other != index);
        if others.all(|other| u16_at(&page, offset_of(self.shape, class, other)) == 0) {
            if !was_full {
                self.unlink(class, array.page)?;
            }
            return self.free(array.page, 1);
        }
        if was_full { self.link(class, array.page) } else { Ok(()) }
    }

    /// Frees many arrays, each with the depth of its mixed node. A page whose arrays are all among them is freed at
    /// once.
    pub(super) fn free_arrays(&mut self, arrays: &[(ArrayLocation, usize)]) -> Result<()> {
        let mut by_page: BTreeMap<PageNumber, Vec<(ArrayLocation, usize)>> = BTreeMap::new();
        for &(array, depth) in arrays {
            by_page.entry(array.page).or_default().push((array, depth));
        }
        for (number, arrays) in by_page {
            let (first, depth) = arrays[0];
            let page = self.tx.read(number, inner(depth + 1))?;
            self.reader().array_in(first, page.clone())?;
            let class = usize::from(first.class);
            let places = self.shape.arrays_per_page(class);
            let used = (0..places).filter(|&index| u16_at(&page, offset_of(self.shape, class, index)) > 0).count();
            if used > arrays.len() {
                arrays.into_iter().try_for_each(|(array, depth)| self.free_array(array, depth))?;
            } else {
                if used < places {
                    self.unlink(class, number)?;
                }
                self.free(number, 1)?;
            }
        }
        Ok(())
    }

    fn new_page(&mut self, class: usize) -> Result<PageNumber> {
        let number = self.tx.allocate()?;
        self.tx.edit(number, LISTS)?.write(CLASS, &[class as u8]);
        self.link(class, number)?;
        Ok(number)
    }

    /// Writes the pages with room for arrays, and adds them to the lists.
    pub(super) fn finish_fresh(&mut self) -> Result<()> {
        let Some(fresh) = self.fresh.take() else { return Ok(()) };
        for (class, page) in fresh.current.into_iter().enumerate() {
            if let Some(mut page) = page {
                let head = self.head(class)?;
                put_u32(&mut page.content, NEXT, head);
                self.tx.write_fresh(page.number, inner(1), &page.content)?;
                self.set_link(head, PREVIOUS, page.number)?;
                self.set_head(class, page.number)?;
            }
        }
        Ok(())
    }

    fn link(&mut self, class: usize, number: PageNumber) -> Result<()> {
        let head = self.head(class)?;
        self.set_link(number, NEXT, head)?;
        self.set_link(head, PREVIOUS, number)?;
        self.set_head(class, number)
    }

    fn unlink(&mut self, class: usize, number: PageNumber) -> Result<()> {
        let page = self.tx.read(number, LISTS)?;
        let (next, previous) = (u32_at(&page, NEXT), u32_at(&page, PREVIOUS));
        match previous {
            0 => self.set_head(class, next)?,
            _ => self.set_link(previous, NEXT, next)?,
        }
        self.set_link(next, PREVIOUS, previous)?;
        self.set_link(number, NEXT, 0)?;
        self.set_link(number, PREVIOUS, 0)
    }

    /// The first page of a list; 0 if it is empty.
    pub(super) fn head(&self, class: usize) -> Result<PageNumber> {
        match self.meta.lists {
            0 => Ok(0),
            lists => Ok(u32_at(&self.tx.read(lists, LISTS)?, 4 * class)),
        }
    }

    fn set_head(&mut self, class: usize, number: PageNumber) -> Result<()> {
        if self.meta.lists == 0 {
            self.meta.lists = self.tx.allocate()?;
        }
        self.set_link(self.meta.lists, 4 * class, number)
    }

    /// Writes a link, unless it is unchanged or its page is 0, which stands for none.
    fn set_link(&mut self, number: PageNumber, offset: usize, to: PageNumber) -> Result<()> {
        if number != 0 && u32_at(&self.tx.read(number, LISTS)?, offset) != to {
            self.tx.edit(number, LISTS)?.write(offset, &to.to_le_bytes());
        }
        Ok(())
    }
}
