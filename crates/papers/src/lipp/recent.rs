//! A small cache of pages for walks in the order of keys, where neighbours share pages.

use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages};
use ogive::{Error, Result};
use std::cell::RefCell;

/// Pages kept: some for each class of cells, whose pages a walk goes through side by side.
const KEPT: usize = 64;

/// Reads through to other pages, and keeps the last page of each place.
#[derive(Debug)]
pub(super) struct RecentPages<'a> {
    inner: &'a dyn Pages,
    kept: RefCell<Vec<Option<(PageNumber, Page)>>>,
}

impl<'a> RecentPages<'a> {
    pub(super) fn new(inner: &'a dyn Pages) -> Self {
        Self { inner, kept: RefCell::new(vec![None; KEPT]) }
    }
}

impl Pages for RecentPages<'_> {
    fn payload_bytes(&self) -> usize {
        self.inner.payload_bytes()
    }

    fn read(&self, page: PageNumber, purpose: Purpose) -> Result<Page> {
        let place = page as usize % KEPT;
        if let Some(Some((number, content))) = self.kept.borrow().get(place)
            && *number == page
        {
            return Ok(content.clone());
        }
        let content = self.inner.read(page, purpose)?;
        if let Some(kept) = self.kept.borrow_mut().get_mut(place) {
            *kept = Some((page, content.clone()));
        }
        Ok(content)
    }

    fn page_count(&self) -> u32 {
        self.inner.page_count()
    }

    fn damaged(&self, page: PageNumber, detail: &str) -> Error {
        self.inner.damaged(page, detail)
    }
}
