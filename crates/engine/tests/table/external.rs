//! Tests of external indexes. Goal: an external index answers like a table that holds the data itself, leaves the data
//! untouched, and notices data that has changed. Method: record files and tables of every layout, indexed in place and
//! compared with the reference of the test kit; files of other content; data changed afterwards; faults and crashes at
//! every call.

use crate::support::{check, numbers, words};
use ogive::block::compress::Compression;
use ogive::io::{LocalStorage, MemoryStorage, Profile, Storage};
use ogive::table::external::{RecordFile, compare_records, index_records, index_table};
use ogive::table::{ReadTrace, RecordVersion, Table, TableOptions, TableReport, TableWriteOptions, TableWriter};
use ogive::{Cause, Error, KeyType, Result};
use ogive_testkit::{
    CrashOptions, Fault, Operation, Random, Record, SimulatedDisk, enumerate_crashes, enumerate_faults, key_sets,
};
use std::io::Read;
use std::sync::Arc;

/// The bytes of a SOSD file with values of any width.
fn sosd(records: &[Record]) -> Vec<u8> {
    let mut bytes = (records.len() as u64).to_le_bytes().to_vec();
    for (key, value) in records {
        bytes.extend(key.iter().rev());
        bytes.extend(value);
    }
    bytes
}

fn holding(name: &str, content: Vec<u8>) -> Arc<MemoryStorage> {
    let storage = MemoryStorage::new();
    storage.put(name, content).unwrap();
    Arc::new(storage)
}

fn open(storage: Arc<dyn Storage>, name: &str) -> Result<Table> {
    Table::open((storage, name), &TableOptions::default())
}

fn nothing_to_do(_: u64, _: u64) {}

/// Indexes `data` in place, and compares the index with `records`.
fn check_records(
    data: Vec<u8>,
    file: RecordFile,
    records: &[Record],
    options: TableWriteOptions,
    name: &str,
) -> TableReport {
    let storage = holding("data", data.clone());
    let report =
        index_records(storage.clone(), "data", "index", file, options).unwrap_or_else(|e| panic!("{name}: {e}"));
    let table = open(storage.clone(), "index").unwrap();
    assert_eq!(table.explain(), report, "{name}");
    check(&table, records, name);
    let mut compared = 0;
    compare_records(&table, &mut |done, _| compared = done).unwrap();
    assert!(records.is_empty() || compared == data.len() as u64, "{name}: {compared} bytes compared");
    assert_eq!(storage.content("data").unwrap(), data, "{name}: the data were touched");
    assert_eq!(storage.list().unwrap(), ["data", "index"], "{name}");
    report
}

#[test]
fn sosd_files_of_nasty_keys_answer_as_sorted_vectors() {
    for (i, (name, keys)) in key_sets::nasty(3000).into_iter().enumerate() {
        for value_bytes in [0, 8, 5] {
            let records = numbers(&keys, value_bytes);
            let options = TableWriteOptions::default().block_bytes([512, 1024, 4096][i % 3]).design(
                ["tuned", "coded", "btree", "none", "layers=2,builder=gband/gstep,lambda=1024/512"][i % 5]
                    .parse()
                    .unwrap(),
            );
            let file = RecordFile::sosd(value_bytes as u32);
            check_records(sosd(&records), file, &records, options, &format!("{name}, {value_bytes}"));
        }
    }
}

#[test]
fn few_records_and_the_edges_of_the_numbers_are_indexed() {
    let sets: [&[u64]; 6] = [&[], &[7], &[7, 7], &[0, u64::MAX], &[u64::MAX; 3], &[0; 3]];
    for keys in sets {
        for value_bytes in [0, 8] {
            let records = numbers(keys, value_bytes);
            let file = RecordFile::sosd(value_bytes as u32);
            check_records(sosd(&records), file, &records, TableWriteOptions::default(), &format!("{keys:?}"));
        }
    }
    let records = numbers(&[u64::MAX; 2000], 8);
    let options = TableWriteOptions::default().block_bytes(512);
    check_records(sosd(&records), RecordFile::sosd(8), &records, options, "one run");
}

#[test]
fn files_of_other_shapes_are_indexed() {
    let mut random = Random::new(1);
    let mut keys: Vec<u64> = (0..5000).map(|_| random.next_u64()).collect();
    keys.sort_unstable();
    for (header_bytes, value_bytes) in [(0, 0), (0, 1), (13, 4), (24, 16), (5000, 8), (16, 2000)] {
        let records = numbers(&keys[..keys.len() / (1 + value_bytes / 100)], value_bytes);
        let mut data = vec![0xAB; header_bytes];
        records.iter().for_each(|(key, value)| data.extend([key.as_slice(), value].concat()));
        let file = RecordFile {
            header_bytes: header_bytes as u64,
            counted: false,
            key_bytes: 8,
            value_bytes: value_bytes as u32,
            little_endian: false,
        };
        let options = TableWriteOptions::default().block_bytes(1024).filter_bits_per_key(10);
        check_records(data, file, &records, options, &format!("header {header_bytes}, values {value_bytes}"));
    }
}

