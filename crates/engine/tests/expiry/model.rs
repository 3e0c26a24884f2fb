//! Reads against a model. Goal: on every path a record is there until it expires and never after, whatever flushes,
//! compactions, snapshots, transactions, reopenings and moves of the clock come between. Method: drawn operations on
//! few keys; the plain map of the test has the time of each record, and is read at the time that the store tells, which
//! must not go back, nor move by more than a day more than what has passed.

use crate::support::{DAY, HOUR, MINUTE, START, at, small};
use ogive::io::{Clock, MemoryStorage, Storage};
use ogive::lsm::DbSnapshot;
use ogive::verify::verify_store;
use ogive::{Db, DbOptions, Durability, Keyspace};
use ogive_testkit::{Random, Repeat, seeds};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

const KEYS: u64 = 40;

type Record = (Vec<u8>, Option<u64>);
type Records = BTreeMap<Vec<u8>, Record>;
type Seen = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(number: u64) -> Vec<u8> {
    format!("key {number:02}").into_bytes()
}

fn seen(records: &Records, now_ms: u64) -> Seen {
    let alive = records.iter().filter(|(_, (_, expires))| expires.is_none_or(|expires_ms| expires_ms > now_ms));
    alive.map(|(key, (value, _))| (key.clone(), value.clone())).collect()
}

fn pairs<T: AsRef<[u8]>>(range: impl Iterator<Item = ogive::Result<(T, T)>>) -> Vec<(Vec<u8>, Vec<u8>)> {
    range.map(|record| record.map(|(key, value)| (key.as_ref().to_vec(), value.as_ref().to_vec())).unwrap()).collect()
}

