//! Timestamps of the type INT96, as Spark and Hive write them: the only place where they are converted.
//!
//! Such a value is a Julian day and the nanoseconds of the day, and may be finer than a microsecond or outside the
//! years of 64 bits of nanoseconds. The reader of the crate `parquet` cuts off and wraps around; so it is given such
//! columns as 12 bytes, which are converted here: exactly, or not at all.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, Int64Array, make_array};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, TimeUnit as ArrowUnit};
use ogive::KeyType;
use ogive::types::{TimeUnit, Value};
use parquet::basic::{ConvertedType, Type as Physical};
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// Bytes of a value.
const VALUE_BYTES: i32 = 12;
/// The Julian day of 1970-01-01.
const JULIAN_DAY_OF_1970: i128 = 2_440_588;
const NANOSECONDS_OF_DAY: i128 = 86_400_000_000_000;

/// How columns are read whose types in the file leave a choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The columns of INT96 that are read in nanoseconds; others are read in microseconds.
    pub(crate) nanoseconds: Vec<String>,
    /// Whether the types are those of Parquet, without hints of the writer, and intervals the bytes that they are.
    pub(crate) is_plain: bool,
}

impl Reading {
    /// The unit of the timestamps of INT96 in a column.
    pub(crate) fn unit(&self, column: &str) -> ArrowUnit {
        let is_fine = self.nanoseconds.iter().any(|name| name == column);
        if is_fine { ArrowUnit::Nanosecond } else { ArrowUnit::Microsecond }
    }

    /// A type with bytes in the place of INT96, and of intervals if types are plain; `None` if there are none.
    pub(crate) fn as_bytes(&self, of: &Type) -> Option<Type> {
        let mut of = of.clone();
        self.make_bytes(&mut of).then_some(of)
    }

    fn make_bytes(&self, of: &mut Type) -> bool {
        match of {
            Type::PrimitiveType { physical_type: physical_type @ Physical::INT96, type_length, .. } => {
                (*physical_type, *type_length) = (Physical::FIXED_LEN_BYTE_ARRAY, VALUE_BYTES);
                true
            }
            Type::PrimitiveType { basic_info, type_length, .. }
                if self.is_plain && basic_info.converted_type() == ConvertedType::INTERVAL =>
            {
                let bare = Type::primitive_type_builder(basic_info.name(), Physical::FIXED_LEN_BYTE_ARRAY)
                    .with_repetition(basic_info.repetition())
                    .with_length(*type_length)
                    .build();
                let Ok(bare) = bare else { return false };
                *of = bare;
                true
            }
            Type::PrimitiveType { .. } => false,
            Type::GroupType { fields, .. } => {
                let make = |field: &mut TypePtr| {
                    let Some(bytes) = self.as_bytes(field) else { return false };
                    *field = Arc::new(bytes);
                    true
                };
                // Each of them, without an end at the first.
                fields.iter_mut().map(make).fold(false, |any, this| any | this)
            }
        }
    }
}

/// Whether a type has values of INT96.
pub(crate) fn has_int96(of: &Type) -> bool {
    match of {
        Type::PrimitiveType { physical_type, .. } => *physical_type == Physical::INT96,
        Type::GroupType { fields, .. } => fields.iter().any(|field| has_int96(field)),
    }
}

