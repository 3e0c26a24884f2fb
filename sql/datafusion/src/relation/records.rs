//! Scans of relations whose rows are records: a key and a value.

use super::{Scan, ScanRequest};
use crate::error::external;
use crate::key_set::{KeyRange, KeySet, single};
use arrow_array::RecordBatch;
use datafusion::error::Result;
use ogive::types::{ColumnPlace, RecordColumn, RecordType};
use ogive_arrow::RecordBatchBuilder;
use std::collections::VecDeque;
use std::ops::{Bound, ControlFlow};

/// Keys that are looked up at a time: the first few by themselves, since a limit may be met by them.
const KEYS_AT_ONCE: usize = 4096;
/// Bytes of a batch after which it is passed on.
const BATCH_BYTES: usize = 8 << 20;

/// A visitor of records. A value is absent if it was not asked for.
pub(super) type Visit<'a> = dyn FnMut(&[u8], Option<&[u8]>) -> ControlFlow<()> + 'a;

/// Records by their keys.
pub(super) trait Records: Send + Sync {
    /// Whether keys have one record at most.
    fn is_distinct(&self) -> bool;

    /// The values of distinct keys in ascending order.
    fn multi_get(&self, keys: &[&[u8]]) -> ogive::Result<Vec<Option<Vec<u8>>>>;

    /// The records of a range.
    fn range(&self, range: KeyRange, with_values: bool, is_descending: bool) -> ogive::Result<Box<dyn RecordRange>>;
}

/// The records of a range, of which a part is read at a time.
pub(super) trait RecordRange: Send {
    /// Passes records on until the visitor breaks, or there are no more.
    fn visit(&mut self, visit: &mut Visit<'_>) -> ogive::Result<()>;
}

/// Any iterator is a range of records.
impl<I: Iterator<Item = ogive::Result<(Vec<u8>, Option<Vec<u8>>)>> + Send> RecordRange for I {
    fn visit(&mut self, visit: &mut Visit<'_>) -> ogive::Result<()> {
        for record in self {
            let (key, value) = record?;
            if visit(&key, value.as_deref()).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// A range of which some records were read.
struct Begun {
    keys: KeyRange,
    /// The key that was read last.
    last: Vec<u8>,
    records: Box<dyn RecordRange>,
}

/// The records of a set of keys.
pub(super) struct RecordScan<R> {
    records: R,
    keys: VecDeque<KeyRange>,
    /// The range that was begun.
    range: Option<Begun>,
    builder: RecordBatchBuilder,
    with_values: bool,
    batch_rows: usize,
    is_descending: bool,
    /// Rows that may still be returned.
    left: usize,
}

impl<R: Records> RecordScan<R> {
    pub(super) fn new(records: R, record_type: &RecordType, request: &ScanRequest) -> Self {
        let all = record_type.columns();
        let wanted: Vec<&RecordColumn> = request.columns.iter().filter_map(|&column| all.get(column)).collect();
        let with_values = wanted.iter().any(|column| matches!(column.place, ColumnPlace::Value(_)));
        Self {
            records,
            keys: in_order(&request.keys, request.is_descending),
            range: None,
            builder: RecordBatchBuilder::with_columns(record_type, false, |column| wanted.contains(&column)),
            with_values,
            batch_rows: request.batch_rows.max(1),
            is_descending: request.is_descending,
            left: request.limit.unwrap_or(usize::MAX),
        }
    }

    fn fill(&mut self) -> ogive::Result<()> {
        while !is_full(&self.builder, self.batch_rows.min(self.left)) {
            if self.range.is_none() && !self.begin()? {
                return Ok(());
            }
            self.read_range()?;
        }
        Ok(())
    }

    /// Looks the next keys up, or begins the next range; returns `false` at the end.
    fn begin(&mut self) -> ogive::Result<bool> {
        let most = KEYS_AT_ONCE.min(self.left.max(1));
        let points = self.keys.iter().map_while(single).take(most).count();
        if points < 2 || !self.records.is_distinct() {
            // Records of one key may be many: they are read as a range.
            return self.begin_range();
        }
        let points: Vec<KeyRange> = self.keys.drain(..points).collect();
        let mut keys: Vec<&[u8]> = points.iter().filter_map(single).collect();
        if self.is_descending {
            keys.reverse();
        }
        let found = self.records.multi_get(&keys)?;
        let mut found: Vec<_> = keys.into_iter().zip(found).collect();
        if self.is_descending {
            found.reverse();
        }
        for (key, value) in found {
            if let Some(value) = value {
                self.builder.append(key, Some(&value))?;
            }
        }
        Ok(true)
    }

    fn begin_range(&mut self) -> ogive::Result<bool> {
        let Some(keys) = self.keys.pop_front() else { return Ok(false) };
        let records = self.records.range(keys.clone(), self.with_values, self.is_descending)?;
        self.range = Some(Begun { keys, last: Vec::new(), records });
        Ok(true)
    }

    fn read_range(&mut self) -> ogive::Result<()> {
        let Some(mut range) = self.range.take() else { return Ok(()) };
        let (builder, rows) = (&mut self.builder, self.batch_rows.min(self.left));
        let (mut failed, last) = (None, &mut range.last);
        range.records.visit(&mut |key, value| {
            match builder.append(key, value) {
                Ok(()) if !is_full(builder, rows) => return ControlFlow::Continue(()),
                Ok(()) => *last = key.to_vec(),
                Err(error) => failed = Some(error),
            }
            ControlFlow::Break(())
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        // The range has ended if the visitor did not break it off.
        if is_full(builder, rows) {
            self.range = Some(range);
        }
        Ok(())
    }
}

fn is_full(builder: &RecordBatchBuilder, rows: usize) -> bool {
    builder.len() >= rows || builder.bytes() >= BATCH_BYTES
}

/// The ranges of a set, the one that is read first in front.
fn in_order(keys: &KeySet, is_descending: bool) -> VecDeque<KeyRange> {
    let ranges = keys.ranges().iter().cloned();
    if is_descending { ranges.rev().collect() } else { ranges.collect() }
}

impl<R: Records> Iterator for RecordScan<R> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        if let Err(error) = self.fill() {
            self.left = 0;
            return Some(Err(external(error)));
        }
        if self.builder.is_empty() {
            self.left = 0;
            return None;
        }
        let batch = self.builder.finish().map_err(external).map(|batch| {
            let rows = batch.num_rows().min(self.left);
            self.left -= rows;
            batch.slice(0, rows)
        });
        Some(batch)
    }
}

impl<R: Records> Scan for RecordScan<R> {
    fn narrow(&mut self, keys: &KeySet) {
        if let Some(begun) = self.range.take_if(|begun| !keys.contains(&begun.last) || self.records.is_distinct()) {
            let last = Bound::Excluded(begun.last.clone());
            let left = match self.is_descending {
                false => (last, begun.keys.1.clone()),
                true => (begun.keys.0.clone(), last),
            };
            let left = KeySet::of(vec![left]);
            let narrowed = left.clone().intersection(keys);
            if narrowed == left {
                self.range = Some(begun);
            } else {
                // What follows is in front of all other ranges in the order of the scan.
                self.keys.extend(narrowed.ranges().iter().cloned());
            }
        }
        let left = KeySet::of(self.keys.drain(..).collect());
        self.keys = in_order(&left.intersection(keys), self.is_descending);
    }
}
