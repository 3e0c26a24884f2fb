//! Values of rows of Arrow arrays.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, types};
use arrow_schema::{ArrowError, DataType};
use ogive::KeyType;
use ogive::types::Value;

/// An array without its dictionary.
///
/// # Errors
/// A dictionary whose keys do not fit its values.
pub fn unpacked(array: ArrayRef) -> Result<ArrayRef, ArrowError> {
    let Some(dictionary) = array.as_any_dictionary_opt() else { return Ok(array) };
    unpacked(arrow_select::take::take(dictionary.values(), dictionary.keys(), None)?)
}

/// Appends the key of a value of the most frequent types, without a detour by [`Value`]; returns `false` for nulls and
/// other types.
pub fn append_frequent_key(array: &ArrayRef, key_type: KeyType, row: usize, key: &mut Vec<u8>) -> bool {
    if array.is_null(row) {
        return false;
    }
    match (key_type, array.data_type()) {
        (KeyType::U64, DataType::UInt64) => {
            key.extend_from_slice(&array.as_primitive::<types::UInt64Type>().value(row).to_be_bytes());
        }
        (KeyType::I64, DataType::Int64) => {
            key.extend_from_slice(&ogive::encode_i64(array.as_primitive::<types::Int64Type>().value(row)));
        }
        (KeyType::Text, DataType::Utf8) => key.extend_from_slice(array.as_string::<i32>().value(row).as_bytes()),
        (KeyType::Text, DataType::LargeUtf8) => key.extend_from_slice(array.as_string::<i64>().value(row).as_bytes()),
        (KeyType::Text, DataType::Utf8View) => key.extend_from_slice(array.as_string_view().value(row).as_bytes()),
        (KeyType::Bytes, DataType::Binary) => key.extend_from_slice(array.as_binary::<i32>().value(row)),
        (KeyType::Bytes, DataType::LargeBinary) => key.extend_from_slice(array.as_binary::<i64>().value(row)),
        _ => return false,
    }
    true
}

/// The value of a row, for a type that [`key_type_of`](crate::key_type_of) gives; a null for what has no value, or none
/// that fits.
#[must_use]
pub fn value_of(array: &ArrayRef, key_type: KeyType, row: usize) -> Value {
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
