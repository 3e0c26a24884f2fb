//! The reader of Parquet files: its columns have types.

use super::builder::{FieldBytes, RecordBuilder};
use super::columns::find;
use super::record::{Input, InputFacts, Record};
use super::schema::{ReadColumn, Schema, Selection};
use super::{InputError, InputOptions};
use crate::failure::Result;
use crate::key;
use crate::pipe::open_seekable;
use ::parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit as ParquetUnit, Type as Physical};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use ::parquet::record::reader::RowIter;
use ::parquet::schema::types::Type;
use ogive::KeyType;
use ogive::types::{TimeUnit, Value};
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Widest column of bytes of a fixed length that keeps its width.
const FIXED_BYTES_MAX: i32 = 255;

/// The columns to read of a Parquet file, with the types that it states.
///
/// # Errors
/// [`InputError`] for a file that cannot be read, and for nested columns.
pub(super) fn schema(options: &InputOptions) -> Result<Schema> {
    let path = &options.path;
    let (reader, _) = open(options.source(), path)?;
    let fields = reader.metadata().file_metadata().schema().get_fields().to_vec();
    let names: Vec<String> = fields.iter().map(|field| field.name().to_owned()).collect();
    if names.is_empty() {
        return Err(InputError::Empty { path: path.clone() }.into());
    }
    options.key.iter().try_for_each(|column| find(path, &names, column).map(drop))?;
    let selection = Selection::of(options, &names)?;
    let mut columns = selection.columns(options, &names)?;
    for column in &mut columns {
        let Some(field) = column.position.and_then(|position| fields.get(position)) else { continue };
        if !column.guessed {
            check_unit(path, field, column.key_type)?;
            continue;
        }
        column.key_type = natural_type(path, field)?;
        column.nullable = field.get_basic_info().repetition() == Repetition::OPTIONAL;
        column.guessed = false;
    }
    // Keys of one column are never null, even if the file would allow it, unless they are tuples of it.
    let count = selection.keys.len();
    if count == 1 && options.key_type.is_none_or(|key_type| key_type == columns[0].key_type) {
        columns[0].nullable = false;
    }
    let values = columns.split_off(count);
    Schema::new(options, columns, values, true, Vec::new())
}

/// Opens the file at `source`, which messages call `path`.
fn open(source: &Path, path: &Path) -> Result<(SerializedFileReader<File>, u64), InputError> {
    let refused = |source| InputError::Io { path: path.to_owned(), source };
    let file = open_seekable(source).map_err(refused)?;
    let length_bytes = file.metadata().map_err(refused)?.len();
    Ok((SerializedFileReader::new(file).map_err(|error| malformed(path, &error))?, length_bytes))
}

/// Reads one record per row.
pub(crate) struct ParquetInput {
    path: PathBuf,
    rows: RowIter<'static>,
    facts: InputFacts,
    builder: RecordBuilder,
    /// The place of each column of the key and the value in the rows, which have the columns in the order of the file;
    /// `None` for those that the file does not have.
    places: Vec<Option<usize>>,
    done: u64,
    length_bytes: u64,
}

impl fmt::Debug for ParquetInput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ParquetInput")
            .field("path", &self.path)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

impl ParquetInput {
    /// Opens the file at `source`, which messages call `path`, to read the columns of a schema.
    pub(crate) fn open(source: &Path, path: &Path, schema: &Schema) -> Result<Self, InputError> {
        let (reader, length_bytes) = open(source, path)?;
        let metadata = reader.metadata().file_metadata();
        let records = u64::try_from(metadata.num_rows()).unwrap_or(0);
        let file_schema = metadata.schema().clone();
        let read: Vec<&ReadColumn> = schema.keys.iter().chain(&schema.values).collect();
        let mut columns: Vec<usize> = read.iter().filter_map(|column| column.position).collect();
        columns.sort_unstable();
        columns.dedup();
        // The reader tells columns apart by their names.
        let mut names = std::collections::HashSet::new();
        let all = file_schema.get_fields();
        if let Some(twice) = all.iter().find(|field| !names.insert(field.name()))
            && columns.iter().any(|&column| all.get(column).is_some_and(|field| field.name() == twice.name()))
        {
            let detail = format!("two columns have the name '{}'; write the file again with other names", twice.name());
            return Err(InputError::Malformed { path: path.to_owned(), detail });
        }
        let place = |position| columns.partition_point(|&other| other < position);
        let places = read.iter().map(|column| column.position.map(place)).collect();
        let fields =
            columns.iter().filter_map(|column| file_schema.get_fields().get(*column)).map(Arc::clone).collect();
        let projection = Type::group_type_builder(file_schema.name())
            .with_fields(fields)
            .build()
            .map_err(|error| malformed(path, &error))?;
        let rows = RowIter::from_file_into(Box::new(reader))
            .project(Some(projection))
            .map_err(|error| malformed(path, &error))?;
        let facts = InputFacts {
            path: path.to_owned(),
            record_type: schema.record_type.clone(),
            value_width: schema.value_width(),
            records: Some(records),
            length_bytes: Some(length_bytes),
            may_be_empty: true,
        };
        let builder = RecordBuilder::new(path, schema);
        Ok(Self { path: path.to_owned(), rows, facts, builder, places, done: 0, length_bytes })
    }
}

