//! The newest state of a store that another process may write to.

use crate::error::{Cause, Error, Result};
use crate::io::{Storage, Timer};
use crate::lsm::core::store::Core;
use crate::lsm::objects::{FolderPurpose, ObjectFolder};
use crate::lsm::state::version::{FileKind, ManifestState, parse_file_name, recover};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// Attempts to read a manifest before its writer replaces it.
const MANIFEST_TRIES_MAX: u32 = 64;

/// Seconds for which a reader tries again, however many attempts that takes: on a busy machine a writer may remove
/// files hundreds of times before a reader gets its turn. 5 s were too few for one of 25 backups beside three builds on
/// two cores.
const PATIENCE_S: f64 = 20.0;

/// Attempts to read a store before its writer removes what is read, numbered from 1: at least `tries_min`, and for some
/// seconds.
pub(crate) fn attempts(tries_min: u32) -> impl Iterator<Item = u32> {
    let timer = Timer::start();
    (1..).take_while(move |&attempt| attempt <= tries_min || timer.elapsed_s() < PATIENCE_S)
}

impl Core {
    /// Whether the path still leads to the folder that was opened, and the store in it is this one.
    pub(in crate::lsm) fn is_in_place(&self) -> Result<bool> {
        if self.files.identity.is_none() {
            return Ok(true);
        }
        if self.check_place().is_err() || self.files.storage.folder_identity() != self.files.identity {
            return Ok(false);
        }
        let owner = self.contents.lock().state.owner;
        Ok(identity(&self.files.storage)? == Some(owner))
    }
}

/// Whether a writer has caused an error by removing a file that was open before.
pub(crate) fn is_removal(error: &Error) -> bool {
    matches!(error.cause, Cause::Io(ErrorKind::NotFound) | Cause::FileReplaced | Cause::VersionGone)
}

/// The error of a reader that its writer has outrun.
pub(crate) fn changed(storage: &dyn Storage) -> Error {
    let detail = "its writer removes files faster than they can be read; try again, or while fewer writes arrive";
    let path: PathBuf = storage.path("x").parent().map(Into::into).unwrap_or_default();
    Error::io("read", path, std::io::Error::new(ErrorKind::ResourceBusy, detail))
}

pub(in crate::lsm) fn newest_manifest(names: &[String]) -> Option<&String> {
    let numbered = names.iter().filter_map(|name| match parse_file_name(name) {
        Some((number, FileKind::Manifest)) => Some((number, name)),
        _ => None,
    });
    numbered.max().map(|(_, name)| name)
}

/// A storage as a folder of whole files, as they are now.
fn reader_of(storage: &Arc<dyn Storage>) -> Result<Arc<dyn Storage>> {
    let objects = objects_of(storage)?;
    Ok(objects.map_or_else(|| Arc::clone(storage), |objects| objects as Arc<dyn Storage>))
}

/// The folder of objects of a store on an object store.
pub(in crate::lsm) fn objects_of(storage: &Arc<dyn Storage>) -> Result<Option<Arc<ObjectFolder>>> {
    if !storage.is_object_store() {
        return Ok(None);
    }
    ObjectFolder::open(Arc::clone(storage), FolderPurpose::Read(None), 0).map(|folder| Some(Arc::new(folder)))
}

/// The state that the newest manifest has now; `None` if a newer one replaced it meanwhile.
pub(in crate::lsm) fn newest(storage: &Arc<dyn Storage>) -> Result<Option<ManifestState>> {
    match recover(&*reader_of(storage)?) {
        Ok(found) => Ok(found.map(|found| found.state)),
        Err(error) if is_removal(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The identity of the store in a folder, whatever a writer does meanwhile; `None` if there is none.
fn identity(storage: &Arc<dyn Storage>) -> Result<Option<u64>> {
    for _ in 0..MANIFEST_TRIES_MAX {
        if let Some(state) = newest(storage)? {
            return Ok(Some(state.owner));
        }
        if newest_manifest(&storage.list()?).is_none() {
            return Ok(None);
        }
    }
    Err(changed(&**storage))
}

/// The objects of a store that do not have the names of its files.
pub(super) fn named_objects(storage: &Arc<dyn Storage>) -> Result<Vec<String>> {
    let Some(state) = newest(storage)? else { return Ok(Vec::new()) };
    let tables = state.tables().filter_map(|(_, _, table)| table.object.as_deref().map(str::to_owned));
    Ok(tables.chain(state.retired.keys().cloned()).collect())
}
