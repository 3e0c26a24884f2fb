//! Records become record batches and keys again: every type, with values at its limits, nulls, tuples and rows.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use ogive::KeyType;
use ogive::types::{RecordType, Value, ValueType};
use ogive_arrow::{RecordBatchBuilder, key_of_row, key_type_of_field, unpacked, value_of};

/// Texts of values of each type, at its limits.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("bool", &["false", "true"]),
    ("u8", &["0", "255"]),
    ("u16", &["0", "65535"]),
    ("u32", &["0", "4294967295"]),
    ("u64", &["0", "1", "18446744073709551615"]),
    ("i8", &["-128", "0", "127"]),
    ("i16", &["-32768", "32767"]),
    ("i32", &["-2147483648", "2147483647"]),
    ("i64", &["-9223372036854775808", "0", "9223372036854775807"]),
    ("u128", &["0", "340282366920938463463374607431768211455"]),
    ("i128", &["-170141183460469231731687303715884105728", "0", "170141183460469231731687303715884105727"]),
    ("f32", &["-inf", "-1.5", "0", "3.4028235e38"]),
    ("f64", &["-inf", "-0.1", "0", "1e308"]),
    ("text", &["", "a", "Übergröße \u{2028}"]),
    ("bytes", &["", "a", "\\x00\\xff"]),
    ("bytes3", &["abc", "\\x00\\x00\\x01"]),
    ("uuid", &["00000000-0000-0000-0000-000000000000", "936da01f-9abd-4d9d-80c7-02af85c822a8"]),
    ("date", &["1969-12-31", "2026-02-28"]),
    ("time(s)", &["00:00:00", "23:59:59"]),
    ("time(ms)", &["23:59:59.999"]),
    ("time(us)", &["00:00:00.000001"]),
    ("time(ns)", &["23:59:59.999999999"]),
    ("timestamp(s)", &["1969-12-31T23:59:59"]),
    ("timestamp(ms)", &["1970-01-01T00:00:00.001"]),
    ("timestamp(us)", &["2026-02-28T12:00:00.000001"]),
    ("timestamp(ns)", &["2026-02-28T12:00:00.000000001"]),
    ("decimal(10,2)", &["-12345678.90", "0.01"]),
    ("decimal(38,0)", &["99999999999999999999999999999999999999"]),
];

fn batch_of(types: &RecordType, records: &[(Vec<u8>, Option<Vec<u8>>)], absent: bool) -> RecordBatch {
    let mut builder = RecordBatchBuilder::with_columns(types, absent, |_| true);
    for (key, value) in records {
        builder.append(key, value.as_deref()).unwrap();
    }
    assert_eq!(builder.len(), records.len());
    let batch = builder.finish().unwrap();
    assert!(builder.is_empty());
    batch
}

#[test]
fn keys_of_every_type_come_back_from_their_column() {
    for (name, texts) in EXAMPLES {
        let key_type: KeyType = name.parse().unwrap();
        let keys: Vec<Vec<u8>> = texts.iter().map(|text| key_type.parse(text).unwrap()).collect();
        let types = RecordType::new(key_type, ValueType::default());
        let records: Vec<_> = keys.iter().map(|key| (key.clone(), Some(b"v".to_vec()))).collect();
        let batch = batch_of(&types, &records, false);
        let schema = batch.schema();
        let field = schema.field(0);
        assert_eq!(key_type_of_field(field), Some(key_type), "the type of {name}");
        let array = unpacked(batch.column(0).clone()).unwrap();
        for (row, key) in keys.iter().enumerate() {
            let value = value_of(&array, key_type, row);
            assert_eq!(&key_type.encode(&value).unwrap(), key, "{name} {}", texts[row]);
        }
    }
}

#[test]
fn integers_of_128_bits_are_decimals_whose_field_names_their_type() {
    for (name, ends) in [("u128", [0, u128::MAX, 1 << 127]), ("i128", [0, 1, 1 << 126])] {
        let key_type: KeyType = name.parse().unwrap();
        let keys = ends.map(u128::to_be_bytes);
        let types = RecordType::new(key_type, key_type);
        let records = keys.map(|key| (key.to_vec(), Some(key.to_vec())));
        let batch = batch_of(&types, &records, false);
        for (array, field) in batch.columns().iter().zip(batch.schema().fields()) {
            assert_eq!(*array.data_type(), DataType::Decimal256(39, 0));
            assert_eq!(key_type_of_field(field), Some(key_type));
            let plain = field.as_ref().clone().with_metadata([].into());
            assert_eq!(key_type_of_field(&plain), Some(KeyType::I128), "without metadata, with a sign");
            for (row, key) in keys.iter().enumerate() {
                assert_eq!(key_of_row(array, key_type, row).unwrap(), key, "{name} in row {row}");
            }
        }
    }
}

#[test]
fn tuples_and_rows_are_columns_and_absent_values_are_nulls() {
    let keys: KeyType = "(text, u32?)".parse().unwrap();
    let values: ValueType = "{name: text, price: decimal(8,2)?}".parse().unwrap();
    let types = RecordType::new(keys, values);
    let key = |number| keys.encode(&Value::Tuple(vec![Value::Text("k".into()), number])).unwrap();
    let row = types.values.encode(&Value::Tuple(vec![Value::Text("fig".into()), Value::Null])).unwrap();
    let records = [(key(Value::Null), None), (key(Value::Unsigned(7)), Some(row))];
    let batch = batch_of(&types, &records, true);
    let nulls = |column: usize| [0, 1].map(|row| batch.column(column).is_null(row));
    assert_eq!([0, 1, 2, 3].map(nulls), [[false, false], [true, false], [true, false], [true, true]]);
    assert_eq!(value_of(batch.column(1), KeyType::U32, 1), Value::Unsigned(7));
    assert_eq!(value_of(batch.column(2), KeyType::Text, 1), Value::Text("fig".into()));
}

#[test]
fn bytes_that_are_not_of_the_type_and_missing_values_are_errors() {
    let types = RecordType::new(KeyType::U64, ValueType::default());
    let mut builder = RecordBatchBuilder::new(&types);
    assert!(builder.append(b"short", Some(b"")).is_err());
    let mut builder = RecordBatchBuilder::new(&types);
    builder.append(&[0; 8], None).unwrap();
    assert!(builder.finish().is_err(), "a value that may not be absent");
}

#[test]
fn a_batch_of_no_columns_keeps_its_rows() {
    let types = RecordType::new(KeyType::U64, ValueType::default());
    let mut builder = RecordBatchBuilder::with_columns(&types, false, |_| false);
    builder.append(&[0; 8], Some(b"")).unwrap();
    assert_eq!(builder.finish().unwrap().num_rows(), 1);
}
