//! Tests of openings that wait for the lock of a store. Goal: who waits gets its turn or an error in time, and writes
//! of openings that take turns are all there. Method: threads with handles of their own on one folder, which conflict
//! on the lock as processes do; whole runs of the command are in `command/waiting.rs`.

use ogive::io::{MemoryStorage, Storage};
use ogive::{Cause, Db, DbOptions, Error};
use std::sync::Arc;
use std::time::Duration;

const PATIENT: Duration = Duration::from_secs(120);

#[test]
fn writers_that_wait_take_turns_and_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let options = DbOptions::default().threads(0).wait_for_lock(PATIENT);
    let (writers, rounds) = (4_u32, 10_u32);
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let (options, path) = (&options, folder.path());
            scope.spawn(move || {
                for round in 0..rounds {
                    let db = Db::open(path, options).unwrap();
                    db.insert([writer.to_be_bytes(), round.to_be_bytes()].concat(), "x").unwrap();
                    db.close().unwrap();
                }
            });
        }
    });
    let db = Db::open_read_only(folder.path(), &options).unwrap();
    assert_eq!(db.iter().count() as u32, writers * rounds);
}

#[test]
fn a_writer_that_waits_in_vain_is_told_so() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let held = Db::open(Arc::clone(&storage), &DbOptions::default()).unwrap();
    for wait in [Duration::ZERO, Duration::from_millis(30)] {
        let opened = Db::open(Arc::clone(&storage), &DbOptions::default().wait_for_lock(wait));
        assert!(matches!(opened, Err(Error { cause: Cause::Locked { is_own: true }, .. })), "{opened:?}");
    }
    drop(held);
    Db::open(storage, &DbOptions::default().wait_for_lock(PATIENT)).unwrap();
}

#[test]
fn a_store_on_an_object_store_has_no_lock_to_wait_for() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::objects());
    let options = DbOptions::default().wait_for_lock(PATIENT);
    let opened = Db::open(Arc::clone(&storage), &options);
    assert!(matches!(opened, Err(Error { cause: Cause::Unsupported, .. })), "{opened:?}");
    drop(Db::open(Arc::clone(&storage), &DbOptions::default()).unwrap());
    Db::open_read_only(storage, &options).unwrap();
}
