//! Tests of the sorting writer. Goal: unsorted records give the same table as sorted ones, and a failed sort leaves
//! nothing behind. Method: shuffled records with budgets that force runs, compared with the reference of the test kit;
//! faults at every call.

use crate::support::{check, numbers, words};
use ogive::io::{MemoryStorage, Storage};

use ogive::table::{RecordVersion, SortingWriter, Table, TableOptions, TableReport, TableWriteOptions, TableWriter};
use ogive::{Cause, Error, KeyType, Result};
use ogive_testkit::{Fault, Operation, Random, Record, ReferenceTable, enumerate_faults};
use std::sync::Arc;

fn shuffle(records: &mut [Record], random: &mut Random) {
    for i in (1..records.len()).rev() {
        records.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
    }
}

fn write(storage: Arc<dyn Storage>, records: &[Record], options: TableWriteOptions) -> Result<TableReport> {
    let mut writer = SortingWriter::create((storage, "t"), options, SortingWriter::MEMORY_BYTES_MIN)?;
    for (key, value) in records {
        writer.append(key, value)?;
    }
    writer.finish()
}

/// Writes, reads back, and compares with the sorted records, equal keys in the given order.
fn check_sorted(records: &[Record], options: TableWriteOptions, name: &str) {
    let storage = Arc::new(MemoryStorage::new());
    let report = write(storage.clone(), records, options).unwrap();
    assert_eq!(storage.list().unwrap(), ["t"], "{name}: temporary files are left");
    let table = Table::open((storage, "t"), &TableOptions::default()).unwrap();
    assert_eq!(table.explain(), report);
    check(&table, ReferenceTable::new(records.to_vec()).records(), name);
}

#[test]
fn numbers_in_any_order_become_a_sorted_table() {
    let mut random = Random::new(1);
    for count in [0, 1, 2, 40_000] {
        let keys: Vec<u64> = (0..count).map(|_| random.next_u64() >> (random.next_u64() % 60)).collect();
        for value_bytes in [0, 8] {
            let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(value_bytes).block_bytes(512);
            check_sorted(&numbers(&keys, value_bytes as usize), options, &format!("{count} records, {value_bytes}"));
        }
    }
}

#[test]
fn equal_keys_keep_the_order_of_their_arrival() {
    let mut random = Random::new(2);
    let keys: Vec<u64> = (0..20_000).map(|_| random.next_u64() % 50).collect();
    let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(8);
    check_sorted(&numbers(&keys, 8), options, "few keys");
}

#[test]
fn values_of_any_length_pass_a_budget_that_none_of_them_fits() {
    let mut random = Random::new(3);
    let keys = words(4000, &mut random);
    let value = |i: usize| vec![(i % 251) as u8; if i % 400 == 399 { 300_000 } else { i % 700 }];
    let mut records: Vec<Record> = keys.iter().enumerate().map(|(i, key)| (key.clone(), value(i))).collect();
    shuffle(&mut records, &mut random);
    check_sorted(&records, TableWriteOptions::default().block_bytes(1024), "long values");
}

#[test]
fn streamed_values_are_found_under_their_keys() {
    let storage = Arc::new(MemoryStorage::new());
    let mut writer =
        SortingWriter::create((storage.clone(), "t"), TableWriteOptions::default(), SortingWriter::MEMORY_BYTES_MIN)
            .unwrap();
    for i in [5_u8, 2, 9, 0] {
        writer.append_stream(&[i], &mut std::io::Read::take(std::io::repeat(i), u64::from(i) * 50_000)).unwrap();
    }
    writer.append(&[4], b"short").unwrap();
    assert_eq!(writer.len(), 5);
    writer.finish().unwrap();
    let table = Table::open((storage, "t"), &TableOptions::default()).unwrap();
    for i in [0_u8, 2, 5, 9] {
        assert_eq!(table.get(&[i]).unwrap(), Some(vec![i; usize::from(i) * 50_000]));
    }
    assert_eq!(table.nth(2).unwrap(), Some((vec![4], b"short".to_vec())));
}

#[test]
fn versions_come_by_key_and_then_newest_first() {
    let mut random = Random::new(4);
    let keys: [&[u8]; 6] = [b"", b"\0", b"\0\x01", b"a", b"a\0", b"ab"];
    let mut versions: Vec<(&[u8], u64)> =
        keys.iter().flat_map(|&key| (0..700).map(move |suffix| (key, suffix * 3))).collect();
    let sorted = {
        let mut sorted = versions.clone();
        sorted.sort_by(|a, b| a.0.cmp(b.0).then(b.1.cmp(&a.1)));
        sorted
    };
    for i in (1..versions.len()).rev() {
        versions.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
    }
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().versioned(true).block_bytes(512);
    let mut writer = SortingWriter::create((storage.clone(), "t"), options, SortingWriter::MEMORY_BYTES_MIN).unwrap();
    for (key, suffix) in &versions {
        writer.append_version(key, (suffix % 2) as u8, *suffix, &suffix.to_le_bytes()).unwrap();
    }
    writer.finish().unwrap();
    let table = Table::open((storage, "t"), &TableOptions::default()).unwrap();
    let stored: Vec<(Vec<u8>, Vec<u8>)> = table.iter().map(Result::unwrap).collect();
    let expected: Vec<_> = sorted.iter().map(|(key, suffix)| (key.to_vec(), suffix.to_le_bytes().to_vec())).collect();
    assert_eq!(stored, expected);
    let newest = RecordVersion { kind: 1, sequence: 99, value: 99_u64.to_le_bytes().to_vec() };
    assert_eq!(table.get_version(b"a", 100).unwrap(), Some(newest));
}

