//! The look-ahead buffer of a table writer: accepted records from which the ends of blocks are chosen.

use super::coding::{FITTED_RECORD_BYTES, PendingColumns};
use crate::table::block::coded;
use crate::table::block::columns::{self, ColumnRows, ColumnShape, HEAD_BYTES};
use crate::table::block::key::key_as_u64;
use crate::table::block::parts::{StoredValue, VersionTag, start_bytes};
use crate::table::block::view::{CODED_FLAG, COLUMNS_FLAG, LONG_VALUE_KIND, Layout, TRAILER_BYTES, push_trailer};
use ogive_model::Fence;
use ogive_model::coded::{Cuts, StringCuts, common_prefix};
use std::cell::Cell;
use std::ops::Range;

/// A block may end early by up to this share of its capacity if its separator then compresses better; a sixteenth makes
/// separators cheap and keeps blocks 97 % full.
const BLOCK_SLACK_RATIO: f64 = 1.0 / 16.0;
/// The same share while blocks have been emptier than [`FILL_RATIO_MIN`] on average.
const UNDERFULL_SLACK_RATIO: f64 = 1.0 / 48.0;
const FILL_RATIO_MIN: f64 = 0.966;
/// Expected end of a block as a share of the slack: closer to the full end, so that blocks stay full.
const EXPECTED_END_RATIO: f64 = 7.0 / 16.0;
/// Smallest size charged for a pending record: with its bookkeeping, a key of one byte takes several times as much.
const RECORD_BYTES_MIN: usize = 16;
/// Largest number of records in a block: the trailer stores it in 24 bits.
const BLOCK_RECORDS_MAX: usize = (1 << 24) - 1;
/// A coded block must hold at least 1/N more records than a plain one.
const CODED_GAIN_DIVISOR: usize = 20;
/// Marker in [`PendingRecord::fits`] for ends that were not computed yet.
const UNKNOWN_FITS: (u32, u32) = (0, 0);

/// Bookkeeping for a pending record of varying length, apart from its bytes.
#[derive(Debug)]
pub(in crate::table) struct PendingRecord {
    pub(in crate::table) tag: VersionTag,
    /// The first of the consecutive records up to this one with equal key lengths, equal value lengths, and equal
    /// kinds.
    same_key_from: u32,
    same_value_from: u32,
    same_tag_from: u32,
    /// The earliest and latest end of a block that begins here, relative to this record; [`UNKNOWN_FITS`] until they
    /// are computed.
    fits: Cell<(u32, u32)>,
}

/// The pending records, numbered from 0, in order.
#[derive(Debug)]
pub(in crate::table) struct PendingRecords {
    pub(in crate::table) layout: Layout,
    pub(in crate::table) versioned: bool,
    pub(in crate::table) block_bytes: usize,
    /// The columns of the records, if blocks may be coded.
    pub(in crate::table) columns: Option<PendingColumns>,
    /// Empty for dense records.
    keys: Vec<u8>,
    /// Values without version tags, and pointers for long values; for dense records all bytes, as stored in blocks.
    values: Vec<u8>,
    /// The ends of each key and value; empty for dense records.
    pub(in crate::table) ends: Vec<(u32, u32)>,
    /// Empty for dense records.
    pub(in crate::table) rows: Vec<PendingRecord>,
    /// Numeric keys as u64; empty for byte strings and for dense records.
    keys_as_u64: Vec<u64>,
    numeric: bool,
    /// Bytes of records in blocks so far, and bytes of those blocks.
    filled: (u64, u64),
    /// Whether the last record is the last of the table.
    complete: bool,
}

impl PendingRecords {
    pub(in crate::table) fn new(layout: Layout, versioned: bool, block_bytes: usize, numeric: bool) -> Self {
        Self {
            layout,
            versioned,
            block_bytes,
            columns: None,
            keys: Vec::new(),
            values: Vec::new(),
            ends: Vec::new(),
            rows: Vec::new(),
            keys_as_u64: Vec::new(),
            numeric,
            filled: (0, 0),
            complete: false,
        }
    }

    /// Lets blocks be coded where that saves space.
    pub(in crate::table) fn allow_coding(&mut self) {
        // In dense records with versions, tags are parts of the values.
        if self.layout == Layout::Columns || !self.versioned {
            self.columns = Some(PendingColumns::default());
        }
    }

    /// Marks the input as complete.
    pub(in crate::table) fn complete(&mut self) {
        self.complete = true;
    }

