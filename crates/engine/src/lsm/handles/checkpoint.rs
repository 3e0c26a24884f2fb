//! The methods of stores that copy them.

use super::db::Db;
use crate::error::Result;
use crate::io::{Place, Storage};
use crate::lsm::images::checkpoint::PinnedFiles;
use crate::lsm::images::closed_image::in_new_folder;
use std::sync::Arc;

impl Db {
    /// Pins all files that the manifest names.
    pub(crate) fn pin_files(&self) -> PinnedFiles {
        self.core().pin_files()
    }

    /// Creates a consistent copy of the store at a [place](Place): in a new or empty folder, or a storage without a
    /// store. It has everything written before the call. Tables and value files are hard-linked if the folder is on the
    /// same file system, which takes little time and space; otherwise they are copied. Reads and writes continue in the
    /// meantime. The copy is an independent store.
    ///
    /// ```no_run
    /// # use ogive::lsm::{Db, DbOptions};
    /// let db = Db::open("fruit", &DbOptions::default())?;
    /// db.checkpoint("fruit-of-today")?;
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Cause::Io`](crate::Cause::Io) of kind `AlreadyExists` if the folder contains a store;
    /// [`Cause::NotAStore`](crate::Cause::NotAStore) if it contains other files;
    /// [`Cause::ReadOnly`](crate::Cause::ReadOnly); errors of the storage. After an error, the partial copy
    /// is removed.
    pub fn checkpoint(&self, place: impl Into<Place>) -> Result<()> {
        in_new_folder(place.into(), |target| self.copy_into(target))
    }

    fn copy_into(&self, target: &Arc<dyn Storage>) -> Result<()> {
        self.core().checkpoint_in(target)
    }
}
