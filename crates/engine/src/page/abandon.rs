//! Recovery without a lost log: reopens a page file at its last checkpoint.
//!
//! Pages of the last checkpoint stay unchanged until the next one, and transactions write to free pages in the
//! meantime. So the page file alone is a complete state, unless power was lost during a checkpoint: then some pages do
//! not match the space map, and reading them reports damage. Only a log that was read completely may be abandoned.

use super::file::{PageFile, lock_name, refuse_lone_slot};
use super::header::Header;
use super::options::PageOptions;
use crate::error::{Error, Result};
use crate::io::{Storage, UpdatableFile};
use crate::log::{SegmentId, segment_numbers};
use std::io::ErrorKind;
use std::sync::Arc;

/// Openings that the lost log may have known of: their epochs are passed over, so that what they wrote is never taken for what comes.
const SKIPPED_EPOCHS: u32 = 64;

/// A log that cannot be read, and what is left without it. Nothing is changed before [`Self::accept`].
#[derive(Debug)]
pub struct LostLog {
    /// What is wrong with it.
    pub cause: Error,
    /// The last commit that the page file has; later ones are lost.
    pub checkpoint: u64,
    /// Segments of the log that are there; they are of no use.
    pub segments: Vec<String>,
    /// What is to be the header.
    header: Header,
    file: Arc<dyn UpdatableFile>,
}

impl LostLog {
    /// Makes the file one that has no log, durably: all commits behind the last checkpoint are given up. The file must be held by nobody
    /// but the handle that came with this.
    ///
    /// # Errors
    /// Whatever the storage reports.
    pub fn accept(&self) -> Result<()> {
        self.header.write(&*self.file)?;
        self.file.sync()
    }
}

impl PageFile {
    /// Where the log of a file is lost, missing or damaged, so that [`Self::open`] refuses it: the file as its last checkpoint left it, for
    /// reading alone, and what is wrong with the log. `None` where it can be opened. Nobody can open it for writing while the handle is there.
    ///
    /// # Errors
    /// As [`Self::open`], for all that is wrong with the page file itself.
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
        let file = storage.open_update(name)?;
        let (header, one_slot) = Header::read(&*file)?;
        let opened = Self::read_log(storage, name, options, &header, one_slot)
            .and_then(|opened| refuse_lone_slot(one_slot, &header, &opened.recovery));
        let cause = match opened {
            Ok(()) => return Ok(None),
            Err(error @ Error::Damaged { .. }) if !one_slot && is_of_log(&error, name) => error,
            Err(error) => return Err(error),
        };
        let numbers = segment_numbers(&**storage, name)?;
        let named = header.last_segment.map_or(0, |last| last.number);
        let last = numbers.iter().copied().max().unwrap_or(0).max(named);
        let exhausted = || Error::InvalidArgument("the numbers of log segments are used up: copy the file".into());
        let (checkpoint, segments) =
            (header.sequence, numbers.iter().filter(|&&number| number >= header.first_segment));
        let segments = segments.map(|&number| crate::log::segment_name(name, number)).collect();
        let header = Header {
            turn: header.turn + 1,
            epoch: header.epoch.wrapping_add(SKIPPED_EPOCHS),
            first_segment: last.checked_add(1).ok_or_else(exhausted)?.max(header.first_segment),
            last_segment: Some(SegmentId::default()),
            ..header
        };
        let mut opened = Self::read_log(storage, name, options, &header, false)?;
        opened.is_assumed = true;
        let kept = Self { shared: opened.share(None, Some(lock), None) };
        Ok(Some((kept, LostLog { cause, checkpoint, segments, header, file })))
    }
}

/// Whether an error is of a segment of the log, and not of the page file.
fn is_of_log(error: &Error, name: &str) -> bool {
    let Error::Damaged { path, .. } = error else { return false };
    let found = path.file_name().map(|found| found.to_string_lossy());
    found.is_some_and(|found| found.starts_with(&format!("{name}.log-")))
}
