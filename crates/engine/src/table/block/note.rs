//! Notes of blocks: what the cache keeps with a block, so that a lookup need not decode its head, nor read its trailer.
//!
//! ```text
//! columns:  form and number of records | prefix, rest of a key | value | offset of the keys | kind, suffix, flags
//! dense:    form and number of records
//! coded:    form, alphabet and number of records | prefix, window, bytes of the first number | six offsets
//! ```
//!
//! Of blocks with keys of several lengths, and of those with numbers that do not fit, the note is only the form, or
//! zeros: their heads are decoded.

use super::coded::{CodedBlock, CodedNote};
use super::columns::Columns;
use crate::block::cache::BlockNote;

/// The form, in the upper two bits of the first word of a note; 0 for none.
const FORM_SHIFT: u32 = 30;
const CODED: u32 = 1;
const COLUMNS: u32 = 2;
const DENSE: u32 = 3;
const COUNT_MASK: u32 = (1 << FORM_SHIFT) - 1;
/// Bits of the number of records in the note of a coded block; an alphabet follows.
const CODED_COUNT_BITS: u32 = 24;
const CODED_ALPHABET_MASK: u8 = 7;
/// Flags in the last word of the note of columns: records have different kinds; values have ends, of two bytes or of
/// four.
const MIXED_KINDS_FLAG: u32 = 1 << 16;
const VALUE_ENDS_FLAG: u32 = 1 << 17;
const WIDE_ENDS_FLAG: u32 = 1 << 18;

/// The form that a note states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) enum NotedForm {
    /// The head of the block must be decoded.
    None,
    Dense,
    Columns,
    Coded,
}

/// The note of dense records.
pub(super) fn of_dense(count: usize) -> Option<BlockNote> {
    let count = u32::try_from(count).ok().filter(|&count| count <= COUNT_MASK)?;
    Some([DENSE << FORM_SHIFT | count, 0, 0, 0, 0])
}

/// The note of columns; `None` if their keys have several lengths.
pub(super) fn of_columns(columns: &Columns) -> Option<BlockNote> {
    let flag = |on: bool, flag: u32| if on { flag } else { 0 };
    let more = u32::from(columns.kind.unwrap_or(0))
        | (columns.sequence_bytes as u32) << 8
        | flag(columns.kind.is_none(), MIXED_KINDS_FLAG)
        | flag(columns.value.is_none(), VALUE_ENDS_FLAG)
        | flag(columns.end_bytes > 2, WIDE_ENDS_FLAG);
    let shape = u32::from(u16::try_from(columns.prefix).ok()?) << 16 | u32::from(u16::try_from(columns.key?).ok()?);
    let count = u32::try_from(columns.count).ok().filter(|count| (1..=COUNT_MASK).contains(count))?;
    let value = u32::try_from(columns.value.unwrap_or(0)).ok()?;
    Some([COLUMNS << FORM_SHIFT | count, shape, value, u32::try_from(columns.keys_at).ok()?, more])
}

/// The note of a coded block; `None` if a number is too large for it.
pub(super) fn of_coded(coded: &CodedBlock) -> Option<BlockNote> {
    let note = coded.note().filter(|note| (1..1 << CODED_COUNT_BITS).contains(&note.count))?;
    let pair = |low: usize| u32::from(note.offsets[low]) | u32::from(note.offsets[low + 1]) << 16;
    let head = CODED << FORM_SHIFT | u32::from(note.alphabet) << CODED_COUNT_BITS | note.count;
    let keys = u32::from(note.prefix) | u32::from(note.window) << 16 | u32::from(note.first_bytes) << 24;
    Some([head, keys, pair(0), pair(2), pair(4)])
}

/// The form that a note states.
#[inline]
pub(in crate::table) fn form_of(note: &BlockNote) -> NotedForm {
    match note[0] >> FORM_SHIFT {
        COLUMNS => NotedForm::Columns,
        CODED => NotedForm::Coded,
        DENSE => NotedForm::Dense,
        _ => NotedForm::None,
    }
}

/// The number of records, by the note of dense records.
#[inline]
pub(in crate::table) fn dense_count(note: &BlockNote) -> usize {
    (note[0] & COUNT_MASK) as usize
}

/// The columns that a note is of.
#[inline]
pub(in crate::table) fn columns(note: &BlockNote, raw: &[u8]) -> Option<Columns> {
    let [head, shape, value, keys_at, more] = *note;
    let has = |flag: u32| more & flag != 0;
    let (prefix, key) = ((shape >> 16) as usize, (shape & 0xFFFF) as usize);
    Columns::with_one_key_length(
        (raw, (head & COUNT_MASK) as usize, prefix, key),
        (!has(VALUE_ENDS_FLAG)).then_some(value as usize),
        (!has(MIXED_KINDS_FLAG)).then_some(more as u8),
        (more >> 8 & 0xFF) as usize,
        if has(WIDE_ENDS_FLAG) { 4 } else { 2 },
        keys_at as usize,
    )
}

/// The coded block that a note is of.
#[inline]
pub(in crate::table) fn coded(note: &BlockNote, raw: &[u8]) -> Option<CodedBlock> {
    CodedBlock::of_note(raw, &coded_note(note))
}

#[inline]
fn coded_note(note: &BlockNote) -> CodedNote {
    let [head, keys, columns @ ..] = *note;
    let [one, two, three] = columns.map(|pair| [pair as u16, (pair >> 16) as u16]);
    CodedNote {
        count: head & ((1 << CODED_COUNT_BITS) - 1),
        alphabet: (head >> CODED_COUNT_BITS) as u8 & CODED_ALPHABET_MASK,
        first_bytes: (keys >> 24) as u8,
        window: (keys >> 16) as u8,
        prefix: keys as u16,
        offsets: [one[0], one[1], two[0], two[1], three[0], three[1]],
    }
}
