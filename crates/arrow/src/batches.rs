//! Records as record batches.

use crate::columns::ColumnBuilder;
use crate::key_types::field_of;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use ogive::types::{ColumnPlace, KeyType, RecordColumn, RecordType, Value, ValueType};
use ogive::{Error, Result};
use std::sync::Arc;

/// A batch of more bytes should be finished: columns of text and bytes have offsets of 32 bits.
pub const BATCH_BYTES_MAX: usize = 1 << 30;

/// The schema of records: the columns of the key, and the value or its fields.
///
/// With `absent`, all columns of values may be null, as for lookups of keys that may be absent.
#[must_use]
pub fn schema_of(record_type: &RecordType, absent: bool) -> SchemaRef {
    Arc::new(Schema::new(fields_of(&record_type.columns(), absent)))
}

fn fields_of(columns: &[RecordColumn], absent: bool) -> Vec<Field> {
    let is_nullable =
        |column: &RecordColumn| column.nullable || absent && matches!(column.place, ColumnPlace::Value(_));
    columns.iter().map(|column| field_of(column, is_nullable(column))).collect()
}

/// Builds record batches from the bytes of keys and values.
#[derive(Debug)]
pub struct RecordBatchBuilder {
    record_type: RecordType,
    schema: SchemaRef,
    /// The columns of the schema, with their places.
    columns: Vec<(ColumnPlace, ColumnBuilder)>,
    rows: usize,
    bytes: usize,
}

impl RecordBatchBuilder {
    /// A builder of records of this type.
    #[must_use]
    pub fn new(record_type: &RecordType) -> Self {
        Self::with_columns(record_type, false, |_| true)
    }

    /// A builder of some columns. With `absent`, a record may lack its value.
    #[must_use]
    pub fn with_columns(record_type: &RecordType, absent: bool, is_wanted: impl Fn(&RecordColumn) -> bool) -> Self {
        let columns: Vec<RecordColumn> = record_type.columns().into_iter().filter(is_wanted).collect();
        let schema = Arc::new(Schema::new(fields_of(&columns, absent)));
        let columns = columns.iter().map(|column| (column.place, ColumnBuilder::new(column.key_type))).collect();
        Self { record_type: record_type.clone(), schema, columns, rows: 0, bytes: 0 }
    }

    /// The schema of the batches.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Number of rows so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes of keys and values so far; above [`BATCH_BYTES_MAX`] the batch should be finished.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends a record; without a value, its columns are null.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for bytes that are not of the type, and for a value of more than
    /// [`BATCH_BYTES_MAX`] bytes. The batch is unusable then.
    pub fn append(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        let bytes = key.len() + value.map_or(0, <[u8]>::len);
        if bytes > BATCH_BYTES_MAX {
            return Err(Error::InvalidArgument(format!("a record of {bytes} bytes is too long for a record batch")));
        }
        let Self { record_type, columns, .. } = self;
        let components = match record_type.keys {
            KeyType::Tuple(_) => match record_type.keys.decode(key)? {
                Value::Tuple(values) => Some(values),
                _ => None,
            },
            _ => None,
        };
        let row = match (&record_type.values, value) {
            (ValueType::Row(_), Some(value)) => Some(record_type.values.row(value)?),
            _ => None,
        };
        for (place, column) in columns {
            match (*place, &components, &row) {
                (ColumnPlace::Key(at), Some(values), _) => {
                    column.append_value(values.get(at).unwrap_or(&Value::Null))?
                }
                (ColumnPlace::Key(_), None, _) => column.append(Some(key))?,
                (ColumnPlace::Value(at), _, Some(row)) => column.append(row.field(at)?)?,
                (ColumnPlace::Value(_), _, None) => column.append(value)?,
            }
        }
        self.rows += 1;
        self.bytes += bytes;
        Ok(())
    }

    /// The batch of all rows so far, and begins the next one.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a column that may not be null has a null.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let arrays = self.columns.iter_mut().map(|(_, column)| column.finish()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(|error| Error::InvalidArgument(format!("these records are no record batch: {error}")))
    }
}
