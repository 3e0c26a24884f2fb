//! Spilling of large transactions: changed pages that exceed memory go to the log before the commit.
//!
//! The first spill of a page is logged like a commit: as an image, unless the segment already has one. Later changes
//! follow as deltas, so the log grows by the bytes changed, not by a page per change. A new image replaces everything
//! that the transaction logged of the page before.

use super::log_map::PageVersion;
use super::pages::{Page, PageNumber};
use super::shared::PageFileShared;
use super::transaction::Transaction;
use crate::error::Result;
use crate::io::Purpose;
use std::sync::Arc;

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
