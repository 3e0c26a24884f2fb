//! Tests of opening with other memory limits. Goal: a store can open everything it writes, whatever its memory limit
//! was or is: with less memory it is slower, or reports which option to raise and by how much; data is never lost.
//! Method: keys with separators of maximal length, hundreds of range tombstones, and ingested tables, in stores that
//! are reopened with minimal memory and with more.

use crate::support::{LEAST_MEMORY, collect, in_any_memory};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::tune::DesignRequest;
use ogive::{Advice, Cause, Durability, Error, Setting};
use std::sync::Arc;

fn options() -> DbOptions {
    DbOptions::default().threads(0).durability(Durability::Buffered)
}

fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

/// Checks a scan of all keys, and lookups of every `step`-th key.
fn check(db: &Db, keys: &[Vec<u8>], step: usize) {
    assert!(collect(db.iter()).unwrap().keys().eq(keys));
    for key in keys.iter().step_by(step) {
        assert_eq!(db.get(key).unwrap().as_deref(), Some(&b"v"[..]), "a key of {} bytes", key.len());
    }
}

/// Fills a store with keys, compacts it, writes more, and reopens it with any memory.
fn stays_writable(keys: &[Vec<u8>], options: &DbOptions) -> u64 {
    let storage = memory();
    let db = Db::open(Arc::clone(&storage), options).unwrap();
    keys.iter().for_each(|key| db.insert(key, b"v").unwrap());
    db.compact().unwrap();
    assert!(!db.tables().is_empty());
    db.insert(&keys[0], b"v").unwrap();
    db.flush().unwrap();
    check(&db, keys, 1);
    let report = db.verify(&mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings.first());
    db.close().unwrap();
    in_any_memory(&*storage, options, |db| {
        check(db, keys, 20);
        db.insert(&keys[1], b"v").unwrap();
        db.compact().unwrap();
    });
    // The memory that the store needs when opened read-only.
    match Db::open_read_only(storage, &options.clone().memory_bytes(LEAST_MEMORY)) {
        Ok(_) => LEAST_MEMORY,
        Err(Error { cause: Cause::Memory { needed_bytes, .. }, .. }) => needed_bytes,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn nested_keys_of_any_length_make_tables_that_open_in_the_least_memory() {
    let keys: Vec<Vec<u8>> = (1..5794).step_by(2).map(|length| vec![b'a'; length]).collect();
    assert_eq!(stays_writable(&keys, &options()), LEAST_MEMORY);
    // Written with little memory and with much.
    let keys: Vec<Vec<u8>> = (1..4000).step_by(4).map(|length| vec![b'a'; length]).collect();
    let little = options().memory_bytes(LEAST_MEMORY).writes(|writes| writes.memtable_bytes(256 << 10));
    assert_eq!(stays_writable(&keys, &little), LEAST_MEMORY);
}

#[test]
fn keys_of_64_kib_make_tables_that_open_in_the_least_memory() {
    let prefixed = |number: usize| [vec![b'x'; 65_500], format!("{number:04}").into_bytes()].concat();
    let nested = |number: usize| vec![b'x'; 65_036 + number];
    for keys in [(0..60).map(prefixed).collect::<Vec<_>>(), (0..60).map(nested).collect()] {
        assert_eq!(stays_writable(&keys, &options()), LEAST_MEMORY);
    }
}

/// Range tombstones are resident, so they are part of the memory that a store reports to need.
#[test]
fn range_tombstones_of_long_keys_are_opened_or_the_memory_that_they_take_is_told() {
    let storage = memory();
    let db = Db::open(Arc::clone(&storage), &options()).unwrap();
    let key = |number: usize| [format!("{number:04}").into_bytes(), vec![b'k'; 8000]].concat();
    // Records below the tombstones keep them.
    (0..200).for_each(|number| db.insert(key(number), b"v").unwrap());
    db.flush().unwrap();
    (0..200).step_by(2).for_each(|number| db.remove_range(key(number)..key(number + 1)).unwrap());
    db.flush().unwrap();
    db.close().unwrap();
    let least = options().memory_bytes(LEAST_MEMORY);
    let refused = Db::open_read_only(Arc::clone(&storage), &least).map(drop);
    let Err(Error { cause: Cause::Memory { needed_bytes, given_bytes: LEAST_MEMORY }, .. }) = refused else {
        panic!("{refused:?}")
    };
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("`DbOptions::memory_bytes`") && message.contains(&needed_bytes.to_string()), "{message}");
    in_any_memory(&*storage, &options(), |db| {
        for number in 0..200 {
            assert_eq!(db.get(key(number)).unwrap().is_some(), number % 2 == 1, "{number}");
        }
    });
    let enough = options().memory_bytes(needed_bytes);
    assert_eq!(Db::open_read_only(storage, &enough).unwrap().iter().count(), 100);
}

/// A change for which there is no memory is refused before it is made, and nothing is lost.
#[test]
fn memory_that_is_too_short_for_a_new_table_is_told_before_it_is_part_of_the_store() {
    let (storage, elsewhere) = (memory(), memory());
    // Each separator is as long as a key, and all of them are in the root.
    let keys: Vec<Vec<u8>> = (0..300).map(|number| vec![b'n'; 3100 + 16 * number]).collect();
    let design = DesignRequest::Coded;
    let of_long_separators = TableWriteOptions::default().block_bytes(512).design(design);
    let mut writer = TableWriter::create((Arc::clone(&elsewhere), "t"), of_long_separators).unwrap();
    keys.iter().for_each(|key| writer.append(key, b"v").unwrap());
    writer.finish().unwrap();

    let mut raised = options().memory_bytes(LEAST_MEMORY).writes(|writes| writes.memtable_bytes(64 << 10));
    let mut refusals = 0;
    loop {
        let db = Db::open(Arc::clone(&storage), &raised).unwrap();
        db.insert([refusals], b"v").unwrap();
        let taken = db.ingest_from(&[(Arc::clone(&elsewhere), "t".to_owned())]);
        // Refused or not, the store goes on.
        db.insert([refusals, 1], b"v").unwrap();
        db.flush().unwrap();
        let found = db.iter().count() - 2 * (usize::from(refusals) + 1);
        db.close().unwrap();
        match taken {
            Ok(_) => break assert_eq!(found, keys.len()),
            Err(Error { cause: Cause::Memory { needed_bytes, .. }, .. }) if needed_bytes > raised.memory_bytes => {
                assert_eq!(found, 0, "nothing was taken in");
                raised.memory_bytes = needed_bytes;
                refusals += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    // Later writes need slightly more than was reported.
    assert!((1..=3).contains(&refusals), "{refusals}");
    let has_all = |db: &Db| assert!(keys.iter().all(|key| db.get(key).unwrap().is_some()));
    in_any_memory(&*storage, &options(), has_all);
    // A table written by the store has no such root, so the minimum memory suffices.
    let db = Db::open(Arc::clone(&storage), &options()).unwrap();
    db.compact().unwrap();
    db.close().unwrap();
    has_all(&Db::open(storage, &options().memory_bytes(LEAST_MEMORY)).unwrap());
}

#[test]
fn a_store_without_memory_says_how_much_it_takes() {
    let none = options().memory_bytes(131_072);
    let refused = Db::open(memory(), &none).map(drop);
    let error = refused.unwrap_err();
    assert_eq!(error.cause, Cause::Memory { needed_bytes: LEAST_MEMORY, given_bytes: 131_072 });
    assert_eq!(error.advice(), Some(&Advice::Raise { option: Setting::StoreMemory, to: Some(LEAST_MEMORY) }));
}
