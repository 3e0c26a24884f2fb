//! Goal: scans of tables of every layout give the rows of the table's own ranges.

use super::scan::TableRelation;
use crate::block::compress::Compression;
use crate::error::{Cause, Error, Result};
use crate::io::{MemoryStorage, Profile, Purpose, ReadRequest, Storage};
use crate::join::rows::options::JoinOptions;
use crate::join::rows::relation::{KeyRange, Relation};
use crate::join::rows::task::{MEMORY_BYTES_MIN, Task};
use crate::table::external::{RecordFile, index_records, index_table};
use crate::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use crate::types::KeyType;
use proptest::prelude::*;
use std::sync::Arc;

type Row = (Vec<u8>, Vec<u8>);

/// Profiles whose scans read in quite different shapes.
const PROFILES: [&str; 3] = ["nvme", "hdd", "s3"];

fn open(storage: &Arc<MemoryStorage>, name: &str) -> Table {
    Table::open((storage.clone(), name), &TableOptions::default()).unwrap()
}

fn write(storage: &Arc<MemoryStorage>, name: &str, rows: &[Row], options: TableWriteOptions) -> Table {
    let mut writer = TableWriter::create((storage.clone(), name), options).unwrap();
    rows.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
    writer.finish().unwrap();
    open(storage, name)
}

fn scanned(table: &Table, range: &KeyRange, profile: &str, memory_bytes: u64) -> Result<Vec<Row>> {
    // A scan may take more than its share, but no more than the join may.
    let memory_limit = memory_bytes.max(MEMORY_BYTES_MIN);
    let options =
        JoinOptions { profile: Profile::named(profile)?, memory_bytes: memory_limit, ..JoinOptions::default() };
    let task = Task::new(&options)?;
    let memory = task.budget.take(memory_bytes, "a scan")?;
    let mut stream = TableRelation::new(table.clone()).scan(range, &task, memory)?;
    let (mut rows, mut value) = (Vec::new(), Vec::new());
    while stream.advance(None)? {
        assert!(!stream.rows().is_empty(), "a chunk is never empty");
        for row in 0..stream.rows().len() {
            if stream.rows().is_long(row) {
                stream.long_value(row, &mut value)?;
            } else {
                value = stream.rows().value(row).to_vec();
            }
            rows.push((stream.rows().key(row).to_vec(), value.clone()));
        }
    }
    assert!(!stream.advance(None)?, "the end stays the end");
    Ok(rows)
}

/// Compares scans of the whole table and of ranges with what the table itself gives.
fn check(table: &Table, keys: &[Vec<u8>], memory_bytes: u64) {
    let behind_all = vec![0xFF; table.key_type().width().unwrap_or(20)];
    let mut ranges = vec![KeyRange::all(), KeyRange { from: Some(behind_all), to: None }];
    for pair in keys.windows(2).step_by((keys.len() / 6).max(1)) {
        ranges.push(KeyRange { from: Some(pair[0].clone()), to: Some(pair[1].clone()) });
        ranges.push(KeyRange { from: None, to: Some(pair[0].clone()) });
        ranges.push(KeyRange { from: Some(pair[1].clone()), to: None });
    }
    for (i, range) in ranges.iter().enumerate() {
        let expected: Vec<Row> = table.range::<&[u8]>(range.bounds()).map(|row| row.unwrap()).collect();
        let found = scanned(table, range, PROFILES[i % PROFILES.len()], memory_bytes).unwrap();
        assert!(found == expected, "{range:?}: {} rows instead of {}", found.len(), expected.len());
    }
}

fn numbers(count: u64, key: usize, value: usize) -> Vec<Row> {
    let row = |i: u64| {
        let mut bytes = vec![0; key - 8];
        bytes.extend_from_slice(&(i / 2 * 3).to_be_bytes());
        (bytes, (0..value).map(|at| (i as usize * 7 + at) as u8).collect())
    };
    (0..count).map(row).collect()
}

fn keys(rows: &[Row]) -> Vec<Vec<u8>> {
    rows.iter().map(|(key, _)| key.clone()).collect()
}