#[test]
fn keys_of_sixteen_bytes_are_indexed() {
    let mut random = Random::new(2);
    let mut keys: Vec<u128> =
        (0..4000).map(|_| u128::from(random.next_u64()) << 64 | u128::from(random.next_u64())).collect();
    keys.extend([7, 7, 7, u128::MAX]);
    keys.extend(vec![9; 3000]);
    keys.sort_unstable();
    let records: Vec<Record> = keys.iter().map(|key| (key.to_be_bytes().to_vec(), vec![])).collect();
    let data: Vec<u8> = keys.iter().flat_map(|key| key.to_le_bytes()).collect();
    let file = RecordFile { header_bytes: 0, counted: false, key_bytes: 16, value_bytes: 0, little_endian: true };
    let options = TableWriteOptions::default().block_bytes(512);
    check_records(data, file, &records, options, "u128");
}

#[test]
fn a_look_up_reads_one_aligned_block_of_the_file() {
    let keys: Vec<u64> = (0..100_000).map(|i| i * 37).collect();
    let storage = holding("data", sosd(&numbers(&keys, 0)));
    let options = TableWriteOptions::default().design("coded".parse().unwrap());
    let report = index_records(storage.clone(), "data", "index", RecordFile::sosd(0), options).unwrap();
    assert_eq!(report.blocks, (8 + 8 * 100_000_u64).div_ceil(4096));
    assert!(report.index_bytes < 2 * report.blocks, "{} bytes for {} blocks", report.index_bytes, report.blocks);
    for key in [0, 37 * 600, 37 * 99_999, 38, u64::MAX] {
        let mut trace = ReadTrace::new();
        let table = open(storage.clone(), "index").unwrap();
        table.traced(&mut trace).contains_key(&u64::to_be_bytes(key)).unwrap();
        let [read] = trace.reads[..] else { panic!("{key}: {:?}", trace.reads) };
        assert!(read.offset / 4096 == (read.offset + read.bytes - 1) / 4096, "{read:?} straddles two blocks");
    }
}

#[test]
fn a_file_that_is_not_what_was_described_is_refused_with_its_place() {
    let records = numbers(&[1, 2, 3, 5, 4, 6], 8);
    let whole = sosd(&numbers(&[1, 2, 3], 8));
    let index = |data: Vec<u8>, file: RecordFile| {
        let storage = holding("data", data);
        let outcome = index_records(storage.clone(), "data", "index", file, TableWriteOptions::default());
        assert_eq!(storage.list().unwrap(), ["data"], "a half-made file is left");
        outcome
    };
    let unsorted = index(sosd(&records), RecordFile::sosd(8));
    assert!(matches!(unsorted, Err(Error { cause: Cause::Unsorted { record: 4 }, .. })), "{unsorted:?}");
    for length in (0..whole.len()).chain([whole.len() + 1, whole.len() + 16]) {
        let mut data = whole.clone();
        data.resize(length, 0xFF);
        let outcome = index(data, RecordFile::sosd(8));
        assert!(matches!(outcome, Err(Error { cause: Cause::NotRecords, .. })), "{length} bytes: {outcome:?}");
    }
    let narrow = index(whole.clone(), RecordFile::sosd(0)).unwrap_err().to_string();
    assert!(narrow.contains("states 3 records") && narrow.contains("check the width"), "{narrow}");
    let odd = index(whole, RecordFile { key_bytes: 4, ..RecordFile::sosd(8) });
    assert!(matches!(odd, Err(Error { cause: Cause::Input, .. })), "{odd:?}");
}

