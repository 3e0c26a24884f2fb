//! The coding of pending records: their columns, fitted once for each group, and the size of a coded block before it is
//! written.
//!
//! Groups are counted from the start of the table, not of a block, so that the writer can compare many ends of a block
//! by adding the sizes of groups. A group that begins or ends outside its block is stored with the line and the width
//! of all its records.

use super::block::Layout;
use super::block::start_bytes;
use super::coded::{
    CODED_HEAD_BYTES, CODED_VALUE_BYTES_MAX, CodedParts, ENDS_FROM_BYTES, SPAN_BYTES, VALUE_WORDS_MAX, ValueCoding,
    is_constant, value_word, value_words,
};
use super::key_code::{KEY_WORDS_MAX, KeyCode};
use super::pending::PendingRecords;
use ogive_model::column::{ColumnGroup, ColumnSize, GROUP_NUMBERS};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

/// A coded block must save at least 1/N of the plain one: decoding takes time at every lookup.
const SAVING_DIVISOR: usize = 20;
/// Limit for the bytes of the records of a coded block, as a multiple of the block size: joins decode whole blocks into
/// memory.
pub(super) const EXPANSION_MAX: usize = 16;
/// Keys that show whether a run of pending records is text with numbers.
const SAMPLED_KEYS: usize = 256;
/// Groups that show the byte order of values.
const SAMPLED_GROUPS: usize = 16;
/// Remembered block ends: several for each block of the largest group of separators.
const REMEMBERED_ENDS: usize = 1 << 13;

/// Memory that fitted groups take for each record, rounded up.
pub(super) const FITTED_RECORD_BYTES: usize =
    (COLUMNS * size_of::<ColumnGroup>() + size_of::<GroupShape>()).div_ceil(GROUP_NUMBERS);

/// Numbers of the columns: those of keys, then these.
const SEQUENCES: usize = KEY_WORDS_MAX;
const KINDS: usize = SEQUENCES + 1;
const VALUES: usize = KINDS + 1;
const ENDS: usize = VALUES + VALUE_WORDS_MAX;
const COLUMNS: usize = ENDS + 1;

/// The form of the values of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CodedValueForm {
    Plain(usize),
    Ends,
    Words(usize),
}

/// What the records of a group have in common.
#[derive(Clone, Debug)]
struct GroupShape {
    /// `None` if they cannot be coded.
    code: Option<Arc<KeyCode>>,
    value_width: Option<usize>,
}

/// The columns of the pending records.
#[derive(Debug, Default)]
pub(super) struct PendingColumns {
    /// Number of records of the first group that are no longer pending.
    lead: usize,
    /// Bytes of values before the first pending record, which the ends of values include.
    values_before: u64,
    shapes: Vec<GroupShape>,
    /// For each column, its groups; empty columns are not used by the table.
    columns: [Vec<ColumnGroup>; COLUMNS],
    /// The code of the records that were pending when the last group was fitted.
    code: Option<Arc<KeyCode>>,
    is_little_endian: Option<bool>,
    /// First and last end of blocks by where they begin.
    ends: RefCell<Vec<(u32, (u32, u32))>>,
}

impl PendingColumns {
    /// Number of pending records in fitted groups.
    fn fitted(&self) -> usize {
        self.shapes.len() * GROUP_NUMBERS - self.lead.min(self.shapes.len() * GROUP_NUMBERS)
    }

    /// The group of a pending record, and its position there.
    fn group_of(&self, record: usize) -> (usize, usize) {
        ((self.lead + record) / GROUP_NUMBERS, (self.lead + record) % GROUP_NUMBERS)
    }

    /// Drops the groups of the first `records` records, with `value_bytes` of values.
    pub(super) fn discard(&mut self, records: usize, value_bytes: usize) {
        let (groups, lead) = self.group_of(records);
        let groups = groups.min(self.shapes.len());
        self.shapes.drain(..groups);
        self.columns.iter_mut().filter(|column| !column.is_empty()).for_each(|column| _ = column.drain(..groups));
        self.lead = lead;
        self.values_before += value_bytes as u64;
        self.ends.borrow_mut().clear();
    }
}

