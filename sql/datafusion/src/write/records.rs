//! A thread that writes the rows of a stream as records.

use crate::error::external_record;
use crate::relation::key_names;
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use datafusion::common::exec_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt;
use ogive::SortingWriter;
use ogive::lsm::INLINE_BYTES_MAX;
use ogive::types::{ColumnPlace, RecordColumn, RecordType};
use ogive_arrow::{RecordEncoder, RecordError};

/// What to do with rows whose columns have other types than those of the records.
pub(super) const TO_CAST: &str = "CAST the column in the query, or use INSERT INTO, which casts";

/// Batches that wait to be written.
const BATCHES_AHEAD: usize = 2;

/// Most bytes of the value of a record for a keyspace, which takes tables in.
pub(super) const KEYSPACE_VALUE_BYTES_MAX: u64 = INLINE_BYTES_MAX;

/// Writes all rows of a stream to a table, and finishes it by `finish`; returns what that returns. If the stream fails,
/// or a value has more than `value_bytes_max`, the table is given up, and leaves nothing behind.
pub(super) async fn write_all<T: Send + 'static>(
    mut rows: SendableRecordBatchStream,
    encoder: RecordEncoder,
    value_bytes_max: u64,
    create: impl FnOnce() -> ogive::Result<SortingWriter> + Send + 'static,
    finish: impl FnOnce(SortingWriter) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(BATCHES_AHEAD);
    let writing = tokio::task::spawn_blocking(move || -> Result<T> {
        let mut writer = create().map_err(crate::error::external)?;
        loop {
            match receiver.blocking_recv() {
                Some(Some(batch)) => {
                    let mut too_long = None;
                    let written = encoder.visit(&batch, |key, value| {
                        too_long = Some(value.len() as u64).filter(|bytes| *bytes > value_bytes_max).or(too_long);
                        writer.append(key, value)
                    });
                    written.map_err(|error| refused(error, &encoder))?;
                    if let Some(bytes) = too_long {
                        return exec_err!(
                            "the columns of a row beside its key have {bytes} bytes, and a keyspace takes rows of at \
                             most {value_bytes_max} by COPY and INSERT; leave the longest out, or write a table file"
                        );
                    }
                }
                Some(None) => return finish(writer),
                None => return exec_err!("the rows to be written ended in an error"),
            }
        }
    });
    let mut failed = None;
    while let Some(batch) = rows.next().await {
        match batch {
            Ok(batch) => {
                // The writer says itself why it takes no more.
                if sender.send(Some(batch)).await.is_err() {
                    break;
                }
            }
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    if failed.is_none() {
        _ = sender.send(None).await;
    }
    drop(sender);
    let written =
        writing.await.map_err(|error| DataFusionError::Execution(format!("writing was broken off: {error}")))?;
    match failed {
        Some(error) => Err(error),
        None => written,
    }
}

/// For each column, whether records of these types may have nulls there. Nulls of the key can be left to the encoder,
/// whose error advises who chooses the key.
pub(super) fn nullable_columns(schema: &Schema, types: &RecordType, leaves_keys: bool) -> Vec<bool> {
    let columns = types.columns();
    let is_left = |column: &RecordColumn| leaves_keys && matches!(column.place, ColumnPlace::Key(_));
    let may_be_null = |column: &RecordColumn| column.nullable || is_left(column);
    let is_nullable = |name: &String| columns.iter().any(|column| column.name == *name && may_be_null(column));
    schema.fields().iter().map(|field| is_nullable(field.name())).collect()
}

/// Fails if a column has a null where the records have none. The schema names the columns, which the rows may call by
/// others, such as `column2`.
pub(super) fn check_nulls(batch: &RecordBatch, schema: &Schema, nullable: &[bool]) -> Result<()> {
    let columns = batch.columns().iter().zip(nullable).zip(schema.fields());
    for ((array, nullable), field) in columns {
        if !nullable && array.null_count() > 0 {
            let name = field.name();
            return exec_err!("column '{name}' is null in a row, and the records that are written have no nulls there");
        }
    }
    Ok(())
}

/// The error of a row that is no record; one about the length of a key with the columns of it.
fn refused(error: RecordError, encoder: &RecordEncoder) -> DataFusionError {
    match error {
        RecordError::Engine(error @ ogive::Error { cause: ogive::Cause::KeyLength { .. }, .. }) => {
            let columns = key_names(encoder.types()).into_iter().map(|name| format!("'{name}'"));
            let columns = columns.collect::<Vec<_>>().join(", ");
            let remedy = format!("the key is {columns}: shorten it, or choose a key of other columns");
            DataFusionError::Execution(format!("{}; {remedy}", error.message()))
        }
        // Rows of a query have no numbers. No cast makes a value of a null.
        RecordError::Value { what, reason, .. } if reason.starts_with("is null") => {
            DataFusionError::Execution(format!("{what} {reason}"))
        }
        RecordError::Value { what, reason, .. } => {
            DataFusionError::Execution(format!("{what} {reason}; the records are {}: {TO_CAST}", encoder.types()))
        }
        RecordError::Type(message) => {
            DataFusionError::Execution(format!("{message}; the records are {}: {TO_CAST}", encoder.types()))
        }
        error => external_record(error),
    }
}
