//! The space map: one byte per page, and the pages that store it.
//!
//! 0 marks a page that is free, or whose content is in the log alone; any other value is 1 + the epoch mod 255 of the
//! content in the page file. A lost page write is thus detected: the epoch of the stored page differs.

use super::header::Header;
use super::pages::{Page, PageNumber};
use super::store::PageStore;
use crate::error::{Error, Result};
use crate::io::Purpose;
use std::collections::BTreeSet;

/// Size of a directory entry, in bytes: a map page and its epoch.
const ENTRY_BYTES: usize = 8;

/// The location of a map page or directory page: its number and its epoch; page 0 if there is none.
pub(super) type MapPageLocation = (PageNumber, u32);

/// The map byte of a page with content of this epoch.
pub(super) fn epoch_byte(epoch: u32) -> u8 {
    (epoch % 255) as u8 + 1
}

/// The space map in memory.
#[derive(Debug, Default)]
pub(super) struct SpaceMap {
    bytes: Vec<u8>,
    /// Parts (one map page each) that differ from the stored ones.
    changed: BTreeSet<usize>,
    part_bytes: usize,
}

impl SpaceMap {
    pub(super) fn new(part_bytes: usize) -> Self {
        Self { part_bytes, ..Self::default() }
    }

    pub(super) fn get(&self, page: PageNumber) -> u8 {
        self.bytes.get(page as usize).copied().unwrap_or(0)
    }

    pub(super) fn set(&mut self, page: PageNumber, byte: u8) {
        let index = page as usize;
        if self.bytes.len() <= index {
            self.bytes.resize(index + 1, 0);
        }
        if self.bytes[index] != byte {
            self.bytes[index] = byte;
            self.changed.insert(index / self.part_bytes);
        }
    }

    /// Takes a part that differs from the stored one.
    pub(super) fn take_changed(&mut self) -> Option<usize> {
        self.changed.pop_first()
    }

    /// The bytes of a part; shorter than a page at the end.
    pub(super) fn part(&self, part: usize) -> &[u8] {
        let start = (part * self.part_bytes).min(self.bytes.len());
        &self.bytes[start..(start + self.part_bytes).min(self.bytes.len())]
    }

    /// Loads a stored part.
    fn load(&mut self, part: usize, bytes: &[u8]) {
        let start = part * self.part_bytes;
        if self.bytes.len() < start + bytes.len() {
            self.bytes.resize(start + bytes.len(), 0);
        }
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
    }

    /// The pages below `page_count` whose byte is 0, from `first` on, as extents.
    pub(super) fn zeros(&self, first: PageNumber, page_count: u32) -> Vec<(PageNumber, u32)> {
        let mut runs = Vec::new();
        let mut page = first;
        while page < page_count {
            let from = page;
            while page < page_count && self.get(page) == 0 {
                page += 1;
            }
            if page > from {
                runs.push((from, page - from));
            }
            while page < page_count && self.get(page) != 0 {
                page += 1;
            }
        }
        runs
    }
}

/// The locations of the stored map.
#[derive(Clone, Debug, Default)]
pub(super) struct MapLocations {
    /// The map page of each part.
    pub(super) parts: Vec<MapPageLocation>,
    /// The pages of the directory, in order.
    pub(super) directory: Vec<PageNumber>,
}

/// Number of map parts of a file of `page_count` pages.
pub(super) fn parts_of(page_count: u32, payload_bytes: usize) -> usize {
    (page_count as usize).div_ceil(payload_bytes)
}

/// Entries per directory page; its first entry leads to the next page.
pub(super) fn entries_in(payload_bytes: usize) -> usize {
    payload_bytes / ENTRY_BYTES - 1
}

/// Builds a directory page.
pub(super) fn directory_page(page_bytes: usize, next: MapPageLocation, parts: &[MapPageLocation]) -> Page {
    let mut bytes = Vec::with_capacity(page_bytes);
    for (page, epoch) in std::iter::once(&next).chain(parts) {
        bytes.extend_from_slice(&page.to_le_bytes());
        bytes.extend_from_slice(&epoch.to_le_bytes());
    }
    Page::padded(page_bytes, &bytes)
}

/// Loads the map stored by a checkpoint.
pub(super) fn load(store: &PageStore, header: &Header) -> Result<(SpaceMap, MapLocations)> {
    let (directory, page_count) = (header.directory, header.page_count);
    let payload_bytes = store.payload_bytes();
    let parts = parts_of(page_count, payload_bytes);
    let (mut epochs, mut places) = (SpaceMap::new(payload_bytes), MapLocations::default());
    let mut next = directory;
    while next.0 != 0 && places.parts.len() < parts {
        let page = read(store, next, page_count)?;
        places.directory.push(next.0);
        let mut entries = page.chunks_exact(ENTRY_BYTES).map(entry);
        next = entries.next().unwrap_or_default();
        let wanted = parts - places.parts.len();
        places.parts.extend(entries.take(wanted));
    }
    if directory.0 != 0 && places.parts.len() < parts {
        return Err(store.damaged(directory.0, "the directory of the space map ends early"));
    }
    for (part, &place) in places.parts.iter().enumerate().filter(|(_, place)| place.0 != 0) {
        let page = read(store, place, page_count)?;
        let wanted = (page_count as usize - part * payload_bytes).min(payload_bytes);
        epochs.load(part, &page[..wanted]);
    }
    Ok((epochs, places))
}

fn entry(bytes: &[u8]) -> MapPageLocation {
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    (word(0), word(4))
}

fn read(store: &PageStore, (number, epoch): MapPageLocation, page_count: u32) -> Result<Page> {
    if number >= page_count {
        return Err(store.damaged(number, "the space map leads beyond the file"));
    }
    let (page, found) = store.read(number, Purpose::Open)?;
    if found != epoch {
        return Err(stale(store, number));
    }
    Ok(page)
}

/// The error for a page of another epoch.
pub(super) fn stale(store: &PageStore, page: PageNumber) -> Error {
    store.damaged(page, "the page is not the one that was written last: its epoch is another")
}
