//! Rows in the order of an index: what order that is, and a scan that looks up the rows of its entries.

use super::records::BATCH_BYTES;
use super::{Scan, ScanRequest};
use crate::error::external;
use crate::key_columns::KeyColumns;
use crate::key_set::KeySet;
use crate::metrics::ScanMetrics;
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SortOptions};
use datafusion::error::Result;
use ogive::DbSnapshot;
use ogive::lsm::{KeyspaceIndex, KeyspaceIndexRange};
use ogive::types::RecordType;
use ogive_arrow::RecordBatchBuilder;
use std::ops::Range;

/// Rows of the first batch of a scan that is perhaps broken off after some rows, at least.
const FIRST_ROWS_MIN: usize = 16;

/// An index in whose order rows of conditions may be read.
#[derive(Clone, Debug)]
pub(crate) struct IndexOrder {
    pub(super) index: KeyspaceIndex,
    /// The entries of the rows.
    pub(super) ranges: KeySet,
    pub(super) parts: Vec<OrderPart>,
    /// Whether all rows of these entries meet the conditions.
    pub(crate) is_exact: bool,
    /// The number of entries, if these were counted.
    pub(crate) rows: Option<u64>,
}

/// A column by which entries are ordered.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrderPart {
    /// Its position among those of the relation; behind these, if it is an expression.
    pub(super) column: usize,
    pub(super) options: SortOptions,
    /// Whether all entries have the same value.
    pub(super) is_fixed: bool,
    /// Whether an entry may have none.
    pub(super) has_nulls: bool,
}

impl OrderPart {
    /// The columns by which keys are ordered, of a relation with this schema.
    pub(super) fn of(key: &KeyColumns, schema: &Schema) -> Vec<Self> {
        let has_nulls = |column: usize| schema.fields().get(column).is_none_or(|field| field.is_nullable());
        let part = |(column, options)| Self { column, options, is_fixed: false, has_nulls: has_nulls(column) };
        key.ordered_columns().map(part).collect()
    }
}

impl IndexOrder {
    /// The name of the index.
    pub(crate) fn name(&self) -> &str {
        self.index.name()
    }

    /// Whether its entries have to be read from the end for rows to be in an order by columns at these positions;
    /// `None` if they are not in that order either way.
    pub(crate) fn direction(&self, wanted: &[(usize, SortOptions)]) -> Option<bool> {
        let (mut next, mut is_descending) = (0, None);
        // A column without other values, or one by which rows are in order already, changes no order.
        let changes_nothing = |next: usize, column: usize| {
            self.parts.iter().enumerate().any(|(at, part)| part.column == column && (part.is_fixed || at < next))
        };
        for &(column, options) in wanted {
            if changes_nothing(next, column) {
                continue;
            }
            while self.parts.get(next).is_some_and(|part| changes_nothing(next, part.column)) {
                next += 1;
            }
            let part = self.parts.get(next).filter(|part| part.column == column)?;
            next += 1;
            let backwards = part.options.descending != options.descending;
            if part.has_nulls && (part.options.nulls_first != options.nulls_first) != backwards {
                return None;
            }
            if is_descending.is_some_and(|before| before != backwards) {
                return None;
            }
            is_descending = Some(backwards);
        }
        Some(is_descending.unwrap_or(false))
    }
}

/// How much of an order is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderedPart {
    /// Whether the last entry comes first.
    pub(crate) is_descending: bool,
    /// About how many rows are enough, if not all are.
    pub(crate) first: Option<usize>,
}

/// A scan of the rows to which an index leads, in its order.
pub(super) struct OrderedScan {
    order: IndexOrder,
    snapshot: DbSnapshot,
    /// The ranges of entries that are still to be begun.
    places: Range<usize>,
    rows: Option<KeyspaceIndexRange>,
    builder: RecordBatchBuilder,
    is_descending: bool,
    batch_rows: usize,
    /// Rows of the next batch.
    next_rows: usize,
    left: usize,
    metrics: ScanMetrics,
}

impl OrderedScan {
    pub(super) fn new(
        order: &IndexOrder,
        part: OrderedPart,
        snapshot: DbSnapshot,
        record_type: &RecordType,
        request: ScanRequest,
    ) -> Self {
        let all = record_type.columns();
        let wanted: Vec<_> = request.columns.iter().filter_map(|&column| all.get(column)).collect();
        let batch_rows = request.batch_rows.max(1);
        Self {
            places: 0..order.ranges.len(),
            order: order.clone(),
            snapshot,
            rows: None,
            builder: RecordBatchBuilder::with_columns(record_type, false, |column| wanted.contains(&column)),
            is_descending: part.is_descending,
            batch_rows,
            next_rows: part.first.map_or(batch_rows, |first| first.max(FIRST_ROWS_MIN)).min(batch_rows),
            left: request.limit.unwrap_or(usize::MAX),
            metrics: request.metrics,
        }
    }

    fn fill(&mut self) -> ogive::Result<()> {
        while self.builder.len() < self.next_rows.min(self.left) && self.builder.bytes() < BATCH_BYTES {
            let Some(rows) = &mut self.rows else {
                let place = if self.is_descending { self.places.next_back() } else { self.places.next() };
                let Some(range) = place.and_then(|place| self.order.ranges.range(place)) else { return Ok(()) };
                self.rows = Some(self.order.index.rows_within(&self.snapshot, range)?);
                continue;
            };
            match if self.is_descending { rows.next_back() } else { rows.next() }.transpose()? {
                Some((key, row)) => self.builder.append(&key, Some(&row))?,
                None => self.rows = None,
            }
        }
        Ok(())
    }
}

impl Iterator for OrderedScan {
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
        let batch = self.builder.finish().map_err(external);
        let rows = batch.as_ref().map_or(self.left, RecordBatch::num_rows);
        self.left = self.left.saturating_sub(rows);
        self.metrics.add_keys(rows);
        self.next_rows = self.next_rows.saturating_mul(2).min(self.batch_rows);
        Some(batch)
    }
}

impl Scan for OrderedScan {
    /// Conditions that become known are checked above: what they leave out of an index is not known.
    fn narrow(&mut self, _: &KeySet) {}
}