impl Input for ParquetInput {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, InputError> {
        let row = match self.rows.next() {
            None => return Ok(None),
            Some(row) => row.map_err(|error| malformed(&self.path, &error))?,
        };
        self.done += 1;
        let fields: Vec<&Field> = row.get_column_iter().map(|(_, field)| field).collect();
        let places = &self.places;
        let field = |index: usize| match places.get(index)? {
            Some(place) => fields.get(*place).copied(),
            None => Some(&Field::Null),
        };
        self.builder.build(|index, column, target| convert(column, field(index), target)).map(Some)
    }

    fn position_bytes(&self) -> u64 {
        let records = self.facts.records.unwrap_or(0).max(1);
        (u128::from(self.length_bytes) * u128::from(self.done.min(records)) / u128::from(records)) as u64
    }
}

/// The bytes of a field, appended to `target` unless the field has them.
fn convert<'a>(column: &ReadColumn, field: Option<&'a Field>, target: &mut Vec<u8>) -> Result<FieldBytes<'a>, String> {
    match (field, column.key_type) {
        (Some(Field::Null), _) if column.nullable => return Ok(FieldBytes::Null),
        (Some(Field::Str(text)), KeyType::Text | KeyType::Bytes) => return Ok(FieldBytes::Own(text.as_bytes())),
        (Some(Field::Bytes(array)), KeyType::Bytes) => return Ok(FieldBytes::Own(array.data())),
        _ => {}
    }
    let key_type = column.key_type;
    let encoded = field.and_then(|field| value(field, key_type)).and_then(|value| key_type.encode(&value).ok());
    match encoded {
        Some(bytes) => {
            target.extend_from_slice(&bytes);
            Ok(FieldBytes::Encoded)
        }
        None => Err(field.map_or_else(String::new, |field| key::shortened(field.to_string().as_bytes()))),
    }
}

/// The type of a column.
fn natural_type(path: &Path, field: &Type) -> Result<KeyType, InputError> {
    let unfit = |what: String| InputError::Malformed {
        path: path.to_owned(),
        detail: format!(
            "column '{}' is {what}, which is no type here; choose others with --key and --value",
            field.name()
        ),
    };
    if field.is_group() || field.get_basic_info().repetition() == Repetition::REPEATED {
        return Err(unfit("nested".into()));
    }
    let info = field.get_basic_info();
    let converted = info.converted_type();
    let unit = |unit: &ParquetUnit| match unit {
        ParquetUnit::MILLIS => TimeUnit::Millisecond,
        ParquetUnit::MICROS => TimeUnit::Microsecond,
        ParquetUnit::NANOS => TimeUnit::Nanosecond,
    };
    let of_logical = match info.logical_type_ref() {
        Some(LogicalType::String | LogicalType::Enum | LogicalType::Json) => Some(KeyType::Text),
        Some(LogicalType::Date) => Some(KeyType::Date),
        Some(LogicalType::Uuid) => Some(KeyType::Uuid),
        Some(LogicalType::Float16) => Some(KeyType::F32),
        Some(LogicalType::Time(time)) => Some(KeyType::Time(unit(&time.unit))),
        Some(LogicalType::Timestamp(time)) => Some(KeyType::Timestamp(unit(&time.unit))),
        _ => None,
    };
    if let Some(key_type) = of_logical {
        return Ok(key_type);
    }
    let Type::PrimitiveType { precision, scale, type_length, .. } = field else { return Err(unfit("nested".into())) };
    Ok(match (converted, field.get_physical_type()) {
        (ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON, _) => KeyType::Text,
        (ConvertedType::DATE, _) => KeyType::Date,
        (ConvertedType::TIME_MILLIS, _) => KeyType::Time(TimeUnit::Millisecond),
        (ConvertedType::TIME_MICROS, _) => KeyType::Time(TimeUnit::Microsecond),
        (ConvertedType::TIMESTAMP_MILLIS, _) => KeyType::Timestamp(TimeUnit::Millisecond),
        (ConvertedType::TIMESTAMP_MICROS, _) => KeyType::Timestamp(TimeUnit::Microsecond),
        (ConvertedType::UINT_8, _) => KeyType::U8,
        (ConvertedType::UINT_16, _) => KeyType::U16,
        (ConvertedType::UINT_32, _) => KeyType::U32,
        (ConvertedType::UINT_64, _) => KeyType::U64,
        (ConvertedType::INT_8, _) => KeyType::I8,
        (ConvertedType::INT_16, _) => KeyType::I16,
        (ConvertedType::DECIMAL, _) => {
            let (Ok(precision), Ok(scale)) = (u8::try_from(*precision), u8::try_from(*scale)) else {
                return Err(unfit(format!("a decimal of {precision} digits, {scale} of them after the point")));
            };
            let name = format!("decimal({precision},{scale})");
            name.parse().map_err(|_| unfit(name))?
        }
        (_, Physical::BOOLEAN) => KeyType::Bool,
        (_, Physical::INT32) => KeyType::I32,
        (_, Physical::INT64) => KeyType::I64,
        (_, Physical::FLOAT) => KeyType::F32,
        (_, Physical::DOUBLE) => KeyType::F64,
        (_, Physical::BYTE_ARRAY) => KeyType::Bytes,
        (_, Physical::FIXED_LEN_BYTE_ARRAY) if (1..=FIXED_BYTES_MAX).contains(type_length) => {
            KeyType::FixedBytes(*type_length as u8)
        }
        (_, Physical::FIXED_LEN_BYTE_ARRAY) => KeyType::Bytes,
        (_, Physical::INT96) => KeyType::Timestamp(TimeUnit::Millisecond),
    })
}

