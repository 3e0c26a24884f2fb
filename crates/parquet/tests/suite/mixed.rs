//! Files whose columns Parquet stores alike and whose writers had them in other types of memory: the goal is that they
//! are one index, whose rows read as those of each file, and that what reads otherwise is refused.

use crate::support::{Shelf, parquet_bytes, u64s};
use arrow_array::builder::{Int64Builder, LargeListBuilder, ListBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::{Int8Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, Int64Array, LargeBinaryArray, LargeStringArray, NullArray,
    PrimitiveArray, RecordBatch, StringArray, StringViewArray, StructArray, UInt64Array, cast::AsArray,
};
use arrow_schema::{DataType, Field, TimeUnit};
use ogive::types::Value;
use ogive_parquet::{BuildOptions, ParquetIndex};
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

/// Texts of a file, in each type.
fn texts(form: usize, texts: [&str; 2]) -> ArrayRef {
    match form {
        0 => Arc::new(StringArray::from_iter_values(texts)),
        1 => Arc::new(LargeStringArray::from_iter_values(texts)),
        2 => Arc::new(StringViewArray::from_iter_values(texts)),
        _ => {
            let mut builder = StringDictionaryBuilder::<Int8Type>::new();
            builder.extend(texts.map(Some));
            Arc::new(builder.finish())
        }
    }
}

fn bytes(form: usize, bytes: [&[u8]; 2]) -> ArrayRef {
    match form {
        0 => Arc::new(BinaryArray::from_iter_values(bytes)),
        1 => Arc::new(LargeBinaryArray::from_iter_values(bytes)),
        _ => Arc::new(BinaryViewArray::from_iter_values(bytes)),
    }
}

fn moments(zone: &str, times: [i64; 2]) -> ArrayRef {
    Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from_iter_values(times).with_timezone(zone))
}

/// A file with numbers and a column.
fn file(first: u64, column: &ArrayRef) -> Vec<u8> {
    let ids: ArrayRef = Arc::new(UInt64Array::from_iter_values(first..first + column.len() as u64));
    let rows = RecordBatch::try_from_iter([("id", ids), ("x", column.clone())]).unwrap();
    parquet_bytes(&rows, WriterProperties::default())
}

/// The column `x` of all rows, by each of two keys that lead to it.
fn read(shelf: &Shelf, keys: &[&str]) -> Vec<ArrayRef> {
    let column = |key: &&str| {
        shelf.build("", &[key], "i");
        let index = shelf.open("i");
        assert!(index.verify(&mut |_, _| ()).unwrap().is_sound());
        let batches: Vec<RecordBatch> =
            index.scan::<&[u8]>(.., Some(&["id", "x"])).unwrap().map(|batch| batch.unwrap()).collect();
        let all = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
        let ids = u64s(&all, "id");
        let places = (0..4_u64).map(|id| ids.iter().position(|found| *found == id).unwrap() as u64);
        arrow_select::take::take(all.column(1), &UInt64Array::from_iter_values(places), None).unwrap()
    };
    keys.iter().map(column).collect()
}

/// The texts of each row, or null.
fn shown(array: &ArrayRef) -> Vec<String> {
    let items =
        |items: Option<ArrayRef>| items.map_or("null".to_owned(), |items| format!("[{}]", shown(&items).join(",")));
    match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().iter().map(items).collect(),
        DataType::LargeList(_) => array.as_list::<i64>().iter().map(items).collect(),
        DataType::Struct(_) => shown(array.as_struct().column(0)),
        _ => {
            let array = ogive_arrow::unpacked(array.clone()).unwrap();
            let text = |row| match ogive_arrow::value_of(&array, ogive::KeyType::Text, row) {
                Value::Text(text) => text,
                _ => "null".to_owned(),
            };
            (0..array.len()).map(text).collect()
        }
    }
}

fn both(one: &ArrayRef, other: &ArrayRef) -> Shelf {
    let shelf = Shelf::new();
    shelf.put("a.parquet", file(0, one));
    shelf.put("b.parquet", file(2, other));
    shelf
}

