//! Tests of files with known faults of earlier versions. Goal: tables and stores that earlier programs wrote wrongly,
//! or locked, are identified, open, answer correctly, and can be repaired. Method: `fixtures` written by such programs:
//! a table and a store whose indexes deny keys that scans show, and a store that no flush could ever write.

use crate::support::{LEAST_MEMORY, copy_of, in_any_memory};
use ogive::check::{repair_store, verify_store};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Error, KeyType};
use std::sync::Arc;

const MISLED_TABLE: &[u8] = include_bytes!("../fixtures/misled.ogive");
const MISLED_STORE: &[(&str, &[u8])] = &[
    ("000005.log", include_bytes!("../fixtures/misled-store/000005.log")),
    ("000006.table", include_bytes!("../fixtures/misled-store/000006.table")),
    ("000007.manifest", include_bytes!("../fixtures/misled-store/000007.manifest")),
];
/// The files of a store as records of a table: name, colon and offset, with their bytes in hexadecimal.
const LOCKED_STORE: &[u8] = include_bytes!("../fixtures/locked-store.ogive");

fn with(files: &[(&str, &[u8])]) -> Arc<dyn Storage> {
    let storage = MemoryStorage::new();
    files.iter().for_each(|(name, content)| storage.put(name, content.to_vec()).unwrap());
    Arc::new(storage)
}

fn options() -> DbOptions {
    DbOptions::default().create(false).threads(0)
}

/// The keys of the faulty table and store: a long prefix, and a number.
fn key(prefix: usize, number: u32) -> Vec<u8> {
    [vec![b'p'; prefix], format!("{number:05}").into_bytes()].concat()
}

#[test]
fn a_table_that_denies_keys_is_named_and_healed_by_building_it_anew_from_a_scan() {
    let storage = with(&[("t", MISLED_TABLE)]);
    let table = Table::open(Arc::clone(&storage), "t", &TableOptions::default()).unwrap();
    let keys: Vec<Vec<u8>> = (1..=4000).map(|number| key(6000, number)).collect();
    let denied = keys.iter().step_by(50).filter(|key| table.get(key).unwrap().is_none()).count();
    assert!(denied > 0, "this is no fixture of the mistake");
    let report = table.verify(&mut |_, _| {}).unwrap();
    assert!(!report.is_sound());

    let options = TableWriteOptions::default().key_type(KeyType::Text);
    let mut writer = TableWriter::create(Arc::clone(&storage), "new", options).unwrap();
    let mut records = 0;
    for record in table.iter() {
        let (key, value) = record.unwrap();
        writer.append(&key, &value).unwrap();
        records += 1;
    }
    assert_eq!(records, keys.len(), "the scan is complete");
    writer.finish().unwrap();
    let table = Table::open(storage, "new", &TableOptions::default()).unwrap();
    assert!(keys.iter().step_by(7).all(|key| table.get(key).unwrap().is_some()));
    assert!(table.verify(&mut |_, _| {}).unwrap().is_sound());
}

#[test]
fn a_table_that_denies_keys_is_not_taken_into_a_store() {
    let db = Db::open_in(with(&[]), &options().create(true)).unwrap();
    let refused = db.ingest_from(&[(with(&[("t", MISLED_TABLE)]), "t".to_owned())]);
    assert!(matches!(refused, Err(Error::Damaged { .. })), "{refused:?}");
    assert_eq!(db.tables().len(), 0);
}

/// Checks all answers of the store.
fn answers(db: &Db) {
    answers_of_each(db, 1);
}

/// Checks the answers for every `step`-th key.
fn answers_of_each(db: &Db, step: usize) {
    let keys: Vec<Vec<u8>> = (1..=3000).map(|number| key(1000, number)).collect();
    let shown: Vec<Vec<u8>> = db.iter().map(|record| record.unwrap().0.to_vec()).collect();
    assert_eq!(shown, keys);
    for (place, key) in keys.iter().enumerate().step_by(step) {
        assert!(db.get(key).unwrap().is_some(), "{place} is denied");
        let absent = [&key[..], b"5"].concat();
        assert!(db.get(&absent).unwrap().is_none());
        if place % (100 * step) == 0 {
            let next: Vec<_> = db.range(&key[..]..).take(3).map(|record| record.unwrap().0.to_vec()).collect();
            assert_eq!(next, keys[place..][..3]);
            let before = db.range(..&absent[..]).next_back().unwrap().unwrap();
            assert_eq!(before.0.to_vec(), *key);
        }
    }
}

fn numbers(db: &Db) -> Vec<u64> {
    db.tables().iter().map(|table| table.number).collect()
}

