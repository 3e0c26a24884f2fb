//! Values of rows of Arrow arrays, as those of a type: converted where that is exact.
//!
//! | array | becomes |
//! |---|---|
//! | truth values, text | the same alone |
//! | bytes of any width | `bytes`, `bytesN`, `uuid` |
//! | integers | integers, floats and decimals of the same number; dates, times and timestamps as their units |
//! | decimals | decimals of another scale, integers and floats of the same number |
//! | floats | floats |
//! | timestamps | timestamps of another unit |
//! | `Date64` | timestamps, and dates if it is midnight |
//! | dates | dates: a day is no moment |
//! | times of a day | times of another unit |

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, UInt64Array, types};
use arrow_schema::{ArrowError, DataType, TimeUnit as ArrowUnit};
use arrow_select::take::take;
use ogive::KeyType;
use ogive::types::{TimeUnit, Value};

/// Integers of 256 bits: the values of decimals.
pub(crate) type Wide = <types::Decimal256Type as ArrowPrimitiveType>::Native;

const MILLISECONDS_PER_DAY: i128 = 86_400_000;
/// Most digits that [`Wide`] holds whatever they are.
const WIDE_DIGITS_MAX: u32 = 76;

/// An array without its dictionary or its runs.
///
/// # Errors
/// A dictionary whose keys do not fit its values.
pub fn unpacked(array: ArrayRef) -> Result<ArrayRef, ArrowError> {
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        return unpacked(take(dictionary.values(), dictionary.keys(), None)?);
    }
    let DataType::RunEndEncoded(ends, _) = array.data_type() else { return Ok(array) };
    let values = match ends.data_type() {
        DataType::Int16 => without_runs::<types::Int16Type>(&array),
        DataType::Int32 => without_runs::<types::Int32Type>(&array),
        _ => without_runs::<types::Int64Type>(&array),
    };
    unpacked(values?)
}

fn without_runs<E: types::RunEndIndexType>(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let Some(runs) = array.as_run_opt::<E>() else { return Ok(array.clone()) };
    let places: UInt64Array = (0..runs.len()).map(|row| runs.get_physical_index(row) as u64).collect();
    take(runs.values(), &places, None)
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

/// Whether a row has no value: none of an array without a type has one.
pub(crate) fn is_null(array: &ArrayRef, row: usize) -> bool {
    array.is_null(row) || *array.data_type() == DataType::Null
}

/// The value of a row as one of a type; a null for what has no value, or none that is exactly one of this type.
#[must_use]
pub fn value_of(array: &ArrayRef, key_type: KeyType, row: usize) -> Value {
    if is_null(array, row) {
        return Value::Null;
    }
    Cell::of(array, row).and_then(|cell| cell.value(key_type)).unwrap_or(Value::Null)
}

/// What a row of an array says, with its unit.
enum Cell<'a> {
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
    /// Days since 1970.
    Date(i32),
    /// Milliseconds since 1970.
    Date64(i64),
    /// Units since 1970.
    Timestamp(i64, ArrowUnit),
    /// Units since midnight.
    Time(i64, ArrowUnit),
    /// Units of 10 to the power of minus the scale.
    Decimal(Wide, i8),
}

