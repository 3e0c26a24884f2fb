//! A page reader that counts the reads of one operation, and stops an endless one.

use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages};
use ogive::{Error, Result};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// A reader that records the pages read through it. Create one per operation: it counts its *blocks fetched*.
#[derive(Debug)]
pub struct CountedPages<'a> {
    inner: &'a dyn Pages,
    reads: Mutex<BTreeMap<PageNumber, (Purpose, u64)>>,
    reads_max: u64,
}

impl<'a> CountedPages<'a> {
    /// Counts reads of `inner`.
    pub fn new(inner: &'a dyn Pages) -> Self {
        Self { inner, reads: Mutex::default(), reads_max: u64::MAX }
    }

    /// Panics after `reads_max` reads: the operation does not end.
    pub fn bounded(inner: &'a dyn Pages, reads_max: u64) -> Self {
        Self { reads_max, ..Self::new(inner) }
    }

    fn reads(&self) -> MutexGuard<'_, BTreeMap<PageNumber, (Purpose, u64)>> {
        self.reads.lock().unwrap()
    }

    /// Number of distinct pages read.
    pub fn blocks(&self) -> usize {
        self.reads().len()
    }

    /// Number of distinct pages read as inner nodes.
    pub fn inner_blocks(&self) -> usize {
        self.reads().values().filter(|(purpose, _)| matches!(purpose, Purpose::Inner(_))).count()
    }

    /// Number of reads, with repetitions.
    pub fn requests(&self) -> u64 {
        self.reads().values().map(|(_, reads)| reads).sum()
    }
}

impl Pages for CountedPages<'_> {
    fn payload_bytes(&self) -> usize {
        self.inner.payload_bytes()
    }

    fn read(&self, page: PageNumber, purpose: Purpose) -> Result<Page> {
        self.reads().entry(page).or_insert((purpose, 0)).1 += 1;
        assert!(self.requests() <= self.reads_max, "an operation reads without end");
        self.inner.read(page, purpose)
    }

    fn page_count(&self) -> u32 {
        self.inner.page_count()
    }

    fn damaged(&self, page: PageNumber, detail: &str) -> Error {
        self.inner.damaged(page, detail)
    }
}
