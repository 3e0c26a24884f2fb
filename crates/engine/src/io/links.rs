//! Symbolic and hard links: checks that one file under several names is not taken for several files.

use crate::error::{Error, Result};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Limit for consecutive links, as in operating systems.
const LINKS_MAX: usize = 40;

/// Follows the links that a path names; links in its parent folders stay.
///
/// # Errors
/// [`Error::InvalidArgument`] for a cycle of links.
pub(super) fn follow(path: &Path) -> Result<PathBuf> {
    let mut found = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        // A path that is not a link or cannot be read is reported when it is opened.
        let Ok(target) = fs::read_link(&found) else {
            return Ok(found);
        };
        found = found.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(Error::InvalidArgument(format!(
        "{} is a symbolic link that leads to no file; give another path",
        path.display()
    )))
}

/// Rejects the file at `place` (`path` in messages) if it has other names; a missing file has none.
///
/// # Errors
/// [`Error::OtherNames`].
pub(super) fn check_only_name(path: &Path, place: &Path) -> Result<()> {
    let refused = |detail: String| Error::OtherNames { path: path.to_path_buf(), detail };
    let metadata = match fs::symlink_metadata(place) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("look at", path, error)),
    };
    if metadata.is_symlink() {
        let target = fs::read_link(place).unwrap_or_default();
        return Err(refused(format!("it is a symbolic link to {}; open that file", target.display())));
    }
    if metadata.is_dir() {
        // The links of a directory are its subdirectories; opening it reports what it is.
        return Ok(());
    }
    match hard_links(&metadata) {
        0 | 1 => Ok(()),
        names => Err(refused(format!(
            "{names} hard links lead to it, perhaps from a store or its copy; copy the file, and open the copy"
        ))),
    }
}

#[cfg(unix)]
fn hard_links(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

/// On other systems the standard library does not provide the number.
#[cfg(not(unix))]
fn hard_links(_metadata: &fs::Metadata) -> u64 {
    1
}
