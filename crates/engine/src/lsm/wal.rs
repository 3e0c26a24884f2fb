//! The write-ahead log: groups of operations, each wholly there or not at all.
//!
//! A log is one file, `NNNNNN.log`. Its header says where the log before it ended, so that a tail that vanished from that one is
//! noticed. A group lies in it as one record, or several (their length is limited), and the commit behind them, which makes them
//! count:
//!
//! ```text
//! | header | group 1 | commit | group 2, first part | second part | commit | ... | what the file held before
//! ```
//!
//! The file of a log that is no longer needed may become that of a new one: its blocks are there already, and a sync need not
//! write down that the file has grown. All checksums are bound to the number of the log, so nothing of the old one passes for the
//! new one's.

use super::version::{FileKind, file_name};
use crate::block::checksum::identity;
use crate::block::header::{HEADER_BYTES, HeaderKind};
use crate::error::{Error, Result};
use crate::io::{ReadableFile, Storage};
use crate::log::{BODY_BYTES_MAX, Commit, Entry, RecordWriter, Records, Visit, replay_records};
use std::io::ErrorKind;
use std::sync::Arc;

const HEADER: HeaderKind = HeaderKind { magic: b"OGIVEWAL", version: 2 };

/// Kind of the records that a group consists of.
const GROUP_KIND: u8 = 1;

/// Longest group: what is read back at once stays within memory, and places in a group fit 32 bits.
pub(crate) const GROUP_BYTES_MAX: usize = 1 << 30;

/// The name of the file of a log.
pub(crate) fn log_name(number: u64) -> String {
    file_name(number, FileKind::Log)
}

/// A log that takes no more, and is durable as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClosedLog {
    pub(crate) number: u64,
    /// Where its last group ends.
    pub(crate) bytes: u64,
}

/// A log that grows. After a failed call it takes nothing more.
#[derive(Debug)]
pub(crate) struct Wal {
    storage: Arc<dyn Storage>,
    number: u64,
    records: RecordWriter,
    /// Whether the log is durable under its name.
    is_named: bool,
}

impl Wal {
    /// Begins log `number` of `owner`.
    ///
    /// It takes over the file of the log `recycled`. That one must not be needed any more, durably: after a crash the new groups
    /// may lie under the old name. `previous` is the log whose groups come before; its tail is proved by this one.
    pub(crate) fn create(
        storage: &Arc<dyn Storage>,
        owner: u64,
        number: u64,
        recycled: Option<u64>,
        previous: Option<ClosedLog>,
    ) -> Result<Self> {
        let name = log_name(number);
        let file = match recycled {
            None => storage.create_update(&name)?,
            Some(old) => {
                storage.rename(&log_name(old), &name)?;
                storage.open_update(&name)?
            }
        };
        let notes = previous.map_or([0, 0], |closed| [closed.number, closed.bytes]);
        let records = RecordWriter::new(file, identity(owner, number), &HEADER.encode(owner, number, notes));
        Ok(Self { storage: Arc::clone(storage), number, records, is_named: false })
    }

    /// Length of the log.
    pub(crate) fn len_bytes(&self) -> u64 {
        self.records.position()
    }

    /// Appends a group and hands it to the operating system: by one call, unless it is longer than a mebibyte.
    ///
    /// `last_sequence` is that of its last operation, greater than any before.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a group that is too long, which leaves the log as it was; whatever the storage reports.
    pub(crate) fn append(&mut self, group: &[u8], last_sequence: u64) -> Result<()> {
        if group.len() > GROUP_BYTES_MAX {
            let detail = "operations that are written together may take a gibibyte at most; split the batch";
            return Err(Error::InvalidArgument(detail.into()));
        }
        let first = self.records.position();
        for part in group.chunks(BODY_BYTES_MAX) {
            self.records.append(GROUP_KIND, &[part])?;
        }
        self.records.commit(last_sequence, first)
    }

    /// Makes all groups so far durable, and the first time the name of the log.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.records.flush()?;
        self.records.sync()?;
        if !self.is_named {
            self.storage.sync_directory()?;
            self.is_named = true;
        }
        Ok(())
    }

    /// Makes the log durable as a whole. The next log is told where this one ended.
    pub(crate) fn finish(mut self) -> Result<ClosedLog> {
        self.sync()?;
        Ok(ClosedLog { number: self.number, bytes: self.len_bytes() })
    }
}

/// What the header of a log says of the log before it; `None` where it says nothing, or the log was not even begun.
pub(crate) fn previous(storage: &dyn Storage, owner: u64, number: u64) -> Result<Option<ClosedLog>> {
    let Some(file) = open(storage, number)? else { return Ok(None) };
    let notes = HEADER.read(&*file, owner, number)?;
    Ok(notes.filter(|notes| notes[1] > 0).map(|[number, bytes]| ClosedLog { number, bytes }))
}

