//! Cost tests of value collection. Goal: values that are written once cost little more than their bytes, and under
//! steady overwrites a store writes at most 3.5 times the data written and occupies at most 1.5 times the live data.
//! Method: all writes and all files are counted. No time is measured, and with the work done inside the calls each run
//! is the same.

use ogive::Durability;
use ogive::io::{MemoryStorage, Meter, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive_testkit::Random;
use std::sync::Arc;

const VALUE_BYTES: u64 = 1024;
const KEY_BYTES: u64 = 16;
const RECORD_BYTES: u64 = KEY_BYTES + VALUE_BYTES;

struct Store {
    meter: Meter,
    memory: MemoryStorage,
    db: Db,
    options: DbOptions,
}

fn key(number: u64) -> [u8; KEY_BYTES as usize] {
    // Spread over the keys, in no order.
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut key = [0; KEY_BYTES as usize];
    key[..8].copy_from_slice(&spread.to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

fn value(number: u64, version: u64) -> Vec<u8> {
    let mut random = Random::new(number << 20 | version);
    (0..VALUE_BYTES / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect()
}

impl Store {
    /// Small memtables, so that the data fills as many of them as in a large store.
    fn new(memtable_bytes: u64) -> Self {
        let memory = MemoryStorage::new();
        let meter = Meter::new(Arc::new(memory.clone()));
        let options = DbOptions::default()
            .threads(0)
            .durability(Durability::Buffered)
            .memory_bytes(32 << 20)
            .writes(|writes| writes.memtable_bytes(memtable_bytes))
            .levels(|levels| levels.table_bytes(256 << 10).level_bytes(1 << 20));
        let db = Db::open(Arc::new(meter.clone()), &options).unwrap();
        Self { meter, memory, db, options }
    }

    fn written_bytes(&self) -> u64 {
        self.meter.snapshot().writes.bytes
    }

    fn file_bytes(&self) -> u64 {
        let names = self.memory.list().unwrap();
        names.iter().map(|name| self.memory.open(name).unwrap().len()).sum()
    }

    fn insert(&self, numbers: &[u64], version: u64) {
        let mut batch = self.db.batch();
        numbers.iter().for_each(|&number| _ = batch.insert(&self.db, key(number), value(number, version)));
        batch.commit().unwrap();
    }

    fn load(&self, records: u64) {
        for first in (0..records).step_by(100) {
            self.insert(&(first..(first + 100).min(records)).collect::<Vec<_>>(), 0);
        }
    }
}

#[test]
fn values_that_are_written_once_cost_little_more_than_themselves() {
    let records = 30_000;
    let store = Store::new(64 << 10);
    store.load(records);
    store.db.compact().unwrap();
    let times = store.written_bytes() as f64 / (records * RECORD_BYTES) as f64;
    let space = store.file_bytes() as f64 / (records * RECORD_BYTES) as f64;
    assert!(times < 1.6 && space < 1.15, "written {times} times, space {space}");
    assert_eq!(store.db.activity().moved_value_bytes, 0);
}

/// Overwrites random records, `rounds` times the data in total; returns the write amplification, and the mean and
/// maximum space relative to the data.
fn overwrite(store: &Store, records: u64, rounds: u64) -> (f64, f64, f64) {
    let (before, mut random) = (store.written_bytes(), Random::new(5));
    let (mut spaces, steps) = (Vec::new(), records * rounds / 100);
    for step in 0..steps {
        let numbers: Vec<u64> = (0..100).map(|_| random.below(records)).collect();
        store.insert(&numbers, step + 1);
        if step > steps / 4 {
            spaces.push(store.file_bytes() as f64 / (records * RECORD_BYTES) as f64);
        }
    }
    let times = (store.written_bytes() - before) as f64 / (records * rounds * RECORD_BYTES) as f64;
    let mean = spaces.iter().sum::<f64>() / spaces.len() as f64;
    (times, mean, spaces.iter().copied().fold(0.0, f64::max))
}

#[test]
fn steady_overwrites_write_and_take_little_more_than_they_must() {
    let records = 40_000;
    let store = Store::new(1 << 20);
    store.load(records);
    store.db.flush().unwrap();
    let (times, mean, most) = overwrite(&store, records, 4);
    assert!(times < 3.5, "written {times} times");
    assert!(mean < 1.5, "space {mean}, at most {most}");
    // All values are intact, including moved ones.
    let report = store.db.verify(&mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(store.db.iter().count(), records as usize);
    drop(store.db);
    let db = Db::open(Arc::new(store.memory), &store.options).unwrap();
    assert_eq!(db.iter().map(|record| record.unwrap().1.len() as u64).sum::<u64>(), records * VALUE_BYTES);
}

/// Pitfall: collection drops a value that a snapshot still needs, or revives one that was overwritten in the meantime.
#[test]
fn snapshots_and_overwrites_find_their_values_while_these_move() {
    let records = 400;
    for seed in 0..4 {
        let store = Store::new(8 << 10);
        let mut random = Random::new(seed);
        let mut versions = vec![0; records as usize];
        store.load(records);
        let mut snapshots = Vec::new();
        for version in 1..200 {
            let numbers: Vec<u64> = (0..40).map(|_| random.below(records)).collect();
            store.insert(&numbers, version);
            numbers.iter().for_each(|&number| versions[number as usize] = version);
            if version % 30 == 0 {
                snapshots.push((store.db.snapshot(), versions.clone()));
            }
            if snapshots.len() > 3 {
                snapshots.remove(random.below(3) as usize);
            }
        }
        assert!(store.db.activity().moved_value_bytes > 0, "nothing was collected");
        for (snapshot, versions) in &snapshots {
            for (number, &version) in versions.iter().enumerate() {
                let found = snapshot.get(&store.db, key(number as u64)).unwrap().unwrap();
                assert!(found == value(number as u64, version), "seed {seed}: a snapshot lost a value");
            }
        }
        for (number, &version) in versions.iter().enumerate() {
            assert!(store.db.get(key(number as u64)).unwrap().unwrap() == value(number as u64, version));
        }
        drop(snapshots);
        store.db.compact().unwrap();
        assert!(store.file_bytes() < records * RECORD_BYTES * 3 / 2, "space comes back once snapshots are gone");
    }
}
