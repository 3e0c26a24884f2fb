//! The guard through which a page of a transaction is edited.

use super::dirty_page::DirtyPage;
use super::pages::{Page, PageNumber, Pages};
use super::records::PageChanges;
use super::transaction::Transaction;
use crate::error::Result;
use crate::io::Purpose;
use std::ops::{Deref, Range};

/// A page being edited; dereferences to its payload. Writes beyond the payload are caller errors, and are truncated.
#[derive(Debug)]
pub struct PageEdit<'a> {
    pub(super) transaction: &'a mut Transaction,
    pub(super) number: PageNumber,
    /// Moved out of the transaction during the edit.
    pub(super) dirty: DirtyPage,
}

impl Transaction {
    /// Opens a page for editing. Each change is logged as the byte range that it touches.
    ///
    /// # Errors
    /// As for [`Pages::read`].
    pub fn edit(&mut self, page: PageNumber, purpose: Purpose) -> Result<PageEdit<'_>> {
        self.make_room()?;
        let dirty = match self.dirty.remove(&page) {
            Some(dirty) => {
                self.keeper.touch(page, purpose, None);
                DirtyPage { purpose, ..dirty }
            }
            None => {
                let content = self.read(page, purpose)?;
                self.forget_spilled(page);
                self.keeper.forget(page);
                DirtyPage { page: content, changes: PageChanges::default(), whole: false, purpose }
            }
        };
        self.keeper.count_change(page, purpose);
        Ok(PageEdit { transaction: self, number: page, dirty })
    }
}

impl PageEdit<'_> {
    /// Writes `bytes` at `offset`. Logged as these bytes.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        let length = self.dirty.page.len();
        let bytes = &bytes[..bytes.len().min(length.saturating_sub(offset))];
        // Unchanged bytes need not be logged.
        let old = self.dirty.page.get(offset..offset + bytes.len()).unwrap_or_default();
        let same = old.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        if same == bytes.len() {
            return;
        }
        let same_behind = old.iter().rev().zip(bytes.iter().rev()).take_while(|(a, b)| a == b).count();
        let (offset, bytes) = (offset + same, &bytes[same..bytes.len() - same_behind]);
        self.dirty.page.payload_mut()[offset..offset + bytes.len()].copy_from_slice(bytes);
        if !self.dirty.whole {
            self.dirty.changes.write(offset, bytes);
            self.limit_changes();
        }
    }

    /// Copies the bytes of `range` to `to`, which may overlap, for example to make room for an entry. Logged in a few
    /// bytes, regardless of the length.
    pub fn shift(&mut self, range: Range<usize>, to: usize) {
        let length = self.dirty.page.len();
        let end = range.end.min(length).min((range.start + length).saturating_sub(to));
        if range.start >= end || range.start == to {
            return;
        }
        let range = range.start..end;
        self.dirty.page.payload_mut().copy_within(range.clone(), to);
        if !self.dirty.whole {
            self.dirty.changes.shift(&range, to);
            self.limit_changes();
        }
    }

    /// Many changes cost more than an image, and make reading them back slower.
    fn limit_changes(&mut self) {
        if self.dirty.changes.as_bytes().len() > self.dirty.page.len() / 2 {
            self.dirty.changes.clear();
            self.dirty.whole = true;
        }
    }
}

impl Deref for PageEdit<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.dirty.page
    }
}

impl Drop for PageEdit<'_> {
    fn drop(&mut self) {
        let empty =
            DirtyPage { page: Page::zeros(0), changes: PageChanges::default(), whole: false, purpose: Purpose::Leaf };
        let dirty = std::mem::replace(&mut self.dirty, empty);
        self.transaction.put_dirty(self.number, dirty);
    }
}
