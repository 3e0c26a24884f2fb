//! Arrays of every type read as every type: a value is converted to the same number, moment or bytes, or not at all.
//!
//! Each row of an array is written down as text, too, and the engine's own parser says which key that text is.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, Date32Array, Date64Array, FixedSizeBinaryArray,
    PrimitiveArray, StringArray, StringViewArray,
};
use arrow_schema::DataType;
use ogive::KeyType;
use ogive::types::Value;
use ogive_arrow::{key_of_row, value_of_row};
use std::sync::Arc;

/// What the rows of an array are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Bool,
    Integer,
    Decimal,
    Float,
    Text,
    Bytes,
    Date,
    Midnight,
    Timestamp,
    Time,
}

const TYPES: &[&str] = &[
    "bool",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "f32",
    "f64",
    "text",
    "bytes",
    "bytes3",
    "uuid",
    "date",
    "time(s)",
    "time(ms)",
    "time(us)",
    "time(ns)",
    "timestamp(s)",
    "timestamp(ms)",
    "timestamp(us)",
    "timestamp(ns)",
    "decimal(4,2)",
    "decimal(10,2)",
    "decimal(20,0)",
    "decimal(38,38)",
];

fn numbers<T: ArrowPrimitiveType>(values: impl IntoIterator<Item = T::Native>) -> PrimitiveArray<T> {
    PrimitiveArray::from_iter_values(values)
}

fn decimals<T: ArrowPrimitiveType>(data_type: DataType, values: Vec<T::Native>) -> ArrayRef {
    Arc::new(numbers::<T>(values).with_data_type(data_type))
}

fn wide(number: i128) -> <Decimal256Type as ArrowPrimitiveType>::Native {
    <Decimal256Type as ArrowPrimitiveType>::Native::from_i128(number)
}

