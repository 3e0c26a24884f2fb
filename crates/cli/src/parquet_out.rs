//! Writing of records as Parquet.

use crate::export::failed;
use crate::failure::{Failure, Result};
use crate::values::records::RecordFields;
use ::parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};
use ::parquet::basic::{LogicalType, Repetition, TimeUnit as ParquetUnit, Type as Physical};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::{ByteArray, FixedLenByteArray};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::Type;
use arrow_schema::{Field, Schema};
use ogive::KeyType;
use ogive::types::{ColumnPlace, RecordColumn, TimeUnit, Value};
use serde_json::json;
use std::io::Write;
use std::sync::Arc;

/// Digits and bytes of the decimals that are integers of 128 bits.
const LONG_INTEGER_DIGITS: i32 = 39;
const LONG_INTEGER_BYTES: i32 = 17;
/// Rows and bytes of a row group, so that one stays in memory at a time.
const GROUP_ROWS: usize = 1 << 16;
const GROUP_BYTES: usize = 32 << 20;
/// Bytes and rows of a page: a lookup by an index beside the file reads one page of each column.
const PAGE_BYTES: usize = 32 << 10;
const PAGE_ROWS: usize = 1 << 13;
/// Bytes of a dictionary, which a lookup reads besides: a column with more distinct values is written without one.
const DICTIONARY_BYTES: usize = 32 << 10;
/// Values between two looks at these limits: fewer cost time, more exceed them by long values.
const WRITE_VALUES: usize = 64;

/// The values of a column in a row group.
#[derive(Debug)]
enum ColumnValues {
    Bool(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

/// Writes records as rows of a Parquet file.
pub(crate) struct ParquetWriter<'a, W: Write + Send> {
    fields: &'a RecordFields,
    writer: SerializedFileWriter<W>,
    columns: Vec<(ColumnValues, Vec<i16>)>,
    rows: usize,
    bytes: usize,
    total: u64,
}

impl<'a, W: Write + Send> ParquetWriter<'a, W> {
    /// Begins a file.
    pub(crate) fn new(fields: &'a RecordFields, target: W) -> Result<Self> {
        let types = fields.columns().iter().map(|column| column_type(column).map(Arc::new));
        let types = types.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        let schema = Type::group_type_builder("records").with_fields(types).build().map_err(refused)?;
        let writer = SerializedFileWriter::new(target, Arc::new(schema), properties(fields)).map_err(refused)?;
        let columns = fields.columns().iter().map(|column| (empty(column.key_type), Vec::new())).collect();
        Ok(Self { fields, writer, columns, rows: 0, bytes: 0, total: 0 })
    }

    /// Adds a record.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.total += 1;
        let mut columns = self.columns.iter_mut();
        let (mut is_fit, mut beyond) = (true, None);
        self.fields.visit(key, value, |column, bytes, is_typed| {
            let Some((values, levels)) = columns.next() else { return };
            if column.nullable {
                levels.push(i16::from(bytes.is_some()));
            }
            let is_pushed = is_typed && bytes.is_none_or(|bytes| push(values, column.key_type, bytes).is_some());
            if is_typed && !is_pushed && column.key_type == KeyType::Timestamp(TimeUnit::Second) {
                beyond.get_or_insert_with(|| column.name.clone());
            }
            is_fit &= is_pushed;
        });
        if let Some(name) = beyond {
            let message = format!("record {} has a time in column '{name}' beyond those of Parquet", self.total);
            let hint = "Parquet has milliseconds of 64 bits and no seconds; export to CSV or JSON lines instead";
            return Err(Failure::refused(message, hint));
        }
        if !is_fit {
            let message = format!("record {} is not of the types of its table", self.total);
            return Err(Failure::refused(message, "export to CSV, where it is shown as bytes"));
        }
        self.rows += 1;
        self.bytes += key.len() + value.len();
        if self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES { self.write_group() } else { Ok(()) }
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.write_group()?;
        self.writer.close().map(drop).map_err(refused)
    }

    fn write_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group().map_err(refused)?;
        for (column, (values, levels)) in self.fields.columns().iter().zip(&mut self.columns) {
            let writer = group.next_column().map_err(refused)?;
            let Some(mut writer) = writer else { break };
            write_column(&mut writer, values, column.nullable.then_some(&levels[..])).map_err(refused)?;
            writer.close().map_err(refused)?;
            (*values, *levels) = (empty(column.key_type), Vec::new());
        }
        group.close().map_err(refused)?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

/// Small pages, with the page index that leads to them.
fn properties(fields: &RecordFields) -> Arc<WriterProperties> {
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(hint(fields)))
        .set_data_page_size_limit(PAGE_BYTES)
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_write_batch_size(WRITE_VALUES)
        .set_statistics_enabled(EnabledStatistics::Page);
    Arc::new(properties.build())
}

