//! A storage meter: counts requests, bytes and blocks between the engine and a storage.

use super::storage::{Purpose, ReadRequest, ReadableFile, Storage, UpdatableFile, WritableFile};
use super::wrapper::{ReaderWrapper, StorageWrapper, UpdaterWrapper, WriterWrapper};
use crate::error::{Error, Result};
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
    /// The writes to [`UpdatableFile`]s, by purpose.
    pub writes_by_purpose: BTreeMap<Purpose, UpdateCounts>,
}

/// A storage that forwards to another and counts requests, bytes and distinct blocks, in total and by purpose. Clones
/// share the counts.
#[derive(Clone, Debug)]
pub struct Meter {
    inner: Arc<dyn Storage>,
    tally: Arc<Tally>,
}

impl Meter {
    /// Creates a meter over `inner` with blocks of 4 KiB.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        Self::build(inner, DEFAULT_BLOCK_BYTES)
    }

    /// Creates a meter with another block size.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `block_bytes` is zero.
    pub fn with_block_bytes(inner: Arc<dyn Storage>, block_bytes: u64) -> Result<Self> {
        if block_bytes == 0 {
            return Err(Error::InvalidArgument("a meter cannot count blocks of 0 bytes; give a size above 0".into()));
        }
        Ok(Self::build(inner, block_bytes))
    }

    fn build(inner: Arc<dyn Storage>, block_bytes: u64) -> Self {
        Self { inner, tally: Arc::new(Tally { block_bytes, counts: Mutex::default() }) }
    }

    /// The counts since the start or the last reset.
    pub fn snapshot(&self) -> MeterSnapshot {
        self.tally.counts().snapshot()
    }

    /// Resets all counts to zero and returns them, atomically.
    pub fn reset(&self) -> MeterSnapshot {
        std::mem::take(&mut *self.tally.counts()).snapshot()
    }
}

impl StorageWrapper for Meter {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(MeteredReader { inner: self.inner.open(name)?, tally: Arc::clone(&self.tally) }))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(MeteredWriter { inner: self.inner.create(name)?, tally: Arc::clone(&self.tally) }))
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Ok(Arc::new(MeteredFile { inner: self.inner.open_update(name)?, tally: Arc::clone(&self.tally) }))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Ok(Arc::new(MeteredFile { inner: self.inner.create_update(name)?, tally: Arc::clone(&self.tally) }))
    }

    fn sync_directory(&self) -> Result<()> {
        self.inner.sync_directory()?;
        self.tally.counts().writes.directory_syncs += 1;
        Ok(())
    }
}

#[derive(Debug)]
struct Tally {
    block_bytes: u64,
    counts: Mutex<Counts>,
}

impl Tally {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads, and counts the read once it has succeeded.
    fn read(&self, file: &dyn ReadableFile, request: ReadRequest<'_>) -> Result<()> {
        let read = describe(&request);
        file.read(request)?;
        self.add(file.path(), &[read]);
        Ok(())
    }

    /// As [`Self::read`], for several reads at once.
    fn read_many(&self, file: &dyn ReadableFile, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        let reads: Vec<_> = requests.iter().map(describe).collect();
        file.read_many(requests)?;
        self.add(file.path(), &reads);
        Ok(())
    }

    /// Counts completed reads: purpose, offset and length of each.
    fn add(&self, path: &Path, reads: &[(Purpose, u64, u64)]) {
        let mut counts = self.counts();
        for &(purpose, offset, length) in reads {
            counts.total.add(path, offset, length, self.block_bytes);
            counts.by_purpose.entry(purpose).or_default().add(path, offset, length, self.block_bytes);
        }
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
    fn add(&mut self, path: &Path, offset: u64, length: u64, block_bytes: u64) {
        self.requests += 1;
        self.bytes += length;
        if length == 0 {
            return;
        }
        let (first, end) = (offset / block_bytes, (offset + length).div_ceil(block_bytes));
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

#[derive(Debug)]
struct MeteredReader {
    inner: Arc<dyn ReadableFile>,
    tally: Arc<Tally>,
}

fn describe(request: &ReadRequest<'_>) -> (Purpose, u64, u64) {
    (request.purpose, request.offset, request.buffer.len() as u64)
}

impl ReaderWrapper for MeteredReader {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.tally.read(&*self.inner, request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.tally.read_many(&*self.inner, requests)
    }
}

#[derive(Debug)]
struct MeteredWriter {
    inner: Box<dyn WritableFile>,
    tally: Arc<Tally>,
}

impl MeteredWriter {
    fn count(&self, bytes: &[u8]) {
        let writes = &mut self.tally.counts().writes;
        writes.requests += 1;
        writes.bytes += bytes.len() as u64;
    }
}

impl WriterWrapper for MeteredWriter {
    fn inner(&self) -> &dyn WritableFile {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.inner
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.inner.append(bytes)?;
        self.count(bytes);
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.inner.write_at(offset, bytes)?;
        self.count(bytes);
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.inner.sync()?;
        self.tally.counts().writes.file_syncs += 1;
        Ok(())
    }
}

#[derive(Debug)]
struct MeteredFile {
    inner: Arc<dyn UpdatableFile>,
    tally: Arc<Tally>,
}

impl ReaderWrapper for MeteredFile {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.tally.read(&*self.inner, request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.tally.read_many(&*self.inner, requests)
    }
}

impl UpdaterWrapper for MeteredFile {
    fn updatable(&self) -> &dyn UpdatableFile {
        &*self.inner
    }

    fn write_at(&self, offset: u64, bytes: &[u8], purpose: Purpose) -> Result<()> {
        self.inner.write_at(offset, bytes, purpose)?;
        let (block_bytes, length) = (self.tally.block_bytes, bytes.len() as u64);
        let mut counts = self.tally.counts();
        counts.writes.requests += 1;
        counts.writes.bytes += length;
        counts.written_by_purpose.entry(purpose).or_default().add(self.path(), offset, length, block_bytes);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()?;
        self.tally.counts().writes.file_syncs += 1;
        Ok(())
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
