//! Tests of single puts. Goal: a put without sync is one write of the log, whether its value is stored inline or
//! separately; a kill loses none that was acknowledged; and values that were deferred are in value files after a flush.
//! Method: a meter counts writes, copies of the files stand for kills, and a map is the reference.

use crate::support::{Records, files, memory};
use ogive::Durability;
use ogive::io::{FastPaths, MemoryStorage, Meter, Purpose, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::verify::verify_store;
use ogive_testkit::Random;
use std::sync::Arc;

const PUTS: u64 = 600;
/// A kill comes after each of this many puts.
const PUTS_PER_KILL: u64 = 40;
/// Longer values are written to the value file at once.
const DEFERRED_BYTES: usize = 400;

fn options(threshold: u64, fast_paths: FastPaths) -> DbOptions {
    let options = DbOptions::default().threads(0).durability(Durability::Buffered).fast_paths(fast_paths);
    options.memory_bytes(16 << 20).values(|values| values.separation_bytes(threshold))
}

/// The settings of the paths of single puts.
fn settings() -> [FastPaths; 4] {
    [
        FastPaths::ALL,
        FastPaths { unqueued_writes: false, ..FastPaths::ALL },
        FastPaths { deferred_values: false, ..FastPaths::ALL },
        FastPaths::NONE,
    ]
}

fn all(db: &Db) -> Records {
    let records: Records =
        db.iter().map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect();
    for (key, value) in &records {
        assert_eq!(db.get(key).unwrap().as_deref(), Some(value.as_slice()));
    }
    records
}

/// Puts and removes, one at a time, of values of up to `most` bytes.
fn put(db: &Db, model: &mut Records, random: &mut Random, most: usize) {
    let key = random.below(PUTS / 2).to_be_bytes();
    if random.one_in(8) {
        db.remove(key).unwrap();
        model.remove(&key[..]);
    } else {
        let value: Vec<u8> = (0..random.below(most as u64 + 1)).map(|_| random.next_u64() as u8).collect();
        db.insert(key, &value).unwrap();
        model.insert(key.to_vec(), value);
    }
}

#[test]
fn a_put_is_one_write_of_the_log_and_a_short_value_no_other() {
    for threshold in [0, u64::MAX] {
        for fast_paths in settings() {
            let meter = Arc::new(Meter::new(Arc::new(MemoryStorage::new())));
            let storage: Arc<dyn Storage> = meter.clone();
            let db = Db::open(storage, &options(threshold, fast_paths)).unwrap();
            let (mut model, mut random) = (Records::new(), Random::new(1));
            meter.reset();
            for _ in 0..PUTS {
                put(&db, &mut model, &mut random, DEFERRED_BYTES);
            }
            let written = meter.snapshot();
            let requests = |purpose| written.writes_by_purpose.get(&purpose).map_or(0, |writes| writes.requests);
            let separate = u64::from(threshold == 0 && !fast_paths.deferred_values);
            assert_eq!(requests(Purpose::Log), PUTS, "{fast_paths:?}");
            assert!(requests(Purpose::Value) <= PUTS * separate, "{fast_paths:?}");
            assert!(requests(Purpose::Value) >= PUTS / 2 * separate, "{fast_paths:?}");
            assert_eq!(all(&db), model);
        }
    }
}

#[test]
fn a_kill_loses_no_put_that_returned() {
    for (seed, threshold) in (0..).zip([0, 100, u64::MAX]) {
        for fast_paths in settings() {
            let storage = MemoryStorage::new();
            let open = |storage: &MemoryStorage| {
                let small = options(threshold, fast_paths)
                    .writes(|writes| writes.memtable_bytes(32 << 10))
                    .memory_bytes(1 << 20);
                Db::open(Arc::new(storage.clone()), &small).unwrap()
            };
            let db = open(&storage);
            let (mut model, mut random) = (Records::new(), Random::new(seed));
            for number in 1..=PUTS {
                put(&db, &mut model, &mut random, 2 * DEFERRED_BYTES);
                if number.is_multiple_of(PUTS_PER_KILL) {
                    let killed = memory(&files(&storage));
                    assert_eq!(all(&open(&killed)), model, "{number} {threshold} {fast_paths:?}");
                    // What the recovery left is sound, and the same again.
                    assert_eq!(all(&open(&killed)), model);
                }
            }
        }
    }
}

#[test]
fn deferred_values_are_in_value_files_after_a_flush() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let db = Db::open(Arc::clone(&storage), &options(50, FastPaths::ALL)).unwrap();
    let (mut model, mut random) = (Records::new(), Random::new(7));
    (0..PUTS).for_each(|_| put(&db, &mut model, &mut random, DEFERRED_BYTES));
    let kept = (db.snapshot(), model.clone());
    assert_eq!((db.stats().value_files, db.stats().activity.value_bytes), (0, 0));
    db.flush().unwrap();
    let separate: usize = model.values().map(Vec::len).filter(|&length| length >= 50).sum();
    let stats = db.stats();
    assert_eq!(stats.value_files, 1);
    assert!(stats.value_file_bytes > separate as u64, "{} of {separate} bytes", stats.value_file_bytes);
    assert!(stats.table_bytes < separate as u64, "{} bytes of tables", stats.table_bytes);
    assert!(stats.activity.value_bytes >= separate as u64);
    assert_eq!(all(&db), model);
    (0..PUTS).for_each(|_| put(&db, &mut model, &mut random, DEFERRED_BYTES));
    db.compact().unwrap();
    assert_eq!(all(&db), model);
    for (key, value) in &kept.1 {
        assert_eq!(kept.0.get(&db, key).unwrap().as_deref(), Some(value.as_slice()));
    }
    drop(kept);
    db.close().unwrap();
    assert!(verify_store(&storage, &mut |_, _| {}).unwrap().is_sound());
    let db = Db::open(storage, &options(50, FastPaths::ALL)).unwrap();
    assert_eq!(all(&db), model);
}
