//! The reader of Parquet files: one column of keys, one of values.

use super::InputError;
use super::columns::{Column, find};
use super::keys::{KeyReader, tuple_of};
use super::record::{Input, InputFacts, Record};
use crate::key;
use ::parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::reader::RowIter;
use ::parquet::record::{Field, Row};
use ::parquet::schema::types::Type;
use ogive::KeyType;
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Reads one record per row. Columns hold integers, floats, text or bytes; nested and null values are refused.
pub(crate) struct ParquetInput {
    rows: RowIter<'static>,
    facts: InputFacts,
    keys: KeyReader,
    /// Positions of the columns within the projection, which has them in the order of the file.
    key_indices: Vec<usize>,
    value_index: Option<usize>,
    /// The fields of the key.
    key: Vec<Vec<u8>>,
    value: Vec<u8>,
    done: u64,
    length_bytes: u64,
}

impl fmt::Debug for ParquetInput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ParquetInput")
            .field("path", &self.facts.path)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

impl ParquetInput {
    /// Opens a file; without a given key type, the type of the column decides.
    pub(crate) fn open(
        path: &Path,
        key_type: Option<KeyType>,
        key: &[Column],
        value: Option<&Column>,
    ) -> Result<Self, InputError> {
        let refused = |source| InputError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(refused)?;
        let length_bytes = file.metadata().map_err(refused)?.len();
        let reader = SerializedFileReader::new(file).map_err(|error| malformed(path, &error))?;
        let schema = reader.metadata().file_metadata().schema().clone();
        let records = u64::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0);
        let names: Vec<String> = schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
        let mut key_columns = key.iter().map(|column| find(path, &names, column)).collect::<Result<Vec<_>, _>>()?;
        if key_columns.is_empty() {
            key_columns.push(0);
        }
        let value_column = value.map(|column| find(path, &names, column)).transpose()?;
        let fields = key_columns.iter().filter_map(|&column| schema.get_fields().get(column));
        let natural = fields.map(|field| natural_type(path, field));
        let key_type = match key_type {
            Some(key_type) => key_type,
            None => match natural.collect::<Result<Vec<_>, _>>()?[..] {
                [] => return Err(InputError::Empty { path: path.to_owned() }),
                [only] => only,
                ref several => tuple_of(several.iter().copied()).ok_or_else(|| InputError::Malformed {
                    path: path.to_owned(),
                    detail: format!("keys of {} columns are too many", several.len()),
                })?,
            },
        };
        let mut columns = key_columns.clone();
        columns.extend(value_column);
        columns.sort_unstable();
        columns.dedup();
        let place = |wanted| columns.iter().position(|column| *column == wanted);
        let key_indices = key_columns.iter().filter_map(|&column| place(column)).collect::<Vec<_>>();
        let value_index = value_column.and_then(place);
        let fields = columns.iter().filter_map(|column| schema.get_fields().get(*column)).map(Arc::clone).collect();
        let projection = Type::group_type_builder(schema.name())
            .with_fields(fields)
            .build()
            .map_err(|error| malformed(path, &error))?;
        let rows = RowIter::from_file_into(Box::new(reader))
            .project(Some(projection))
            .map_err(|error| malformed(path, &error))?;
        let value_width = value_column.is_none().then_some(0);
        let facts = InputFacts {
            path: path.to_owned(),
            key_type,
            value_width,
            records: Some(records),
            length_bytes: Some(length_bytes),
        };
        Ok(Self {
            rows,
            facts,
            keys: KeyReader::new(path, key_type, false),
            key: vec![Vec::new(); key_indices.len()],
            key_indices,
            value_index,
            value: Vec::new(),
            done: 0,
            length_bytes,
        })
    }

    fn take(&mut self, row: &Row) -> Result<(), InputError> {
        let field = |index| row.get_column_iter().nth(index).map(|(name, field)| (name.as_str(), field));
        let record = self.done + 1;
        let unfit = |name: &str, field: &Field| InputError::Malformed {
            path: self.facts.path.clone(),
            detail: format!("column '{name}' holds {field} in record {record}, which is not a number, text or bytes"),
        };
        let keys = self.key_indices.iter().copied().zip(&mut self.key);
        for (index, bytes) in keys.chain(self.value_index.map(|index| (index, &mut self.value))) {
            if let Some((name, field)) = field(index) {
                bytes.clear();
                write_field(field, bytes).ok_or_else(|| unfit(name, field))?;
            }
        }
        Ok(())
    }
}

