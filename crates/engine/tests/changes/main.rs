//! Tests of followers. Goal: a follower gets every committed change once, in the order of the commits and with the
//! borders of the batches, or is told that changes are gone; after a crash a subscriber gets what is in the store and
//! nothing else. Method: drawn operations with flushes, compactions, ingestions, range removals, drops and reopenings
//! in between, whose plain list is compared with what followers in the same process and readers in others get; the same
//! on a simulated disk with a power loss at every call that changes it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod objects;
mod requests;

use ogive::io::{MemoryStorage, Storage};
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::types::{IndexDefinition, KeyType, RecordType, ValueType};
use ogive::{Cause, Change, ChangePosition, Db, DbChanges, DbOptions, Durability, Error, Result};
use ogive_testkit::{Random, Repeat, SimulatedDisk, check_crashes, seeds};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

const SUBSCRIBER: &str = "search";
const NAMES: [&str; 2] = ["default", "fruit"];

/// A change as the test lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Plain {
    Set(String, Vec<u8>, Option<Vec<u8>>),
    RemoveRange(String, Vec<u8>, Option<Vec<u8>>),
    Ingest(String, Vec<(Vec<u8>, Vec<u8>)>),
    Drop(String),
}

fn plain(change: &Change) -> Plain {
    match change {
        Change::Insert { keyspace, key, value, .. } => {
            Plain::Set(keyspace.to_string(), key.clone(), Some(value.clone()))
        }
        Change::Remove { keyspace, key } => Plain::Set(keyspace.to_string(), key.clone(), None),
        Change::RemoveRange { keyspace, start, end } => {
            Plain::RemoveRange(keyspace.to_string(), start.clone(), end.clone())
        }
        Change::Ingest { keyspace, tables } => {
            Plain::Ingest(keyspace.to_string(), tables.records().collect::<Result<_>>().unwrap())
        }
        Change::DropKeyspace { keyspace } => Plain::Drop(keyspace.to_string()),
        other => panic!("{other:?}"),
    }
}

type Batches = Vec<Vec<Plain>>;

/// The batches that a follower gets now.
fn rest(changes: &mut DbChanges) -> Result<Batches> {
    changes.map(|batch| Ok(batch?.changes.iter().map(plain).collect())).collect()
}

/// The records of keyspaces by name, without empty ones.
type Contents = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// A store in which everything happens soon.
fn small() -> DbOptions {
    DbOptions::default()
        .threads(0)
        .memory_bytes(1 << 20)
        .writes(|writes| writes.memtable_bytes(1 << 10).group_bytes(700))
        .levels(|levels| levels.table_bytes(2 << 10).level_bytes(4 << 10).level_factor(2).block_bytes(512))
        .values(|values| values.separation_bytes(100))
}

/// What a store contains after these batches.
fn contents(batches: &[Vec<Plain>]) -> Contents {
    let mut contents = Contents::new();
    for change in batches.iter().flatten() {
        match change {
            Plain::Set(name, key, Some(value)) => {
                _ = contents.entry(name.clone()).or_default().insert(key.clone(), value.clone());
            }
            Plain::Set(name, key, None) => _ = contents.entry(name.clone()).or_default().remove(key),
            Plain::RemoveRange(name, start, end) => contents
                .entry(name.clone())
                .or_default()
                .retain(|key, _| key < start || end.as_ref().is_some_and(|end| key >= end)),
            Plain::Ingest(name, records) => contents.entry(name.clone()).or_default().extend(records.iter().cloned()),
            Plain::Drop(name) => _ = contents.remove(name),
        }
    }
    contents.retain(|_, records| !records.is_empty());
    contents
}

fn contents_of(db: &Db) -> Result<Contents> {
    let mut contents = Contents::new();
    for name in db.keyspaces() {
        let records =
            db.keyspace(&name)?.iter().map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec())));
        let records: BTreeMap<_, _> = records.collect::<Result<_>>()?;
        if !records.is_empty() {
            contents.insert(name, records);
        }
    }
    Ok(contents)
}

fn key(random: &mut Random) -> Vec<u8> {
    format!("key{:02}", random.below(30)).into_bytes()
}

