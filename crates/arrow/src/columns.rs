//! Builders of columns, from the bytes of keys and fields.

use crate::key_types::data_type_of;
use arrow_array::builder::{
    ArrayBuilder, BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, PrimitiveBuilder, StringBuilder,
};
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType};
use ogive::types::{KeyType, TimeUnit, Value};
use ogive::{Error, Result};

/// Appends a value, or a null, to a builder; returns whether the value fits.
type Append = fn(&mut dyn ArrayBuilder, Option<&Value>) -> bool;

/// The builder of one column.
pub(crate) struct ColumnBuilder {
    key_type: KeyType,
    builder: Box<dyn ArrayBuilder>,
    append: Append,
}

impl std::fmt::Debug for ColumnBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ColumnBuilder({}, {} rows)", self.key_type, self.builder.len())
    }
}

/// Appends an integer.
fn primitive<T: ArrowPrimitiveType>(builder: &mut dyn ArrayBuilder, value: Option<&Value>) -> bool
where
    T::Native: TryFrom<i128>,
{
    let Some(builder) = builder.as_any_mut().downcast_mut::<PrimitiveBuilder<T>>() else { return false };
    let number = match value {
        None => {
            builder.append_null();
            return true;
        }
        Some(Value::Signed(number)) => Some(*number),
        Some(Value::Unsigned(number)) => i128::try_from(*number).ok(),
        Some(_) => None,
    };
    let number = number.and_then(|number| T::Native::try_from(number).ok());
    number.map(|number| builder.append_value(number)).is_some()
}

fn float32(builder: &mut dyn ArrayBuilder, value: Option<&Value>) -> bool {
    let Some(builder) = builder.as_any_mut().downcast_mut::<PrimitiveBuilder<Float32Type>>() else { return false };
    match value {
        None => builder.append_null(),
        Some(Value::Float(number)) => builder.append_value(*number as f32),
        Some(_) => return false,
    }
    true
}

fn float64(builder: &mut dyn ArrayBuilder, value: Option<&Value>) -> bool {
    let Some(builder) = builder.as_any_mut().downcast_mut::<PrimitiveBuilder<Float64Type>>() else { return false };
    match value {
        None => builder.append_null(),
        Some(Value::Float(number)) => builder.append_value(*number),
        Some(_) => return false,
    }
    true
}

fn boolean(builder: &mut dyn ArrayBuilder, value: Option<&Value>) -> bool {
    let Some(builder) = builder.as_any_mut().downcast_mut::<BooleanBuilder>() else { return false };
    match value {
        None => builder.append_null(),
        Some(Value::Bool(value)) => builder.append_value(*value),
        Some(_) => return false,
    }
    true
}

/// Text, and integers as text.
fn text(builder: &mut dyn ArrayBuilder, value: Option<&Value>) -> bool {
    let Some(builder) = builder.as_any_mut().downcast_mut::<StringBuilder>() else { return false };
    match value {
        None => builder.append_null(),
        Some(Value::Text(text)) => builder.append_value(text),
        Some(Value::Unsigned(number)) => builder.append_value(number.to_string()),
        Some(Value::Signed(number)) => builder.append_value(number.to_string()),
        Some(_) => return false,
    }
    true
}

fn binary(builder: &mut dyn ArrayBuilder, value: Option<&Value>) -> bool {
    let Some(builder) = builder.as_any_mut().downcast_mut::<BinaryBuilder>() else { return false };
    match value {
        None => builder.append_null(),
        Some(Value::Bytes(bytes)) => builder.append_value(bytes),
        Some(_) => return false,
    }
    true
}

fn fixed(builder: &mut dyn ArrayBuilder, value: Option<&Value>) -> bool {
    let Some(builder) = builder.as_any_mut().downcast_mut::<FixedSizeBinaryBuilder>() else { return false };
    match value {
        None => builder.append_null(),
        Some(Value::Bytes(bytes)) => return builder.append_value(bytes).is_ok(),
        Some(_) => return false,
    }
    true
}

