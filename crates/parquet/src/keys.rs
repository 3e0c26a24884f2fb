//! Keys: the columns that they come from, their type, and the bytes of the key of each row.

use crate::error::{ParquetIndexError, Result};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, types};
use arrow_schema::{DataType, Field, TimeUnit as ArrowUnit};
use ogive::KeyType;
use ogive::types::{Component, NullOrder, TimeUnit, TupleType, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Digits of the longest decimal that is a key.
const DECIMAL_DIGITS_MAX: u8 = 38;

/// The type of the values of an Arrow type as keys; `None` for types whose values have no order.
fn scalar_type(data_type: &DataType, is_uuid: bool) -> Option<KeyType> {
    let unit = |unit: &ArrowUnit| match unit {
        ArrowUnit::Second => TimeUnit::Second,
        ArrowUnit::Millisecond => TimeUnit::Millisecond,
        ArrowUnit::Microsecond => TimeUnit::Microsecond,
        ArrowUnit::Nanosecond => TimeUnit::Nanosecond,
    };
    let decimal = |precision: u8, scale: i8| match u8::try_from(scale) {
        Ok(scale) if precision <= DECIMAL_DIGITS_MAX && scale <= precision => {
            Some(KeyType::Decimal { precision, scale })
        }
        _ => None,
    };
    Some(match data_type {
        DataType::Boolean => KeyType::Bool,
        DataType::Int8 => KeyType::I8,
        DataType::Int16 => KeyType::I16,
        DataType::Int32 => KeyType::I32,
        DataType::Int64 => KeyType::I64,
        DataType::UInt8 => KeyType::U8,
        DataType::UInt16 => KeyType::U16,
        DataType::UInt32 => KeyType::U32,
        DataType::UInt64 => KeyType::U64,
        DataType::Float16 | DataType::Float32 => KeyType::F32,
        DataType::Float64 => KeyType::F64,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => KeyType::Text,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => KeyType::Bytes,
        DataType::FixedSizeBinary(16) if is_uuid => KeyType::Uuid,
        DataType::FixedSizeBinary(width) => match u8::try_from(*width) {
            Ok(width @ 1..) => KeyType::FixedBytes(width),
            _ => KeyType::Bytes,
        },
        DataType::Date32 => KeyType::Date,
        DataType::Date64 => KeyType::Timestamp(TimeUnit::Millisecond),
        DataType::Time32(of) | DataType::Time64(of) => KeyType::Time(unit(of)),
        DataType::Timestamp(of, _) => KeyType::Timestamp(unit(of)),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => decimal(*precision, *scale)?,
        DataType::Dictionary(_, values) => scalar_type(values, is_uuid)?,
        _ => return None,
    })
}

/// A column of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyColumn {
    pub(crate) name: String,
    pub(crate) key_type: KeyType,
}

impl KeyColumn {
    /// The column of a field.
    ///
    /// # Errors
    /// [`ParquetIndexError::NotIndexable`] if its values have no order.
    pub(crate) fn of(path: &Path, field: &Field, is_uuid: bool) -> Result<Self> {
        let name = field.name().clone();
        let Some(key_type) = scalar_type(field.data_type(), is_uuid) else {
            let detail = format!("column '{name}' is of type {}, which no key has; choose another", field.data_type());
            return Err(ParquetIndexError::NotIndexable { path: path.to_owned(), detail });
        };
        Ok(Self { name, key_type })
    }
}

/// The key type of columns, some of which have nulls. A single column without nulls is a key of its own, and all else
/// a tuple.
pub(crate) fn key_type(columns: &[KeyColumn], nulls: &[NullOrder]) -> Result<KeyType> {
    if let ([column], [NullOrder::Never]) = (columns, nulls) {
        return Ok(column.key_type);
    }
    let component =
        |(column, nulls): (&KeyColumn, &NullOrder)| Component { nulls: *nulls, ..Component::new(column.key_type) };
    let components: Vec<Component> = columns.iter().zip(nulls).map(component).collect();
    Ok(KeyType::Tuple(TupleType::new(&components)?))
}

