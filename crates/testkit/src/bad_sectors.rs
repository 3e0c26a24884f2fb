//! Bad sectors: parts of files that the device cannot read.

use ogive::io::{ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper, UpdatableFile, UpdaterWrapper};
use ogive::{Error, Result};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The error code by which systems report that a device could not read.
const EIO: i32 = 5;

/// A storage on a device with bad sectors: a read that touches one fails with EIO, as a whole, each time.
#[derive(Clone, Debug)]
pub struct BadSectors {
    inner: Arc<dyn Storage>,
    sectors: Arc<Mutex<BTreeMap<String, Vec<Range<u64>>>>>,
    failed_reads: Arc<AtomicU64>,
}

impl BadSectors {
    /// A device that is sound so far.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        Self { inner, sectors: Arc::default(), failed_reads: Arc::default() }
    }

    /// Makes a part of a file unreadable.
    #[must_use]
    pub fn with(self, name: &str, bytes: Range<u64>) -> Self {
        self.sectors.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default().push(bytes);
        self
    }

    /// Number of reads that failed.
    pub fn failed_reads(&self) -> u64 {
        self.failed_reads.load(Ordering::Relaxed)
    }

    fn file<U>(&self, name: &str, inner: Arc<dyn ReadableFile>, updates: U) -> BadFile<U> {
        let bad = self.sectors.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned().unwrap_or_default();
        BadFile { inner, updates, bad, failed_reads: Arc::clone(&self.failed_reads) }
    }
}

impl StorageWrapper for BadSectors {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Ok(Arc::new(self.file(name, self.inner.open(name)?, ())))
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        let updates = self.inner.open_update(name)?;
        let inner: Arc<dyn ReadableFile> = updates.clone();
        Ok(Arc::new(self.file(name, inner, updates)))
    }
}

/// A file with bad sectors, and the same one for updates in place, if it is open for them.
#[derive(Debug)]
struct BadFile<U> {
    inner: Arc<dyn ReadableFile>,
    updates: U,
    bad: Vec<Range<u64>>,
    failed_reads: Arc<AtomicU64>,
}

impl<U: Debug + Send + Sync> ReaderWrapper for BadFile<U> {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        let end = request.offset + request.buffer.len() as u64;
        if self.bad.iter().any(|sector| sector.start < end && request.offset < sector.end) {
            self.failed_reads.fetch_add(1, Ordering::Relaxed);
            return Err(Error::io("read", self.inner.path(), io::Error::from_raw_os_error(EIO)));
        }
        self.inner.read(request)
    }
}

impl UpdaterWrapper for BadFile<Arc<dyn UpdatableFile>> {
    fn updatable(&self) -> &dyn UpdatableFile {
        &*self.updates
    }
}
