//! The type of a column that files have in different types of Arrow, though Parquet stores the same: its values are
//! those of each file, since what differs is how a writer had them in memory.

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, LargeBinaryArray, LargeListArray, LargeStringArray, ListArray, StructArray, make_array,
    new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use ogive_arrow::unpacked;
use std::sync::Arc;

/// The zone of moments that files show in different zones.
const UTC: &str = "UTC";

/// The type that has the values of both; `None` if these would not read the same.
pub(crate) fn common(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType::{
        Binary, BinaryView, Dictionary, LargeBinary, LargeList, LargeUtf8, List, Null, Struct, Timestamp, Utf8,
        Utf8View,
    };
    Some(match (one, other) {
        (one, other) if one == other => one.clone(),
        (Null, of) | (of, Null) => of.clone(),
        (Dictionary(_, values), of) | (of, Dictionary(_, values)) => common(values, of)?,
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View) => LargeUtf8,
        (Binary | LargeBinary | BinaryView, Binary | LargeBinary | BinaryView) => LargeBinary,
        // Both count from 1970 in UTC.
        (Timestamp(unit, Some(_)), Timestamp(of, Some(_))) if unit == of => Timestamp(*unit, Some(UTC.into())),
        (List(one), List(other)) => List(Arc::new(item(one, other)?)),
        (List(one) | LargeList(one), List(other) | LargeList(other)) => LargeList(Arc::new(item(one, other)?)),
        (Struct(one), Struct(other)) => Struct(fields(one, other)?),
        _ => return None,
    })
}

/// The field of the items of two lists, whose names mean nothing.
fn item(one: &Field, other: &Field) -> Option<Field> {
    let is_nullable = one.is_nullable() || other.is_nullable() || one.data_type() != other.data_type();
    Some(Field::new(one.name(), common(one.data_type(), other.data_type())?, is_nullable))
}

fn fields(one: &Fields, other: &Fields) -> Option<Fields> {
    if one.len() != other.len() {
        return None;
    }
    let field = |(one, other): (&Arc<Field>, &Arc<Field>)| (one.name() == other.name()).then(|| item(one, other))?;
    one.iter().zip(other).map(field).collect::<Option<Vec<_>>>().map(Fields::from)
}

/// The type that has the values of both: one of those that Parquet stores alike, or a wider one of numbers, dates or
/// times. A key has none of the wider ones: what files state of the values of its pages is in their own types.
#[must_use]
pub fn wider(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType::{Date32, Date64, Decimal128, Float32, Float64, Time32, Time64, Timestamp};
    common(one, other).or_else(|| {
        Some(match (one, other) {
            _ if one.is_integer() && other.is_integer() => integers(one, other)?,
            (Float32, Float64) | (Float64, Float32) => Float64,
            (Decimal128(one, scale), Decimal128(other, of)) if scale == of => Decimal128(*one.max(other), *scale),
            (Date32 | Date64, Date32 | Date64) => Date64,
            // Units are ordered from the coarsest.
            (Time32(one), Time32(other)) => Time32(*one.max(other)),
            (Time64(one), Time64(other)) => Time64(*one.max(other)),
            (Time32(_), Time64(unit)) | (Time64(unit), Time32(_)) => Time64(*unit),
            (Timestamp(one, zone), Timestamp(other, of)) if zone.is_some() == of.is_some() => {
                let zone = if zone == of { zone.clone() } else { Some(UTC.into()) };
                Timestamp(*one.max(other), zone)
            }
            _ => return None,
        })
    })
}

/// The narrowest type of integers that has those of both.
fn integers(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    let bits = |of: &DataType| of.primitive_width().unwrap_or(0) * 8;
    let is_signed = one.is_signed_integer() || other.is_signed_integer();
    // A signed integer needs one bit more than an unsigned one of the same values.
    let needed = |of: &DataType| bits(of) + usize::from(is_signed && of.is_unsigned_integer());
    let types = if is_signed { [Int8, Int16, Int32, Int64] } else { [UInt8, UInt16, UInt32, UInt64] };
    types.into_iter().find(|wide| bits(wide) >= needed(one).max(needed(other)))
}

/// An array in the type of its column in all files, which is [`common`] to its own and others, or
/// [`wider`] than its own.
///
/// # Errors
/// Arrays that are damaged, or too long for the type; times that a finer unit does not have.
pub(crate) fn in_common(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    Ok(match (array.data_type(), data_type) {
        (own, data_type) if own == data_type => array.clone(),
        (DataType::Null, _) => new_null_array(data_type, array.len()),
        (DataType::Dictionary(..), _) => in_common(&unpacked(array.clone())?, data_type)?,
        (DataType::Utf8, _) => Arc::new(array.as_string::<i32>().iter().collect::<LargeStringArray>()),
        (DataType::Utf8View, _) => Arc::new(array.as_string_view().iter().collect::<LargeStringArray>()),
        (DataType::Binary, _) => Arc::new(array.as_binary::<i32>().iter().collect::<LargeBinaryArray>()),
        (DataType::BinaryView, _) => Arc::new(array.as_binary_view().iter().collect::<LargeBinaryArray>()),
        (DataType::List(_), DataType::List(item)) => {
            let (list, item) = (array.as_list::<i32>(), item.clone());
            let values = in_common(list.values(), item.data_type())?;
            Arc::new(ListArray::try_new(item, list.offsets().clone(), values, list.nulls().cloned())?)
        }
        (DataType::List(_), DataType::LargeList(item)) => {
            let (list, item) = (array.as_list::<i32>(), item.clone());
            let offsets = OffsetBuffer::new(list.offsets().iter().map(|&offset| i64::from(offset)).collect());
            let values = in_common(list.values(), item.data_type())?;
            Arc::new(LargeListArray::try_new(item, offsets, values, list.nulls().cloned())?)
        }
        (DataType::LargeList(_), DataType::LargeList(item)) => {
            let (list, item) = (array.as_list::<i64>(), item.clone());
            let values = in_common(list.values(), item.data_type())?;
            Arc::new(LargeListArray::try_new(item, list.offsets().clone(), values, list.nulls().cloned())?)
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let own = array.as_struct();
            let columns = own.columns().iter().zip(fields).map(|(column, field)| in_common(column, field.data_type()));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            Arc::new(StructArray::try_new_with_length(fields.clone(), columns, own.nulls().cloned(), own.len())?)
        }
        (own, data_type) if is_other_width(own, data_type) => {
            cast_with_options(array, data_type, &CastOptions { safe: false, ..CastOptions::default() })?
        }
        // Zones change nothing of moments.
        _ => make_array(array.to_data().into_builder().data_type(data_type.clone()).build()?),
    })
}

/// Whether values of a type are others in a [`wider`] one, and not only those of other zones.
fn is_other_width(own: &DataType, wide: &DataType) -> bool {
    match (own, wide) {
        (DataType::Timestamp(own, _), DataType::Timestamp(wide, _)) => own != wide,
        _ => own.is_primitive(),
    }
}