impl<'a> Cell<'a> {
    /// The cell of a row that is not null; `None` for arrays of other types.
    fn of(array: &'a ArrayRef, row: usize) -> Option<Self> {
        fn number<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> T::Native {
            array.as_primitive::<T>().value(row)
        }
        Some(match array.data_type() {
            DataType::Boolean => Self::Bool(array.as_boolean().value(row)),
            DataType::Int8 => Self::Integer(number::<types::Int8Type>(array, row).into()),
            DataType::Int16 => Self::Integer(number::<types::Int16Type>(array, row).into()),
            DataType::Int32 => Self::Integer(number::<types::Int32Type>(array, row).into()),
            DataType::Int64 => Self::Integer(number::<types::Int64Type>(array, row).into()),
            DataType::UInt8 => Self::Integer(number::<types::UInt8Type>(array, row).into()),
            DataType::UInt16 => Self::Integer(number::<types::UInt16Type>(array, row).into()),
            DataType::UInt32 => Self::Integer(number::<types::UInt32Type>(array, row).into()),
            DataType::UInt64 => Self::Integer(number::<types::UInt64Type>(array, row).into()),
            DataType::Float16 => Self::Float(number::<types::Float16Type>(array, row).to_f64()),
            DataType::Float32 => Self::Float(number::<types::Float32Type>(array, row).into()),
            DataType::Float64 => Self::Float(number::<types::Float64Type>(array, row)),
            DataType::Utf8 => Self::Text(array.as_string::<i32>().value(row)),
            DataType::LargeUtf8 => Self::Text(array.as_string::<i64>().value(row)),
            DataType::Utf8View => Self::Text(array.as_string_view().value(row)),
            DataType::Binary => Self::Bytes(array.as_binary::<i32>().value(row)),
            DataType::LargeBinary => Self::Bytes(array.as_binary::<i64>().value(row)),
            DataType::BinaryView => Self::Bytes(array.as_binary_view().value(row)),
            DataType::FixedSizeBinary(_) => Self::Bytes(array.as_fixed_size_binary().value(row)),
            DataType::Date32 => Self::Date(number::<types::Date32Type>(array, row)),
            DataType::Date64 => Self::Date64(number::<types::Date64Type>(array, row)),
            DataType::Time32(ArrowUnit::Second) => {
                Self::Time(number::<types::Time32SecondType>(array, row).into(), ArrowUnit::Second)
            }
            DataType::Time32(unit) => Self::Time(number::<types::Time32MillisecondType>(array, row).into(), *unit),
            DataType::Time64(ArrowUnit::Microsecond) => {
                Self::Time(number::<types::Time64MicrosecondType>(array, row), ArrowUnit::Microsecond)
            }
            DataType::Time64(unit) => Self::Time(number::<types::Time64NanosecondType>(array, row), *unit),
            DataType::Timestamp(unit, _) => {
                let time = match unit {
                    ArrowUnit::Second => number::<types::TimestampSecondType>(array, row),
                    ArrowUnit::Millisecond => number::<types::TimestampMillisecondType>(array, row),
                    ArrowUnit::Microsecond => number::<types::TimestampMicrosecondType>(array, row),
                    ArrowUnit::Nanosecond => number::<types::TimestampNanosecondType>(array, row),
                };
                Self::Timestamp(time, *unit)
            }
            DataType::Decimal32(_, scale) => {
                Self::Decimal(Wide::from_i128(number::<types::Decimal32Type>(array, row).into()), *scale)
            }
            DataType::Decimal64(_, scale) => {
                Self::Decimal(Wide::from_i128(number::<types::Decimal64Type>(array, row).into()), *scale)
            }
            DataType::Decimal128(_, scale) => {
                Self::Decimal(Wide::from_i128(number::<types::Decimal128Type>(array, row)), *scale)
            }
            DataType::Decimal256(_, scale) => Self::Decimal(number::<types::Decimal256Type>(array, row), *scale),
            _ => return None,
        })
    }

    /// The same as a value of a type, whose range is not checked; `None` if there is none.
    fn value(self, key_type: KeyType) -> Option<Value> {
        Some(match (key_type, self) {
            (KeyType::Bool, Self::Bool(value)) => Value::Bool(value),
            (KeyType::Text, Self::Text(text)) => Value::Text(text.to_owned()),
            (KeyType::Bytes | KeyType::FixedBytes(_) | KeyType::Uuid, Self::Bytes(bytes)) => {
                Value::Bytes(bytes.to_vec())
            }
            (KeyType::F32 | KeyType::F64, Self::Float(number)) => Value::Float(number),
            (KeyType::F32 | KeyType::F64, Self::Integer(number)) => Value::Float(float(Wide::from_i128(number))?),
            (KeyType::F32 | KeyType::F64, Self::Decimal(number, scale)) => Value::Float(float_of(number, scale)?),
            (KeyType::Decimal { scale, .. }, Self::Integer(number)) => {
                Value::Signed(rescaled(Wide::from_i128(number), scale.into())?.to_i128()?)
            }
            (KeyType::Decimal { scale, .. }, Self::Decimal(number, from)) => {
                Value::Signed(rescaled(number, i16::from(scale) - i16::from(from))?.to_i128()?)
            }
            (KeyType::Date, Self::Date(days)) => Value::Signed(days.into()),
            (KeyType::Date, Self::Date64(time)) => Value::Signed(quotient(time.into(), MILLISECONDS_PER_DAY)?),
            (KeyType::Timestamp(unit), Self::Date64(time)) => {
                Value::Signed(in_unit(time.into(), ArrowUnit::Millisecond, unit)?)
            }
            (KeyType::Timestamp(unit), Self::Timestamp(time, from)) => Value::Signed(in_unit(time.into(), from, unit)?),
            (KeyType::Time(unit), Self::Time(time, from)) => integer(in_unit(time.into(), from, unit)?, key_type)?,
            (KeyType::Date | KeyType::Timestamp(_) | KeyType::Time(_), Self::Integer(number)) => {
                integer(number, key_type)?
            }
            (_, Self::Integer(number)) if is_integer(key_type) => integer(number, key_type)?,
            (_, Self::Decimal(number, scale)) if is_integer(key_type) => {
                let number = rescaled(number, -i16::from(scale))?;
                match number.to_parts() {
                    (low, 0) if is_unsigned(key_type) => Value::Unsigned(low),
                    _ => integer(number.to_i128()?, key_type)?,
                }
            }
            _ => return None,
        })
    }
}