#[test]
fn dense_tables_are_scanned_whole_and_in_ranges() {
    let storage = Arc::new(MemoryStorage::new());
    for (count, key_type, key, value) in
        [(0, KeyType::U64, 8, 8), (1, KeyType::U64, 8, 0), (30_000, KeyType::U64, 8, 8), (3000, KeyType::U128, 16, 40)]
    {
        for compression in [Compression::None, Compression::Lz4] {
            let rows = numbers(count, key, value);
            let value_width = Some(value as u32);
            let options = TableWriteOptions {
                key_type,
                value_width,
                compression,
                replace: true,
                block_bytes: Some(512),
                ..TableWriteOptions::default()
            };
            check(&write(&storage, "dense", &rows, options), &keys(&rows), 80 << 10);
        }
    }
}

#[test]
fn tables_beside_other_files_are_scanned() {
    let storage = Arc::new(MemoryStorage::new());
    let rows = numbers(5000, 8, 8);
    write(
        &storage,
        "own",
        &rows,
        TableWriteOptions { key_type: KeyType::U64, value_width: Some(8), ..TableWriteOptions::default() },
    );
    index_table(storage.clone(), "own", "own.second", TableWriteOptions::default()).unwrap();
    check(&open(&storage, "own.second"), &keys(&rows), 64 << 10);
    let mut sosd = (rows.len() as u64).to_le_bytes().to_vec();
    for (key, value) in &rows {
        sosd.extend(key.iter().rev());
        sosd.extend_from_slice(value);
    }
    storage.put("keys.u64", sosd).unwrap();
    index_records(storage.clone(), "keys.u64", "keys.ogive", RecordFile::sosd(8), TableWriteOptions::default())
        .unwrap();
    check(&open(&storage, "keys.ogive"), &keys(&rows), 64 << 10);
}

#[test]
fn strings_long_values_and_tags_are_scanned() {
    let storage = Arc::new(MemoryStorage::new());
    let long = |i: usize| if i % 50 == 7 { 10_000 } else { i % 40 };
    let rows: Vec<Row> = (0..2000_usize)
        .map(|i| (format!("key/{:06}/{}", i / 2, "x".repeat(i / 2 % 7)).into_bytes(), vec![i as u8; long(i)]))
        .collect();
    for compression in [Compression::None, Compression::Lz4] {
        let options =
            TableWriteOptions { key_type: KeyType::Text, compression, replace: true, ..TableWriteOptions::default() };
        check(&write(&storage, "strings", &rows, options), &keys(&rows), 96 << 10);
    }
    let options = TableWriteOptions { versioned: true, ..TableWriteOptions::default() };
    let mut writer = TableWriter::create((storage.clone(), "versioned"), options).unwrap();
    for i in 0..3000_u64 {
        writer.append_version(&i.to_be_bytes(), 1, 3000 - i, &[7; 5]).unwrap();
    }
    writer.finish().unwrap();
    let versioned = open(&storage, "versioned");
    check(&versioned, &[vec![0; 8], 77_u64.to_be_bytes().to_vec()], 96 << 10);
}