#[test]
fn texts_bytes_and_moments_are_one_column_whatever_they_were_in_memory() {
    for (one, other) in (0..4).flat_map(|one| (0..4).map(move |other| (one, other))) {
        let shelf = both(&texts(one, ["a", "d"]), &texts(other, ["c", "b"]));
        for found in read(&shelf, &["id", "x"]) {
            assert_eq!(shown(&found), ["a", "d", "c", "b"], "{one} {other}");
        }
        let (one, other) = (one % 3, other % 3);
        let shelf = both(&bytes(one, [b"\xff", b"b"]), &bytes(other, [b"", b"a"]));
        for found in read(&shelf, &["id", "x"]) {
            let found: Vec<_> = (0..4).map(|row| ogive_arrow::value_of(&found, ogive::KeyType::Bytes, row)).collect();
            let expected = [&b"\xff"[..], b"b", b"", b"a"].map(|bytes| Value::Bytes(bytes.to_vec()));
            assert_eq!(found, expected, "{one} {other}");
        }
    }
    for (one, other, zone) in
        [("UTC", "+00:00", "UTC"), ("Europe/Berlin", "Asia/Tokyo", "UTC"), ("+01:00", "+01:00", "+01:00")]
    {
        let shelf = both(&moments(one, [7, -1]), &moments(other, [3, 5]));
        for found in read(&shelf, &["id", "x"]) {
            assert_eq!(*found.data_type(), DataType::Timestamp(TimeUnit::Microsecond, Some(zone.into())));
            assert_eq!(found.as_primitive::<TimestampMicrosecondType>().values(), &[7, -1, 3, 5]);
        }
    }
}

#[test]
fn a_file_without_a_value_in_a_column_takes_the_type_of_others() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![5, -5]));
    let none: ArrayRef = Arc::new(NullArray::new(2));
    for (one, other, expected) in
        [(&numbers, &none, [Some(5), Some(-5), None, None]), (&none, &numbers, [None, None, Some(5), Some(-5)])]
    {
        let shelf = both(one, other);
        for found in read(&shelf, &["id", "x"]) {
            assert_eq!(found.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), expected);
        }
        // Also if it comes later, or is what is there.
        shelf.put("c.parquet", file(4, &none));
        shelf.put("d.parquet", file(6, &numbers));
        let options = BuildOptions::new("", &[]);
        ParquetIndex::update(shelf.storage(), "i", shelf.folder(), options).unwrap();
        assert_eq!(shelf.open("i").rows(), 8);
        assert!(shelf.open("i").verify(&mut |_, _| ()).unwrap().is_sound());
    }
    let shelf = both(&none, &none);
    let refused = ParquetIndex::build(shelf.storage(), "i", shelf.folder(), BuildOptions::new("", &["x"]));
    assert!(refused.unwrap_err().to_string().contains("Null"));
    shelf.build("", &["id"], "i");
    assert_eq!(shelf.open("i").rows(), 4);
}

#[test]
fn lists_and_structures_are_one_column_if_what_they_hold_is() {
    let mut small = ListBuilder::new(StringBuilder::new());
    small.append_value([Some("a"), None]);
    small.append_null();
    let mut large = LargeListBuilder::new(StringBuilder::new()).with_field(Field::new("element", DataType::Utf8, true));
    large.append_value([Some("b")]);
    large.append_value::<[Option<&str>; 0], _>([]);
    let lists = [Arc::new(small.finish()) as ArrayRef, Arc::new(large.finish())];
    let structure = |inner: ArrayRef| -> ArrayRef {
        let field = Arc::new(Field::new("t", inner.data_type().clone(), true));
        Arc::new(StructArray::from(vec![(field, inner)]))
    };
    let structures = [structure(texts(0, ["a", "b"])), structure(texts(1, ["c", "d"]))];
    for [one, other] in [&lists, &structures] {
        for (one, other) in [(one, other), (other, one), (one, one)] {
            let shelf = both(one, other);
            let found = &read(&shelf, &["id"])[0];
            let parts = [found.slice(0, 2), found.slice(2, 2)];
            for (part, of) in parts.iter().zip([one, other]) {
                assert_eq!(shown(part), shown(of));
            }
        }
    }
}

#[test]
fn what_reads_otherwise_is_no_column_of_one_index() {
    let local: ArrayRef = Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from_iter_values([7, -1]));
    let mut numbers = ListBuilder::new(Int64Builder::new());
    numbers.append_value([Some(1)]);
    numbers.append_null();
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![5, -5]));
    for (one, other) in [
        (local, moments("UTC", [7, -1])),
        (texts(0, ["a", "b"]), bytes(0, [b"a", b"b"])),
        (ids.clone(), texts(3, ["1", "2"])),
        (ids, Arc::new(numbers.finish())),
    ] {
        let shelf = both(&one, &other);
        let refused = ParquetIndex::build(shelf.storage(), "i", shelf.folder(), BuildOptions::new("", &["id"]));
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("column 'x' is of type") && message.contains("b.parquet"), "{message}");
    }
}

