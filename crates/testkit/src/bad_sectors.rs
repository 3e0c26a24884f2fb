//! Bad sectors: parts of files that the device cannot read.

use ogive::io::{ReadRequest, ReadableFile, ReaderWrapper, Storage, StorageWrapper, UpdatableFile, UpdaterWrapper};
use ogive::{Error, Result};
use std::collections::BTreeMap;
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

    fn bad(&self, name: &str) -> Vec<Range<u64>> {
        self.sectors.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned().unwrap_or_default()
    }
}

impl StorageWrapper for BadSectors {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        let (inner, bad) = (self.inner.open(name)?, self.bad(name));
        Ok(Arc::new(BadFile { inner, bad, failed_reads: Arc::clone(&self.failed_reads) }))
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        let (inner, bad) = (self.inner.open_update(name)?, self.bad(name));
        Ok(Arc::new(BadUpdatedFile { inner, bad, failed_reads: Arc::clone(&self.failed_reads) }))
    }
}

fn check(
    file: &dyn ReadableFile,
    bad: &[Range<u64>],
    failed_reads: &AtomicU64,
    request: &ReadRequest<'_>,
) -> Result<()> {
    let end = request.offset + request.buffer.len() as u64;
    if bad.iter().any(|sector| sector.start < end && request.offset < sector.end) {
        failed_reads.fetch_add(1, Ordering::Relaxed);
        return Err(Error::io("read", file.path(), io::Error::from_raw_os_error(EIO)));
    }
    Ok(())
}

#[derive(Debug)]
struct BadFile {
    inner: Arc<dyn ReadableFile>,
    bad: Vec<Range<u64>>,
    failed_reads: Arc<AtomicU64>,
}

impl ReaderWrapper for BadFile {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        check(&*self.inner, &self.bad, &self.failed_reads, &request)?;
        self.inner.read(request)
    }
}

#[derive(Debug)]
struct BadUpdatedFile {
    inner: Arc<dyn UpdatableFile>,
    bad: Vec<Range<u64>>,
    failed_reads: Arc<AtomicU64>,
}

impl ReaderWrapper for BadUpdatedFile {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        check(&*self.inner, &self.bad, &self.failed_reads, &request)?;
        self.inner.read(request)
    }
}

impl UpdaterWrapper for BadUpdatedFile {
    fn updatable(&self) -> &dyn UpdatableFile {
        &*self.inner
    }
}
