//! Coded blocks: keys, sequence numbers, value kinds and values as coded columns of numbers.
//!
//! ```text
//! head:   lead u8 | flags u8 | spans u8 | kind u8 | value u32 | sequence u64
//! spans:  alphabet u8 (0: literal), length u8, for each part of a key | literal bytes
//! columns: numbers of keys, one column for each span that is no literal | sequences | kinds | values or their ends
//! values, unless they are columns | zeros | trailer
//! ```
//!
//! All keys have one length, unless they are [front-coded](front); then there are no spans. `lead` is the number of
//! records by which the block begins after the start of a group ([`ogive_model::column`]); it holds for all columns.
//! `value` is the length of every value, unless there are ends, which count from a number stored before the columns.
//! Where all sequence numbers or kinds are the same, the head has them. Values of up to 16 bytes may be numbers too: of
//! the last 8 bytes, and of those before.

use super::columns::ColumnRows;
use super::key_code::{Alphabet, KEY_WORDS_MAX, KeyCode, against_literal};
use super::parts::KEY_WINDOW_BYTES_MAX;
use super::parts::{ShortValue, SplitKey, ValueLocation, VersionTag, start_bytes};
use ogive_model::column::{self, Column, ColumnGroup, GROUP_NUMBERS};
use std::cmp::Ordering;
use std::ops::Range;

mod cursor;
mod front;

pub(in crate::table) use cursor::CodedCursor;
pub(crate) use front::FrontKeys;
pub(in crate::table) use front::{
    FRONT_PREFIX_BYTES_MAX, FRONT_RESTART_RECORDS, FRONT_SHARED_BYTES_MAX, FrontParts, front_head_bytes,
};

/// Size of the head in bytes.
pub(in crate::table) const CODED_HEAD_BYTES: usize = 16;
/// Bytes of a stored span, and of the number from which the ends of values count.
pub(in crate::table) const SPAN_BYTES: usize = 2;
pub(in crate::table) const ENDS_FROM_BYTES: usize = 8;
/// Flags of the head.
const SEQUENCES_FLAG: u8 = 1;
const KINDS_FLAG: u8 = 2;
const VALUE_ENDS_FLAG: u8 = 4;
const VALUE_WORDS_FLAG: u8 = 8;
const LITTLE_ENDIAN_FLAG: u8 = 16;
const FRONT_FLAG: u8 = 32;
/// Most columns of such a value.
pub(in crate::table) const VALUE_WORDS_MAX: usize = 2;
/// Most spans of a key: numbers with literals around each.
const SPANS_MAX: usize = 2 * KEY_WORDS_MAX + 1;
/// In place of an alphabet in a note: keys are front-coded.
const FRONT_NOTE: u8 = 7;
/// Columns of front-coded keys.
const FRONT_COLUMNS: usize = 2;

/// How the values of a block are stored.
#[derive(Clone, Debug)]
pub(in crate::table) enum ValueCoding<'a> {
    /// One after another, with one length.
    Plain { width: usize },
    /// One after another; the groups are of their ends, and `from` is where the first begins.
    Ends { groups: &'a [ColumnGroup], from: u64 },
    /// As columns.
    Words { width: usize, is_little_endian: bool, groups: Vec<&'a [ColumnGroup]> },
}

/// The fitted columns of a block.
#[derive(Clone, Debug)]
pub(in crate::table) struct CodedParts<'a> {
    pub(in crate::table) lead: usize,
    pub(in crate::table) count: usize,
    pub(in crate::table) code: &'a KeyCode,
    /// For each number of the code.
    pub(in crate::table) words: Vec<&'a [ColumnGroup]>,
    /// Instead of numbers.
    pub(in crate::table) front: Option<FrontParts<'a>>,
    /// `None` if they are all the same.
    pub(in crate::table) sequences: Option<&'a [ColumnGroup]>,
    pub(in crate::table) kinds: Option<&'a [ColumnGroup]>,
    pub(in crate::table) values: ValueCoding<'a>,
}

/// Whether a column has one number only, so that the head or a literal can have it.
pub(in crate::table) fn is_constant(groups: &[ColumnGroup]) -> bool {
    let mut size = column::ColumnSize::new(0);
    groups.iter().for_each(|group| size.push(group));
    size.is_constant()
}