fn append_of(key_type: KeyType) -> Append {
    match key_type {
        KeyType::Bool => boolean,
        KeyType::U8 => primitive::<UInt8Type>,
        KeyType::U16 => primitive::<UInt16Type>,
        KeyType::U32 => primitive::<UInt32Type>,
        KeyType::U64 => primitive::<UInt64Type>,
        KeyType::I8 => primitive::<Int8Type>,
        KeyType::I16 => primitive::<Int16Type>,
        KeyType::I32 => primitive::<Int32Type>,
        KeyType::I64 => primitive::<Int64Type>,
        KeyType::F32 => float32,
        KeyType::F64 => float64,
        KeyType::Text | KeyType::U128 | KeyType::I128 => text,
        KeyType::FixedBytes(_) | KeyType::Uuid => fixed,
        KeyType::Date => primitive::<Date32Type>,
        KeyType::Time(TimeUnit::Second) => primitive::<Time32SecondType>,
        KeyType::Time(TimeUnit::Millisecond) => primitive::<Time32MillisecondType>,
        KeyType::Time(TimeUnit::Microsecond) => primitive::<Time64MicrosecondType>,
        KeyType::Time(TimeUnit::Nanosecond) => primitive::<Time64NanosecondType>,
        KeyType::Timestamp(TimeUnit::Second) => primitive::<TimestampSecondType>,
        KeyType::Timestamp(TimeUnit::Millisecond) => primitive::<TimestampMillisecondType>,
        KeyType::Timestamp(TimeUnit::Microsecond) => primitive::<TimestampMicrosecondType>,
        KeyType::Timestamp(TimeUnit::Nanosecond) => primitive::<TimestampNanosecondType>,
        KeyType::Decimal { .. } => primitive::<Decimal128Type>,
        _ => binary,
    }
}

impl ColumnBuilder {
    pub(crate) fn new(key_type: KeyType) -> Self {
        let builder = arrow_array::builder::make_builder(&data_type_of(key_type), 0);
        Self { key_type, builder, append: append_of(key_type) }
    }

    /// Appends the value of the bytes of a key of the column's type, or a null.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for bytes that are no value of the type.
    pub(crate) fn append(&mut self, bytes: Option<&[u8]>) -> Result<()> {
        match bytes {
            Some(bytes) if self.append_plain(bytes) => Ok(()),
            Some(bytes) => self.append_value(&self.key_type.decode(bytes)?),
            None => self.append_value(&Value::Null),
        }
    }

    /// Appends a value.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a value that is not of the type.
    pub(crate) fn append_value(&mut self, value: &Value) -> Result<()> {
        let some = Some(value).filter(|value| !matches!(value, Value::Null));
        match (self.append)(&mut *self.builder, some) {
            true => Ok(()),
            false => Err(Error::InvalidArgument(format!("{value:?} is not of type {}", self.key_type))),
        }
    }

    /// Appends bytes of the most frequent types without a detour; returns `false` for others.
    fn append_plain(&mut self, bytes: &[u8]) -> bool {
        let builder = self.builder.as_any_mut();
        match self.key_type {
            KeyType::Bytes => {
                let builder = builder.downcast_mut::<BinaryBuilder>();
                builder.map(|builder| builder.append_value(bytes)).is_some()
            }
            KeyType::Text => match (std::str::from_utf8(bytes), builder.downcast_mut::<StringBuilder>()) {
                (Ok(text), Some(builder)) => {
                    builder.append_value(text);
                    true
                }
                _ => false,
            },
            KeyType::U64 => match (bytes.try_into(), builder.downcast_mut::<PrimitiveBuilder<UInt64Type>>()) {
                (Ok(bytes), Some(builder)) => {
                    builder.append_value(u64::from_be_bytes(bytes));
                    true
                }
                _ => false,
            },
            KeyType::I64 => match (bytes.try_into(), builder.downcast_mut::<PrimitiveBuilder<Int64Type>>()) {
                (Ok(bytes), Some(builder)) => {
                    builder.append_value((u64::from_be_bytes(bytes) ^ 1 << 63) as i64);
                    true
                }
                _ => false,
            },
            _ => false,
        }
    }

    pub(crate) fn finish(&mut self) -> ArrayRef {
        self.builder.finish()
    }
}
