//! The encoding of range tombstones, stored as the table property "range-removals".
//!
//! `count | count times (length of start | start | length of end | end | sequence number)`, all numbers as varints,
//! ordered by start, then newest first. An empty end means that the range has no end.

use super::set::{Removal, Removals, is_ended};
use crate::lsm::entry::{MAX_SEQUENCE, put_varint, take_varint};

/// Least bytes of a removal: an empty start, no end, a sequence number, and two lengths.
const LEAST_BYTES: u64 = 3;

impl Removals {
    /// All of them as bytes; nothing for none.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if !self.is_empty() {
            put_varint(&mut bytes, self.len() as u64);
        }
        for removal in self.iter() {
            for key in [&removal.start, &removal.end] {
                put_varint(&mut bytes, key.len() as u64);
                bytes.extend_from_slice(key);
            }
            put_varint(&mut bytes, removal.sequence);
        }
        bytes
    }

    /// What [`encode`](Self::encode) made; `None` for anything else.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::new());
        }
        let mut at = 0;
        let count = take_varint(bytes, &mut at)?;
        if count == 0 || count > (bytes.len() - at) as u64 / LEAST_BYTES {
            return None;
        }
        let mut removals = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let removal = take_removal(bytes, &mut at)?;
            removals.push(removal);
        }
        (at == bytes.len()).then(|| Self::of(removals))
    }
}

fn take_removal(bytes: &[u8], at: &mut usize) -> Option<Removal> {
    let (start, end) = (take_key(bytes, at)?, take_key(bytes, at)?);
    let sequence = take_varint(bytes, at).filter(|&sequence| sequence <= MAX_SEQUENCE)?;
    (!is_ended(end, start)).then(|| Removal::new(start, end, sequence))
}

fn take_key<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let length = usize::try_from(take_varint(bytes, at)?).ok()?;
    let end = at.checked_add(length)?;
    let key = bytes.get(*at..end)?;
    *at = end;
    Some(key)
}
