//! Counts of requests. Goal: what the document states for stores on an object store: openings in three rounds, a
//! lookup of a present key with one read, of an absent one with none. Method: a meter around the storage.

use crate::support::small;
use ogive::io::{MemoryStorage, Meter, Purpose, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive_testkit::{Random, SimulatedObjects};
use std::sync::Arc;

/// Number of keys of the large store.
const KEYS: u64 = 60_000;

/// Small tables and levels, so that a store of a few megabytes has five levels; 20 bits a key of filters.
fn leveled() -> DbOptions {
    DbOptions::default()
        .threads(0)
        .memory_bytes(64 << 20)
        .memtable_bytes(32 << 10)
        .table_bytes(32 << 10)
        .level_bytes(40 << 10)
        .level_factor(3)
        .filter_bits_per_key(20)
        .object_gather_ms(0)
}

fn key(number: u64) -> [u8; 8] {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes()
}

/// A store with five levels on an object store.
fn store_of_five_levels() -> Arc<dyn Storage> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
    let db = Db::open_in(Arc::clone(&storage), &leveled()).unwrap();
    let mut random = Random::new(1);
    for _ in 0..KEYS / 100 {
        let mut batch = db.batch();
        for _ in 0..100 {
            batch.insert(&db, key(random.below(KEYS)), random.next_u64().to_be_bytes());
        }
        batch.commit().unwrap();
    }
    db.flush().unwrap();
    let levels = db.stats().keyspaces[0].levels.iter().filter(|level| level.tables > 0).count();
    assert!(levels >= 5, "{levels} levels");
    db.close().unwrap();
    storage
}

#[test]
fn a_cold_lookup_in_five_levels_takes_one_read_and_of_an_absent_key_none() {
    let storage = store_of_five_levels();
    let meter = Meter::new(Arc::clone(&storage));
    // Without a cache, every block is read.
    let mut options = leveled();
    options.fast_paths.cache = false;
    let reader = Db::open_read_only_in(Arc::new(meter.clone()), &options).unwrap();
    let opening = meter.reset();
    let tables: u64 = reader.stats().keyspaces[0].levels.iter().map(|level| level.tables).sum();
    let of = |purpose| opening.reads_by_purpose.get(&purpose).map_or(0, |reads| reads.requests);
    assert_eq!(of(Purpose::Open), 0, "the manifest opens all {tables} tables");
    assert!(of(Purpose::Filter) <= tables, "{opening:?}");
    let mut random = Random::new(2);
    let (mut found, mut present) = (0, 0);
    while found < 10_000 {
        let is_there = reader.get(key(random.below(KEYS))).unwrap().is_some();
        let reads = meter.reset().reads.requests;
        if is_there {
            (found, present) = (found + 1, present + reads);
        }
    }
    for number in 0..10_000 {
        assert!(reader.get(key(KEYS + number)).unwrap().is_none());
    }
    let (present, absent) = (present as f64 / 10_000.0, meter.reset().reads.requests as f64 / 10_000.0);
    assert!(present <= 1.02, "{present} reads for a present key");
    assert!(absent <= 0.02, "{absent} reads for an absent key");
}

/// One listing, one round for the manifest, one for the logs.
#[test]
fn a_reader_opens_a_store_with_one_listing_and_the_parts_of_one_manifest_and_its_logs() {
    let server = SimulatedObjects::new();
    let storage: Arc<dyn Storage> = Arc::new(server.client());
    let db = Db::open_in(Arc::clone(&storage), &small()).unwrap();
    for number in 0..300 {
        db.insert(format!("{number}"), vec![b'x'; 100]).unwrap();
    }
    let reader_client = server.client();
    server.take_read();
    let reader = Db::open_read_only_in(Arc::new(reader_client.clone()), &small()).unwrap();
    let read = server.take_read();
    assert_eq!(reader_client.requests(), 1 + read.len() as u64, "one listing, and each object once: {read:?}");
    let is_chain = |name: &&String| name.starts_with("manifest-") || name.starts_with("wal-");
    let filters = read.iter().filter(|name| !is_chain(name)).count();
    assert!(filters <= 1, "of the one table, its filter is read: {read:?}");
    assert!(reader.get("299").unwrap().is_some());
}

/// A commit is one request, and so is an edit of the manifest.
#[test]
fn a_commit_is_one_request() {
    let server = SimulatedObjects::new();
    let counted = server.client();
    let db = Db::open_in(Arc::new(counted.clone()), &small().memtable_bytes(1 << 18)).unwrap();
    let before = counted.requests();
    for number in 0..100 {
        db.insert(format!("{number}"), vec![b'x'; 200]).unwrap();
    }
    assert_eq!(counted.requests() - before, 100);
}
