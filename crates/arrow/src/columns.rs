//! Builders of columns, from the bytes of keys and fields.

use crate::key_types::data_type_of;
use crate::values::Wide;
use arrow_array::builder::{BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType};
use ogive::types::{KeyType, TimeUnit, Value, decode_f32, decode_f64};
use ogive::{Error, Result};
use std::sync::Arc;

/// The builder of one column.
pub(crate) struct ColumnBuilder {
    key_type: KeyType,
    cells: Box<dyn Cells>,
}

impl std::fmt::Debug for ColumnBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ColumnBuilder({})", self.key_type)
    }
}

impl ColumnBuilder {
    pub(crate) fn new(key_type: KeyType) -> Self {
        Self { key_type, cells: cells_of(key_type) }
    }

    /// Appends the value of the bytes of a key of the column's type, or a null.
    ///
    /// # Errors
    /// [`Cause::Input`](ogive::Cause::Input) for bytes that are no value of the type.
    #[inline]
    pub(crate) fn append(&mut self, bytes: Option<&[u8]>) -> Result<()> {
        match bytes {
            Some(bytes) if self.cells.append(bytes) => Ok(()),
            Some(bytes) => Err(wrong(self.key_type, bytes)),
            None => {
                self.cells.append_null();
                Ok(())
            }
        }
    }

    pub(crate) fn finish(&mut self) -> ArrayRef {
        self.cells.finish()
    }
}

#[cold]
fn wrong(key_type: KeyType, bytes: &[u8]) -> Error {
    Error::input(format!("{} bytes are no value of type {key_type}", bytes.len()))
}

/// The values of a column so far.
trait Cells: Send + Sync {
    /// Appends the value of the bytes of a key; returns `false` if they are none of the type.
    fn append(&mut self, bytes: &[u8]) -> bool;
    fn append_null(&mut self);
    fn finish(&mut self) -> ArrayRef;
}

fn cells_of(key_type: KeyType) -> Box<dyn Cells> {
    match key_type {
        KeyType::Bool => Box::new(BooleanBuilder::new()),
        KeyType::U8 => numbers::<UInt8Type>(key_type),
        KeyType::U16 => numbers::<UInt16Type>(key_type),
        KeyType::U32 => numbers::<UInt32Type>(key_type),
        KeyType::U64 => numbers::<UInt64Type>(key_type),
        KeyType::I8 => numbers::<Int8Type>(key_type),
        KeyType::I16 => numbers::<Int16Type>(key_type),
        KeyType::I32 => numbers::<Int32Type>(key_type),
        KeyType::I64 => numbers::<Int64Type>(key_type),
        KeyType::F32 => numbers::<Float32Type>(key_type),
        KeyType::F64 => numbers::<Float64Type>(key_type),
        KeyType::Date => numbers::<Date32Type>(key_type),
        KeyType::Timestamp(TimeUnit::Second) => numbers::<TimestampSecondType>(key_type),
        KeyType::Timestamp(TimeUnit::Millisecond) => numbers::<TimestampMillisecondType>(key_type),
        KeyType::Timestamp(TimeUnit::Microsecond) => numbers::<TimestampMicrosecondType>(key_type),
        KeyType::Timestamp(TimeUnit::Nanosecond) => numbers::<TimestampNanosecondType>(key_type),
        KeyType::Time(TimeUnit::Second) => checked::<Time32SecondType>(key_type),
        KeyType::Time(TimeUnit::Millisecond) => checked::<Time32MillisecondType>(key_type),
        KeyType::Time(TimeUnit::Microsecond) => checked::<Time64MicrosecondType>(key_type),
        KeyType::Time(TimeUnit::Nanosecond) => checked::<Time64NanosecondType>(key_type),
        KeyType::Decimal { precision, .. } => {
            let builder = PrimitiveBuilder::<Decimal128Type>::new().with_data_type(data_type_of(key_type));
            let end = 10_i128.checked_pow(precision.into()).unwrap_or(i128::MAX);
            Box::new(Decimals { width: key_type.width().unwrap_or_default(), end, builder })
        }
        KeyType::U128 | KeyType::I128 => {
            let builder = PrimitiveBuilder::<Decimal256Type>::new().with_data_type(data_type_of(key_type));
            Box::new(LongIntegers { key_type, builder })
        }
        KeyType::Text => Box::new(StringBuilder::new()),
        KeyType::FixedBytes(_) | KeyType::Uuid => {
            let width = i32::try_from(key_type.width().unwrap_or_default()).unwrap_or(i32::MAX);
            Box::new(FixedSizeBinaryBuilder::new(width))
        }
        _ => Box::new(BinaryBuilder::new()),
    }
}

/// A number whose keys have its width, and of which each is one.
trait FromKey: Sized {
    fn from_key(bytes: &[u8]) -> Option<Self>;
}

macro_rules! from_key {
    ($($number:ty: $decode:expr),*) => {
        $(impl FromKey for $number {
            #[inline]
            fn from_key(bytes: &[u8]) -> Option<Self> {
                Some($decode(bytes.try_into().ok()?))
            }
        })*
    };
}

