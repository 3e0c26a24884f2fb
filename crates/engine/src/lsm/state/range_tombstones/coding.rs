//! The encoding of range tombstones, stored as the table property "range-removals".
//!
//! `count | count times (length of start | start | length of end | end | sequence number)`, all numbers as varints,
//! ordered by start, then newest first. An empty end means that the range has no end.

use super::set::{RangeTombstone, RangeTombstones, is_ended};
use crate::lsm::state::entry::{SEQUENCE_MAX, put_varint, take_varint};

/// Minimum size of a tombstone: an empty start, no end, a sequence number, and two lengths.
const TOMBSTONE_BYTES_MIN: u64 = 3;

impl RangeTombstones {
    /// Encodes the set; an empty set has no bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if !self.is_empty() {
            put_varint(&mut bytes, self.len() as u64);
        }
        for tombstone in self.iter() {
            for key in [&tombstone.start, &tombstone.end] {
                put_varint(&mut bytes, key.len() as u64);
                bytes.extend_from_slice(key);
            }
            put_varint(&mut bytes, tombstone.sequence);
        }
        bytes
    }

    /// Decodes the result of [`encode`](Self::encode); `None` for anything else.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::new());
        }
        let mut at = 0;
        let count = take_varint(bytes, &mut at)?;
        if count == 0 || count > (bytes.len() - at) as u64 / TOMBSTONE_BYTES_MIN {
            return None;
        }
        let mut tombstones = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let tombstone = take_tombstone(bytes, &mut at)?;
            tombstones.push(tombstone);
        }
        (at == bytes.len()).then(|| Self::of(tombstones))
    }
}

fn take_tombstone(bytes: &[u8], at: &mut usize) -> Option<RangeTombstone> {
    let (start, end) = (take_key(bytes, at)?, take_key(bytes, at)?);
    let sequence = take_varint(bytes, at).filter(|&sequence| sequence <= SEQUENCE_MAX)?;
    (!is_ended(end, start)).then(|| RangeTombstone::new(start, end, sequence))
}

fn take_key<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let length = usize::try_from(take_varint(bytes, at)?).ok()?;
    let end = at.checked_add(length)?;
    let key = bytes.get(*at..end)?;
    *at = end;
    Some(key)
}