#[test]
fn names_that_are_taken_or_missing_are_refused() {
    let storage = holding("data", sosd(&numbers(&[1, 2], 0)));
    storage.put("notes", b"other notes".to_vec()).unwrap();
    let index = |data: &str, name: &str, replace: bool| {
        let options = TableWriteOptions::default().replace(replace);
        index_records(storage.clone(), data, name, RecordFile::sosd(0), options)
    };
    assert!(matches!(index("missing", "index", false), Err(Error { cause: Cause::Io(_), .. })));
    assert!(matches!(index("data", "data", true), Err(Error { cause: Cause::Input, .. })));
    assert!(matches!(index("data", "notes", true), Err(Error { cause: Cause::NotATable, .. })));
    index("data", "index", false).unwrap();
    assert!(matches!(index("data", "index", false), Err(Error { cause: Cause::Io(_), .. })));
    index("data", "index", true).unwrap();
    assert!(matches!(index("index", "other", false), Err(Error { cause: Cause::NotRecords, .. })));
    storage.remove("data").unwrap();
    let missing = open(storage.clone(), "index").unwrap_err().to_string();
    assert!(missing.contains("data") && missing.contains("check the path"), "{missing}");
    // An index without its data can still be replaced.
    storage.put("data", sosd(&numbers(&[8], 0))).unwrap();
    index("data", "index", true).unwrap();
    assert_eq!(open(storage.clone(), "index").unwrap().len(), 1);
}

#[test]
fn every_changed_byte_is_found_by_comparing_and_another_length_by_opening() {
    let records = numbers(&(0..300_u64).map(|i| i * 5).collect::<Vec<_>>(), 8);
    let data = sosd(&records);
    let storage = holding("data", data.clone());
    let options = TableWriteOptions::default().block_bytes(512);
    index_records(storage.clone(), "data", "index", RecordFile::sosd(8), options).unwrap();
    for at in 8..data.len() {
        let mut changed = data.clone();
        changed[at] ^= 1 << (at % 8);
        storage.put("data", changed).unwrap();
        let outcome = compare_records(&open(storage.clone(), "index").unwrap(), &mut nothing_to_do);
        assert!(matches!(outcome, Err(Error { cause: Cause::Changed, .. })), "byte {at}: {outcome:?}");
    }
    for length in [0, 8, data.len() - 1, data.len() + 1] {
        let mut changed = data.clone();
        changed.resize(length, 0);
        storage.put("data", changed).unwrap();
        assert!(matches!(open(storage.clone(), "index"), Err(Error { cause: Cause::Changed, .. })), "{length} bytes");
    }
    storage.put("data", data).unwrap();
    compare_records(&open(storage.clone(), "index").unwrap(), &mut nothing_to_do).unwrap();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "another program writes the data, past the seam")]
fn a_later_time_of_modification_is_seen_by_opening() {
    let folder = tempfile::tempdir().unwrap();
    let data = sosd(&numbers(&[1, 2, 3], 0));
    std::fs::write(folder.path().join("data"), &data).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder.path()));
    index_records(storage.clone(), "data", "index", RecordFile::sosd(0), TableWriteOptions::default()).unwrap();
    open(storage.clone(), "index").unwrap();
    let file = std::fs::File::options().write(true).open(folder.path().join("data")).unwrap();
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(5)).unwrap();
    let outcome = open(storage, "index");
    assert!(matches!(outcome, Err(Error { cause: Cause::Changed, .. })), "{outcome:?}");
}

/// Writes a table for NVMe, indexes it for an object store, and compares both with the records.
fn check_second_index(records: &[Record], options: TableWriteOptions, name: &str) -> (Arc<MemoryStorage>, TableReport) {
    let storage = Arc::new(MemoryStorage::new());
    let mut writer = TableWriter::create((storage.clone(), "table"), options.clone()).unwrap();
    records.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
    let written = writer.finish().unwrap();
    let before = storage.content("table").unwrap();
    let second = TableWriteOptions::default()
        .profile(Profile::named("s3").unwrap())
        .filter_bits_per_key(options.filter_bits_per_key.map(|bits| bits + 2))
        .properties(vec![("where".into(), b"far".to_vec())]);
    let report = index_table(storage.clone(), "table", "index", second).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(storage.content("table").unwrap(), before, "{name}: the table was touched");
    let table = open(storage.clone(), "index").unwrap();
    assert_eq!(table.explain(), report, "{name}");
    assert_eq!((report.records, report.blocks, &report.key_type), (written.records, written.blocks, &written.key_type));
    assert_eq!((table.property("where"), table.property("of")), (Some(&b"far"[..]), Some(&b"table"[..])));
    check(&table, records, name);
    compare_records(&table, &mut nothing_to_do).unwrap();
    (storage, report)
}

fn of_table() -> Vec<(String, Vec<u8>)> {
    vec![("of".into(), b"table".to_vec())]
}

#[test]
fn a_second_index_for_dense_numbers_answers_as_the_table() {
    for (i, (name, keys)) in key_sets::nasty(3000).into_iter().enumerate() {
        let options = TableWriteOptions::default()
            .key_type(KeyType::U64)
            .value_width(8)
            .block_bytes([512, 4096][i % 2])
            .properties(of_table());
        check_second_index(&numbers(&keys, 8), options, name);
    }
}

