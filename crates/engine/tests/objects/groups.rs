//! Tests of groups on an object store. Goal: several are put at once and acknowledged in order; batches that come
//! within the time of a group share one request. Method: a storage whose puts take time, overtake each other, and fail.

use crate::support::{Records, open, records, small};
use ogive::io::{MemoryStorage, Storage, StorageWrapper};
use ogive::lsm::Db;
use ogive::{Error, Result};
use ogive_testkit::Random;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Puts of logs take a random time; one may fail without having arrived.
#[derive(Debug)]
struct SlowPuts {
    inner: MemoryStorage,
    random: Mutex<Random>,
    now: AtomicU64,
    most: AtomicU64,
    puts: AtomicU64,
    fails_at: u64,
}

impl SlowPuts {
    fn new(seed: u64, fails_at: u64) -> Self {
        let (now, most, puts) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Self { inner: MemoryStorage::objects(), random: Mutex::new(Random::new(seed)), now, most, puts, fails_at }
    }
}

impl StorageWrapper for SlowPuts {
    fn inner(&self) -> &dyn Storage {
        &self.inner
    }

    #[expect(clippy::disallowed_methods, reason = "a slow storage takes time")]
    fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<()> {
        if !name.starts_with("wal-") {
            return self.inner.put_if_absent(name, bytes);
        }
        let puts = self.puts.fetch_add(1, Ordering::Relaxed);
        self.most.fetch_max(self.now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        let wait_us = 500 + self.random.lock().unwrap().below(5_000);
        std::thread::sleep(Duration::from_micros(wait_us));
        self.now.fetch_sub(1, Ordering::Relaxed);
        if puts == self.fails_at {
            return Err(Error::io("create", self.inner.path(name), std::io::ErrorKind::TimedOut.into()));
        }
        self.inner.put_if_absent(name, bytes)
    }
}

/// Eight threads write until they have enough or fail; returns what was acknowledged.
fn write(db: &Db) -> Records {
    let acknowledged = Mutex::new(Records::new());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let acknowledged = &acknowledged;
            scope.spawn(move || {
                for number in 0..12 {
                    let key = format!("{thread} {number}").into_bytes();
                    if db.insert(&key, "x").is_err() {
                        return;
                    }
                    assert!(db.contains_key(&key).unwrap(), "an acknowledged write is visible");
                    acknowledged.lock().unwrap().insert(key, b"x".to_vec());
                }
            });
        }
    });
    acknowledged.into_inner().unwrap()
}

#[test]
fn several_groups_are_put_at_once() {
    let slow = Arc::new(SlowPuts::new(1, u64::MAX));
    let storage: Arc<dyn Storage> = Arc::clone(&slow) as Arc<dyn Storage>;
    let db = open(&storage).unwrap();
    let acknowledged = write(&db);
    assert_eq!((acknowledged.len(), records(&db).unwrap()), (96, acknowledged));
    assert!(slow.most.load(Ordering::Relaxed) > 1);
    assert_eq!(records(&open(&storage).unwrap()).unwrap().len(), 96);
}

/// Parts behind one that failed are there, but no group in them was acknowledged.
#[test]
fn groups_are_acknowledged_in_order() {
    for seed in 0..20 {
        let slow = Arc::new(SlowPuts::new(seed, 3 + seed));
        let storage: Arc<dyn Storage> = Arc::clone(&slow) as Arc<dyn Storage>;
        let db = open(&storage).unwrap();
        let acknowledged = write(&db);
        assert!(acknowledged.len() < 96, "the failure came too late");
        assert_eq!(records(&db).unwrap(), acknowledged);
        drop(db);
        let found = records(&open(&storage).unwrap()).unwrap();
        assert_eq!(found, acknowledged, "seed {seed}");
    }
}

#[test]
fn batches_within_the_time_of_a_group_share_a_request() {
    let storage = Arc::new(SlowPuts::new(1, u64::MAX));
    let options = small().objects(|objects| objects.gather_ms(200));
    let db = Db::open(Arc::clone(&storage) as Arc<dyn Storage>, &options).unwrap();
    let before = storage.puts.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let db = &db;
            scope.spawn(move || db.insert(format!("{thread}"), "x").unwrap());
        }
    });
    let puts = storage.puts.load(Ordering::Relaxed) - before;
    assert!(puts < 6, "{puts} requests");
}
