//! The page pool: an in-memory page cache of limited size.

use super::options::PageOptions;
use super::pages::{Page, PageNumber};
use crate::block::cache::BlockNote;
use crate::block::{BlockCache, BlockKey, NumberHash};
use crate::io::Purpose;
use crate::io::local::sync::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

/// The version of a page that the page file holds, rather than the log.
pub(super) const IN_FILE: u64 = 0;

/// The page pool: a cache of all pages by use, and separately of the inner pages nearest to the root.
#[derive(Debug)]
pub(super) struct PagePool {
    cache: BlockCache,
    resident: RwLock<ResidentPages>,
    resident_pages: usize,
}

#[derive(Debug, Default)]
struct ResidentPages {
    pages: HashMap<PageNumber, ResidentPage, NumberHash>,
    /// Number of pages of each depth.
    by_depth: Vec<usize>,
}

#[derive(Debug)]
struct ResidentPage {
    version: u64,
    depth: u8,
    page: Page,
}

/// The key of a version of a page. Versions whose lower halves are the same have the same key.
fn key(page: PageNumber, version: u64) -> BlockKey {
    BlockKey { owner: version as u32, number: page }
}

/// What the cache keeps with a page: its version.
fn note(version: u64) -> BlockNote {
    [version as u32, (version >> 32) as u32, 0, 0, 0]
}

impl PagePool {
    pub(super) fn new(options: &PageOptions, page_bytes: usize) -> Self {
        let (pool_bytes, resident_bytes) = match options.fast_paths.cache {
            true => (options.pool_bytes(), options.resident_bytes),
            false => (0, 0),
        };
        Self {
            cache: BlockCache::new(pool_bytes, page_bytes as u64),
            resident: RwLock::default(),
            resident_pages: usize::try_from(resident_bytes).unwrap_or(usize::MAX) / page_bytes,
        }
    }

    pub(super) fn get(&self, page: PageNumber, version: u64) -> Option<Page> {
        if self.resident_pages > 0 {
            let resident = self.resident.read();
            if let Some(found) = resident.pages.get(&page).filter(|found| found.version == version) {
                return Some(found.page.clone());
            }
        }
        self.cached(page, version).map(Page::from_whole)
    }

    pub(super) fn insert(&self, number: PageNumber, version: u64, purpose: Purpose, page: &Page) {
        if let (Purpose::Inner(depth), true) = (purpose, self.resident_pages > 0) {
            let mut resident = self.resident.write();
            if resident.admit(number, version, depth, page, self.resident_pages) {
                return;
            }
        }
        self.cache.insert_noted(key(number, version), page.whole().clone(), note(version));
    }

    #[inline]
    fn cached(&self, page: PageNumber, version: u64) -> Option<Arc<[u8]>> {
        self.cache.visit(key(page, version), |bytes, noted| (*noted == note(version)).then(|| bytes.clone()))?
    }

    /// Drops a version of a page.
    pub(super) fn remove(&self, page: PageNumber, version: u64) {
        if self.resident_pages > 0 {
            let mut resident = self.resident.write();
            if resident.pages.get(&page).is_some_and(|found| found.version == version) {
                resident.remove(page);
            }
        }
        self.cache.remove(key(page, version));
    }

    /// Relabels a version of a page, if it is in memory.
    pub(super) fn rename(&self, page: PageNumber, from: u64, to: u64) {
        if self.resident_pages > 0 {
            let mut resident = self.resident.write();
            match resident.pages.get_mut(&page) {
                Some(found) if found.version == from => found.version = to,
                Some(found) if found.version < from => resident.remove(page),
                _ => {}
            }
        }
        self.cache.remove(key(page, to));
        if let Some(found) = self.cached(page, from) {
            self.cache.remove(key(page, from));
            self.cache.insert_noted(key(page, to), found, note(to));
        }
    }
}

impl ResidentPages {
    /// Admits a page if an older version is present, if there is room, or if a page of greater depth can be evicted.
    fn admit(&mut self, number: PageNumber, version: u64, depth: u8, page: &Page, limit: usize) -> bool {
        if let Some(found) = self.pages.get_mut(&number).filter(|found| found.depth == depth) {
            if found.version <= version {
                *found = ResidentPage { version, depth, page: page.clone() };
                return true;
            }
            return false;
        }
        self.remove(number);
        if self.pages.len() >= limit {
            let Some(deepest) =
                self.by_depth.iter().rposition(|&pages| pages > 0).filter(|&at| at > usize::from(depth))
            else {
                return false;
            };
            let Some((&other, _)) = self.pages.iter().find(|(_, kept)| usize::from(kept.depth) == deepest) else {
                return false;
            };
            self.remove(other);
        }
        let depths = usize::from(depth) + 1;
        if self.by_depth.len() < depths {
            self.by_depth.resize(depths, 0);
        }
        self.by_depth[depths - 1] += 1;
        self.pages.insert(number, ResidentPage { version, depth, page: page.clone() });
        true
    }

    fn remove(&mut self, page: PageNumber) {
        if let Some(found) = self.pages.remove(&page)
            && let Some(pages) = self.by_depth.get_mut(usize::from(found.depth))
        {
            *pages = pages.saturating_sub(1);
        }
    }
}
