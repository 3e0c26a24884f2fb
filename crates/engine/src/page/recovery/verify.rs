//! Verification of a whole page file: every page, the space map, and the log.

use super::recover::Recovery;
use crate::error::{Result, is_device_error};
use crate::io::{LenientStorage, Purpose, UnreadablePart};
use crate::page::extents::{Extent, Extents};
use crate::page::file::{PageFile, is_of_log, live_segments};
use crate::page::header::{Header, OtherSlot};
use crate::page::pages::PageNumber;
use crate::page::shared::PageFileShared;
use crate::page::snapshot::PageSnapshot;
use crate::page::space::PageSpace;
use crate::page::space_map::{self, MapLocations, epoch_byte, stale};
use std::path::Path;
use std::sync::Arc;

/// Most retries when a checkpoint interferes.
const ATTEMPTS_MAX: u32 = 20;

impl PageFile {
    /// [`PageSnapshot::verify`] of the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn verify(&self, claimed: &[Extent]) -> Result<()> {
        self.snapshot()?.verify(claimed)
    }
}

impl PageSnapshot {
    /// Reads every page from the disk and verifies it. `claimed` lists the extents that the file's user has at this
    /// commit: they must be exactly the allocated pages, each once. Takes one byte of memory per page, beyond the
    /// memory given.
    ///
    /// # Errors
    /// [`crate::Cause::Damaged`] at the first page that is not the one last written, that the device cannot read, is
    /// claimed twice, is claimed but free, or is allocated but not claimed.
    pub fn verify(&self, claimed: &[Extent]) -> Result<()> {
        let shared = &*self.view.shared;
        let claimed = claims(shared, claimed)?;
        self.or_unreadable(self.verify_pages(&claimed))
    }

    /// The outcome of a verification, unless there is a part that could not be read: then that is why.
    pub(crate) fn or_unreadable<T>(&self, verified: Result<T>) -> Result<T> {
        let shared = &*self.view.shared;
        // With an assumed header, the file is read without its log.
        let is_read = |part: &UnreadablePart| {
            part.path == shared.store.path || shared.assumed.is_none() && is_of_log(&part.path, &shared.name)
        };
        let found = shared.storage.unreadable().into_iter().find(is_read).or_else(|| match &verified {
            Err(error) if is_device_error(error) => error.path().and_then(|path| shared.unreadable_part(path)),
            _ => None,
        });
        found.map_or(verified, |part| Err(part.to_error()))
    }

    fn verify_pages(&self, claimed: &Extents) -> Result<()> {
        let shared = &*self.view.shared;
        let (found, places) = self.load()?;
        let space = found.space.as_ref();
        let map = map_pages(&places);
        for page in shared.first_page..self.view.page_count {
            // Pages that an aborted transaction added at the end belong to no commit.
            let free = page >= found.page_count || space.is_some_and(|space| space.is_free(page));
            let claimed = claimed.contains(page);
            let detail = match (map.contains(page), free, claimed) {
                (true, false, false) | (false, true, false) => continue,
                (false, false, true) => {
                    check_page(shared, &found, page, self.view.sequence)?;
                    continue;
                }
                (true, ..) => "it belongs to the space map and to something else",
                (false, true, true) => "it is in use although it is free",
                (false, false, false) => "it is not free, but nothing uses it",
            };
            return Err(shared.store.damaged(page, detail));
        }
        Ok(())
    }

    /// Number of valid copies of the file's header, of two. One is invalid if power was lost during its write, or if it
    /// is damaged; the other has the same content, and the next opening for writing restores it.
    ///
    /// # Errors
    /// [`crate::Cause::Damaged`] if neither is valid; [`crate::Cause::Io`].
    pub fn header_copies(&self) -> Result<u32> {
        // More than once: a writer in another process may be about to write one.
        for _ in 0..ATTEMPTS_MAX {
            if Header::read(&*self.view.shared.store.file)?.1 != OtherSlot::Invalid {
                return Ok(2);
            }
        }
        Ok(1)
    }

    /// Reads the state of this commit from the disk: the last checkpoint, which is not later than it, and the log.
    fn load(&self) -> Result<(Recovery, MapLocations)> {
        if let Some(header) = &self.view.shared.assumed {
            return self.load_from(header, false);
        }
        let mut attempt = 0;
        loop {
            let store = &self.view.shared.store;
            let (header, other_slot) = Header::read(&*store.file)?;
            let loaded = self.load_from(&header, other_slot == OtherSlot::Invalid);
            attempt += 1;
            // A checkpoint that came between has removed segments, and uses the old pages of the map again.
            if attempt >= ATTEMPTS_MAX || Header::read(&*store.file)?.0 == header {
                return loaded;
            }
        }
    }

    fn load_from(&self, header: &Header, one_slot: bool) -> Result<(Recovery, MapLocations)> {
        let shared = &*self.view.shared;
        let segments = live_segments(&*shared.storage, &shared.name, header)?;
        let (epochs, places) = space_map::load(&shared.store, header)?;
        let space = PageSpace::of_checkpoint(&epochs, header);
        let mut recovery = Recovery::new(header, &*shared.store.file, Some(space), Some(epochs));
        recovery.replay_all(header, one_slot, &segments, self.view.sequence)?;
        if recovery.sequence != self.view.sequence {
            return Err(recovery.damaged("the disk does not have the last commit"));
        }
        Ok((recovery, places))
    }
}

impl PageFileShared {
    /// The first part of the page file, or of a segment of its log, that the device cannot read.
    fn unreadable_part(&self, path: &Path) -> Option<UnreadablePart> {
        let file = match path == self.store.path {
            true => Arc::clone(&self.store.file),
            false => {
                let names = self.storage.list().ok()?;
                self.storage.open(names.iter().find(|name| self.storage.path(name) == path)?).ok()?
            }
        };
        LenientStorage::over(&self.storage).first_unreadable(file).ok()?
    }
}

/// The claimed pages as a set, each claimed once.
fn claims(shared: &PageFileShared, claimed: &[Extent]) -> Result<Extents> {
    let mut set = Extents::default();
    for &(first, pages) in claimed {
        let before = set.pages();
        if first.checked_add(pages).is_none() {
            return Err(shared.store.damaged(first, "a run of pages beyond all page numbers is in use"));
        }
        set.insert(first, pages);
        if set.pages() - before != u64::from(pages) {
            return Err(shared.store.damaged(first, "a run of pages that begins here is in use twice"));
        }
    }
    Ok(set)
}

/// The pages of the space map.
pub(in crate::page) fn map_pages(places: &MapLocations) -> Extents {
    let mut pages = Extents::default();
    let parts = places.parts.iter().map(|place| place.0).filter(|&page| page != 0);
    parts.chain(places.directory.iter().copied()).for_each(|page| pages.insert(page, 1));
    pages
}

/// Reads a page of the commit from storage, bypassing the pool.
fn check_page(shared: &PageFileShared, found: &Recovery, page: PageNumber, sequence: u64) -> Result<()> {
    if let Some(records) = found.log_map.records(page, sequence) {
        return shared.materialise(page, &records).map(drop);
    }
    let (_, epoch) = shared.store.read(page, Purpose::Walk)?;
    if found.epochs.as_ref().is_some_and(|epochs| epochs.get(page) != epoch_byte(epoch)) {
        return Err(stale(&shared.store, page));
    }
    Ok(())
}
