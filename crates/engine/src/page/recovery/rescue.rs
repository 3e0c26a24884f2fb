//! Opening of a damaged page file for repair: the pages of the newest commit that can be read, and those in use.
//!
//! A damaged log is read up to the damage: the commits before it, on top of the last checkpoint, are a complete state.
//! If not even its first segment is there, the last checkpoint is that state. Pages that are damaged or stale stay so,
//! and reading them is an error, as always.

use super::recover::Recovery;
use super::verify::map_pages;
use crate::error::{Cause, Error, Result};
use crate::io::{LenientStorage, Storage};
use crate::page::extents::Extents;
use crate::page::file::{OpenedPageFile, PageFile, is_of_log, live_segments, lock_name, store};
use crate::page::header::{Header, OtherSlot, first_page};
use crate::page::log_chain::FoundSegment;
use crate::page::options::PageOptions;
use crate::page::pages::PageNumber;
use crate::page::space::PageSpace;
use crate::page::space_map::{self, MapLocations};
use crate::page::store::PageStore;
use std::io::ErrorKind;
use std::sync::Arc;

/// A damaged page file, open for reading. No one can open it for writing meanwhile.
#[derive(Debug)]
pub(crate) struct RescuedFile {
    pub(crate) file: PageFile,
    /// The damage to the log, after which there may have been more commits.
    pub(crate) lost_commits: Option<Error>,
    first_page: PageNumber,
    page_count: u32,
    /// The free pages and those of the space map; `None` if the space map is damaged.
    others: Option<Extents>,
}

impl RescuedFile {
    /// The pages in use, apart from those of the space map; `None` if the space map is damaged.
    pub(crate) fn pages_in_use(&self) -> Option<Vec<PageNumber>> {
        let others = self.others.as_ref()?;
        Some((self.first_page..self.page_count).filter(|&page| !others.contains(page)).collect())
    }
}

impl PageFile {
    /// Opens a damaged file for reading.
    ///
    /// # Errors
    /// As [`Self::open`] for a file without a valid header; otherwise [`Cause::Locked`], and errors of the storage.
    pub(crate) fn rescue(storage: &Arc<dyn Storage>, name: &str, options: &PageOptions) -> Result<RescuedFile> {
        if !storage.exists(name)? {
            return Err(Error::io("open", storage.path(name), ErrorKind::NotFound.into()));
        }
        storage.check_only_name(name)?;
        let storage = &LenientStorage::around(storage);
        let file = storage.open(name)?;
        let (header, other_slot) = Header::read(&*file)?;
        let lock = storage.lock(&lock_name(name))?;
        let store = store(file, &header);
        let found = live_segments(&**storage, name, &header)?;
        let (mut recovery, lost_commits, places) = recover(&store, &header, other_slot == OtherSlot::Invalid, &found)?;
        let lost_commits = lost_commits.or_else(|| unreadable_log(&**storage, name));
        let page_count = recovery.page_count;
        let space = recovery.space.take();
        let others = places.zip(space).map(|(places, space)| {
            let mut others = space.free();
            map_pages(&places).iter().for_each(|(first, pages)| others.insert(first, pages));
            others
        });
        let first_page = first_page(header.page_bytes);
        let opened = OpenedPageFile { storage, name, options, header, store, recovery, is_assumed: false };
        let file = Self { shared: opened.share(None, Some(lock), None) };
        Ok(RescuedFile { file, lost_commits, first_page, page_count, others })
    }
}

/// What cannot be read of the log. At its end it looks like commits that were being written in a crash.
pub(in crate::page) fn unreadable_log(storage: &dyn Storage, name: &str) -> Option<Error> {
    let part = storage.unreadable().into_iter().find(|part| is_of_log(&part.path, name))?;
    Some(part.to_error())
}

/// Recovers as many commits as can be read. Returns also the damage to the log, and the space map if it is intact.
fn recover(
    store: &PageStore,
    header: &Header,
    one_slot: bool,
    found: &[FoundSegment],
) -> Result<(Recovery, Option<Error>, Option<MapLocations>)> {
    let fresh = || match space_map::load(store, header) {
        Ok((epochs, places)) => {
            let space = PageSpace::of_checkpoint(&epochs, header);
            Ok((Recovery::new(header, &*store.file, Some(space), Some(epochs)), Some(places)))
        }
        Err(Error { cause: Cause::Damaged, .. }) => Ok((Recovery::new(header, &*store.file, None, None), None)),
        Err(error) => Err(error),
    };
    let (mut recovery, places) = fresh()?;
    let damage = match recovery.replay_all(header, one_slot, found, u64::MAX) {
        Ok(()) => return Ok((recovery, None, places)),
        Err(damage @ Error { cause: Cause::Damaged, .. }) => damage,
        Err(error) => return Err(error),
    };
    // Part of a commit may have been applied, so the intact ones are applied again.
    let last = recovery.sequence;
    let (mut recovery, _) = fresh()?;
    match recovery.replay_all(header, one_slot, found, last) {
        Ok(()) if recovery.sequence == last => {}
        Ok(()) | Err(Error { cause: Cause::Damaged, .. }) => (recovery, _) = fresh()?,
        Err(error) => return Err(error),
    }
    Ok((recovery, Some(damage), places))
}
