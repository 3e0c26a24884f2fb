//! Checkpoints: consistent copies of an open store.
//!
//! Tables and finished value files are immutable, so a checkpoint consists of hard links to them and a manifest of its
//! own. Memtables are flushed first, so no log is copied.

use super::core::Core;
use super::db::Db;
use super::file_numbers::FileNumberSource;
use super::folder::NewFolder;
use super::objects::ObjectFolder;
use super::recover::LOCK_NAME;
use super::table_file::TableFile;
use super::value_files::ValueFiles;
use super::version::{ClosedLengths, FileKind, Manifest, ManifestState, file_name, parse_file_name};
use crate::block::header::new_nonce;
use crate::error::{Error, Result};
use crate::io::{LocalStorage, Storage};
use std::io::ErrorKind;
use std::path::Path;
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
    pub(super) fn pin_files(&self) -> PinnedFiles {
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

    /// Creates a consistent copy of the store in a new or empty folder, with everything written before the call. Tables
    /// and value files are hard-linked if the folder is on the same file system, which takes little time and space;
    /// otherwise they are copied. Reads and writes continue in the meantime. The copy is an independent store.
    ///
    /// ```no_run
    /// # use ogive::lsm::{Db, DbOptions};
    /// let db = Db::open("fruit", &DbOptions::default())?;
    /// db.checkpoint("fruit-of-today")?;
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] of kind `AlreadyExists` if the folder contains a store; [`Error::NotAStore`] if it contains other
    /// files; [`Error::StoreReadOnly`]; errors of the storage. After an error, the partial copy is removed.
    pub fn checkpoint(&self, folder: impl AsRef<Path>) -> Result<()> {
        let new = NewFolder::make(folder.as_ref())?;
        let outcome = self.checkpoint_in(&(Arc::new(LocalStorage::new(folder.as_ref())) as Arc<dyn Storage>));
        if outcome.is_err() {
            new.remove();
        }
        outcome
    }

    /// As [`Self::checkpoint`], into any storage.
    ///
    /// # Errors
    /// As [`Self::checkpoint`].
    pub fn checkpoint_in(&self, target: &Arc<dyn Storage>) -> Result<()> {
        if target.is_object_store() {
            let folder = Arc::new(ObjectFolder::new(Arc::clone(target)));
            let outcome = self.checkpoint_into(&(Arc::clone(&folder) as Arc<dyn Storage>));
            if outcome.is_err() {
                // The first error is the useful one.
                _ = folder.collect(|_| false);
            }
            return outcome;
        }
        let lock = target.lock(LOCK_NAME)?;
        let outcome = self.checkpoint_into(target);
        drop(lock);
        outcome
    }

    /// As [`Self::checkpoint_in`], into a storage in which no other store is created meanwhile.
    fn checkpoint_into(&self, target: &Arc<dyn Storage>) -> Result<()> {
        if let Some(name) = target.list()?.iter().find(|name| parse_file_name(name).is_some()) {
            return Err(Error::io("copy a store over", target.path(name), ErrorKind::AlreadyExists.into()));
        }
        self.flush()?;
        let pinned = self.core().pin_files();
        // No file of this store will have this number.
        let number = self.core().take_number()?;
        let mut made = Vec::new();
        let outcome = copy(&pinned, number, target, &mut made);
        if outcome.is_err() {
            // The manifest is removed first: a store with missing files would be damaged. Failures to remove are
            // ignored in favour of the first error.
            made.iter().rev().for_each(|name| _ = target.remove(name));
        }
        outcome
    }
}

fn copy(pinned: &PinnedFiles, number: u64, target: &Arc<dyn Storage>, made: &mut Vec<String>) -> Result<()> {
    let tables = pinned.state.tables().map(|(_, _, table)| file_name(table.number, FileKind::Table));
    let values = pinned.state.value_files.keys().map(|&number| file_name(number, FileKind::Values));
    for name in tables.chain(values) {
        pinned.storage.export(&name, &**target, &name)?;
        made.push(name);
    }
    target.sync_directory()?;
    let mut state = pinned.state.clone();
    state.begin_opening(new_nonce());
    state.next_file = number + 1;
    state.reserved = number + 1;
    // Logs that the original store goes on with must not be expected here.
    state.drop_logs();
    let value_files = state.value_files.iter().map(|(&number, file)| (number, file.bytes)).collect();
    made.push(file_name(number, FileKind::NewManifest));
    made.push(file_name(number, FileKind::Manifest));
    Manifest::create(target, number, &state, Some(&ClosedLengths { logs: Vec::new(), value_files }))?;
    Ok(())
}
