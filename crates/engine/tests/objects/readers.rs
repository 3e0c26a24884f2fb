//! Reader tests. Goal: readers of a store on an object store see one version each, whatever its writer does, and are
//! told when the version is gone. Method: readers beside a writer, with a clock that a test moves.

use crate::support::{Records, client, leaks, open, put_part, records, small};
use ogive::io::{MemoryStorage, Storage, set_unix_time_s};
use ogive::lsm::{Db, checkpoint_store};
use ogive::verify::verify_store;
use ogive::{Cause, Error};
use ogive_testkit::{Fault, FaultInjector, Mishap, Operation, Random, Repeat, SimulatedObjects, seeds};
use std::sync::Arc;

#[test]
fn a_reader_keeps_its_version_until_it_refreshes() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
    let db = open(&storage).unwrap();
    db.insert("a", "1").unwrap();
    let mut reader = Db::open_read_only(Arc::clone(&storage), &small()).unwrap();
    let (before, version) = (reader.clone(), reader.version().unwrap());
    assert!(!reader.refresh().unwrap());
    db.insert("a", "2").unwrap();
    db.flush().unwrap();
    db.compact().unwrap();
    assert_eq!(reader.get("a").unwrap().as_deref(), Some(&b"1"[..]));
    assert!(reader.refresh().unwrap());
    assert!(reader.version().unwrap() > version);
    assert_eq!(reader.get("a").unwrap().as_deref(), Some(&b"2"[..]));
    assert_eq!(before.get("a").unwrap().as_deref(), Some(&b"1"[..]));
    let named = Db::open_version(&storage, &small(), version).unwrap();
    assert_eq!(named.get("a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(named.version(), Some(version));
    for refused in [reader.insert("b", "3"), named.flush()] {
        assert!(matches!(refused, Err(Error { cause: Cause::ReadOnly, .. })), "{refused:?}");
    }
    let mut db = db;
    assert!(matches!(db.refresh(), Err(Error { cause: Cause::Unsupported, .. })));
    assert_eq!(db.version(), None);
}

/// Within the grace period an old version is there as a whole; after it, all that a reader can get is the error that
/// says so, or what it has in memory.
#[test]
fn a_reader_that_stays_away_longer_than_the_grace_period_is_told_so() {
    set_unix_time_s(Some(1_000));
    let server = SimulatedObjects::new();
    let options = small().objects(|objects| objects.grace_s(300));
    let db = Db::open(client(&server), &options).unwrap();
    for number in 0..200 {
        db.insert(format!("{number:03}"), vec![b'a'; 150]).unwrap();
    }
    db.flush().unwrap();
    let mut reader = Db::open_read_only(client(&server), &small()).unwrap();
    let version = reader.version().unwrap();
    for number in 0..200 {
        db.insert(format!("{number:03}"), vec![b'b'; 150]).unwrap();
    }
    db.compact().unwrap();
    set_unix_time_s(Some(1_250));
    db.insert("x", "y").unwrap();
    assert!(records(&reader).unwrap().values().all(|value| value[0] == b'a'));
    let storage = client(&server);
    assert_eq!(records(&Db::open_version(&storage, &small(), version).unwrap()).unwrap().len(), 200);
    set_unix_time_s(Some(1_301));
    db.insert("x", "z").unwrap();
    let gone = Db::open_version(&storage, &small(), version).and_then(|db| records(&db));
    assert!(matches!(gone, Err(Error { cause: Cause::VersionGone, .. })), "{gone:?}");
    // Nothing is cached.
    let mut errors = 0;
    for number in 0..200 {
        match reader.get(format!("{number:03}")) {
            Ok(value) => assert_eq!(value.unwrap()[0], b'a'),
            Err(error) => {
                assert!(matches!(error, Error { cause: Cause::VersionGone, .. }), "{error}");
                errors += 1;
            }
        }
    }
    assert!(errors > 100, "{errors}");
    let keys: Vec<String> = (0..200).map(|number| format!("{number:03}")).collect();
    let many = reader.multi_get(&keys).map(|values| values.len());
    let all = records(&reader).map(|records| records.len());
    for gone in [many, all] {
        assert!(matches!(gone, Err(Error { cause: Cause::VersionGone, .. })), "{gone:?}");
    }
    assert!(reader.refresh().unwrap());
    assert_eq!(records(&reader).unwrap(), records(&db).unwrap());
    set_unix_time_s(None);
}

/// In a store of more objects than one answer to a listing has, the writer may act between two answers.
#[test]
fn a_reader_of_a_long_listing_sees_no_write_without_the_edit_before_it() {
    let server = SimulatedObjects::new();
    let options = small().writes(|writes| writes.memtable_bytes(1 << 20));
    let db = Db::open(client(&server), &options).unwrap();
    // Each insert is an object, a part of the log.
    (0..2_500).for_each(|number| db.insert(format!("{number}"), "x").unwrap());
    for round in 0..8_u64 {
        let name = format!("dropped in round {round}");
        db.keyspace(&name).unwrap().insert("key", "value").unwrap();
        let (reader, writer, dropped) = (server.client(), db.clone(), name.clone());
        let mut requests = 0;
        reader.set_hook(Some(Box::new(move || {
            requests += 1;
            if requests == round {
                writer.drop_keyspace(&dropped).unwrap();
                writer.insert(format!("after round {round}"), "x").unwrap();
            }
        })));
        let reader = Db::open_read_only(Arc::new(reader), &options).unwrap();
        let has_write = reader.get(format!("after round {round}")).unwrap().is_some();
        let has_dropped = reader.keyspaces().contains(&name);
        assert!(has_write != has_dropped || (round == 0 && has_dropped), "round {round}: {has_write}, {has_dropped}");
    }
}

/// The grace period goes on from opening to opening, even if each is short.
#[test]
fn files_are_removed_also_by_writers_that_live_shortly() {
    let server = SimulatedObjects::new();
    let mut most = 0;
    for opening in 0..200 {
        set_unix_time_s(Some(1_000 + 50 * opening));
        let db = Db::open(client(&server), &small().objects(|objects| objects.grace_s(300))).unwrap();
        db.insert(format!("{}", opening % 10), vec![b'x'; 150]).unwrap();
        db.flush().unwrap();
        db.close().unwrap();
        most = most.max(server.objects().len());
    }
    // Without removals there would be thousands.
    assert!(most < 300, "{most} objects");
    set_unix_time_s(None);
}

/// A clock that was ahead delays no removal once it is right again, within an opening or in a later one.
#[test]
fn a_clock_that_was_ahead_keeps_no_file_for_good() {
    for is_reopened in [false, true] {
        set_unix_time_s(Some(1_000_000));
        let server = SimulatedObjects::new();
        let options = small().objects(|objects| objects.grace_s(300));
        let mut db = Db::open(client(&server), &options).unwrap();
        for round in 0..3 {
            for number in 0..50 {
                db.insert(format!("{number}"), vec![round; 150]).unwrap();
            }
            db.compact().unwrap();
        }
        if is_reopened {
            db.close().unwrap();
        }
        set_unix_time_s(Some(1_000));
        if is_reopened {
            db = Db::open(client(&server), &options).unwrap();
        }
        db.insert("x", "y").unwrap();
        let before = server.objects().len();
        set_unix_time_s(Some(1_301));
        db.insert("x", "z").unwrap();
        assert!(server.objects().len() < before / 2, "{} of {before}", server.objects().len());
        set_unix_time_s(Some(1_700));
        db.insert("x", "z").unwrap();
        assert_eq!(leaks(&server), Vec::<String>::new(), "reopened: {is_reopened}");
        set_unix_time_s(None);
    }
}

/// All that a store contains, asked for in several ways.
fn contents(db: &Db) -> Vec<(String, Records)> {
    let of = |name: String| {
        let keyspace = db.keyspace(&name).unwrap();
        let pairs = |record: ogive::Result<(ogive::Slice, ogive::Slice)>| {
            record.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()
        };
        let all: Records = keyspace.iter().map(pairs).collect();
        assert_eq!(keyspace.iter().rev().map(pairs).collect::<Records>(), all);
        let keys: Vec<String> = (0..40).map(|number| format!("{number:02}")).collect();
        let many = keyspace.multi_get(&keys).unwrap();
        for (key, many) in keys.iter().zip(many) {
            let expected = all.get(key.as_bytes()).map(|value| &value[..]);
            assert_eq!((keyspace.get(key).unwrap().as_deref(), many.as_deref()), (expected, expected), "{key}");
        }
        (name, all)
    };
    db.keyspaces().into_iter().map(of).collect()
}

/// A later version adds to the memtables of the one before; who keeps that one sees no more, and a refresh that fails
/// leaves nothing behind.
#[test]
fn each_version_stays_as_it_was_while_later_ones_read_on() {
    for seed in seeds(0..60) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let mut random = Random::new(seed);
        let server = SimulatedObjects::new();
        let mut db = Db::open(client(&server), &small()).unwrap();
        let injector = FaultInjector::new(client(&server));
        let mut reader = Db::open_read_only(Arc::new(injector.clone()), &small()).unwrap();
        let mut kept = vec![(reader.clone(), contents(&reader))];
        for step in 0..40_u64 {
            for _ in 0..random.below(5) {
                change(&server, &db, &mut random, step);
            }
            if random.one_in(6) {
                // The next writer keeps the logs of one that was closed.
                if !random.one_in(3) {
                    db.close().unwrap();
                }
                db = open(&client(&server)).unwrap();
            }
            if random.one_in(4) {
                let kind = [Operation::Open, Operation::Read][random.below(2) as usize];
                injector.fail_once(kind, random.below(6), Fault::DeviceError);
                let outcome = reader.refresh();
                injector.clear();
                if outcome.is_err() {
                    assert_eq!(contents(&reader), kept[kept.len() - 1].1, "after a failed refresh");
                }
            }
            reader.refresh().unwrap();
            let found = contents(&reader);
            assert_eq!(found, contents(&db), "step {step}");
            kept.push((reader.clone(), found));
            let first = kept.len().saturating_sub(8);
            kept[first..].iter().for_each(|(old, found)| assert_eq!(contents(old), *found, "step {step}"));
        }
        let source = client(&server);
        let report = verify_store(&source, &mut |_, _| {}).unwrap();
        assert!(report.is_sound(), "{report:?}");
        let expected = contents(&db);
        for copy in [MemoryStorage::new(), MemoryStorage::objects()] {
            let copy: Arc<dyn Storage> = Arc::new(copy);
            checkpoint_store(&source, &copy).unwrap();
            assert_eq!(contents(&open(&copy).unwrap()), expected);
        }
        db.close().unwrap();
        assert_eq!(contents(&open(&source).unwrap()), expected);
    }
}