/// A value, short or long enough to be separated.
fn value(random: &mut Random) -> Vec<u8> {
    let length = *random.pick(&[0, 5, 40, 150, 400]);
    vec![b'a' + random.below(26) as u8; length]
}

/// One committed change, or none: it is listed in `done` before it is tried.
fn step(db: &Db, random: &mut Random, done: &mut Batches) -> Result<()> {
    let name = *random.pick(&NAMES);
    match random.below(20) {
        0..=11 => {
            let (mut batch, mut changes) = (db.batch(), Vec::new());
            for _ in 0..1 + random.below(4) {
                let name = *random.pick(&NAMES);
                let (keyspace, key) = (db.keyspace(name)?, key(random));
                match random.below(6) {
                    0 => {
                        batch.remove(&keyspace, &key);
                        changes.push(Plain::Set(name.into(), key, None));
                    }
                    1 => {
                        let end = [&key[..], b"5"].concat();
                        batch.remove_range(&keyspace, &key[..]..&end[..]);
                        changes.push(Plain::RemoveRange(name.into(), key, Some(end)));
                    }
                    _ => {
                        let value = value(random);
                        batch.insert(&keyspace, &key, &value);
                        changes.push(Plain::Set(name.into(), key, Some(value)));
                    }
                }
            }
            done.push(changes);
            batch.commit()
        }
        12 => {
            let keyspace = db.keyspace(name)?;
            let start = key(random);
            done.push(vec![Plain::RemoveRange(name.into(), start.clone(), None)]);
            keyspace.remove_range((Bound::Included(start), Bound::Unbounded))
        }
        13 | 14 => {
            let keyspace = db.keyspace(name)?;
            let outside: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
            let (mut files, mut all) = (Vec::new(), Vec::new());
            for number in 0..1 + random.below(2) {
                let table = format!("t{number}");
                let records: BTreeMap<_, _> = (0..3).map(|_| (key(random), value(random))).collect();
                let mut writer = TableWriter::create((Arc::clone(&outside), &*table), TableWriteOptions::default())?;
                records.iter().try_for_each(|(key, value)| writer.append(key, value))?;
                writer.finish()?;
                all.extend(records);
                files.push((Arc::clone(&outside), table));
            }
            done.push(vec![Plain::Ingest(name.into(), all)]);
            keyspace.ingest_from(&files).map(drop)
        }
        15 if db.keyspaces().iter().any(|name| name == NAMES[1]) => {
            done.push(vec![Plain::Drop(NAMES[1].into())]);
            db.drop_keyspace(NAMES[1]).map(drop)
        }
        16 | 17 => db.flush(),
        18 => db.compact(),
        _ => Ok(()),
    }
}

fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

