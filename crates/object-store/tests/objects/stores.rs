//! Stores on object stores through the adapter. Goal: the rounds and requests that the document states, and the same
//! answers by plain calls and futures. Method: a store of several levels in a store that counts requests by waves.

use crate::faulty_store::FaultyStore;
use futures_util::TryStreamExt;
use futures_util::future::try_join_all;
use ogive::io::{Profile, Storage};
use ogive::lsm::checkpoint_store;
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::{Cause, Db, DbOptions, Error, KeyType, Result};
use ogive_object_store::{ObjectOptions, ObjectStorage, open_read_only};
use std::sync::Arc;

const RECORDS: u64 = 20_000;

fn options() -> DbOptions {
    let small = DbOptions::default()
        .writes(|writes| writes.memtable_bytes(64 << 10))
        .levels(|levels| levels.table_bytes(64 << 10).level_bytes(128 << 10).level_factor(2));
    small
        .objects(|objects| objects.gather_ms(0))
        .levels(|levels| levels.filter_bits_per_key(Some(20)))
        .profile(Profile::named("s3").unwrap())
}

fn storage(store: &Arc<FaultyStore>) -> ObjectStorage {
    folder(store, "fruit")
}

fn folder(store: &Arc<FaultyStore>, name: &str) -> ObjectStorage {
    let options = ObjectOptions::default().backoff_ms(1);
    ObjectStorage::new(store.clone(), name, &format!("test://bucket/{name}"), &options).unwrap()
}

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

fn value(number: u64) -> Vec<u8> {
    [&number.to_le_bytes()[..], b" and some more bytes, so that there are several blocks and levels"].concat()
}

/// A store of several levels, whose writer has ended as told.
fn filled(is_closed: bool) -> Arc<FaultyStore> {
    let store = FaultyStore::new();
    let db = Db::open(Arc::new(storage(&store)), &options()).unwrap();
    for first in (0..RECORDS).step_by(500) {
        let mut batch = db.batch();
        (first..first + 500).for_each(|number| _ = batch.insert(&db, key(number), value(number)));
        batch.commit().unwrap();
    }
    if is_closed {
        db.close().unwrap()
    } else {
        drop(db)
    }
    store
}

#[test]
fn a_reader_opens_a_store_in_three_rounds_and_gets_with_one_request() {
    for is_closed in [true, false] {
        let store = filled(is_closed).copy_in_waves();
        let db = Db::open_read_only(Arc::new(storage(&store)), &options()).unwrap();
        // The manifest, then the logs and the filters, behind the listing.
        let counts = store.take_counts();
        assert!(counts.waves.len() <= 2 && counts.rounds <= 3, "{counts:?}");
        assert_eq!((counts.lists, counts.heads, counts.puts), (1, 0, 0), "closed: {is_closed}");
        for number in 0..20 {
            assert_eq!(db.get(key(number)).unwrap().as_deref(), Some(&value(number)[..]));
        }
        store.take_counts();
        for number in (RECORDS / 2..RECORDS).step_by(701) {
            assert_eq!(db.get(key(number)).unwrap().as_deref(), Some(&value(number)[..]));
            let counts = store.take_counts();
            assert!(counts.gets <= 1 && counts.heads == 0, "{number}: {counts:?}");
        }
        for number in RECORDS..RECORDS + 200 {
            assert_eq!(db.get(key(number)).unwrap(), None);
        }
        assert!(store.take_counts().gets <= 4, "false positives of filters");
    }
}

#[test]
fn a_scan_moves_to_its_first_record_in_one_round() {
    let store = filled(true).copy_in_waves();
    let db = Db::open_read_only(Arc::new(storage(&store)), &options()).unwrap();
    let levels = &db.stats().keyspaces[0].levels;
    assert!(levels.iter().filter(|level| level.tables > 0).count() >= 3, "{levels:?}");
    let mut waves = Vec::new();
    for place in 1..8_u64 {
        let from = (place << 61).to_be_bytes();
        for backward in [false, true] {
            store.take_counts();
            let found = match backward {
                false => db.range(from..).next(),
                true => db.range(..from).next_back(),
            };
            assert!(found.is_some_and(|record| record.is_ok()));
            waves.push(store.take_counts().waves.len());
        }
    }
    // Another round where a place lies between two blocks.
    assert!(waves.iter().all(|&waves| waves <= 2), "{waves:?}");
    assert!(waves.iter().filter(|&&waves| waves <= 1).count() >= waves.len() - 4, "{waves:?}");
}