/// The key of the types of the records in the metadata of the schema.
pub(crate) const TYPES: &str = "ogive:types";

/// The schema in the form of Arrow, which tells types that those of Parquet do not, as `u128` and seconds, and in its
/// metadata what columns alone do not tell: the keys, and whether a value is a row.
fn hint(fields: &RecordFields) -> Vec<KeyValue> {
    let has_column = |field: &&Arc<Field>| fields.columns().iter().any(|column| column.name == *field.name());
    let all = ogive_arrow::schema_of(fields.types(), false);
    let types = fields.types();
    let mut keys: Vec<(usize, &str)> = Vec::new();
    for column in fields.columns() {
        if let ColumnPlace::Key(component) = column.place {
            keys.push((component, &column.name));
        }
    }
    keys.sort_unstable();
    let keys: Vec<&str> = keys.into_iter().map(|(_, name)| name).collect();
    let values = (!types.is_keys_only()).then(|| types.values.to_string());
    let told = json!({ "keys": keys, "key_type": types.keys.to_string(), "value_type": values });
    let metadata = [(TYPES.to_owned(), told.to_string())].into();
    let schema =
        Schema::new_with_metadata(all.fields().iter().filter(has_column).cloned().collect::<Vec<_>>(), metadata);
    vec![KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), encode_arrow_schema(&schema))]
}

fn write_column(
    writer: &mut SerializedColumnWriter<'_>,
    values: &ColumnValues,
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    match (writer.untyped(), values) {
        (ColumnWriter::BoolColumnWriter(writer), ColumnValues::Bool(values)) => {
            writer.write_batch(values, levels, None)
        }
        (ColumnWriter::Int32ColumnWriter(writer), ColumnValues::Int32(values)) => {
            writer.write_batch(values, levels, None)
        }
        (ColumnWriter::Int64ColumnWriter(writer), ColumnValues::Int64(values)) => {
            writer.write_batch(values, levels, None)
        }
        (ColumnWriter::FloatColumnWriter(writer), ColumnValues::Float(values)) => {
            writer.write_batch(values, levels, None)
        }
        (ColumnWriter::DoubleColumnWriter(writer), ColumnValues::Double(values)) => {
            writer.write_batch(values, levels, None)
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), ColumnValues::Bytes(values)) => {
            writer.write_batch(values, levels, None)
        }
        (ColumnWriter::FixedLenByteArrayColumnWriter(writer), ColumnValues::Fixed(values)) => {
            writer.write_batch(values, levels, None)
        }
        _ => Err(ParquetError::General("a column has another type than its values".to_owned())),
    }
    .map(drop)
}

fn refused(error: ParquetError) -> Failure {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => failed(*source),
            Err(source) => Failure::refused(format!("cannot write Parquet: {source}"), "export to CSV instead"),
        },
        error => Failure::refused(format!("cannot write Parquet: {error}"), "export to CSV instead"),
    }
}

fn physical(key_type: KeyType) -> Physical {
    match key_type {
        KeyType::Bool => Physical::BOOLEAN,
        KeyType::U8 | KeyType::U16 | KeyType::U32 | KeyType::I8 | KeyType::I16 | KeyType::I32 | KeyType::Date => {
            Physical::INT32
        }
        KeyType::Time(TimeUnit::Second | TimeUnit::Millisecond) => Physical::INT32,
        KeyType::U64 | KeyType::I64 | KeyType::Time(_) | KeyType::Timestamp(_) => Physical::INT64,
        KeyType::F32 => Physical::FLOAT,
        KeyType::F64 => Physical::DOUBLE,
        KeyType::Decimal { precision: 0..=9, .. } => Physical::INT32,
        KeyType::Decimal { precision: 10..=18, .. } => Physical::INT64,
        KeyType::Decimal { .. } | KeyType::U128 | KeyType::I128 => Physical::FIXED_LEN_BYTE_ARRAY,
        KeyType::FixedBytes(_) | KeyType::Uuid => Physical::FIXED_LEN_BYTE_ARRAY,
        _ => Physical::BYTE_ARRAY,
    }
}

fn empty(key_type: KeyType) -> ColumnValues {
    match physical(key_type) {
        Physical::BOOLEAN => ColumnValues::Bool(Vec::new()),
        Physical::INT32 => ColumnValues::Int32(Vec::new()),
        Physical::INT64 => ColumnValues::Int64(Vec::new()),
        Physical::FLOAT => ColumnValues::Float(Vec::new()),
        Physical::DOUBLE => ColumnValues::Double(Vec::new()),
        Physical::FIXED_LEN_BYTE_ARRAY => ColumnValues::Fixed(Vec::new()),
        _ => ColumnValues::Bytes(Vec::new()),
    }
}

