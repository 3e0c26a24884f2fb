//! Tests that a call's result matches its effect. Goal: after an error nothing has changed, except as documented: an
//! error of the storage while a change is written may leave the whole change to be found when the store is reopened. A
//! failure after the commit point, such as of a compaction that the call made due, is reported to later writers and
//! never turns a successful call into an error. Method: each mutating call is made on a store in which it makes a flush
//! and a compaction due, with each of its storage calls failing in turn; then the contents of the open store and of the
//! reopened one are compared with those before the call and those after a call without a fault.

use crate::support::{Records, collect, small};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::{Cause, Durability, Error, Result};
use ogive_testkit::{Fault, FaultInjector, Operation};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::Arc;

type Contents = BTreeMap<String, Records>;

/// Approximate number of calls of a kind that fail, one in each run.
const MOST_FAULTS: usize = 10;

/// A call, given the store and a table to ingest.
type Call = fn(&Db, &Arc<dyn Storage>) -> Result<()>;

/// Calls, with the kinds of files in which a failed write may leave the whole change. A manifest has its final name
/// only once it is complete, so errors show the temporary one.
const CALLS: [(&str, Call, &[&str]); 11] = [
    ("insert", |db, _| db.insert("kk", [7; 300]), &["log", "values"]),
    ("remove_range", |db, _| db.remove_range("a".."n"), &["log"]),
    ("batch", |db, _| batch(db), &["log", "values"]),
    ("compare_and_swap", |db, _| db.compare_and_swap("absent", None, Some(b"swapped")).map(|_| ()), &["log"]),
    ("insert_stream", |db, _| db.insert_stream("k", &mut &[3; 3000][..]), &["log", "values"]),
    ("ingest", |db, files| db.ingest_from(&[(Arc::clone(files), "t".to_owned())]).map(|_| ()), &["manifest", "new"]),
    ("keyspace", |db, _| db.keyspace("new").map(|_| ()), &["manifest", "new"]),
    ("drop_keyspace", |db, _| db.drop_keyspace("other").map(|_| ()), &["manifest", "new"]),
    ("persist", |db, _| db.persist(), &[]),
    ("flush", |db, _| db.flush(), &[]),
    ("compact", |db, _| db.compact(), &[]),
];

fn batch(db: &Db) -> Result<()> {
    let other = db.keyspace("other")?;
    let mut batch = db.batch();
    batch.insert(db, "b", "here").insert(&other, "b", [9; 200]).remove(db, "m");
    batch.commit()
}

fn options() -> DbOptions {
    small().durability(Durability::Grouped)
}

/// A table whose keys lie among all others.
fn table() -> Arc<dyn Storage> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let mut writer = TableWriter::create((Arc::clone(&storage), "t"), TableWriteOptions::default()).unwrap();
    for number in 0..52_u8 {
        writer.append(&[b'a' + number / 2, number % 2], b"ingested").unwrap();
    }
    writer.finish().unwrap();
    storage
}

fn level0(db: &Db) -> u64 {
    db.stats().keyspaces.iter().find(|keyspace| keyspace.name == "default").unwrap().levels[0].tables
}

/// A store with two keyspaces, three tables in level 0, and entries in memory: one more flush makes a compaction due.
fn made() -> MemoryStorage {
    let memory = MemoryStorage::new();
    let db = Db::open(Arc::new(memory.clone()), &options()).unwrap();
    let other = db.keyspace("other").unwrap();
    for number in 0..30_u8 {
        db.insert([b'a' + number % 26], vec![number; usize::from(number) * 10]).unwrap();
        other.insert([b'a' + number % 7], vec![number; 90]).unwrap();
    }
    ready(&db);
    drop((other, db));
    memory
}

/// Writes until the next flush makes a compaction due.
fn ready(db: &Db) {
    for number in 0..200_u8 {
        if level0(db) == 3 {
            return;
        }
        db.insert([b'a' + number % 26], vec![number; 50]).unwrap();
    }
    panic!("no store with three tables in level 0: {:?}", db.stats().keyspaces);
}

fn copied(image: &MemoryStorage) -> MemoryStorage {
    let memory = MemoryStorage::new();
    for name in image.list().unwrap() {
        memory.put(&name, image.content(&name).unwrap()).unwrap();
    }
    memory
}

/// A copy of a store, with its fault injector.
fn opened(image: &MemoryStorage) -> (MemoryStorage, FaultInjector, Db) {
    let memory = copied(image);
    let injector = FaultInjector::new(Arc::new(memory.clone()));
    let db = Db::open(Arc::new(injector.clone()), &options()).unwrap();
    ready(&db);
    (memory, injector, db)
}

fn contents(db: &Db) -> Contents {
    let records = |name: &String| collect(db.keyspace(name).unwrap().iter()).unwrap();
    db.keyspaces().into_iter().map(|name| (name.clone(), records(&name))).collect()
}

/// Whether an error concerns one of these kinds of file, or the folder.
fn is_of(error: &Error, kinds: &[&str]) -> bool {
    let is_kind = |kind: &OsStr| kinds.iter().any(|expected| kind.to_string_lossy() == *expected);
    error.io_error().is_some() && error.path().unwrap().extension().is_none_or(is_kind)
}