/// The type of a column with timestamps of this unit where it was read as bytes and `known` has timestamps.
pub(crate) fn with_timestamps(read: &DataType, known: &DataType, unit: ArrowUnit) -> DataType {
    let field = |read: &FieldRef, known: &FieldRef| {
        let data_type = with_timestamps(read.data_type(), known.data_type(), unit);
        Arc::new(Field::clone(read).with_data_type(data_type))
    };
    match (read, known) {
        (DataType::FixedSizeBinary(VALUE_BYTES), DataType::Timestamp(_, zone)) => {
            DataType::Timestamp(unit, zone.clone())
        }
        (DataType::FixedSizeBinary(VALUE_BYTES), DataType::Dictionary(_, values)) => {
            with_timestamps(read, values, unit)
        }
        (DataType::Struct(read), DataType::Struct(known)) => {
            DataType::Struct(read.iter().zip(known).map(|(read, known)| field(read, known)).collect::<Fields>())
        }
        (DataType::List(read), DataType::List(known)) => DataType::List(field(read, known)),
        (DataType::LargeList(read), DataType::LargeList(known)) => DataType::LargeList(field(read, known)),
        (DataType::ListView(read), DataType::ListView(known)) => DataType::ListView(field(read, known)),
        (DataType::LargeListView(read), DataType::LargeListView(known)) => DataType::LargeListView(field(read, known)),
        (DataType::FixedSizeList(read, length), DataType::FixedSizeList(known, _)) => {
            DataType::FixedSizeList(field(read, known), *length)
        }
        (DataType::Map(read, is_sorted), DataType::Map(known, _)) => DataType::Map(field(read, known), *is_sorted),
        _ => read.clone(),
    }
}

/// A value that a timestamp of its column's unit cannot hold, and what to do, without the column.
#[derive(Debug)]
pub(crate) enum NoTimestamp {
    /// The value, and the unit of 64 bits that holds it, if one does.
    Unfit(String, Option<ArrowUnit>),
    /// An array is not made of its children.
    Arrow(ArrowError),
}

/// An array that was read as bytes, with the timestamps of type `to`.
pub(crate) fn converted(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, NoTimestamp> {
    if array.data_type() == to {
        return Ok(array.clone());
    }
    if let (DataType::FixedSizeBinary(VALUE_BYTES), DataType::Timestamp(unit, zone)) = (array.data_type(), to) {
        let bytes = array.as_fixed_size_binary();
        let value = |row| if bytes.is_null(row) { Ok(0) } else { instant(bytes.value(row), *unit) };
        let values = (0..bytes.len()).map(value).collect::<Result<Vec<i64>, NoTimestamp>>()?;
        let values = Int64Array::new(values.into(), bytes.nulls().cloned());
        return Ok(match unit {
            ArrowUnit::Second => of_unit::<TimestampSecondType>(&values, zone),
            ArrowUnit::Millisecond => of_unit::<TimestampMillisecondType>(&values, zone),
            ArrowUnit::Microsecond => of_unit::<TimestampMicrosecondType>(&values, zone),
            ArrowUnit::Nanosecond => of_unit::<TimestampNanosecondType>(&values, zone),
        });
    }
    let data = array.to_data();
    let children = data.child_data().iter().zip(children_of(to));
    let children = children.map(|(child, to)| Ok(converted(&make_array(child.clone()), &to)?.to_data()));
    let children = children.collect::<Result<Vec<_>, NoTimestamp>>()?;
    let built = data.into_builder().data_type(to.clone()).child_data(children).build();
    built.map(make_array).map_err(NoTimestamp::Arrow)
}

/// Numbers of units as timestamps.
fn of_unit<T: ArrowTimestampType>(values: &Int64Array, zone: &Option<Arc<str>>) -> ArrayRef {
    Arc::new(values.reinterpret_cast::<T>().with_timezone_opt(zone.clone()))
}

/// The types of the children of an array of a type.
fn children_of(of: &DataType) -> Vec<DataType> {
    match of {
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type().clone()).collect(),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => vec![field.data_type().clone()],
        _ => Vec::new(),
    }
}