/// The Parquet type of a column. Integers of 128 bits are decimals of 39 digits, seconds are milliseconds.
pub(crate) fn column_type(column: &RecordColumn) -> Result<Type, ParquetError> {
    let integer = |bit_width, is_signed| Some(LogicalType::integer(bit_width, is_signed));
    let unit = |unit| match unit {
        TimeUnit::Second | TimeUnit::Millisecond => ParquetUnit::MILLIS,
        TimeUnit::Microsecond => ParquetUnit::MICROS,
        TimeUnit::Nanosecond => ParquetUnit::NANOS,
    };
    let logical = match column.key_type {
        KeyType::U8 => integer(8, false),
        KeyType::U16 => integer(16, false),
        KeyType::U32 => integer(32, false),
        KeyType::U64 => integer(64, false),
        KeyType::I8 => integer(8, true),
        KeyType::I16 => integer(16, true),
        KeyType::Text => Some(LogicalType::String),
        KeyType::U128 | KeyType::I128 => Some(LogicalType::decimal(0, LONG_INTEGER_DIGITS)),
        KeyType::Uuid => Some(LogicalType::Uuid),
        KeyType::Date => Some(LogicalType::Date),
        KeyType::Time(of) => Some(LogicalType::time(false, unit(of))),
        KeyType::Timestamp(of) => Some(LogicalType::timestamp(false, unit(of))),
        KeyType::Decimal { precision, scale } => Some(LogicalType::decimal(scale.into(), precision.into())),
        _ => None,
    };
    let length = match column.key_type {
        KeyType::FixedBytes(width) => i32::from(width),
        KeyType::Uuid | KeyType::Decimal { .. } => 16,
        KeyType::U128 | KeyType::I128 => LONG_INTEGER_BYTES,
        _ => 0,
    };
    let (precision, scale) = match column.key_type {
        KeyType::Decimal { precision, scale } => (i32::from(precision), i32::from(scale)),
        KeyType::U128 | KeyType::I128 => (LONG_INTEGER_DIGITS, 0),
        _ => (0, 0),
    };
    let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let mut builder = Type::primitive_type_builder(&column.name, physical(column.key_type))
        .with_repetition(repetition)
        .with_logical_type(logical)
        .with_precision(precision)
        .with_scale(scale);
    if physical(column.key_type) == Physical::FIXED_LEN_BYTE_ARRAY {
        builder = builder.with_length(length);
    }
    builder.build()
}

/// Appends a value; `None` if the bytes are not one of the type.
fn push(values: &mut ColumnValues, key_type: KeyType, bytes: &[u8]) -> Option<()> {
    let value = key_type.decode(bytes).ok()?;
    let number = match &value {
        Value::Signed(number) => Some(*number),
        Value::Unsigned(number) => i128::try_from(*number).ok(),
        _ => None,
    };
    // Parquet has no seconds.
    let number = match key_type {
        KeyType::Time(TimeUnit::Second) | KeyType::Timestamp(TimeUnit::Second) => {
            number.and_then(|number| number.checked_mul(1000))
        }
        _ => number,
    };
    match (values, value) {
        (ColumnValues::Bool(values), Value::Bool(value)) => values.push(value),
        // Unsigned integers keep their bits.
        (ColumnValues::Int32(values), Value::Unsigned(_)) => values.push(u32::try_from(number?).ok()?.cast_signed()),
        (ColumnValues::Int64(values), Value::Unsigned(_)) => values.push(u64::try_from(number?).ok()?.cast_signed()),
        (ColumnValues::Int32(values), _) => values.push(i32::try_from(number?).ok()?),
        (ColumnValues::Int64(values), _) => values.push(i64::try_from(number?).ok()?),
        (ColumnValues::Float(values), Value::Float(value)) => values.push(value as f32),
        (ColumnValues::Double(values), Value::Float(value)) => values.push(value),
        // One byte more has the sign of both types.
        (ColumnValues::Fixed(values), Value::Signed(number)) if key_type == KeyType::I128 => {
            let sign = if number < 0 { u8::MAX } else { 0 };
            values.push(FixedLenByteArray::from([&[sign][..], &number.to_be_bytes()].concat()));
        }
        (ColumnValues::Fixed(values), Value::Unsigned(number)) => {
            values.push(FixedLenByteArray::from([&[0][..], &number.to_be_bytes()].concat()));
        }
        (ColumnValues::Fixed(values), Value::Signed(number)) => {
            values.push(FixedLenByteArray::from(number.to_be_bytes().to_vec()));
        }
        (ColumnValues::Fixed(values), Value::Bytes(bytes)) => values.push(FixedLenByteArray::from(bytes)),
        (ColumnValues::Bytes(values), Value::Text(text)) => values.push(ByteArray::from(text.into_bytes())),
        (ColumnValues::Bytes(values), Value::Bytes(bytes)) => values.push(ByteArray::from(bytes)),
        _ => return None,
    }
    Some(())
}
