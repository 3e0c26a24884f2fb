//! Temporary folders.

use crate::error::{Error, Result};
use crate::io::{LocalStorage, random_u64};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A new folder among the temporary files of the system that only this user may read, removed with its contents when
/// dropped: for spill files of work whose output is in an object store, or in memory.
#[derive(Debug)]
pub struct ScratchFolder {
    path: PathBuf,
}

impl ScratchFolder {
    /// Creates the folder.
    ///
    /// # Errors
    /// [`Cause::Io`](crate::Cause::Io).
    pub fn create() -> Result<Self> {
        let name = format!("ogive-{}-{:016x}", std::process::id(), random_u64());
        let path = std::env::temp_dir().join(name);
        let mut folder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        folder.create(&path).map_err(|source| Error::io("create", &path, source))?;
        Ok(Self { path })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder as storage.
    #[must_use]
    pub fn storage(&self) -> Arc<LocalStorage> {
        Arc::new(LocalStorage::new(&self.path))
    }
}

impl Drop for ScratchFolder {
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
        let scratch = ScratchFolder::create().unwrap();
        let path = scratch.path().to_owned();
        std::fs::write(path.join("file"), "content").unwrap();
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
            assert_eq!(mode & 0o777, 0o700);
        }
        drop(scratch);
        assert!(!path.exists());
    }
}