/// The keys of the rows of a batch.
#[derive(Debug)]
pub(crate) struct RowKeys {
    path: PathBuf,
    columns: Vec<ArrayRef>,
    types: Vec<KeyType>,
    key_type: KeyType,
}

impl RowKeys {
    /// The keys of `batch`, which has all columns of the key.
    ///
    /// # Errors
    /// [`ParquetIndexError::NoColumn`].
    pub(crate) fn new(path: &Path, batch: &RecordBatch, columns: &[KeyColumn], key_type: KeyType) -> Result<Self> {
        let found = columns.iter().map(|column| {
            batch.column_by_name(&column.name).map(Arc::clone).ok_or_else(|| ParquetIndexError::NoColumn {
                path: path.to_owned(),
                column: column.name.clone(),
                known: batch.schema().fields().iter().map(|it| it.name().as_str()).collect::<Vec<_>>().join(", "),
            })
        });
        let found = found.map(|array| array.and_then(|array| plain(path, array))).collect::<Result<Vec<_>>>()?;
        let types = columns.iter().map(|column| column.key_type).collect();
        Ok(Self { path: path.to_owned(), columns: found, types, key_type })
    }

    /// The bytes of the key of a row.
    ///
    /// # Errors
    /// [`ogive::Error::InvalidArgument`] for a value that is not of the type, such as a time of day past midnight.
    pub(crate) fn key(&self, row: usize) -> Result<Vec<u8>> {
        let is_tuple = matches!(self.key_type, KeyType::Tuple(_));
        if let (false, [array], [key_type]) = (is_tuple, &self.columns[..], &self.types[..]) {
            if let Some(key) = plain_key(array, *key_type, row) {
                return Ok(key);
            }
            return Ok(self.key_type.encode(&self.value(array, *key_type, row)?)?);
        }
        let values = self.columns.iter().zip(&self.types).map(|(array, key_type)| self.value(array, *key_type, row));
        Ok(self.key_type.encode(&Value::Tuple(values.collect::<Result<_>>()?))?)
    }

    /// The value of a row; a null only where the row has none.
    fn value(&self, array: &ArrayRef, key_type: KeyType, row: usize) -> Result<Value> {
        match value(array, key_type, row) {
            Value::Null if !array.is_null(row) => Err(ParquetIndexError::NotIndexable {
                path: self.path.clone(),
                detail: format!("a value of a column of its key is not of type {key_type}; choose another key"),
            }),
            value => Ok(value),
        }
    }

