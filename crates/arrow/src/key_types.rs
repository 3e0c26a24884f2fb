//! Key types of Arrow types, and Arrow fields of columns.

use arrow_schema::{DataType, Field, TimeUnit as ArrowUnit};
use ogive::KeyType;
use ogive::types::{RecordColumn, TimeUnit};

/// Digits of the longest decimal that is a key.
const DECIMAL_DIGITS_MAX: u8 = 38;
/// The key of an extension's name in the metadata of a field, and the extension of UUIDs.
const EXTENSION: &str = "ARROW:extension:name";
const UUID_EXTENSION: &str = "arrow.uuid";
/// The extension of the periods of pandas: integers that say nothing without their frequency.
const PERIOD_EXTENSION: &str = "pandas.period";
/// Digits of the longest integers of 128 bits, which are decimals.
const LONG_INTEGER_DIGITS: u8 = 39;
/// The key of the name of their type in the metadata of a field.
const TYPE_NAME: &str = "ogive:type";

/// Whether a field contains UUIDs, by its extension.
#[must_use]
pub fn is_uuid(field: &Field) -> bool {
    field.metadata().get(EXTENSION).is_some_and(|name| name == UUID_EXTENSION)
}

/// Whether a field contains periods of pandas, by its extension.
pub(crate) fn is_period(field: &Field) -> bool {
    field.metadata().get(EXTENSION).is_some_and(|name| name == PERIOD_EXTENSION)
}

/// The name of the type of a field, for messages.
#[must_use]
pub fn type_name(field: &Field) -> String {
    if is_period(field) { "period of pandas".to_owned() } else { field.data_type().to_string() }
}

/// The type of the values of a field as keys; `None` for types whose values have no order. The metadata of the field
/// tell UUIDs and `u128`, which the type alone does not.
#[must_use]
pub fn key_type_of_field(field: &Field) -> Option<KeyType> {
    if is_period(field) {
        return None;
    }
    match key_type_of(field.data_type(), is_uuid(field))? {
        KeyType::I128 if field.metadata().get(TYPE_NAME).is_some_and(|name| name == "u128") => Some(KeyType::U128),
        key_type => Some(key_type),
    }
}

/// The type of the values of an Arrow type as keys; `None` for types whose values have no order. A decimal of 39 digits
/// is an `i128`: see [`key_type_of_field`].
#[must_use]
pub fn key_type_of(data_type: &DataType, is_uuid: bool) -> Option<KeyType> {
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
        DataType::Decimal256(LONG_INTEGER_DIGITS, 0) => KeyType::I128,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => decimal(*precision, *scale)?,
        DataType::Dictionary(_, values) => key_type_of(values, is_uuid)?,
        DataType::RunEndEncoded(_, values) => key_type_of(values.data_type(), is_uuid)?,
        _ => return None,
    })
}

fn unit_of(unit: TimeUnit) -> ArrowUnit {
    match unit {
        TimeUnit::Second => ArrowUnit::Second,
        TimeUnit::Millisecond => ArrowUnit::Millisecond,
        TimeUnit::Microsecond => ArrowUnit::Microsecond,
        TimeUnit::Nanosecond => ArrowUnit::Nanosecond,
    }
}

/// The Arrow type of a scalar type. Tuples are bytes: their components are columns of their own.
pub(crate) fn data_type_of(key_type: KeyType) -> DataType {
    match key_type {
        KeyType::Bool => DataType::Boolean,
        KeyType::U8 => DataType::UInt8,
        KeyType::U16 => DataType::UInt16,
        KeyType::U32 => DataType::UInt32,
        KeyType::U64 => DataType::UInt64,
        KeyType::I8 => DataType::Int8,
        KeyType::I16 => DataType::Int16,
        KeyType::I32 => DataType::Int32,
        KeyType::I64 => DataType::Int64,
        KeyType::F32 => DataType::Float32,
        KeyType::F64 => DataType::Float64,
        KeyType::U128 | KeyType::I128 => DataType::Decimal256(LONG_INTEGER_DIGITS, 0),
        KeyType::Text => DataType::Utf8,
        KeyType::FixedBytes(width) => DataType::FixedSizeBinary(width.into()),
        KeyType::Uuid => DataType::FixedSizeBinary(16),
        KeyType::Date => DataType::Date32,
        KeyType::Time(unit @ (TimeUnit::Second | TimeUnit::Millisecond)) => DataType::Time32(unit_of(unit)),
        KeyType::Time(unit) => DataType::Time64(unit_of(unit)),
        KeyType::Timestamp(unit) => DataType::Timestamp(unit_of(unit), None),
        KeyType::Decimal { precision, scale } => DataType::Decimal128(precision, scale as i8),
        _ => DataType::Binary,
    }
}

/// The Arrow field of a column.
pub(crate) fn field_of(column: &RecordColumn, nullable: bool) -> Field {
    let field = Field::new(&column.name, data_type_of(column.key_type), nullable);
    match column.key_type {
        KeyType::Uuid => field.with_metadata([(EXTENSION.to_owned(), UUID_EXTENSION.to_owned())].into()),
        KeyType::U128 | KeyType::I128 => {
            field.with_metadata([(TYPE_NAME.to_owned(), column.key_type.to_string())].into())
        }
        _ => field,
    }
}
