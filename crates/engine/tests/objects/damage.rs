//! Damage tests. Goal: whatever is damaged or missing in a store on an object store is told, and never takes
//! acknowledged writes with it. Method: each object of a writer that was killed, with a flipped bit, or without it; and
//! readers that sleep before any of their requests while the writer removes what they have listed.

use crate::support::{Records, client, open, records, small};
use ogive::io::{MemoryStorage, Storage, set_unix_time_s};
use ogive::lsm::{Db, checkpoint_store};
use ogive::{Cause, Error, Result, verify_store};
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
    let read = Db::open_read_only(shared(copy(damaged)), &small()).and_then(|db| records(&db));
    let target = shared(MemoryStorage::new());
    let copied = checkpoint_store(shared(copy(damaged)), &target);
    let copied = copied.and_then(|()| Db::open(target, &small())).and_then(|db| records(&db));
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
        let db = Db::open(client(&server), &small().objects(|objects| objects.grace_s(300))).unwrap();
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
        let found = Db::open_read_only(Arc::new(slow.clone()), &small()).and_then(|db| records(&db));
        set_unix_time_s(None);
        match found {
            Ok(found) => {
                let first = |key: &str| found.get(key.as_bytes()).map(|value| value[0]);
                assert!(first("long").is_some() && first("long") == first("short"), "slept at request {sleeps_at}");
            }
            Err(error) => {
                assert!(matches!(error, Error { cause: Cause::VersionGone, .. }), "slept at {sleeps_at}: {error}")
            }
        }
        if slow.requests() < sleeps_at {
            break;
        }
        last = sleeps_at;
    }
    assert!(last > 3, "{last} requests");
}

/// Objects of manifests that are gone, one or all from some on, as an incomplete copy of a bucket lacks them: a reader
/// and a verification find all that was acknowledged, or say that something is missing.
#[test]
fn a_manifest_that_is_missing_is_told() {
    let server = SimulatedObjects::new();
    for round in 0..5 {
        let db = open(&client(&server)).unwrap();
        (0..3).for_each(|number| db.insert(format!("{round} {number}"), vec![b'x'; 150]).unwrap());
        db.remove(format!("{} 0", round - 1)).unwrap();
        match round {
            1 => db.compact().unwrap(),
            2 => db.keyspace("more").and_then(|more| more.insert("a", "b")).unwrap(),
            _ => {}
        }
        if round % 2 == 0 {
            db.close().unwrap();
        }
    }
    let expected = records(&Db::open_read_only(client(&server), &small()).unwrap()).unwrap();
    let objects = server.objects();
    let manifests: Vec<&String> = objects.keys().filter(|name| name.starts_with("manifest")).collect();
    let mut told = 0;
    for at in 0..manifests.len() {
        for gone in [&manifests[at..=at], &manifests[at..]] {
            let copy = SimulatedObjects::new().client();
            let kept = objects.iter().filter(|(name, _)| !gone.contains(name));
            kept.for_each(|(name, bytes)| copy.put_if_absent(name, bytes).unwrap());
            let copy: Arc<dyn Storage> = Arc::new(copy);
            match Db::open_read_only(Arc::clone(&copy), &small()).and_then(|db| records(&db)) {
                Ok(found) => assert_eq!(found, expected, "without {gone:?}"),
                Err(error) => {
                    told += 1;
                    let is_told = matches!(error, Error { cause: Cause::Damaged | Cause::NotAStore, .. });
                    assert!(is_told || matches!(error, Error { cause: Cause::WrongAnswer, .. }), "{error}");
                    let is_sound = verify_store(&copy, &mut |_, _| {}).is_ok_and(|report| report.is_sound());
                    assert!(!is_sound, "without {gone:?}");
                }
            }
        }
    }
    assert!(told > manifests.len() / 2, "{told} of {}", manifests.len());
}

/// A store is not created where a copy is being made, and no copy is made where one is created: of the two at once, one
/// fails, whichever is first by how much.
#[test]
fn of_a_store_that_is_created_and_a_copy_at_once_nothing_acknowledged_is_lost() {
    let source: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
    open(&source).unwrap().insert("key", "of the copy").unwrap();
    for at in 0..14 {
        let server = SimulatedObjects::new();
        let copier = server.client();
        let (other, written) = (client(&server), Arc::new(Mutex::new(None)));
        let (mut requests, outcome) = (0, Arc::clone(&written));
        copier.set_hook(Some(Box::new(move || {
            if requests == at {
                *outcome.lock().unwrap() = Some(open(&other).and_then(|db| db.insert("key", "of the writer")).is_ok());
            }
            requests += 1;
        })));
        let copied = checkpoint_store(&source, &(Arc::new(copier.clone()) as Arc<dyn Storage>)).is_ok();
        copier.set_hook(None);
        let Some(is_written) = written.lock().unwrap().take() else { continue };
        // A writer may open the copy as soon as that is complete.
        let expected = if is_written { "of the writer" } else { "of the copy" };
        if copied || is_written {
            let db = Db::open_read_only(client(&server), &small()).unwrap();
            assert_eq!(db.get("key").unwrap().as_deref(), Some(expected.as_bytes()), "at request {at}");
        }
    }
}
