//! Changing pages.

use super::file::{Committed, Shared, TRAILER_BYTES};
use super::pages::{Page, PageNumber, Pages};
use super::tally::{Phase, Tally};
use crate::error::{Error, Result};
use crate::io::Purpose;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Changes to a page file that become visible together. Dropped without [`Self::commit`], it leaves no trace.
#[derive(Debug)]
pub struct Transaction {
    shared: Arc<Shared>,
    work: Committed,
    tally: Tally,
    phase: Phase,
}

impl Transaction {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let work = (**shared.committed()).clone();
        Self { shared, work, tally: Tally::default(), phase: Phase::Search }
    }

    /// The state as this transaction sees it.
    pub fn state(&self) -> &[u8] {
        &self.work.state
    }

    /// Bytes that are committed along with the pages, at most 256: roots, models, counts.
    pub fn set_state(&mut self, state: &[u8]) {
        self.work.state = state.to_vec();
    }

    /// Opens a page for changes. Each change is logged as the range of bytes that it touches.
    ///
    /// # Errors
    /// As for [`Pages::read`].
    pub fn edit(&mut self, page: PageNumber, purpose: Purpose) -> Result<PageEdit<'_>> {
        let content = self.read(page, purpose)?.0.to_vec();
        self.tally.phases.entry(self.phase).or_default().pages_changed += 1;
        Ok(PageEdit { transaction: self, page, content })
    }

    /// A page of zeros, which is logged; for nodes of one page that are updated in place.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the file has 2^32 pages.
    pub fn allocate(&mut self) -> Result<PageNumber> {
        let page = self.allocate_extent(1)?;
        self.write_fresh(page, Purpose::Leaf, &[])?;
        Ok(page)
    }

    /// Consecutive pages that this transaction fills with [`Self::write_fresh`]: for nodes of many pages, and for bulk
    /// loads. They bypass the log; the commit syncs them before its record.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the file would have more than 2^32 pages.
    pub fn allocate_extent(&mut self, pages: u32) -> Result<PageNumber> {
        let found = self.work.free.iter().find(|&(_, &free)| free >= pages).map(|(&first, &free)| (first, free));
        if let Some((first, free)) = found {
            self.work.free.remove(&first);
            if free > pages {
                self.work.free.insert(first + pages, free - pages);
            }
            return Ok(first);
        }
        let first = self.work.page_count;
        self.work.page_count = first
            .checked_add(pages)
            .ok_or_else(|| Error::InvalidArgument(format!("{} would exceed 2^32 pages", self.shared.path.display())))?;
        Ok(first)
    }

    /// Fills one page of an extent that this transaction allocated; a shorter payload is padded with zeros. Each page may
    /// be written once, in any order; ascending order is fastest.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written.
    pub fn write_fresh(&mut self, page: PageNumber, _purpose: Purpose, payload: &[u8]) -> Result<()> {
        let mut content = payload.to_vec();
        content.resize(self.payload_bytes(), 0);
        self.work.pages.insert(page, Page(content.into()));
        Ok(())
    }

    /// Gives pages back. They are used again once no snapshot and no recovery can need them.
    pub fn free(&mut self, first: PageNumber, pages: u32) {
        for page in first..first + pages {
            self.work.pages.remove(&page);
        }
        self.work.free.insert(first, pages);
    }

    /// Says what the operations that follow are for.
    pub fn enter(&mut self, phase: Phase) {
        self.phase = phase;
    }

    /// Counts a structure modification.
    pub fn count(&mut self, modification: &'static str) {
        *self.tally.structure_modifications.entry(modification).or_default() += 1;
    }

    /// What was done so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Makes all changes visible, and durable as the file's durability says.
    ///
    /// # Errors
    /// [`Error::Io`]; then the file refuses further writes.
    pub fn commit(self) -> Result<()> {
        *self.shared.committed() = Arc::new(self.work);
        Ok(())
    }
}

impl Pages for Transaction {
    fn payload_bytes(&self) -> usize {
        self.shared.page_bytes - TRAILER_BYTES
    }

    fn read(&self, page: PageNumber, _purpose: Purpose) -> Result<Page> {
        let content = self.work.pages.get(&page).cloned();
        content.ok_or_else(|| self.damaged(page, "no such page"))
    }

    fn page_count(&self) -> u32 {
        self.work.page_count
    }

    fn damaged(&self, page: PageNumber, detail: &str) -> Error {
        Error::damaged(&self.shared.path, u64::from(page) * self.shared.page_bytes as u64, detail)
    }
}

/// A page under change; dereferences to its payload. What is written beyond the payload is an error of the caller and
/// is cut off.
#[derive(Debug)]
pub struct PageEdit<'a> {
    transaction: &'a mut Transaction,
    page: PageNumber,
    content: Vec<u8>,
}

impl PageEdit<'_> {
    /// Writes `bytes` from `offset` on; logged as these bytes.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        if let Some(target) = self.content.get_mut(offset..offset + bytes.len()) {
            target.copy_from_slice(bytes);
        }
    }

    /// Copies the bytes of `range` to `to`, which may overlap: how entries move up to make room. Logged in a few bytes,
    /// however many move.
    pub fn shift(&mut self, range: Range<usize>, to: usize) {
        if range.end <= self.content.len() && to + range.len() <= self.content.len() {
            self.content.copy_within(range, to);
        }
    }
}

impl Deref for PageEdit<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.content
    }
}

impl Drop for PageEdit<'_> {
    fn drop(&mut self) {
        let content = std::mem::take(&mut self.content);
        self.transaction.work.pages.insert(self.page, Page(content.into()));
    }
}