impl Input for ParquetInput {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, InputError> {
        let row = match self.rows.next() {
            None => return Ok(None),
            Some(row) => row.map_err(|error| malformed(&self.facts.path, &error))?,
        };
        self.take(&row)?;
        self.done += 1;
        let key = self.keys.read_fields(&self.key.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        Ok(Some(Record { key, value: &self.value }))
    }

    fn position_bytes(&self) -> u64 {
        let records = self.facts.records.unwrap_or(0).max(1);
        (u128::from(self.length_bytes) * u128::from(self.done.min(records)) / u128::from(records)) as u64
    }
}

/// The key type for a column.
fn natural_type(path: &Path, field: &Type) -> Result<KeyType, InputError> {
    let unfit = |what: String| InputError::Malformed {
        path: path.to_owned(),
        detail: format!(
            "column '{}' is {what}, but keys are numbers, text or bytes; choose another column with --key",
            field.name()
        ),
    };
    if field.is_group() {
        return Err(unfit("nested".into()));
    }
    let info = field.get_basic_info();
    let unsigned = matches!(
        info.converted_type(),
        ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
    );
    let text = info.converted_type() == ConvertedType::UTF8 || info.logical_type_ref() == Some(&LogicalType::String);
    match field.get_physical_type() {
        Physical::INT32 | Physical::INT64 if unsigned => Ok(KeyType::U64),
        Physical::INT32 | Physical::INT64 => Ok(KeyType::I64),
        Physical::FLOAT | Physical::DOUBLE => Ok(KeyType::F64),
        Physical::BYTE_ARRAY if text => Ok(KeyType::Text),
        Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY => Ok(KeyType::Bytes),
        other => Err(unfit(format!("of type {other}"))),
    }
}

/// Writes a field as in a text file; `None` for values without such a form.
fn write_field(field: &Field, bytes: &mut Vec<u8>) -> Option<()> {
    match field {
        Field::Str(text) => bytes.extend_from_slice(text.as_bytes()),
        Field::Bytes(array) => bytes.extend_from_slice(array.data()),
        Field::Byte(number) => bytes.extend_from_slice(number.to_string().as_bytes()),
        Field::Short(number) => bytes.extend_from_slice(number.to_string().as_bytes()),
        Field::Int(number) => bytes.extend_from_slice(number.to_string().as_bytes()),
        Field::Long(number) | Field::TimestampMillis(number) | Field::TimestampMicros(number) => {
            bytes.extend_from_slice(number.to_string().as_bytes());
        }
        Field::UByte(number) => bytes.extend_from_slice(number.to_string().as_bytes()),
        Field::UShort(number) => bytes.extend_from_slice(number.to_string().as_bytes()),
        Field::UInt(number) => bytes.extend_from_slice(number.to_string().as_bytes()),
        Field::ULong(number) => bytes.extend_from_slice(number.to_string().as_bytes()),
        Field::Float(number) => bytes.extend_from_slice(number.to_string().as_bytes()),
        Field::Double(number) => bytes.extend_from_slice(number.to_string().as_bytes()),
        _ => return None,
    }
    Some(())
}

fn malformed(path: &Path, error: &ParquetError) -> InputError {
    InputError::Malformed {
        path: path.to_owned(),
        detail: format!("not a readable Parquet file: {}", key::escaped(error.to_string().as_bytes())),
    }
}