#[test]
fn futures_of_a_store_answer_as_plain_calls_do() {
    let store = filled(false);
    let plain = Db::open_read_only(Arc::new(storage(&store)), &options()).unwrap();
    let expected: Vec<_> =
        plain.iter().map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect();
    let expected = expected.into_iter().collect::<Result<Vec<_>>>().unwrap();
    assert_eq!(expected.len() as u64, RECORDS);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let compared: Result<()> = runtime.block_on(async {
        let db = open_read_only(&storage(&store), &options()).await?;
        let keyspace = db.db().keyspace("default")?;
        let keys: Vec<[u8; 8]> = (0..RECORDS + 300).step_by(97).map(key).collect();
        let found = try_join_all(keys.iter().map(|key| db.get(&keyspace, key))).await?;
        let asked: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let together = db.multi_get(&keyspace, &asked).await?;
        for ((key, found), together) in keys.iter().zip(found).zip(together) {
            let expected = plain.get(key)?.map(|value| value.to_vec());
            assert_eq!(found.map(|value| value.to_vec()), expected);
            assert_eq!(together.map(|value| value.to_vec()), expected);
        }
        let records = db.range::<&[u8]>(&keyspace, ..);
        let all: Vec<_> = records.map_ok(|(key, value)| (key.to_vec(), value.to_vec())).try_collect().await?;
        assert!(all == expected);
        Ok(())
    });
    compared.unwrap();
}

#[test]
fn a_file_that_the_writer_removed_is_a_version_that_is_gone() {
    let store = filled(true);
    let reader = Arc::new(storage(&store));
    let db = Db::open_read_only(reader.clone(), &options()).unwrap();
    let (number, is_open) = (0..2).map(|number| (number, db.get(key(number)).unwrap().is_some())).next_back().unwrap();
    assert!(is_open);
    for name in reader.list().unwrap().iter().filter(|name| name.ends_with(".table")) {
        reader.remove(name).unwrap();
    }
    let errors = (number..RECORDS).filter_map(|number| db.get(key(number)).err());
    let errors: Vec<Error> = errors.take(50).collect();
    assert_eq!(errors.len(), 50);
    assert!(errors.iter().all(|error| matches!(error, Error { cause: Cause::VersionGone, .. })), "{:?}", errors[0]);
}

#[test]
fn copies_and_ingestions_within_a_store_move_no_tables() {
    let store = filled(true);
    let source: Arc<dyn Storage> = Arc::new(storage(&store));
    let bytes_of = |storage: &Arc<dyn Storage>| -> u64 {
        let names = storage.list().unwrap();
        let tables = names.iter().filter(|name| name.ends_with(".table"));
        tables.map(|name| storage.open(name).unwrap().len()).sum()
    };
    let table_bytes = bytes_of(&source);
    let copy: Arc<dyn Storage> = Arc::new(folder(&store, "copy"));
    store.take_counts();
    checkpoint_store(&source, &copy).unwrap();
    let counts = store.take_counts();
    // The claim on the copy is put again while it lasts, on a machine that has other things to do.
    assert!(counts.puts <= 9 && counts.uploads == 0, "{counts:?}");
    // The source still has tables that wait for their removal.
    assert!((1..=table_bytes).contains(&bytes_of(&copy)));
    let db = Db::open(copy, &options()).unwrap();
    (0..RECORDS).step_by(97).for_each(|number| {
        assert_eq!(db.get(key(number)).unwrap().as_deref(), Some(&value(number)[..]));
    });

    let worker: Arc<dyn Storage> = Arc::new(folder(&store, "worker"));
    let mut writer =
        TableWriter::create((worker.clone(), "part"), TableWriteOptions::default().key_type(KeyType::U64)).unwrap();
    (0..20_000_u64).for_each(|number| writer.append(&(1 + number).to_be_bytes(), &value(number)).unwrap());
    let part_bytes = writer.finish().unwrap().file_bytes;
    drop(db);
    let db = Db::open(Arc::new(folder(&store, "taker")), &DbOptions::default()).unwrap();
    store.take_counts();
    db.ingest_from(&[(worker.clone(), "part".to_owned())]).unwrap();
    let counts = store.take_counts();
    // It is verified, so read; and not written.
    assert!(counts.puts <= 3 && counts.uploads == 0, "{counts:?}, {part_bytes} bytes");
    assert!(worker.exists("part").unwrap());
    assert_eq!(db.get(5_u64.to_be_bytes()).unwrap().as_deref(), Some(&value(4)[..]));
}
