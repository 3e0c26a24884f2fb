//! Observed storages: what the meter and the modelled clock share. An observer sees every operation on files
//! that has succeeded.

use super::request::{Purpose, ReadRequest};
use super::traits::{ListedFile, ReadableFile, Storage, UpdatableFile, WritableFile};
use super::wrapper::{ReaderWrapper, StorageWrapper, UpdaterWrapper, WriterWrapper};
use crate::error::Result;
use crate::io::reads::read_ahead::{PendingReads, RangeRequest, ReadBuffer};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A range of a file that was read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::io) struct ObservedRange {
    pub(in crate::io) purpose: Purpose,
    pub(in crate::io) offset: u64,
    pub(in crate::io) bytes: u64,
}

/// Learns of completed operations. Failed ones are not observed.
pub(in crate::io) trait StorageObserver: Debug + Send + Sync + 'static {
    /// Reads of one call, made at the same time.
    fn read(&self, path: &Path, ranges: &[ObservedRange]);

    /// A write to a file that is updated in place.
    fn update(&self, path: &Path, range: ObservedRange);

    /// A write to any other file.
    fn write(&self, _bytes: u64) {}

    /// A sync of a file.
    fn sync_file(&self) {}

    /// A sync of the directory.
    fn sync_directory(&self) {}
}

/// A storage that forwards to another and informs an observer. Clones share the observer.
#[derive(Debug)]
pub(in crate::io) struct ObservedStorage<O> {
    inner: Arc<dyn Storage>,
    observer: Arc<O>,
}

impl<O> Clone for ObservedStorage<O> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), observer: Arc::clone(&self.observer) }
    }
}

impl<O: StorageObserver> ObservedStorage<O> {
    pub(in crate::io) fn new(inner: Arc<dyn Storage>, observer: O) -> Self {
        Self { inner, observer: Arc::new(observer) }
    }

    pub(in crate::io) fn observer(&self) -> &O {
        &self.observer
    }

    fn file<F: ?Sized>(&self, inner: Arc<F>) -> Arc<ObservedFile<O, F>> {
        Arc::new(ObservedFile { inner, observer: Arc::clone(&self.observer) })
    }
}

impl<O: StorageObserver> StorageWrapper for ObservedStorage<O> {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Ok(self.file(self.inner.open(name)?))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(ObservedWriter { inner: self.inner.create(name)?, observer: Arc::clone(&self.observer) }))
    }

    fn create_replacing(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        let inner = self.inner.create_replacing(name)?;
        Ok(Box::new(ObservedWriter { inner, observer: Arc::clone(&self.observer) }))
    }

    fn create_in_place_of(&self, found: &ListedFile) -> Result<Box<dyn WritableFile>> {
        let inner = self.inner.create_in_place_of(found)?;
        Ok(Box::new(ObservedWriter { inner, observer: Arc::clone(&self.observer) }))
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Ok(self.file(self.inner.open_update(name)?))
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Ok(self.file(self.inner.create_update(name)?))
    }

    fn sync_directory(&self) -> Result<()> {
        self.inner.sync_directory()?;
        self.observer.sync_directory();
        Ok(())
    }
}

/// A file that is read, and updated where `F` is [`UpdatableFile`].
#[derive(Debug)]
struct ObservedFile<O, F: ?Sized> {
    inner: Arc<F>,
    observer: Arc<O>,
}

/// Both kinds of files that can be read.
trait AsReadable: Debug + Send + Sync {
    fn as_readable(&self) -> &dyn ReadableFile;
}

impl AsReadable for dyn ReadableFile {
    fn as_readable(&self) -> &dyn ReadableFile {
        self
    }
}

impl AsReadable for dyn UpdatableFile {
    fn as_readable(&self) -> &dyn ReadableFile {
        self
    }
}

fn range_of(request: &ReadRequest<'_>) -> ObservedRange {
    ObservedRange { purpose: request.purpose, offset: request.offset, bytes: request.buffer.len() as u64 }
}

impl<O: StorageObserver, F: AsReadable + ?Sized> ReaderWrapper for ObservedFile<O, F> {
    fn inner(&self) -> &dyn ReadableFile {
        self.inner.as_readable()
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        let (file, range) = (self.inner(), range_of(&request));
        file.read(request)?;
        self.observer.read(file.path(), &[range]);
        Ok(())
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        let (file, ranges): (_, Vec<_>) = (self.inner(), requests.iter().map(range_of).collect());
        file.read_many(requests)?;
        self.observer.read(file.path(), &ranges);
        Ok(())
    }

    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        let observe = |range: &RangeRequest| {
            let RangeRequest { offset, bytes, purpose } = *range;
            ObservedRange { purpose, offset, bytes: bytes as u64 }
        };
        Ok(Box::new(ObservedReads {
            inner: self.inner().start_reads(ranges)?,
            observer: Arc::clone(&self.observer),
            path: self.inner().path().to_owned(),
            ranges: ranges.iter().map(observe).collect(),
        }))
    }
}

impl<O: StorageObserver> UpdaterWrapper for ObservedFile<O, dyn UpdatableFile> {
    fn updatable(&self) -> &dyn UpdatableFile {
        &*self.inner
    }

    fn write_at(&self, offset: u64, bytes: &[u8], purpose: Purpose) -> Result<()> {
        self.inner.write_at(offset, bytes, purpose)?;
        self.observer.update(self.inner.path(), ObservedRange { purpose, offset, bytes: bytes.len() as u64 });
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()?;
        self.observer.sync_file();
        Ok(())
    }
}

/// Reads in progress, which the observer sees when they have ended.
#[derive(Debug)]
struct ObservedReads<O> {
    inner: Box<dyn PendingReads>,
    observer: Arc<O>,
    path: PathBuf,
    ranges: Vec<ObservedRange>,
}

impl<O: StorageObserver> PendingReads for ObservedReads<O> {
    fn wait(self: Box<Self>) -> Result<Vec<ReadBuffer>> {
        let filled = self.inner.wait()?;
        self.observer.read(&self.path, &self.ranges);
        Ok(filled)
    }
}

#[derive(Debug)]
struct ObservedWriter<O> {
    inner: Box<dyn WritableFile>,
    observer: Arc<O>,
}

impl<O: StorageObserver> WriterWrapper for ObservedWriter<O> {
    fn inner(&self) -> &dyn WritableFile {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn WritableFile {
        &mut *self.inner
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.inner.append(bytes)?;
        self.observer.write(bytes.len() as u64);
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.inner.write_at(offset, bytes)?;
        self.observer.write(bytes.len() as u64);
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.inner.sync()?;
        self.observer.sync_file();
        Ok(())
    }
}
