//! Files in memory, and a storage that counts requests and rounds.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use ogive::io::{PendingReads, RangeRequest, ReadBuffer, ReadRequest, ReadableFile, ReaderWrapper, StorageWrapper};
use ogive::table::{TableOptions, TableWriteOptions};
use ogive::{MemoryStorage, Profile, Storage};
use ogive_parquet::{BuildOptions, BuildReport, FolderMap, ParquetIndex};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    requests: AtomicU64,
    rounds: AtomicU64,
    bytes: AtomicU64,
    /// Reads that were started and not waited for: those that start meanwhile belong to their round.
    under_way: AtomicU64,
}

impl Counts {
    fn add(&self, sizes: impl Iterator<Item = usize>) {
        for bytes in sizes {
            self.requests.fetch_add(1, Ordering::Relaxed);
            self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }
}

/// A storage that counts: a round is a read, or reads that are under way at the same time.
#[derive(Debug)]
pub(crate) struct Counting {
    inner: Arc<MemoryStorage>,
    counts: Arc<Counts>,
}

impl StorageWrapper for Counting {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> ogive::Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(CountingFile { inner: self.inner.open(name)?, counts: self.counts.clone() }))
    }
}

#[derive(Debug)]
struct CountingFile {
    inner: Arc<dyn ReadableFile>,
    counts: Arc<Counts>,
}

#[derive(Debug)]
struct CountedReads(Box<dyn PendingReads>, Arc<Counts>);

impl PendingReads for CountedReads {
    fn wait(self: Box<Self>) -> ogive::Result<Vec<ReadBuffer>> {
        self.1.under_way.fetch_sub(1, Ordering::Relaxed);
        self.0.wait()
    }
}

impl ReaderWrapper for CountingFile {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> ogive::Result<()> {
        self.counts.rounds.fetch_add(1, Ordering::Relaxed);
        self.counts.add(std::iter::once(request.buffer.len()));
        self.inner.read(request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> ogive::Result<()> {
        self.counts.rounds.fetch_add(1, Ordering::Relaxed);
        self.counts.add(requests.iter().map(|request| request.buffer.len()));
        self.inner.read_many(requests)
    }

    fn start_reads(&self, ranges: &[RangeRequest]) -> ogive::Result<Box<dyn PendingReads>> {
        if self.counts.under_way.fetch_add(1, Ordering::Relaxed) == 0 {
            self.counts.rounds.fetch_add(1, Ordering::Relaxed);
        }
        self.counts.add(ranges.iter().map(|range| range.bytes));
        Ok(Box::new(CountedReads(self.inner.start_reads(ranges)?, self.counts.clone())))
    }
}

/// Files in memory, whose reads are counted.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) memory: Arc<MemoryStorage>,
    storage: Arc<Counting>,
}

impl Shelf {
    pub(crate) fn new() -> Self {
        let memory = Arc::new(MemoryStorage::new());
        let storage = Arc::new(Counting { inner: memory.clone(), counts: Arc::default() });
        Self { memory, storage }
    }

    pub(crate) fn storage(&self) -> Arc<dyn Storage> {
        self.storage.clone()
    }

    pub(crate) fn folder(&self) -> Arc<FolderMap> {
        Arc::new(FolderMap::flat(self.storage()))
    }

    pub(crate) fn write(&self, name: &str, batch: &RecordBatch, properties: WriterProperties) {
        self.put(name, parquet_bytes(batch, properties));
    }

    pub(crate) fn put(&self, name: &str, bytes: Vec<u8>) {
        _ = self.memory.remove(name);
        self.memory.put(name, bytes).unwrap();
    }

    pub(crate) fn build(&self, root: &str, key: &[&str], name: &str) -> BuildReport {
        let table = TableWriteOptions::default().profile(Profile::named("s3").unwrap()).replace(true);
        let options = BuildOptions::new(root, key).table(table);
        ParquetIndex::build(self.storage(), name, self.folder(), options).unwrap()
    }

    pub(crate) fn open(&self, name: &str) -> ParquetIndex {
        self.open_for(name, "s3")
    }

    /// Opens an index as if it lay on a storage of a named profile, which tells what is read along.
    pub(crate) fn open_for(&self, name: &str, profile: &str) -> ParquetIndex {
        let options = TableOptions::default().profile(Profile::named(profile).unwrap());
        ParquetIndex::open(self.storage(), name, self.folder(), &options).unwrap()
    }

    pub(crate) fn reset(&self) {
        for counter in [&self.storage.counts.requests, &self.storage.counts.rounds, &self.storage.counts.bytes] {
            counter.store(0, Ordering::Relaxed);
        }
    }

    pub(crate) fn requests(&self) -> u64 {
        self.storage.counts.requests.load(Ordering::Relaxed)
    }

    pub(crate) fn rounds(&self) -> u64 {
        self.storage.counts.rounds.load(Ordering::Relaxed)
    }
}

/// A Parquet file of a batch.
pub(crate) fn parquet_bytes(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

pub(crate) fn u64s(batch: &RecordBatch, name: &str) -> Vec<u64> {
    batch.column_by_name(name).unwrap().as_primitive::<UInt64Type>().values().to_vec()
}

pub(crate) fn strings(batch: &RecordBatch, name: &str) -> Vec<String> {
    let column = batch.column_by_name(name).unwrap();
    column.as_string::<i32>().iter().map(|text| text.unwrap().to_owned()).collect()
}
