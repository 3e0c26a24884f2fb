//! Columnar blocks: keys, suffixes, kinds and values in a column each, with shared prefixes and constant columns stored
//! once.
//!
//! ```text
//! head:    flags u8 | bytes of a suffix u8 | tag u8 | 0 | prefix u32 | key u32 | value u32 | least suffix u64
//! columns: prefix | ends of keys | ends of values | suffixes | tags | keys | values | zeros | trailer
//! ```
//!
//! All keys of the block begin with the prefix, which is stored once. If all keys have the same length, `key` is the
//! length without the prefix, and there are no ends of keys; the same holds for values. Ends count from the start of
//! their column, in u16 in blocks of at most 64 KiB, else in u32. A suffix is stored as its difference from the least
//! one, in as few bytes as possible: none if all are equal. Tags take one byte a record, and none if all are equal.
//! Suffix and tag are a version's sequence number and kind.

use super::parts::{VersionTag, start_bytes};
use std::ops::Range;

/// Size of the head in bytes.
pub(in crate::table) const HEAD_BYTES: usize = 24;
/// Flags of the head.
const FIXED_KEY_LENGTH_FLAG: u8 = 1;
const FIXED_VALUE_LENGTH_FLAG: u8 = 2;
const MIXED_KINDS_FLAG: u8 = 4;

/// The properties shared by the records of a block, from which its size follows; updated record by record.
#[derive(Clone, Copy, Debug)]
pub(in crate::table) struct ColumnShape {
    pub(in crate::table) count: usize,
    /// Bytes of all keys, and of all values.
    pub(in crate::table) key_bytes: usize,
    pub(in crate::table) value_bytes: usize,
    pub(in crate::table) prefix: usize,
    pub(in crate::table) one_key_length: bool,
    pub(in crate::table) one_value_length: bool,
    pub(in crate::table) one_tag: bool,
    pub(in crate::table) least_sequence: u64,
    pub(in crate::table) largest_sequence: u64,
}

impl ColumnShape {
    /// Size of a stored sequence number in bytes.
    fn sequence_bytes(&self) -> usize {
        (u64::BITS - (self.largest_sequence - self.least_sequence).leading_zeros()).div_ceil(8) as usize
    }

    /// Size of the block without padding and trailer, if an end takes `end_bytes`.
    pub(in crate::table) fn bytes(&self, end_bytes: usize) -> usize {
        let ends = usize::from(!self.one_key_length) + usize::from(!self.one_value_length);
        let each = ends * end_bytes + self.sequence_bytes() + usize::from(!self.one_tag);
        let keys = self.key_bytes - (self.count - 1) * self.prefix;
        HEAD_BYTES + keys + self.value_bytes + self.count * each
    }

    fn flags(&self) -> u8 {
        let flag = |on: bool, flag: u8| if on { flag } else { 0 };
        flag(self.one_key_length, FIXED_KEY_LENGTH_FLAG)
            | flag(self.one_value_length, FIXED_VALUE_LENGTH_FLAG)
            | flag(!self.one_tag, MIXED_KINDS_FLAG)
    }
}

/// The records of a block to be encoded.
pub(in crate::table) trait ColumnRows {
    fn key(&self, row: usize) -> &[u8];
    fn value(&self, row: usize) -> &[u8];
    fn tag(&self, row: usize) -> VersionTag;
}

/// Appends the columns of `rows` to `raw`, for a block whose ends take `end_bytes`.
pub(in crate::table) fn encode(shape: &ColumnShape, rows: &impl ColumnRows, end_bytes: usize, raw: &mut Vec<u8>) {
    let (count, prefix) = (shape.count, shape.prefix);
    let one = |on: bool, length: usize| if on { length as u32 } else { 0 };
    let sequence_bytes = shape.sequence_bytes();
    raw.extend_from_slice(&[shape.flags(), sequence_bytes as u8, if shape.one_tag { rows.tag(0).kind } else { 0 }, 0]);
    raw.extend_from_slice(&(prefix as u32).to_le_bytes());
    raw.extend_from_slice(&one(shape.one_key_length, rows.key(0).len() - prefix).to_le_bytes());
    raw.extend_from_slice(&one(shape.one_value_length, rows.value(0).len()).to_le_bytes());
    raw.extend_from_slice(&shape.least_sequence.to_le_bytes());
    raw.extend_from_slice(&rows.key(0)[..prefix]);
    let mut ends = |is_one: bool, length: &dyn Fn(usize) -> usize| {
        let mut end = 0;
        for row in (0..count).filter(|_| !is_one) {
            end += length(row);
            raw.extend_from_slice(&(end as u32).to_le_bytes()[..end_bytes]);
        }
    };
    ends(shape.one_key_length, &|row| rows.key(row).len() - prefix);
    ends(shape.one_value_length, &|row| rows.value(row).len());
    for row in (0..count).filter(|_| sequence_bytes > 0) {
        raw.extend_from_slice(&(rows.tag(row).sequence - shape.least_sequence).to_le_bytes()[..sequence_bytes]);
    }
    raw.extend((0..count).filter(|_| !shape.one_tag).map(|row| rows.tag(row).kind));
    for row in 0..count {
        raw.extend_from_slice(&rows.key(row)[prefix..]);
    }
    for row in 0..count {
        raw.extend_from_slice(rows.value(row));
    }
}

