//! Names of files: symbolic and hard links, which give one file several names, and names that are taken only if free.

use crate::error::{Error, Result};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Limit for consecutive links, as in operating systems.
const LINKS_MAX: usize = 40;

/// Follows the links that a path names; links in its parent folders stay.
///
/// # Errors
/// [`Cause::Input`](crate::Cause::Input) for a cycle of links.
pub(in crate::io) fn follow(path: &Path) -> Result<PathBuf> {
    let mut found = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        // A path that is not a link or cannot be read is reported when it is opened.
        let Ok(target) = fs::read_link(&found) else {
            return Ok(found);
        };
        found = found.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(Error::input(format!("{} is a symbolic link that leads to no file; give another path", path.display())))
}

/// Rejects the file at `place` (`path` in messages) if it has other names; a missing file has none.
///
/// # Errors
/// [`Cause::OtherNames`](crate::Cause::OtherNames).
pub(in crate::io) fn check_only_name(path: &Path, place: &Path) -> Result<()> {
    let refused = |detail: String| Error::other_names(path, detail);
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

/// Renames a file in one step, unless there is one of the new name; `None` where the system has no such step.
///
/// # Errors
/// Of kind `AlreadyExists` if the new name is taken; those of the system.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(in crate::io) fn rename_new(source: &Path, target: &Path) -> Option<io::Result<()>> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, source, CWD, target, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => None,
        renamed => Some(renamed.map_err(io::Error::from)),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(in crate::io) fn rename_new(_source: &Path, _target: &Path) -> Option<io::Result<()>> {
    None
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