#[test]
fn followers_get_every_change_in_order_with_the_borders_of_batches() {
    for seed in seeds(0..24) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let (mut random, storage, mut done) = (Random::new(seed), memory(), Batches::new());
        let durability = *random.pick(&[Durability::Synced, Durability::Grouped, Durability::Buffered]);
        let options = small().durability(durability);
        let mut db = Db::open(Arc::clone(&storage), &options).unwrap();
        let (mut own, mut acknowledged) = (Batches::new(), Batches::new());
        let start = db.subscribe(SUBSCRIBER).unwrap();
        let mut changes = db.changes_since(start).unwrap();
        let reader = Db::open_read_only(Arc::clone(&storage), &options).unwrap();
        let outside = reader.subscribe("outside").unwrap();
        let (mut read, mut outside) = (Batches::new(), reader.changes_since(outside).unwrap());
        for _ in 0..150 {
            step(&db, &mut random, &mut done).unwrap();
            match random.below(12) {
                0 => {
                    own.extend(rest(&mut changes).unwrap());
                    assert_eq!(own, done, "seed {seed}");
                }
                1 => {
                    db.persist().unwrap();
                    read.extend(rest(&mut outside).unwrap());
                    assert_eq!(read, done, "seed {seed}, read");
                    reader.acknowledge("outside", &outside.position().unwrap()).unwrap();
                }
                2 => {
                    // What is acknowledged may be forgotten, also if another follower needs it.
                    own.extend(rest(&mut changes).unwrap());
                    let position = db.subscribers().unwrap()[SUBSCRIBER];
                    for batch in db.changes_since(position).unwrap().take(5) {
                        let batch = batch.unwrap();
                        acknowledged.push(batch.changes.iter().map(plain).collect());
                        db.acknowledge(SUBSCRIBER, &batch.position).unwrap();
                    }
                    assert!(done.starts_with(&acknowledged), "seed {seed}");
                }
                3 => {
                    own.extend(rest(&mut changes).unwrap());
                    let position = changes.position().unwrap();
                    drop(changes);
                    db.close().unwrap();
                    db = Db::open(Arc::clone(&storage), &options).unwrap();
                    changes = db.changes_since(position).unwrap();
                }
                _ => {}
            }
        }
        let position = db.subscribers().unwrap()[SUBSCRIBER];
        acknowledged.extend(rest(&mut db.changes_since(position).unwrap()).unwrap());
        assert_eq!(acknowledged, done, "seed {seed}");
        assert_eq!(contents(&done), contents_of(&db).unwrap());
        // What no subscriber needs is not kept.
        let newest =
            changes.by_ref().last().map_or_else(|| changes.position().unwrap(), |batch| batch.unwrap().position);
        db.acknowledge(SUBSCRIBER, &newest).unwrap();
        assert!(db.unsubscribe("outside").unwrap());
        assert!(storage.list().unwrap().iter().all(|name| !name.ends_with(".kept")), "seed {seed}");
        assert!(db.verify(&mut |_, _| {}).unwrap().is_sound());
    }
}

/// Steps of the work that crashes: each of their calls that change the disk is a crash, or several.
const STEPS_BETWEEN_CRASHES: usize = 16;

/// The work of a process until the power loss: what it tried, how much of that was acknowledged, and what its
/// subscriber got.
#[derive(Clone, Default)]
struct Told {
    tried: Batches,
    acknowledged: usize,
    followed: Batches,
    is_subscribed: bool,
}

fn work(storage: &Arc<dyn Storage>, options: &DbOptions, seed: u64) -> Told {
    let mut told = Told::default();
    _ = try_work(storage, options, seed, &mut told);
    told
}

fn try_work(storage: &Arc<dyn Storage>, options: &DbOptions, seed: u64, told: &mut Told) -> Result<()> {
    let mut random = Random::new(seed);
    let mut db = Db::open(Arc::clone(storage), options)?;
    db.subscribe(SUBSCRIBER)?;
    told.is_subscribed = true;
    for at in 0..STEPS_BETWEEN_CRASHES {
        if storage.is_object_store() {
            objects::pass_to(at as u64 * objects::GRACE_S / 3);
        }
        step(&db, &mut random, &mut told.tried)?;
        told.acknowledged = told.tried.len();
        match random.below(6) {
            0 => {
                let position = db.subscribers()?[SUBSCRIBER];
                for batch in db.changes_since(position)?.take(6) {
                    let batch = batch?;
                    told.followed.push(batch.changes.iter().map(plain).collect());
                    db.acknowledge(SUBSCRIBER, &batch.position)?;
                }
            }
            1 => {
                db.close()?;
                db = Db::open(Arc::clone(storage), options)?;
            }
            _ => {}
        }
    }
    db.close()
}

fn check(told: &Told, storage: &Arc<dyn Storage>, options: &DbOptions) -> std::result::Result<(), String> {
    let db = Db::open(Arc::clone(storage), options).map_err(|error| error.to_string())?;
    check_open(told, &db, options)
}

