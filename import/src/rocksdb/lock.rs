//! The lock of a RocksDB folder, taken as its library takes it, so that no program writes while the folder is read.

use crate::failure::{Failure, Result};
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::path::Path;

/// A lock that is held as long as this lives. A folder without the file of the lock, as a copy may be, has none.
#[derive(Debug)]
pub(super) struct FolderLock {
    _file: Option<File>,
}

impl FolderLock {
    /// Takes the lock.
    ///
    /// # Errors
    /// [`Failure::Refused`] if another process has it.
    pub(super) fn take(folder: &Path) -> Result<Self> {
        let path = folder.join("LOCK");
        // On a read-only medium, the lock of readers still shows one of a writer.
        let opened =
            OpenOptions::new().write(true).open(&path).map(|file| (file, FlockOperation::NonBlockingLockExclusive));
        let opened = opened.or_else(|_| File::open(&path).map(|file| (file, FlockOperation::NonBlockingLockShared)));
        let Ok((file, operation)) = opened else { return Ok(Self { _file: None }) };
        match fcntl_lock(&file, operation) {
            Err(Errno::AGAIN | Errno::ACCESS) => Err(Failure::refused(
                format!("{} is in use: another process has its lock", folder.display()),
                "end that process, or import a checkpoint that it makes",
            )),
            // Where there are no locks, no other process has one.
            _ => Ok(Self { _file: Some(file) }),
        }
    }
}