#[test]
fn after_an_error_nothing_has_happened_but_what_the_call_documents() {
    let (image, files) = (made(), table());
    let (mut failures, mut survived) = (0, 0);
    for (name, call, undecided) in CALLS {
        let (_, injector, db) = opened(&image);
        let before = contents(&db);
        injector.clear();
        call(&db, &files).unwrap();
        let calls = Operation::ALL.map(|operation| injector.calls(operation) as usize);
        let after = contents(&db);
        let (mut failed, mut faults, mut due) = (0, 0, 0);
        for (operation, calls) in Operation::ALL.into_iter().zip(calls) {
            // Of many calls, those at either end and some between.
            let stride = 1 + calls / MOST_FAULTS;
            due += calls.div_ceil(stride) as u32;
            for at in (0..).step_by(stride) {
                let (memory, injector, db) = opened(&image);
                injector.fail_once(operation, at, Fault::NoSpace);
                let outcome = call(&db, &files);
                if !injector.triggered() {
                    break;
                }
                faults += 1;
                failed += u32::from(outcome.is_err());
                injector.clear();
                let when = format!("{name}, {operation:?} {at}: {outcome:?}");
                let shown = contents(&db);
                assert!(shown == if outcome.is_ok() { after.clone() } else { before.clone() }, "{when}, shown");
                drop(db);
                let found = contents(&Db::open(Arc::new(memory), &options()).unwrap());
                match &outcome {
                    Ok(()) => assert!(found == after, "{when}, opened again"),
                    Err(error) => assert!(
                        found == before || (found == after && is_of(error, undecided)),
                        "{when}, opened again: {}",
                        if found == after { "it has happened" } else { "it has half happened" }
                    ),
                }
            }
        }
        // Each call that was meant to fail has failed, including one that the change needs.
        assert_eq!(faults, due, "{name}: faults");
        assert!(failed > 0, "{name}: none of {faults} faults made it fail");
        (failures, survived) = (failures + failed, survived + faults - failed);
    }
    assert!(
        failures > 50 && survived > 20,
        "{failures} failed, {survived} happened though work that they made due failed"
    );
}

/// Opening succeeds once the store is open; errors of compactions that are due then are reported to writers.
#[test]
fn a_store_opens_though_the_compaction_that_is_due_fails() {
    // Recovered entries are flushed at opening, which adds a table to level 0.
    let made_after = |writes: u8| {
        let (memory, _, db) = opened(&made());
        (0..writes).for_each(|number| db.insert([b'a' + number % 26], vec![number; 50]).unwrap());
        drop(db);
        memory
    };
    let is_due = |image: &MemoryStorage| {
        let db = Db::open(Arc::new(copied(image)), &options()).unwrap();
        db.activity().compactions > 0
    };
    let image = (0..60).map(made_after).find(is_due).unwrap();
    let before = contents(&opened(&image).2);
    let (mut opened, mut refused) = (0, 0);
    for at in 0.. {
        let injector = FaultInjector::new(Arc::new(copied(&image)));
        injector.fail_once(Operation::Create, at, Fault::NoSpace);
        let outcome = Db::open(Arc::new(injector.clone()), &options());
        if !injector.triggered() {
            break;
        }
        let Ok(db) = outcome else {
            refused += 1;
            continue;
        };
        opened += 1;
        assert!(contents(&db).keys().eq(before.keys()), "{at}");
        assert!(matches!(db.insert("a", "b"), Err(Error { cause: Cause::ReadOnly, .. })), "{at}");
        injector.clear();
        db.resume().unwrap();
        db.insert("a", "b").unwrap();
    }
    assert!(opened > 0, "{opened} opened, {refused} refused");
}

/// An incomplete copy is removed, rather than left as a damaged store.
#[test]
fn a_checkpoint_that_fails_leaves_no_store_or_a_whole_one() {
    let image = made();
    let mut faults = 0;
    for operation in Operation::ALL {
        for lasting in [false, true] {
            for at in (0..).step_by(2) {
                let (_, _, db) = opened(&image);
                let target = MemoryStorage::new();
                let injector = FaultInjector::new(Arc::new(target.clone()));
                match lasting {
                    true => injector.fail_from(operation, at, Fault::DeviceError),
                    false => injector.fail_once(operation, at, Fault::DeviceError),
                }
                let outcome = db.checkpoint(&(Arc::new(injector.clone()) as Arc<dyn Storage>));
                if !injector.triggered() {
                    break;
                }
                faults += 1;
                let when = format!("{operation:?} {at}, lasting {lasting}: {outcome:?}");
                match Db::open(Arc::new(target.clone()), &options().create(false)) {
                    Ok(copy) => assert!(contents(&copy) == contents(&db), "{when}"),
                    Err(error) => {
                        assert!(outcome.is_err(), "{when}: {error}");
                        let names = target.list().unwrap();
                        let has_manifest = names.iter().any(|name| name.ends_with(".manifest"));
                        assert!(!has_manifest, "{when}: {error}, with {names:?}");
                    }
                }
            }
        }
    }
    assert!(faults > 20, "{faults} faults");
}
