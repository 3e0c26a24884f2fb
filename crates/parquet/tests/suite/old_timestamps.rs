//! Timestamps of the type INT96: the goal is that each is found as what it is, or refused with its place. Method: files
//! written value by value, with keys on both sides of every limit, also in lists, and with every way of reading them.

use crate::support::{Shelf, parquet_bytes};
use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampMicrosecondType, TimestampNanosecondType};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use ogive::table::TableWriteOptions;
use ogive_parquet::{BuildOptions, ParquetIndex, ParquetIndexError, ParquetRows, Remedy, RowsOptions};
use parquet::data_type::{Int96, Int96Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

const DAY: i64 = 86_400_000_000_000;
/// Julian days of 1970-01-01 and of 9999-12-31.
const OF_1970: i32 = 2_440_588;
const OF_9999: i32 = 5_373_484;

fn int96((day, of_day): (i32, i64)) -> Int96 {
    let of_day = of_day.cast_unsigned();
    Int96::from(vec![of_day as u32, (of_day >> 32) as u32, day.cast_unsigned()])
}

/// A file with a column `at`, or a list `at` of all values in the second of two rows.
fn file(values: &[(i32, i64)], in_list: bool) -> Vec<u8> {
    let schema = match in_list {
        true => "message rows { required group at (LIST) { repeated group list { required int96 element; } } }",
        false => "message rows { optional int96 at; }",
    };
    let values: Vec<Int96> = values.iter().copied().map(int96).collect();
    let mut bytes = Vec::new();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let (levels, repeats) = match in_list {
        true => (
            [vec![0], vec![1; values.len()]].concat(),
            Some([vec![0, 0], vec![1; values.len().saturating_sub(1)]].concat()),
        ),
        false => (vec![1; values.len()], None),
    };
    column.typed::<Int96Type>().write_batch(&values, Some(&levels), repeats.as_deref()).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

fn built(shelf: &Shelf, nanoseconds: &[&str]) -> ogive_parquet::Result<()> {
    let nanoseconds = nanoseconds.iter().map(|name| (*name).to_owned()).collect();
    let options = BuildOptions::new("a.parquet", &["at"])
        .table(TableWriteOptions::default().replace(true))
        .nanoseconds(nanoseconds);
    ParquetIndex::build(shelf.storage(), "i", shelf.folder(), options).map(drop)
}

fn rows(shelf: &Shelf, nanoseconds: &[&str]) -> ogive_parquet::Result<Vec<RecordBatch>> {
    let nanoseconds = nanoseconds.iter().map(|name| (*name).to_owned()).collect();
    let options = RowsOptions::default().nanoseconds(nanoseconds);
    ParquetRows::in_folder_with(shelf.folder(), "a.parquet", &options)?.collect()
}

#[test]
fn timestamps_of_ten_thousand_years_are_found_in_microseconds() {
    for times in [
        [(OF_1970, -1_000), (OF_1970, 0), (OF_1970, 1_000), (OF_9999, DAY - 1_000)],
        [(OF_9999, DAY - 1_000), (OF_1970, 0), (OF_1970, 1_000), (OF_1970, -1_000)],
    ] {
        let shelf = Shelf::new();
        shelf.put("a.parquet", file(&times, false));
        built(&shelf, &[]).unwrap();
        let index = shelf.open("i");
        for (text, us) in [
            ("9999-12-31T23:59:59.999999", 253_402_300_799_999_999),
            ("1970-01-01T00:00:00.000001", 1),
            ("1969-12-31T23:59:59.999999", -1),
        ] {
            let found = index.get(&index.key_type().parse(text).unwrap(), None).unwrap();
            let column = found.column(0).as_primitive::<TimestampMicrosecondType>();
            assert_eq!(column.values(), &[us], "{text}");
        }
        assert!(index.verify(&mut |_, _| ()).unwrap().is_sound());
        let read = rows(&shelf, &[]).unwrap();
        assert_eq!(read[0].column(0).as_primitive::<TimestampMicrosecondType>().value(1), 0);
    }
}

#[test]
fn what_no_microsecond_is_is_refused_with_its_place_and_read_in_nanoseconds() {
    for in_list in [false, true] {
        let shelf = Shelf::new();
        shelf.put("a.parquet", file(&[(OF_1970, 5_000), (OF_1970, 5_001)], in_list));
        let refused = rows(&shelf, &[]).unwrap_err();
        assert!(
            matches!(&refused, ParquetIndexError::NoTimestamp { row: 2, column, .. } if column == "at"),
            "{refused}"
        );
        let message = refused.to_string();
        let column_type = if in_list { "timestamp(ns)" } else { "timestamp(ns)?" }.to_owned();
        assert_eq!(refused.remedy(), Some(Remedy::Nanoseconds { column: "at".to_owned(), column_type }));
        for part in ["a.parquet", "row 2", "column 'at'", "00:00:00.000005001", "`BuildOptions::nanoseconds`"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert_eq!(rows(&shelf, &["at"]).unwrap()[0].num_rows(), 2);
        if !in_list {
            assert!(built(&shelf, &[]).unwrap_err().to_string().contains("row 2"));
        }
    }
}

#[test]
fn nanoseconds_have_their_years_and_an_update_keeps_them() {
    let shelf = Shelf::new();
    shelf.put("a.parquet", file(&[(OF_1970, 5_000), (OF_9999, 0)], false));
    let refused = built(&shelf, &["at"]).unwrap_err().to_string();
    assert!(refused.contains("row 2") && refused.contains("1677 to 2262"), "{refused}");
    shelf.put("a.parquet", file(&[(OF_1970, 5_001), (OF_1970, DAY)], false));
    built(&shelf, &["at"]).unwrap();
    for _ in 0..2 {
        let index = shelf.open("i");
        assert_eq!(index.key_type(), "timestamp(ns)".parse().unwrap());
        let key = index.key_type().parse("1970-01-01T00:00:00.000005001").unwrap();
        let found = index.get(&key, None).unwrap();
        assert_eq!(found.column(0).as_primitive::<TimestampNanosecondType>().values(), &[5_001]);
        let options = BuildOptions::new("", &[]);
        ParquetIndex::update(shelf.storage(), "i", shelf.folder(), options).unwrap();
    }
}

#[test]
fn only_columns_of_int96_are_read_in_another_unit() {
    let shelf = Shelf::new();
    let numbers: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2]));
    let batch = RecordBatch::try_from_iter([("at", numbers)]).unwrap();
    shelf.put("a.parquet", parquet_bytes(&batch, WriterProperties::default()));
    assert!(built(&shelf, &["at"]).unwrap_err().to_string().contains("only timestamps of the type INT96"));
    assert!(built(&shelf, &["by"]).unwrap_err().to_string().contains("its columns are at"));
}
