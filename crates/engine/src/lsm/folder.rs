//! Which folders are stores, which may become one, and which files in them are a store's.

use super::recover::LOCK_NAME;
use super::version::{FileKind, final_name, parse_file_name};
use crate::error::{Error, Result};
use crate::io::LocalStorage;
use std::path::Path;

/// What a new file system has in its topmost folder.
const LOST_AND_FOUND: &str = "lost+found";

/// Whether a name is one that a store gives to its files, finished or not.
fn is_name_of_store(name: &str) -> bool {
    name == LOCK_NAME || parse_file_name(final_name(name)).is_some()
}

fn has_manifest(names: &[String]) -> bool {
    names.iter().any(|name| matches!(parse_file_name(name), Some((_, FileKind::Manifest))))
}

/// Whether a path is, or would be, a file of the store that its folder holds: whoever writes there changes the store, or is taken for a part of it.
/// Links are not followed.
///
/// # Errors
/// [`Error::Io`] when the folder cannot be read.
pub fn is_store_file(path: &Path) -> Result<bool> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(false) };
    Ok(is_name_of_store(name) && has_manifest(&LocalStorage::names(path.parent().unwrap_or(Path::new("")))?))
}

/// Refuses to make a store among other things. An empty folder is fine, and so is one that holds a store, or what is left of the making of one.
pub(super) fn refuse_other_things(folder: &Path) -> Result<()> {
    let names = LocalStorage::names(folder)?;
    if has_manifest(&names) {
        return Ok(());
    }
    match names.iter().find(|name| !is_name_of_store(name) && *name != LOST_AND_FOUND) {
        None => Ok(()),
        Some(other) => Err(Error::NotAStore {
            path: folder.to_owned(),
            detail: format!("it holds {other:?}, and no store; make the store in a folder that is new or empty"),
        }),
    }
}