/// The size of a coded block, as groups are added to it.
struct BlockSizer<'a> {
    columns: &'a PendingColumns,
    versioned: bool,
    start_bytes: usize,
    code: Option<&'a Arc<KeyCode>>,
    value_width: Option<usize>,
    sizes: [ColumnSize; COLUMNS],
    next_group: usize,
}

impl<'a> BlockSizer<'a> {
    fn new(records: &'a PendingRecords, columns: &'a PendingColumns, begin: usize) -> Self {
        let (group, lead) = columns.group_of(begin);
        let shape = columns.shapes.get(group);
        Self {
            columns,
            versioned: records.versioned,
            start_bytes: start_bytes(records.block_bytes),
            code: shape.and_then(|shape| shape.code.as_ref()),
            value_width: shape.and_then(|shape| shape.value_width),
            sizes: [ColumnSize::new(lead); COLUMNS],
            next_group: group,
        }
    }

    /// Adds the next group; `false` if it cannot be part of the block.
    fn push(&mut self) -> bool {
        let Some((shape, code)) = self.columns.shapes.get(self.next_group).zip(self.code) else { return false };
        if shape.code.as_ref().is_none_or(|other| !Arc::ptr_eq(other, code) && other != code) {
            return false;
        }
        if shape.value_width != self.value_width {
            self.value_width = None;
        }
        for (size, column) in self.sizes.iter_mut().zip(&self.columns.columns) {
            if let Some(group) = column.get(self.next_group) {
                size.push(group);
            }
        }
        self.next_group += 1;
        true
    }

    /// Bytes of the block without padding and trailer, if it ends after `in_last` records of the last group and has
    /// `value_bytes` of values.
    fn bytes(&self, in_last: usize, value_bytes: usize) -> (usize, CodedValueForm) {
        let column = |column: usize| self.sizes[column].bytes(in_last, self.start_bytes);
        let unless_constant = |at: usize, else_bytes: usize| match self.sizes[at].is_constant() {
            true => else_bytes,
            false => column(at),
        };
        let spans = self.code.map_or(&[][..], |code| &code.spans);
        let (mut bytes, mut word) = (CODED_HEAD_BYTES + spans.len() * SPAN_BYTES, 0);
        for span in spans {
            if span.alphabet.is_some() {
                bytes += unless_constant(word, span.length);
                word += 1;
            } else {
                bytes += span.length;
            }
        }
        if self.versioned {
            bytes += unless_constant(SEQUENCES, 0) + unless_constant(KINDS, 0);
        }
        let Some(width) = self.value_width else {
            return (bytes + ENDS_FROM_BYTES + column(ENDS) + value_bytes, CodedValueForm::Ends);
        };
        let words: usize = (0..value_words(width)).map(|word| column((VALUES + word).min(ENDS))).sum();
        let is_coded = (1..=CODED_VALUE_BYTES_MAX).contains(&width) && saves(words, value_bytes);
        match is_coded {
            true => (bytes + words, CodedValueForm::Words(width)),
            false => (bytes + value_bytes, CodedValueForm::Plain(width)),
        }
    }
}

/// Whether a coded form saves enough.
pub(super) fn saves(coded: usize, plain: usize) -> bool {
    coded + plain / SAVING_DIVISOR <= plain
}

impl PendingRecords {
    /// Fits the groups that are complete, or all that are pending if no more records follow.
    pub(super) fn fit_columns(&mut self) {
        let Some(mut columns) = self.columns.take() else { return };
        let whole = (columns.lead + self.len()) / GROUP_NUMBERS;
        let groups = if self.is_complete() { (columns.lead + self.len()).div_ceil(GROUP_NUMBERS) } else { whole };
        if columns.shapes.len() < groups {
            self.choose_code(&mut columns);
            if columns.is_little_endian.is_none() {
                columns.is_little_endian = Some(self.values_are_little_endian());
            }
        }
        let mut numbers = Vec::with_capacity(GROUP_NUMBERS);
        while columns.shapes.len() < groups {
            let begin = columns.fitted();
            let end = ((columns.shapes.len() + 1) * GROUP_NUMBERS - columns.lead).min(self.len());
            self.fit_group(begin..end, &mut columns, &mut numbers);
        }
        self.columns = Some(columns);
    }