    /// The record up to which blocks may extend: the end if the input is complete. Otherwise the last record is held
    /// back, so that the key after each block is known, and with it the border.
    pub(in crate::table) fn reach(&self) -> usize {
        if self.complete { self.len() } else { self.len().saturating_sub(1).min(self.fitted_end()) }
    }

    pub(in crate::table) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Changes the block size, before the first block.
    pub(in crate::table) fn set_block_bytes(&mut self, block_bytes: usize) {
        self.block_bytes = block_bytes;
    }

    /// Reserves space for `bytes` of dense records, so that the buffer does not grow beyond it.
    pub(in crate::table) fn reserve(&mut self, bytes: usize) {
        if self.width().is_some() {
            self.values.reserve_exact(bytes.saturating_sub(self.values.len()));
        }
    }

    /// Mean size of a pending record in a block, in bytes.
    pub(in crate::table) fn mean_record_bytes(&self) -> f64 {
        let ends = if self.layout == Layout::Columns { self.len() * start_bytes(self.block_bytes) } else { 0 };
        (self.byte_len() + ends) as f64 / self.len().max(1) as f64
    }

    /// Appends a record; `tag` is used in a versioned table only.
    pub(in crate::table) fn push(&mut self, key: &[u8], mut tag: VersionTag, value: StoredValue<'_>) {
        if self.width().is_some() {
            self.values.extend_from_slice(key);
            if self.versioned {
                self.values.extend_from_slice(&tag.to_bytes());
            }
        }
        let before = self.values.len();
        match value {
            StoredValue::Inline(value) => self.values.extend_from_slice(value),
            StoredValue::Short(value) => self.values.extend_from_slice(&value),
            StoredValue::Long(pointer) => {
                tag.kind = LONG_VALUE_KIND;
                self.values.extend_from_slice(&pointer.encode());
            }
        }
        if self.width().is_some() {
            return;
        }
        self.note(key.len(), tag, self.values.len() - before);
        self.keys.extend_from_slice(key);
        self.ends.push((self.keys.len() as u32, self.values.len() as u32));
        if self.numeric {
            self.keys_as_u64.push(key_as_u64(key));
        }
    }

    /// Appends consecutive dense records in their stored form.
    pub(in crate::table) fn push_dense(&mut self, records: &[u8]) {
        self.values.extend_from_slice(records);
    }

    /// Size of a dense record in bytes.
    #[inline]
    fn width(&self) -> Option<usize> {
        match self.layout {
            Layout::Dense { key, value } => Some((key + value).max(1)),
            Layout::Columns => None,
        }
    }

    /// Records the properties that the next record shares with those before it.
    fn note(&mut self, key_bytes: usize, tag: VersionTag, value_bytes: usize) {
        let record = self.rows.len() as u32;
        let mut row = PendingRecord {
            tag,
            same_key_from: record,
            same_value_from: record,
            same_tag_from: record,
            fits: Cell::new(UNKNOWN_FITS),
        };
        if let Some(before) = self.rows.last() {
            let last = self.rows.len() - 1;
            let same = |is_same: bool, from: u32| if is_same { from } else { record };
            row.same_key_from = same(self.key_range(last).len() == key_bytes, before.same_key_from);
            row.same_value_from = same(self.value_range(last).len() == value_bytes, before.same_value_from);
            row.same_tag_from = same(before.tag.kind == tag.kind, before.same_tag_from);
        }
        self.rows.push(row);
    }

    pub(in crate::table) fn len(&self) -> usize {
        self.width().map_or(self.ends.len(), |width| self.values.len() / width)
    }

    pub(in crate::table) fn byte_len(&self) -> usize {
        self.keys.len() + self.values.len()
    }

    /// The ends of the keys and values before `record`.
    fn ends_before(&self, record: usize) -> (usize, usize) {
        record.checked_sub(1).map_or((0, 0), |before| (self.ends[before].0 as usize, self.ends[before].1 as usize))
    }

    /// Size of the keys and values before a record, in bytes.
    pub(in crate::table) fn bytes_before(&self, record: usize) -> usize {
        if let Some(width) = self.width() {
            return record * width;
        }
        let (keys, values) = self.ends_before(record);
        keys + values
    }

