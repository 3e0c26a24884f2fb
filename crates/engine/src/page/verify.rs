//! Checking a whole file.

use super::epochs::epoch_byte;
use super::extents::{Extent, Extents};
use super::file::{PageFile, WALK};
use super::pages::PageNumber;
use super::shared::Shared;
use super::writer::Writer;
use crate::error::Result;

impl PageFile {
    /// Reads every page of the last commit and checks it; `claimed` are the pages that the file's user has, as runs: they must be
    /// exactly those that are allocated, each once. Waits for the transaction under way.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] at the first page that is not what was written last, is claimed twice, is claimed though it is free,
    /// or is claimed by nobody; [`crate::Error::InvalidArgument`] for a file that is open for reading alone.
    pub fn verify(&self, claimed: &[Extent]) -> Result<()> {
        self.with_writer_unharmed(|writer, shared| {
            let claimed = claims(shared, claimed)?;
            let map = map_pages(writer);
            let sequence = shared.current().sequence;
            for page in shared.first_page..writer.space.page_count {
                let (free, claimed) = (writer.space.is_free(page), claimed.contains(page));
                if map.contains(page) {
                    if free || claimed {
                        return Err(shared.store.damaged(page, "it belongs to the space map and to something else"));
                    }
                    continue;
                }
                match (free, claimed) {
                    (true, true) => return Err(shared.store.damaged(page, "it is in use although it is free")),
                    (false, false) => return Err(shared.store.damaged(page, "it is not free, but nothing uses it")),
                    (true, false) => {}
                    (false, true) => check_page(shared, page, sequence)?,
                }
            }
            check_map(shared, writer)
        })
    }

    /// Lends the writer to what only reads: an error is the reader's.
    fn with_writer_unharmed<T>(&self, work: impl FnOnce(&Writer, &Shared) -> Result<T>) -> Result<T> {
        self.with_writer(|writer, shared| Ok(work(writer, shared)))?
    }
}

/// The claimed pages as a set, each claimed once.
fn claims(shared: &Shared, claimed: &[Extent]) -> Result<Extents> {
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

fn map_pages(writer: &Writer) -> Extents {
    let mut pages = Extents::default();
    let parts = writer.places.parts.iter().map(|place| place.0).filter(|&page| page != 0);
    parts.chain(writer.places.directory.iter().copied()).for_each(|page| pages.insert(page, 1));
    pages
}

/// Reads a page from where the last commit left it, past the pool.
fn check_page(shared: &Shared, page: PageNumber, sequence: u64) -> Result<()> {
    match shared.read_log(page, sequence)? {
        Some(_) => Ok(()),
        None => shared.read_file(page, WALK).map(drop),
    }
}

/// Reads the pages of the space map.
fn check_map(shared: &Shared, writer: &Writer) -> Result<()> {
    for &(page, epoch) in writer.places.parts.iter().filter(|place| place.0 != 0) {
        let (_, found) = shared.store.read(page, WALK)?;
        if found != epoch || shared.with_epochs(|map| map.get(page)) != epoch_byte(epoch) {
            return Err(super::epochs::stale(&shared.store, page));
        }
    }
    for &page in &writer.places.directory {
        shared.read_file(page, WALK)?;
    }
    Ok(())
}