/// The numbers of a value: its last 8 bytes, and those before.
pub(in crate::table) fn value_word(value: &[u8], word: usize, is_little_endian: bool) -> u64 {
    let range = value_word_range(value.len(), word);
    let bytes = value.get(range).unwrap_or_default();
    let fold = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
    if is_little_endian { bytes.iter().rev().fold(0, fold) } else { bytes.iter().fold(0, fold) }
}

fn value_word_range(width: usize, word: usize) -> Range<usize> {
    let end = width.saturating_sub(8 * word);
    end.saturating_sub(8)..end
}

/// Number of columns for values of a width.
pub(in crate::table) fn value_words(width: usize) -> usize {
    width.div_ceil(8)
}

/// Appends the block of `rows`, without padding and trailer, whose starts take `start_bytes`.
pub(in crate::table) fn encode(parts: &CodedParts<'_>, rows: &impl ColumnRows, start_bytes: usize, raw: &mut Vec<u8>) {
    let (tag, first_key) = (rows.tag(0), rows.key(0));
    let flag = |on: bool, flag: u8| if on { flag } else { 0 };
    let (width, values_flags) = match &parts.values {
        ValueCoding::Plain { width } => (*width, 0),
        ValueCoding::Ends { .. } => (0, VALUE_ENDS_FLAG),
        ValueCoding::Words { width, is_little_endian, .. } => {
            (*width, VALUE_WORDS_FLAG | flag(*is_little_endian, LITTLE_ENDIAN_FLAG))
        }
    };
    let flags = flag(parts.sequences.is_some(), SEQUENCES_FLAG)
        | flag(parts.kinds.is_some(), KINDS_FLAG)
        | flag(parts.front.is_some(), FRONT_FLAG)
        | values_flags;
    raw.extend_from_slice(&[parts.lead as u8, flags, parts.code.spans.len() as u8, tag.kind]);
    raw.extend_from_slice(&(width as u32).to_le_bytes());
    raw.extend_from_slice(&if parts.sequences.is_some() { 0 } else { tag.sequence }.to_le_bytes());
    if parts.kinds.is_some() {
        let kind_at = raw.len() - CODED_HEAD_BYTES + 3;
        raw[kind_at] = 0;
    }
    let mut words = parts.words.iter();
    let mut literals = Vec::new();
    let mut at = 0;
    for span in &parts.code.spans {
        let varies = span.alphabet.filter(|_| words.next().is_some_and(|groups| !is_constant(groups)));
        raw.extend_from_slice(&[varies.map_or(0, Alphabet::code), span.length as u8]);
        if varies.is_none() {
            literals.extend_from_slice(&first_key[at..at + span.length]);
        }
        at += span.length;
    }
    raw.extend_from_slice(&literals);
    if let Some(front) = &parts.front {
        front::encode_head((front, parts.lead), rows, start_bytes, raw);
    }
    if let ValueCoding::Ends { from, .. } = parts.values {
        raw.extend_from_slice(&from.to_le_bytes());
    }
    if let Some(front) = &parts.front {
        front::encode_columns((front, parts), rows, start_bytes, raw);
    }
    encode_columns(parts, rows, start_bytes, raw);
    if let Some(front) = &parts.front {
        front::encode_suffixes(front, rows, raw);
    }
    if !matches!(parts.values, ValueCoding::Words { .. }) {
        (0..parts.count).for_each(|row| raw.extend_from_slice(rows.value(row)));
    }
}

