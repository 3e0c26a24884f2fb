//! Log records: their encoding, and the commit record.

use crate::block::checksum::{CHECKSUM_BYTES, checksum};

/// `length: u32 | kind: u8`, before the body; `length` is that of the body.
pub(super) const RECORD_HEAD_BYTES: usize = 5;

/// Size of a record without its body.
pub(super) const RECORD_OVERHEAD_BYTES: usize = RECORD_HEAD_BYTES + CHECKSUM_BYTES;

/// Maximum length of a body, so that a torn length leads to no large buffer.
pub(crate) const BODY_BYTES_MAX: usize = 1 << 17;

/// The kind of a commit; all other kinds belong to the user.
pub(super) const COMMIT_KIND: u8 = 0xc0;

/// `sequence: u64 | first: u64 | synced: u64`.
pub(super) const COMMIT_BODY_BYTES: usize = 24;

/// The location of a record in its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordLocation {
    /// Offset of its first byte.
    pub(crate) position: u64,
    /// Length of its body in bytes.
    pub(crate) body_bytes: u32,
}

/// Appends a record to `buffer`; `position` is its offset in the segment.
pub(super) fn encode(buffer: &mut Vec<u8>, identity: u64, position: u64, kind: u8, parts: &[&[u8]]) -> RecordLocation {
    let start = buffer.len();
    let body_bytes = parts.iter().map(|part| part.len()).sum::<usize>() as u32;
    buffer.extend_from_slice(&body_bytes.to_le_bytes());
    buffer.push(kind);
    for part in parts {
        buffer.extend_from_slice(part);
    }
    let sum = checksum(identity, position, &buffer[start..]);
    buffer.extend_from_slice(&sum.to_le_bytes());
    RecordLocation { position, body_bytes }
}

/// Decodes the record at the start of `bytes`, which lie at `position`: its kind, body and length. `None` if there is
/// no complete and valid one.
pub(super) fn decode(identity: u64, position: u64, bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let body_bytes = body_bytes(bytes)?;
    let buffer = bytes.get(..body_bytes + RECORD_OVERHEAD_BYTES)?;
    let (content, sum) = buffer.split_last_chunk::<CHECKSUM_BYTES>()?;
    if checksum(identity, position, content) != u32::from_le_bytes(*sum) {
        return None;
    }
    Some((content[4], &content[RECORD_HEAD_BYTES..], buffer.len()))
}

/// Length of the body stated at the start of `bytes`; `None` if there is no valid length.
pub(super) fn body_bytes(bytes: &[u8]) -> Option<usize> {
    let length = u32::from_le_bytes(*bytes.first_chunk::<4>()?) as usize;
    (length <= BODY_BYTES_MAX).then_some(length)
}

/// The number at `offset` of a body that is long enough.
pub(super) fn u64_at(body: &[u8], offset: usize) -> u64 {
    body.get(offset..).and_then(|rest| rest.first_chunk::<8>()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
