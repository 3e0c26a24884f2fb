//! Tests that each part of the validation of transactions is needed. Goal: a transaction whose reads were written since
//! conflicts, wherever the write is: in a memtable, a table, a group in flight, a batch in front. Method: courses of
//! events that end in a conflict; with each single check left out, at least one of them ends in a commit. Then
//! histories under explored thread schedules, which may switch at each lock of the commit path.

use crate::durability::Durability;
use crate::error::{Cause, Error, Result};
use crate::io::local::sync::yield_briefly;
use crate::io::reads::test_schedule;
use crate::io::{MemoryStorage, Storage, StorageWrapper};
use crate::lsm::state::transactions::newer::{ConflictCheck, ConflictChecks};
use crate::lsm::{Db, DbOptions, DbTransaction, Isolation};
use crate::types::{KeyType, RecordType};
use ogive_testkit::{Ending, HistoryTransaction, ListRead, Random, check_history};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeBounds;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// A course of events: whether its transaction conflicted.
type Course = fn(Option<ConflictCheck>) -> bool;

const CHECKS: [ConflictCheck; 10] = [
    ConflictCheck::Points,
    ConflictCheck::Intervals,
    ConflictCheck::EmptyIntervals,
    ConflictCheck::RangeTombstones,
    ConflictCheck::Tables,
    ConflictCheck::GroupsInFlight,
    ConflictCheck::SameGroup,
    ConflictCheck::Drops,
    ConflictCheck::Alterations,
    ConflictCheck::OwnWrites,
];

const COURSES: [(&str, Course); 14] = [
    ("a key was written", |out| conflicts(out, |tx, db| tx.get(db, "b").map(drop), |db| db.insert("b", "2"))),
    ("a key was removed", |out| conflicts(out, |tx, db| tx.get(db, "b").map(drop), |db| db.remove("b"))),
    ("an absent key came", |out| conflicts(out, |tx, db| tx.get(db, "c").map(drop), |db| db.insert("c", "2"))),
    ("a removal covers a key", |out| {
        conflicts(out, |tx, db| tx.get(db, "b").map(drop), |db| db.remove_range("a".."c"))
    }),
    ("a removal meets a range", |out| conflicts(out, |tx, db| read(tx, db, "a".."c"), |db| db.remove_range("b".."z"))),
    ("a key of a range was written", |out| {
        conflicts(out, |tx, db| tx.range(db, "a"..).next().transpose().map(drop), |db| db.insert("a", "2"))
    }),
    ("a key came into an empty range", |out| conflicts(out, |tx, db| read(tx, db, "c".."x"), |db| db.insert("m", "2"))),
    ("a written key was flushed", |out| {
        conflicts(out, |tx, db| tx.get(db, "b").map(drop), |db| db.insert("b", "2").and_then(|()| db.flush()))
    }),
    ("a written key was compacted", |out| {
        conflicts(out, |tx, db| read(tx, db, .."b"), |db| db.insert("a", "2").and_then(|()| db.compact()))
    }),
    ("a keyspace was dropped", |out| conflicts(out, read_other, |db| db.drop_keyspace("other").map(drop))),
    ("types were stated", |out| conflicts(out, read_other, state_types_of_other)),
    ("both write a key at a snapshot", a_key_is_written_at_a_snapshot),
    ("a key is written in a range that is removed at a snapshot", a_range_is_removed_at_a_snapshot),
    ("the write is in front in the group", the_write_is_in_front_in_the_group),
];

fn options() -> DbOptions {
    DbOptions::default().threads(0).memory_bytes(8 << 20)
}

/// A store with a few records, without a part of the validation.
fn store(storage: Arc<dyn Storage>, left_out: Option<ConflictCheck>) -> Result<Db> {
    let db = Db::open(storage, &options().objects(|objects| objects.gather_ms(0)))?;
    *db.core().writes.checks.lock() = ConflictChecks { left_out };
    db.keyspace("other")?;
    ["a", "b", "y"].iter().try_for_each(|key| db.insert(key, "1"))?;
    Ok(db)
}

/// Whether a transaction ends in a conflict that reads, while others write, and then writes itself.
fn conflicts(
    left_out: Option<ConflictCheck>,
    read: impl FnOnce(&DbTransaction, &Db) -> Result<()>,
    others: impl FnOnce(&Db) -> Result<()>,
) -> bool {
    let db = store(Arc::new(MemoryStorage::new()), left_out).unwrap();
    let tx = db.begin();
    read(&tx, &db).unwrap();
    others(&db).unwrap();
    tx.insert(&db, "written", "1").unwrap();
    is_conflict(&tx.commit())
}

