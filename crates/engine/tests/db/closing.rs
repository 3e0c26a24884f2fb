//! Tests of `Db::close`. Goal: a closed store is durable and free to be opened again, whatever handles live on; those
//! fail with `Cause::Closed`; an error of the storage leaves the store open, or all of its writes durable. Method:
//! stores with living handles of every kind, on a simulated disk that loses what is not synced, with writers at work,
//! and with one failing call of the storage at a time.

use crate::support::{collect, small};
use ogive::io::{MemoryStorage, Meter, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::{Cause, Durability, Error};
use ogive_testkit::{Fault, FaultInjector, Operation, SimulatedDisk, Survival};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn options(threads: usize) -> DbOptions {
    small().threads(threads).durability(Durability::Buffered)
}

fn is_closed<T>(outcome: ogive::Result<T>) -> bool {
    matches!(outcome, Err(Error { cause: Cause::Closed, .. }))
}

#[test]
fn a_closed_store_is_durable_and_free_while_handles_live() {
    for threads in [0, 2] {
        let disk = SimulatedDisk::new();
        let storage: Arc<dyn Storage> = Arc::new(disk.clone());
        let db = Db::open(Arc::clone(&storage), &options(threads)).unwrap();
        let keyspace = db.keyspace("other").unwrap();
        keyspace.insert("a", "1").unwrap();
        db.insert("b", "2").unwrap();
        let (clone, snapshot, mut range) = (db.clone(), db.snapshot(), db.iter());
        let batch = db.batch();
        db.close().unwrap();
        db.close().unwrap();
        assert!(is_closed(keyspace.get("a")) && is_closed(clone.insert("c", "3")) && is_closed(snapshot.get(&db, "b")));
        assert!(is_closed(range.next().unwrap()) && is_closed(db.iter().next().unwrap()));
        assert!(is_closed(db.flush()) && is_closed(db.compact()) && is_closed(db.persist()) && is_closed(db.resume()));
        assert!(
            is_closed(db.keyspace("new")) && is_closed(db.keyspace("other")) && is_closed(db.drop_keyspace("other"))
        );
        assert!(is_closed(keyspace.remove_if("a", "1")) && is_closed(keyspace.multi_get(["a"])));
        let mut batch = batch;
        batch.insert(&keyspace, "d", "4");
        assert!(is_closed(batch.commit()));
        let read_only = Db::open_read_only(Arc::clone(&storage), &options(threads)).unwrap();
        assert_eq!(read_only.get("b").unwrap().as_deref(), Some(&b"2"[..]));
        read_only.close().unwrap();
        assert!(is_closed(read_only.get("b")));
        // The lock is free, and what was never synced before is durable.
        let crashed: Arc<dyn Storage> = Arc::new(disk.crash(Survival::Nothing));
        for storage in [storage, crashed] {
            let again = Db::open(storage, &options(threads)).unwrap();
            assert_eq!(again.get("b").unwrap().as_deref(), Some(&b"2"[..]));
            assert_eq!(again.keyspace("other").unwrap().get("a").unwrap().as_deref(), Some(&b"1"[..]));
            assert_eq!(collect(again.iter()).unwrap().len(), 1);
        }
    }
}

/// What a snapshot keeps of a keyspace that was dropped is released, files and all, before the lock is.
#[test]
fn a_closed_store_releases_the_dropped_keyspaces_of_its_snapshots() {
    let storage: Arc<dyn Storage> = Arc::new(SimulatedDisk::new());
    let db = Db::open(Arc::clone(&storage), &options(0)).unwrap();
    let keyspace = db.keyspace("passing").unwrap();
    keyspace.insert("a", "1").unwrap();
    db.flush().unwrap();
    let snapshot = db.snapshot();
    let mut range = snapshot.range::<&[u8]>(&keyspace, ..);
    let tables = || storage.list().unwrap().iter().filter(|name| name.ends_with(".table")).count();
    let before = tables();
    assert!(db.drop_keyspace("passing").unwrap());
    let later = db.snapshot();
    assert_eq!(snapshot.get(&keyspace, "a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(tables(), before);
    assert!(matches!(later.get(&keyspace, "a"), Err(Error { cause: Cause::KeyspaceDropped, .. })));
    assert!(later.keyspace("passing").is_none());
    db.close().unwrap();
    assert!(is_closed(snapshot.get(&keyspace, "a")) && is_closed(range.next().unwrap()));
    let named: Vec<String> = storage.list().unwrap().into_iter().filter(|name| name.ends_with(".table")).collect();
    let again = Db::open(Arc::clone(&storage), &options(0)).unwrap();
    drop((snapshot, range));
    assert!(named.iter().all(|name| !storage.exists(name).unwrap()), "{named:?}");
    again.close().unwrap();
}

#[test]
fn closing_beside_writers_keeps_every_acknowledged_write() {
    for threads in [0, 2] {
        let disk = SimulatedDisk::new();
        let options = options(threads).memory_bytes(64 << 20);
        let db = Db::open(Arc::new(disk.clone()), &options).unwrap();
        let acknowledged: Vec<AtomicU64> = (0..3).map(|_| AtomicU64::new(0)).collect();
        std::thread::scope(|scope| {
            for (writer, count) in acknowledged.iter().enumerate() {
                let db = &db;
                scope.spawn(move || {
                    for number in 0..20_000 {
                        match db.insert(format!("{writer} {number:08}"), [7; 100]) {
                            Ok(()) => count.store(number + 1, Ordering::Relaxed),
                            Err(error) => {
                                return assert!(matches!(error, Error { cause: Cause::Closed, .. }), "{error}");
                            }
                        }
                    }
                });
            }
            // So that all of them are at work.
            for number in 0..100 {
                db.insert(format!("main {number}"), "").unwrap();
            }
            db.close().unwrap();
        });
        let again = Db::open(Arc::new(disk.crash(Survival::Nothing)), &options).unwrap();
        assert_eq!(again.prefix("main").count(), 100);
        for (writer, count) in acknowledged.iter().enumerate() {
            let found = again.prefix(format!("{writer} ")).count() as u64;
            assert!(found >= count.load(Ordering::Relaxed), "{found} of {count:?}");
        }
    }
}

#[test]
fn after_a_failed_close_the_store_is_open_or_all_its_writes_are_durable() {
    let (mut open, mut closed) = (0, 0);
    for operation in [Operation::Write, Operation::Sync, Operation::Create, Operation::Rename] {
        for at in 0..4 {
            let disk = SimulatedDisk::new();
            let injector = FaultInjector::new(Arc::new(disk.clone()));
            let db = Db::open(Arc::new(injector.clone()), &options(0)).unwrap();
            db.insert("a", vec![1; 50]).unwrap();
            injector.fail_once(operation, at, Fault::DeviceError);
            let outcome = db.close();
            injector.clear();
            match outcome {
                Ok(()) => {}
                Err(_) if is_closed(db.insert("b", "2")) => closed += 1,
                Err(_) => {
                    open += 1;
                    db.resume().unwrap();
                    db.insert("b", "2").unwrap();
                    db.close().unwrap();
                }
            }
            let again = Db::open(Arc::new(disk.crash(Survival::Nothing)), &options(0)).unwrap();
            assert_eq!(again.get("a").unwrap().as_deref(), Some(&[1; 50][..]), "{operation:?} {at}");
        }
    }
    assert!(open > 0 && closed > 0, "{open} {closed}");
}

/// The numbers of objects or files of this ending.
fn files_of(storage: &dyn Storage, ending: &str) -> Vec<String> {
    storage.list().unwrap().into_iter().filter(|name| name.ends_with(ending)).collect()
}

/// A reader of a store of 1.6 MB that was closed: 97 kB of it with its log flushed, 3.2 MB with the log replayed.
#[test]
fn the_first_lookup_after_a_close_reads_a_block_and_no_log() {
    for is_dropped in [false, true] {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let db = Db::open(Arc::clone(&storage), &DbOptions::default().threads(0)).unwrap();
        for part in 0..100_u64 {
            let mut batch = db.batch();
            for number in 0..200 {
                batch.insert(&db, (part * 200 + number).to_be_bytes(), [part as u8; 64]);
            }
            batch.commit().unwrap();
        }
        if !is_dropped {
            db.close().unwrap();
        }
        drop(db);
        assert_eq!((files_of(&*storage, ".log"), files_of(&*storage, ".table").len()), (Vec::new(), 1));
        let meter = Meter::new(Arc::clone(&storage));
        let reader = Db::open_read_only(Arc::new(meter.clone()), &DbOptions::default()).unwrap();
        assert_eq!(reader.get(7_000_u64.to_be_bytes()).unwrap().as_deref(), Some(&[35; 64][..]));
        let bytes = meter.reset().reads.bytes;
        assert!(bytes < 100_000, "{bytes} bytes");
        let db = Db::open(storage, &DbOptions::default().threads(0)).unwrap();
        assert_eq!(db.iter().count(), 20_000);
    }
}

#[test]
fn a_short_log_makes_no_table_until_logs_are_long_together() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let mut tables = Vec::new();
    for opening in 0..8_u8 {
        let db = Db::open(Arc::clone(&storage), &DbOptions::default().threads(0)).unwrap();
        for number in 0..30_u8 {
            db.insert([opening, number], vec![opening; 450]).unwrap();
        }
        db.close().unwrap();
        tables.push(files_of(&*storage, ".table").len());
    }
    assert_eq!(tables, [0, 0, 0, 0, 1, 1, 1, 1], "tables after each command");
    let db = Db::open_read_only(storage, &DbOptions::default()).unwrap();
    assert_eq!(db.iter().count(), 8 * 30);
}
