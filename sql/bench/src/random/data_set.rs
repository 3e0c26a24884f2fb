//! Random tables.

use super::column::{ColumnKind, KEY_KINDS, RandomColumn};
use crate::files::{TableName, sorted};
use datafusion::arrow::array::{BooleanArray, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::error::Result;
use ogive_testkit::Random;
use std::sync::Arc;

/// Names of columns: some are words of SQL, some need quotes, and those that a table without names has.
const NAMES: [&str; 10] = ["id", "key", "value", "Amount", "two words", "order", "day", "café", "x", "group"];

/// Numbers of rows that a column remembers, for conditions that find something.
const SEEN_MAX: usize = 100;

/// The size of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Up to 300 rows, for tests of clusters, which write the rows of each join.
    Tiny,
    /// Up to 2,500 rows, for tests.
    Small,
    /// Up to 40,000 rows.
    Large,
}

impl Size {
    fn rows(self) -> &'static [u64] {
        match self {
            Self::Tiny => &[0, 1, 40, 40, 300, 300],
            Self::Small => &[0, 1, 40, 300, 300, 900, 900, 2_500],
            Self::Large => &[0, 1, 300, 3_000, 9_000, 40_000],
        }
    }

    /// Rows of a join that a query may have, roughly.
    pub(super) fn joined_rows(self) -> u64 {
        match self {
            Self::Tiny => 2_000,
            Self::Small => 5_000,
            Self::Large => 200_000,
        }
    }
}

/// A table with random rows.
#[derive(Clone, Debug)]
pub struct RandomTable {
    /// Its name and its key.
    pub table: TableName,
    /// Its rows, sorted by the key.
    pub rows: RecordBatch,
    pub(super) columns: Vec<RandomColumn>,
}

/// Tables that have some columns in common.
#[derive(Clone, Debug)]
pub struct DataSet {
    /// The tables.
    pub tables: Vec<RandomTable>,
    pub(super) size: Size,
}

/// A kind and a domain, which columns of several tables share.
type Shared = (ColumnKind, u64);

impl DataSet {
    /// The data set of a seed.
    ///
    /// # Errors
    /// None but those of Arrow.
    pub fn new(draw: &mut Random, size: Size) -> Result<Self> {
        let shared: Vec<Shared> = (0..3).map(|_| shared(draw)).collect();
        let names = &["a", "b", "c"][..2 + draw.below(2) as usize];
        let tables = names.iter().map(|name| RandomTable::new(draw, name, &shared, size)).collect::<Result<_>>()?;
        Ok(Self { tables, size })
    }
}

fn shared(draw: &mut Random) -> Shared {
    let kind = *draw.pick(&KEY_KINDS);
    (kind, kind.numbers().min(*draw.pick(&[7, 60, 300, 1_000, 4_000])))
}

impl RandomTable {
    fn new(draw: &mut Random, name: &str, shared_columns: &[Shared], size: Size) -> Result<Self> {
        let keys = *draw.pick(&[1, 1, 1, 2, 2, 3]);
        let count = keys + 2 + draw.below(3) as usize;
        let mut columns: Vec<RandomColumn> = (0..count)
            .map(|at| {
                let (kind, domain) = match draw.below(5) {
                    0 | 1 => *draw.pick(shared_columns),
                    2 if at >= keys => (ColumnKind::Bool, 2),
                    _ if at == 0 => shared_columns[0],
                    _ => shared(draw),
                };
                let name = format!("{}{}", draw.pick(&NAMES), if at == 0 { String::new() } else { at.to_string() });
                let is_nullable = at >= keys && draw.one_in(2);
                let (is_key, is_skewed) = (at < keys, draw.one_in(3));
                RandomColumn { name, kind, domain, is_nullable, is_skewed, is_key, seen: Vec::new() }
            })
            .collect();
        let rows = *draw.pick(size.rows());
        let rows = rows_of(draw, &mut columns, rows as usize)?;
        let names = columns[..keys].iter().map(|column| column.name.as_str()).collect::<Vec<_>>();
        let table = TableName::new(name, &names);
        let rows = sorted(&rows, &(0..keys).collect::<Vec<_>>())?;
        let rows = if draw.one_in(2) { distinct(&rows, keys)? } else { rows };
        let mut random = Self { table, rows, columns };
        if draw.one_in(3) {
            random.move_key(keys)?;
        }
        Ok(random)
    }

    /// Moves the columns of the key behind the others.
    fn move_key(&mut self, keys: usize) -> Result<()> {
        self.columns.rotate_left(keys);
        let count = self.columns.len();
        let order: Vec<usize> = (0..count).map(|at| (at + keys) % count).collect();
        self.rows = self.rows.project(&order)?;
        Ok(())
    }
}

fn rows_of(draw: &mut Random, columns: &mut [RandomColumn], rows: usize) -> Result<RecordBatch> {
    let field = |column: &RandomColumn| Field::new(&column.name, column.kind.data_type(), column.is_nullable);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.iter_mut().map(|column| {
        let numbers: Vec<Option<u64>> = (0..rows).map(|_| column.draw(draw)).collect();
        column.seen = numbers.iter().flatten().take(SEEN_MAX).copied().collect();
        column.kind.array(&numbers)
    });
    Ok(RecordBatch::try_new(Arc::new(schema), arrays.collect::<Result<_>>()?)?)
}

/// The first row of each key.
fn distinct(rows: &RecordBatch, keys: usize) -> Result<RecordBatch> {
    let columns = &rows.columns()[..keys];
    let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let keys = RowConverter::new(fields)?.convert_columns(columns)?;
    let is_first = |row: usize| row == 0 || keys.row(row) != keys.row(row - 1);
    let wanted: BooleanArray = (0..rows.num_rows()).map(|row| Some(is_first(row))).collect();
    Ok(filter_record_batch(rows, &wanted)?)
}
