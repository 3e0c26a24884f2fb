//! Tests of types of values. Goal: a table states the type of its values, refuses others, and keeps the type through
//! an external index. Method: tables of scalars and rows, written sorted and unsorted, dense and by column.

use ogive::io::MemoryStorage;
use ogive::table::external::index_table;

use ogive::table::{SortingWriter, Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::types::{Value, ValueType};
use ogive::{Cause, Error, KeyType};
use std::sync::Arc;

const TYPES: [&str; 5] = ["bytes", "u64", "text", "{a: u8?, b: date}", "{a: text?, b: decimal(38,2)}"];

fn text(value_type: &str, number: u64) -> String {
    match value_type {
        "{a: u8?, b: date}" => {
            format!("{},2024-02-{:02}", if number.is_multiple_of(3) { "" } else { "7" }, number % 28 + 1)
        }
        "{a: text?, b: decimal(38,2)}" => format!("{},{number}.50", "x".repeat((number % 300) as usize)),
        _ => number.to_string(),
    }
}

fn write(value_type: &ValueType, is_sorted: bool, width: Option<u32>) -> (Arc<MemoryStorage>, Table) {
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().key_type(KeyType::U64).value_type(value_type.clone()).value_width(width);
    let value = |number: u64| value_type.parse(&text(&value_type.to_string(), number)).unwrap();
    if is_sorted {
        let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
        (0..500_u64).for_each(|number| writer.append(&number.to_be_bytes(), &value(number)).unwrap());
        writer.finish().unwrap();
    } else {
        let mut writer =
            SortingWriter::create((storage.clone(), "t"), options, SortingWriter::MEMORY_BYTES_MIN).unwrap();
        (0..500_u64).rev().for_each(|number| writer.append(&number.to_be_bytes(), &value(number)).unwrap());
        writer.finish().unwrap();
    }
    let table = Table::open((storage.clone(), "t"), &TableOptions::default()).unwrap();
    (storage, table)
}

#[test]
fn tables_state_the_type_of_their_values() {
    for name in TYPES {
        let value_type: ValueType = name.parse().unwrap();
        let width = value_type.width().map(|width| width as u32);
        for (is_sorted, width) in [(true, None), (false, None), (true, width), (false, width)] {
            let (storage, table) = write(&value_type, is_sorted, width);
            assert_eq!(table.value_type(), &value_type);
            assert_eq!(table.explain().value_type, name);
            index_table(storage.clone(), "t", "x", TableWriteOptions::default()).unwrap();
            let external = Table::open((storage, "x"), &TableOptions::default()).unwrap();
            assert_eq!(external.value_type(), &value_type);
            for (number, record) in external.iter().enumerate() {
                let (_, value) = record.unwrap();
                assert_eq!(value_type.display(&value), text(name, number as u64));
            }
        }
    }
}

#[test]
fn rows_are_read_field_by_field() {
    let value_type: ValueType = "{a: u8?, b: date}".parse().unwrap();
    let (_, table) = write(&value_type, true, None);
    let found = table.get(&4_u64.to_be_bytes()).unwrap().unwrap();
    let row = table.value_type().row(&found).unwrap();
    assert_eq!(row.get("a").unwrap(), Value::Unsigned(7));
    assert_eq!(row.get("b").unwrap(), value_type.row(&found).unwrap().value(1).unwrap());
    let found = table.get(&3_u64.to_be_bytes()).unwrap().unwrap();
    assert_eq!(table.value_type().row(&found).unwrap().get("a").unwrap(), Value::Null);
}

#[test]
fn values_of_another_type_are_refused() {
    for (name, wrong) in
        [("u64", &b"1234567"[..]), ("text", b"\xff"), ("bool", b"\x02"), ("{a: u8}", b"\x04"), ("{a: text}", b"")]
    {
        let storage = Arc::new(MemoryStorage::new());
        let options = TableWriteOptions::default().value_type(name.parse().unwrap());
        let mut writer = TableWriter::create((storage.clone(), "t"), options.clone()).unwrap();
        let error = writer.append(b"k", wrong).unwrap_err();
        assert!(
            matches!(&error, error @ Error { cause: Cause::Input, .. } if error.detail().contains(name)),
            "{error}"
        );
        let mut writer = SortingWriter::create((storage, "s"), options, SortingWriter::MEMORY_BYTES_MIN).unwrap();
        assert!(writer.append(b"k", wrong).is_err());
    }
    let tuple = ValueType::Scalar("(u8, u8)".parse().unwrap());
    let options = TableWriteOptions::default().value_type(tuple);
    assert!(TableWriter::create((Arc::new(MemoryStorage::new()), "t"), options).is_err());
}