    /// The first row of a sorted batch whose key is not below `key`, or is above it if `after`.
    pub(crate) fn partition(&self, rows: usize, key: &[u8], after: bool) -> Result<usize> {
        let (mut low, mut high) = (0, rows);
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.key(middle)?;
            if found.as_slice() < key || after && found == key { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }
}

/// An array without its dictionary.
fn plain(path: &Path, array: ArrayRef) -> Result<ArrayRef> {
    let Some(dictionary) = array.as_any_dictionary_opt() else { return Ok(array) };
    let unpacked = arrow_select::take::take(dictionary.values(), dictionary.keys(), None);
    let unpacked = unpacked.map_err(|error| ParquetIndexError::Malformed {
        path: path.to_owned(),
        detail: format!("a dictionary cannot be unpacked: {error}"),
    })?;
    plain(path, unpacked)
}

/// The key of a value of the most frequent types, without a detour.
fn plain_key(array: &ArrayRef, key_type: KeyType, row: usize) -> Option<Vec<u8>> {
    if array.is_null(row) {
        return None;
    }
    Some(match (key_type, array.data_type()) {
        (KeyType::U64, DataType::UInt64) => array.as_primitive::<types::UInt64Type>().value(row).to_be_bytes().to_vec(),
        (KeyType::I64, DataType::Int64) => {
            ogive::encode_i64(array.as_primitive::<types::Int64Type>().value(row)).to_vec()
        }
        (KeyType::Text, DataType::Utf8) => array.as_string::<i32>().value(row).as_bytes().to_vec(),
        (KeyType::Bytes, DataType::Binary) => array.as_binary::<i32>().value(row).to_vec(),
        _ => return None,
    })
}

/// The value of a row; a null for what has no value, or none that fits.
fn value(array: &ArrayRef, key_type: KeyType, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    if let Some(number) = integer(array, row) {
        return match key_type {
            KeyType::Time(_) => u128::try_from(number).map_or(Value::Null, Value::Unsigned),
            _ => Value::Signed(number),
        };
    }
    match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::UInt8 => Value::Unsigned(array.as_primitive::<types::UInt8Type>().value(row).into()),
        DataType::UInt16 => Value::Unsigned(array.as_primitive::<types::UInt16Type>().value(row).into()),
        DataType::UInt32 => Value::Unsigned(array.as_primitive::<types::UInt32Type>().value(row).into()),
        DataType::UInt64 => Value::Unsigned(array.as_primitive::<types::UInt64Type>().value(row).into()),
        DataType::Float16 => Value::Float(array.as_primitive::<types::Float16Type>().value(row).to_f64()),
        DataType::Float32 => Value::Float(array.as_primitive::<types::Float32Type>().value(row).into()),
        DataType::Float64 => Value::Float(array.as_primitive::<types::Float64Type>().value(row)),
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => Value::Text(array.as_string::<i64>().value(row).to_owned()),
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).to_owned()),
        DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        DataType::LargeBinary => Value::Bytes(array.as_binary::<i64>().value(row).to_vec()),
        DataType::BinaryView => Value::Bytes(array.as_binary_view().value(row).to_vec()),
        DataType::FixedSizeBinary(_) => Value::Bytes(array.as_fixed_size_binary().value(row).to_vec()),
        _ => Value::Null,
    }
}

/// The value of a row of signed integers, and what they stand for.
fn integer(array: &ArrayRef, row: usize) -> Option<i128> {
    use arrow_schema::TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    Some(match array.data_type() {
        DataType::Int8 => array.as_primitive::<types::Int8Type>().value(row).into(),
        DataType::Int16 => array.as_primitive::<types::Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<types::Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<types::Int64Type>().value(row).into(),
        DataType::Date32 => array.as_primitive::<types::Date32Type>().value(row).into(),
        DataType::Date64 => array.as_primitive::<types::Date64Type>().value(row).into(),
        DataType::Time32(Second) => array.as_primitive::<types::Time32SecondType>().value(row).into(),
        DataType::Time32(_) => array.as_primitive::<types::Time32MillisecondType>().value(row).into(),
        DataType::Time64(Microsecond) => array.as_primitive::<types::Time64MicrosecondType>().value(row).into(),
        DataType::Time64(_) => array.as_primitive::<types::Time64NanosecondType>().value(row).into(),
        DataType::Timestamp(Second, _) => array.as_primitive::<types::TimestampSecondType>().value(row).into(),
        DataType::Timestamp(Millisecond, _) => {
            array.as_primitive::<types::TimestampMillisecondType>().value(row).into()
        }
        DataType::Timestamp(Microsecond, _) => {
            array.as_primitive::<types::TimestampMicrosecondType>().value(row).into()
        }
        DataType::Timestamp(Nanosecond, _) => array.as_primitive::<types::TimestampNanosecondType>().value(row).into(),
        DataType::Decimal32(..) => array.as_primitive::<types::Decimal32Type>().value(row).into(),
        DataType::Decimal64(..) => array.as_primitive::<types::Decimal64Type>().value(row).into(),
        DataType::Decimal128(..) => array.as_primitive::<types::Decimal128Type>().value(row),
        DataType::Decimal256(..) => array.as_primitive::<types::Decimal256Type>().value(row).to_i128()?,
        _ => return None,
    })
}
