//! Reading of the records of a set of keys as record batches.

use crate::error::external;
use crate::key_set::{KeyRange, KeySet, single};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::error::Result;
use ogive::Table;
use ogive::types::{ColumnPlace, RecordColumn};
use ogive_arrow::RecordBatchBuilder;
use std::collections::VecDeque;

/// Keys that are looked up at a time.
const KEYS_AT_ONCE: usize = 1024;
/// Bytes of a batch after which it is passed on.
const BATCH_BYTES: usize = 8 << 20;

/// Records of a range; without values, if no column needs them.
type Records = Box<dyn Iterator<Item = ogive::Result<(Vec<u8>, Option<Vec<u8>>)>> + Send>;

/// The records of a set of keys, in ascending order.
pub(crate) struct TableScan {
    table: Table,
    keys: VecDeque<KeyRange>,
    /// What was begun of the first range.
    range: Option<Records>,
    builder: RecordBatchBuilder,
    with_values: bool,
    batch_rows: usize,
    /// Rows that may still be returned.
    left: usize,
}

impl TableScan {
    /// A scan of some columns, in batches of some rows, up to a limit.
    pub(crate) fn new(table: Table, keys: &KeySet, columns: &[usize], batch_rows: usize, limit: Option<usize>) -> Self {
        let all = table.record_type().columns();
        let wanted: Vec<&RecordColumn> = columns.iter().filter_map(|&column| all.get(column)).collect();
        let with_values = wanted.iter().any(|column| matches!(column.place, ColumnPlace::Value(_)));
        let builder = RecordBatchBuilder::with_columns(table.record_type(), false, |column| wanted.contains(&column));
        let (keys, left) = (keys.ranges().iter().cloned().collect(), limit.unwrap_or(usize::MAX));
        Self { table, keys, range: None, builder, with_values, batch_rows: batch_rows.max(1), left }
    }

    /// The columns of the batches.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.builder.schema().clone()
    }

    fn is_full(&self) -> bool {
        self.builder.len() >= self.batch_rows.min(self.left) || self.builder.bytes() >= BATCH_BYTES
    }

    fn fill(&mut self) -> ogive::Result<()> {
        while !self.is_full() {
            if self.range.is_none() && !self.begin()? {
                return Ok(());
            }
            self.read_range()?;
        }
        Ok(())
    }

    /// Looks the next keys up, or begins the next range; returns `false` at the end.
    fn begin(&mut self) -> ogive::Result<bool> {
        let points = self.keys.iter().map_while(single).take(KEYS_AT_ONCE).map(<[u8]>::to_vec);
        let points: Vec<Vec<u8>> = points.collect();
        if points.is_empty() {
            return Ok(self.begin_range());
        }
        if points.len() == 1 || !self.table.is_distinct() {
            // Records of one key may be many: they are read as a range.
            return Ok(self.begin_range());
        }
        self.keys.drain(..points.len());
        let keys: Vec<&[u8]> = points.iter().map(Vec::as_slice).collect();
        for (key, value) in keys.iter().zip(self.table.multi_get(&keys)?) {
            if let Some(value) = value {
                self.builder.append(key, Some(&value))?;
            }
        }
        Ok(true)
    }

    fn begin_range(&mut self) -> bool {
        let Some(range) = self.keys.pop_front() else { return false };
        let range = self.table.range::<Vec<u8>>(range);
        self.range = Some(match self.with_values {
            true => Box::new(range.map(|record| record.map(|(key, value)| (key, Some(value))))),
            false => Box::new(range.keys().map(|key| key.map(|key| (key, None)))),
        });
        true
    }

    fn read_range(&mut self) -> ogive::Result<()> {
        let Some(mut range) = self.range.take() else { return Ok(()) };
        while !self.is_full() {
            match range.next() {
                Some(record) => {
                    let (key, value) = record?;
                    self.builder.append(&key, value.as_deref())?;
                }
                None => return Ok(()),
            }
        }
        self.range = Some(range);
        Ok(())
    }
}

impl Iterator for TableScan {
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
