//! Schemas of Arrow that writers leave in footers as hints: which of them the crate `arrow-ipc` takes without a panic.

use arrow_ipc::{DateUnit, Field, Int, Precision, TimeUnit, Type, root_as_message};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// What precedes a message: a mark and its length, which old writers leave out.
const MARK: [u8; 4] = [0xff; 4];
const PREFIX_BYTES: usize = 8;
/// Deepest nesting of columns.
const DEPTH_MAX: u32 = 64;

/// Whether a hint is a schema of types that Arrow has and Parquet can hold.
pub(crate) fn is_sound(encoded: &str) -> bool {
    let Ok(bytes) = BASE64_STANDARD.decode(encoded) else { return false };
    let message = match bytes.get(PREFIX_BYTES..).filter(|_| bytes.starts_with(&MARK)) {
        Some(message) if !message.is_empty() => message,
        _ => &bytes[..],
    };
    let Ok(message) = root_as_message(message) else { return false };
    let fields = message.header_as_schema().and_then(|schema| schema.fields());
    fields.is_some_and(|fields| fields.iter().all(|field| is_sound_field(field, 0)))
}

fn is_sound_field(field: Field<'_>, depth: u32) -> bool {
    if depth > DEPTH_MAX {
        return false;
    }
    if let Some(dictionary) = field.dictionary()
        && !dictionary.indexType().is_some_and(is_integer)
    {
        return false;
    }
    let children: Vec<Field<'_>> = field.children().map_or_else(Vec::new, |children| children.iter().collect());
    is_sound_type(field, children.len()) && children.into_iter().all(|child| is_sound_field(child, depth + 1))
}

fn is_integer(int: Int<'_>) -> bool {
    matches!(int.bitWidth(), 8 | 16 | 32 | 64)
}

fn is_sound_type(field: Field<'_>, children: usize) -> bool {
    let is_unit = |unit: TimeUnit| unit.variant_name().is_some();
    match field.type_type() {
        Type::Null | Type::Bool | Type::Binary | Type::LargeBinary | Type::BinaryView => true,
        Type::Utf8 | Type::LargeUtf8 | Type::Utf8View | Type::Struct_ => true,
        Type::Int => field.type_as_int().is_some_and(is_integer),
        Type::FixedSizeBinary => field.type_as_fixed_size_binary().is_some_and(|it| it.byteWidth() >= 0),
        Type::FloatingPoint => field
            .type_as_floating_point()
            .is_some_and(|it| matches!(it.precision(), Precision::HALF | Precision::SINGLE | Precision::DOUBLE)),
        Type::Date => field.type_as_date().is_some_and(|it| matches!(it.unit(), DateUnit::DAY | DateUnit::MILLISECOND)),
        Type::Time => field.type_as_time().is_some_and(|it| match it.bitWidth() {
            32 => matches!(it.unit(), TimeUnit::SECOND | TimeUnit::MILLISECOND),
            64 => matches!(it.unit(), TimeUnit::MICROSECOND | TimeUnit::NANOSECOND),
            _ => false,
        }),
        Type::Timestamp => field.type_as_timestamp().is_some_and(|it| is_unit(it.unit())),
        Type::Duration => field.type_as_duration().is_some_and(|it| is_unit(it.unit())),
        Type::Interval => field.type_as_interval().is_some_and(|it| it.unit().variant_name().is_some()),
        Type::Decimal => field.type_as_decimal().is_some_and(|it| {
            let is_known = matches!(it.bitWidth(), 32 | 64 | 128 | 256);
            is_known && u8::try_from(it.precision()).is_ok() && i8::try_from(it.scale()).is_ok()
        }),
        Type::List | Type::LargeList | Type::ListView | Type::LargeListView => children == 1,
        Type::FixedSizeList => children == 1 && field.type_as_fixed_size_list().is_some_and(|it| it.listSize() >= 0),
        Type::Map => children == 1 && field.type_as_map().is_some(),
        // Parquet has no others.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{DataType, Field as ArrowField, Schema, TimeUnit as ArrowUnit};
    use std::panic::catch_unwind;
    use std::sync::Arc;

    fn example() -> String {
        let item = |of| Arc::new(ArrowField::new("item", of, true));
        let types = [
            DataType::Int8,
            DataType::UInt64,
            DataType::Float32,
            DataType::Utf8View,
            DataType::Date64,
            DataType::Time32(ArrowUnit::Second),
            DataType::Time64(ArrowUnit::Nanosecond),
            DataType::Timestamp(ArrowUnit::Microsecond, Some("UTC".into())),
            DataType::Duration(ArrowUnit::Second),
            DataType::Interval(arrow_schema::IntervalUnit::DayTime),
            DataType::Decimal128(12, -2),
            DataType::FixedSizeBinary(16),
            DataType::FixedSizeList(item(DataType::Boolean), 3),
            DataType::LargeList(item(DataType::Binary)),
            DataType::Struct(vec![ArrowField::new("a", DataType::Int32, false)].into()),
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        ];
        let fields: Vec<ArrowField> =
            types.into_iter().enumerate().map(|(at, of)| ArrowField::new(at.to_string(), of, true)).collect();
        parquet::arrow::encode_arrow_schema(&Schema::new(fields))
    }

    #[test]
    fn hints_of_writers_are_taken_and_no_hint_that_is_taken_makes_a_panic() {
        let hint = example();
        assert!(is_sound(&hint));
        assert!(!is_sound("no base64!"));
        let bytes = BASE64_STANDARD.decode(&hint).unwrap();
        let (mut taken, mut refused) = (0, 0);
        for at in PREFIX_BYTES..bytes.len() {
            for value in [0, 1, 2, 3, 7, 127, 255] {
                let mut forged = bytes.clone();
                forged[at] = value;
                if !is_sound(&BASE64_STANDARD.encode(&forged)) {
                    refused += 1;
                    continue;
                }
                taken += 1;
                let message = root_as_message(&forged[PREFIX_BYTES..]).unwrap();
                let schema = || message.header_as_schema().map(arrow_ipc::convert::fb_to_schema);
                assert!(catch_unwind(std::panic::AssertUnwindSafe(schema)).is_ok(), "byte {at} is {value}");
            }
        }
        assert!(taken > 100 && refused > 100, "{taken} taken, {refused} refused");
    }
}
