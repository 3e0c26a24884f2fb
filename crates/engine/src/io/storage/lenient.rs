//! A storage wrapper that reads around parts that a device cannot read.

use super::request::UnreadablePart;
use super::request::{Purpose, ReadRequest};
use super::traits::{ReadableFile, Storage, UpdatableFile, WritableFile, check_range};
use super::wrapper::{ReaderWrapper, StorageWrapper, UpdaterWrapper};
use crate::error::{Error, Result, is_device_error, is_no_file};
use crate::io::reads::read_ahead::{PendingReads, RangeRequest, ReadBuffer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Least part that is given up: a sector of most devices, and a page of most page caches.
const SECTOR_BYTES: u64 = 4096;

/// Most sectors that are given up. Each may cost the device many seconds, and a device that fails as a whole has as
/// many as it has sectors.
const SECTORS_MAX: usize = 2048;

/// Bytes that are read at once in search of what cannot be read.
const SEARCHED_BYTES: usize = 1 << 20;

/// A storage for verification and repair: what the device cannot read (EIO) is read as zeros, sector by sector, and
/// listed by [`Storage::unreadable`]. All else of a file is read as it is. Checksums tell the zeros from data. What is
/// no file (a folder, a pipe, a link to itself) is listed, too, and is like a missing one.
///
/// If too much cannot be read, the errors of the device are returned from then on.
#[derive(Debug)]
pub struct LenientStorage {
    inner: Arc<dyn Storage>,
    given_up: Arc<GivenUp>,
}

/// What was given up.
#[derive(Debug, Default)]
struct GivenUp(Mutex<GivenUpParts>);

#[derive(Debug, Default)]
struct GivenUpParts {
    /// The sectors of each file that are not tried again.
    sectors: BTreeMap<PathBuf, BTreeSet<u64>>,
    count: usize,
    parts: Vec<UnreadablePart>,
}

impl LenientStorage {
    /// A storage that reads what can be read of `inner`. Object stores have no sectors, and stay as they are.
    #[must_use]
    pub fn around(inner: &Arc<dyn Storage>) -> Arc<dyn Storage> {
        match inner.is_object_store() {
            true => Arc::clone(inner),
            false => Arc::new(Self::over(inner)),
        }
    }

    /// As [`Self::around`], for files that are open already.
    pub(crate) fn over(inner: &Arc<dyn Storage>) -> Self {
        Self { inner: Arc::clone(inner), given_up: Arc::default() }
    }

    /// An open file of the inner storage, as this one reads it.
    pub(crate) fn file(&self, inner: Arc<dyn ReadableFile>) -> Arc<dyn ReadableFile> {
        Arc::new(LenientFile { inner, updates: (), given_up: Arc::clone(&self.given_up) })
    }

    /// The first part of an open file of the inner storage that the device cannot read.
    ///
    /// # Errors
    /// Other errors of the storage.
    pub(crate) fn first_unreadable(&self, inner: Arc<dyn ReadableFile>) -> Result<Option<UnreadablePart>> {
        let file = self.file(inner);
        let mut buffer = vec![0; SEARCHED_BYTES];
        for offset in (0..file.len()).step_by(SEARCHED_BYTES) {
            let bytes = (file.len() - offset).min(SEARCHED_BYTES as u64) as usize;
            file.read(ReadRequest { offset, buffer: &mut buffer[..bytes], purpose: Purpose::Walk })?;
            if let Some(part) = self.given_up.lock().parts.first() {
                return Ok(Some(part.clone()));
            }
        }
        Ok(None)
    }

    /// A file of this name is another one from now on.
    fn forget(&self, name: &str) {
        self.given_up.lock().sectors.remove(&self.inner.path(name));
    }
}

impl GivenUp {
    fn lock(&self) -> MutexGuard<'_, GivenUpParts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a part of a file touches a sector that was given up.
    fn touches(&self, path: &Path, offset: u64, bytes: usize) -> bool {
        let parts = self.lock();
        parts.sectors.get(path).is_some_and(|sectors| sectors.range(sectors_of(offset, bytes)).next().is_some())
    }

    /// Gives a sector up.
    ///
    /// # Errors
    /// The error of the device, if too many were given up.
    fn give_up(&self, file: &dyn ReadableFile, sector: u64, error: Error) -> Result<()> {
        let Some(source) = error.io_error() else { return Err(error) };
        let mut parts = self.lock();
        if parts.count >= SECTORS_MAX {
            return Err(error);
        }
        if !parts.sectors.entry(file.path().to_path_buf()).or_default().insert(sector) {
            return Ok(());
        }
        parts.count += 1;
        let offset = sector * SECTOR_BYTES;
        let bytes = SECTOR_BYTES.min(file.len().saturating_sub(offset));
        let part = UnreadablePart {
            path: file.path().to_path_buf(),
            offset,
            bytes,
            cause: source.to_string(),
            is_whole: false,
        };
        let follows = |last: &&mut UnreadablePart| {
            (&last.path, last.offset + last.bytes, &last.cause) == (&part.path, part.offset, &part.cause)
        };
        match parts.parts.last_mut().filter(follows) {
            Some(last) => last.bytes += part.bytes,
            None => parts.parts.push(part),
        }
        Ok(())
    }

    /// What was opened; what is no file is listed, and missing.
    fn opened<T>(&self, opened: Result<T>) -> Result<T> {
        match opened {
            Err(error) if is_no_file(&error) => {
                let (action, path) = (error.action(), error.place());
                let cause = error.into_io_error()?.to_string();
                let part = UnreadablePart { path: path.clone(), offset: 0, bytes: 0, cause, is_whole: true };
                let mut parts = self.lock();
                if !parts.parts.contains(&part) {
                    parts.parts.push(part);
                }
                Err(Error::io(action, path, ErrorKind::NotFound.into()))
            }
            opened => opened,
        }
    }

    /// Reads a part of a file, whose sectors that cannot be read are zeros.
    fn read(&self, file: &dyn ReadableFile, request: ReadRequest<'_>) -> Result<()> {
        check_range(file.path(), file.len(), &request)?;
        let ReadRequest { offset, buffer, purpose } = request;
        let known = self.touches(file.path(), offset, buffer.len());
        let error = match known {
            true => None,
            false => match file.read(ReadRequest { offset, buffer, purpose }) {
                Err(error) if is_device_error(&error) => Some(error),
                outcome => return outcome,
            },
        };
        let sectors = sectors_of(offset, buffer.len());
        let (first, last) = (*sectors.start(), *sectors.end());
        if first == last {
            buffer.fill(0);
            return error.map_or(Ok(()), |error| self.give_up(file, first, error));
        }
        let middle = (first + (last - first).div_ceil(2)) * SECTOR_BYTES;
        let (before, behind) = buffer.split_at_mut((middle - offset) as usize);
        self.read(file, ReadRequest { offset, buffer: before, purpose })?;
        self.read(file, ReadRequest { offset: middle, buffer: behind, purpose })
    }

    fn read_many(&self, file: &dyn ReadableFile, mut requests: Vec<ReadRequest<'_>>) -> Result<()> {
        if !requests.iter().any(|request| self.touches(file.path(), request.offset, request.buffer.len())) {
            let all = requests.iter_mut().map(|request| ReadRequest {
                offset: request.offset,
                buffer: &mut *request.buffer,
                purpose: request.purpose,
            });
            match file.read_many(all.collect()) {
                Err(error) if is_device_error(&error) => {}
                outcome => return outcome,
            }
        }
        requests.into_iter().try_for_each(|request| self.read(file, request))
    }
}

/// Whether an error of a [`LenientStorage`] is about something that has the name of a file and is none.
pub(crate) fn is_of_no_file(storage: &dyn Storage, error: &Error) -> bool {
    error.io_error().is_some()
        && storage.unreadable().iter().any(|part| part.is_whole && Some(&*part.path) == error.path())
}

/// The sectors of a part of a file.
fn sectors_of(offset: u64, bytes: usize) -> std::ops::RangeInclusive<u64> {
    let last = offset + (bytes as u64).max(1) - 1;
    offset / SECTOR_BYTES..=last / SECTOR_BYTES
}

impl StorageWrapper for LenientStorage {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn unreadable(&self) -> Vec<UnreadablePart> {
        let mut parts = self.inner.unreadable();
        parts.extend_from_slice(&self.given_up.lock().parts);
        parts
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
        Ok(self.file(self.given_up.opened(self.inner.open(name))?))
    }

    fn open_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        let updates = self.given_up.opened(self.inner.open_update(name))?;
        let inner: Arc<dyn ReadableFile> = updates.clone();
        Ok(Arc::new(LenientFile { inner, updates, given_up: Arc::clone(&self.given_up) }))
    }

    fn create(&self, name: &str) -> Result<Box<dyn WritableFile>> {
        self.forget(name);
        self.inner.create(name)
    }

    fn create_update(&self, name: &str) -> Result<Arc<dyn UpdatableFile>> {
        self.forget(name);
        self.inner.create_update(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.forget(to);
        self.inner.rename(from, to)
    }
}

/// A file that is read around what the device cannot read, and the same one for updates in place, if it is open for
/// them.
#[derive(Debug)]
struct LenientFile<U> {
    inner: Arc<dyn ReadableFile>,
    updates: U,
    given_up: Arc<GivenUp>,
}

impl<U: Debug + Send + Sync> ReaderWrapper for LenientFile<U> {
    fn inner(&self) -> &dyn ReadableFile {
        &*self.inner
    }

    fn read(&self, request: ReadRequest<'_>) -> Result<()> {
        self.given_up.read(&*self.inner, request)
    }

    fn read_many(&self, requests: Vec<ReadRequest<'_>>) -> Result<()> {
        self.given_up.read_many(&*self.inner, requests)
    }

    fn start_reads(&self, ranges: &[RangeRequest]) -> Result<Box<dyn PendingReads>> {
        let is_known = |range: &RangeRequest| self.given_up.touches(self.inner.path(), range.offset, range.bytes);
        let started = match ranges.iter().any(is_known) {
            true => None,
            false => Some(self.inner.start_reads(ranges)),
        };
        let (file, given_up) = (Arc::clone(&self.inner), Arc::clone(&self.given_up));
        Ok(Box::new(LenientReads { started, ranges: ranges.to_vec(), file, given_up }))
    }
}

/// Reads in progress, which are repeated around what cannot be read.
#[derive(Debug)]
struct LenientReads {
    /// None if they touch sectors that were given up.
    started: Option<Result<Box<dyn PendingReads>>>,
    ranges: Vec<RangeRequest>,
    file: Arc<dyn ReadableFile>,
    given_up: Arc<GivenUp>,
}

impl PendingReads for LenientReads {
    fn wait(self: Box<Self>) -> Result<Vec<ReadBuffer>> {
        match self.started.map(|started| started.and_then(PendingReads::wait)) {
            None => {}
            Some(Err(error)) if is_device_error(&error) => {}
            Some(outcome) => return outcome,
        }
        let read = |range: &RangeRequest| {
            let mut buffer = vec![0; range.bytes];
            let request = ReadRequest { offset: range.offset, buffer: &mut buffer, purpose: range.purpose };
            self.given_up.read(&*self.file, request).map(|()| ReadBuffer::from(buffer))
        };
        self.ranges.iter().map(read).collect()
    }
}

impl UpdaterWrapper for LenientFile<Arc<dyn UpdatableFile>> {
    fn updatable(&self) -> &dyn UpdatableFile {
        &*self.updates
    }

    fn write_at(&self, offset: u64, bytes: &[u8], purpose: Purpose) -> Result<()> {
        self.updates.write_at(offset, bytes, purpose)?;
        if let Some(sectors) = self.given_up.lock().sectors.get_mut(self.inner.path()) {
            // A device gives such sectors others when they are written.
            let written = sectors_of(offset, bytes.len());
            sectors.retain(|sector| !written.contains(sector));
        }
        Ok(())
    }
}
