//! Damage tests. Goal: whatever is damaged or missing in a store on an object store is told, and never takes
//! acknowledged writes with it. Method: each object of a writer that was killed, with a flipped bit, or without it; and
//! readers that sleep before any of their requests while the writer removes what they have listed.

use crate::support::{Records, client, open, records, small};
use ogive::io::{MemoryStorage, Storage, set_unix_time_s};
use ogive::lsm::{Db, checkpoint_store_in};
use ogive::{Error, Result, verify_store};
use ogive_testkit::{Random, SimulatedObjects};
use std::sync::{Arc, Mutex};

/// A value that gets a file of its own before it is logged.
const LONG: usize = (1 << 20) + 10;

fn copy(from: &MemoryStorage) -> MemoryStorage {
    let copy = MemoryStorage::objects();
    from.list().unwrap().iter().for_each(|name| copy.put(name, from.content(name).unwrap()).unwrap());
    copy
}

/// The objects of a killed writer, and what it has acknowledged.
fn killed_writer() -> (MemoryStorage, Records) {
    let memory = MemoryStorage::objects();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let db = open(&storage).unwrap();
    for number in 0..6 {
        db.insert(format!("{number}"), format!("value {number}")).unwrap();
    }
    db.flush().unwrap();
    for number in 0..6 {
        db.insert(format!("{number}"), vec![b'x'; 20 * number]).unwrap();
    }
    db.insert("long", vec![b'y'; LONG]).unwrap();
    (copy(&memory), records(&db).unwrap())
}

/// What each way to read a store finds.
fn all_findings(damaged: &MemoryStorage) -> Vec<Result<Records>> {
    let shared = |memory: MemoryStorage| Arc::new(memory) as Arc<dyn Storage>;
    let read = Db::open_read_only_in(shared(copy(damaged)), &small()).and_then(|db| records(&db));
    let target = shared(MemoryStorage::new());
    let copied = checkpoint_store_in(&shared(copy(damaged)), &target);
    let copied = copied.and_then(|()| Db::open_in(target, &small())).and_then(|db| records(&db));
    let written = open(&shared(copy(damaged))).and_then(|db| records(&db));
    vec![read, copied, written]
}

#[test]
fn a_flipped_bit_of_any_part_is_told_or_does_no_harm() {
    let (objects, expected) = killed_writer();
    let mut random = Random::new(7);
    for name in objects.list().unwrap() {
        if name.ends_with(".values") {
            continue;
        }
        let content = objects.content(&name).unwrap();
        for _ in 0..12 {
            let bit = random.below(8 * content.len() as u64) as usize;
            let damaged = copy(&objects);
            let mut changed = content.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            damaged.remove(&name).unwrap();
            damaged.put(&name, changed).unwrap();
            for (way, found) in all_findings(&damaged).into_iter().enumerate() {
                assert!(found.is_err() || found.unwrap() == expected, "bit {bit} of {name}, way {way}");
            }
        }
    }
}

#[test]
fn a_value_file_that_is_missing_is_told() {
    let (objects, _) = killed_writer();
    let name = objects.list().unwrap().into_iter().find(|name| name.ends_with(".values")).unwrap();
    objects.remove(&name).unwrap();
    for (way, found) in all_findings(&objects).into_iter().enumerate() {
        assert!(found.is_err(), "way {way}: {:?}", found.map(|found| found.len()));
    }
    let report = verify_store(&(Arc::new(objects) as Arc<dyn Storage>), &mut |_, _| {});
    assert!(report.is_err() || !report.unwrap().findings.is_empty());
}

/// A reader whose files are removed between any two of its requests has a version as a whole, or the error that says
/// that it is gone.
#[test]
fn a_reader_that_sleeps_longer_than_the_grace_period_denies_nothing() {
    let mut last = 0;
    for sleeps_at in 0.. {
        set_unix_time_s(Some(1_000));
        let server = SimulatedObjects::new();
        let db = Db::open_in(client(&server), &small().object_grace_s(300)).unwrap();
        db.insert("short", "a").unwrap();
        db.insert("long", vec![b'a'; LONG]).unwrap();
        let slow = server.client();
        let (requests, writer) = (Mutex::new(0), db.clone());
        slow.set_hook(Some(Box::new(move || {
            let mut requests = requests.lock().unwrap();
            *requests += 1;
            if *requests == sleeps_at {
                writer.insert("long", vec![b'b'; LONG]).unwrap();
                writer.insert("short", "b").unwrap();
                writer.compact().unwrap();
                set_unix_time_s(Some(1_301));
                writer.flush().unwrap();
                writer.insert("other", "b").unwrap();
            }
        })));
        let found = Db::open_read_only_in(Arc::new(slow.clone()), &small()).and_then(|db| records(&db));
        set_unix_time_s(None);
        match found {
            Ok(found) => {
                let first = |key: &str| found.get(key.as_bytes()).map(|value| value[0]);
                assert!(first("long").is_some() && first("long") == first("short"), "slept at request {sleeps_at}");
            }
            Err(error) => assert!(matches!(error, Error::VersionGone { .. }), "slept at {sleeps_at}: {error}"),
        }
        if slow.requests() < sleeps_at {
            break;
        }
        last = sleeps_at;
    }
    assert!(last > 3, "{last} requests");
}