/// Whether the subscriber gets what is in an open store.
fn check_open(told: &Told, db: &Db, options: &DbOptions) -> std::result::Result<(), String> {
    let fail = |error: Error| error.to_string();
    let Some(position) = db.subscribers().map_err(fail)?.get(SUBSCRIBER).copied() else {
        return if told.is_subscribed { Err("the subscriber is lost".into()) } else { Ok(()) };
    };
    let found = rest(&mut db.changes_since(position).map_err(fail)?).map_err(fail)?;
    // The last change that it got may not be acknowledged yet.
    let whole = |followed: &[Vec<Plain>]| [followed, &found].concat();
    let known = told.followed.len();
    let all = [known, known.saturating_sub(1)].map(|count| whole(&told.followed[..count]));
    let is_prefix = |all: &Batches| told.tried.starts_with(all) && all.starts_with(&told.followed);
    let Some(all) = all.iter().find(|all| is_prefix(all)) else {
        return Err(format!("tried {:?}, followed {:?}, then found {found:?}", told.tried, told.followed));
    };
    let least = if options.durability == Durability::Synced { told.acknowledged } else { 0 };
    if all.len() < least {
        return Err(format!("{} changes of {least}", all.len()));
    }
    match contents(all) == contents_of(db).map_err(fail)? {
        true => Ok(()),
        false => Err("the store is other than the changes say".into()),
    }
}

#[test]
fn after_every_crash_a_subscriber_gets_what_the_store_has() {
    let storage = |disk: &SimulatedDisk| Arc::new(disk.clone()) as Arc<dyn Storage>;
    let work = |disk: &SimulatedDisk, seed| {
        let options = small().durability([Durability::Synced, Durability::Buffered][seed as usize % 2]);
        (work(&storage(disk), &options, seed), options)
    };
    let check = |(told, options): &(Told, DbOptions), disk: &SimulatedDisk| check(told, &storage(disk), options);
    check_crashes(env!("CARGO_CRATE_NAME"), seeds(0..2), work, check);
}

/// What is behind a position in a long log is found, however much of the log is before it.
#[test]
fn a_position_deep_in_a_long_log_is_not_its_end() {
    const BATCHES: u32 = 30;
    for storage in [memory(), Arc::new(MemoryStorage::objects())] {
        let options = DbOptions::default().threads(0).writes(|writes| writes.memtable_bytes(16 << 20));
        let db = Db::open(Arc::clone(&storage), &options).unwrap();
        let mut positions = vec![db.subscribe(SUBSCRIBER).unwrap()];
        for number in 0..BATCHES {
            let mut batch = db.batch();
            (0..200_u32).for_each(|key| _ = batch.insert(&db, key.to_be_bytes(), vec![number as u8; 500]));
            batch.commit().unwrap();
            positions.push(db.newest_position());
        }
        let reader = Db::open_read_only(storage, &options).unwrap();
        for db in [&db, &reader] {
            for (passed, position) in positions.iter().enumerate() {
                let behind = db.changes_since(*position).unwrap().map(|batch| batch.unwrap().position);
                assert_eq!(behind.collect::<Vec<_>>(), positions[passed + 1..], "behind {passed} batches");
            }
        }
    }
}

