//! The objects of a store for those who follow it: each look at them is one listing, and reads what is new by it.

use super::folder::ObjectFolder;
use super::version::StoreVersion;
use crate::error::{Cause, Error, Result};
use crate::io::{ReadableFile, Storage};
use crate::lsm::state::log_header::log_name;
use crate::lsm::state::version::{ChainId, FileKind};
use std::io::ErrorKind;
use std::sync::Arc;

impl ObjectFolder {
    /// The storage of the objects as they are, where subscribers have theirs.
    pub(in crate::lsm) fn bucket(&self) -> &dyn Storage {
        &*self.inner
    }

    /// The same store as it is now, by one listing, for a follower that knows the manifest of this number, and has
    /// `seen` a version.
    ///
    /// # Errors
    /// [`Cause::Gone`] if the store was removed; errors of the storage.
    pub(in crate::lsm) fn followed(&self, manifest: u64, seen: Option<&StoreVersion>) -> Result<Self> {
        self.newest_beyond(seen.map_or(manifest, |seen| seen.manifest.max(manifest)))
    }

    /// Opens a log as it was listed; `None` if it was removed. One that is known to have ended at `end` is asked for
    /// the parts that a listing has left out.
    ///
    /// # Errors
    /// [`Cause::WrongAnswer`] if the listing does not show all of it; errors of the storage.
    pub(in crate::lsm) fn open_followed(&self, number: u64, end: Option<u64>) -> Result<Option<Arc<dyn ReadableFile>>> {
        let chain = ChainId { kind: FileKind::Log, number };
        loop {
            let file = match self.open(&log_name(number)) {
                Err(Error { cause: Cause::VersionGone | Cause::Io(ErrorKind::NotFound), .. }) => return Ok(None),
                opened => opened?,
            };
            if end.is_none_or(|end| file.len() >= end) {
                return Ok(Some(file));
            }
            let name = chain.part_name(self.listed(|listing| listing.parts(chain))?);
            match self.inner.find_file(&name)? {
                Some(found) => self.add_shown(found),
                None => return Err(self.outdated(&format!("it does not show all of {}", log_name(number)))),
            }
        }
    }

    /// Fails if a log has a part that the listing does not show: then nothing is known to be missing behind it.
    ///
    /// # Errors
    /// [`Cause::WrongAnswer`]; errors of the storage.
    pub(in crate::lsm) fn check_whole(&self, log: u64) -> Result<()> {
        let chain = ChainId { kind: FileKind::Log, number: log };
        let parts = self.listed(|listing| listing.parts(chain))?;
        if parts == 0 { Ok(()) } else { self.check_not_left_out(&[chain.part_name(parts)]) }
    }
}