/// Checks that a store is sound, and answers correctly with any memory.
fn is_healed(storage: &Arc<dyn Storage>) {
    let report = verify_store(storage, &mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings.first());
    in_any_memory(&**storage, &options(), |db| answers_of_each(db, 10));
}

#[test]
fn a_store_whose_index_denies_keys_is_named_and_answers_right_all_the_same() {
    let storage = with(MISLED_STORE);
    let report = verify_store(&storage, &mut |_, _| {}).unwrap();
    assert!(report.findings.iter().any(|finding| finding.file == "000006.table"), "{report:?}");
    answers(&Db::open_read_only_in(Arc::clone(&storage), &options()).unwrap());
    in_any_memory(&*storage, &options(), |db| answers_of_each(db, 10));
}

#[test]
fn repair_heals_a_store_whose_index_denies_keys() {
    let storage = with(MISLED_STORE);
    let repaired = repair_store(&storage, &mut |_, _| {}).unwrap();
    assert_eq!((repaired.saved_entries, repaired.lost_entries), (3000, 0), "{repaired:?}");
    assert!(!storage.exists("000006.table").unwrap());
    is_healed(&storage);
}

#[test]
fn compaction_heals_a_store_whose_index_denies_keys() {
    let storage = with(MISLED_STORE);
    let db = Db::open_in(Arc::clone(&storage), &options()).unwrap();
    db.compact().unwrap();
    assert!(!numbers(&db).contains(&6), "it was moved, and not written anew");
    answers(&db);
    db.close().unwrap();
    is_healed(&storage);
}

/// A compaction in parts starts reads in the middle of the table, where a faulty index would mislead it.
#[test]
fn compaction_in_parts_loses_nothing_that_an_index_denies() {
    let storage = with(MISLED_STORE);
    let options = options().threads(4);
    let db = Db::open_in(Arc::clone(&storage), &options).unwrap();
    for number in (1..=3000).step_by(700) {
        db.insert(key(1000, number), b"").unwrap();
        db.flush().unwrap();
    }
    db.compact().unwrap();
    answers(&db);
    db.close().unwrap();
    is_healed(&storage);
}

#[test]
fn background_work_heals_a_store_whose_index_denies_keys() {
    let storage = with(MISLED_STORE);
    let db = Db::open_in(Arc::clone(&storage), &options()).unwrap();
    db.insert(key(1000, 7), b"").unwrap();
    db.flush().unwrap();
    // Without threads, due work is run by the calls that make work due.
    db.ingest_from(&[]).unwrap();
    assert!(!numbers(&db).contains(&6), "{:?}", db.tables());
    answers(&db);
    db.close().unwrap();
    is_healed(&storage);
}

/// The store that could not be opened.
fn locked() -> Arc<dyn Storage> {
    let packed = Table::open(with(&[("t", LOCKED_STORE)]), "t", &TableOptions::default()).unwrap();
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for record in packed.iter() {
        let (key, value) = record.unwrap();
        let (name, _) = std::str::from_utf8(&key).unwrap().split_once(':').unwrap();
        if files.last().is_none_or(|(last, _)| last != name) {
            files.push((name.to_owned(), Vec::new()));
        }
        let digits = std::str::from_utf8(&value).unwrap();
        let bytes = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap());
        files.last_mut().unwrap().1.extend(bytes);
    }
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
    with(&files)
}

#[test]
fn a_store_that_no_flush_could_write_out_opens_and_is_written_again() {
    let keys: Vec<Vec<u8>> = (0..30).map(|number| vec![b'a'; 40_000 + 10 * number]).collect();
    let holds = |db: &Db| {
        assert!(db.iter().map(|record| record.unwrap().0.to_vec()).eq(keys.iter().cloned()));
        assert!(keys.iter().all(|key| db.get(key).unwrap().is_some()));
    };
    let storage = locked();
    holds(&Db::open_read_only_in(Arc::clone(&storage), &options()).unwrap());
    in_any_memory(&*storage, &options(), holds);
    let db = Db::open_in(Arc::clone(&storage), &options()).unwrap();
    db.insert(&keys[3], b"again").unwrap();
    db.compact().unwrap();
    assert!(!db.tables().is_empty());
    holds(&db);
    db.close().unwrap();
    assert!(verify_store(&storage, &mut |_, _| {}).unwrap().is_sound());
    in_any_memory(&*storage, &options(), holds);
    let least = options().memory_bytes(LEAST_MEMORY);
    holds(&Db::open_in(storage, &least).unwrap());

    // A repair finds nothing to do, and does no harm.
    let storage: Arc<dyn Storage> = copy_of(&*locked());
    repair_store(&storage, &mut |_, _| {}).unwrap();
    in_any_memory(&*storage, &options(), holds);
}