fn gone(db: &Db, position: ChangePosition) -> Option<u64> {
    match db.changes_since(position).unwrap().next()? {
        Err(Error { cause: Cause::ChangesGone { oldest }, .. }) => Some(oldest),
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_a_subscriber_what_is_flushed_is_gone_and_the_rest_is_left() {
    let storage = memory();
    let db = Db::open(Arc::clone(&storage), &small()).unwrap();
    db.insert("a", "1").unwrap();
    let mut changes = db.changes_since(None).unwrap();
    assert_eq!(rest(&mut changes).unwrap().len(), 1);
    let first = changes.position().unwrap();
    assert!(db.changes_since(first).unwrap().next().is_none());
    db.insert("b", "2").unwrap();
    db.flush().unwrap();
    let oldest = gone(&db, first).unwrap();
    assert_eq!(oldest, first.number() + 1);
    let reader = Db::open_read_only(storage, &small()).unwrap();
    assert_eq!(gone(&reader, first), Some(oldest));
    db.insert("c", "3").unwrap();
    assert_eq!(gone(&db, first), Some(oldest));
    let left = rest(&mut db.changes_since(None).unwrap()).unwrap();
    assert_eq!(left, [[Plain::Set("default".into(), b"c".to_vec(), Some(b"3".to_vec()))]]);
    // A follower that is up to date when the store flushes misses nothing.
    let mut changes = db.changes_since(None).unwrap();
    assert_eq!(rest(&mut changes).unwrap().len(), 1);
    db.flush().unwrap();
    db.insert("d", "4").unwrap();
    assert_eq!(rest(&mut changes).unwrap().len(), 1);
}

#[test]
fn what_is_not_recorded_without_a_subscriber_makes_older_positions_gone() {
    for is_dropped in [false, true] {
        let storage = memory();
        let db = Db::open(Arc::clone(&storage), &small()).unwrap();
        let fruit = db.keyspace("fruit").unwrap();
        db.insert("a", "1").unwrap();
        let start = db.changes_since(None).unwrap();
        let before = {
            let mut start = start;
            rest(&mut start).unwrap();
            start.position().unwrap()
        };
        if is_dropped {
            db.drop_keyspace("fruit").unwrap();
        } else {
            let mut writer = TableWriter::create((Arc::clone(&storage), "t"), TableWriteOptions::default()).unwrap();
            writer.append(b"x", b"y").unwrap();
            writer.finish().unwrap();
            fruit.ingest_from(&[(Arc::clone(&storage), "t".into())]).unwrap();
            assert_eq!(rest(&mut db.changes_since(before).unwrap()).unwrap().len(), 1);
            fruit.remove("x").unwrap();
            db.compact().unwrap();
        }
        db.insert("b", "2").unwrap();
        assert!(gone(&db, before).is_some(), "{is_dropped}");
    }
}

#[test]
fn a_subscriber_beyond_the_limit_is_told_that_its_changes_are_gone() {
    let limited = small().writes(|writes| writes.memtable_bytes(1 << 10).kept_changes_bytes(8 << 10));
    let db = Db::open(memory(), &limited).unwrap();
    let start = db.subscribe(SUBSCRIBER).unwrap();
    for number in 0..200_u32 {
        db.insert(number.to_be_bytes(), vec![b'x'; 300]).unwrap();
    }
    let oldest = gone(&db, start).unwrap();
    assert!(oldest > 100, "{oldest}");
    // It reads all records, and follows from there.
    let left = db.changes_since(None).unwrap().collect::<Result<Vec<_>>>().unwrap();
    assert_eq!(left.len() as u64, 200 - oldest);
    db.acknowledge(SUBSCRIBER, &left.last().unwrap().position).unwrap();
    db.insert("more", "1").unwrap();
    let position = db.subscribe(SUBSCRIBER).unwrap();
    assert_eq!(rest(&mut db.changes_since(position).unwrap()).unwrap().len(), 1);
}

#[test]
fn positions_of_other_stores_and_of_the_future_are_refused() {
    let (one, other) = (Db::open(memory(), &small()).unwrap(), Db::open(memory(), &small()).unwrap());
    let position = one.subscribe(SUBSCRIBER).unwrap();
    for refused in [other.changes_since(position).err(), other.acknowledge(SUBSCRIBER, &position).err()] {
        assert!(matches!(refused, Some(Error { cause: Cause::Input, .. })), "{refused:?}");
    }
    let ahead: ChangePosition = format!("{:016x}-99", one.identity()).parse().unwrap();
    let refused = one.changes_since(ahead).unwrap().next();
    assert!(matches!(refused, Some(Err(Error { cause: Cause::Input, .. }))), "{refused:?}");
    assert!(one.subscribe("no name").is_err());
    assert!(!one.unsubscribe("unknown").unwrap());
}

#[test]
fn a_subscriber_that_was_removed_does_not_come_back_by_an_acknowledgement() {
    let storage = memory();
    let db = Db::open(Arc::clone(&storage), &small()).unwrap();
    let position = db.subscribe(SUBSCRIBER).unwrap();
    db.acknowledge(SUBSCRIBER, &position).unwrap();
    assert!(db.unsubscribe(SUBSCRIBER).unwrap());
    let reader = Db::open_read_only(storage, &small()).unwrap();
    for handle in [&db, &reader] {
        let refused = handle.acknowledge(SUBSCRIBER, &position).unwrap_err();
        assert!(refused.cause == Cause::Input && refused.to_string().contains("`Db::subscribe`"), "{refused}");
    }
    assert!(db.subscribers().unwrap().is_empty());
    reader.subscribe(SUBSCRIBER).unwrap();
    db.acknowledge(SUBSCRIBER, &position).unwrap();
}

#[test]
fn batches_of_threads_that_share_groups_keep_their_borders() {
    let (threads, rounds) = (4_u8, 60_u8);
    let options = DbOptions::default().threads(1).writes(|writes| writes.memtable_bytes(4 << 10));
    let db = Db::open(memory(), &options).unwrap();
    let start = db.subscribe(SUBSCRIBER).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let db = db.clone();
            scope.spawn(move || {
                for round in 0..rounds {
                    let mut batch = db.batch();
                    (0..3_u8).for_each(|part| _ = batch.insert(&db, [thread, round, part], vec![round; 50]));
                    batch.commit().unwrap();
                }
            });
        }
    });
    let mut next = BTreeMap::new();
    for batch in rest(&mut db.changes_since(start).unwrap()).unwrap() {
        let keys = batch.iter().map(|change| match change {
            Plain::Set(_, key, Some(_)) => key.clone(),
            other => panic!("{other:?}"),
        });
        let keys: Vec<_> = keys.collect();
        let (thread, round) = (keys[0][0], keys[0][1]);
        assert_eq!(keys, [0, 1, 2].map(|part| vec![thread, round, part]));
        assert_eq!(*next.entry(thread).and_modify(|round| *round += 1).or_insert(0), round);
    }
    assert_eq!(next, (0..threads).map(|thread| (thread, rounds - 1)).collect());
}