/// The number of units since 1970 of a value.
fn instant(bytes: &[u8], unit: ArrowUnit) -> Result<i64, NoTimestamp> {
    let (of_day, day) = bytes.split_at_checked(8).unwrap_or_default();
    let of_day = i128::from(i64::from_le_bytes(of_day.try_into().unwrap_or_default()));
    let day = i128::from(i32::from_le_bytes(day.try_into().unwrap_or_default()));
    let nanoseconds = (day - JULIAN_DAY_OF_1970) * NANOSECONDS_OF_DAY + of_day;
    let per_unit = match unit {
        ArrowUnit::Second => 1_000_000_000,
        ArrowUnit::Millisecond => 1_000_000,
        ArrowUnit::Microsecond => 1_000,
        ArrowUnit::Nanosecond => 1,
    };
    let is_exact = nanoseconds % per_unit == 0;
    let number = nanoseconds.div_euclid(per_unit);
    // Spark adds the days before 1970 to 64 bits of microseconds, which end before those of years near 290,000: then
    // both parts are negative, of a time that lies before all that 64 bits hold.
    let is_wrapped = unit == ArrowUnit::Microsecond && day < 0 && (1 - NANOSECONDS_OF_DAY..=0).contains(&of_day);
    let number = i64::try_from(number).or_else(|error| match is_wrapped {
        true => i64::try_from(number + (1 << 64)),
        false => Err(error),
    });
    match number {
        Ok(number) if is_exact => Ok(number),
        _ => Err(NoTimestamp::Unfit(shown(nanoseconds), holding(nanoseconds))),
    }
}

/// A number of nanoseconds since 1970 as a time, whatever its year.
fn shown(nanoseconds: i128) -> String {
    let of = KeyType::Timestamp(TimeUnit::Second);
    let (seconds, fraction) = (nanoseconds.div_euclid(1_000_000_000), nanoseconds.rem_euclid(1_000_000_000));
    match of.encode(&Value::Signed(seconds)) {
        Ok(at) if fraction == 0 => of.display(&at),
        Ok(at) => format!("{}.{}", of.display(&at), format!("{fraction:09}").trim_end_matches('0')),
        Err(_) => format!("nanosecond {nanoseconds} since 1970"),
    }
}

/// The unit in which 64 bits hold a number of nanoseconds.
fn holding(nanoseconds: i128) -> Option<ArrowUnit> {
    let is_whole = nanoseconds % 1_000 == 0;
    match (i64::try_from(nanoseconds).is_ok(), is_whole && i64::try_from(nanoseconds / 1_000).is_ok()) {
        (true, _) => Some(ArrowUnit::Nanosecond),
        (false, true) => Some(ArrowUnit::Microsecond),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ArrowUnit::{Microsecond, Nanosecond};

    fn value(day: i32, of_day: i64) -> Vec<u8> {
        [&of_day.to_le_bytes()[..], &day.to_le_bytes()].concat()
    }

    #[test]
    fn every_value_is_converted_exactly_or_refused() {
        let day_us = 86_400_000_000_i64;
        for (day, of_day, us, ns) in [
            (2_440_588, 0, Some(0), Some(0)),
            (2_440_587, 999_000, Some(999 - day_us), Some(999_000 - day_us * 1000)),
            (2_440_588, 1_001, None, Some(1_001)),
            // 9999-12-31T23:59:59.999999, and the least and the greatest of 64 bits.
            (5_373_484, 86_399_999_999_000, Some(253_402_300_799_999_999), None),
            (2_547_339, 85_636_854_775_807, None, Some(i64::MAX)),
            (2_547_339, 85_636_854_775_808, None, None),
            (i32::MAX, 0, None, None),
            (i32::MIN, -1_000, None, None),
            // 290000-12-31, as Spark writes it.
            (-105_862_232, -32_509_551_616_000, Some(9_089_380_393_200_000_000), None),
            (-105_862_232, 32_509_551_616_000, None, None),
            // Some writers leave more or less than a day to the nanoseconds.
            (2_440_588, 86_400_000_000_000, Some(day_us), Some(day_us * 1000)),
            (2_440_588, -1_000, Some(-1), Some(-1_000)),
        ] {
            assert_eq!(instant(&value(day, of_day), Microsecond).ok(), us, "{day} {of_day}");
            assert_eq!(instant(&value(day, of_day), Nanosecond).ok(), ns, "{day} {of_day}");
        }
    }
}
