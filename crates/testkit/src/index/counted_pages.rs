//! Pages that count the reads of one operation, and stop an endless one.

use ogive::io::Purpose;
use ogive::page::{Page, PageNumber, Pages};
use ogive::{Error, Result};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// Reads through to other pages and remembers which. Make a new one for each operation: what it counts are *blocks
/// fetched*.
#[derive(Debug)]
pub struct CountedPages<'a> {
    inner: &'a dyn Pages,
    reads: Mutex<BTreeMap<PageNumber, (Purpose, u64)>>,
    most_reads: u64,
}

impl<'a> CountedPages<'a> {
    /// Counts reads of `inner`.
    pub fn new(inner: &'a dyn Pages) -> Self {
        Self { inner, reads: Mutex::default(), most_reads: u64::MAX }
    }

    /// Panics after `most_reads` reads: an operation that walks in circles.
    pub fn bounded(inner: &'a dyn Pages, most_reads: u64) -> Self {
        Self { most_reads, ..Self::new(inner) }
    }

    fn reads(&self) -> MutexGuard<'_, BTreeMap<PageNumber, (Purpose, u64)>> {
        self.reads.lock().unwrap()
    }

    /// Distinct pages read.
    pub fn blocks(&self) -> usize {
        self.reads().len()
    }

    /// Distinct pages read as parts of the inner structure.
    pub fn inner_blocks(&self) -> usize {
        self.reads().values().filter(|(purpose, _)| matches!(purpose, Purpose::Inner(_))).count()
    }

    /// Reads, repeated ones included.
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
        assert!(self.requests() <= self.most_reads, "an operation reads without end");
        self.inner.read(page, purpose)
    }

    fn page_count(&self) -> u32 {
        self.inner.page_count()
    }

    fn damaged(&self, page: PageNumber, detail: &str) -> Error {
        self.inner.damaged(page, detail)
    }
}
