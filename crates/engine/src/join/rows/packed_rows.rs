//! Rows of any length, packed one after another for the hand-over between threads: a header with the lengths of key,
//! left and right value, then their bytes.

use crate::error::{Error, Result};

/// Bytes of the header of a row.
pub(in crate::join) const ROW_HEADER_BYTES: usize = 12;
/// The length that stands for an absent value.
const NO_VALUE: u32 = u32::MAX;

/// Key, left and right value.
pub(in crate::join) type PackedRow<'a> = (&'a [u8], Option<&'a [u8]>, Option<&'a [u8]>);

/// Size of a row in bytes.
pub(in crate::join) fn packed_bytes((key, left, right): PackedRow<'_>) -> usize {
    ROW_HEADER_BYTES + key.len() + left.map_or(0, <[u8]>::len) + right.map_or(0, <[u8]>::len)
}

/// Appends a row.
pub(in crate::join) fn pack((key, left, right): PackedRow<'_>, rows: &mut Vec<u8>) {
    let length = |value: Option<&[u8]>| value.map_or(NO_VALUE, |value| value.len() as u32);
    let lengths = [key.len() as u32, length(left), length(right)];
    lengths.iter().for_each(|length| rows.extend_from_slice(&length.to_le_bytes()));
    [Some(key), left, right].into_iter().flatten().for_each(|part| rows.extend_from_slice(part));
}

/// The first row, and those behind it; `None` if there is no further row.
///
/// # Errors
/// [`Cause::Input`](crate::Cause::Input) for bytes that end within a row.
#[inline]
pub(in crate::join) fn unpack(rows: &[u8]) -> Result<Option<(PackedRow<'_>, &[u8])>> {
    let Some((head, rest)) = rows.split_first_chunk::<ROW_HEADER_BYTES>() else { return Ok(None) };
    let length = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let value_bytes = |at: usize| Some(length(at)).filter(|&bytes| bytes != NO_VALUE);
    let (left_bytes, right_bytes) = (value_bytes(4), value_bytes(8));
    let split = || {
        let (key, rest) = rest.split_at_checked(length(0) as usize)?;
        let (left, rest) = rest.split_at_checked(left_bytes.unwrap_or(0) as usize)?;
        let (right, rest) = rest.split_at_checked(right_bytes.unwrap_or(0) as usize)?;
        Some(((key, left_bytes.map(|_| left), right_bytes.map(|_| right)), rest))
    };
    split().map(Some).ok_or_else(|| Error::input("a batch of rows is truncated"))
}
