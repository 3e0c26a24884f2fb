//! A bulk-loaded index: blocks, nodes and file.

use std::sync::Arc;

use anyhow::Result;
use ogive::index::IndexStatistics;
use ogive::io::MemoryStorage;

use super::memory::{LOAD_MEMORY_BYTES, pages};
use super::store::IndexStore;
use super::subjects::IndexSubject;
use crate::output::Record;
use crate::random::Random;

/// Lookups per scan.
pub(crate) const LOOKUPS_A_SCAN: usize = 5;

/// Counts of an index with nothing resident.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    /// Blocks of a lookup and of a scan of 100: of inner nodes, and of leaves.
    pub(crate) get: (f64, f64),
    pub(crate) scan: (f64, f64),
    pub(crate) file_bytes: u64,
    pub(crate) statistics: IndexStatistics,
    page_bytes: u64,
}

/// Random present keys to look up.
pub(crate) fn present(keys: &[u64], lookups: usize, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed, "present keys");
    (0..lookups.max(1)).map(|_| keys[random.below(keys.len() as u64) as usize]).collect()
}

/// Loads sorted keys, and looks up the keys `asked`.
pub(crate) fn load_and_count(subject: &IndexSubject, page_bytes: usize, keys: &[u64], asked: &[u64]) -> Result<Loaded> {
    let mut options = subject.options.clone();
    options.pages = pages(page_bytes, LOAD_MEMORY_BYTES);
    let (store, _) = IndexStore::load(Arc::new(MemoryStorage::new()), &options, &[], keys.iter().copied().map(Ok))?;
    let file_bytes = store.file_bytes()?;
    let statistics = store.index.statistics()?;
    let store = store.reopen(pages(page_bytes, 0))?;
    let get = store.watch_gets(asked, true)?.inner_and_leaf();
    let scan = store.watch_scans(&asked[..asked.len().div_ceil(LOOKUPS_A_SCAN)])?.inner_and_leaf();
    Ok(Loaded { get, scan, file_bytes, statistics, page_bytes: page_bytes as u64 })
}

impl Loaded {
    /// Blocks of a lookup.
    pub(crate) fn blocks_per_get(&self) -> f64 {
        self.get.0 + self.get.1
    }

    /// Adds the counts to a record.
    pub(crate) fn fill(&self, record: Record) -> Record {
        record
            .figure("inner_blocks_per_get", self.get.0)
            .figure("leaf_blocks_per_get", self.get.1)
            .figure("blocks_per_get", self.blocks_per_get())
            .figure("inner_blocks_per_scan100", self.scan.0)
            .figure("leaf_blocks_per_scan100", self.scan.1)
            .figure("blocks_per_scan100", self.scan.0 + self.scan.1)
            .figure("mean_height", self.statistics.mean_height)
            .figure("height", u64::from(self.statistics.height))
            .figure("leaves", self.statistics.leaves)
            .figure("inner_bytes", self.statistics.inner_pages * self.page_bytes)
            .figure("file_bytes", self.file_bytes)
    }
}
