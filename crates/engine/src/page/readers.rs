//! Registration of readers in other processes: each holds a locked file while it reads.

use crate::error::{Cause, Error, Result};
use crate::io::{FileLock, Storage, random_u64, remove_if_present};
use std::io::ErrorKind;
use std::sync::Arc;

/// Most retries of a reader whose file was removed by the writer.
const ATTEMPTS_MAX: u32 = 100;

/// A registered reader. The name of its file states the commit that it reads.
#[derive(Debug)]
pub(super) struct ReaderRegistration {
    storage: Arc<dyn Storage>,
    name: String,
    lock: Option<Box<dyn FileLock>>,
}

fn prefix(name: &str) -> String {
    format!("{name}.reader-")
}

impl ReaderRegistration {
    /// Registers a reader of `sequence`; 0 blocks all checkpoints. `None` if the medium accepts no files.
    pub(super) fn new(storage: &Arc<dyn Storage>, file: &str, sequence: u64) -> Result<Option<Self>> {
        for _ in 0..ATTEMPTS_MAX {
            let name = format!("{}{sequence}-{:016x}", prefix(file), random_u64());
            match storage.lock(&name) {
                // Between its creation and its lock the writer may have taken the file for a dead reader's and removed
                // it.
                Ok(lock) if storage.exists(&name)? => {
                    return Ok(Some(Self { storage: Arc::clone(storage), name, lock: Some(lock) }));
                }
                Ok(_) | Err(Error { cause: Cause::Locked { .. }, .. }) => {}
                Err(Error {
                    cause: Cause::Io(ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem), ..
                }) => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::locked(storage.path(file), false))
    }
}

impl Drop for ReaderRegistration {
    fn drop(&mut self) {
        // While it is still locked: afterwards the writer may remove it as well.
        let _ = self.storage.remove(&self.name);
        self.lock = None;
    }
}

/// The oldest commit that another process reads; removes files of dead readers.
pub(super) fn oldest(storage: &dyn Storage, name: &str) -> Result<Option<u64>> {
    let prefix = prefix(name);
    let mut oldest = None;
    for found in storage.list()?.iter().filter(|found| found.starts_with(&prefix)) {
        match storage.lock(found) {
            Ok(_lock) => remove_if_present(storage, found)?,
            Err(Error { cause: Cause::Locked { .. }, .. }) => {
                let digits = found[prefix.len()..].split('-').next().unwrap_or_default();
                let sequence = digits.parse().unwrap_or(0);
                oldest = Some(oldest.map_or(sequence, |other: u64| other.min(sequence)));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(oldest)
}