/// Appends the columns of numbers of keys, of sequence numbers, kinds, and values or their ends.
fn encode_columns(parts: &CodedParts<'_>, rows: &impl ColumnRows, start_bytes: usize, raw: &mut Vec<u8>) {
    let mut put = |groups: &[ColumnGroup], number: &dyn Fn(usize) -> u64| {
        column::encode(groups, parts.lead, parts.count, start_bytes, number, raw);
    };
    for (groups, (alphabet, range)) in parts.words.iter().zip(parts.code.words()) {
        if !is_constant(groups) {
            put(groups, &|row| alphabet.number(&rows.key(row)[range.clone()]).unwrap_or(0));
        }
    }
    if let Some(groups) = parts.sequences {
        put(groups, &|row| rows.tag(row).sequence);
    }
    if let Some(groups) = parts.kinds {
        put(groups, &|row| u64::from(rows.tag(row).kind));
    }
    match &parts.values {
        ValueCoding::Words { is_little_endian, groups, .. } => {
            for (word, groups) in groups.iter().enumerate() {
                put(groups, &|row| value_word(rows.value(row), word, *is_little_endian));
            }
        }
        ValueCoding::Ends { groups, from } => {
            let ends = (0..parts.count).scan(*from, |end, row| {
                *end += rows.value(row).len() as u64;
                Some(*end)
            });
            let ends: Vec<u64> = ends.collect();
            put(groups, &|row| ends[row]);
        }
        ValueCoding::Plain { .. } => {}
    }
}

/// A number of the keys, and where it is in them.
#[derive(Clone, Copy, Debug)]
struct KeyWord {
    alphabet: Alphabet,
    length: u8,
    column: Column,
}

/// A part of all keys of a block.
enum KeyPart<'a> {
    Literal(&'a [u8]),
    Number(Alphabet, Column),
}

/// How the values of a stored block are found.
#[derive(Clone, Copy, Debug)]
enum StoredValues {
    Plain,
    /// Ends in a column.
    Ends,
    Words {
        is_little_endian: bool,
    },
}

impl StoredValues {
    fn of(flags: u8) -> Self {
        match (flags & VALUE_ENDS_FLAG != 0, flags & VALUE_WORDS_FLAG != 0) {
            (true, _) => Self::Ends,
            (_, true) => Self::Words { is_little_endian: flags & LITTLE_ENDIAN_FLAG != 0 },
            _ => Self::Plain,
        }
    }
}

/// The parts of all keys of a block.
#[derive(Default)]
struct KeyParts {
    /// Bytes of all literals, of those that keys begin with, and of what follows these.
    literals: usize,
    prefix: usize,
    window: usize,
    /// Number of numbers, and the first.
    words: usize,
    first: Option<(Alphabet, usize)>,
}

impl KeyParts {
    /// Decodes spans.
    fn of(spans: &[u8]) -> Option<Self> {
        let mut parts = Self::default();
        for &[code, length] in spans.as_chunks::<SPAN_BYTES>().0 {
            let length = usize::from(length);
            parts.literals += if code == 0 { length } else { 0 };
            if code == 0 && parts.first.is_none() {
                parts.prefix += length;
                continue;
            }
            parts.window += length;
            if code != 0 {
                let alphabet =
                    Alphabet::of_code(code).filter(|alphabet| (1..=alphabet.length_max()).contains(&length))?;
                parts.first.get_or_insert((alphabet, length));
                parts.words += 1;
            }
        }
        (parts.window <= KEY_WINDOW_BYTES_MAX).then_some(parts)
    }
}

/// The parts of a coded block. Every access is total: whatever a corrupt block lacks is `None`.
///
/// It is copied with each view of a block, so it is small: columns that a search does not need are decoded when they
/// are used.
#[derive(Clone, Copy, Debug)]
pub(in crate::table) struct CodedBlock {
    sequence: u64,
    /// The number from which the ends of values count.
    ends_from: u64,
    /// The number right after the literal that all keys begin with; `None` if all keys are the same.
    first: Option<KeyWord>,
    count: u32,
    /// Offsets: of the literals; of the columns of further numbers of keys, of sequence numbers, of value kinds, of
    /// values or their ends, with 0 for none; of plain values.
    literals_at: u32,
    words_at: u32,
    sequences_at: u32,
    kinds_at: u32,
    values_column_at: u32,
    values_at: u32,
    /// Offset of the suffixes of front-coded keys, which have two columns in the place of numbers; 0 if there are none.
    suffixes_at: u32,
    /// Length of every value, if it is the same.
    value: u32,
    end: u32,
    values: StoredValues,
    /// Length of the literal that all keys begin with, and of the rest of each key.
    prefix: u16,
    window: u8,
    spans: u8,
    lead: u8,
    kind: u8,
    start_bytes: u8,
}

