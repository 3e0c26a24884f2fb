//! The place of an index file while a new one is made: the index that is replaced is held, so that of two writers that
//! began with the same one, only one replaces it.

use crate::error::{ParquetIndexError, Result};
use ogive::Storage;
use ogive::io::{FileLock, ListedFile, StorageWrapper, WritableFile};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// Where an index is written.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) storage: Arc<dyn Storage>,
    /// The same, for the new file.
    pub(crate) target: Arc<dyn Storage>,
    pub(crate) name: String,
    replaced: Option<Replaced>,
}

/// The file that is there already.
#[derive(Debug)]
struct Replaced {
    found: ListedFile,
    /// The lock of the file itself; none in an object store, where it is compared at the end.
    lock: Option<Box<dyn FileLock>>,
}

impl Place {
    /// The place of a file that may be there already, which other writers leave as it is from now on.
    ///
    /// # Errors
    /// [`ogive::Cause::Locked`] if another writer is at work; storage errors.
    pub(crate) fn claim(storage: Arc<dyn Storage>, name: &str) -> Result<Self> {
        let mut replaced = None;
        if let Some(found) = storage.find_file(name)? {
            let lock = if storage.is_object_store() { None } else { Some(storage.lock(name)?) };
            replaced = Some(Replaced { found, lock });
        }
        let found = replaced.as_ref().map(|replaced| replaced.found.clone());
        let target: Arc<dyn Storage> = match storage.is_object_store() {
            true => Arc::new(PlaceStorage { inner: Arc::clone(&storage), found }),
            false => Arc::clone(&storage),
        };
        let place = Self { storage, target, name: name.to_owned(), replaced };
        // Another writer may have ended between the two looks.
        place.check()?;
        Ok(place)
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> PathBuf {
        self.storage.path(&self.name)
    }

    /// Checks, before the new file takes the name, that the file which it replaces is still the one that was held.
    ///
    /// # Errors
    /// [`ParquetIndexError::Replaced`]; storage errors.
    pub(crate) fn check(&self) -> Result<()> {
        let Some(Replaced { found, lock }) = &self.replaced else { return Ok(()) };
        let is_in_place = lock.as_ref().is_none_or(|lock| lock.is_in_place());
        if is_in_place && self.storage.find_file(&self.name)?.as_ref() == Some(found) {
            return Ok(());
        }
        Err(self.was_replaced())
    }

    /// The outcome of the last step of a writer, by which the new file takes the name.
    ///
    /// # Errors
    /// [`ParquetIndexError::Replaced`] in an object store; that of the writer.
    pub(crate) fn finished<T>(&self, outcome: ogive::Result<T>) -> Result<T> {
        match outcome {
            Err(error)
                if self.replaced.is_some()
                    && error.cause == ogive::Cause::Io(ErrorKind::AlreadyExists)
                    && error.path() == Some(&*self.path()) =>
            {
                Err(self.was_replaced())
            }
            outcome => Ok(outcome?),
        }
    }

    fn was_replaced(&self) -> ParquetIndexError {
        ParquetIndexError::Replaced { path: self.path() }
    }
}

/// The storage of an index in an object store: the new one takes the place of the one that was found, or of none.
#[derive(Debug)]
struct PlaceStorage {
    inner: Arc<dyn Storage>,
    found: Option<ListedFile>,
}

impl StorageWrapper for PlaceStorage {
    fn inner(&self) -> &dyn Storage {
        &*self.inner
    }

    fn create_replacing(&self, name: &str) -> Result<Box<dyn WritableFile>, ogive::Error> {
        match &self.found {
            Some(found) if found.name == name => self.inner.create_in_place_of(found),
            _ => self.inner.create(name),
        }
    }
}
