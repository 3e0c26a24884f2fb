//! Snapshots: consistent reads of one commit, for as long as the snapshot is held.

use super::pages::{Page, PageNumber, Pages};
use super::pool::IN_FILE;
use super::shared::PageFileShared;
use crate::error::{Error, Result};
use crate::io::Purpose;
use std::sync::Arc;

/// A page file as of one commit. Cheap to clone. While it is held, checkpoints stop at its commit and the log grows.
#[derive(Clone, Debug)]
pub struct PageSnapshot {
    pub(super) view: Arc<SnapshotView>,
}

/// A commit with readers.
#[derive(Debug)]
pub(super) struct SnapshotView {
    pub(super) shared: Arc<PageFileShared>,
    pub(super) sequence: u64,
    pub(super) state: Arc<[u8]>,
    pub(super) page_count: u32,
}

impl SnapshotView {
    /// The last commit.
    pub(super) fn new(shared: Arc<PageFileShared>) -> Self {
        let mut current = shared.current();
        let sequence = current.sequence;
        *current.readers.entry(sequence).or_default() += 1;
        let (state, page_count) = (Arc::clone(&current.state), current.page_count);
        drop(current);
        Self { shared, sequence, state, page_count }
    }

    pub(super) fn check_number(&self, page: PageNumber, page_count: u32) -> Result<()> {
        if page < self.shared.first_page || page >= page_count {
            return Err(self.shared.store.damaged(page, "there is no such page: whatever led here is damaged"));
        }
        Ok(())
    }
}

impl Drop for SnapshotView {
    fn drop(&mut self) {
        let mut current = self.shared.current();
        if let Some(readers) = current.readers.get_mut(&self.sequence) {
            *readers -= 1;
            if *readers == 0 {
                current.readers.remove(&self.sequence);
            }
        }
    }
}

impl PageSnapshot {
    /// The state last set by [`super::Transaction::set_state`] before this commit.
    pub fn state(&self) -> &[u8] {
        &self.view.state
    }

    /// Number of the commit; numbers are consecutive.
    pub fn sequence(&self) -> u64 {
        self.view.sequence
    }
}

impl Pages for PageSnapshot {
    fn payload_bytes(&self) -> usize {
        self.view.shared.store.payload_bytes()
    }

    fn read(&self, page: PageNumber, purpose: Purpose) -> Result<Page> {
        self.view.check_number(page, self.view.page_count)?;
        self.view.shared.read_committed(page, self.view.sequence, purpose)
    }

    fn read_many(&self, pages: &[PageNumber], purpose: Purpose) -> Result<Vec<Page>> {
        self.view.read_many(pages, self.view.page_count, purpose)
    }

    fn page_count(&self) -> u32 {
        self.view.page_count
    }

    fn damaged(&self, page: PageNumber, detail: &str) -> Error {
        self.view.shared.store.damaged(page, detail)
    }
}

impl SnapshotView {
    /// Reads many pages in the order requested; those neither in memory nor in the log are read together.
    pub(super) fn read_many(&self, numbers: &[PageNumber], page_count: u32, purpose: Purpose) -> Result<Vec<Page>> {
        let mut pages: Vec<Option<Page>> = Vec::with_capacity(numbers.len());
        let mut missing = Vec::new();
        for &number in numbers {
            self.check_number(number, page_count)?;
            let version = self.shared.log_map().newest(number, self.sequence);
            let found = self.shared.pool.get(number, version.unwrap_or(IN_FILE));
            pages.push(match (found, version) {
                (Some(page), _) => Some(page),
                (None, Some(_)) => Some(self.shared.read_committed(number, self.sequence, purpose)?),
                (None, None) => None,
            });
            if pages.last().is_some_and(Option::is_none) {
                missing.push(number);
            }
        }
        missing.dedup();
        if missing.is_empty() {
            return Ok(pages.into_iter().flatten().collect());
        }
        let mut read = Vec::with_capacity(missing.len());
        for (&number, (page, epoch)) in missing.iter().zip(self.shared.store.read_many(&missing, purpose)?) {
            self.shared.check_epoch(number, epoch)?;
            self.shared.pool.insert(number, IN_FILE, purpose, &page);
            read.push((number, page));
        }
        let mut read = read.into_iter().peekable();
        let mut last: Option<(PageNumber, Page)> = None;
        let filled = numbers.iter().zip(pages).map(|(&number, page)| {
            if let Some(page) = page {
                return Some(page);
            }
            if last.as_ref().is_none_or(|(held, _)| *held != number) {
                last = read.next();
            }
            last.as_ref().map(|(_, page)| page.clone())
        });
        Ok(filled.flatten().collect())
    }
}