    /// Size charged against limits for the pending records from `record` on; includes a minimum for each record.
    pub(in crate::table) fn load_from(&self, record: usize) -> usize {
        let (records, fitted) = (self.len() - record, if self.columns.is_some() { FITTED_RECORD_BYTES } else { 0 });
        let bytes = self.byte_len() - self.bytes_before(record) + records * fitted;
        if self.width().is_some() { bytes } else { bytes.max(records * RECORD_BYTES_MIN) }
    }

    fn key_range(&self, record: usize) -> Range<usize> {
        self.ends_before(record).0..self.ends[record].0 as usize
    }

    fn value_range(&self, record: usize) -> Range<usize> {
        self.ends_before(record).1..self.ends[record].1 as usize
    }

    /// Whether the value of one of the records is stored outside the blocks.
    pub(in crate::table) fn has_long_values(&self, records: Range<usize>) -> bool {
        !self.versioned && self.rows[records].iter().any(|row| row.tag.kind == LONG_VALUE_KIND)
    }

    pub(in crate::table) fn record_key(&self, record: usize) -> &[u8] {
        match self.layout {
            Layout::Dense { key, value } => &self.values[record * (key + value)..][..key],
            Layout::Columns => &self.keys[self.key_range(record)],
        }
    }

    /// The value of a record, without a version tag; a pointer for a long value.
    #[inline]
    pub(in crate::table) fn record_value(&self, record: usize) -> &[u8] {
        match self.layout {
            Layout::Dense { key, value } => &self.values[record * (key + value) + key..][..value],
            Layout::Columns => &self.values[self.value_range(record)],
        }
    }

    /// Bytes of the values of some records.
    pub(in crate::table) fn value_bytes_of(&self, records: Range<usize>) -> usize {
        match self.layout {
            Layout::Dense { value, .. } => records.len() * value,
            Layout::Columns => self.ends_before(records.end).1 - self.ends_before(records.start).1,
        }
    }

    /// The numeric key of a record.
    #[inline]
    pub(in crate::table) fn key_as_u64_of(&self, record: usize) -> u64 {
        match self.layout {
            Layout::Dense { .. } => key_as_u64(self.record_key(record)),
            Layout::Columns => self.keys_as_u64[record],
        }
    }

    /// The numeric keys on both sides of the border before a record, which is not the first.
    pub(in crate::table) fn border(&self, record: usize) -> Fence {
        Fence { low: self.key_as_u64_of(record - 1), high: self.key_as_u64_of(record) }
    }

    /// The numeric keys of all records.
    pub(in crate::table) fn keys_as_u64(&self) -> Vec<u64> {
        let numbers = if self.numeric { self.len() } else { 0 };
        (0..numbers).map(|record| self.key_as_u64_of(record)).collect()
    }

    /// The column shape of a block of one record.
    fn shape(&self, record: usize) -> ColumnShape {
        let (key_bytes, value_bytes) = (self.key_range(record).len(), self.value_range(record).len());
        let sequence = self.rows[record].tag.sequence;
        ColumnShape {
            count: 1,
            key_bytes,
            value_bytes,
            prefix: key_bytes,
            one_key_length: true,
            one_value_length: true,
            one_tag: true,
            least_sequence: sequence,
            largest_sequence: sequence,
        }
    }

    /// Extends the shape of a block that begins at `begin` by the record `begin + shape.count`.
    fn grow(&self, shape: &mut ColumnShape, begin: usize) {
        let record = begin + shape.count;
        let (row, key) = (&self.rows[record], self.key_range(record));
        shape.count += 1;
        shape.key_bytes += key.len();
        shape.value_bytes += self.value_range(record).len();
        let first = self.key_range(begin).start;
        if self.keys.get(first..first + shape.prefix) != self.keys[key.clone()].get(..shape.prefix) {
            shape.prefix = common_prefix(&self.keys[first..first + shape.prefix], &self.keys[key]);
        }
        shape.one_key_length = row.same_key_from as usize <= begin;
        shape.one_value_length = row.same_value_from as usize <= begin;
        shape.one_tag = row.same_tag_from as usize <= begin;
        shape.least_sequence = shape.least_sequence.min(row.tag.sequence);
        shape.largest_sequence = shape.largest_sequence.max(row.tag.sequence);
    }

    /// Size of a block of varying-length records with this shape, without overhead.
    fn cost(&self, shape: &ColumnShape) -> usize {
        shape.bytes(start_bytes(self.block_bytes))
    }