#[test]
fn a_record_that_no_table_takes_is_refused_at_once_and_harms_nothing() {
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(40_000).block_bytes(1 << 17);
    let mut writer = SortingWriter::create((storage.clone(), "t"), options, SortingWriter::MEMORY_BYTES_MIN).unwrap();
    let limit = writer.record_bytes_max();
    assert!(limit < 40_000 && limit > SortingWriter::MEMORY_BYTES_MIN / 5);
    match writer.append(&[0; 8], &[0; 40_000]) {
        Err(error @ Error { cause: Cause::ValueTooLarge { .. }, .. }) => {
            let text = error.to_string();
            assert!(text.contains(&limit.to_string()) && text.contains("raise `memory_bytes`"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(writer.append(&[0; 7], &[0; 40_000]), Err(Error { cause: Cause::KeyLength { .. }, .. })));
    assert!(matches!(writer.append(&[0; 8], &[0; 3]), Err(Error { cause: Cause::Input, .. })));
    assert_eq!(writer.finish().unwrap().records, 0);
    let few = SortingWriter::create((storage, "u"), TableWriteOptions::default(), SortingWriter::MEMORY_BYTES_MIN - 1);
    assert!(matches!(few, Err(Error { cause: Cause::Input, .. })));
}

#[test]
fn the_sorted_writer_still_refuses_what_is_out_of_order() {
    let mut writer = TableWriter::create((Arc::new(MemoryStorage::new()), "t"), TableWriteOptions::default()).unwrap();
    writer.append(b"b", b"").unwrap();
    assert!(matches!(writer.append(b"a", b""), Err(Error { cause: Cause::Unsorted { record: 1 }, .. })));
}

#[test]
fn leftovers_of_a_killed_sort_are_removed_and_files_of_others_are_not() {
    let storage = MemoryStorage::new();
    for name in ["t.000001.ogive-sort", "t.00000000000000aa.ogive-tmp", "t2.000001.ogive-sort", "t.notes"] {
        storage.put(name, b"left".to_vec()).unwrap();
    }
    write(Arc::new(storage.clone()), &numbers(&[3, 1, 2], 8), TableWriteOptions::default()).unwrap();
    assert_eq!(storage.list().unwrap(), ["t", "t.notes", "t2.000001.ogive-sort"]);
}

#[test]
fn a_name_that_is_taken_is_refused_before_anything_is_removed() {
    let storage = MemoryStorage::new();
    storage.put("t", b"a foreign file".to_vec()).unwrap();
    storage.put("t.000001.ogive-sort", b"left".to_vec()).unwrap();
    for replace in [false, true] {
        let options = TableWriteOptions::default().replace(replace);
        assert!(write(Arc::new(storage.clone()), &[], options).is_err());
    }
    assert_eq!(storage.list().unwrap(), ["t", "t.000001.ogive-sort"]);
}

#[test]
fn a_full_or_failing_disk_leaves_no_file_at_all() {
    let mut random = Random::new(5);
    let keys: Vec<u64> = (0..9000).map(|_| random.next_u64()).collect();
    let records = numbers(&keys, 8);
    let faults = [
        (Operation::Create, Fault::NoSpace),
        (Operation::Write, Fault::NoSpace),
        (Operation::Write, Fault::Short),
        (Operation::Read, Fault::DeviceError),
        (Operation::Open, Fault::DeviceError),
        (Operation::Sync, Fault::DeviceError),
        (Operation::Rename, Fault::DeviceError),
    ];
    for (operation, fault) in faults {
        let failed = enumerate_faults(
            operation,
            fault,
            || Arc::new(MemoryStorage::new()),
            |storage| write(storage, &records, TableWriteOptions::default().key_type(KeyType::U64)),
            |at, outcome, storage| {
                assert!(matches!(outcome, Err(Error { cause: Cause::Io(_), .. })), "{operation:?} {at}: {outcome:?}");
                assert_eq!(storage.list().unwrap(), Vec::<String>::new(), "{operation:?} {at}");
            },
        );
        assert!(failed > 0, "{operation:?} was never called");
    }
}

/// Values that fit a block, and not the memory of the sort, are stored as longer ones are.
#[test]
fn values_that_fit_a_block_pass_a_budget_that_none_of_them_fits() {
    for (block_bytes, lengths) in [(1 << 17, [30_000, 60_000, 70_000]), (1 << 20, [17_000, 300_000, 600_000])] {
        let storage = Arc::new(MemoryStorage::new());
        let options = TableWriteOptions::default().key_type(KeyType::U64).block_bytes(block_bytes);
        let mut writer =
            SortingWriter::create((storage.clone(), "t"), options, SortingWriter::MEMORY_BYTES_MIN).unwrap();
        assert!(writer.record_bytes_max() < 17_000);
        let value = |key: u64| vec![key as u8; lengths[key as usize % 3]];
        for key in [7_u64, 2, 11, 0, 5, 9, 1, 10, 3, 8, 4, 6] {
            writer.append(&key.to_be_bytes(), &value(key)).unwrap();
        }
        writer.finish().unwrap();
        let table = Table::open((storage, "t"), &TableOptions::default()).unwrap();
        let found: Vec<(Vec<u8>, Vec<u8>)> = table.iter().map(Result::unwrap).collect();
        let expected: Vec<_> = (0..12_u64).map(|key| (key.to_be_bytes().to_vec(), value(key))).collect();
        assert!(found == expected, "blocks of {block_bytes} bytes");
        assert!(table.verify(&mut |_, _| {}).unwrap().findings.is_empty());
    }
}