/// Where the parts of a coded block are. It is kept with the cached block, so that lookups need not follow the chain of
/// columns, nor read the trailer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) struct CodedNote {
    pub(in crate::table) count: u32,
    /// Alphabet of the first number of keys, with 0 for none and [`FRONT_NOTE`] for front-coded keys, and its length.
    pub(in crate::table) alphabet: u8,
    pub(in crate::table) first_bytes: u8,
    pub(in crate::table) window: u8,
    pub(in crate::table) prefix: u16,
    /// Of the columns of that number, or of the suffixes of front-coded keys; of the columns of further numbers, of
    /// sequence numbers, of kinds, and of values; of plain values.
    pub(in crate::table) offsets: [u16; 6],
}

impl CodedBlock {
    /// Decodes the head of a block of `count` records whose body ends at `body_end`; `raw` includes the trailer.
    pub(in crate::table) fn parse(raw: &[u8], body_end: usize, count: usize) -> Option<Self> {
        let body = raw.get(..body_end)?;
        let [lead, flags, spans, kind] = *body.first_chunk()?;
        let value = u32::from_le_bytes(*body.get(4..)?.first_chunk()?);
        let sequence = u64::from_le_bytes(*body.get(8..)?.first_chunk()?);
        let has = |flag: u8| flags & flag != 0;
        if count == 0 || !are_known(flags, spans) {
            return None;
        }
        let literals_at = CODED_HEAD_BYTES + usize::from(spans) * SPAN_BYTES;
        let keys = KeyParts::of(body.get(CODED_HEAD_BYTES..literals_at)?)?;
        let start_bytes = start_bytes(raw.len());
        let mut at = literals_at + keys.literals;
        if has(FRONT_FLAG) {
            at = front::head_end(body, at, groups_of(lead, count)?, start_bytes)?;
        }
        let mut ends_from = 0;
        if has(VALUE_ENDS_FLAG) {
            ends_from = u64::from_le_bytes(*body.get(at..)?.first_chunk()?);
            at += ENDS_FROM_BYTES;
        }
        // Goes past some columns; returns where they begin, or 0 if there are none.
        let mut pass = |columns: usize| {
            let begin = at;
            for _ in 0..columns {
                at = Column::parse(body, at, usize::from(lead), count, start_bytes)?.end();
            }
            u32::try_from(if columns > 0 { begin } else { 0 }).ok()
        };
        let first_at = pass(keys.words.min(1))?;
        let words_at = pass(if has(FRONT_FLAG) { FRONT_COLUMNS } else { keys.words.saturating_sub(1) })?;
        let (sequences_at, kinds_at) = (pass(usize::from(has(SEQUENCES_FLAG)))?, pass(usize::from(has(KINDS_FLAG)))?);
        let value_columns = match has(VALUE_WORDS_FLAG) {
            true => Some(value_words(value as usize)).filter(|&words| words <= VALUE_WORDS_MAX)?,
            false => usize::from(has(VALUE_ENDS_FLAG)),
        };
        let values_column_at = pass(value_columns)?;
        let mut block = Self {
            sequence,
            ends_from,
            first: None,
            count: u32::try_from(count).ok()?,
            literals_at: literals_at as u32,
            words_at,
            sequences_at,
            kinds_at,
            values_column_at,
            values_at: u32::try_from(at).ok()?,
            suffixes_at: 0,
            value,
            end: 0,
            values: StoredValues::of(flags),
            prefix: keys.prefix as u16,
            window: keys.window as u8,
            spans,
            lead,
            kind,
            start_bytes: start_bytes as u8,
        };
        if let Some((alphabet, length)) = keys.first {
            block.first = Some(KeyWord { alphabet, length: length as u8, column: block.column(raw, first_at)? });
        }
        if has(FRONT_FLAG) {
            (block.suffixes_at, block.values_at) =
                (block.values_at, block.values_at.checked_add(block.suffix_bytes(raw)?)?);
        }
        let end = (block.values_at as usize).checked_add(block.plain_value_bytes(raw)?);
        block.end = u32::try_from(end.filter(|&end| end <= body_end)?).ok()?;
        Some(block)
    }

