//! The coding of pending records: their columns, fitted once for each group, and the size of a coded block before it is
//! written.
//!
//! Groups are counted from the start of the table, not of a block, so that the writer can compare many ends of a block
//! by adding the sizes of groups. A group that begins or ends outside its block is stored with the line and the width
//! of all its records.

use super::pending::PendingRecords;
use crate::table::block::coded::{
    CODED_HEAD_BYTES, CodedParts, ENDS_FROM_BYTES, FRONT_PREFIX_BYTES_MAX, FRONT_RESTART_RECORDS,
    FRONT_SHARED_BYTES_MAX, FrontParts, SPAN_BYTES, VALUE_WORDS_MAX, ValueCoding, front_head_bytes, is_constant,
    value_word, value_words,
};
use crate::table::block::key_code::{KEY_WORDS_MAX, KeyCode};
use crate::table::block::parts::CODED_VALUE_BYTES_MAX;
use crate::table::block::parts::start_bytes;
use crate::table::block::view::Layout;
use ogive_model::coded::common_prefix;
use ogive_model::column::{ColumnGroup, ColumnSize, GROUP_NUMBERS};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

/// A coded block must save at least 1/N of the plain one: decoding takes time at every lookup.
const SAVING_DIVISOR: usize = 20;
/// Limit for the bytes of the records of a coded block, as a multiple of the block size: joins decode whole blocks into
/// memory.
pub(in crate::table) const EXPANSION_MAX: usize = 16;
/// Keys that show whether a run of pending records is text with numbers.
const SAMPLED_KEYS: usize = 256;
/// Groups that show the byte order of values.
const SAMPLED_GROUPS: usize = 16;
/// Remembered block ends: several for each block of the largest group of separators.
const REMEMBERED_ENDS: usize = 1 << 13;

/// Memory that fitted groups take for each record, rounded up.
pub(in crate::table) const FITTED_RECORD_BYTES: usize =
    (COLUMNS * size_of::<ColumnGroup>() + size_of::<GroupShape>()).div_ceil(GROUP_NUMBERS) + size_of::<u64>();

/// Numbers of the columns: those of keys, then these.
const SEQUENCES: usize = KEY_WORDS_MAX;
const KINDS: usize = SEQUENCES + 1;
const VALUES: usize = KINDS + 1;
const ENDS: usize = VALUES + VALUE_WORDS_MAX;
/// Of front-coded keys: bytes shared with the key before, and ends of suffixes.
const SHARED: usize = ENDS + 1;
const SUFFIX_ENDS: usize = SHARED + 1;
const COLUMNS: usize = SUFFIX_ENDS + 1;

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
    /// Bytes with which all front-coded keys begin.
    prefix: usize,
}

impl GroupShape {
    fn is_front(&self) -> bool {
        self.code.as_ref().is_some_and(|code| code.is_front())
    }
}

/// The columns of the pending records.
#[derive(Debug, Default)]
pub(in crate::table) struct PendingColumns {
    /// Number of records of the first group that are no longer pending.
    lead: usize,
    /// Bytes of values before the first pending record, which the ends of values include.
    values_before: u64,
    shapes: Vec<GroupShape>,
    /// For each column, its groups, up to the last that has numbers for it.
    columns: [Vec<ColumnGroup>; COLUMNS],
    /// The ends of the suffixes of pending records, from the first front-coded key on; records that are not have none.
    suffix_ends: Vec<u64>,
    /// The end of the suffix before the first pending record.
    suffixes_before: u64,
    /// The code of the records that were pending when the last group was fitted.
    code: Option<Arc<KeyCode>>,
    is_little_endian: Option<bool>,
    /// Number of records that are no longer pending.
    discarded: u64,
    /// First and last end of blocks by where they begin, counted from 1 and from the start of the table.
    ends: RefCell<Vec<(u64, (u32, u32))>>,
}

impl PendingColumns {
    /// Adds to a column its part of the next group. Groups before it may have had no numbers for the column.
    fn push(&mut self, column: usize, numbers: &[u64]) {
        self.columns[column].resize(self.shapes.len(), ColumnGroup::default());
        self.columns[column].push(ColumnGroup::fit(numbers));
    }

    /// Bytes that a front-coded key shares with the one before.
    fn shared_bytes(&self, records: &PendingRecords, record: usize) -> usize {
        let suffix = self.suffix_end(record + 1) - self.suffix_end(record);
        records.record_key(record).len() - suffix as usize
    }

