//! Recovery without a lost log: reopens a page file at its last checkpoint.
//!
//! Pages of the last checkpoint stay unchanged until the next one, and transactions write to free pages in the
//! meantime. So the page file alone is a complete state, unless power was lost during a checkpoint: then some pages do
//! not match the space map, and reading them reports damage. Only a log that was read completely may be abandoned.

use super::rescue::unreadable_log;
use crate::error::{Cause, Error, Result};
use crate::io::{LenientStorage, Storage, UpdatableFile};
use crate::log::{SegmentId, segment_numbers};
use crate::page::file::{PageFile, is_of_log, lock_name};
use crate::page::header::{Header, OtherSlot};
use crate::page::options::PageOptions;
use std::io::ErrorKind;
use std::sync::Arc;

/// Number of openings that the lost log may have recorded: their epochs are skipped, so that pages they wrote are never
/// taken for new ones.
const SKIPPED_EPOCHS: u32 = 64;

/// A page file whose log is lost or damaged. Nothing changes before [`Self::accept`].
#[derive(Debug)]
pub struct LostLog {
    /// The damage to the log.
    pub cause: Error,
    /// The last commit in the page file; later ones are lost.
    pub checkpoint: u64,
    /// Remaining segments of the log, which are unusable.
    pub segments: Vec<String>,
    /// The header to write.
    header: Header,
    file: Arc<dyn UpdatableFile>,
}

impl LostLog {
    /// Discards the log durably: all commits after the last checkpoint are lost. The file must not be open except
    /// through the handle returned with this value.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn accept(&self) -> Result<()> {
        self.header.clone().write(&*self.file)
    }
}

impl PageFile {
    /// If the log of a file is missing or damaged, so that [`Self::open`] fails: opens the file read-only at its last
    /// checkpoint, and describes the damage. Returns `None` if the file can be opened normally. The file cannot be
    /// opened for writing while the handle exists.
    ///
    /// # Errors
    /// As [`Self::open`], for damage to the page file itself.
    pub fn without_log(
        storage: &Arc<dyn Storage>,
        name: &str,
        options: &PageOptions,
    ) -> Result<Option<(Self, LostLog)>> {
        if !storage.exists(name)? {
            return Err(Error::io("open", storage.path(name), ErrorKind::NotFound.into()));
        }
        storage.check_only_name(name)?;
        let lock = storage.lock(&lock_name(name))?;
        let storage = &LenientStorage::around(storage);
        let file = storage.open_update(name)?;
        let (header, other_slot) = Header::read(&*file)?;
        let one_slot = other_slot == OtherSlot::Invalid;
        let opened = Self::read_log(storage, name, options, &header, one_slot).map(|opened| opened.recovery);
        let cause = match opened {
            // To keep only the last checkpoint would lose commits of a log that is whole.
            Ok(recovery) => match unreadable_log(&**storage, name) {
                Some(error) => error,
                None => return recovery.check_length().map(|()| None),
            },
            Err(error @ Error { cause: Cause::Damaged, .. }) if one_slot || is_of_log(&error.place(), name) => error,
            Err(error) => return Err(error),
        };
        let numbers = segment_numbers(&**storage, name)?;
        let named = header.last_segment.number;
        let last = numbers.iter().copied().max().unwrap_or(0).max(named);
        let exhausted = || Error::input("the numbers of log segments are used up: copy the file");
        let (checkpoint, segments) =
            (header.sequence, numbers.iter().filter(|&&number| number >= header.first_segment));
        let segments = segments.map(|&number| crate::log::segment_name(name, number)).collect();
        let header = Header {
            epoch: header.epoch.wrapping_add(SKIPPED_EPOCHS),
            first_segment: last.checked_add(1).ok_or_else(exhausted)?.max(header.first_segment),
            last_segment: SegmentId::default(),
            ..header
        };
        let mut opened = Self::read_log(storage, name, options, &header, false)?;
        opened.is_assumed = true;
        let kept = Self { shared: opened.share(None, Some(lock), None) };
        Ok(Some((kept, LostLog { cause, checkpoint, segments, header, file })))
    }
}