/// Two columns of values in different types, the type that has all of them, and their texts.
fn columns_of_two_types() -> [(ArrayRef, ArrayRef, DataType, [&'static str; 4]); 6] {
    use arrow_array::{
        Date32Array, Date64Array, Decimal128Array, Float32Array, Float64Array, Int32Array, TimestampMillisecondArray,
        TimestampNanosecondArray, UInt32Array,
    };
    let day = 86_400_000;
    [
        (
            Arc::new(Int32Array::from(vec![5, -5])),
            Arc::new(Int64Array::from(vec![1 << 40, 3])),
            DataType::Int64,
            ["5", "-5", "1099511627776", "3"],
        ),
        (
            Arc::new(UInt32Array::from(vec![7, u32::MAX])),
            Arc::new(Int32Array::from(vec![-1, 2])),
            DataType::Int64,
            ["7", "4294967295", "-1", "2"],
        ),
        (
            Arc::new(Float32Array::from(vec![0.5, 1.0])),
            Arc::new(Float64Array::from(vec![0.1, -2.0])),
            DataType::Float64,
            ["0.5", "1.0", "0.1", "-2.0"],
        ),
        (
            Arc::new(Decimal128Array::from(vec![150, -25]).with_precision_and_scale(9, 2).unwrap()),
            Arc::new(Decimal128Array::from(vec![1, 100]).with_precision_and_scale(20, 2).unwrap()),
            DataType::Decimal128(20, 2),
            ["1.50", "-0.25", "0.01", "1.00"],
        ),
        (
            Arc::new(Date32Array::from(vec![1, 2])),
            Arc::new(Date64Array::from(vec![3 * day, 4 * day])),
            DataType::Date64,
            ["1970-01-02T00:00:00", "1970-01-03T00:00:00", "1970-01-04T00:00:00", "1970-01-05T00:00:00"],
        ),
        (
            Arc::new(TimestampMillisecondArray::from(vec![1, 2])),
            Arc::new(TimestampNanosecondArray::from(vec![3, 4])),
            DataType::Timestamp(TimeUnit::Nanosecond, None),
            [
                "1970-01-01T00:00:00.001",
                "1970-01-01T00:00:00.002",
                "1970-01-01T00:00:00.000000003",
                "1970-01-01T00:00:00.000000004",
            ],
        ),
    ]
}

#[test]
fn numbers_and_times_of_a_column_take_the_widest_type() {
    for (one, other, data_type, expected) in columns_of_two_types() {
        for (first, second, expected) in
            [(&one, &other, expected), (&other, &one, [expected[2], expected[3], expected[0], expected[1]])]
        {
            let shelf = both(first, second);
            let found = read(&shelf, &["id"]).remove(0);
            assert_eq!(*found.data_type(), data_type);
            let shown = |row| arrow_cast::display::array_value_to_string(&found, row).unwrap();
            assert_eq!([0, 1, 2, 3].map(shown), expected, "{data_type}");
        }
    }
}

#[test]
fn a_key_keeps_the_types_of_its_files_and_no_time_is_changed() {
    use arrow_array::{Int32Array, TimestampMillisecondArray, TimestampNanosecondArray};
    // What no type has is refused, too.
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![5, -5]));
    let longs: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let naturals: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2]));
    for (one, other, key) in [(&numbers, &longs, "x"), (&naturals, &longs, "id")] {
        let shelf = both(one, other);
        let refused = ParquetIndex::build(shelf.storage(), "i", shelf.folder(), BuildOptions::new("", &[key]));
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("column 'x'") && message.contains("one schema"), "{message}");
    }
    // A time that nanoseconds do not have is an error, and no other time.
    let far: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![i64::MAX / 1000, 0]));
    let fine: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![3, 4]));
    let shelf = both(&far, &fine);
    shelf.build("", &["id"], "i");
    let rows: Result<Vec<RecordBatch>, _> = shelf.open("i").scan::<&[u8]>(.., None).unwrap().collect();
    assert!(rows.is_err());
}
