//! The place of an index file while a new one is made: the index that is replaced is held, so that of two writers that
//! began with the same one, only one replaces it.

use crate::error::{ParquetIndexError, Result};
use ogive::Storage;
use ogive::io::{FileLock, ListedFile};
use std::path::PathBuf;
use std::sync::Arc;

/// Where an index is written.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) storage: Arc<dyn Storage>,
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
    /// [`ogive::Error::Locked`] if another writer is at work; storage errors.
    pub(crate) fn claim(storage: Arc<dyn Storage>, name: &str) -> Result<Self> {
        let mut replaced = None;
        if let Some(found) = storage.find_file(name)? {
            let lock = if storage.is_object_store() { None } else { Some(storage.lock(name)?) };
            replaced = Some(Replaced { found, lock });
        }
        let place = Self { storage, name: name.to_owned(), replaced };
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
        Err(ParquetIndexError::Replaced { path: self.path() })
    }
}
