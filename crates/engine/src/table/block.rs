//! Data blocks: how records lie in a block, and how they are found there.
//!
//! ```text
//! dense, for records of one width:      | key value | key value | ... | zeros | trailer |
//! slotted, for records of any length:   | entry | entry | ... | zeros | starts of entries, end of the last | trailer |
//! entry:    length of the key, doubled, plus 1 where the value lies elsewhere (varint) | key | value or pointer
//! trailer:  codec u8 | records u24 | checksum u32
//! ```
//!
//! Starts are u16 in blocks of at most 64 KiB, else u32. Integers are little-endian. The checksum covers file and
//! offset, too ([`crate::block::checksum`]).

use super::key::Probe;
use super::value::ValuePointer;

/// Bytes behind the records of each block.
pub(super) const TRAILER_BYTES: usize = 8;
/// Smallest and largest size of a block in bytes.
pub const BLOCK_BYTES: std::ops::RangeInclusive<u32> = 512..=1 << 20;

/// How records lie in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Dense { key: usize, value: usize },
    Slotted,
}

/// Bytes of an entry's start in a slotted block.
pub(super) fn start_bytes(block_bytes: usize) -> usize {
    if block_bytes <= 1 << 16 { 2 } else { 4 }
}

/// A value as a block holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored<'a> {
    Inline(&'a [u8]),
    Long(ValuePointer),
}

/// Appends a slotted entry.
pub(super) fn push_entry(out: &mut Vec<u8>, key: &[u8], value: Stored<'_>) {
    let (long, value) = match value {
        Stored::Inline(value) => (0, value),
        Stored::Long(pointer) => (1, &pointer.encode()[..]),
    };
    let mut word = key.len() * 2 + long;
    while word >= 0x80 {
        out.push(word as u8 | 0x80);
        word >>= 7;
    }
    out.push(word as u8);
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}

/// Takes an entry apart; `None` when it is malformed.
pub(super) fn split_entry(entry: &[u8]) -> Option<(&[u8], Stored<'_>)> {
    let mut word = 0_usize;
    for (i, &byte) in entry.iter().take(4).enumerate() {
        word |= usize::from(byte & 0x7F) << (7 * i);
        if byte < 0x80 {
            let (key, value) = entry[i + 1..].split_at_checked(word / 2)?;
            let value =
                if word.is_multiple_of(2) { Stored::Inline(value) } else { Stored::Long(ValuePointer::decode(value)?) };
            return Some((key, value));
        }
    }
    None
}

/// Lays the body and the trailer of a block out, checksum still missing: `raw` gets `block_bytes` bytes.
///
/// `records` are the bytes of the records one after the other; `starts` gives each entry's start, and the end of the last, in a slotted
/// block.
pub(super) fn lay_out(layout: Layout, block_bytes: usize, records: &[u8], starts: &[usize], count: usize) -> Vec<u8> {
    let mut raw = Vec::with_capacity(block_bytes);
    raw.extend_from_slice(records);
    let width = start_bytes(block_bytes);
    let table = if layout == Layout::Slotted { starts.len() * width } else { 0 };
    raw.resize(block_bytes - TRAILER_BYTES - table, 0);
    if layout == Layout::Slotted {
        for start in starts {
            raw.extend_from_slice(&(*start as u32).to_le_bytes()[..width]);
        }
    }
    raw.extend_from_slice(&((count as u32) << 8).to_le_bytes());
    raw.extend_from_slice(&[0; 4]);
    raw
}

/// Codec and number of records from the trailer of a block.
pub(super) fn trailer(block: &[u8]) -> Option<(u8, usize)> {
    let at = block.len().checked_sub(TRAILER_BYTES)?;
    let word = u32::from_le_bytes(block.get(at..at + 4)?.try_into().ok()?);
    Some((word as u8, (word >> 8) as usize))
}

/// A checked and unpacked block. Every access is total: what a forged block lacks is `None`.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockView<'a> {
    layout: Layout,
    body: &'a [u8],
    table: &'a [u8],
    count: usize,
    width: usize,
}

impl<'a> BlockView<'a> {
    pub(super) fn new(layout: Layout, raw: &'a [u8]) -> Option<Self> {
        let (_, count) = trailer(raw)?;
        let body = &raw[..raw.len() - TRAILER_BYTES];
        let width = start_bytes(raw.len());
        let table_bytes = match layout {
            Layout::Dense { key, value } => {
                if count.checked_mul(key + value)? > body.len() {
                    return None;
                }
                0
            }
            Layout::Slotted => (count + 1).checked_mul(width)?,
        };
        let (body, table) = body.split_at_checked(body.len().checked_sub(table_bytes)?)?;
        Some(Self { layout, body, table, count, width })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Whether every byte of the block has the one place that the writer gave it: entries follow each other from the start of
    /// the block, and zeros fill it up.
    pub(super) fn is_canonical(&self) -> bool {
        let end = match self.layout {
            Layout::Dense { key, value } => Some(self.count * (key + value)),
            Layout::Slotted => self.start(self.count).filter(|_| self.start(0) == Some(0)),
        };
        end.and_then(|end| self.body.get(end..)).is_some_and(|rest| rest.iter().all(|&byte| byte == 0))
    }

    fn start(&self, i: usize) -> Option<usize> {
        let at = i * self.width;
        let stored = self.table.get(at..at + self.width)?;
        let mut bytes = [0; 4];
        bytes[..self.width].copy_from_slice(stored);
        Some(u32::from_le_bytes(bytes) as usize)
    }

    pub(super) fn record(&self, i: usize) -> Option<(&'a [u8], Stored<'a>)> {
        if i >= self.count {
            return None;
        }
        match self.layout {
            Layout::Dense { key, value } => {
                let at = i * (key + value);
                let (key, value) = self.body.get(at..at + key + value)?.split_at(key);
                Some((key, Stored::Inline(value)))
            }
            Layout::Slotted => split_entry(self.body.get(self.start(i)?..self.start(i + 1)?)?),
        }
    }

    pub(super) fn key(&self, i: usize) -> Option<&'a [u8]> {
        if let (Layout::Dense { key, value }, true) = (self.layout, i < self.count) {
            let at = i * (key + value);
            return self.body.get(at..at + key);
        }
        self.record(i).map(|(key, _)| key)
    }

    /// The first record at or behind a place; the number of records where all lie before it.
    pub(super) fn lower_bound(&self, probe: &Probe<'_>) -> Option<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if probe.passes(self.key(middle)?) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low)
    }
}
