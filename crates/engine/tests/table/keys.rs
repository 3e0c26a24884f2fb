//! Tests of key widths. Goal: a key of a width that no record of the table can have is an error, not an absent key.
//! Method: tables and external indexes of each key type, empty and not; keys of all widths around the right one, by
//! every operation.

use crate::support::check_strange;
use ogive::KeyType;
use ogive::io::{MemoryStorage, Storage};
use ogive::table::external::{RecordFile, index_records, index_table};
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use std::sync::Arc;

fn open(storage: &Arc<dyn Storage>, name: &str) -> Table {
    Table::open((storage.clone(), name), &TableOptions::default()).unwrap()
}

fn write(storage: &Arc<dyn Storage>, key_type: KeyType, design: &str, count: u64) {
    let options = TableWriteOptions::default()
        .key_type(key_type)
        .design(design.parse().unwrap())
        .block_bytes(512)
        .filter_bits_per_key(10)
        .replace(true);
    let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
    for number in 0..count {
        let key = (u128::from(number) * 1000).to_be_bytes();
        writer.append(&key[16 - key_type.width().unwrap()..], &number.to_le_bytes()).unwrap();
    }
    writer.finish().unwrap();
}

fn ask(table: &Table, what: &str) {
    let width = table.key_type().width().unwrap();
    let present = vec![0; width];
    assert_eq!(table.contains_key(&present).unwrap(), !table.is_empty(), "{what}");
    for length in (0..20).chain([1000]).filter(|&length| length != width) {
        for byte in [0, b'a', 0xff] {
            check_strange(table, &vec![byte; length], &present, what);
        }
    }
}

#[test]
fn a_key_of_another_width_is_an_error_by_every_question() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    for key_type in [
        KeyType::U64,
        KeyType::I64,
        KeyType::F64,
        KeyType::U128,
        KeyType::U32,
        KeyType::I128,
        KeyType::FixedBytes(5),
        KeyType::FixedBytes(16),
    ] {
        for (design, count) in [("coded", 2000), ("tuned", 2000), ("none", 20), ("coded", 0)] {
            write(&storage, key_type, design, count);
            ask(&open(&storage, "t"), &format!("{key_type}, {design}, {count} records"));
        }
    }
}

#[test]
fn so_it_is_in_an_index_beside_other_data() {
    let memory = MemoryStorage::new();
    let mut file = memory.create("records").unwrap();
    (0..500_u64).for_each(|key| file.append(&(key * 7).to_be_bytes()).unwrap());
    file.sync().unwrap();
    drop(file);
    let storage: Arc<dyn Storage> = Arc::new(memory);
    let records = RecordFile { header_bytes: 0, counted: false, key_bytes: 8, value_bytes: 0, little_endian: false };
    index_records(storage.clone(), "records", "beside", records, TableWriteOptions::default()).unwrap();
    ask(&open(&storage, "beside"), "beside a file of records");
    write(&storage, KeyType::U128, "coded", 3000);
    index_table(storage.clone(), "t", "second", TableWriteOptions::default()).unwrap();
    ask(&open(&storage, "second"), "a second index of a table");
    assert!(open(&storage, "second").data_path().ends_with("t"));
    assert!(open(&storage, "t").data_path().ends_with("t"));
}

#[test]
fn text_and_bytes_may_have_any_length() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    for key_type in [KeyType::Text, KeyType::Bytes] {
        let options = TableWriteOptions::default().key_type(key_type).replace(true);
        let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
        writer.append(b"", b"empty").unwrap();
        writer.append(b"apple", b"red").unwrap();
        writer.finish().unwrap();
        let table = open(&storage, "t");
        assert_eq!(table.get(b"").unwrap().unwrap(), b"empty");
        assert_eq!((table.get(b"abc").unwrap(), table.rank(b"abc").unwrap()), (None, 1));
        assert_eq!(table.range(&b""[..]..).count(), 2);
    }
}
