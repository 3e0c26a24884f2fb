//! Scans of relations whose rows are records: a key and a value.

use super::{Scan, ScanRequest};
use crate::error::external;
use crate::key_set::{KeyRange, KeySet};
use arrow_array::RecordBatch;
use datafusion::error::Result;
use ogive::types::{ColumnPlace, RecordColumn, RecordType};
use ogive_arrow::RecordBatchBuilder;
use std::ops::{Bound, ControlFlow, Range};

/// Keys that are looked up at a time: the first few by themselves, since a limit may be met by them.
const KEYS_AT_ONCE: usize = 4096;
/// Bytes of a batch after which it is passed on.
pub(super) const BATCH_BYTES: usize = 8 << 20;

/// A visitor of records. A value is absent if it was not asked for.
pub(crate) type Visit<'a> = dyn FnMut(&[u8], Option<&[u8]>) -> ControlFlow<()> + 'a;

/// A visitor of values that were looked up, and of the places of their keys among those that were asked for.
pub(crate) type VisitFound<'a> = dyn FnMut(usize, &[u8]) -> ogive::Result<()> + 'a;

/// Records by their keys.
pub(crate) trait Records: Send + Sync {
    /// Whether keys have one record at most.
    fn is_distinct(&self) -> bool;

    /// Passes the values of distinct keys in ascending order on, in that order, with the places of their keys.
    fn look_up(&self, keys: &[&[u8]], visit: &mut VisitFound<'_>) -> ogive::Result<()>;

    /// The records of a range.
    fn range(&self, range: KeyRange, with_values: bool, is_descending: bool) -> ogive::Result<Box<dyn RecordRange>>;
}

/// The records of a range, of which a part is read at a time.
pub(crate) trait RecordRange: Send {
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
pub(crate) struct RecordScan<R> {
    records: R,
    keys: KeySet,
    /// The ranges of the keys that are still to be begun, from the end if the scan is descending.
    places: Range<usize>,
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
    pub(crate) fn new(records: R, record_type: &RecordType, request: &ScanRequest) -> Self {
        let all = record_type.columns();
        let wanted: Vec<&RecordColumn> = request.columns.iter().filter_map(|&column| all.get(column)).collect();
        let with_values = wanted.iter().any(|column| matches!(column.place, ColumnPlace::Value(_)));
        Self {
            records,
            keys: request.keys.clone(),
            places: 0..request.keys.len(),
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
        if !self.records.is_distinct() {
            // Records of one key may be many: they are read as a range.
            return self.begin_range();
        }
        let most = KEYS_AT_ONCE.min(self.left.max(1));
        let single = |at: usize| self.keys.single(at);
        let mut keys: Vec<&[u8]> = match self.is_descending {
            false => self.places.clone().map_while(single).take(most).collect(),
            true => self.places.clone().rev().map_while(single).take(most).collect(),
        };
        if keys.len() < 2 {
            return self.begin_range();
        }
        match self.is_descending {
            false => self.places.start += keys.len(),
            true => self.places.end -= keys.len(),
        }
        let builder = &mut self.builder;
        if !self.is_descending {
            self.records.look_up(&keys, &mut |at, value| builder.append(keys[at], Some(value)))?;
            return Ok(true);
        }
        keys.reverse();
        let (mut values, mut found) = (Vec::new(), Vec::new());
        self.records.look_up(&keys, &mut |at, value| {
            let start = values.len();
            values.extend_from_slice(value);
            found.push((at, start..values.len()));
            Ok(())
        })?;
        found.into_iter().rev().try_for_each(|(at, place)| builder.append(keys[at], values.get(place)))?;
        Ok(true)
    }

    /// The place of the range that is read next.
    fn next_place(&mut self) -> Option<usize> {
        if self.is_descending { self.places.next_back() } else { self.places.next() }
    }

    fn begin_range(&mut self) -> ogive::Result<bool> {
        let Some(keys) = self.next_place().and_then(|at| self.keys.range(at)) else { return Ok(false) };
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
        let mut left = self.keys.part(self.places.clone());
        if let Some(begun) = self.range.take_if(|begun| !keys.contains(&begun.last) || self.records.is_distinct()) {
            let last = Bound::Excluded(begun.last.clone());
            let rest = KeySet::of(vec![match self.is_descending {
                false => (last, begun.keys.1.clone()),
                true => (begun.keys.0.clone(), last),
            }]);
            if rest.intersection(keys) == rest {
                self.range = Some(begun);
            } else {
                left = left.union(rest);
            }
        }
        self.keys = left.intersection(keys);
        self.places = 0..self.keys.len();
    }
}
