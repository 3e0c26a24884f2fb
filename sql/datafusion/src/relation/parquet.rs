//! Rows of Parquet files, by the index beside them.

use super::{Relation, RelationIdentity, RowCount, Scan, ScanRequest};
use crate::error::of_parquet;
use crate::key_columns::KeyColumns;
use crate::key_set::{KeyRange, KeySet};
use crate::metrics::ScanMetrics;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::error::Result;
use ogive::Profile;
use ogive_parquet::{ParquetIndex, ParquetScan, Trace};
use std::collections::VecDeque;

/// Most keys that are looked up at a time.
const KEYS_AT_ONCE: usize = 1024;
/// How many times the keys of a look-up the next one has, if rows of these were too few for a limit.
const KEYS_GROWTH: usize = 8;

/// The rows of Parquet files in the order of their key.
#[derive(Debug)]
pub(crate) struct ParquetRelation {
    index: ParquetIndex,
    identity: RelationIdentity,
    schema: SchemaRef,
    key: KeyColumns,
    bytes: u64,
}

impl ParquetRelation {
    /// An index at this path or URL.
    ///
    /// # Errors
    /// A column of the key that the files do not have.
    pub(crate) fn new(index: ParquetIndex, location: String) -> Result<Self> {
        let version = format!("{:016x}", index.table().file_id());
        let schema = index.schema();
        let positions = index.key_columns().map(|name| schema.index_of(name));
        let positions = positions.collect::<Result<Vec<_>, _>>()?;
        let key = KeyColumns::new(index.key_type(), &schema, &positions, true);
        let bytes = index.files().map(|(_, bytes)| bytes).sum();
        let identity = RelationIdentity { location, keyspace: String::new(), version, types: None };
        Ok(Self { index, identity, schema, key, bytes })
    }
}

impl Relation for ParquetRelation {
    fn identity(&self) -> &RelationIdentity {
        &self.identity
    }

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn key(&self) -> &KeyColumns {
        &self.key
    }

    fn rows(&self) -> RowCount {
        RowCount::exact(self.index.rows())
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn profile(&self) -> &Profile {
        self.index.table().profile()
    }

    fn is_distinct(&self) -> bool {
        false
    }

    fn count(&self, range: &KeyRange) -> Result<RowCount> {
        self.index.count::<Vec<u8>>(range.clone()).map(RowCount::exact).map_err(of_parquet)
    }

    /// The keys of rows are in the data files, whose pages are not read for statistics.
    fn ends(&self, _: &KeyRange) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        Ok(None)
    }

    fn cuts(&self, _: &KeyRange, _: u64) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    /// Pages of Parquet files are decoded forwards.
    fn reads_backwards(&self) -> bool {
        false
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        let columns: Vec<String> =
            request.columns.iter().map(|&column| self.schema.field(column).name().clone()).collect();
        Ok(Box::new(RowScan {
            index: self.index.clone(),
            columns,
            keys: request.keys,
            read: 0,
            found: VecDeque::new(),
            range: None,
            keys_at_once: request.limit.unwrap_or(KEYS_AT_ONCE).clamp(1, KEYS_AT_ONCE),
            is_limited: request.limit.is_some(),
            left: request.limit.unwrap_or(usize::MAX),
            metrics: request.metrics,
        }))
    }
}

/// The rows of a set of keys.
struct RowScan {
    index: ParquetIndex,
    columns: Vec<String>,
    keys: KeySet,
    /// The ranges of the keys that were read or begun.
    read: usize,
    /// Rows of keys that were looked up.
    found: VecDeque<RecordBatch>,
    range: Option<ParquetScan>,
    /// Keys that are looked up next.
    keys_at_once: usize,
    /// Whether the scan ends after `left` rows, all of which are wanted.
    is_limited: bool,
    left: usize,
    metrics: ScanMetrics,
}

impl RowScan {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let index = self.index.clone();
        let columns = self.columns.clone();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        loop {
            if let Some(batch) = self.found.pop_front() {
                return Ok(Some(batch));
            }
            if let Some(batch) = self.range.as_mut().and_then(Iterator::next) {
                return batch.map(Some).map_err(of_parquet);
            }
            self.end_range();
            let keys: Vec<&[u8]> = (self.read..).map_while(|at| self.keys.single(at)).take(self.keys_at_once).collect();
            // A key may have many rows, of which a range reads as many as are wanted. In sorted files this takes a
            // round of reads more than a look-up.
            let is_range = keys.is_empty() || keys.len() == 1 && self.is_limited && !index.is_sorted();
            if !is_range {
                self.read += keys.len();
                self.keys_at_once = (self.keys_at_once * KEYS_GROWTH).min(KEYS_AT_ONCE);
                let mut trace = Trace::new();
                let found = index.multi_get_traced(&keys, Some(&columns), Some(&mut trace));
                self.metrics.add_keys(keys.len());
                self.metrics.add_requests(trace.requests.len(), trace.bytes());
                let found = found.map_err(of_parquet)?;
                let Some(schema) = found.first().map(RecordBatch::schema) else { continue };
                let found: Vec<RecordBatch> = found.into_iter().filter(|batch| batch.num_rows() > 0).collect();
                if !found.is_empty() {
                    self.found.push_back(arrow_select::concat::concat_batches(&schema, &found)?);
                }
            } else if let Some(range) = self.keys.range(self.read) {
                self.read += 1;
                let scan = index.scan_traced::<Vec<u8>>(range, Some(&columns), Some(Trace::new()));
                let scan = scan.map_err(of_parquet)?;
                // Without a limit, it is not known how far the scan is followed.
                self.range = Some(if self.is_limited { scan.limit(self.left as u64) } else { scan });
            } else {
                return Ok(None);
            }
        }
    }

    fn end_range(&mut self) {
        if let Some(trace) = self.range.take().and_then(ParquetScan::into_trace) {
            self.metrics.add_requests(trace.requests.len(), trace.bytes());
        }
    }
}

impl Iterator for RowScan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        match self.next_batch() {
            Ok(Some(batch)) => {
                let rows = batch.num_rows().min(self.left);
                self.left -= rows;
                if self.left == 0 {
                    self.end_range();
                }
                Some(Ok(batch.slice(0, rows)))
            }
            Ok(None) => {
                self.left = 0;
                None
            }
            Err(error) => {
                self.left = 0;
                Some(Err(error))
            }
        }
    }
}

impl Scan for RowScan {
    /// A range that was begun is read to its end.
    fn narrow(&mut self, keys: &KeySet) {
        self.keys = self.keys.part(self.read..self.keys.len()).intersection(keys);
        self.read = 0;
    }
}