/// Pitfalls, storage 17 and 19: a damaged block is an error, not the end; a block that memory cannot hold is refused
/// before it is read.
#[test]
fn damage_and_blocks_beyond_memory_are_errors() {
    let storage = Arc::new(MemoryStorage::new());
    let rows = numbers(20_000, 8, 8);
    let options = TableWriteOptions {
        key_type: KeyType::U64,
        value_width: Some(8),
        block_bytes: Some(4096),
        coding: false,
        ..TableWriteOptions::default()
    };
    let table = write(&storage, "whole", &rows, options);
    let whole = storage.open("whole").unwrap();
    let mut bytes = vec![0; whole.len() as usize];
    whole.read(ReadRequest { offset: 0, buffer: &mut bytes, purpose: Purpose::Walk }).unwrap();
    bytes[200_000] ^= 1;
    storage.put("damaged", bytes).unwrap();
    drop(table);
    let outcome = scanned(&open(&storage, "damaged"), &KeyRange::all(), "nvme", 64 << 10);
    assert!(
        matches!(&outcome, Err(error @ Error { cause: Cause::Damaged, .. }) if error.offset() == Some(196_608)),
        "{outcome:?}"
    );
    let rows = vec![(b"k".to_vec(), vec![1; 600_000])];
    let options = TableWriteOptions { block_bytes: Some(1 << 20), ..TableWriteOptions::default() };
    let large = write(&storage, "large", &rows, options);
    assert!(matches!(
        scanned(&large, &KeyRange::all(), "nvme", 64 << 10),
        Err(Error { cause: Cause::JoinMemory { .. }, .. })
    ));
    assert_eq!(scanned(&large, &KeyRange::all(), "nvme", 16 << 20).unwrap(), rows);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn cuts_part_a_table_into_ranges_that_hold_every_row_once(count in 0_u64..40_000, parts in 1_usize..20) {
        let storage = Arc::new(MemoryStorage::new());
        let rows = numbers(count, 8, 8);
        let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(8);
        let relation = TableRelation::new(write(&storage, "t", &rows, options));
        let ranges = crate::join::methods::parallel::ranges(relation.cuts(parts));
        prop_assert!(ranges.len() <= parts.max(1));
        prop_assert!(count < 20_000 || ranges.len() > parts / 2, "{} ranges of {parts}", ranges.len());
        let task = Task::new(&JoinOptions::default()).unwrap();
        let mut found = 0;
        for range in &ranges {
            let mut stream = relation.scan(range, &task, task.budget.take(64 << 10, "a scan").unwrap()).unwrap();
            while stream.advance(None).unwrap() {
                let rows = stream.rows();
                prop_assert!((0..rows.len()).all(|row| range.holds(rows.key(row))));
                found += rows.len() as u64;
            }
        }
        prop_assert_eq!(found, count);
    }
}

/// Records that are appended many at a time make the table that they make one by one.
#[test]
fn dense_records_are_appended_many_at_a_time() {
    let storage = Arc::new(MemoryStorage::new());
    for (count, key_type, key, value, limited) in [
        (0_u64, KeyType::U64, 8, 8, false),
        (100_000, KeyType::U64, 8, 16, true),
        (100_000, KeyType::U64, 8, 16, false),
        (5000, KeyType::U128, 16, 3, true),
    ] {
        let rows = numbers(count, key, value);
        let options = |replace| TableWriteOptions {
            key_type,
            value_width: Some(value as u32),
            replace,
            ..crate::join::JoinOutput::options()
        };
        let one_by_one = write(&storage, "one", &rows, options(true));
        let mut writer = TableWriter::create((storage.clone(), "many"), options(true)).unwrap();
        if limited {
            writer.write_behind(256 << 10, 64 << 10).unwrap();
        }
        for piece in rows.chunks(777) {
            writer
                .append_dense(&piece.iter().flat_map(|(key, value)| [&key[..], value].concat()).collect::<Vec<u8>>())
                .unwrap();
        }
        let report = writer.finish().unwrap();
        let many = open(&storage, "many");
        assert_eq!(
            (many.len(), many.is_distinct(), report.records),
            (one_by_one.len(), one_by_one.is_distinct(), count)
        );
        assert!(many.iter().map(|row| row.unwrap()).eq(rows));
        assert!(many.verify(&mut |_, _| ()).unwrap().findings.is_empty());
    }
}

#[test]
fn dense_records_out_of_order_or_cut_off_are_refused() {
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions { key_type: KeyType::U64, value_width: Some(0), ..TableWriteOptions::default() };
    let mut writer = TableWriter::create((storage.clone(), "t"), options.clone()).unwrap();
    let records = |keys: &[u64]| keys.iter().flat_map(|key| key.to_be_bytes()).collect::<Vec<u8>>();
    writer.append_dense(&records(&[1, 2, 2])).unwrap();
    assert!(matches!(writer.append_dense(&records(&[2])[..7]), Err(Error { cause: Cause::Input, .. })));
    assert!(matches!(
        writer.append_dense(&records(&[3, 4, 3, 9])),
        Err(Error { cause: Cause::Unsorted { record: 5 }, .. })
    ));
    let mut of_any_length = TableWriter::create((storage, "s"), TableWriteOptions::default()).unwrap();
    assert!(matches!(of_any_length.append_dense(&[1]), Err(Error { cause: Cause::Input, .. })));
}
