//! A storage wrapper that fails once it is asked to stop, even within a single call of the engine.

use super::request::ReadRequest;
use super::traits::{ListedFile, ReadableFile, Storage, WritableFile};
use super::wrapper::{ReaderWrapper, StorageWrapper, WriterWrapper};
use crate::error::{Error, Result};
use crate::io::reads::read_ahead::{PendingReads, RangeRequest};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that others set, and the check for it.
#[derive(Clone, Debug)]
struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) { Err(Error::interrupted()) } else { Ok(()) }
    }
}

/// A storage whose reads and writes fail with `Cause::Interrupted` once a flag is set. Work that builds a file on it
/// ends then, and leaves nothing under its name.
///
/// ```
/// use ogive::io::{MemoryStorage, StoppableStorage};
/// use ogive::{Cause, Error, TableWriteOptions, TableWriter};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// let stop = Arc::new(AtomicBool::new(false));
/// let storage = StoppableStorage::new(Arc::new(MemoryStorage::new()), stop.clone());
/// let mut writer = TableWriter::create((storage, "fruit"), TableWriteOptions::default())?;
/// writer.append(b"apple", b"red")?;
/// stop.store(true, Ordering::Relaxed); // such as on Ctrl-C
/// assert!(matches!(writer.finish(), Err(Error { cause: Cause::Interrupted, .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct StoppableStorage {
    inner: Arc<dyn Storage>,
    stop: StopFlag,
}

impl StoppableStorage {
    /// A storage that forwards to `inner` until `stop` is set.
    #[must_use]
    pub fn new(inner: Arc<dyn Storage>, stop: Arc<AtomicBool>) -> Arc<Self> {
        Arc::new(Self { inner, stop: StopFlag(stop) })
    }

    fn reader(&self, inner: Arc<dyn ReadableFile>) -> Arc<dyn ReadableFile> {
        Arc::new(StoppableReader { inner, stop: self.stop.clone() })
    }
}

impl StorageWrapper for StoppableStorage {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Ok(self.reader(self.inner.open(name)?))
    }

    fn open_listed(&self, listed: &ListedFile) -> Result<Arc<dyn ReadableFile>> {
        Ok(self.reader(self.inner.open_listed(listed)?))
    }

    fn open_known(&self, known: &ListedFile) -> Result<Arc<dyn ReadableFile>> {
        Ok(self.reader(self.inner.open_known(known)?))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(StoppableWriter { inner: self.inner.create(name)?, stop: self.stop.clone() }))
    }

    fn create_replacing(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        let inner = self.inner.create_replacing(name)?;
        Ok(Box::new(StoppableWriter { inner, stop: self.stop.clone() }))
    }

    fn create_in_place_of(&self, found: &ListedFile) -> Result<Box<dyn WritableFile>> {
        let inner = self.inner.create_in_place_of(found)?;
        Ok(Box::new(StoppableWriter { inner, stop: self.stop.clone() }))
    }
}

#[derive(Debug)]
struct StoppableReader {
    inner: Arc<dyn ReadableFile>,
    stop: StopFlag,
}

impl ReaderWrapper for StoppableReader {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.stop.check()?;
        self.inner.read(request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.stop.check()?;
        self.inner.read_many(requests)
    }

    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        self.stop.check()?;
        self.inner.start_reads(ranges)
    }
}

#[derive(Debug)]
struct StoppableWriter {
    inner: Box<dyn WritableFile>,
    stop: StopFlag,
}

impl WriterWrapper for StoppableWriter {
    fn inner(&self) -> &dyn WritableFile {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.inner
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.stop.check()?;
        self.inner.append(bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.stop.check()?;
        self.inner.write_at(offset, bytes)
    }
}