// The sign bit of signed integers is flipped in keys.
from_key! {
    u8: u8::from_be_bytes, u16: u16::from_be_bytes, u32: u32::from_be_bytes, u64: u64::from_be_bytes,
    i8: |bytes| i8::from_be_bytes(bytes) ^ i8::MIN, i16: |bytes| i16::from_be_bytes(bytes) ^ i16::MIN,
    i32: |bytes| i32::from_be_bytes(bytes) ^ i32::MIN, i64: |bytes| i64::from_be_bytes(bytes) ^ i64::MIN,
    i128: |bytes| i128::from_be_bytes(bytes) ^ i128::MIN,
    f32: decode_f32, f64: decode_f64
}

fn numbers<T: ArrowPrimitiveType>(key_type: KeyType) -> Box<dyn Cells>
where
    T::Native: FromKey,
{
    Box::new(Numbers(PrimitiveBuilder::<T>::new().with_data_type(data_type_of(key_type))))
}

/// Numbers of which all bytes of the right width are one.
struct Numbers<T: ArrowPrimitiveType>(PrimitiveBuilder<T>);

impl<T: ArrowPrimitiveType> Cells for Numbers<T>
where
    T::Native: FromKey,
{
    fn append(&mut self, bytes: &[u8]) -> bool {
        T::Native::from_key(bytes).map(|number| self.0.append_value(number)).is_some()
    }

    fn append_null(&mut self) {
        self.0.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// Decimals, whose width is that of their precision.
struct Decimals {
    width: usize,
    /// The least number that has a digit too many.
    end: i128,
    builder: PrimitiveBuilder<Decimal128Type>,
}

impl Cells for Decimals {
    fn append(&mut self, bytes: &[u8]) -> bool {
        let number = match self.width {
            _ if bytes.len() != self.width => None,
            4 => i32::from_key(bytes).map(i128::from),
            8 => i64::from_key(bytes).map(i128::from),
            _ => i128::from_key(bytes),
        };
        match number {
            Some(number) if -self.end < number && number < self.end => {
                self.builder.append_value(number);
                true
            }
            _ => false,
        }
    }

    fn append_null(&mut self) {
        self.builder.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.builder.finish())
    }
}

fn checked<T: ArrowPrimitiveType>(key_type: KeyType) -> Box<dyn Cells>
where
    T::Native: TryFrom<i128>,
{
    let builder = PrimitiveBuilder::<T>::new().with_data_type(data_type_of(key_type));
    Box::new(Checked { key_type, builder })
}

/// Numbers that have bounds of their own: times of a day.
struct Checked<T: ArrowPrimitiveType> {
    key_type: KeyType,
    builder: PrimitiveBuilder<T>,
}

impl<T: ArrowPrimitiveType> Cells for Checked<T>
where
    T::Native: TryFrom<i128>,
{
    fn append(&mut self, bytes: &[u8]) -> bool {
        let number = match self.key_type.decode(bytes) {
            Ok(Value::Signed(number)) => number,
            Ok(Value::Unsigned(number)) => number.cast_signed(),
            _ => return false,
        };
        T::Native::try_from(number).map(|number| self.builder.append_value(number)).is_ok()
    }

    fn append_null(&mut self) {
        self.builder.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.builder.finish())
    }
}

/// Integers of 128 bits, as decimals without digits after the point.
struct LongIntegers {
    key_type: KeyType,
    builder: PrimitiveBuilder<Decimal256Type>,
}

impl Cells for LongIntegers {
    fn append(&mut self, bytes: &[u8]) -> bool {
        match self.key_type.decode(bytes) {
            Ok(Value::Signed(number)) => self.builder.append_value(Wide::from_i128(number)),
            Ok(Value::Unsigned(number)) => self.builder.append_value(Wide::from_parts(number, 0)),
            _ => return false,
        }
        true
    }

    fn append_null(&mut self) {
        self.builder.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.builder.finish())
    }
}

/// Builders of Arrow's that are told how to append the value of bytes.
macro_rules! cells {
    ($($builder:ty: $append:expr),*) => {
        $(impl Cells for $builder {
            fn append(&mut self, bytes: &[u8]) -> bool {
                $append(self, bytes)
            }

            fn append_null(&mut self) {
                Self::append_null(self);
            }

            fn finish(&mut self) -> ArrayRef {
                Arc::new(Self::finish(self))
            }
        })*
    };
}

cells! {
    BooleanBuilder: |builder: &mut Self, bytes: &[u8]| {
        let [byte @ (0 | 1)] = bytes else { return false };
        builder.append_value(*byte == 1);
        true
    },
    StringBuilder: |builder: &mut Self, bytes| {
        std::str::from_utf8(bytes).map(|text| builder.append_value(text)).is_ok()
    },
    BinaryBuilder: |builder: &mut Self, bytes: &[u8]| {
        builder.append_value(bytes);
        true
    },
    FixedSizeBinaryBuilder: |builder: &mut Self, bytes: &[u8]| builder.append_value(bytes).is_ok()
}
