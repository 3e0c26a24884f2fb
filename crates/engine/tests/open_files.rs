//! Goal: a store of any number of files works with few file handles. Method: stores in real folders with more tables,
//! or more value files, than their storage may have open, held against what was written into them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(unix)]

use ogive::KeyType;
use ogive::io::{LocalStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::table::{TableWriteOptions, TableWriter};
use std::sync::Arc;

const HANDLES: usize = 64;
/// Records of a table.
const RECORDS: u64 = 3;

/// Each table that is ingested is larger than what small neighbours are merged into.
fn options() -> DbOptions {
    DbOptions::default().threads(0).memory_bytes(512 << 20).levels(|levels| levels.table_bytes(4 << 10))
}

fn value(key: u64) -> Vec<u8> {
    format!("value of {key}").into_bytes()
}

/// Number of tables whose key ranges overlap, so that a compaction has something to merge.
const GROUP: u64 = 4;

/// The keys of a table. Those of all tables follow each other.
fn keys(table: u64) -> impl Iterator<Item = u64> {
    let first = table / GROUP * GROUP * RECORDS + table % GROUP;
    (0..RECORDS).map(move |i| first + i * GROUP)
}

/// A store that has ingested this number of tables, a multiple of [`GROUP`].
fn store_of(storage: &LocalStorage, folder: &std::path::Path, tables: u64) -> Db {
    let sources: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder).with_open_files(HANDLES));
    let mut files = Vec::new();
    for table in 0..tables {
        let name = format!("{table}.ogive");
        let options = TableWriteOptions::default().key_type(KeyType::U64);
        let mut writer = TableWriter::create((Arc::clone(&sources), &name), options).unwrap();
        keys(table).for_each(|key| writer.append(&key.to_be_bytes(), &value(key)).unwrap());
        writer.finish().unwrap();
        files.push((Arc::clone(&sources), name));
    }
    let db = Db::open(Arc::new(storage.clone()), &options()).unwrap();
    assert_eq!(db.ingest_from(&files).unwrap().tables, tables);
    db
}

/// Looks up a key of each table, in an order that no cache likes, and reads everything in order.
fn check(db: &Db, tables: u64) {
    for at in 0..tables {
        let key = at * 611 % tables * RECORDS + at % RECORDS;
        assert_eq!(db.get(key.to_be_bytes()).unwrap().as_deref(), Some(&value(key)[..]), "{key}");
    }
    let mut next = 0_u64;
    for record in db.iter() {
        let (key, found) = record.unwrap();
        assert_eq!((&key[..], &found[..]), (&next.to_be_bytes()[..], &value(next)[..]));
        next += 1;
    }
    assert_eq!(next, tables * RECORDS);
}

fn work_with(tables: u64) {
    let (folder, sources) = (tempfile::tempdir_in(".").unwrap(), tempfile::tempdir_in(".").unwrap());
    let path = folder.path().join("store");
    LocalStorage::create_folder(&path).unwrap();
    let storage = LocalStorage::new(&path).with_open_files(HANDLES);
    let db = store_of(&storage, sources.path(), tables);
    check(&db, tables);
    db.close().unwrap();
    let db = Db::open(Arc::new(storage.clone()), &options()).unwrap();
    check(&db, tables);
    db.checkpoint(folder.path().join("copy")).unwrap();
    // What is removed by the compaction is still read by who began before it.
    let snapshot = db.snapshot();
    let mut before = snapshot.range::<&[u8]>(&db, ..);
    assert!(before.next().unwrap().is_ok());
    db.insert(u64::MAX.to_be_bytes(), "last").unwrap();
    db.remove(u64::MAX.to_be_bytes()).unwrap();
    db.compact().unwrap();
    assert!(db.tables().len() < tables as usize / 2, "{}", db.tables().len());
    assert_eq!(before.map(Result::unwrap).count() as u64, tables * RECORDS - 1);
    drop(snapshot);
    check(&db, tables);
    db.close().unwrap();
    let counts = storage.open_files();
    assert!(counts.open_max <= HANDLES && counts.reopened > tables, "{counts:?}");
    assert_eq!(counts.open, 0);
    let copy = Db::open(folder.path().join("copy"), &options().open_files(HANDLES)).unwrap();
    assert!(copy.tables().len() as u64 >= tables / GROUP, "{} tables", copy.tables().len());
    check(&copy, tables);
}

#[test]
fn a_thousand_tables_are_opened_read_copied_and_compacted_with_64_handles() {
    work_with(1_000);
}

#[test]
#[ignore = "long: 10 minutes"]
fn ten_thousand_tables_are_opened_read_copied_and_compacted_with_64_handles() {
    work_with(10_000);
}

/// Value files are written and read by one handle; once they are finished it is given back.
#[test]
fn a_hundred_value_files_are_written_read_and_collected_with_16_handles() {
    let folder = tempfile::tempdir_in(".").unwrap();
    let storage = LocalStorage::new(folder.path()).with_open_files(16);
    let options = options()
        .values(|values| values.separation_bytes(0).dead_share(0.01))
        .levels(|levels| levels.level_bytes(u64::MAX / 64));
    let db = Db::open(Arc::new(storage.clone()), &options).unwrap();
    for round in 0..100_u64 {
        db.insert(round.to_be_bytes(), value(round)).unwrap();
        db.insert(b"again", value(round)).unwrap();
        db.flush().unwrap();
    }
    let values = || storage.list().unwrap().iter().filter(|name| name.ends_with(".values")).count();
    let check = |db: &Db| {
        for round in 0..100_u64 {
            assert_eq!(db.get(round.to_be_bytes()).unwrap().as_deref(), Some(&value(round)[..]));
        }
        assert_eq!(db.get(b"again").unwrap().as_deref(), Some(&value(99)[..]));
        assert_eq!(db.iter().count(), 101);
    };
    assert!(values() > 50, "{}", values());
    check(&db);
    db.compact().unwrap();
    check(&db);
    db.close().unwrap();
    check(&Db::open(Arc::new(storage.clone()), &options).unwrap());
    let counts = storage.open_files();
    assert!(counts.open_max <= 20 && counts.reopened > 50, "{counts:?}");
}