/// The offsets of a block's columns. Every access is total: whatever a corrupt block lacks is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) struct Columns {
    pub(in crate::table) count: usize,
    pub(in crate::table) prefix: usize,
    /// Length of every stored key, and of every value, if it is the same.
    pub(in crate::table) key: Option<usize>,
    pub(in crate::table) value: Option<usize>,
    /// The kind of all records, if it is the same.
    pub(in crate::table) kind: Option<u8>,
    least_sequence: u64,
    pub(in crate::table) sequence_bytes: usize,
    pub(in crate::table) end_bytes: usize,
    key_ends_at: usize,
    value_ends_at: usize,
    sequences_at: usize,
    kinds_at: usize,
    pub(in crate::table) keys_at: usize,
    pub(in crate::table) values_at: usize,
    /// The end of the values.
    pub(in crate::table) end: usize,
}

impl Columns {
    /// Decodes the head of a block of `count` records whose body ends at `body_end`; `block_bytes` includes the
    /// trailer.
    pub(in crate::table) fn parse(raw: &[u8], body_end: usize, count: usize) -> Option<Self> {
        let head = raw.get(..HEAD_BYTES.min(body_end))?;
        let word = |at: usize| Some(u32::from_le_bytes(*head.get(at..)?.first_chunk()?) as usize);
        let (flags, sequence_bytes) = (*head.first()?, usize::from(*head.get(1)?));
        let least_sequence = u64::from_le_bytes(*head.get(16..)?.first_chunk()?);
        if flags > (FIXED_KEY_LENGTH_FLAG | FIXED_VALUE_LENGTH_FLAG | MIXED_KINDS_FLAG)
            || sequence_bytes > 8
            || head.get(3) != Some(&0)
        {
            return None;
        }
        let has = |flag: u8| flags & flag != 0;
        let prefix = word(4)?;
        let end_bytes = start_bytes(raw.len());
        let (key, value) = (
            if has(FIXED_KEY_LENGTH_FLAG) { Some(word(8)?) } else { None },
            if has(FIXED_VALUE_LENGTH_FLAG) { Some(word(12)?) } else { None },
        );
        let kind = if has(MIXED_KINDS_FLAG) { None } else { head.get(2).copied() };
        let key_ends_at = HEAD_BYTES.checked_add(prefix)?;
        let ends = |one: Option<usize>| if one.is_some() { Some(0) } else { count.checked_mul(end_bytes) };
        let value_ends_at = key_ends_at.checked_add(ends(key)?)?;
        let sequences_at = value_ends_at.checked_add(ends(value)?)?;
        let kinds_at = sequences_at.checked_add(count.checked_mul(sequence_bytes)?)?;
        let keys_at = kinds_at.checked_add(if kind.is_none() { count } else { 0 })?;
        let mut columns = Self {
            count,
            prefix,
            key,
            value,
            kind,
            least_sequence,
            sequence_bytes,
            end_bytes,
            key_ends_at,
            value_ends_at,
            sequences_at,
            kinds_at,
            keys_at,
            values_at: 0,
            end: 0,
        };
        (keys_at <= body_end).then_some(())?;
        let column = |one: Option<usize>, ends_at: usize| match (one, count.checked_sub(1)) {
            (Some(length), _) => length.checked_mul(count),
            (None, Some(last)) => columns.end_at(raw, ends_at, last),
            (None, None) => Some(0),
        };
        let values_at = keys_at.checked_add(column(key, key_ends_at)?)?;
        let end = values_at.checked_add(column(value, value_ends_at)?)?;
        (columns.values_at, columns.end) = (values_at, end);
        (end <= body_end).then_some(columns)
    }