    /// Where the parts of the block are, for [`Self::of_note`]; `None` if an offset or a number is too large.
    pub(in crate::table) fn note(&self) -> Option<CodedNote> {
        let half = |number: usize| u16::try_from(number).ok();
        let offset = |at: u32| u16::try_from(at).ok();
        let first = self.first.as_ref();
        let first_at = half(first.map_or(self.suffixes_at as usize, |first| first.column.begin()))?;
        let unless_number = if self.is_front() { FRONT_NOTE } else { 0 };
        Some(CodedNote {
            count: self.count,
            alphabet: first.map_or(unless_number, |first| first.alphabet.code()),
            first_bytes: first.map_or(0, |first| first.length),
            window: self.window,
            prefix: self.prefix,
            offsets: [
                first_at,
                offset(self.words_at)?,
                offset(self.sequences_at)?,
                offset(self.kinds_at)?,
                offset(self.values_column_at)?,
                offset(self.values_at)?,
            ],
        })
    }

    /// The block that a note is of, without its trailer, and without a look at every column.
    #[inline]
    pub(in crate::table) fn of_note(raw: &[u8], note: &CodedNote) -> Option<Self> {
        let head: &[u8; CODED_HEAD_BYTES] = raw.first_chunk()?;
        let [lead, flags, spans, kind] = *head.first_chunk()?;
        let literals_at = CODED_HEAD_BYTES + usize::from(spans) * SPAN_BYTES;
        let values = StoredValues::of(flags);
        let is_front = note.alphabet == FRONT_NOTE;
        let ends_from_at = match is_front {
            true => front::head_end(raw, literals_at, groups_of(lead, note.count as usize)?, start_bytes(raw.len()))?,
            false => literals_at + literal_bytes(raw, literals_at)?,
        };
        let ends_from = match values {
            StoredValues::Ends => u64::from_le_bytes(*raw.get(ends_from_at..)?.first_chunk()?),
            _ => 0,
        };
        let [first_at, words_at, sequences_at, kinds_at, values_column_at, values_at] = note.offsets.map(u32::from);
        let mut block = Self {
            sequence: u64::from_le_bytes(*head.last_chunk()?),
            ends_from,
            first: None,
            count: note.count,
            literals_at: literals_at as u32,
            words_at,
            sequences_at,
            kinds_at,
            values_column_at,
            values_at,
            suffixes_at: if is_front { first_at } else { 0 },
            value: u32::from_le_bytes(*head.get(4..)?.first_chunk()?),
            end: u32::try_from(raw.len()).ok()?,
            values,
            prefix: note.prefix,
            window: note.window,
            spans,
            lead,
            kind,
            start_bytes: start_bytes(raw.len()) as u8,
        };
        if let Some(alphabet) = Alphabet::of_code(note.alphabet) {
            block.first = Some(KeyWord { alphabet, length: note.first_bytes, column: block.column(raw, first_at)? });
        }
        Some(block)
    }

    /// Bytes of the values that are not columns.
    fn plain_value_bytes(&self, raw: &[u8]) -> Option<usize> {
        match self.values {
            StoredValues::Plain => (self.value as usize).checked_mul(self.count()),
            StoredValues::Ends => {
                let last = self.column(raw, self.values_column_at)?.get(raw, self.count() - 1)?;
                usize::try_from(last.checked_sub(self.ends_from)?).ok()
            }
            StoredValues::Words { .. } => Some(0),
        }
    }

    /// The column at an offset.
    #[inline]
    fn column(&self, raw: &[u8], at: u32) -> Option<Column> {
        let (lead, start_bytes) = (usize::from(self.lead), usize::from(self.start_bytes));
        Column::parse(raw, at as usize, lead, self.count(), start_bytes)
    }

    #[inline]
    pub(in crate::table) fn count(&self) -> usize {
        self.count as usize
    }

    /// The records of the group that a record is in.
    fn rows_with(&self, row: usize) -> Option<Range<usize>> {
        let lead = usize::from(self.lead);
        let group = (lead + row) / GROUP_NUMBERS * GROUP_NUMBERS;
        let rows = group.saturating_sub(lead)..(group + GROUP_NUMBERS - lead).min(self.count());
        rows.contains(&row).then_some(rows)
    }

    /// Length of a key.
    #[inline]
    fn key_bytes(&self) -> usize {
        usize::from(self.prefix) + usize::from(self.window)
    }

