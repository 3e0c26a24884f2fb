//! The pages that a transaction has spilled to the log.

use super::log_map::{DeltaChain, PageVersion};
use super::pages::PageNumber;
use crate::block::NumberHash;
use std::collections::HashMap;

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