    /// The columns of a block, with what [`Self::parse`] found: the number of records, the lengths of the prefix and
    /// of the rest of each key, that of each value if it is the same, the common kind, the sizes of a suffix and of an
    /// end, and where the keys begin.
    #[inline]
    pub(super) fn with_one_key_length(
        (raw, count, prefix, key): (&[u8], usize, usize, usize),
        value: Option<usize>,
        kind: Option<u8>,
        sequence_bytes: usize,
        end_bytes: usize,
        keys_at: usize,
    ) -> Option<Self> {
        let kinds_at = keys_at.checked_sub(if kind.is_none() { count } else { 0 })?;
        Some(Self {
            count,
            prefix,
            key: Some(key),
            value,
            kind,
            least_sequence: u64::from_le_bytes(*raw.get(16..)?.first_chunk()?),
            sequence_bytes,
            end_bytes,
            key_ends_at: HEAD_BYTES + prefix,
            value_ends_at: HEAD_BYTES + prefix,
            sequences_at: kinds_at.checked_sub(count * sequence_bytes)?,
            kinds_at,
            keys_at,
            values_at: keys_at + count * key,
            end: raw.len(),
        })
    }

    #[inline]
    fn end_at(&self, raw: &[u8], ends_at: usize, row: usize) -> Option<usize> {
        let at = ends_at + row * self.end_bytes;
        match self.end_bytes {
            2 => Some(usize::from(u16::from_le_bytes(*raw.get(at..)?.first_chunk()?))),
            _ => Some(u32::from_le_bytes(*raw.get(at..)?.first_chunk()?) as usize),
        }
    }

    #[inline]
    fn cell(
        &self,
        raw: &[u8],
        row: usize,
        one: Option<usize>,
        ends_at: usize,
        column: Range<usize>,
    ) -> Option<Range<usize>> {
        if row >= self.count {
            return None;
        }
        let (begin, end) = match one {
            Some(length) => (row * length, (row + 1) * length),
            None => {
                let begin = if row == 0 { 0 } else { self.end_at(raw, ends_at, row - 1)? };
                (begin, self.end_at(raw, ends_at, row)?)
            }
        };
        let (begin, end) = (column.start.checked_add(begin)?, column.start.checked_add(end)?);
        (begin <= end && end <= column.end).then_some(begin..end)
    }

    /// The common prefix of all keys.
    pub(in crate::table) fn prefix<'a>(&self, raw: &'a [u8]) -> Option<&'a [u8]> {
        raw.get(HEAD_BYTES..HEAD_BYTES + self.prefix)
    }

    /// A key without the prefix.
    #[inline]
    pub(in crate::table) fn key_rest<'a>(&self, raw: &'a [u8], row: usize) -> Option<&'a [u8]> {
        raw.get(self.cell(raw, row, self.key, self.key_ends_at, self.keys_at..self.values_at)?)
    }

    /// The range of a value in the block.
    #[inline]
    pub(in crate::table) fn value(&self, raw: &[u8], row: usize) -> Option<Range<usize>> {
        self.cell(raw, row, self.value, self.value_ends_at, self.values_at..self.end)
    }

    #[inline]
    pub(in crate::table) fn tag(&self, raw: &[u8], row: usize) -> Option<VersionTag> {
        if row >= self.count {
            return None;
        }
        let kind = match self.kind {
            Some(kind) => kind,
            None => *raw.get(self.kinds_at + row)?,
        };
        if self.sequence_bytes == 0 {
            return Some(VersionTag { kind, sequence: self.least_sequence });
        }
        let at = self.sequences_at + row * self.sequence_bytes;
        let mut beyond = [0; 8];
        beyond[..self.sequence_bytes].copy_from_slice(raw.get(at..at + self.sequence_bytes)?);
        Some(VersionTag { kind, sequence: self.least_sequence.checked_add(u64::from_le_bytes(beyond))? })
    }

    /// Whether the block is laid out as the writer does it, except for the choice of a prefix.
    pub(in crate::table) fn is_canonical(&self, raw: &[u8], body_end: usize) -> bool {
        let rises = |one: Option<usize>, ends_at: usize| {
            one.is_some()
                || (1..self.count).all(|row| self.end_at(raw, ends_at, row - 1) <= self.end_at(raw, ends_at, row))
        };
        rises(self.key, self.key_ends_at)
            && rises(self.value, self.value_ends_at)
            && raw.get(self.end..body_end).is_some_and(|rest| rest.iter().all(|&byte| byte == 0))
    }
}