/// Fails for a type that would read the numbers of a column in another unit or scale than they are written in.
fn check_unit(path: &Path, field: &Type, asked: KeyType) -> Result<(), InputError> {
    let Ok(natural) = natural_type(path, field) else { return Ok(()) };
    let is_kept = match natural {
        KeyType::Time(_) | KeyType::Timestamp(_) => asked == natural || asked == KeyType::I64,
        KeyType::Decimal { .. } => asked == natural,
        _ => true,
    };
    if is_kept {
        return Ok(());
    }
    let detail = format!(
        "column '{}' is {natural}, and is not converted to {asked}; leave its type out, or write {natural}",
        field.name()
    );
    Err(InputError::Malformed { path: path.to_owned(), detail })
}

/// A field as a value of a type; `None` if it is not one. Types other than the natural one are read from its text.
fn value(field: &Field, key_type: KeyType) -> Option<Value> {
    let natural = match field {
        Field::Null | Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_) => return None,
        Field::Bool(value) => Value::Bool(*value),
        Field::Byte(number) => Value::Signed((*number).into()),
        Field::Short(number) => Value::Signed((*number).into()),
        Field::Int(number) | Field::Date(number) | Field::TimeMillis(number) => Value::Signed((*number).into()),
        Field::Long(number)
        | Field::TimestampMillis(number)
        | Field::TimestampMicros(number)
        | Field::TimeMicros(number) => Value::Signed((*number).into()),
        Field::UByte(number) => Value::Unsigned((*number).into()),
        Field::UShort(number) => Value::Unsigned((*number).into()),
        Field::UInt(number) => Value::Unsigned((*number).into()),
        Field::ULong(number) => Value::Unsigned((*number).into()),
        Field::Float16(number) => Value::Float(number.to_f64()),
        Field::Float(number) => Value::Float((*number).into()),
        Field::Double(number) => Value::Float(*number),
        Field::Decimal(decimal) => Value::Signed(big_endian(decimal.data())?),
        Field::Str(text) => Value::Text(text.clone()),
        Field::Bytes(array) => Value::Bytes(array.data().to_vec()),
    };
    let natural = match (natural, key_type) {
        (Value::Signed(number), KeyType::Time(_)) => Value::Unsigned(u128::try_from(number).ok()?),
        (natural, _) => natural,
    };
    if key_type.encode(&natural).is_ok() {
        return Some(natural);
    }
    let text = match &natural {
        Value::Bytes(bytes) if key_type == KeyType::Text => {
            return String::from_utf8(bytes.clone()).ok().map(Value::Text);
        }
        Value::Text(text) => text.clone(),
        Value::Bytes(bytes) => String::from_utf8(bytes.clone()).ok()?,
        Value::Bool(value) => value.to_string(),
        Value::Unsigned(number) => number.to_string(),
        Value::Signed(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        _ => return None,
    };
    key_type.decode(&key_type.parse(&text).ok()?).ok()
}

/// A signed big-endian integer of up to 16 bytes.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let fill = if first & 0x80 == 0 { 0 } else { 0xff };
    let wide = bytes.len().saturating_sub(16);
    if bytes[..wide].iter().any(|&byte| byte != fill) {
        return None;
    }
    let kept = &bytes[wide..];
    let mut number = [fill; 16];
    number[16 - kept.len()..].copy_from_slice(kept);
    Some(i128::from_be_bytes(number))
}

fn malformed(path: &Path, error: &ParquetError) -> InputError {
    InputError::Malformed {
        path: path.to_owned(),
        detail: format!("not a readable Parquet file: {}", key::escaped(error.to_string().as_bytes())),
    }
}