/// Compares every way of reading with what must be seen.
fn check(keyspace: &Keyspace, expected: &Seen) {
    let all: Vec<(Vec<u8>, Vec<u8>)> = expected.clone().into_iter().collect();
    assert_eq!(pairs(keyspace.iter()), all);
    let mut backward = pairs(keyspace.iter().rev());
    backward.reverse();
    assert_eq!(backward, all);
    assert_eq!(keyspace.range::<&[u8]>(..).keys().count(), all.len());
    assert_eq!(keyspace.is_empty().unwrap(), all.is_empty());
    let keys: Vec<Vec<u8>> = (0..KEYS).map(key).collect();
    let found = keyspace.multi_get(&keys).unwrap();
    let mut visited = Vec::new();
    keyspace
        .iter()
        .visit(|key, value| {
            visited.push((key.to_vec(), value.to_vec()));
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(visited, all);
    let mut buffer = Vec::new();
    for (key, found) in keys.iter().zip(found) {
        let expected = expected.get(key);
        assert_eq!(found.as_deref(), expected.map(Vec::as_slice));
        assert_eq!(keyspace.get(key).unwrap().as_deref(), expected.map(Vec::as_slice));
        assert_eq!(keyspace.contains_key(key).unwrap(), expected.is_some());
        let copied = keyspace.get_into(key, &mut buffer).unwrap().then_some(&buffer);
        assert_eq!(copied, expected);
        let streamed = keyspace.get_stream(key).unwrap().map(|mut stream| {
            let mut value = Vec::new();
            stream.read_to_end(&mut value).unwrap();
            value
        });
        assert_eq!(streamed.as_ref(), expected);
    }
}

fn check_snapshot(snapshot: &DbSnapshot, keyspace: &Keyspace, expected: &Seen) {
    let all: Vec<(Vec<u8>, Vec<u8>)> = expected.clone().into_iter().collect();
    assert_eq!(pairs(snapshot.range::<&[u8]>(keyspace, ..)), all, "a snapshot has changed");
    let keys: Vec<Vec<u8>> = (0..KEYS).map(key).collect();
    for (key, found) in keys.iter().zip(snapshot.multi_get(keyspace, &keys).unwrap()) {
        assert_eq!(found.as_deref(), expected.get(key).map(Vec::as_slice));
        assert_eq!(snapshot.get(keyspace, key).unwrap().as_deref(), expected.get(key).map(Vec::as_slice));
    }
}

fn drawn(random: &mut Random, clock: &Clock) -> DbOptions {
    let durability = [Durability::Synced, Durability::Grouped, Durability::Buffered][random.below(3) as usize];
    let separation = [0, 20, 60, u64::MAX][random.below(4) as usize];
    let mut options = small(clock).durability(durability).values(|values| values.separation_bytes(separation));
    options.fast_paths.batches = random.below(3) > 0;
    options.fast_paths.prefetch = random.below(3) > 0;
    options.fast_paths.deferred_values = random.below(2) > 0;
    options.levels(|levels| levels.table_bytes(1 << (9 + random.below(4))))
}

/// The run of one seed.
struct Run {
    random: Random,
    clock: Clock,
    storage: Arc<MemoryStorage>,
    db: Db,
    records: Records,
    told_ms: u64,
    /// What has passed, and by how much the time of day has credibly jumped.
    passed_ms: u64,
    jumped_ms: u64,
    snapshots: Vec<(DbSnapshot, Seen)>,
}

impl Run {
    fn new(seed: u64, storage: MemoryStorage) -> Self {
        let (clock, storage, mut random) = (Clock::moved_by_hand(START), Arc::new(storage), Random::new(seed));
        let db = Db::open(storage.clone(), &drawn(&mut random, &clock)).unwrap();
        // From the first record that expires on, the store has a time of its own.
        db.insert_with("first", "", at(0)).unwrap();
        let (records, snapshots) = Default::default();
        Self { random, clock, storage, db, records, told_ms: 0, passed_ms: 0, jumped_ms: 0, snapshots }
    }

    /// The time of the store.
    fn now(&mut self) -> u64 {
        let now_ms = self.db.time_ms();
        assert!(now_ms >= self.told_ms, "the time went back from {} to {now_ms}", self.told_ms);
        let most_ms = START + self.passed_ms + self.jumped_ms + DAY;
        assert!(now_ms <= most_ms, "the time is {now_ms}, and at most {most_ms} is credible");
        self.told_ms = now_ms;
        now_ms
    }

    fn value(&mut self) -> Vec<u8> {
        let length = self.random.below(4) * 40;
        (0..length).map(|_| self.random.below(256) as u8).collect()
    }

    /// A time around that of the store, or one at the ends of all times.
    fn expiry(&mut self) -> u64 {
        let now_ms = self.now();
        match self.random.below(8) {
            0 => now_ms - self.random.below(3 * HOUR),
            1 => u64::MAX >> 12,
            2 => 0,
            _ => now_ms + self.random.below(4 * HOUR),
        }
    }

    fn write(&mut self) {
        let (number, value) = (self.random.below(KEYS), self.value());
        let key = key(number);
        match self.random.below(9) {
            0 => {
                self.db.remove(&key).unwrap();
                self.records.remove(&key);
            }
            1 => {
                let end = self::key(number + 4);
                self.db.remove_range(&key[..]..&end[..]).unwrap();
                self.records.retain(|other, _| *other < key || *other >= end);
            }
            2 | 3 => {
                self.db.insert(&key, &value).unwrap();
                self.records.insert(key, (value, None));
            }
            4 => self.swap(key, value),
            5 => self.transact(key, value),
            _ => {
                let expires_ms = self.expiry();
                match self.db.insert_with(&key, &value, at(expires_ms)) {
                    Ok(()) => _ = self.records.insert(key, (value, Some(expires_ms))),
                    Err(error) => assert!(self.is_far_off(), "{error}"),
                }
            }
        }
    }

    /// Whether the clock is ahead of the time of the store, or more than a day behind it.
    fn is_far_off(&self) -> bool {
        let clock_ms = self.clock.unix_ms();
        clock_ms > self.told_ms || self.told_ms > clock_ms + DAY
    }

    /// A conditional write sees what has expired as absent.
    fn swap(&mut self, key: Vec<u8>, value: Vec<u8>) {
        let now_ms = self.now();
        let is_there = seen(&self.records, now_ms).contains_key(&key);
        assert_eq!(self.db.insert_new(&key, &value).unwrap(), !is_there);
        if !is_there {
            self.records.insert(key, (value, None));
        }
    }

    /// A transaction sees all as of its beginning, though time passes.
    fn transact(&mut self, key: Vec<u8>, value: Vec<u8>) {
        let now_ms = self.now();
        let (transaction, expected) = (self.db.begin(), seen(&self.records, now_ms));
        let over_ms = self.expiry();
        let is_refused = self.is_far_off();
        self.pass(30 * MINUTE);
        assert_eq!(transaction.get(&self.db, &key).unwrap().as_deref(), expected.get(&key).map(Vec::as_slice));
        assert_eq!(pairs(transaction.range::<&[u8]>(&self.db, ..)), expected.into_iter().collect::<Vec<_>>());
        transaction.insert_with(&self.db, &key, &value, at(over_ms)).unwrap();
        let own = transaction.get(&self.db, &key).unwrap();
        assert_eq!(own.as_deref(), (over_ms > now_ms).then_some(&value[..]));
        match transaction.commit() {
            Ok(()) => _ = self.records.insert(key, (value, Some(over_ms))),
            Err(error) => assert!(is_refused || self.is_far_off(), "{error}"),
        }
    }

    fn pass(&mut self, ms: u64) {
        self.clock.pass(ms);
        self.passed_ms += ms;
    }

    /// Sets the time of day to one that is credible.
    fn set_credibly(&mut self, unix_ms: u64) {
        self.clock.set_unix_ms(unix_ms);
        self.jumped_ms += unix_ms.saturating_sub(START + self.passed_ms + self.jumped_ms);
    }

    fn move_clock(&mut self) {
        let now_ms = self.now();
        match self.random.below(8) {
            0 => self.clock.set_unix_ms(START - 9000 * DAY),
            1 => self.clock.set_unix_ms(now_ms + 3000 * DAY),
            2 => self.set_credibly(now_ms + HOUR),
            3 => self.set_credibly(now_ms),
            _ => {
                let ms = self.random.below(50 * MINUTE);
                self.pass(ms);
            }
        }
    }

    fn reopen(&mut self) {
        let drawn = drawn(&mut self.random, &self.clock);
        self.snapshots.clear();
        self.db.close().unwrap();
        self.db = Db::open(self.storage.clone(), &drawn).unwrap();
    }

    fn check(&mut self) {
        let now_ms = self.now();
        let expected = seen(&self.records, now_ms);
        check(&self.db, &expected);
        for (snapshot, seen) in &self.snapshots {
            check_snapshot(snapshot, &self.db, seen);
        }
    }

    fn step(&mut self) {
        match self.random.below(24) {
            0 => self.db.flush().unwrap(),
            1 => self.db.compact().unwrap(),
            2 => self.reopen(),
            3..=5 => self.move_clock(),
            6 => {
                let now_ms = self.now();
                self.snapshots.push((self.db.snapshot(), seen(&self.records, now_ms)));
            }
            7 if !self.snapshots.is_empty() => {
                let index = self.random.below(self.snapshots.len() as u64) as usize;
                self.snapshots.swap_remove(index);
            }
            _ => self.write(),
        }
    }
}

fn run(seed: u64, storage: MemoryStorage, steps: u64) {
    let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
    let mut run = Run::new(seed, storage);
    for step in 0..steps {
        run.step();
        if step % 5 == 0 {
            run.check();
        }
    }
    run.snapshots.clear();
    run.clock.set_unix_ms(run.told_ms);
    run.check();
    run.db.close().unwrap();
    let storage: Arc<dyn Storage> = run.storage.clone();
    let report = verify_store(&storage, &mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

#[test]
fn records_are_seen_until_they_expire_and_never_after() {
    seeds(0..8).into_iter().for_each(|seed| run(seed, MemoryStorage::new(), 400));
}

#[test]
fn records_on_an_object_store_are_seen_until_they_expire_and_never_after() {
    seeds(0..2).into_iter().for_each(|seed| run(seed, MemoryStorage::objects(), 150));
}
