//! A small page cache for walks in key order, in which adjacent nodes share pages.

use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages};
use ogive::{Error, Result};
use std::cell::RefCell;

/// Number of cached pages: several per class of cells, because a walk reads the pages of all classes alternately.
const CACHED_PAGES: usize = 64;

/// A page reader with a direct-mapped cache.
#[derive(Debug)]
pub(super) struct RecentPages<'a> {
    inner: &'a dyn Pages,
    cached: RefCell<Vec<Option<(PageNumber, Page)>>>,
}

impl<'a> RecentPages<'a> {
    pub(super) fn new(inner: &'a dyn Pages) -> Self {
        Self { inner, cached: RefCell::new(vec![None; CACHED_PAGES]) }
    }
}

impl Pages for RecentPages<'_> {
    fn payload_bytes(&self) -> usize {
        self.inner.payload_bytes()
    }

    fn read(&self, page: PageNumber, purpose: Purpose) -> Result<Page> {
        let index = page as usize % CACHED_PAGES;
        if let Some(Some((number, content))) = self.cached.borrow().get(index)
            && *number == page
        {
            return Ok(content.clone());
        }
        let content = self.inner.read(page, purpose)?;
        if let Some(cached) = self.cached.borrow_mut().get_mut(index) {
            *cached = Some((page, content.clone()));
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
