//! Checkpoints: consistent copies of an open store.
//!
//! Tables and finished value files are immutable, so a checkpoint consists of hard links to them and a manifest of its
//! own. Memtables are flushed first, so no log is copied.

use super::closed_image::{ClosedImage, in_new_folder};
use crate::error::Result;
use crate::io::{Place, Storage};
use crate::lsm::handles::db::Db;
use crate::lsm::state::core::Core;
use crate::lsm::state::file_numbers::FileNumberSource;
use crate::lsm::state::table_file::TableFile;
use crate::lsm::state::value_files::ValueFiles;
use crate::lsm::state::version::ManifestState;
use std::sync::Arc;

/// The state of a store, with its files pinned: they are not removed while this exists.
#[derive(Debug)]
pub(crate) struct PinnedFiles {
    pub(crate) state: ManifestState,
    pub(crate) storage: Arc<dyn Storage>,
    _tables: Vec<Arc<TableFile>>,
    _values: Arc<ValueFiles>,
}

impl Core {
    /// Pins all files that the manifest names.
    pub(in crate::lsm) fn pin_files(&self) -> PinnedFiles {
        let shared = self.shared.lock();
        PinnedFiles {
            state: shared.state.clone(),
            storage: Arc::clone(&self.storage),
            _tables: shared.tables.values().cloned().collect(),
            _values: Arc::clone(&shared.values),
        }
    }
}

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
    /// [`Error::Io`](crate::Error::Io) of kind `AlreadyExists` if the folder contains a store;
    /// [`Error::NotAStore`](crate::Error::NotAStore) if it contains other files;
    /// [`Error::StoreReadOnly`](crate::Error::StoreReadOnly); errors of the storage. After an error, the partial copy
    /// is removed.
    pub fn checkpoint(&self, place: impl Into<Place>) -> Result<()> {
        in_new_folder(place.into(), |target| self.copy_into(target))
    }

    fn copy_into(&self, target: &Arc<dyn Storage>) -> Result<()> {
        self.flush()?;
        let pinned = self.core().pin_files();
        // No file of this store will have this number.
        let number = self.core().take_number()?;
        let image = ClosedImage::without_logs(&pinned.storage, pinned.state.clone(), number);
        image.copy_to(target, &mut |name, target| pinned.storage.export(name, target, name))
    }
}
