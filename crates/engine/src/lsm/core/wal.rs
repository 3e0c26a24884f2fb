//! The write-ahead log: groups of operations, each recovered as a whole or not at all.
//!
//! A log is one file, `NNNNNN.log`. Its header is durable before anything refers to the log, so a lost log is
//! distinguishable from an empty one. The header also states where the previous log ended, so a missing tail of that
//! log is noticed. A group is stored as one record, or several (their length is limited), followed by the commit record
//! that makes them valid:
//!
//! ```text
//! | header | group 1 | commit | group 2, first part | second part | commit | ... | previous contents of the file
//! ```
//!
//! The file of a log that is no longer needed may be recycled for a new log: its blocks are allocated already, so a
//! sync need not record that the file has grown. All checksums are bound to the number of the log, so no record of the
//! old log is valid in the new one.

use crate::block::header::{FileHeader, HEADER_BYTES, StoreBinding};
use crate::error::{Advice, Call, Cause, Error, Result};
use crate::io::{ReadableFile, Storage, UpdatableFile};
use crate::log::{BODY_BYTES_MAX, Commit, LogEntry, LogExtent, LogWriter, RecordSource, ReplayStep, replay_records};
use crate::lsm::objects::{ChainWriter, ObjectFolder, PartInFlight};
use crate::lsm::state::log_header::{HEADER, log_name};
use std::io::ErrorKind;
use std::sync::Arc;

/// The record kind of groups.
const GROUP_KIND: u8 = 1;

/// Maximum length of a group: it is read back as a whole, and offsets in it fit 32 bits.
pub(crate) const GROUP_BYTES_MAX: usize = 1 << 30;

/// A finished log, durable as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClosedLog {
    pub(crate) number: u64,
    /// Where its last group ends.
    pub(crate) bytes: u64,
}

/// The writer of a log. After a failed call it accepts nothing more.
#[derive(Debug)]
pub(crate) struct WalWriter {
    number: u64,
    records: LogWriter,
    /// On an object store: the same file.
    chain: Option<Arc<ChainWriter>>,
}

impl WalWriter {
    /// Creates log `number`: its header and its name are durable when this returns.
    ///
    /// It recycles the file of the log `recycled`, which must durably be unneeded: after a crash the new header may be
    /// under the old name. `previous` is the preceding log, whose length the header records.
    pub(crate) fn create(
        (storage, objects): (&Arc<dyn Storage>, Option<&ObjectFolder>),
        binding: StoreBinding,
        number: u64,
        recycled: Option<u64>,
        previous: Option<ClosedLog>,
    ) -> Result<Self> {
        let name = log_name(number);
        let chain = objects.map(|objects| objects.create_log(number));
        let file = match recycled.map(log_name) {
            // A file with other links also belongs to a copy of the store, so it is not overwritten.
            Some(old) if storage.check_only_name(&old).is_ok() => {
                storage.rename(&old, &name)?;
                storage.open_update(&name)?
            }
            Some(old) => {
                storage.remove(&old)?;
                storage.create_update(&name)?
            }
            None => match &chain {
                Some(chain) => Arc::clone(chain) as Arc<dyn UpdatableFile>,
                None => storage.create_update(&name)?,
            },
        };
        let notes = previous.map_or([0, 0], |closed| [closed.number, closed.bytes]);
        let mut records = LogWriter::new(file, binding.identity(number), &HEADER.encode(binding, number, notes));
        records.flush()?;
        records.sync()?;
        storage.sync_directory()?;
        Ok(Self { number, records, chain })
    }

    /// Length of the log.
    pub(crate) fn len_bytes(&self) -> u64 {
        self.records.position()
    }

    /// On an object store: the number of its parts; 0 elsewhere.
    pub(crate) fn parts(&self) -> u64 {
        self.chain.as_ref().map_or(0, |chain| chain.parts())
    }

    /// Appends a group and hands it to the operating system, in one call unless it is longer than 1 MiB.
    ///
    /// `last_sequence` is the sequence number of its last operation, greater than any before.
    ///
    /// # Errors
    /// [`Cause::Input`] for a group that is too long, which leaves the log unchanged; errors of the storage.
    pub(crate) fn append(&mut self, group: &[u8], last_sequence: u64) -> Result<()> {
        if group.len() > GROUP_BYTES_MAX {
            let detail = "a write group has at most 1 GiB; split the batch";
            return Err(Error::input(detail));
        }
        let first = self.records.position();
        for part in group.chunks(BODY_BYTES_MAX) {
            self.records.append(GROUP_KIND, &[part])?;
        }
        self.records.commit(last_sequence, first)
    }

