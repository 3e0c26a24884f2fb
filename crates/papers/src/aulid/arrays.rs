//! Packed arrays: those of one size share pages.
//!
//! ```text
//! page:   next (4) | previous (4) | class (1) | nothing (3) | array 0 | array 1 | ... | array m-1
//! array:  a run with room for 4, 8, 16, 32 or 64 items; its count comes first, and is 0 where the place is free
//! lists:  the first page with a free place, for each class (5 x 4)
//! ```
//!
//! The pages of a class that have a free place form a list, linked both ways; full pages are in none, and a page
//! without arrays is given back.

use super::edit::Editor;
use super::node::{ArrayPlace, Item, put_u32};
use super::run;
use super::shape::{ARRAY_CLASSES, ARRAY_HEADER_BYTES, Shape};
use super::view::inner;
use crate::numbers::{u16_at, u32_at};
use ogive::Result;
use ogive::index::extend::Word;
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages, Transaction};
use std::collections::BTreeMap;

const NEXT: usize = 0;
const PREVIOUS: usize = 4;
pub(super) const CLASS: usize = 8;

/// The purpose of reading pages for the sake of lists alone.
pub(super) const LISTS: Purpose = Purpose::Inner(u8::MAX);

/// Pages of arrays while nodes are built, one of each class: written when full, never read.
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
        shape: Shape,
        class: usize,
        items: &[Item<W>],
    ) -> Result<ArrayPlace> {
        let mut page = match self.current[class].take() {
            Some(page) => page,
            None => FreshPage { number: tx.allocate_extent(1)?, content: empty_page(shape, class), arrays: 0 },
        };
        let array = ArrayPlace { page: page.number, class: class as u8, place: page.arrays as u16 };
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

fn empty_page(shape: Shape, class: usize) -> Vec<u8> {
    let mut content = vec![0; shape.payload_bytes];
    content[CLASS] = class as u8;
    content
}

/// Where place `place` of a page of a class begins.
pub(super) fn offset_of(shape: Shape, class: usize, place: usize) -> usize {
    ARRAY_HEADER_BYTES + place * shape.array_bytes(class)
}

/// The first place of a page that holds no array, but for `other_than`.
fn free_place(shape: Shape, class: usize, page: &[u8], other_than: Option<usize>) -> Option<usize> {
    (0..shape.arrays_per_page(class))
        .filter(|&place| Some(place) != other_than)
        .find(|&place| u16_at(page, offset_of(shape, class, place)) == 0)
}

impl<W: Word> Editor<'_, W> {
    /// Makes an array of some items, of which there are at least one and at most as many as the class has room for.
    pub(super) fn add_array(&mut self, class: usize, items: &[Item<W>], depth: usize) -> Result<ArrayPlace> {
        self.tx.count("packed array created");
        if let Some(mut fresh) = self.fresh.take() {
            let array = fresh.add(self.tx, self.shape, class, items);
            self.fresh = Some(fresh);
            return array;
        }
        let head = self.head(class)?;
        let number = if head == 0 { self.new_page(class)? } else { head };
        let page = self.tx.read(number, inner(depth + 1))?;
        let Some(place) = free_place(self.shape, class, &page, None).filter(|_| page[CLASS] == class as u8) else {
            return Err(self.tx.damaged(number, "a page without room in the list of packed arrays"));
        };
        let bytes = run::encode(items);
        self.tx.edit(number, inner(depth + 1))?.write(offset_of(self.shape, class, place), &bytes);
        if free_place(self.shape, class, &page, Some(place)).is_none() {
            self.unlink(class, number)?;
        }
        Ok(ArrayPlace { page: number, class: class as u8, place: place as u16 })
    }

    /// Gives the place of an array back, and the page if it was its last.
    pub(super) fn free_array(&mut self, array: ArrayPlace, depth: usize) -> Result<()> {
        let (class, place) = (usize::from(array.class), usize::from(array.place));
        let page = self.tx.read(array.page, inner(depth + 1))?;
        self.view().array_in(array, page.clone())?;
        let was_full = free_place(self.shape, class, &page, None).is_none();
        self.tx.edit(array.page, inner(depth + 1))?.write(offset_of(self.shape, class, place), &[0, 0]);
        let mut others = (0..self.shape.arrays_per_page(class)).filter(|&other| other != place);
        if others.all(|other| u16_at(&page, offset_of(self.shape, class, other)) == 0) {
            if !was_full {
                self.unlink(class, array.page)?;
            }
            return self.free(array.page, 1);
        }
        if was_full { self.link(class, array.page) } else { Ok(()) }
    }

    /// Gives many arrays back, each with the depth of the mixed node above it: pages of which all are among them at
    /// once.
    pub(super) fn free_arrays(&mut self, arrays: &[(ArrayPlace, usize)]) -> Result<()> {
        let mut by_page: BTreeMap<PageNumber, Vec<(ArrayPlace, usize)>> = BTreeMap::new();
        for &(array, depth) in arrays {
            by_page.entry(array.page).or_default().push((array, depth));
        }
        for (number, arrays) in by_page {
            let (first, depth) = arrays[0];
            let page = self.tx.read(number, inner(depth + 1))?;
            self.view().array_in(first, page.clone())?;
            let class = usize::from(first.class);
            let places = self.shape.arrays_per_page(class);
            let used = (0..places).filter(|&place| u16_at(&page, offset_of(self.shape, class, place)) > 0).count();
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

    /// Writes the pages that are not full of arrays, and lets later arrays use them.
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

    /// Writes a link, unless it says the same already; there is no page 0.
    fn set_link(&mut self, number: PageNumber, offset: usize, to: PageNumber) -> Result<()> {
        if number != 0 && u32_at(&self.tx.read(number, LISTS)?, offset) != to {
            self.tx.edit(number, LISTS)?.write(offset, &to.to_le_bytes());
        }
        Ok(())
    }
}
