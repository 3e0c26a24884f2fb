//! A temporary folder for the duration of the command.

use crate::failure::{Failure, Result};
use ogive::io::LocalStorage;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A new folder among the system's temporary files, removed with its contents when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates the folder.
    pub(crate) fn create() -> Result<Self> {
        let name = format!("ogive-{}-{:016x}", std::process::id(), ogive::io::random_u64());
        let path = std::env::temp_dir().join(name);
        match std::fs::create_dir(&path) {
            Ok(()) => Ok(Self { path }),
            Err(source) => Err(Failure::File { action: "create", path: path.display().to_string(), source }),
        }
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder as storage.
    pub(crate) fn storage(&self) -> Arc<LocalStorage> {
        Arc::new(LocalStorage::new(&self.path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The system cleans up its temporary folder.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_folder_leaves_nothing_behind() {
        let scratch = Scratch::create().unwrap();
        let path = scratch.path().to_owned();
        std::fs::write(path.join("file"), "content").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }
}