    /// Syncs all groups.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.records.flush()?;
        self.records.sync()
    }

    /// On an object store: begins a sync, which the caller ends by putting the part. `None` if everything is durable.
    ///
    /// # Errors
    /// The failure of a part before.
    pub(crate) fn begin_sync(&mut self) -> Result<Option<PartInFlight>> {
        self.records.flush()?;
        self.chain.as_ref().map_or(Ok(None), ChainWriter::begin_part)
    }

    /// Syncs the log as a whole. The header of the next log records its end.
    pub(crate) fn finish(mut self) -> Result<ClosedLog> {
        self.sync()?;
        Ok(ClosedLog { number: self.number, bytes: self.len_bytes() })
    }
}

/// The preceding log, as recorded in the header of a log.
pub(crate) fn previous(header: &FileHeader) -> Option<ClosedLog> {
    let [number, bytes] = header.notes;
    (bytes > 0).then_some(ClosedLog { number, bytes })
}

/// The end of log `number`, as recorded in the header of its successor `next`; `None` if it is not recorded there.
pub(crate) fn recorded_end(
    storage: &dyn Storage,
    binding: StoreBinding,
    next: u64,
    number: u64,
) -> Result<Option<u64>> {
    let header = header(storage, next)?.filter(|header| header.binding == binding && header.number == next);
    Ok(header.as_ref().and_then(previous).filter(|previous| previous.number == number).map(|previous| previous.bytes))
}

/// The header of a log file, whichever log it belongs to; `None` if the file or its header is missing.
pub(crate) fn header(storage: &dyn Storage, number: u64) -> Result<Option<FileHeader>> {
    open(storage, number)?.map_or(Ok(None), |file| HEADER.read(&*file))
}

