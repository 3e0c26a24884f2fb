//! The interface of relations and of their scans.

use super::condition_index::ByIndexes;
use super::index_order::{IndexOrder, OrderedPart};
use crate::key_columns::KeyColumns;
use crate::key_set::{KeyRange, KeySet};
use crate::metrics::ScanMetrics;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use ogive::Profile;
use ogive::types::{ColumnPlace, RecordType};
use std::fmt::Debug;

/// Rows in the order of their keys: those of a table, of a keyspace of a store, of an index, or of indexed Parquet
/// files. All that is read is of one time.
pub(crate) trait Relation: Debug + Send + Sync {
    /// What it is, and of which time: enough to open it again elsewhere.
    fn identity(&self) -> &RelationIdentity;

    /// All columns.
    fn schema(&self) -> &SchemaRef;

    /// The types of its records; `None` for rows that are none.
    fn record_type(&self) -> Option<&RecordType> {
        None
    }

    /// The columns of the key.
    fn key(&self) -> &KeyColumns;

    /// The number of the last write to its store that it shows; `None` for what is no store.
    fn sequence(&self) -> Option<u64> {
        None
    }

    /// The number of rows.
    fn rows(&self) -> RowCount;

    /// The bytes on storage.
    fn bytes(&self) -> u64;

    /// The costs of reads of the storage.
    fn profile(&self) -> &Profile;

    /// Whether no key has several rows.
    fn is_distinct(&self) -> bool;

    /// The number of rows in a range.
    fn count(&self, range: &KeyRange) -> Result<RowCount>;

    /// The first and the last key in a range, if they can be found by reading its ends.
    fn ends(&self, range: &KeyRange) -> Result<Option<(Vec<u8>, Vec<u8>)>>;

    /// The keys, ascending, at which the parts of a range begin that follow the first one: at most `parts` with about
    /// as many rows.
    fn cuts(&self, range: &KeyRange, parts: u64) -> Result<Vec<Vec<u8>>>;

    /// The key of the row of a range that has `part / parts` of its rows in front; `None` if rows are not counted.
    fn key_at(&self, _range: &KeyRange, _part: u64, _parts: u64) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Whether it has indexes of columns that are not the key.
    fn has_indexes(&self) -> bool {
        false
    }

    /// How the rows that meet conditions are found by indexes of columns that are not the key.
    fn by_indexes(&self, _conditions: &[&Expr]) -> Result<ByIndexes> {
        Ok(ByIndexes::default())
    }

    /// Whether an index of other columns may find the rows of a condition.
    fn has_index_for(&self, _condition: &Expr) -> bool {
        false
    }

    /// Whether a scan may begin with the greatest key. One that may not ignores [`ScanRequest::is_descending`].
    fn reads_backwards(&self) -> bool {
        true
    }

    /// The rows to which an index leads, in its order: one of those of [`Self::by_indexes`]. The keys of the request
    /// are those of all rows.
    fn scan_in_order(&self, order: &IndexOrder, _: OrderedPart, _: ScanRequest) -> Result<Box<dyn Scan>> {
        internal_err!("{} has no index {}", self.identity().location, order.name())
    }

    /// The rows of a set of keys.
    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>>;
}

/// What a relation is, and of which time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationIdentity {
    /// The path or URL, absolute if it is local.
    pub location: String,
    /// The keyspace of a store; empty for what is no store.
    pub keyspace: String,
    /// What differs as soon as the rows differ.
    pub version: String,
    /// The types by which rows of a keyspace are read: it may have more fields since.
    pub types: Option<RecordType>,
}

/// A number of rows, exact or about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowCount {
    pub(crate) rows: u64,
    pub(crate) is_exact: bool,
}

impl RowCount {
    pub(crate) fn exact(rows: u64) -> Self {
        Self { rows, is_exact: true }
    }

    pub(crate) fn about(rows: u64) -> Self {
        Self { rows, is_exact: false }
    }
}

/// What a scan reads.
#[derive(Clone, Debug)]
pub(crate) struct ScanRequest {
    pub(crate) keys: KeySet,
    /// Positions of columns.
    pub(crate) columns: Vec<usize>,
    pub(crate) batch_rows: usize,
    pub(crate) limit: Option<usize>,
    /// Whether the greatest key comes first.
    pub(crate) is_descending: bool,
    pub(crate) metrics: ScanMetrics,
}

/// The rows of a set of keys, in their order, as batches of the columns that were asked for. After an error nothing
/// follows.
pub(crate) trait Scan: Iterator<Item = Result<RecordBatch>> + Send {
    /// Leaves out keys outside a set from now on, as far as they are not read yet.
    fn narrow(&mut self, keys: &KeySet);
}

/// The names of the columns of the key, in the order of the key.
pub(crate) fn key_names(record_type: &RecordType) -> Vec<String> {
    let mut columns = record_type.columns();
    key_positions(record_type).into_iter().map(|at| std::mem::take(&mut columns[at].name)).collect()
}

/// The positions of the components of a key among the columns, in the order of the key.
pub(crate) fn key_positions(record_type: &RecordType) -> Vec<usize> {
    let columns = record_type.columns();
    let places = columns.iter().enumerate().filter_map(|(at, column)| match column.place {
        ColumnPlace::Key(component) => Some((component, at)),
        ColumnPlace::Value(_) => None,
    });
    let mut places: Vec<(usize, usize)> = places.collect();
    places.sort_unstable();
    places.into_iter().map(|(_, at)| at).collect()
}
