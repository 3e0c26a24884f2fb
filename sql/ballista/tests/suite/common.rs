//! Tables for tests, the same rows in memory, and clusters of processes.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use ogive::types::{Field, KeyType, RecordType, RowBuilder, RowType, Value, ValueType};
use ogive::{LocalStorage, TableWriteOptions, TableWriter};
use ogive_arrow::RecordBatchBuilder;
use ogive_ballista::ClusterOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes a table, and returns its rows. Keys have gaps of `step`; `seed` changes the values.
pub(crate) fn write_table(folder: &Path, name: &str, rows: u64, step: u64, seed: u64) -> RecordBatch {
    let fields = vec![
        Field::new("number", KeyType::I64),
        Field::new("name", KeyType::Text).nullable(),
        Field::new("weight", KeyType::F64),
    ];
    let types = RecordType::new(KeyType::U64, ValueType::Row(RowType::new(fields).unwrap()));
    let storage = Arc::new(LocalStorage::new(folder));
    let options = TableWriteOptions::default().record_type(types.clone()).replace(true);
    let mut writer = TableWriter::create((storage, name), options).unwrap();
    let mut batch = RecordBatchBuilder::new(&types);
    let ValueType::Row(row_type) = &types.values else { unreachable!() };
    let mut row = RowBuilder::new(row_type.clone());
    for number in 0..rows {
        let mixed = (number ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        row.push(&Value::Signed(i128::from(mixed % 1_000))).unwrap();
        row.push(&if mixed.is_multiple_of(5) { Value::Null } else { Value::Text(format!("n{}", mixed % 7)) }).unwrap();
        row.push(&Value::Float((mixed % 64) as f64 / 8.0)).unwrap();
        let mut value = Vec::new();
        row.finish(&mut value).unwrap();
        let key = (number * step).to_be_bytes();
        writer.append(&key, &value).unwrap();
        batch.append(&key, Some(&value)).unwrap();
    }
    writer.finish().unwrap();
    batch.finish().unwrap()
}

/// The rows of a query as text, one a line, without the names of their columns.
pub(crate) async fn rows(context: &SessionContext, query: &str) -> Result<String> {
    let batches = context.sql(query).await?.collect().await?;
    let mut lines = String::new();
    for batch in &batches {
        let options = FormatOptions::default().with_null("null");
        let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options));
        let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let cells: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
            lines += &format!("{}\n", cells.join(" | "));
        }
    }
    Ok(lines)
}

/// A scheduler, and as many executors, as processes on the loopback.
pub(crate) fn of_processes(executors: usize) -> ClusterOptions {
    ClusterOptions {
        scheduler: PathBuf::from(env!("CARGO_BIN_EXE_ogive-scheduler")),
        executor: PathBuf::from(env!("CARGO_BIN_EXE_ogive-executor")),
        executors,
        ..ClusterOptions::default()
    }
}