fn open(storage: &dyn Storage, number: u64) -> Result<Option<Arc<dyn ReadableFile>>> {
    match storage.open(&log_name(number)) {
        Ok(file) => Ok(Some(file)),
        Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Passes the groups of a log to `visit`, in order, until it returns `false`; returns the end of the last accepted
/// group.
///
/// With `closed_at`, the log is known to end there, and anything else is damage. Otherwise the first incomplete group
/// ends the log, as a crash leaves it, unless a later group proves that it was durable. Where files are whole, no crash
/// leaves one, and all groups are durable. `visit` also learns whether its group is known to have been durable: then
/// everything it refers to must exist.
///
/// With `from`, the groups before that end of one were passed before, and are not read.
///
/// Memory: the longest group, which is bounded by the file.
///
/// # Errors
/// [`Cause::Damaged`] if the log or its header is missing, or groups are missing or damaged; errors of `visit`.
pub(crate) fn replay(
    storage: &dyn Storage,
    binding: StoreBinding,
    number: u64,
    from: u64,
    closed_at: Option<u64>,
    visit: &mut dyn FnMut(&[u8], bool) -> Result<bool>,
) -> Result<u64> {
    let Some(file) = open(storage, number)? else {
        return Err(lost(storage, number, "a needed log is missing"));
    };
    if from > 0 {
        return replay_from(storage, (&*file, binding, number), from, closed_at, visit);
    }
    if HEADER.read_bound(&*file, binding, number)?.is_none() {
        return Err(lost(storage, number, "the header of a needed log is missing or damaged"));
    }
    replay_from(storage, (&*file, binding, number), HEADER_BYTES as u64, closed_at, visit)
}

/// As [`replay`], for the groups behind a position.
fn replay_from(
    storage: &dyn Storage,
    (file, binding, number): (&dyn ReadableFile, StoreBinding, u64),
    start: u64,
    closed_at: Option<u64>,
    visit: &mut dyn FnMut(&[u8], bool) -> Result<bool>,
) -> Result<u64> {
    let records = RecordSource { file, identity: binding.identity(number), start };
    let (end, extent) = scan_commits(records, true)?;
    let mut durable = extent.durable;
    if storage.has_whole_files() {
        if extent.end != file.len() {
            return Err(Error::damaged(file.path(), extent.end, "a record of the log is damaged"));
        }
        durable = end;
    }
    if let Some(bytes) = closed_at {
        if end != bytes {
            let detail = format!("the log ended at byte {bytes}, but its valid groups end here");
            return Err(Error::damaged(file.path(), end, detail));
        }
        durable = bytes;
    }
    let mut groups = GroupReader::new(file, start);
    if end > start {
        replay_records(records, true, &mut |entry| groups.take(entry, end, durable, visit))?;
    }
    Ok(groups.taken)
}

/// Passes the groups of an open log behind the position `from` to `visit`, until it returns `false`, no further one is
/// complete, or `until` is reached; returns the end of the last one. `None` if the file is another log.
///
/// # Errors
/// [`Cause::Damaged`] if a later group proves that the place was durable; errors of the storage and of `visit`.
pub(crate) fn groups_behind(
    file: &dyn ReadableFile,
    (binding, number): (StoreBinding, u64),
    from: u64,
    until: Option<u64>,
    visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
) -> Result<Option<u64>> {
    if from == 0 && HEADER.read_bound(file, binding, number)?.is_none() {
        return Ok(None);
    }
    let start = from.max(HEADER_BYTES as u64);
    if until.is_some_and(|until| start >= until) {
        return Ok(Some(start));
    }
    let records = RecordSource { file, identity: binding.identity(number), start };
    let mut groups = GroupReader::new(file, start);
    let end = until.unwrap_or(u64::MAX);
    replay_records(records, true, &mut |entry| groups.take(entry, end, 0, &mut |group, _| visit(group)))?;
    Ok(Some(groups.taken))
}

/// The error for a log that was lost as a whole.
fn lost(storage: &dyn Storage, number: u64, what: &str) -> Error {
    let detail = format!("{what}, and with it all writes since it was begun");
    Error::damaged(storage.path(&log_name(number)), 0, detail).advise(Advice::Use(Call::RepairStore))
}

/// Passes the intact groups before the first damage to `visit`. A damaged header does not matter, since each record
/// proves that it belongs to the log.
///
/// # Errors
/// Errors of the storage and of `visit`, but not damage.
pub(crate) fn recover_groups(
    storage: &dyn Storage,
    binding: StoreBinding,
    number: u64,
    visit: &mut dyn FnMut(&[u8], bool) -> Result<bool>,
) -> Result<()> {
    let Some(file) = open(storage, number)? else { return Ok(()) };
    let start = HEADER_BYTES as u64;
    let records = RecordSource { file: &*file, identity: binding.identity(number), start };
    let mut groups = GroupReader::new(&*file, start);
    let shown = replay_records(records, true, &mut |entry| groups.take(entry, u64::MAX, 0, visit));
    match shown {
        Err(error) if !matches!(error, Error { cause: Cause::Damaged, .. }) => Err(error),
        _ => Ok(()),
    }
}

/// Whether a log contains groups.
pub(crate) fn has_groups(storage: &dyn Storage, binding: StoreBinding, number: u64) -> Result<bool> {
    let Some(file) = open(storage, number)? else { return Ok(false) };
    if HEADER.read_bound(&*file, binding, number)?.is_none() {
        return Ok(false);
    }
    let records = RecordSource { file: &*file, identity: binding.identity(number), start: HEADER_BYTES as u64 };
    let mut found = false;
    let walked = replay_records(records, true, &mut |entry| {
        found = matches!(entry, LogEntry::Commit(_));
        Ok(if found { ReplayStep::Stop } else { ReplayStep::Continue })
    });
    match walked {
        // Later groups prove that there was a first one.
        Err(Error { cause: Cause::Damaged, .. }) => Ok(true),
        walked => walked.map(|_| found),
    }
}

/// The end of the last complete group, and the extent of the log.
fn scan_commits(records: RecordSource<'_>, header_is_valid: bool) -> Result<(u64, LogExtent)> {
    let mut end = records.start;
    let extent = replay_records(records, header_is_valid, &mut |entry| {
        if let LogEntry::Commit(commit) = entry {
            end = commit.end;
        }
        Ok(ReplayStep::Continue)
    })?;
    Ok((end, extent))
}

/// Assembles groups from records.
struct GroupReader<'a> {
    file: &'a dyn ReadableFile,
    /// The parts of the current group.
    group: Vec<u8>,
    /// Start of the current group.
    begins: u64,
    /// Start of the first group.
    start: u64,
    /// Sequence number of the last commit.
    sequence: u64,
    /// End of the last accepted group.
    taken: u64,
}

impl<'a> GroupReader<'a> {
    fn new(file: &'a dyn ReadableFile, start: u64) -> Self {
        Self { file, group: Vec::new(), begins: start, start, sequence: 0, taken: start }
    }

    fn take(
        &mut self,
        entry: LogEntry<'_>,
        end: u64,
        durable: u64,
        visit: &mut dyn FnMut(&[u8], bool) -> Result<bool>,
    ) -> Result<ReplayStep> {
        let commit = match entry {
            LogEntry::Record { kind: GROUP_KIND, body, .. } if self.group.len() + body.len() <= GROUP_BYTES_MAX => {
                self.group.extend_from_slice(body);
                return Ok(ReplayStep::Continue);
            }
            LogEntry::Record { location, .. } => return Err(self.corrupt(location.position)),
            LogEntry::Commit(commit) => commit,
        };
        self.check(commit)?;
        if !visit(&self.group, commit.end <= durable)? {
            return Ok(ReplayStep::Stop);
        }
        self.group.clear();
        (self.begins, self.sequence, self.taken) = (commit.end, commit.sequence, commit.end);
        Ok(if commit.end == end { ReplayStep::Stop } else { ReplayStep::Continue })
    }

    fn check(&self, commit: Commit) -> Result<()> {
        let in_order = commit.sequence > self.sequence || self.begins == self.start;
        if commit.first == self.begins && in_order { Ok(()) } else { Err(self.corrupt(self.begins)) }
    }

    fn corrupt(&self, position: u64) -> Error {
        Error::damaged(self.file.path(), position, "a record of the log is malformed")
    }
}

#[cfg(test)]
mod tests;
