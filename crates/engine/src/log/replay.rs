//! Log replay: reading a segment back after a crash, and distinguishing a torn tail from damage.

use super::record::{self, COMMIT_BODY_BYTES, COMMIT_KIND, RECORD_OVERHEAD_BYTES, RecordLocation};
use super::segment::Segment;
use super::torn_tail::durable_after;
use crate::block::window::ReadWindow;
use crate::error::{Error, Result};
use crate::io::{Purpose, ReadableFile};

/// Read size in bytes.
const CHUNK_BYTES: usize = 1 << 20;

/// A commit: makes all records from `first` up to it valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    /// Its number, increasing by one.
    pub(crate) sequence: u64,
    /// Offset of its first record. Earlier records that no commit covers belong to an aborted transaction.
    pub(crate) first: u64,
    /// Everything before this position was durable when it was written.
    synced: u64,
    /// Offset of its end.
    pub(crate) end: u64,
}

/// A file of records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordSource<'a> {
    pub(crate) file: &'a dyn ReadableFile,
    /// The identity to which the checksums are bound.
    pub(crate) identity: u64,
    /// Offset of the first record, after the owner's header.
    pub(crate) start: u64,
}

/// The extent of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogExtent {
    /// End of the valid records.
    pub(crate) end: u64,
    /// Everything before this position was durable, according to the commits read.
    pub(crate) durable: u64,
}

/// An entry of a replay.
#[derive(Debug)]
pub(crate) enum LogEntry<'a> {
    /// A record of the user.
    Record {
        /// The user's kind.
        kind: u8,
        /// Its location.
        location: RecordLocation,
        /// Its body.
        body: &'a [u8],
    },
    /// A commit.
    Commit(Commit),
}

/// The visitor's decision whether to continue a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplayStep {
    /// Continue.
    Continue,
    /// Stop: what follows is not valid.
    Stop,
}

/// Passes every valid record of a segment to `visit`, and returns the end of the valid records. What follows is a torn
/// tail: commits that were being written in a crash.
///
/// A damaged record is distinguished from a torn one by what follows: if a later commit states that this position was
/// durable, no crash can have torn it.
///
/// # Errors
/// [`Cause::Damaged`](crate::Cause::Damaged) for such a record; errors of `visit`.
pub(crate) fn replay(
    segment: &Segment,
    header_is_valid: bool,
    visit: &mut dyn FnMut(LogEntry<'_>) -> Result<ReplayStep>,
) -> Result<u64> {
    Ok(replay_records(segment.records(), header_is_valid, visit)?.end)
}

/// As [`replay`], for any file of records; also returns up to where the log was durable. If `visit` stops, the rest is
/// not examined.
pub(crate) fn replay_records(
    records: RecordSource<'_>,
    header_is_valid: bool,
    visit: &mut dyn FnMut(LogEntry<'_>) -> Result<ReplayStep>,
) -> Result<LogExtent> {
    let mut window = ReadWindow::new(records.file.len(), CHUNK_BYTES, Purpose::Log);
    let mut extent = LogExtent { end: records.start, durable: 0 };
    while header_is_valid && let Some((kind, body, length)) = record(records, &mut window, extent.end)? {
        let location = RecordLocation { position: extent.end, body_bytes: body.len() as u32 };
        let end = extent.end + length as u64;
        let entry = match commit(kind, body, end) {
            Some(commit) => {
                extent.durable = extent.durable.max(commit.synced);
                LogEntry::Commit(commit)
            }
            None => LogEntry::Record { kind, location, body },
        };
        if visit(entry)? == ReplayStep::Stop {
            return Ok(extent);
        }
        extent.end = end;
    }
    if !header_is_valid {
        extent.end = 0;
    }
    let later = durable_later(records, &mut window, extent.end)?;
    Ok(LogExtent { durable: extent.durable.max(later), ..extent })
}

/// The record at `position`, if there is a valid one.
fn record<'w>(
    records: RecordSource<'_>,
    window: &'w mut ReadWindow,
    position: u64,
) -> Result<Option<(u8, &'w [u8], usize)>> {
    let Some(body_bytes) = record::body_bytes(window.at(records.file, position, RECORD_OVERHEAD_BYTES)?) else {
        return Ok(None);
    };
    let bytes = window.at(records.file, position, body_bytes + RECORD_OVERHEAD_BYTES)?;
    Ok(record::decode(records.identity, position, bytes))
}

fn commit(kind: u8, body: &[u8], end: u64) -> Option<Commit> {
    (kind == COMMIT_KIND && body.len() == COMMIT_BODY_BYTES).then(|| Commit {
        sequence: record::u64_at(body, 0),
        first: record::u64_at(body, 8),
        synced: record::u64_at(body, 16),
        end,
    })
}

/// Searches for commits after `end`, the end of the valid records, by the torn-tail rule; returns up to where they
/// state that the log was durable.
fn durable_later(records: RecordSource<'_>, window: &mut ReadWindow, end: u64) -> Result<u64> {
    let frame_bytes = COMMIT_BODY_BYTES + RECORD_OVERHEAD_BYTES;
    let length = (COMMIT_BODY_BYTES as u32).to_le_bytes();
    let start = [length[0], length[1], length[2], length[3], COMMIT_KIND];
    let (mut position, mut durable) = (end + 1, 0);
    loop {
        let bytes = window.at(records.file, position, CHUNK_BYTES)?;
        if bytes.len() < frame_bytes {
            return Ok(durable);
        }
        let candidates = bytes.len() - frame_bytes + 1;
        let stated = durable_after(end, 0..candidates, |offset| {
            let frame = &bytes[offset..offset + frame_bytes];
            if frame[..start.len()] != start {
                return None;
            }
            let (kind, body, _) = record::decode(records.identity, position + offset as u64, frame)?;
            commit(kind, body, 0).map(|commit| commit.synced)
        });
        let Some(stated) = stated else {
            let detail = "a log record is damaged, though later ones are valid";
            return Err(Error::damaged(records.file.path(), end, detail));
        };
        durable = durable.max(stated);
        position += candidates as u64;
    }
}