/// A random change of a store.
fn change(server: &SimulatedObjects, db: &Db, random: &mut Random, step: u64) {
    let key = |random: &mut Random| format!("{:02}", random.below(40));
    let names = db.keyspaces();
    let keyspace = db.keyspace(&names[random.below(names.len() as u64) as usize]).unwrap();
    match random.below(16) {
        0 => db.flush().unwrap(),
        1 => db.compact().unwrap(),
        2 => keyspace.remove_range(key(random)..key(random)).unwrap(),
        3 => db.keyspace(&format!("keyspace {step}")).unwrap().insert(key(random), "first").unwrap(),
        4 => _ = names.iter().find(|name| *name != "default").is_some_and(|name| db.drop_keyspace(name).unwrap()),
        5 => keyspace.remove(key(random)).unwrap(),
        6 => {
            let (worker, name, _) = put_part(server, random.next_u64());
            keyspace.adopt_from(&[(worker, name)]).unwrap();
        }
        _ => keyspace.insert(key(random), vec![step as u8; random.below(300) as usize]).unwrap(),
    }
}

/// A refresh reads the parts of logs and manifests that are new, and no others.
#[test]
fn a_refresh_reads_what_was_written_since() {
    let server = SimulatedObjects::new();
    let options = small().writes(|writes| writes.memtable_bytes(1 << 20));
    let db = Db::open(client(&server), &options).unwrap();
    (0..500).for_each(|number| db.insert(format!("{number}"), "x").unwrap());
    let mut reader = Db::open_read_only(client(&server), &options).unwrap();
    server.take_read();
    for round in 0..5 {
        db.insert("a", format!("{round}")).unwrap();
        db.insert("b", format!("{round}")).unwrap();
        assert!(reader.refresh().unwrap());
        let read = server.take_read();
        assert_eq!(read.len(), 2, "{read:?}");
        db.keyspace(&format!("keyspace {round}")).unwrap();
        assert!(reader.refresh().unwrap());
        let read = server.take_read();
        let manifests = read.iter().filter(|name| name.starts_with("manifest")).count();
        assert_eq!(manifests, 1, "{read:?}");
        assert_eq!(reader.get("a").unwrap().as_deref(), Some(format!("{round}").as_bytes()));
    }
    assert_eq!(records(&reader).unwrap(), records(&db).unwrap());
}

/// A writer resumes after a part of its log failed, and dies at any request of that; then the part arrives.
#[test]
fn a_part_that_arrives_after_its_writer_resumed_changes_no_version() {
    for at in 0..8 {
        let server = SimulatedObjects::new();
        let mortal = server.client();
        let db = Db::open(Arc::new(mortal.clone()), &small()).unwrap();
        db.insert("a", "1").unwrap();
        mortal.fail_next(Mishap::Late);
        assert!(db.insert("b", "2").is_err());
        mortal.die_at(mortal.changes() + at, None);
        _ = db.resume();
        let storage = client(&server);
        let reader = Db::open_read_only(Arc::clone(&storage), &small()).unwrap();
        let (version, found) = (reader.version().unwrap(), records(&reader).unwrap());
        while server.deliver(&mut Random::new(1)) {}
        let again = Db::open_version(&storage, &small(), version).unwrap();
        assert_eq!(records(&again).unwrap(), found, "died at request {at}");
    }
}