    /// Size of a block without records.
    pub(in crate::table) fn overhead(&self) -> usize {
        TRAILER_BYTES + if self.layout == Layout::Columns { HEAD_BYTES } else { 0 }
    }

    pub(in crate::table) fn room(&self) -> usize {
        self.block_bytes - TRAILER_BYTES
    }

    fn slack(&self) -> f64 {
        let (used, blocks) = self.filled;
        if used as f64 >= FILL_RATIO_MIN * blocks as f64 { BLOCK_SLACK_RATIO } else { UNDERFULL_SLACK_RATIO }
    }

    /// The earliest and latest end of a block that begins at `begin`, with at least one record. The latest end is
    /// [`Self::reach`] if all records up to there fit.
    fn fits(&self, begin: usize) -> (usize, usize) {
        if begin >= self.reach() {
            return (begin, begin);
        }
        let known = match self.rows.get(begin) {
            Some(row) => row.fits.get(),
            None => self.remembered_ends(begin).unwrap_or(UNKNOWN_FITS),
        };
        let fits = if known == UNKNOWN_FITS { self.look_for_fits(begin) } else { known };
        // If all records fit, more may come.
        if known == UNKNOWN_FITS && begin + (fits.1 as usize) < self.reach() {
            match self.rows.get(begin) {
                Some(row) => row.fits.set(fits),
                None => self.remember_ends(begin, fits),
            }
        }
        (begin + fits.0 as usize, begin + fits.1 as usize)
    }

    fn look_for_fits(&self, begin: usize) -> (u32, u32) {
        let room = self.room();
        let early = (room as f64 * (1.0 - self.slack())) as usize;
        let plain = self.plain_fits(begin, room, early);
        let (first, last) = self.coded_fits(begin, early, room);
        let last = last.min(BLOCK_RECORDS_MAX);
        if last <= plain.1 as usize + plain.1 as usize / CODED_GAIN_DIVISOR {
            return plain;
        }
        (first.clamp(1, last) as u32, last as u32)
    }

    /// As [`Self::fits`], for a block that is not coded, relative to `begin`.
    fn plain_fits(&self, begin: usize, room: usize, early: usize) -> (u32, u32) {
        if let Layout::Dense { key, value } = self.layout {
            let most = (self.reach() - begin) as u32;
            let fitting = |room: usize| ((room / (key + value).max(1)) as u32).clamp(1, most);
            return (fitting(early), fitting(room));
        }
        let mut shape = self.shape(begin);
        let (mut first, mut last) = (1, 1);
        while begin + shape.count < self.reach() && shape.count < BLOCK_RECORDS_MAX {
            self.grow(&mut shape, begin);
            let cost = self.cost(&shape);
            if cost > room {
                break;
            }
            last = shape.count;
            first = if cost <= early { last } else { first };
        }
        (first as u32, last as u32)
    }

    /// The end of a full block that begins at `begin`.
    pub(in crate::table) fn full_end(&self, begin: usize) -> usize {
        self.fits(begin).1
    }

    fn range_of_ends(&self, begin: usize) -> Option<(usize, usize)> {
        if begin >= self.reach() {
            return None;
        }
        let (first, last) = self.fits(begin);
        (last < self.reach()).then_some((first, last))
    }

    fn expected_end(&self, begin: usize, children: usize) -> Option<usize> {
        let kept = 1.0 - EXPECTED_END_RATIO * self.slack();
        let end = match self.layout {
            Layout::Dense { .. } if self.columns.is_some() => {
                let full = self.full_end(begin) - begin;
                begin + (children as f64 * full as f64 * kept) as usize
            }
            Layout::Dense { key, value } => {
                let room = self.room() as f64 * kept;
                begin + (children as f64 * (room / (key + value) as f64).floor()) as usize
            }
            Layout::Columns => {
                // As the block that begins here.
                let full = self.bytes_before(self.full_end(begin)) - self.bytes_before(begin);
                let goal = self.bytes_before(begin) + (children as f64 * full as f64 * kept) as usize;
                self.ends.partition_point(|&(key, value)| (key as usize + value as usize) < goal).max(begin)
            }
        };
        (end < self.len()).then_some(end)
    }

