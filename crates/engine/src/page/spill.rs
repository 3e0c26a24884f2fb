//! Spilling of large transactions: changed pages that exceed memory go to the log before the commit.
//!
//! The first spill of a page is logged like a commit: as an image, unless the segment already has one. Later changes
//! follow as deltas, so the log grows by the bytes changed, not by a page per change. A new image replaces everything
//! that the transaction logged of the page before.

use super::log_map::{DeltaChain, PageVersion};
use super::pages::{Page, PageNumber};
use super::shared::PageFileShared;
use super::transaction::Transaction;
use crate::block::NumberHash;
use crate::error::Result;
use crate::io::Purpose;
use std::collections::HashMap;
use std::sync::Arc;

/// Most deltas of a spilled page after its image: each takes memory until the transaction ends, and costs a read when
/// the page is opened again.
const SPILLED_CHANGES_MAX: usize = 15;

/// The pages of a transaction that already have records in the log.
#[derive(Debug, Default)]
pub(super) struct SpilledPages {
    /// The records of each page, from the transaction's last image of it on; without an image they follow what was
    /// committed.
    pages: HashMap<PageNumber, Vec<PageVersion>, NumberHash>,
    /// Estimated bytes in memory.
    held_bytes: u64,
}

impl SpilledPages {
    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    pub(super) fn contains(&self, page: PageNumber) -> bool {
        self.pages.contains_key(&page)
    }

    pub(super) fn get(&self, page: PageNumber) -> Option<&[PageVersion]> {
        self.pages.get(&page).map(Vec::as_slice)
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = PageNumber> {
        self.pages.keys().copied()
    }

    /// Estimated bytes in memory.
    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// The delta chain of a page after its last image, given the committed one; `None` if only an image may follow.
    pub(super) fn chain(&self, page: PageNumber, committed: Option<DeltaChain>) -> Option<DeltaChain> {
        let Some(versions) = self.get(page) else {
            return committed;
        };
        let own = versions.iter().filter(|version| !version.is_image).count();
        if own >= SPILLED_CHANGES_MAX {
            return None;
        }
        versions.iter().fold(committed, DeltaChain::followed_by)
    }

    /// Adds a record of a page.
    pub(super) fn add(&mut self, page: PageNumber, version: PageVersion) {
        let versions = self.pages.entry(page).or_default();
        if version.is_image {
            self.held_bytes -= versions.iter().map(PageVersion::held_bytes).sum::<u64>();
            versions.clear();
        }
        self.held_bytes += version.held_bytes();
        versions.push(version);
    }

    pub(super) fn remove(&mut self, page: PageNumber) -> bool {
        let removed = self.pages.remove(&page);
        self.held_bytes -= removed.iter().flatten().map(PageVersion::held_bytes).sum::<u64>();
        removed.is_some()
    }

    /// Removes and returns all pages with their records.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (PageNumber, Vec<PageVersion>)> {
        self.held_bytes = 0;
        std::mem::take(&mut self.pages).into_iter()
    }
}

impl Transaction {
    /// Writes all changed pages to the log and drops them.
    pub(super) fn spill(&mut self) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        shared.check_poison()?;
        let outcome = self.spill_pages(&shared);
        shared.poison_on_error(outcome)
    }

    fn spill_pages(&mut self, shared: &PageFileShared) -> Result<()> {
        let sequence = self.own_sequence();
        let before = self.writer_mut()?.segment_mut(shared)?.position();
        self.first_spilled.get_or_insert(before);
        self.log_pages(shared, sequence)?;
        let segment = self.writer_mut()?.segment_mut(shared)?;
        segment.flush()?;
        shared.counters.log_bytes_written.fetch_add(segment.position() - before, std::sync::atomic::Ordering::Relaxed);
        for (number, dirty) in self.dirty.drain() {
            // No one else reads a commit that is not published yet.
            if self.spilled.contains(number) {
                shared.pool.insert(number, sequence, dirty.purpose, &dirty.page);
            }
        }
        Ok(())
    }

    /// Reads a page whose changes are already in the log.
    pub(super) fn read_spilled(&self, number: PageNumber, purpose: Purpose, versions: &[PageVersion]) -> Result<Page> {
        let sequence = self.own_sequence();
        if let Some(found) = self.shared.pool.get(number, sequence) {
            return Ok(found);
        }
        let map = self.shared.log_map();
        let mut records = match versions.first() {
            Some(first) if first.is_image => Vec::new(),
            _ => map.records(number, sequence - 1).unwrap_or_default(),
        };
        drop(map);
        let writer = self.writer.as_ref().and_then(|writer| writer.segment.as_ref());
        if let Some(segment) = writer {
            records.extend(versions.iter().map(|version| (Arc::clone(&segment.segment), version.clone())));
        }
        let found = self.shared.materialise(number, &records)?;
        self.shared.pool.insert(number, sequence, purpose, &found);
        Ok(found)
    }

    /// The number of the future commit.
    pub(super) fn own_sequence(&self) -> u64 {
        self.view.as_ref().map_or(0, |view| view.sequence) + 1
    }

    /// Drops a spilled page from the pool, because it is about to change or the transaction is aborted.
    pub(super) fn forget_spilled(&self, page: PageNumber) {
        if self.spilled.contains(page) {
            self.shared.pool.remove(page, self.own_sequence());
        }
    }
}
