//! Records as record batches.

use crate::columns::ColumnBuilder;
use crate::key_types::field_of;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use ogive::types::{ColumnPlace, FieldReader, KeyType, RecordColumn, RecordType, ValueType};
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
    columns: Vec<ColumnBuilder>,
    /// For each component of the key, its column, if it is wanted.
    key_columns: Vec<Option<usize>>,
    /// The columns of wanted fields of the value.
    value_columns: Vec<usize>,
    /// Reads these fields, if values are rows.
    fields: Option<FieldReader>,
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
        let (mut key_columns, mut value_columns, mut fields) = (Vec::new(), Vec::new(), Vec::new());
        for (at, column) in columns.iter().enumerate() {
            match column.place {
                ColumnPlace::Key(component) => {
                    key_columns.resize(key_columns.len().max(component + 1), None);
                    key_columns[component] = Some(at);
                }
                ColumnPlace::Value(field) => {
                    value_columns.push(at);
                    fields.push(field);
                }
            }
        }
        let columns = columns.iter().map(|column| ColumnBuilder::new(column.key_type)).collect();
        let fields = match &record_type.values {
            ValueType::Row(row_type) if !fields.is_empty() => FieldReader::new(row_type, &fields).ok(),
            _ => None,
        };
        let record_type = record_type.clone();
        Self { record_type, schema, columns, key_columns, value_columns, fields, rows: 0, bytes: 0 }
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
    /// [`Cause::Input`](ogive::Cause::Input) for bytes that are not of the type, and for a value of more than
    /// [`BATCH_BYTES_MAX`] bytes. The batch is unusable then.
    pub fn append(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        let bytes = key.len() + value.map_or(0, <[u8]>::len);
        if bytes > BATCH_BYTES_MAX {
            return Err(Error::input(format!("a record of {bytes} bytes is too long for a record batch")));
        }
        let Self { record_type, columns, key_columns, value_columns, fields, .. } = self;
        match (record_type.keys, &key_columns[..]) {
            (_, []) => {}
            (KeyType::Tuple(tuple), _) => {
                tuple.visit_components(key, |component, bytes| match key_columns.get(component).copied().flatten() {
                    Some(column) => columns[column].append(bytes),
                    None => Ok(()),
                })?
            }
            _ => key_columns.iter().flatten().try_for_each(|&column| columns[column].append(Some(key)))?,
        }
        match (fields, value) {
            (Some(fields), Some(value)) => {
                fields.read(value, |number, bytes| columns[value_columns[number]].append(bytes))?;
            }
            _ => value_columns.iter().try_for_each(|&column| columns[column].append(value))?,
        }
        self.rows += 1;
        self.bytes += bytes;
        Ok(())
    }

    /// The batch of all rows so far, and begins the next one.
    ///
    /// # Errors
    /// [`Cause::Input`](ogive::Cause::Input) if a column that may not be null has a null.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let arrays = self.columns.iter_mut().map(ColumnBuilder::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(|error| Error::input(format!("these records are no record batch: {error}")))
    }
}
