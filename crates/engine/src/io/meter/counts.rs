//! A storage meter: counts requests, bytes and blocks between the engine and a storage.

use crate::error::{Error, Result};
use crate::io::storage::observer::{ObservedRange, ObservedStorage, StorageObserver};
use crate::io::storage::request::Purpose;
use crate::io::storage::traits::Storage;
use crate::io::storage::wrapper::StorageWrapper;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Block size that [`Meter::new`] counts in.
const DEFAULT_BLOCK_BYTES: u64 = 4096;

/// Counts of reads. Failed reads are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Number of ranges requested.
    pub requests: u64,
    /// Number of bytes in those ranges.
    pub bytes: u64,
    /// Number of distinct block-aligned ranges that the requests overlap, each counted once however often it is read.
    /// If the meter is reset before an operation, this is the number of *blocks fetched*.
    pub blocks: u64,
}

/// Counts of all modifications. Failed calls are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteCounts {
    /// Calls of append and write.
    pub requests: u64,
    /// Bytes written.
    pub bytes: u64,
    /// File syncs.
    pub file_syncs: u64,
    /// Directory syncs.
    pub directory_syncs: u64,
}

impl WriteCounts {
    fn add(&mut self, bytes: u64) {
        self.requests += 1;
        self.bytes += bytes;
    }
}

/// Counts of writes to files that are updated in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateCounts {
    /// Number of ranges written.
    pub requests: u64,
    /// Number of bytes in those ranges.
    pub bytes: u64,
    /// Number of distinct block-aligned ranges that the writes overlap, each counted once however often it is written.
    pub blocks: u64,
}

/// The counts of a [`Meter`] since the start or the last reset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeterSnapshot {
    /// All reads. A block read for two purposes counts once here.
    pub reads: ReadCounts,
    /// Reads by purpose.
    pub reads_by_purpose: BTreeMap<Purpose, ReadCounts>,
    /// Writes and syncs.
    pub writes: WriteCounts,
    /// The writes to [`UpdatableFile`](crate::io::UpdatableFile)s, by purpose.
    pub writes_by_purpose: BTreeMap<Purpose, UpdateCounts>,
}

/// A storage that forwards to another and counts requests, bytes and distinct blocks, in total and by purpose. Clones
/// share the counts.
#[derive(Clone, Debug)]
pub struct Meter {
    storage: ObservedStorage<OperationCounts>,
}

impl Meter {
    /// Creates a meter over `inner` with blocks of 4 KiB.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        Self::build(inner, DEFAULT_BLOCK_BYTES)
    }

    /// Creates a meter with another block size.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if `block_bytes` is zero.
    pub fn with_block_bytes(inner: Arc<dyn Storage>, block_bytes: u64) -> Result<Self> {
        if block_bytes == 0 {
            return Err(Error::input("a meter cannot count blocks of 0 bytes; give a size above 0"));
        }
        Ok(Self::build(inner, block_bytes))
    }

    fn build(inner: Arc<dyn Storage>, block_bytes: u64) -> Self {
        Self { storage: ObservedStorage::new(inner, OperationCounts { block_bytes, counts: Mutex::default() }) }
    }

    /// The counts since the start or the last reset.
    pub fn snapshot(&self) -> MeterSnapshot {
        self.storage.observer().counts().snapshot()
    }

    /// Resets all counts to zero and returns them, atomically.
    pub fn reset(&self) -> MeterSnapshot {
        std::mem::take(&mut *self.storage.observer().counts()).snapshot()
    }
}

impl StorageWrapper for Meter {
    fn inner(&self) -> &dyn Storage {
        &self.storage
    }
}

#[derive(Debug)]
struct OperationCounts {
    block_bytes: u64,
    counts: Mutex<Counts>,
}

impl OperationCounts {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StorageObserver for OperationCounts {
    fn read(&self, path: &Path, ranges: &[ObservedRange]) {
        let mut counts = self.counts();
        for &range in ranges {
            counts.total.add(path, range, self.block_bytes);
            counts.by_purpose.entry(range.purpose).or_default().add(path, range, self.block_bytes);
        }
    }

    fn update(&self, path: &Path, range: ObservedRange) {
        let mut counts = self.counts();
        counts.writes.add(range.bytes);
        counts.written_by_purpose.entry(range.purpose).or_default().add(path, range, self.block_bytes);
    }

    fn write(&self, bytes: u64) {
        self.counts().writes.add(bytes);
    }

    fn sync_file(&self) {
        self.counts().writes.file_syncs += 1;
    }

    fn sync_directory(&self) {
        self.counts().writes.directory_syncs += 1;
    }
}

#[derive(Debug, Default)]
struct Counts {
    total: Ranges,
    by_purpose: BTreeMap<Purpose, Ranges>,
    writes: WriteCounts,
    written_by_purpose: BTreeMap<Purpose, Ranges>,
}

impl Counts {
    fn snapshot(&self) -> MeterSnapshot {
        MeterSnapshot {
            reads: self.total.counts(),
            reads_by_purpose: self.by_purpose.iter().map(|(&purpose, reads)| (purpose, reads.counts())).collect(),
            writes: self.writes,
            writes_by_purpose: self.written_by_purpose.iter().map(|(&purpose, of)| (purpose, of.written())).collect(),
        }
    }
}

#[derive(Debug, Default)]
struct Ranges {
    requests: u64,
    bytes: u64,
    blocks: BTreeMap<PathBuf, BlockSet>,
}

impl Ranges {
    fn add(&mut self, path: &Path, range: ObservedRange, block_bytes: u64) {
        self.requests += 1;
        self.bytes += range.bytes;
        if range.bytes == 0 {
            return;
        }
        let (first, end) = (range.offset / block_bytes, (range.offset + range.bytes).div_ceil(block_bytes));
        match self.blocks.get_mut(path) {
            Some(blocks) => blocks.insert(first, end),
            None => self.blocks.entry(path.to_path_buf()).or_default().insert(first, end),
        }
    }

    fn counts(&self) -> ReadCounts {
        ReadCounts { requests: self.requests, bytes: self.bytes, blocks: self.distinct_blocks() }
    }

    fn written(&self) -> UpdateCounts {
        UpdateCounts { requests: self.requests, bytes: self.bytes, blocks: self.distinct_blocks() }
    }

    fn distinct_blocks(&self) -> u64 {
        self.blocks.values().map(|blocks| blocks.count).sum()
    }
}

/// A set of block numbers as disjoint runs, first to end, so that a scan of a large file is one entry.
#[derive(Debug, Default)]
struct BlockSet {
    runs: BTreeMap<u64, u64>,
    count: u64,
}

impl BlockSet {
    fn insert(&mut self, mut first: u64, mut end: u64) {
        // Runs that overlap or touch the new one are merged into it; the last such run starts at or before `end`.
        while let Some((&start, &stop)) = self.runs.range(..=end).next_back() {
            if stop < first {
                break;
            }
            self.runs.remove(&start);
            self.count -= stop - start;
            first = first.min(start);
            end = end.max(stop);
        }
        self.runs.insert(first, end);
        self.count += end - first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_block_set_counts_as_a_plain_set_does() {
        let mut state = 7_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let (mut runs, mut plain) = (BlockSet::default(), BTreeSet::new());
            for _ in 0..30 {
                let first = next(60);
                let end = first + 1 + next(8);
                runs.insert(first, end);
                plain.extend(first..end);
                assert_eq!(runs.count, plain.len() as u64);
                assert!(runs.runs.iter().all(|(start, stop)| start < stop));
            }
        }
    }
}