fn is_conflict(outcome: &Result<()>) -> bool {
    match outcome {
        Ok(()) => false,
        Err(Error { cause: Cause::Conflict, .. }) => true,
        Err(error) => panic!("{error}"),
    }
}

fn read<'k>(tx: &DbTransaction, db: &Db, bounds: impl RangeBounds<&'k str>) -> Result<()> {
    tx.range(db, bounds).try_for_each(|record| record.map(drop))
}

fn read_other(tx: &DbTransaction, db: &Db) -> Result<()> {
    tx.get(db.keyspace("other")?, "key").map(drop)
}

fn state_types_of_other(db: &Db) -> Result<()> {
    db.keyspace("other")?.declare(&RecordType::new(KeyType::Text, KeyType::U32)).map(drop)
}

fn a_key_is_written_at_a_snapshot(left_out: Option<ConflictCheck>) -> bool {
    let db = store(Arc::new(MemoryStorage::new()), left_out).unwrap();
    let mut tx = db.begin();
    tx.isolation(Isolation::Snapshot);
    tx.get(&db, "a").unwrap();
    tx.insert(&db, "b", "2").unwrap();
    db.insert("b", "3").unwrap();
    is_conflict(&tx.commit())
}

fn a_range_is_removed_at_a_snapshot(left_out: Option<ConflictCheck>) -> bool {
    let db = store(Arc::new(MemoryStorage::new()), left_out).unwrap();
    let mut tx = db.begin();
    tx.isolation(Isolation::Snapshot);
    tx.remove_range(&db, "a".."c").unwrap();
    db.insert("b", "3").unwrap();
    is_conflict(&tx.commit())
}

/// Two transactions that each read and write one key.
fn two(db: &Db) -> [DbTransaction; 2] {
    [(); 2].map(|()| {
        let tx = db.begin();
        tx.get(db, "b").unwrap();
        tx.insert(db, "b", "2").unwrap();
        tx
    })
}

/// Lets other threads run until something is so.
fn wait_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        yield_briefly();
    }
}

fn the_write_is_in_front_in_the_group(left_out: Option<ConflictCheck>) -> bool {
    let db = store(Arc::new(MemoryStorage::new()), left_out).unwrap();
    let [one, other] = two(&db);
    let before = db.activity().groups;
    let writer = db.core().writes.writer.lock();
    std::thread::scope(|scope| {
        let (one, other) = (scope.spawn(|| one.commit()), scope.spawn(|| other.commit()));
        wait_until(|| db.core().writes.queue.lock().waiting.len() == 2);
        drop(writer);
        let outcomes = [one, other].map(|thread| is_conflict(&thread.join().unwrap()));
        assert_eq!(db.activity().groups, before + 1, "both are in one group");
        assert!(outcomes.contains(&false), "one of them is committed");
        outcomes.contains(&true)
    })
}

/// Puts of logs wait for a gate.
#[derive(Debug)]
struct GatedPuts {
    inner: MemoryStorage,
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl GatedPuts {
    fn set_open(&self, is_open: bool) {
        *self.is_open.lock().unwrap() = is_open;
        self.opened.notify_all();
    }
}

impl StorageWrapper for GatedPuts {
    fn inner(&self) -> &dyn Storage {
        &self.inner
    }

    fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<()> {
        if name.starts_with("wal-") {
            drop(self.opened.wait_while(self.is_open.lock().unwrap(), |is_open| !*is_open).unwrap());
        }
        self.inner.put_if_absent(name, bytes)
    }
}

fn the_write_is_in_a_group_in_flight(left_out: Option<ConflictCheck>) -> bool {
    let (inner, is_open, opened) = (MemoryStorage::objects(), Mutex::new(true), Condvar::new());
    let storage = Arc::new(GatedPuts { inner, is_open, opened });
    let db = store(Arc::clone(&storage) as Arc<dyn Storage>, left_out).unwrap();
    let [one, other] = two(&db);
    storage.set_open(false);
    let in_flight = || db.core().writes.in_flight.groups.lock().len();
    std::thread::scope(|scope| {
        let one = scope.spawn(|| one.commit());
        wait_until(|| in_flight() == 1);
        let other = scope.spawn(|| other.commit());
        wait_until(|| other.is_finished() || in_flight() == 2);
        storage.set_open(true);
        assert!(!is_conflict(&one.join().unwrap()));
        is_conflict(&other.join().unwrap())
    })
}

fn courses() -> Vec<(&'static str, Course)> {
    let in_flight: (&str, Course) = ("the write is in a group in flight", the_write_is_in_a_group_in_flight);
    [&COURSES[..], &[in_flight]].concat()
}

#[test]
fn whatever_was_read_and_written_since_is_a_conflict() {
    for (name, course) in courses() {
        assert!(course(None), "{name}, and the transaction was committed");
    }
}

#[test]
fn without_a_check_a_conflict_is_missed() {
    for check in CHECKS {
        let is_missed = courses().into_iter().any(|(_, course)| !course(Some(check)));
        assert!(is_missed, "no course of events needs {check:?}");
    }
}

/// Keys of a history under a schedule.
const KEYS: u64 = 3;

/// The elements of a list, eight bytes each.
fn list_at(db: &Db, tx: &DbTransaction, key: u64) -> Vec<u64> {
    let value = tx.get(db, key.to_be_bytes()).unwrap().unwrap_or_else(|| [][..].into());
    value.as_chunks::<8>().0.iter().map(|bytes| u64::from_be_bytes(*bytes)).collect()
}

/// One transaction that reads lists and appends to some of them.
fn read_and_append(db: &Db, random: &mut Random, next_element: &AtomicU64) -> HistoryTransaction {
    let (tx, mut own) = (db.begin(), BTreeSet::new());
    let mut seen = HistoryTransaction { reads: Vec::new(), appends: Vec::new(), ending: Ending::Committed };
    for _ in 0..1 + random.below(3) {
        let key = random.below(KEYS);
        let list = list_at(db, &tx, key);
        if !own.contains(&key) {
            seen.reads.push(ListRead { key, list: list.clone(), is_of_range: false });
        }
        if random.one_in(2) {
            let element = next_element.fetch_add(1, Ordering::Relaxed);
            let appended: Vec<u8> = list.iter().chain([&element]).flat_map(|element| element.to_be_bytes()).collect();
            tx.insert(db, key.to_be_bytes(), appended).unwrap();
            seen.appends.push((key, element));
            own.insert(key);
        }
    }
    if is_conflict(&tx.commit()) {
        seen.ending = Ending::Aborted;
    }
    seen
}

/// The anomaly of a history under a schedule, if there is one.
fn anomaly_of_schedule(seed: u64, left_out: Option<ConflictCheck>) -> Option<String> {
    let durability = if seed.is_multiple_of(2) { Durability::Synced } else { Durability::Buffered };
    let options = options().durability(durability).writes(|writes| writes.memtable_bytes(1 << 10));
    let db = Db::open_idle(Arc::new(MemoryStorage::new()), &options).unwrap();
    *db.core().writes.checks.lock() = ConflictChecks { left_out };
    let (history, next_element) = (Mutex::new(Vec::new()), AtomicU64::new(1));
    let mut work: Vec<Box<dyn FnOnce() + Send + '_>> = Vec::new();
    for thread in 0..4 {
        let (db, history, next_element) = (&db, &history, &next_element);
        work.push(Box::new(move || {
            let mut random = Random::new(seed << 3 | thread);
            for _ in 0..5 {
                let seen = read_and_append(db, &mut random, next_element);
                history.lock().unwrap().push(seen);
            }
        }));
    }
    work.push(Box::new(|| (0..3).for_each(|_| db.flush().and_then(|()| db.compact()).unwrap())));
    test_schedule::run(seed, work);
    let tx = db.begin();
    let last: BTreeMap<u64, Vec<u64>> = (0..KEYS).map(|key| (key, list_at(&db, &tx, key))).collect();
    check_history(&history.into_inner().unwrap(), &last).err()
}

#[test]
fn histories_under_any_schedule_are_serialisable() {
    for seed in 0..60 {
        assert_eq!(anomaly_of_schedule(seed, None), None, "seed {seed}");
    }
    for check in [ConflictCheck::Points, ConflictCheck::SameGroup] {
        let is_found = (0..60).any(|seed| anomaly_of_schedule(seed, Some(check)).is_some());
        assert!(is_found, "no schedule needs {check:?}");
    }
}