    /// Appends the block of the records `begin..end` to `raw`, without its checksum. It has `block_bytes` bytes, or
    /// more by a multiple of 512 if it holds one oversized record. Returns whether it is coded.
    pub(in crate::table) fn lay_out(&mut self, begin: usize, end: usize, raw: &mut Vec<u8>) -> bool {
        let start = raw.len();
        let mut form = 0;
        match self.layout {
            _ if self.lay_out_coded(begin, end, raw) => form = CODED_FLAG,
            Layout::Dense { key, value } => {
                raw.extend_from_slice(&self.values[begin * (key + value)..end * (key + value)])
            }
            Layout::Columns => {
                form = COLUMNS_FLAG;
                let mut shape = self.shape(begin);
                (begin + 1..end).for_each(|_| self.grow(&mut shape, begin));
                let body = shape.bytes(2);
                let end_bytes = start_bytes(self.block_bytes_for(body));
                columns::encode(&shape, &PendingBlock { pending: self, begin }, end_bytes, raw);
            }
        }
        let used = raw.len() - start;
        raw.resize(start + self.block_bytes_for(used) - TRAILER_BYTES, 0);
        push_trailer(raw, form, end - begin);
        self.filled.0 += used as u64;
        self.filled.1 += self.block_bytes as u64;
        form == CODED_FLAG
    }

    /// Appends the body of a coded block; `false` if it is not to be coded.
    fn lay_out_coded(&self, begin: usize, end: usize, raw: &mut Vec<u8>) -> bool {
        let plain_bytes = match self.layout {
            _ if self.columns.is_none() => return false,
            Layout::Dense { key, value } => (end - begin) * (key + value),
            Layout::Columns => {
                let mut shape = self.shape(begin);
                (begin + 1..end).for_each(|_| self.grow(&mut shape, begin));
                self.cost(&shape)
            }
        };
        let Some(parts) = self.coded_parts(begin, end, plain_bytes) else { return false };
        coded::encode(&parts, &PendingBlock { pending: self, begin }, start_bytes(self.block_bytes), raw);
        true
    }

    /// Size of a block whose body takes `body_bytes`, before padding and trailer.
    fn block_bytes_for(&self, body_bytes: usize) -> usize {
        let needed = body_bytes + TRAILER_BYTES;
        if needed <= self.block_bytes { self.block_bytes } else { needed.next_multiple_of(512) }
    }

    /// Drops the first `count` records.
    pub(in crate::table) fn discard(&mut self, count: usize) {
        let value_bytes = self.value_bytes_of(0..count);
        if let Some(columns) = &mut self.columns {
            columns.discard(count, value_bytes);
        }
        if let Some(width) = self.width() {
            self.values.drain(..count * width);
            return;
        }
        let (keys, values) = self.ends_before(count);
        self.keys.drain(..keys);
        self.values.drain(..values);
        self.ends.drain(..count);
        self.ends.iter_mut().for_each(|(key, value)| (*key, *value) = (*key - keys as u32, *value - values as u32));
        self.rows.drain(..count);
        for row in &mut self.rows {
            for from in [&mut row.same_key_from, &mut row.same_value_from, &mut row.same_tag_from] {
                *from = from.saturating_sub(count as u32);
            }
        }
        if self.numeric {
            self.keys_as_u64.drain(..count);
        }
    }
}

/// The records from `begin` on.
struct PendingBlock<'a> {
    pending: &'a PendingRecords,
    begin: usize,
}

impl ColumnRows for PendingBlock<'_> {
    fn key(&self, row: usize) -> &[u8] {
        self.pending.record_key(self.begin + row)
    }

    fn value(&self, row: usize) -> &[u8] {
        self.pending.record_value(self.begin + row)
    }

    fn tag(&self, row: usize) -> VersionTag {
        self.pending.rows.get(self.begin + row).map_or_else(VersionTag::default, |row| row.tag)
    }
}

impl Cuts for PendingRecords {
    fn ends(&self, begin: usize) -> Option<(usize, usize)> {
        self.range_of_ends(begin)
    }

    fn key_as_u64(&self, record: usize) -> u64 {
        self.key_as_u64_of(record)
    }

    fn ahead(&self, begin: usize, children: usize) -> Option<usize> {
        self.expected_end(begin, children)
    }
}

impl StringCuts for PendingRecords {
    fn ends(&self, begin: usize) -> Option<(usize, usize)> {
        self.range_of_ends(begin)
    }

    fn key(&self, record: usize) -> &[u8] {
        self.record_key(record)
    }

    fn ahead(&self, begin: usize, children: usize) -> Option<usize> {
        self.expected_end(begin, children)
    }
}
