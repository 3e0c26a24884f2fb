//! The space allocator: free pages, and the pages that snapshots still use.

use super::extents::{Extent, Extents};
use super::header::{Header, first_page};
use super::pages::PageNumber;
use super::space_map::SpaceMap;
use std::collections::BTreeMap;

/// An allocated extent with its origin, to be returned by an abort.
#[derive(Clone, Copy, Debug)]
pub(super) struct TakenExtent {
    pub(super) extent: Extent,
    source: ExtentSource,
}

#[derive(Clone, Copy, Debug)]
enum ExtentSource {
    Clean,
    Held(u32),
}

/// The free pages of a file.
///
/// A *clean* page is not needed by the last checkpoint, a snapshot, or recovery. It may be written directly. A *held*
/// page was freed after the last checkpoint, by a commit in the segment it is held under: its content in the page file
/// may still be read until a checkpoint has passed the segment. It may be reused for logged pages, since those do not
/// touch the page file before the next checkpoint.
#[derive(Clone, Debug, Default)]
pub(super) struct PageSpace {
    pub(super) clean: Extents,
    held: BTreeMap<u32, Extents>,
    pub(super) page_count: u32,
}

impl PageSpace {
    /// The free pages of a checkpoint: those without an epoch in its map.
    pub(super) fn of_checkpoint(epochs: &SpaceMap, header: &Header) -> Self {
        let mut space = Self { page_count: header.page_count, ..Self::default() };
        for (first, pages) in epochs.zeros(first_page(header.page_bytes), header.page_count) {
            space.clean.insert(first, pages);
        }
        space
    }

    /// Number of free pages of both kinds.
    pub(super) fn free_pages(&self) -> u64 {
        self.clean.pages() + self.held.values().map(Extents::pages).sum::<u64>()
    }

    /// Number of free pages that may be written directly only after a checkpoint.
    pub(super) fn held_pages(&self) -> u64 {
        self.held.values().map(Extents::pages).sum()
    }

    /// All free pages.
    pub(super) fn free(&self) -> Extents {
        let mut free = self.clean.clone();
        self.held.values().flat_map(Extents::iter).for_each(|(first, pages)| free.insert(first, pages));
        free
    }

    pub(super) fn is_free(&self, page: PageNumber) -> bool {
        self.clean.contains(page) || self.held.values().any(|held| held.contains(page))
    }

    /// Takes a page whose content will be logged.
    pub(super) fn take_logged(&mut self) -> Option<TakenExtent> {
        let mut held = self.held.iter_mut();
        let found = held.find_map(|(&segment, pages)| Some((pages.take(1)?, ExtentSource::Held(segment))));
        if let Some((page, source)) = found {
            return Some(TakenExtent { extent: (page, 1), source });
        }
        self.take_clean(1)
    }

    /// Takes consecutive pages that may be written directly; `None` if the file would exceed 2^32 pages.
    pub(super) fn take_clean(&mut self, pages: u32) -> Option<TakenExtent> {
        let first = match self.clean.take(pages) {
            Some(first) => first,
            None => {
                let first = self.page_count;
                self.page_count = first.checked_add(pages)?;
                first
            }
        };
        Some(TakenExtent { extent: (first, pages), source: ExtentSource::Clean })
    }

    /// Returns an extent taken by an aborted transaction. If it was written directly, it is held under `segment`: the
    /// next writer must give it another epoch.
    pub(super) fn put_back(&mut self, taken: TakenExtent, written: bool, segment: u32) {
        let (first, pages) = taken.extent;
        match taken.source {
            ExtentSource::Clean if written => self.hold(segment, first, pages),
            ExtentSource::Clean => self.clean.insert(first, pages),
            ExtentSource::Held(segment) => self.hold(segment, first, pages),
        }
    }

    /// Forgets the pages from `page_count` on, which no commit and no checkpoint has.
    pub(super) fn shrink(&mut self, page_count: u32) {
        if let Some(pages) = self.page_count.checked_sub(page_count) {
            self.claim(page_count, pages);
            self.page_count = page_count;
        }
    }

    /// Frees pages by a commit in `segment`.
    pub(super) fn hold(&mut self, segment: u32, first: PageNumber, pages: u32) {
        // A page number from a damaged node may be any.
        let end = (u64::from(first) + u64::from(pages)).min(u64::from(self.page_count));
        if let Some(pages) = end.checked_sub(u64::from(first)) {
            // Freed twice, it would be used twice.
            self.claim(first, pages as u32);
            self.held.entry(segment).or_default().insert(first, pages as u32);
        }
    }

    /// Takes pages that a replayed commit allocated.
    pub(super) fn claim(&mut self, first: PageNumber, pages: u32) {
        self.clean.remove(first, pages);
        for held in self.held.values_mut() {
            held.remove(first, pages);
        }
    }

    /// Pages held under segments up to and including `segment`.
    pub(super) fn held_through(&self, segment: u32) -> impl Iterator<Item = Extent> {
        self.held.range(..=segment).flat_map(|(_, held)| held.iter())
    }

    /// Makes the pages held under segments up to and including `segment` clean: a checkpoint has passed them.
    pub(super) fn release_through(&mut self, segment: u32) {
        let later = self.held.split_off(&segment.saturating_add(1));
        for (first, pages) in self.held.values().flat_map(Extents::iter) {
            self.clean.insert(first, pages);
        }
        self.held = later;
    }
}
