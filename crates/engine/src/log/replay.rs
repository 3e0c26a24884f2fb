//! Reading a segment back after a crash.

use super::record::{self, COMMIT_BODY_BYTES, COMMIT_KIND, FRAME_BYTES, RecordPlace};
use super::segment::{HEADER_BYTES, Segment};
use crate::error::{Error, Result};
use crate::io::{Purpose, ReadRequest};

/// Bytes read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// A commit: all records from `first` up to it count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    /// Its number; each commit has the next.
    pub(crate) sequence: u64,
    /// Where its first record begins. Records before it that no commit names belong to a transaction that was given up.
    pub(crate) first: u64,
    /// When it was written, everything before this position was durable.
    synced: u64,
}

/// What a replay meets.
#[derive(Debug)]
pub(crate) enum Entry<'a> {
    /// A record of the user.
    Record {
        /// What the user called it.
        kind: u8,
        /// Where it lies.
        place: RecordPlace,
        /// What it holds.
        body: &'a [u8],
    },
    /// A commit.
    Commit(Commit),
}

/// Whether a replay goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visit {
    /// It does.
    Continue,
    /// What follows does not count.
    Stop,
}

/// Shows `visit` every valid record from the start of a segment on, and returns where the valid ones end. What follows is a torn
/// tail: commits that were under way in the crash.
///
/// A record that is no longer what it was is told from a torn one by what follows: if a later commit says that the place was
/// durable by then, no crash can have torn it.
///
/// # Errors
/// [`Error::Damaged`] for such a record; those of `visit`.
pub(crate) fn replay(
    segment: &Segment,
    header_is_valid: bool,
    visit: &mut dyn FnMut(Entry<'_>) -> Result<Visit>,
) -> Result<u64> {
    let mut window = Window { segment, bytes: Vec::new(), start: 0, length_bytes: segment.file.len() };
    let mut position = HEADER_BYTES as u64;
    while header_is_valid && let Some((kind, body, length)) = window.record(position)? {
        let place = RecordPlace { position, body_bytes: body.len() as u32 };
        let entry = match commit(kind, body) {
            Some(commit) => Entry::Commit(commit),
            None => Entry::Record { kind, place, body },
        };
        if visit(entry)? == Visit::Stop {
            return Ok(position);
        }
        position += length as u64;
    }
    let end = if header_is_valid { position } else { 0 };
    refuse_damage(&mut window, end)?;
    Ok(end)
}

fn commit(kind: u8, body: &[u8]) -> Option<Commit> {
    (kind == COMMIT_KIND && body.len() == COMMIT_BODY_BYTES).then(|| Commit {
        sequence: record::u64_at(body, 0),
        first: record::u64_at(body, 8),
        synced: record::u64_at(body, 16),
    })
}

/// Looks behind `end` for a commit which says that `end` was durable when it was written.
fn refuse_damage(window: &mut Window<'_>, end: u64) -> Result<()> {
    let frame_bytes = COMMIT_BODY_BYTES + FRAME_BYTES;
    let length = (COMMIT_BODY_BYTES as u32).to_le_bytes();
    let start = [length[0], length[1], length[2], length[3], COMMIT_KIND];
    let (identity, path) = (window.segment.identity, window.segment.file.path().to_path_buf());
    let mut position = end + 1;
    loop {
        let bytes = window.at(position, CHUNK_BYTES)?;
        if bytes.len() < frame_bytes {
            return Ok(());
        }
        let candidates = bytes.len() - frame_bytes + 1;
        for offset in 0..candidates {
            let frame = &bytes[offset..offset + frame_bytes];
            if frame[..start.len()] != start {
                continue;
            }
            let found = record::decode(identity, position + offset as u64, frame);
            if found.and_then(|(kind, body, _)| commit(kind, body)).is_some_and(|commit| commit.synced > end) {
                let detail = "a log record is not what was written, though later ones are";
                return Err(Error::damaged(path, end, detail));
            }
        }
        position += candidates as u64;
    }
}

/// A part of the segment in memory.
struct Window<'a> {
    segment: &'a Segment,
    bytes: Vec<u8>,
    start: u64,
    length_bytes: u64,
}

impl Window<'_> {
    /// The record at `position`, if a valid one is there.
    fn record(&mut self, position: u64) -> Result<Option<(u8, &[u8], usize)>> {
        let Some(body_bytes) = record::body_bytes(self.at(position, FRAME_BYTES)?) else {
            return Ok(None);
        };
        let identity = self.segment.identity;
        Ok(record::decode(identity, position, self.at(position, body_bytes + FRAME_BYTES)?))
    }

    /// At most `wanted` bytes from `position` on, fewer only at the end of the file.
    fn at(&mut self, position: u64, wanted: usize) -> Result<&[u8]> {
        let available = self.length_bytes.saturating_sub(position).min(wanted as u64) as usize;
        if available == 0 {
            return Ok(&[]);
        }
        let held = self.start + self.bytes.len() as u64;
        if position < self.start || position + available as u64 > held {
            let length = self.length_bytes.saturating_sub(position).min(CHUNK_BYTES.max(wanted) as u64) as usize;
            self.bytes.resize(length, 0);
            self.start = position;
            let request = ReadRequest { offset: position, buffer: &mut self.bytes, purpose: Purpose::Log };
            self.segment.file.read(request)?;
        }
        let from = (position - self.start) as usize;
        Ok(self.bytes.get(from..from + available).unwrap_or_default())
    }
}