    /// Bytes of all keys and values; of front-coded keys only what they do not share.
    pub(in crate::table) fn decoded_bytes(&self) -> u64 {
        let values = match self.values {
            StoredValues::Ends => u64::from(self.end - self.values_at),
            _ => u64::from(self.count) * u64::from(self.value),
        };
        let keys = match self.is_front() {
            true => u64::from(self.values_at - self.suffixes_at),
            false => u64::from(self.count) * self.key_bytes() as u64,
        };
        keys + values
    }

    /// The literal that all keys begin with.
    #[inline]
    fn prefix<'a>(&self, raw: &'a [u8]) -> Option<&'a [u8]> {
        raw.get(self.literals_at as usize..self.literals_at as usize + usize::from(self.prefix))
    }

    /// The parts of a key after the prefix: an alphabet, or `None` for a literal, and a length.
    fn spans<'a>(&self, raw: &'a [u8]) -> Option<impl Iterator<Item = (Option<Alphabet>, usize)> + use<'a>> {
        let spans = raw.get(CODED_HEAD_BYTES..CODED_HEAD_BYTES + usize::from(self.spans) * SPAN_BYTES)?;
        let spans = spans.as_chunks::<SPAN_BYTES>().0.iter();
        Some(spans.skip_while(|span| span[0] == 0).map(|span| (Alphabet::of_code(span[0]), usize::from(span[1]))))
    }

    #[inline]
    pub(in crate::table) fn key<'a>(&self, raw: &'a [u8], row: usize) -> Option<SplitKey<'a>> {
        if self.is_front() {
            return self.front_key(raw, row);
        }
        let prefix = self.prefix(raw)?;
        let Some(first) = &self.first else { return (row < self.count()).then_some(SplitKey::whole(prefix)) };
        let mut key = SplitKey::with_window(prefix, usize::from(self.window))?;
        let window = key.window_mut();
        let length = usize::from(first.length);
        first.alphabet.write(first.column.get(raw, row)?, window.get_mut(..length)?)?;
        self.further_parts(raw, |place, part| {
            let place = window.get_mut(place)?;
            match part {
                KeyPart::Literal(literal) => place.copy_from_slice(literal),
                KeyPart::Number(alphabet, column) => alphabet.write(column.get(raw, row)?, place)?,
            }
            Some(())
        })?;
        Some(key)
    }

    /// Shows the parts of all keys after the first number, each with its place after the prefix.
    #[inline]
    fn further_parts<'a>(
        &self,
        raw: &'a [u8],
        mut show: impl FnMut(Range<usize>, KeyPart<'a>) -> Option<()>,
    ) -> Option<()> {
        let mut at = self.first.as_ref().map_or(0, |first| usize::from(first.length));
        if at == usize::from(self.window) {
            return Some(());
        }
        let mut literal_at = self.literals_at as usize + usize::from(self.prefix);
        let mut column_at = self.words_at;
        for (alphabet, length) in self.spans(raw)?.skip(1) {
            let place = at..at + length;
            match alphabet {
                None => {
                    show(place, KeyPart::Literal(raw.get(literal_at..literal_at + length)?))?;
                    literal_at += length;
                }
                Some(alphabet) => {
                    let column = self.column(raw, column_at)?;
                    column_at = column.end() as u32;
                    show(place, KeyPart::Number(alphabet, column))?;
                }
            }
            at += length;
        }
        Some(())
    }

    #[inline]
    pub(in crate::table) fn tag(&self, raw: &[u8], row: usize) -> Option<VersionTag> {
        if row >= self.count() {
            return None;
        }
        let kind = match self.kinds_at {
            0 => self.kind,
            at => u8::try_from(self.column(raw, at)?.get(raw, row)?).ok()?,
        };
        let sequence = match self.sequences_at {
            0 => self.sequence,
            at => self.column(raw, at)?.get(raw, row)?,
        };
        Some(VersionTag { kind, sequence })
    }

    #[inline]
    pub(in crate::table) fn value(&self, raw: &[u8], row: usize) -> Option<ValueLocation> {
        if row >= self.count() {
            return None;
        }
        let (width, at, mut column_at) = (self.value as usize, self.values_at as usize, self.values_column_at);
        Some(match self.values {
            StoredValues::Plain => ValueLocation::Inline(at + row * width..at + (row + 1) * width),
            StoredValues::Ends => {
                let column = self.column(raw, column_at)?;
                let begin = if row == 0 { at } else { self.value_end(column.get(raw, row - 1)?)? };
                let end = self.value_end(column.get(raw, row)?)?;
                (begin <= end && end <= self.end as usize).then_some(ValueLocation::Inline(begin..end))?
            }
            StoredValues::Words { is_little_endian } => {
                let mut value = ShortValue::zeros(width)?;
                for word in 0..value_words(width) {
                    let column = self.column(raw, column_at)?;
                    let place = value.bytes_mut().get_mut(value_word_range(width, word))?;
                    put_integer(column.get(raw, row)?, place, is_little_endian)?;
                    column_at = column.end() as u32;
                }
                ValueLocation::Short(value)
            }
        })
    }

    /// The end of a value in the block, from a number of the column of ends.
    #[inline]
    fn value_end(&self, end: u64) -> Option<usize> {
        (self.values_at as usize).checked_add(usize::try_from(end.checked_sub(self.ends_from)?).ok()?)
    }

    /// The first record whose key is not less than `key`, and whether it has that key.
    #[inline]
    pub(in crate::table) fn search(&self, raw: &[u8], key: &[u8]) -> Option<(usize, bool)> {
        if self.is_front() {
            return self.front_search(raw, key);
        }
        let rest = match against_literal(key, self.prefix(raw)?) {
            Ok(rest) => rest,
            Err(Ordering::Less) => return Some((0, false)),
            Err(_) => return Some((self.count(), false)),
        };
        let Some(first) = &self.first else {
            return Some(if rest.is_empty() { (0, true) } else { (self.count(), false) });
        };
        let Some((number, is_number)) = first.alphabet.bound(rest, usize::from(first.length)) else {
            return Some((self.count(), false));
        };
        let index = first.column.lower_bound(raw, number)?;
        if !is_number || index >= self.count() || first.column.get(raw, index)? != number {
            return Some((index, false));
        }
        if first.length == self.window && rest.len() == usize::from(self.window) {
            return Some((index, true));
        }
        // Records with that number, which what follows it tells apart.
        let end = match number.checked_add(1) {
            Some(next) => first.column.lower_bound(raw, next)?,
            None => self.count(),
        };
        let (mut low, mut high) = (index, end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(raw, middle)?.compare(key) == Ordering::Less { low = middle + 1 } else { high = middle }
        }
        Some((low, low < end && self.key(raw, low)?.is(key)))
    }

    /// The end of the records that have the key of record `index`, which is `key`.
    pub(in crate::table) fn end_of_key(&self, raw: &[u8], index: usize, key: &[u8]) -> Option<usize> {
        let (mut low, mut high, mut step) = (index + 1, self.count(), 1);
        while low < high {
            let probe = (low + step - 1).min(high - 1);
            if self.key(raw, probe)?.is(key) {
                (low, step) = (probe + 1, step * 2);
            } else {
                (high, step) = (probe, 1);
            }
        }
        Some(low)
    }

    /// Appends the records of `rows` as dense records: each a key of `key` bytes, and a value of `value` bytes.
    pub(in crate::table) fn append_dense(
        &self,
        raw: &[u8],
        rows: Range<usize>,
        (key, value): (usize, usize),
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let rows = rows.start..rows.end.min(self.count());
        let has_widths = self.key_bytes() == key && self.value as usize == value;
        if !has_widths || self.is_front() || matches!(self.values, StoredValues::Ends) {
            return None;
        }
        let (begin, count, width) = (out.len(), rows.len(), (key + value).max(1));
        out.resize(begin + count * width, 0);
        let records = out.get_mut(begin..)?;
        let mut numbers = Vec::with_capacity(count);
        match &self.first {
            Some(first) if first.alphabet == Alphabet::Bytes && first.length == self.window => {
                let prefix = self.prefix(raw)?;
                first.column.decode(raw, rows.clone(), &mut numbers)?;
                for (record, number) in records.chunks_exact_mut(width).zip(&numbers) {
                    let key = record.get_mut(..key)?;
                    let (literal, window) = key.split_at_mut_checked(prefix.len())?;
                    literal.copy_from_slice(prefix);
                    put_integer(*number, window, false)?;
                }
            }
            _ => {
                for (record, row) in records.chunks_exact_mut(width).zip(rows.clone()) {
                    self.key(raw, row)?.copy_into(record.get_mut(..key)?)?;
                }
            }
        }
        let StoredValues::Words { is_little_endian } = self.values else {
            let at = self.values_at as usize;
            let values = raw.get(at + rows.start * value..at + rows.end * value)?;
            if value > 0 {
                for (record, value) in records.chunks_exact_mut(width).zip(values.chunks_exact(value)) {
                    record.get_mut(key..)?.copy_from_slice(value);
                }
            }
            return Some(());
        };
        let mut column_at = self.values_column_at;
        for word in 0..value_words(value) {
            let place = value_word_range(value, word);
            let place = key + place.start..key + place.end;
            let column = self.column(raw, column_at)?;
            numbers.clear();
            column.decode(raw, rows.clone(), &mut numbers)?;
            for (record, number) in records.chunks_exact_mut(width).zip(&numbers) {
                put_integer(*number, record.get_mut(place.clone())?, is_little_endian)?;
            }
            column_at = column.end() as u32;
        }
        Some(())
    }

    /// Whether the block is laid out as the writer does it, except for the choice of lines and literals.
    pub(in crate::table) fn is_canonical(&self, raw: &[u8], body_end: usize) -> bool {
        let are_canonical = literal_bytes(raw, self.literals_at as usize).is_some_and(|literals| {
            // Columns follow each other up to the values.
            let ends_from = if matches!(self.values, StoredValues::Ends) { ENDS_FROM_BYTES } else { 0 };
            let mut at = self.literals_at as usize + literals;
            let mut end = self.values_at as usize;
            if self.is_front() {
                let (start_bytes, groups) = (usize::from(self.start_bytes), self.groups());
                let Some(head_end) = front::head_end(raw, at, groups, start_bytes) else { return false };
                (at, end) = (head_end, self.suffixes_at as usize);
            }
            at += ends_from;
            while at < end {
                let column = self.column(raw, at as u32).filter(|column| column.is_canonical(raw));
                let Some(column) = column else { return false };
                at = column.end();
            }
            at == end && (!self.is_front() || self.front_is_canonical(raw))
        });
        are_canonical && raw.get(self.end as usize..body_end).is_some_and(|rest| rest.iter().all(|&byte| byte == 0))
    }
}