    /// Chooses the code of the records that are not fitted yet.
    fn choose_code(&self, columns: &mut PendingColumns) {
        let (first, end) = (columns.fitted(), self.len());
        let step = ((end - first) / SAMPLED_KEYS).max(1);
        let mut sample = (first..end).step_by(step).chain(end.checked_sub(1)).map(|record| self.record_key(record));
        if columns.code.as_ref().is_some_and(|code| sample.clone().all(|key| code.admits(key))) {
            return;
        }
        let of_text = if self.layout == Layout::Slotted { KeyCode::of_text(sample.clone()) } else { None };
        let code = of_text.or_else(|| sample.next().and_then(KeyCode::of_bytes));
        columns.code = code.map(Arc::new);
    }

    /// Whether values take fewer bits as little-endian numbers.
    fn values_are_little_endian(&self) -> bool {
        let mut bits = [0; 2];
        let groups = self.len() / GROUP_NUMBERS;
        for group in (0..groups).step_by((groups / SAMPLED_GROUPS).max(1)) {
            let records = group * GROUP_NUMBERS..(group + 1) * GROUP_NUMBERS;
            for (bits, is_little_endian) in bits.iter_mut().zip([false, true]) {
                for word in 0..VALUE_WORDS_MAX {
                    let number = |record| value_word(self.record_value(record), word, is_little_endian);
                    let numbers: Vec<u64> = records.clone().map(number).collect();
                    *bits += ColumnGroup::fit(&numbers).width();
                }
            }
        }
        bits[1] < bits[0]
    }

    fn fit_group(&self, records: Range<usize>, columns: &mut PendingColumns, numbers: &mut Vec<u64>) {
        let shape = self.group_shape(records.clone(), columns.code.as_ref());
        // A column that a group has no numbers for must have a group, too.
        let mut fit = |column: usize, number: Option<&dyn Fn(usize) -> u64>| {
            let group = number.map_or_else(ColumnGroup::default, |number| {
                numbers.clear();
                numbers.extend(records.clone().map(number));
                ColumnGroup::fit(numbers)
            });
            columns.columns[column].push(group);
        };
        let code = shape.code.clone();
        let mut words = code.iter().flat_map(|code| code.words());
        for column in 0..KEY_WORDS_MAX {
            match words.next() {
                Some((alphabet, range)) => {
                    let number = |record| alphabet.number(&self.record_key(record)[range.clone()]).unwrap_or(0);
                    fit(column, Some(&number));
                }
                None => fit(column, None),
            }
        }
        if self.versioned {
            fit(SEQUENCES, Some(&|record| self.rows[record].tag.sequence));
            fit(KINDS, Some(&|record| u64::from(self.rows[record].tag.kind)));
        }
        let little = columns.is_little_endian == Some(true);
        for word in 0..VALUE_WORDS_MAX {
            let has_word = shape.value_width.is_some_and(|width| word < value_words(width).min(VALUE_WORDS_MAX));
            let number = |record| value_word(self.record_value(record), word, little);
            fit(VALUES + word, if has_word { Some(&number) } else { None });
        }
        if self.layout == Layout::Slotted {
            let before = columns.values_before;
            fit(ENDS, Some(&|record| before + u64::from(self.ends[record].1)));
        }
        columns.shapes.push(shape);
    }

    fn group_shape(&self, records: Range<usize>, code: Option<&Arc<KeyCode>>) -> GroupShape {
        let first = records.start;
        if let Layout::Dense { value, .. } = self.layout {
            return GroupShape { code: code.cloned(), value_width: Some(value) };
        }
        let width = self.record_value(first).len();
        let has_width = records.clone().all(|record| self.record_value(record).len() == width);
        let value_width = has_width.then_some(width);
        if self.longs(records.start, records.end) > 0 {
            return GroupShape { code: None, value_width };
        }
        if let Some(code) = code.filter(|code| records.clone().all(|record| code.admits(self.record_key(record)))) {
            return GroupShape { code: Some(Arc::clone(code)), value_width };
        }
        let code = KeyCode::of_bytes(self.record_key(first));
        let code = code.filter(|code| records.clone().all(|record| code.admits(self.record_key(record))));
        GroupShape { code: code.map(Arc::new), value_width }
    }

    /// The end of the fitted records; that of all if none are coded.
    pub(super) fn fitted_end(&self) -> usize {
        self.columns.as_ref().map_or(self.len(), |columns| columns.fitted().min(self.len()))
    }

