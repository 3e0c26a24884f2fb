//! Fault tests of tables. Goal: device failures, full disks, and interrupted reads and writes give typed errors and
//! leave nothing incomplete behind. Method: every call of every kind fails once, in each way, while a table is written
//! and while it is read; then the storage is inspected without the fault.

use ogive::io::{MemoryStorage, Storage};
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Cause, Error, KeyType, Result};
use ogive_testkit::{Fault, FaultInjector, Operation, enumerate_faults};
use std::sync::Arc;

const FAULTS: [Fault; 5] =
    [Fault::DeviceError, Fault::NoSpace, Fault::Short, Fault::TooManyOpenFiles, Fault::SystemTooManyOpenFiles];

fn options(replace: bool) -> TableWriteOptions {
    TableWriteOptions::default()
        .key_type(KeyType::U64)
        .block_bytes(512)
        .design("layers=2,builder=gband/gstep,lambda=512/512".parse().unwrap())
        .filter_bits_per_key(10)
        .replace(replace)
}

fn value(i: u64) -> Vec<u8> {
    vec![i as u8; if i % 400 == 200 { 700_000 } else { 20 }]
}

fn write(storage: Arc<dyn Storage>, records: u64) -> Result<()> {
    let mut writer = TableWriter::create((storage, "t"), options(true))?;
    for i in 0..records {
        writer.append(&(i * 5).to_be_bytes(), &value(i))?;
    }
    writer.finish().map(|_| ())
}

fn table_of(storage: Arc<dyn Storage>) -> Table {
    Table::open((storage, "t"), &TableOptions::default()).unwrap()
}

/// A storage with an older table of ten records.
fn with_old() -> Arc<dyn Storage> {
    let storage = Arc::new(MemoryStorage::new());
    write(storage.clone(), 10).unwrap();
    storage
}

#[test]
fn whatever_fails_while_a_table_is_written_leaves_the_old_one_or_the_new_one() {
    for operation in Operation::ALL {
        for fault in FAULTS {
            let check = |at: u64, outcome: Result<()>, storage: Arc<dyn Storage>| {
                let what = format!("{operation:?} {at}, {fault:?}");
                // The writer opens and reads to check what it replaces, and removes to clean up.
                let error = match outcome {
                    Err(error) => error,
                    Ok(()) => panic!("{what}: the failure was not reported"),
                };
                assert!(matches!(error, Error { cause: Cause::Io(_) | Cause::Poisoned, .. }), "{what}: {error}");
                let table = table_of(storage.clone());
                let is_new = operation == Operation::SyncDirectory;
                assert_eq!(table.len(), if is_new { 1000 } else { 10 }, "{what}");
                assert!(table.verify(&mut |_, _| {}).unwrap().is_sound(), "{what}");
                assert_eq!(storage.list().unwrap(), ["t"], "{what}");
            };
            let failed = enumerate_faults(operation, fault, with_old, |storage| write(storage, 1000), check);
            let expected = operation != Operation::Remove;
            assert_eq!(failed > 0, expected, "{operation:?} was failed {failed} times");
        }
    }
}

#[test]
fn a_writer_that_failed_refuses_to_go_on() {
    for fault in FAULTS {
        let storage = FaultInjector::new(Arc::new(MemoryStorage::new()));
        let mut writer = TableWriter::create((Arc::new(storage.clone()), "t"), options(false)).unwrap();
        storage.fail_once(Operation::Write, 0, fault);
        let large = vec![1; 3 << 20];
        assert!(writer.append(&1_u64.to_be_bytes(), &large).is_err());
        assert!(matches!(writer.append(&2_u64.to_be_bytes(), &large), Err(Error { cause: Cause::Poisoned, .. })));
        assert!(matches!(writer.finish(), Err(Error { cause: Cause::Poisoned, .. })));
        assert!(storage.list().unwrap().is_empty());
    }
}

#[test]
fn a_stream_that_fails_closes_the_writer() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the source is gone"))
        }
    }
    let storage = Arc::new(MemoryStorage::new());
    let mut writer = TableWriter::create((storage.clone(), "t"), options(false)).unwrap();
    writer.append(&1_u64.to_be_bytes(), b"one").unwrap();
    assert!(matches!(writer.append_stream(&2_u64.to_be_bytes(), &mut Broken), Err(Error { cause: Cause::Io(_), .. })));
    writer.append(&3_u64.to_be_bytes(), b"three").unwrap();
    assert!(matches!(writer.finish(), Err(Error { cause: Cause::Poisoned, .. })));
    assert!(storage.list().unwrap().is_empty());
}

/// Runs every query on a storage that fails once; each answer is right or an error.
fn read(storage: Arc<dyn Storage>) -> Vec<Error> {
    let mut errors = Vec::new();
    let table = match Table::open((storage, "t"), &TableOptions::default().memory_bytes(4 << 20)) {
        Ok(table) => table,
        Err(error) => return vec![error],
    };
    for i in (0..1000).step_by(90) {
        match table.get(&(i * 5_u64).to_be_bytes()) {
            Ok(found) => assert_eq!(found, Some(value(i))),
            Err(error) => errors.push(error),
        }
        match table.get(&(i * 5 + 1_u64).to_be_bytes()) {
            Ok(found) => assert_eq!(found, None),
            Err(error) => errors.push(error),
        }
        match table.rank(&(i * 5_u64).to_be_bytes()) {
            Ok(rank) => assert_eq!(rank, i),
            Err(error) => errors.push(error),
        }
    }
    let keys: Vec<[u8; 8]> = (0..100_u64).map(|i| (i * 11).to_be_bytes()).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_slice()).collect();
    match table.multi_get(&keys) {
        Ok(found) => assert!((0..100_u64).all(|i| found[i as usize].is_some() == (i * 11 % 5 == 0))),
        Err(error) => errors.push(error),
    }
    let mut scan = table.iter();
    let mut count = 0;
    loop {
        match scan.next() {
            Some(Ok(_)) => count += 1,
            Some(Err(error)) => {
                errors.push(error);
                assert!(scan.next().is_none(), "an iterator that failed stays failed");
                break;
            }
            None => {
                assert_eq!(count, 1000, "a scan ended early without an error");
                break;
            }
        }
    }
    match table.verify(&mut |_, _| {}) {
        Ok(report) => assert!(report.is_sound(), "{:?}", report.findings),
        Err(error) => errors.push(error),
    }
    errors
}

#[test]
fn whatever_read_fails_is_an_error_and_never_a_wrong_answer() {
    let storage = Arc::new(MemoryStorage::new());
    write(storage.clone(), 1000).unwrap();
    assert!(read(storage.clone()).is_empty());
    for fault in FAULTS {
        for operation in [Operation::Open, Operation::Read] {
            let make = || -> Arc<dyn Storage> { storage.clone() };
            let check = |at: u64, errors: Vec<Error>, _: Arc<dyn Storage>| {
                assert_eq!(errors.len(), 1, "{operation:?} {at}, {fault:?}: {errors:?}");
                assert!(
                    matches!(errors[0], Error { cause: Cause::Io(_), .. }),
                    "{operation:?} {at}, {fault:?}: {errors:?}"
                );
            };
            assert!(enumerate_faults(operation, fault, make, read, check) > 0);
        }
    }
}