#[test]
fn a_second_index_for_strings_long_values_and_packed_blocks_answers_as_the_table() {
    let mut random = Random::new(6);
    let keys = words(20_000, &mut random);
    let value = |i: usize| vec![(i % 7) as u8; if i % 2000 == 1999 { 100_000 } else { i % 60 }];
    let paths: Vec<Record> = keys.iter().enumerate().map(|(i, key)| (key.clone(), value(i))).collect();
    let few: Vec<Record> = paths.iter().take(3).cloned().collect();
    let equal: Vec<Record> = (0..3000_usize).map(|i| (b"same".to_vec(), i.to_le_bytes().to_vec())).collect();
    let prefixes: Vec<Record> = (0..900).map(|i| (vec![0; i], vec![i as u8])).collect();
    let huge: Vec<Record> = (0..40_u8).map(|i| ([vec![i / 3; 60_000], vec![i]].concat(), vec![i])).collect();
    for (name, records) in [
        ("paths", &paths),
        ("few", &few),
        ("equal", &equal),
        ("prefixes", &prefixes),
        ("huge", &huge),
        ("none", &vec![]),
    ] {
        for (compression, filter_bits_per_key) in [(Compression::None, None), (Compression::Lz4, Some(8))] {
            let options = TableWriteOptions::default()
                .block_bytes(512)
                .compression(compression)
                .filter_bits_per_key(filter_bits_per_key)
                .properties(of_table());
            let (storage, report) = check_second_index(records, options, &format!("{name}, {filter_bits_per_key:?}"));
            assert_eq!(report.filter_bytes > 0, filter_bits_per_key.is_some() && !records.is_empty());
            let index = open(storage, "index").unwrap();
            for (key, value) in records.iter().filter(|(_, value)| value.len() > 1000) {
                let mut read = Vec::new();
                index.value_reader(key).unwrap().unwrap().read_to_end(&mut read).unwrap();
                assert!(index.get_all(key).unwrap().contains(value));
                assert_eq!(index.get(key).unwrap(), Some(read));
            }
        }
    }
}

#[test]
fn a_second_index_for_tagged_records_finds_their_versions() {
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().versioned(true).block_bytes(512);
    let mut writer = TableWriter::create((storage.clone(), "table"), options).unwrap();
    for key in [b"a", b"b"] {
        (0..300_u64).rev().for_each(|suffix| writer.append_version(key, 1, suffix, &suffix.to_le_bytes()).unwrap());
    }
    writer.finish().unwrap();
    index_table(storage.clone(), "table", "index", TableWriteOptions::default()).unwrap();
    let index = open(storage, "index").unwrap();
    assert_eq!(
        index.get_version(b"b", 77).unwrap(),
        Some(RecordVersion { kind: 1, sequence: 77, value: 77_u64.to_le_bytes().to_vec() })
    );
    assert_eq!(index.get_all(b"a").unwrap().len(), 300);
}

#[test]
fn strings_cost_a_second_index_few_bytes_a_block() {
    let keys: Vec<Vec<u8>> = (0..60_000_u64).map(|i| format!("/srv/data/{:012}", i * i).into_bytes()).collect();
    let records: Vec<Record> = keys.into_iter().map(|key| (key, vec![1; 8])).collect();
    let options = TableWriteOptions::default().block_bytes(4096).properties(of_table());
    let (_, report) = check_second_index(&records, options, "paths of numbers");
    assert!(report.index_bytes < 10 * report.blocks, "{} bytes for {} blocks", report.index_bytes, report.blocks);
}