    /// Bytes of the keys and values of pending records.
    fn bytes_of(&self, records: Range<usize>) -> usize {
        self.bytes_before(records.end) - self.bytes_before(records.start)
    }

    /// The largest number of records from `begin` on whose coded block takes at most `room` bytes.
    pub(super) fn coded_fit(&self, begin: usize, room: usize) -> usize {
        let Some(columns) = &self.columns else { return 0 };
        let reach = self.reach();
        let mut sizer = BlockSizer::new(self, columns, begin);
        let limit = EXPANSION_MAX * self.block_bytes;
        let mut end = begin;
        while end < reach {
            let group_begin = (sizer.next_group * GROUP_NUMBERS).saturating_sub(columns.lead);
            if !sizer.push() {
                break;
            }
            let fits = |end: usize| {
                let in_last = end + columns.lead - (sizer.next_group - 1) * GROUP_NUMBERS;
                let (bytes, _) = sizer.bytes(in_last, self.value_bytes_of(begin..end));
                bytes <= room && self.bytes_of(begin..end) <= limit
            };
            let group_end = (sizer.next_group * GROUP_NUMBERS - columns.lead).min(reach);
            if fits(group_end) {
                end = group_end;
                continue;
            }
            let (mut low, mut high) = (group_begin.max(begin), group_end);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if fits(middle) { low = middle } else { high = middle }
            }
            end = low;
            break;
        }
        end - begin
    }

    /// The columns of a block, if it is to be coded; `plain_bytes` is its size otherwise.
    pub(super) fn coded_parts(&self, begin: usize, end: usize, plain_bytes: usize) -> Option<CodedParts<'_>> {
        let columns = self.columns.as_ref()?;
        let mut sizer = BlockSizer::new(self, columns, begin);
        let first = sizer.next_group;
        let (last, position) = columns.group_of(end - 1);
        while sizer.next_group <= last {
            if !sizer.push() {
                return None;
            }
        }
        let (bytes, form) = sizer.bytes(position + 1, self.value_bytes_of(begin..end));
        let room = self.room();
        let is_coded = bytes <= room
            && self.bytes_of(begin..end) <= EXPANSION_MAX * self.block_bytes
            && (plain_bytes > room || saves(bytes, plain_bytes));
        if !is_coded {
            return None;
        }
        let column = |column: usize| columns.columns[column].get(first..=last).unwrap_or_default();
        let unless_constant = |at: usize| Some(column(at)).filter(|groups| self.versioned && !is_constant(groups));
        let code = &**sizer.code?;
        Some(CodedParts {
            lead: columns.group_of(begin).1,
            count: end - begin,
            words: (0..code.words().count()).map(column).collect(),
            code,
            sequences: unless_constant(SEQUENCES),
            kinds: unless_constant(KINDS),
            values: match form {
                CodedValueForm::Plain(width) => ValueCoding::Plain { width },
                CodedValueForm::Ends => {
                    let from = columns.values_before + self.value_bytes_of(0..begin) as u64;
                    ValueCoding::Ends { groups: column(ENDS), from }
                }
                CodedValueForm::Words(width) => ValueCoding::Words {
                    width,
                    is_little_endian: columns.is_little_endian == Some(true),
                    groups: (0..value_words(width)).map(|word| column(VALUES + word)).collect(),
                },
            },
        })
    }

    /// The ends of a block that begins at `begin`, if they are remembered.
    pub(super) fn remembered_ends(&self, begin: usize) -> Option<(u32, u32)> {
        let ends = self.columns.as_ref()?.ends.borrow();
        ends.get(begin % REMEMBERED_ENDS).filter(|(at, _)| *at == begin as u32 + 1).map(|(_, ends)| *ends)
    }

    /// Remembers the ends of a block until records are dropped.
    pub(super) fn remember_ends(&self, begin: usize, fits: (u32, u32)) {
        let Some(columns) = &self.columns else { return };
        let mut ends = columns.ends.borrow_mut();
        if ends.is_empty() {
            ends.resize(REMEMBERED_ENDS, (0, (0, 0)));
        }
        ends[begin % REMEMBERED_ENDS] = (begin as u32 + 1, fits);
    }
}
