//! Store folders: recognizing the files of a store, and refusing to create a store among other files.

use super::newest_state::named_objects;
use crate::error::{Cause, Error, Result};
use crate::io::{LocalStorage, Storage};
use crate::lsm::core::wal;
use crate::lsm::objects::stub_name;
use crate::lsm::state::tables::table_file::STORE_PROPERTY;
use crate::lsm::state::version::{
    FileKind, LOCK_NAME, is_manifest_part, is_name_of_store, is_object_of_store, parse_file_name,
};
use crate::table::{Table, TableOptions};
use crate::vlog::ValueFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder that new file systems contain.
const LOST_AND_FOUND: &str = "lost+found";

fn has_manifest(names: &[String]) -> bool {
    names.iter().any(|name| matches!(parse_file_name(name), Some((_, FileKind::Manifest))))
}

/// Whether a storage has a store: its folder, or the objects behind its URL.
///
/// # Errors
/// Errors of the storage.
pub fn has_store(storage: &dyn Storage) -> Result<bool> {
    let names = storage.list()?;
    if !storage.is_object_store() {
        return Ok(has_manifest(&names));
    }
    // A listing may lag.
    Ok(names.iter().any(|name| is_manifest_part(name)) || storage.exists(&stub_name())?)
}

/// Whether a path is, or would be, a file of the store in its folder, so that writing to it would change the store.
/// This includes a store whose manifest is lost, since it can be repaired. Links are not followed.
///
/// # Errors
/// [`Cause::Io`] if the folder cannot be read.
pub fn is_store_file(path: &Path) -> Result<bool> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(false) };
    if !is_name_of_store(name) {
        return Ok(false);
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let names = LocalStorage::names(folder)?;
    Ok(has_manifest(&names) || {
        let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder));
        names.iter().any(|name| is_by_content(&storage, name))
    })
}

/// Whether a name in an object store is, or would be, an object of the store there, so that writing to it would change
/// that. This includes tables that the store has [adopted](crate::lsm::Keyspace::adopt).
///
/// # Errors
/// Errors of the storage.
pub fn is_store_object(storage: &Arc<dyn Storage>, name: &str) -> Result<bool> {
    let is_name = is_object_of_store(name);
    // A listing of many objects is not asked for without need.
    if !(is_name || storage.exists(name)?) || !has_store(&**storage)? {
        return Ok(false);
    }
    Ok(is_name || named_objects(storage)?.iter().any(|object| object == name))
}

/// Whether the contents of a file identify it as a store's.
fn is_by_content(storage: &Arc<dyn Storage>, name: &str) -> bool {
    let is_said = match parse_file_name(name) {
        Some((_, FileKind::Table)) => Table::open((Arc::clone(storage), name), &TableOptions::default())
            .map(|table| table.property(STORE_PROPERTY).is_some()),
        Some((number, FileKind::Log)) => wal::header(&**storage, number).map(|header| header.is_some()),
        Some((number, FileKind::Values)) => ValueFile::binding_of(&**storage, number).map(|binding| binding.is_some()),
        _ => Ok(false),
    };
    // A file of a newer version, or one too large to open, is the store's as well.
    matches!(is_said, Ok(true) | Err(Error { cause: Cause::Version { .. } | Cause::Memory { .. }, .. }))
}

/// Refuses a folder with files other than those of a store, or of an interrupted creation of one.
fn refuse_other_things(folder: &Path) -> Result<()> {
    let names = LocalStorage::names(folder)?;
    if has_manifest(&names) {
        return Ok(());
    }
    match names.iter().find(|name| !is_name_of_store(name) && *name != LOST_AND_FOUND) {
        None => Ok(()),
        Some(other) => Err(Error::not_a_store(
            folder,
            format!("it contains {other:?} and no store; create the store in a new or empty folder"),
        )),
    }
}

/// Removes the manifests of a store that is being taken back.
pub(in crate::lsm) fn remove_manifests(storage: &dyn Storage) -> Result<()> {
    let names = storage.list()?;
    let is_manifest = |name: &&String| matches!(parse_file_name(name), Some((_, FileKind::Manifest)));
    names.iter().filter(is_manifest).try_for_each(|name| storage.remove(name))
}

/// A folder in which a store is being created. If that fails, everything created is removed.
#[derive(Debug)]
pub(in crate::lsm) struct NewFolder {
    path: PathBuf,
    /// Folders created for it, outermost first.
    made: Vec<PathBuf>,
    /// The names that existed in it before.
    before: Vec<String>,
}

impl NewFolder {
    /// Creates the folder and its missing parents.
    ///
    /// # Errors
    /// [`Cause::NotAStore`] if it contains files other than a store's; [`Cause::Io`].
    pub(in crate::lsm) fn make(path: &Path) -> Result<Self> {
        let made = LocalStorage::missing_folders(path);
        let before = if made.is_empty() { LocalStorage::names(path)? } else { Vec::new() };
        let folder = Self { path: path.to_owned(), made, before };
        let refused = LocalStorage::create_folder(path).and_then(|()| refuse_other_things(path));
        if refused.is_err() {
            folder.remove();
        }
        refused.map(|()| folder)
    }

    /// Whether there was no store before.
    pub(in crate::lsm) fn had_no_store(&self) -> bool {
        !has_manifest(&self.before)
    }

    /// Removes what was created, unless there is a store.
    pub(in crate::lsm) fn remove(&self) {
        let storage = LocalStorage::new(&self.path);
        let names = LocalStorage::names(&self.path).unwrap_or_default();
        // If the lock is taken, another process is creating a store here.
        if has_manifest(&names) {
            return;
        }
        if let Ok(_lock) = storage.lock(LOCK_NAME) {
            for name in LocalStorage::names(&self.path).unwrap_or_default() {
                if is_name_of_store(&name) && !self.before.contains(&name) {
                    // The error that led here is more useful than a failure to clean up.
                    _ = storage.remove(&name);
                }
            }
        }
        LocalStorage::remove_empty_folders(&self.made);
    }
}