    /// Number of pending records in fitted groups.
    fn fitted(&self) -> usize {
        self.shapes.len() * GROUP_NUMBERS - self.lead.min(self.shapes.len() * GROUP_NUMBERS)
    }

    /// The group of a pending record, and its position there.
    fn group_of(&self, record: usize) -> (usize, usize) {
        ((self.lead + record) / GROUP_NUMBERS, (self.lead + record) % GROUP_NUMBERS)
    }

    /// The end of the suffixes of the first `records` records.
    fn suffix_end(&self, records: usize) -> u64 {
        let last = records.min(self.suffix_ends.len()).checked_sub(1);
        last.map_or(self.suffixes_before, |last| self.suffix_ends[last])
    }

    /// Drops the groups of the first `records` records, with `value_bytes` of values.
    pub(in crate::table) fn discard(&mut self, records: usize, value_bytes: usize) {
        let (groups, lead) = self.group_of(records);
        let groups = groups.min(self.shapes.len());
        self.shapes.drain(..groups);
        self.columns.iter_mut().for_each(|column| _ = column.drain(..groups.min(column.len())));
        self.lead = lead;
        self.values_before += value_bytes as u64;
        self.suffixes_before = self.suffix_end(records);
        self.suffix_ends.drain(..records.min(self.suffix_ends.len()));
        self.discarded += records as u64;
    }
}

/// The size of a coded block, as groups are added to it.
struct BlockSizer<'a> {
    records: &'a PendingRecords,
    columns: &'a PendingColumns,
    begin: usize,
    start_bytes: usize,
    code: Option<&'a Arc<KeyCode>>,
    value_width: Option<usize>,
    sizes: [ColumnSize; COLUMNS],
    /// Bytes of the prefixes of groups, and of the lead-in.
    prefix_bytes: usize,
    next_group: usize,
}