/// Whether flags of a head are known and go together, and with a number of spans.
fn are_known(flags: u8, spans: u8) -> bool {
    let known = SEQUENCES_FLAG | KINDS_FLAG | VALUE_ENDS_FLAG | VALUE_WORDS_FLAG | LITTLE_ENDIAN_FLAG | FRONT_FLAG;
    let has = |flag: u8| flags & flag != 0;
    let exclude_each_other = has(VALUE_ENDS_FLAG) && has(VALUE_WORDS_FLAG) || has(FRONT_FLAG) && spans > 0;
    flags & !known == 0 && !exclude_each_other && usize::from(spans) <= SPANS_MAX
}

/// Number of groups of `count` records, the first of which is number `lead` of its group.
fn groups_of(lead: u8, count: usize) -> Option<usize> {
    Some(usize::from(lead).checked_add(count)?.div_ceil(GROUP_NUMBERS))
}

/// Bytes of the literals whose spans end at `spans_end`.
fn literal_bytes(raw: &[u8], spans_end: usize) -> Option<usize> {
    let spans = raw.get(CODED_HEAD_BYTES..spans_end)?.as_chunks::<SPAN_BYTES>().0;
    Some(spans.iter().filter(|span| span[0] == 0).map(|span| usize::from(span[1])).sum())
}

/// Writes a number in as many bytes as `place` has; `None` if it needs more.
#[inline]
fn put_integer(number: u64, place: &mut [u8], is_little_endian: bool) -> Option<()> {
    if let Ok(word) = <&mut [u8; 8]>::try_from(&mut *place) {
        *word = if is_little_endian { number.to_le_bytes() } else { number.to_be_bytes() };
        return Some(());
    }
    Alphabet::Bytes.write(number, place)?;
    if is_little_endian {
        place.reverse();
    }
    Some(())
}
