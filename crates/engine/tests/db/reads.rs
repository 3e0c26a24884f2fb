//! Read-count tests of cold lookups. Goal: a bound on the reads of a lookup, with four times as much data as memory.
//! Method: a meter counts the requests of lookups after a full compaction and a reopening.

use ogive::Durability;
use ogive::io::{MemoryStorage, Meter, MeterSnapshot, Purpose, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive_testkit::Random;
use std::sync::Arc;

const MEMORY_BYTES: u64 = 12 << 20;
const LOOKUPS: u64 = 20_000;
/// Limit of the turns for which a test waits for another thread.
const WAITS_MAX: u64 = 10_000_000;

fn key(number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

fn options() -> DbOptions {
    DbOptions::default()
        .memory_bytes(MEMORY_BYTES)
        .threads(0)
        .levels(|levels| levels.table_bytes(8 << 20).level_bytes(16 << 20))
}

/// A compacted and reopened store of four times its memory, with its number of records.
fn store(value_bytes: usize) -> (Arc<Meter>, Db, u64) {
    let meter = Arc::new(Meter::new(Arc::new(MemoryStorage::new())));
    let storage: Arc<dyn Storage> = meter.clone();
    let records = 4 * MEMORY_BYTES / (16 + value_bytes as u64);
    let db = Db::open(storage.clone(), &options()).unwrap();
    let mut random = Random::new(3);
    let mut value = vec![0; value_bytes];
    for first in (0..records).step_by(1000) {
        let mut batch = db.batch();
        batch.durability(Durability::Buffered);
        for number in first..records.min(first + 1000) {
            value[..8].copy_from_slice(&random.next_u64().to_le_bytes());
            batch.insert(&db, key(number), &value);
        }
        batch.commit().unwrap();
    }
    db.compact().unwrap();
    db.close().unwrap();
    meter.reset();
    let db = Db::open(storage, &options()).unwrap();
    (meter, db, records)
}

/// Requests and bytes of filters since the last opening.
fn filter_reads(meter: &Meter) -> (u64, u64) {
    let reads = meter.snapshot().reads_by_purpose.get(&Purpose::Filter).copied().unwrap_or_default();
    (reads.requests, reads.bytes)
}

fn requests(snapshot: &MeterSnapshot) -> u64 {
    snapshot.reads.requests
}

/// Mean reads per lookup of random keys, present or absent.
fn reads_per_lookup(meter: &Meter, db: &Db, records: u64, present: bool) -> f64 {
    let mut random = Random::new(5);
    let before = requests(&meter.snapshot());
    for _ in 0..LOOKUPS {
        let number = random.below(records) + if present { 0 } else { records };
        assert_eq!(db.get(key(number)).unwrap().is_some(), present, "{number}");
    }
    (requests(&meter.snapshot()) - before) as f64 / LOOKUPS as f64
}

#[test]
fn a_cold_lookup_is_one_read_and_of_absent_keys_hardly_any() {
    let (meter, db, records) = store(64);
    let present = reads_per_lookup(&meter, &db, records, true);
    let absent = reads_per_lookup(&meter, &db, records, false);
    assert!(present <= 1.05, "{present} reads a present key");
    assert!(absent <= 0.02, "{absent} reads an absent key");
    // Three quarters of the data are not in memory, so the meter sees their reads.
    assert!(present > 0.5, "{present} reads a present key");
}

#[test]
fn a_cold_lookup_of_a_separated_value_is_two_reads_at_most() {
    let (meter, db, records) = store(2000);
    let present = reads_per_lookup(&meter, &db, records, true);
    let absent = reads_per_lookup(&meter, &db, records, false);
    assert!((1.0..=2.05).contains(&present), "{present} reads a present key");
    assert!(absent <= 0.02, "{absent} reads an absent key");
}

#[test]
fn filters_are_read_once_behind_the_opening_and_by_no_lookup() {
    let (meter, db, records) = store(64);
    let storage: Arc<dyn Storage> = meter.clone();
    db.close().unwrap();
    // Enough for all filters.
    let options = options().memory_bytes(2 * MEMORY_BYTES);
    meter.reset();
    let db = Db::open(storage.clone(), &options).unwrap();
    assert_eq!(filter_reads(&meter), (0, 0), "without threads, lookups read the filters");
    reads_per_lookup(&meter, &db, records, false);
    let (tables, bytes) = filter_reads(&meter);
    assert!((4..100).contains(&tables) && bytes > records, "{bytes} bytes of {tables} tables");
    db.close().unwrap();
    meter.reset();
    let db = Db::open(storage, &options.threads(1)).unwrap();
    for _ in 0..WAITS_MAX {
        if filter_reads(&meter) == (tables, bytes) {
            break;
        }
        std::thread::yield_now();
    }
    let absent = reads_per_lookup(&meter, &db, records, false);
    assert!(absent <= 0.02, "{absent} reads an absent key");
    assert_eq!(filter_reads(&meter), (tables, bytes));
}