fn is_unsigned(key_type: KeyType) -> bool {
    matches!(key_type, KeyType::U8 | KeyType::U16 | KeyType::U32 | KeyType::U64 | KeyType::U128 | KeyType::Time(_))
}

fn is_integer(key_type: KeyType) -> bool {
    let is_signed = matches!(key_type, KeyType::I8 | KeyType::I16 | KeyType::I32 | KeyType::I64 | KeyType::I128);
    is_signed || is_unsigned(key_type) && !matches!(key_type, KeyType::Time(_))
}

/// An integer in the form that values of a type have; `None` for a negative one of a type that has none.
fn integer(number: i128, key_type: KeyType) -> Option<Value> {
    match is_unsigned(key_type) {
        true => u128::try_from(number).ok().map(Value::Unsigned),
        false => Some(Value::Signed(number)),
    }
}

/// A number divided; `None` if something is left.
fn quotient(number: i128, divisor: i128) -> Option<i128> {
    (number % divisor == 0).then_some(number / divisor)
}

/// A time in another unit; `None` if it is no whole number of them.
fn in_unit(time: i128, from: ArrowUnit, to: TimeUnit) -> Option<i128> {
    let from = match from {
        ArrowUnit::Second => 1,
        ArrowUnit::Millisecond => 1_000,
        ArrowUnit::Microsecond => 1_000_000,
        ArrowUnit::Nanosecond => 1_000_000_000,
    };
    let to = match to {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    // Times have 64 bits, so the product fits.
    quotient(time * to, from)
}

/// A number times 10 to the power of `digits`; `None` if that is no integer, or too long.
fn rescaled(number: Wide, digits: i16) -> Option<Wide> {
    if number == Wide::ZERO || digits == 0 {
        return Some(number);
    }
    let count = u32::from(digits.unsigned_abs());
    // Beyond, a product is too long, and a quotient is no integer.
    let power = Wide::from_i128(10).checked_pow(Some(count).filter(|&count| count <= WIDE_DIGITS_MAX)?)?;
    match digits > 0 {
        true => number.checked_mul(power),
        false => (number.checked_rem(power)? == Wide::ZERO).then(|| number.checked_div(power))?,
    }
}

/// The float of an integer; `None` if it has more digits than a float.
fn float(number: Wide) -> Option<f64> {
    if number == Wide::ZERO {
        return Some(0.0);
    }
    let zeros = number.trailing_zeros() as u8;
    let digits = (number >> zeros).to_i128().filter(|digits| digits.unsigned_abs() < 1 << f64::MANTISSA_DIGITS)?;
    Some(digits as f64 * 2_f64.powi(zeros.into()))
}

/// The float of a decimal; `None` if no float is this number.
fn float_of(number: Wide, scale: i8) -> Option<f64> {
    let Ok(scale) = u32::try_from(scale) else { return float(rescaled(number, -i16::from(scale))?) };
    // 10 is 2 times 5: what is left once all fives are taken is divided by a power of two, which floats do exactly.
    let fives = Wide::from_i128(5).checked_pow(scale)?;
    if number.checked_rem(fives)? != Wide::ZERO {
        return None;
    }
    Some(float(number.checked_div(fives)?)? / 2_f64.powi(scale.cast_signed()))
}
