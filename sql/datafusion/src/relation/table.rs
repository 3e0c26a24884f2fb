//! Table files.

use super::records::{RecordRange, RecordScan, Records, Visit, VisitFound};
use super::{Relation, RelationIdentity, RowCount, Scan, ScanRequest};
use crate::error::external;
use crate::key_columns::KeyColumns;
use crate::key_set::KeyRange;
use crate::metrics::ScanMetrics;
use arrow_schema::SchemaRef;
use datafusion::error::Result;
use ogive::table::TableRange;
use ogive::{Error, Profile, Table};
use std::ops::Range;

/// The records of a table file.
#[derive(Debug)]
pub(crate) struct TableRelation {
    table: Table,
    identity: RelationIdentity,
    schema: SchemaRef,
    key: KeyColumns,
}

impl TableRelation {
    /// A table that lies at this path or URL.
    ///
    /// # Errors
    /// [`Cause::Input`](ogive::Cause::Input) for a file of a store, whose records may be of several versions.
    pub(crate) fn new(table: Table, location: String) -> ogive::Result<Self> {
        if table.is_versioned() {
            let message = format!("{} is a file of a store; name the folder of the store", table.path().display());
            return Err(Error::input(message));
        }
        let version = format!("{:016x}", table.file_id());
        let schema = ogive_arrow::schema_of(table.record_type(), false);
        let key = KeyColumns::new(table.key_type(), &schema, &super::key_positions(table.record_type()), false);
        Ok(Self {
            identity: RelationIdentity { location, keyspace: String::new(), version, types: None },
            table,
            schema,
            key,
        })
    }
}

impl Relation for TableRelation {
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
        RowCount::exact(self.table.len())
    }

    fn bytes(&self) -> u64 {
        self.table.explain().file_bytes
    }

    fn profile(&self) -> &Profile {
        self.table.profile()
    }

    fn is_distinct(&self) -> bool {
        self.table.is_distinct()
    }

    fn count(&self, range: &KeyRange) -> Result<RowCount> {
        self.table.count::<Vec<u8>>(range.clone()).map(RowCount::exact).map_err(external)
    }

    fn ends(&self, range: &KeyRange) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let positions = self.positions(range)?;
        let Some(last) = positions.end.checked_sub(1).filter(|_| !positions.is_empty()) else { return Ok(None) };
        Ok(match &mut self.table.keys_at(&[positions.start, last]).map_err(external)?[..] {
            [first, last] => first.take().zip(last.take()),
            _ => None,
        })
    }

    fn cuts(&self, range: &KeyRange, parts: u64) -> Result<Vec<Vec<u8>>> {
        let rows = self.positions(range)?;
        let cuts = (1..parts).map(|part| position_of(&rows, part, parts));
        // The blocks of both ends are read side by side with those of the cuts: `ends` is asked for them next.
        let positions: Vec<u64> = cuts.chain([rows.start, rows.end.saturating_sub(1)]).collect();
        let mut keys = self.table.keys_at(&positions).map_err(external)?;
        keys.truncate(positions.len() - 2);
        Ok(keys.into_iter().flatten().collect())
    }

    fn key_at(&self, range: &KeyRange, part: u64, parts: u64) -> Result<Option<Vec<u8>>> {
        let position = position_of(&self.positions(range)?, part, parts);
        Ok(self.table.keys_at(&[position]).map_err(external)?.pop().flatten())
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        let records = TableRecords { table: self.table.clone(), metrics: request.metrics.clone() };
        Ok(Box::new(RecordScan::new(records, self.table.record_type(), &request)))
    }
}

impl TableRelation {
    fn positions(&self, range: &KeyRange) -> Result<Range<u64>> {
        self.table.positions::<Vec<u8>>(range.clone()).map_err(external)
    }
}

/// The position that has `part / parts` of the rows at these positions in front.
fn position_of(rows: &Range<u64>, part: u64, parts: u64) -> u64 {
    let count = u128::from(rows.end - rows.start);
    rows.start + (count * u128::from(part) / u128::from(parts.max(1))) as u64
}

struct TableRecords {
    table: Table,
    metrics: ScanMetrics,
}

impl Records for TableRecords {
    fn is_distinct(&self) -> bool {
        self.table.is_distinct()
    }

    fn look_up(&self, keys: &[&[u8]], visit: &mut VisitFound<'_>) -> ogive::Result<()> {
        let mut trace = ogive::table::ReadTrace::new();
        let found = self.table.traced(&mut trace).multi_get_with(keys, visit);
        self.metrics.add_reads(&trace, 0);
        self.metrics.add_keys(keys.len());
        found
    }

    fn range(&self, range: KeyRange, with_values: bool, is_descending: bool) -> ogive::Result<Box<dyn RecordRange>> {
        let range = self.table.range::<Vec<u8>>(range).traced();
        Ok(Box::new(TracedRange { range, with_values, is_descending, metrics: self.metrics.clone(), reads: 0 }))
    }
}

/// A range whose reads are added to the metrics.
struct TracedRange {
    range: TableRange,
    with_values: bool,
    is_descending: bool,
    metrics: ScanMetrics,
    /// The reads that were added.
    reads: usize,
}

impl TracedRange {
    fn read(&mut self, visit: &mut Visit<'_>) -> ogive::Result<()> {
        if self.is_descending {
            return self.range.by_ref().rev().map(|record| record.map(|(key, value)| (key, Some(value)))).visit(visit);
        }
        match self.with_values {
            true => self.range.visit(|key, value| visit(key, Some(value))),
            false => self.range.visit_keys(|key| visit(key, None)),
        }
    }
}

impl RecordRange for TracedRange {
    fn visit(&mut self, visit: &mut Visit<'_>) -> ogive::Result<()> {
        let read = self.read(visit);
        if let Some(trace) = self.range.trace() {
            self.metrics.add_reads(trace, self.reads);
            self.reads = trace.reads.len();
        }
        read
    }
}
