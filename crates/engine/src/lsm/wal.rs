//! The write-ahead log: groups of operations, each wholly there or not at all.
//!
//! A log is one file, `NNNNNN.log`. Its header is durable before anything refers to it, so that a log that was lost whole is told from an
//! empty one; it says where the log before it ended, so that a tail that vanished from that one is noticed. A group lies in it as one record, or several (their length is limited), and the commit behind them, which makes them
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
use crate::block::header::{FileHeader, HeaderKind, StoreBinding};
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
    number: u64,
    records: RecordWriter,
}

impl Wal {
    /// Begins log `number`: when this returns its header is durable, and its name.
    ///
    /// It takes over the file of the log `recycled`. That one must not be needed any more, durably: after a crash the new header
    /// may lie under the old name. `previous` is the log whose groups come before; its tail is proved by this one.
    pub(crate) fn create(
        storage: &Arc<dyn Storage>,
        bond: StoreBinding,
        number: u64,
        recycled: Option<u64>,
        previous: Option<ClosedLog>,
    ) -> Result<Self> {
        let name = log_name(number);
        let file = match recycled.map(log_name) {
            // A file with other names belongs to a copy of the store, too: nothing is written over it.
            Some(old) if storage.check_only_name(&old).is_ok() => {
                storage.rename(&old, &name)?;
                storage.open_update(&name)?
            }
            Some(old) => {
                storage.remove(&old)?;
                storage.create_update(&name)?
            }
            None => storage.create_update(&name)?,
        };
        let notes = previous.map_or([0, 0], |closed| [closed.number, closed.bytes]);
        let mut records = RecordWriter::new(file, bond.identity(number), &HEADER.encode(bond, number, notes));
        records.flush()?;
        records.sync()?;
        storage.sync_directory()?;
        Ok(Self { number, records })
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

    /// Makes all groups so far durable.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.records.flush()?;
        self.records.sync()
    }

    /// Makes the log durable as a whole. The next log is told where this one ended.
    pub(crate) fn finish(mut self) -> Result<ClosedLog> {
        self.sync()?;
        Ok(ClosedLog { number: self.number, bytes: self.len_bytes() })
    }
}

/// What the header of a log says of the log before it.
pub(crate) fn previous(header: &FileHeader) -> Option<ClosedLog> {
    let [number, bytes] = header.notes;
    (bytes > 0).then_some(ClosedLog { number, bytes })
}

/// Where log `number` ended, as the header of the log `next` behind it says; `None` where it says nothing.
pub(crate) fn end_before(storage: &dyn Storage, bond: StoreBinding, next: u64, number: u64) -> Result<Option<u64>> {
    let header = header(storage, next)?.filter(|header| header.bond == bond && header.number == next);
    Ok(header.as_ref().and_then(previous).filter(|previous| previous.number == number).map(|previous| previous.bytes))
}

/// The header of the file of a log, whichever log it is; `None` where it has none, or is not there.
pub(crate) fn header(storage: &dyn Storage, number: u64) -> Result<Option<FileHeader>> {
    open(storage, number)?.map_or(Ok(None), |file| HEADER.read(&*file))
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
/// [`Error::Damaged`] where the log is missing or does not begin as it must, and where groups are missing or no longer what they were;
/// those of `visit`.
pub(crate) fn replay(
    storage: &dyn Storage,
    bond: StoreBinding,
    number: u64,
    closed_at: Option<u64>,
    visit: &mut dyn FnMut(&[u8], bool) -> Result<bool>,
) -> Result<u64> {
    let Some(file) = open(storage, number)? else {
        return Err(lost(storage, number, "a log that is needed is missing"));
    };
    let Some(header) = HEADER.read_bound(&*file, bond, number)? else {
        // The first version made headers durable with the first group alone.
        if bond.nonce == 0 && closed_at.is_none() {
            return replay_without_header(&*file, bond, number);
        }
        return Err(lost(storage, number, "a log that is needed does not begin with its header"));
    };
    let start = header.length as u64;
    let records = Records { file: &*file, identity: bond.identity(number), start };
    let (end, mut durable) = survey(records, true)?;
    if let Some(bytes) = closed_at {
        if end != bytes {
            let detail = format!("the log ended at byte {bytes}, and valid groups end here");
            return Err(Error::damaged(file.path(), end, detail));
        }
        durable = bytes;
    }
    let mut groups = Groups::new(&*file, start);
    if end > start {
        replay_records(records, true, &mut |entry| groups.take(entry, end, durable, visit))?;
    }
    Ok(groups.taken)
}

/// What is said of a log that was lost as a whole.
fn lost(storage: &dyn Storage, number: u64, what: &str) -> Error {
    let detail = format!(
        "{what}, and with it what was written since it was begun: put the file back, or let `ogive db repair` go on without it"
    );
    Error::damaged(storage.path(&log_name(number)), 0, detail)
}

/// A log of the first version that a crash left before it was begun, unless later groups say otherwise.
fn replay_without_header(file: &dyn ReadableFile, bond: StoreBinding, number: u64) -> Result<u64> {
    let records = Records { file, identity: bond.identity(number), start: 0 };
    survey(records, false)?;
    Ok(0)
}

/// Shows `visit` the groups of a log ahead of whatever is damaged in it, or missing. A damaged header is none of them: each record
/// proves that it is the log's.
///
/// # Errors
/// What the storage reports, and those of `visit`; damage is none.
pub(crate) fn salvage(
    storage: &dyn Storage,
    bond: StoreBinding,
    number: u64,
    visit: &mut dyn FnMut(&[u8], bool) -> Result<bool>,
) -> Result<()> {
    let Some(file) = open(storage, number)? else { return Ok(()) };
    let start = HEADER.encode(bond, number, [0, 0]).len() as u64;
    let records = Records { file: &*file, identity: bond.identity(number), start };
    let mut groups = Groups::new(&*file, start);
    let shown = replay_records(records, true, &mut |entry| groups.take(entry, u64::MAX, 0, visit));
    match shown {
        Err(error) if !matches!(error, Error::Damaged { .. }) => Err(error),
        _ => Ok(()),
    }
}

/// Whether groups were written to a log.
pub(crate) fn has_groups(storage: &dyn Storage, bond: StoreBinding, number: u64) -> Result<bool> {
    let Some(file) = open(storage, number)? else { return Ok(false) };
    let Some(header) = HEADER.read_bound(&*file, bond, number)? else { return Ok(false) };
    let records = Records { file: &*file, identity: bond.identity(number), start: header.length as u64 };
    let mut found = false;
    let walked = replay_records(records, true, &mut |entry| {
        found = matches!(entry, Entry::Commit(_));
        Ok(if found { Visit::Stop } else { Visit::Continue })
    });
    match walked {
        // Later groups say that the first one was there.
        Err(Error::Damaged { .. }) => Ok(true),
        walked => walked.map(|_| found),
    }
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
    /// Where the first one begins.
    start: u64,
    /// The last commit's.
    sequence: u64,
    /// Where the last group ends that was taken.
    taken: u64,
}

impl<'a> Groups<'a> {
    fn new(file: &'a dyn ReadableFile, start: u64) -> Self {
        Self { file, group: Vec::new(), begins: start, start, sequence: 0, taken: start }
    }

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
        let in_order = commit.sequence > self.sequence || self.begins == self.start;
        if commit.first == self.begins && in_order { Ok(()) } else { Err(self.nonsense(self.begins)) }
    }

    fn nonsense(&self, position: u64) -> Error {
        Error::damaged(self.file.path(), position, "a record of the log makes no sense")
    }
}

#[cfg(test)]
mod tests;