#[test]
fn followers_see_rows_and_no_entries_of_their_indexes() {
    let db = Db::open(memory(), &small()).unwrap();
    let users = db.keyspace("users").unwrap();
    let values: ValueType = "{name: text}".parse().unwrap();
    drop(users.declare(&RecordType::new(KeyType::U8, values.clone())).unwrap());
    let start = db.subscribe(SUBSCRIBER).unwrap();
    let insert = |key: u8, name: &str| users.insert([key], values.parse(name).unwrap()).unwrap();
    let by_name = IndexDefinition::by("name").unwrap();
    insert(1, "ann");
    db.create_index("by_name", &users, &by_name).unwrap();
    insert(2, "bob");
    users.remove([1]).unwrap();
    db.flush().unwrap();
    assert!(db.drop_index("by_name").unwrap());
    insert(3, "cid");
    db.create_index("by_name", &users, &by_name).unwrap();
    let ingest = |rows: &[(u8, &str)]| {
        let outside = memory();
        let mut writer = TableWriter::create((Arc::clone(&outside), "t"), TableWriteOptions::default()).unwrap();
        let rows: Vec<_> = rows.iter().map(|(key, name)| (vec![*key], values.parse(name).unwrap())).collect();
        rows.iter().for_each(|(key, row)| writer.append(key, row).unwrap());
        writer.finish().unwrap();
        users.ingest_from(&[(outside, "t".into())]).unwrap();
        vec![Plain::Ingest("users".into(), rows)]
    };
    // The tables of their entries are there for one of the two, and were merged into others for the other.
    let first = ingest(&[(3, "eve"), (4, "dan")]);
    db.compact().unwrap();
    let second = ingest(&[(2, "bob"), (4, "fay")]);
    assert_eq!(rest(&mut db.changes_since(start).unwrap()).unwrap().last(), Some(&second));
    db.flush().unwrap();
    assert!(db.drop_keyspace("users").unwrap());
    db.insert("last", "one").unwrap();
    let set = |key: u8, name: Option<&str>| {
        vec![Plain::Set("users".into(), vec![key], name.map(|name| values.parse(name).unwrap()))]
    };
    let last = vec![Plain::Set("default".into(), b"last".to_vec(), Some(b"one".to_vec()))];
    let dropped = vec![Plain::Drop("users".into())];
    let rows = [set(1, Some("ann")), set(2, Some("bob")), set(1, None), set(3, Some("cid"))];
    let expected: Vec<_> = rows.into_iter().chain([first, second, dropped, last]).collect();
    assert_eq!(rest(&mut db.changes_since(start).unwrap()).unwrap(), expected);
}