/// Arrays, and the text of each row.
type Written = Vec<(Kind, ArrayRef, Vec<&'static str>)>;

fn arrays() -> Written {
    [integers(), decimals_of_all_widths(), others(), times()].concat()
}

fn integers() -> Written {
    vec![
        (Kind::Integer, Arc::new(numbers::<Int8Type>([-128, -1, 0, 127])), vec!["-128", "-1", "0", "127"]),
        (Kind::Integer, Arc::new(numbers::<UInt8Type>([0, 150, 255])), vec!["0", "150", "255"]),
        (
            Kind::Integer,
            Arc::new(numbers::<Int64Type>([i64::MIN, -1, 0, 1, 150, 300, (1 << 53) + 1, i64::MAX])),
            vec!["-9223372036854775808", "-1", "0", "1", "150", "300", "9007199254740993", "9223372036854775807"],
        ),
        (
            Kind::Integer,
            Arc::new(numbers::<UInt64Type>([1 << 24, (1 << 24) + 1, 1 << 63, u64::MAX])),
            vec!["16777216", "16777217", "9223372036854775808", "18446744073709551615"],
        ),
    ]
}

fn decimals_of_all_widths() -> Written {
    let unsigned_max = <Decimal256Type as ArrowPrimitiveType>::Native::from_parts(u128::MAX, 0);
    let longs = vec![wide(i128::MIN), wide(-1), wide(150), wide(i128::MAX), unsigned_max];
    let long_texts = vec![
        "-170141183460469231731687303715884105728",
        "-1",
        "150",
        "170141183460469231731687303715884105727",
        "340282366920938463463374607431768211455",
    ];
    vec![
        (
            Kind::Decimal,
            decimals::<Decimal32Type>(DataType::Decimal32(9, 2), vec![150, 12_345, -50, 0]),
            vec!["1.5", "123.45", "-0.5", "0"],
        ),
        (
            Kind::Decimal,
            decimals::<Decimal64Type>(DataType::Decimal64(18, 1), vec![15, 100, -2_560]),
            vec!["1.5", "10", "-256"],
        ),
        (
            Kind::Decimal,
            decimals::<Decimal128Type>(DataType::Decimal128(10, 4), vec![15_000, 1_500_000, 1, 1_000, -2_560_000]),
            vec!["1.5", "150", "0.0001", "0.1", "-256"],
        ),
        (Kind::Decimal, decimals::<Decimal128Type>(DataType::Decimal128(5, -2), vec![3, -1]), vec!["300", "-100"]),
        (
            Kind::Decimal,
            decimals::<Decimal256Type>(DataType::Decimal256(70, 38), vec![wide(1), wide(5 * 10_i128.pow(37))]),
            vec!["0.00000000000000000000000000000000000001", "0.5"],
        ),
        (Kind::Decimal, decimals::<Decimal256Type>(DataType::Decimal256(39, 0), longs), long_texts),
    ]
}

fn others() -> Written {
    vec![
        (Kind::Bool, Arc::new(BooleanArray::from(vec![false, true])), vec!["false", "true"]),
        (Kind::Float, Arc::new(numbers::<Float32Type>([0.5, -2.0, 0.1])), vec!["0.5", "-2", "0.10000000149011612"]),
        (
            Kind::Float,
            Arc::new(numbers::<Float64Type>([0.5, -2.0, 0.1, 1e300, f64::INFINITY])),
            vec!["0.5", "-2", "0.1", "1e300", "inf"],
        ),
        (Kind::Text, Arc::new(StringArray::from(vec!["", "150", "abc"])), vec!["", "150", "abc"]),
        (Kind::Text, Arc::new(StringViewArray::from(vec!["true", "abc"])), vec!["true", "abc"]),
        (Kind::Bytes, Arc::new(BinaryArray::from_vec(vec![b"", b"abc", b"abcd"])), vec!["", "abc", "abcd"]),
        (
            Kind::Bytes,
            Arc::new(FixedSizeBinaryArray::try_from_iter([[0x11_u8; 16]].into_iter()).unwrap()),
            vec!["11111111-1111-1111-1111-111111111111"],
        ),
    ]
}

fn times() -> Written {
    vec![
        (Kind::Date, Arc::new(Date32Array::from(vec![0, 20_512])), vec!["1970-01-01", "2026-02-28"]),
        (
            Kind::Midnight,
            Arc::new(Date64Array::from(vec![0, 86_400_000, -1])),
            vec!["1970-01-01T00:00:00", "1970-01-02T00:00:00", "1969-12-31T23:59:59.999"],
        ),
        (
            Kind::Timestamp,
            Arc::new(numbers::<TimestampSecondType>([0, 1_772_280_000, -1])),
            vec!["1970-01-01T00:00:00", "2026-02-28T12:00:00", "1969-12-31T23:59:59"],
        ),
        (
            Kind::Timestamp,
            Arc::new(numbers::<TimestampMillisecondType>([1_772_280_000_000, -1])),
            vec!["2026-02-28T12:00:00", "1969-12-31T23:59:59.999"],
        ),
        (
            Kind::Timestamp,
            Arc::new(numbers::<TimestampMicrosecondType>([1_772_280_000_000_000, -1]).with_timezone("Europe/Berlin")),
            vec!["2026-02-28T12:00:00", "1969-12-31T23:59:59.999999"],
        ),
        (
            Kind::Timestamp,
            Arc::new(numbers::<TimestampNanosecondType>([1_772_280_000_000_000_000, 1_000_000, 1_000, 1])),
            vec![
                "2026-02-28T12:00:00",
                "1970-01-01T00:00:00.001",
                "1970-01-01T00:00:00.000001",
                "1970-01-01T00:00:00.000000001",
            ],
        ),
        (Kind::Time, Arc::new(numbers::<Time32SecondType>([0, 86_399])), vec!["00:00:00", "23:59:59"]),
        (Kind::Time, Arc::new(numbers::<Time32MillisecondType>([1_000, 1])), vec!["00:00:01", "00:00:00.001"]),
        (Kind::Time, Arc::new(numbers::<Time64MicrosecondType>([1_000, 1])), vec!["00:00:00.001", "00:00:00.000001"]),
        (
            Kind::Time,
            Arc::new(numbers::<Time64NanosecondType>([86_399_000_000_000, 1])),
            vec!["23:59:59", "00:00:00.000000001"],
        ),
    ]
}

/// The key that a row is: that of its text, if values of this kind are ever values of the type.
fn expected(kind: Kind, text: &str, key_type: KeyType) -> Option<Vec<u8>> {
    let is_float = matches!(key_type, KeyType::F32 | KeyType::F64);
    let number = text.parse::<i128>().ok();
    let is_whole = !text.contains('.');
    let is_integer = key_type.to_string().starts_with(['u', 'i']) && key_type != KeyType::Uuid;
    match (kind, key_type) {
        (Kind::Bool, KeyType::Bool) | (Kind::Text, KeyType::Text) => key_type.parse(text).ok(),
        (Kind::Bytes, KeyType::Bytes | KeyType::FixedBytes(_)) if text.len() < 16 => key_type.parse(text).ok(),
        (Kind::Bytes, KeyType::Bytes) => Some(vec![0x11; 16]),
        (Kind::Bytes, KeyType::Uuid) => key_type.parse(text).ok(),
        // Of numbers that are not floats, all digits must be there.
        (Kind::Integer | Kind::Decimal, _) if is_float => {
            let float = text.parse::<f64>().unwrap();
            let is_exact = match is_whole {
                true => format!("{float:.0}") == text,
                false => text == "1.5" || text.ends_with("0.5"),
            };
            is_exact.then(|| key_type.encode(&Value::Float(float)).ok())?
        }
        (Kind::Float, _) if is_float => key_type.encode(&Value::Float(text.parse().unwrap())).ok(),
        (Kind::Integer | Kind::Decimal, KeyType::Decimal { .. }) => key_type.parse(text).ok(),
        (Kind::Integer | Kind::Decimal, _) if is_integer => key_type.parse(text).ok(),
        (Kind::Integer, KeyType::Date | KeyType::Timestamp(_)) => key_type.encode(&Value::Signed(number?)).ok(),
        (Kind::Integer, KeyType::Time(_)) => key_type.encode(&Value::Unsigned(u128::try_from(number?).ok()?)).ok(),
        (Kind::Date, KeyType::Date) => key_type.parse(text).ok(),
        (Kind::Midnight, KeyType::Date) => key_type.parse(text.strip_suffix("T00:00:00")?).ok(),
        (Kind::Midnight | Kind::Timestamp, KeyType::Timestamp(_)) => key_type.parse(text).ok(),
        (Kind::Time, KeyType::Time(_)) => key_type.parse(text).ok(),
        _ => None,
    }
}

#[test]
fn values_of_every_type_are_the_same_in_every_other_or_refused() {
    let (mut converted, mut refused) = (0, 0);
    for (kind, array, texts) in arrays() {
        for name in TYPES {
            let key_type: KeyType = name.parse().unwrap();
            for (row, text) in texts.iter().enumerate() {
                let (key, wanted) = (key_of_row(&array, key_type, row).ok(), expected(kind, text, key_type));
                assert_eq!(key, wanted, "{text} of {} as {name}", array.data_type());
                assert_eq!(value_of_row(&array, key_type, row).ok(), wanted, "the value {text} as {name}");
                if wanted.is_some() { converted += 1 } else { refused += 1 }
            }
        }
    }
    assert!(converted > 300 && refused > 1_000, "{converted} converted, {refused} refused");
}

#[test]
fn values_keep_the_sign_of_zero_and_keys_have_none() {
    let array: ArrayRef = Arc::new(numbers::<Float64Type>([-0.0, 0.0]));
    for key_type in [KeyType::F64, KeyType::F32] {
        let zero = key_type.encode(&Value::Float(0.0)).unwrap();
        assert_eq!([0, 1].map(|row| key_of_row(&array, key_type, row).unwrap()), [zero.clone(), zero.clone()]);
        let [negative, positive] = [0, 1].map(|row| value_of_row(&array, key_type, row).unwrap());
        assert_eq!(positive, zero);
        assert_eq!(key_type.decode(&negative).unwrap(), Value::Float(-0.0));
        assert_ne!(negative, zero, "the sign of a value of type {key_type}");
    }
}