fn open(storage: &dyn Storage, number: u64) -> Result<Option<Arc<dyn ReadableFile>>> {
    match storage.open(&log_name(number)) {
        Ok(file) => Ok(Some(file)),
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Shows `visit` all groups of a log in order, until one is refused by `false`; returns where the last one ends that was taken.
///
/// With `closed_at` the log is known to have ended there, and anything else is damage. Without, the first group that is not whole
/// ends it, as a crash leaves it, unless a later one proves that it had been durable. `visit` is told whether its group is known to
/// have been durable: what such a group refers to must be there.
///
/// Memory: the longest group. Its bytes are in the file before they are in memory.
///
/// # Errors
/// [`Error::Damaged`] where groups are missing or no longer what they were; those of `visit`.
pub(crate) fn replay(
    storage: &dyn Storage,
    owner: u64,
    number: u64,
    closed_at: Option<u64>,
    visit: &mut dyn FnMut(&[u8], bool) -> Result<bool>,
) -> Result<u64> {
    let Some(file) = open(storage, number)? else {
        let missing = || Error::damaged(storage.path(&log_name(number)), 0, "the log is missing");
        return closed_at.map_or(Ok(0), |_| Err(missing()));
    };
    let header_is_valid = HEADER.read(&*file, owner, number)?.is_some();
    let records = Records { file: &*file, identity: identity(owner, number), start: HEADER_BYTES as u64 };
    let (end, mut durable) = survey(records, header_is_valid)?;
    if let Some(bytes) = closed_at {
        if !header_is_valid || end != bytes {
            let detail = format!("the log ended at byte {bytes}, and valid groups end here");
            return Err(Error::damaged(file.path(), if header_is_valid { end } else { 0 }, detail));
        }
        durable = bytes;
    }
    let mut groups =
        Groups { file: &*file, group: Vec::new(), begins: records.start, sequence: 0, taken: records.start };
    if header_is_valid && end > records.start {
        replay_records(records, true, &mut |entry| groups.take(entry, end, durable, visit))?;
    }
    Ok(groups.taken)
}

/// Shows `visit` the groups of a log ahead of whatever is damaged in it, or missing.
///
/// # Errors
/// What the storage reports, and those of `visit`; damage is none.
pub(crate) fn salvage(
    storage: &dyn Storage,
    owner: u64,
    number: u64,
    visit: &mut dyn FnMut(&[u8], bool) -> Result<bool>,
) -> Result<()> {
    let Some(file) = open(storage, number)? else { return Ok(()) };
    let header_is_valid = HEADER.read(&*file, owner, number)?.is_some();
    let start = HEADER_BYTES as u64;
    let records = Records { file: &*file, identity: identity(owner, number), start };
    let mut groups = Groups { file: &*file, group: Vec::new(), begins: start, sequence: 0, taken: start };
    let shown = replay_records(records, header_is_valid, &mut |entry| groups.take(entry, u64::MAX, 0, visit));
    match shown {
        Err(error) if !matches!(error, Error::Damaged { .. }) => Err(error),
        _ => Ok(()),
    }
}

/// The owner that a log says it has.
pub(crate) fn owner(storage: &dyn Storage, number: u64) -> Result<Option<u64>> {
    open(storage, number)?.map_or(Ok(None), |file| HEADER.owner(&*file))
}

/// Where the last whole group ends, and up to where the log is known to have been durable.
fn survey(records: Records<'_>, header_is_valid: bool) -> Result<(u64, u64)> {
    let mut end = records.start;
    let extent = replay_records(records, header_is_valid, &mut |entry| {
        if let Entry::Commit(commit) = entry {
            end = commit.end;
        }
        Ok(Visit::Continue)
    })?;
    Ok((end, extent.durable))
}

/// Puts groups together.
struct Groups<'a> {
    file: &'a dyn ReadableFile,
    /// The parts of the group at hand.
    group: Vec<u8>,
    /// Where it begins.
    begins: u64,
    /// The last commit's.
    sequence: u64,
    /// Where the last group ends that was taken.
    taken: u64,
}

impl Groups<'_> {
    fn take(
        &mut self,
        entry: Entry<'_>,
        end: u64,
        durable: u64,
        visit: &mut dyn FnMut(&[u8], bool) -> Result<bool>,
    ) -> Result<Visit> {
        let commit = match entry {
            Entry::Record { kind: GROUP_KIND, body, .. } if self.group.len() + body.len() <= GROUP_BYTES_MAX => {
                self.group.extend_from_slice(body);
                return Ok(Visit::Continue);
            }
            Entry::Record { place, .. } => return Err(self.nonsense(place.position)),
            Entry::Commit(commit) => commit,
        };
        self.check(commit)?;
        if !visit(&self.group, commit.end <= durable)? {
            return Ok(Visit::Stop);
        }
        self.group.clear();
        (self.begins, self.sequence, self.taken) = (commit.end, commit.sequence, commit.end);
        Ok(if commit.end == end { Visit::Stop } else { Visit::Continue })
    }

    fn check(&self, commit: Commit) -> Result<()> {
        let in_order = commit.sequence > self.sequence || self.begins == HEADER_BYTES as u64;
        if commit.first == self.begins && in_order { Ok(()) } else { Err(self.nonsense(self.begins)) }
    }

    fn nonsense(&self, position: u64) -> Error {
        Error::damaged(self.file.path(), position, "a record of the log makes no sense")
    }
}

#[cfg(test)]
mod tests;