impl<'a> BlockSizer<'a> {
    fn new(records: &'a PendingRecords, columns: &'a PendingColumns, begin: usize) -> Self {
        let (group, lead) = columns.group_of(begin);
        let shape = columns.shapes.get(group);
        let is_front = shape.is_some_and(GroupShape::is_front);
        let lead_in = |shape: &GroupShape| columns.shared_bytes(records, begin) - shape.prefix;
        Self {
            records,
            columns,
            begin,
            start_bytes: start_bytes(records.block_bytes),
            code: shape.and_then(|shape| shape.code.as_ref()),
            value_width: shape.and_then(|shape| shape.value_width),
            sizes: [ColumnSize::new(lead); COLUMNS],
            prefix_bytes: shape.filter(|_| is_front).map_or(0, lead_in),
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
        self.prefix_bytes += shape.prefix;
        for (size, column) in self.sizes.iter_mut().zip(&self.columns.columns) {
            if let Some(group) = column.get(self.next_group) {
                size.push(group);
            }
        }
        self.next_group += 1;
        true
    }

    /// Bytes of the block without padding and trailer, if it ends before the record `end`, which is of the last group
    /// or follows it.
    fn bytes(&self, end: usize) -> (usize, CodedValueForm) {
        let in_last = end + self.columns.lead - (self.next_group - 1) * GROUP_NUMBERS;
        let value_bytes = self.records.value_bytes_of(self.begin..end);
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
        if self.code.is_some_and(|code| code.is_front()) {
            let suffixes = self.columns.suffix_end(end) - self.columns.suffix_end(self.begin);
            bytes += front_head_bytes(self.sizes[SHARED].groups(), self.start_bytes) + self.prefix_bytes;
            bytes += column(SHARED) + column(SUFFIX_ENDS) + suffixes as usize;
        }
        if self.records.versioned {
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
pub(in crate::table) fn saves(coded: usize, plain: usize) -> bool {
    coded + plain / SAVING_DIVISOR <= plain
}

impl PendingRecords {
    /// Fits the groups that are complete, or all that are pending if no more records follow.
    pub(in crate::table) fn fit_columns(&mut self) {
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
        let sample = (first..end).step_by(step).chain(end.checked_sub(1)).map(|record| self.record_key(record));
        if columns.code.as_ref().is_some_and(|code| sample.clone().all(|key| code.admits(key))) {
            return;
        }
        let of_bytes = || sample.clone().next().and_then(KeyCode::of_bytes);
        let code = match self.layout {
            Layout::Dense { .. } => of_bytes(),
            Layout::Columns => KeyCode::of_text(sample.clone()).or_else(|| {
                let of_bytes = of_bytes().filter(|code| sample.clone().all(|key| code.admits(key)));
                of_bytes.filter(|code| !self.front_takes_less(first..end, code)).or_else(|| Some(KeyCode::front()))
            }),
        };
        columns.code = code.map(Arc::new);
    }

    /// Whether front-coded keys take fewer bits than numbers, in some groups of the records.
    fn front_takes_less(&self, records: Range<usize>, code: &KeyCode) -> bool {
        let (mut of_numbers, mut of_front, groups) = (0, 0, records.len() / GROUP_NUMBERS);
        for group in (0..groups).step_by((groups / SAMPLED_GROUPS).max(1)) {
            let begin = records.start + group * GROUP_NUMBERS;
            let group = begin..begin + GROUP_NUMBERS;
            let bits = |numbers: &[u64]| ColumnGroup::fit(numbers).width() as usize * GROUP_NUMBERS;
            for (alphabet, place) in code.words() {
                let number = |record| alphabet.number(self.record_key(record).get(place.clone())?);
                of_numbers += bits(&group.clone().filter_map(number).collect::<Vec<_>>());
            }
            let prefix = self.group_prefix(group.clone());
            let (shared, ends): (Vec<u64>, Vec<u64>) = self.front_numbers(group, prefix, 0).unzip();
            of_front += bits(&shared) + bits(&ends) + 8 * (ends.last().map_or(0, |&end| end as usize) + prefix);
        }
        of_front < of_numbers
    }

    /// Bytes with which all keys of a group begin.
    fn group_prefix(&self, records: Range<usize>) -> usize {
        let (first, last) = (self.record_key(records.start), self.record_key(records.end - 1));
        common_prefix(first, last).min(FRONT_PREFIX_BYTES_MAX)
    }

    /// For each key of a group, which begins with a restart: the bytes that it shares with the one before, and the end
    /// of its suffix, if the first suffix begins at `from`.
    fn front_numbers(&self, records: Range<usize>, prefix: usize, from: u64) -> impl Iterator<Item = (u64, u64)> {
        let first = records.start;
        records.scan(from, move |end, record| {
            let key = self.record_key(record);
            let shared = match (record - first).is_multiple_of(FRONT_RESTART_RECORDS) {
                true => prefix,
                false => common_prefix(self.record_key(record - 1), key).min(prefix + FRONT_SHARED_BYTES_MAX),
            };
            *end += (key.len() - shared) as u64;
            Some((shared as u64, *end))
        })
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
        if shape.is_front() {
            self.fit_front(records.clone(), shape.prefix, columns);
        }
        let (little, before) = (columns.is_little_endian == Some(true), columns.values_before);
        let mut fit = |column: usize, number: &dyn Fn(usize) -> u64| {
            numbers.clear();
            numbers.extend(records.clone().map(number));
            columns.push(column, numbers);
        };
        for (column, (alphabet, range)) in shape.code.iter().flat_map(|code| code.words()).enumerate() {
            fit(column, &|record| alphabet.number(&self.record_key(record)[range.clone()]).unwrap_or(0));
        }
        if self.versioned {
            fit(SEQUENCES, &|record| self.rows[record].tag.sequence);
            fit(KINDS, &|record| u64::from(self.rows[record].tag.kind));
        }
        for word in 0..shape.value_width.map_or(0, value_words).min(VALUE_WORDS_MAX) {
            fit(VALUES + word, &|record| value_word(self.record_value(record), word, little));
        }
        if self.layout == Layout::Columns {
            fit(ENDS, &|record| before + u64::from(self.ends[record].1));
        }
        columns.shapes.push(shape);
    }

    /// Fits the columns of front-coded keys to a group.
    fn fit_front(&self, records: Range<usize>, prefix: usize, columns: &mut PendingColumns) {
        let from = columns.suffix_end(records.start);
        columns.suffix_ends.resize(records.start, from);
        let (shared, ends): (Vec<u64>, Vec<u64>) = self.front_numbers(records, prefix, from).unzip();
        columns.push(SHARED, &shared);
        columns.push(SUFFIX_ENDS, &ends);
        columns.suffix_ends.extend(ends);
    }

    fn group_shape(&self, records: Range<usize>, code: Option<&Arc<KeyCode>>) -> GroupShape {
        let first = records.start;
        if let Layout::Dense { value, .. } = self.layout {
            return GroupShape { code: code.cloned(), value_width: Some(value), prefix: 0 };
        }
        let width = self.record_value(first).len();
        let has_width = records.clone().all(|record| self.record_value(record).len() == width);
        let value_width = has_width.then_some(width);
        if self.has_long_values(records.clone()) {
            return GroupShape { code: None, value_width, prefix: 0 };
        }
        let admits = |code: &KeyCode| records.clone().all(|record| code.admits(self.record_key(record)));
        let code = code.filter(|code| admits(code)).cloned().unwrap_or_else(|| {
            let of_bytes = KeyCode::of_bytes(self.record_key(first)).filter(admits);
            Arc::new(of_bytes.unwrap_or_else(KeyCode::front))
        });
        let prefix = if code.is_front() { self.group_prefix(records) } else { 0 };
        GroupShape { code: Some(code), value_width, prefix }
    }

    /// The end of the fitted records; that of all if none are coded.
    pub(in crate::table) fn fitted_end(&self) -> usize {
        self.columns.as_ref().map_or(self.len(), |columns| columns.fitted().min(self.len()))
    }

    /// Bytes of the keys and values of pending records.
    fn bytes_of(&self, records: Range<usize>) -> usize {
        self.bytes_before(records.end) - self.bytes_before(records.start)
    }

    /// The largest numbers of records from `begin` on whose coded blocks take at most `early` and `room` bytes, which
    /// ascend. A shorter block can take more than a longer one, whose values are coded: the ends are those that
    /// bisection finds in the group that exceeds the limit, and depend on the records alone.
    pub(in crate::table) fn coded_fits(&self, begin: usize, early: usize, room: usize) -> (usize, usize) {
        let Some(columns) = &self.columns else { return (0, 0) };
        let (reach, decoded_limit) = (self.reach(), EXPANSION_MAX * self.block_bytes);
        let mut sizer = BlockSizer::new(self, columns, begin);
        let mut ends = [None; 2];
        let mut fitting = begin;
        while fitting < reach && sizer.push() {
            let group_end = (sizer.next_group * GROUP_NUMBERS - columns.lead).min(reach);
            let bytes = |end: usize| match self.bytes_of(begin..end) <= decoded_limit {
                true => sizer.bytes(end).0,
                false => usize::MAX,
            };
            let whole = bytes(group_end);
            for (end, limit) in
                ends.iter_mut().zip([early, room]).filter(|(end, limit)| end.is_none() && whole > *limit)
            {
                let (mut low, mut high) = (fitting, group_end);
                while high - low > 1 {
                    let middle = low + (high - low) / 2;
                    if bytes(middle) <= limit { low = middle } else { high = middle }
                }
                *end = Some(low);
            }
            if ends[1].is_some() {
                break;
            }
            fitting = group_end;
        }
        let [first, last] = ends.map(|end| end.unwrap_or(fitting) - begin);
        (first, last)
    }

    /// The columns of a block, if it is to be coded; `plain_bytes` is its size otherwise.
    pub(in crate::table) fn coded_parts(&self, begin: usize, end: usize, plain_bytes: usize) -> Option<CodedParts<'_>> {
        let columns = self.columns.as_ref()?;
        let mut sizer = BlockSizer::new(self, columns, begin);
        let first = sizer.next_group;
        let (last, _) = columns.group_of(end - 1);
        while sizer.next_group <= last {
            if !sizer.push() {
                return None;
            }
        }
        let (bytes, form) = sizer.bytes(end);
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
            front: code.is_front().then(|| FrontParts {
                prefixes: columns
                    .shapes
                    .get(first..=last)
                    .unwrap_or_default()
                    .iter()
                    .map(|shape| shape.prefix)
                    .collect(),
                shared: column(SHARED),
                suffix_ends: column(SUFFIX_ENDS),
                ends: columns.suffix_ends.get(begin..end).unwrap_or_default(),
                from: columns.suffix_end(begin),
            }),
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
    pub(in crate::table) fn remembered_ends(&self, begin: usize) -> Option<(u32, u32)> {
        let columns = self.columns.as_ref()?;
        let (at, ends) = (columns.discarded + begin as u64 + 1, columns.ends.borrow());
        ends.get(at as usize % REMEMBERED_ENDS).filter(|known| known.0 == at).map(|(_, ends)| *ends)
    }

    /// Remembers the ends of a block.
    pub(in crate::table) fn remember_ends(&self, begin: usize, fits: (u32, u32)) {
        let Some(columns) = &self.columns else { return };
        let mut ends = columns.ends.borrow_mut();
        if ends.is_empty() {
            ends.resize(REMEMBERED_ENDS, (0, (0, 0)));
        }
        let at = columns.discarded + begin as u64 + 1;
        ends[at as usize % REMEMBERED_ENDS] = (at, fits);
    }
}