#[test]
fn a_table_that_was_replaced_damaged_or_is_an_index_itself_is_told_apart() {
    let storage = MemoryStorage::new();
    let write = |records: &[Record]| {
        let options = TableWriteOptions::default().key_type(KeyType::U64).value_width(8).replace(true);
        let mut writer = TableWriter::create((Arc::new(storage.clone()), "table"), options).unwrap();
        records.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
        writer.finish().unwrap();
    };
    let index = |name: &str, index: &str, replace: bool| {
        index_table(Arc::new(storage.clone()), name, index, TableWriteOptions::default().replace(replace))
    };
    let records = numbers(&(0..2000).collect::<Vec<_>>(), 8);
    write(&records);
    index("table", "index", false).unwrap();
    let own_name = index("table", "table", true);
    assert!(matches!(own_name, Err(Error { cause: Cause::Input, .. })), "{own_name:?}");
    let chained = index("index", "other", false).unwrap_err();
    assert!(
        matches!(&chained, error @ Error { cause: Cause::Input, .. } if error.detail().contains("new index for table")),
        "{chained}"
    );
    write(&records);
    let replaced = open(Arc::new(storage.clone()), "index").and_then(|table| table.get(&7_u64.to_be_bytes()));
    assert!(matches!(replaced, Err(Error { cause: Cause::Changed, .. })), "{replaced:?}");
    write(&records[..1]);
    let shorter = open(Arc::new(storage.clone()), "index").and_then(|table| table.get(&7_u64.to_be_bytes()));
    assert!(matches!(shorter, Err(Error { cause: Cause::Changed, .. })), "{shorter:?}");
    let mut damaged = storage.content("table").unwrap();
    damaged[0] ^= 1;
    storage.put("table", damaged).unwrap();
    assert!(matches!(index("table", "third", false), Err(Error { cause: Cause::Damaged, .. })));
    storage.remove("table").unwrap();
    assert!(matches!(open(Arc::new(storage.clone()), "index"), Err(Error { cause: Cause::Io(_), .. })));
    assert!(!storage.exists("third").unwrap());
}

type Work = fn(Arc<dyn Storage>) -> Result<TableReport>;

/// Data of both kinds, and the indexing operation of each.
fn both_kinds() -> (Vec<(String, Vec<u8>)>, [Work; 2]) {
    let records = numbers(&(0..700_u64).map(|i| i * i).collect::<Vec<_>>(), 8);
    let storage = Arc::new(MemoryStorage::new());
    let options = TableWriteOptions::default().key_type(KeyType::U64).block_bytes(512);
    let mut writer = TableWriter::create((storage.clone(), "table"), options).unwrap();
    records.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
    writer.finish().unwrap();
    let files = vec![("data".into(), sosd(&records)), ("table".into(), storage.content("table").unwrap())];
    (
        files,
        [
            |storage| index_records(storage, "data", "index", RecordFile::sosd(8), TableWriteOptions::default()),
            |storage| index_table(storage, "table", "index", TableWriteOptions::default()),
        ],
    )
}

#[test]
fn a_failing_or_full_disk_leaves_no_index_and_the_data_as_they_were() {
    let (files, works) = both_kinds();
    for work in works {
        for (operation, fault) in [
            (Operation::Open, Fault::DeviceError),
            (Operation::Read, Fault::Short),
            (Operation::Create, Fault::NoSpace),
            (Operation::Write, Fault::NoSpace),
            (Operation::Write, Fault::Short),
            (Operation::Sync, Fault::DeviceError),
            (Operation::Rename, Fault::DeviceError),
        ] {
            let make = || {
                let storage = MemoryStorage::new();
                files.iter().for_each(|(name, content)| storage.put(name, content.clone()).unwrap());
                Arc::new(storage) as Arc<dyn Storage>
            };
            let failed = enumerate_faults(operation, fault, make, work, |at, outcome, storage| {
                assert!(matches!(outcome, Err(Error { cause: Cause::Io(_), .. })), "{operation:?} {at}: {outcome:?}");
                assert_eq!(storage.list().unwrap(), ["data", "table"], "{operation:?} {at}");
            });
            assert!(failed > 0, "{operation:?} was never called");
        }
    }
}

#[test]
fn after_a_crash_the_index_is_wholly_there_or_not_at_all() {
    let (files, works) = both_kinds();
    for work in works {
        let start = SimulatedDisk::with_files(files.clone());
        let report = enumerate_crashes(
            CrashOptions::default(),
            &start,
            |disk| work(Arc::new(disk.clone())).is_ok(),
            |&acknowledged, disk, _| {
                let storage: Arc<dyn Storage> = Arc::new(disk.clone());
                for (name, content) in &files {
                    let file = storage.open(name).map_err(|error| error.to_string())?;
                    if file.len() != content.len() as u64 {
                        return Err(format!("{name} has {} bytes", file.len()));
                    }
                }
                match storage.exists("index").map_err(|error| error.to_string())? {
                    false if acknowledged => Err("an acknowledged index is gone".into()),
                    false => work(storage).map(|_| ()).map_err(|error| format!("not made again: {error}")),
                    true => {
                        let table = open(storage, "index").map_err(|error| error.to_string())?;
                        let all: Result<Vec<Record>> = table.iter().collect();
                        all.map(|all| assert_eq!(all.len(), 700)).map_err(|error| error.to_string())
                    }
                }
            },
        )
        .unwrap_or_else(|failure| panic!("{failure}"));
        assert!(report.points > 3);
    }
}
