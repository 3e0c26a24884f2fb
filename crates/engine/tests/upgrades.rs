//! Tests of upgrades between formats of stores. Goal: a store keeps its format until it is told to have the newest,
//! and a program that does not know the format refuses it. Method: a made-up format after the newest, whose contents
//! are the same; programs of both releases are played in turns.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use ogive::backup::{BackupOptions, Backups};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions, EXPIRING_FORMAT, STORE_FORMAT, checkpoint_store, set_newest_format};
use ogive::verify::verify_store;
use ogive::{Cause, Error};
use ogive_testkit::{Fault, FaultInjector, Operation};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The format that only the newer release knows.
const NEWER: u32 = EXPIRING_FORMAT + 1;

/// The release that runs: one at a time, since the newest format is that of the process.
struct Release(#[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Release {
    fn older() -> Self {
        static RUNNING: Mutex<()> = Mutex::new(());
        let release = Self(RUNNING.lock().unwrap_or_else(PoisonError::into_inner));
        set_newest_format(STORE_FORMAT);
        release
    }

    fn newer(&self) {
        set_newest_format(NEWER);
    }

    fn older_again(&self) {
        set_newest_format(STORE_FORMAT);
    }
}

fn options() -> DbOptions {
    DbOptions::default()
        .values(|values| values.separation_bytes(200))
        .levels(|levels| levels.block_bytes(512))
        .threads(0)
}

/// A closed store of the older release, with tables, values and a log.
fn store() -> Arc<MemoryStorage> {
    let storage = Arc::new(MemoryStorage::new());
    let db = Db::open(storage.clone(), &options()).unwrap();
    for i in 0..300_u64 {
        db.insert(i.to_be_bytes(), vec![i as u8; if i % 10 == 0 { 300 } else { 20 }]).unwrap();
    }
    db.compact().unwrap();
    db.insert("in the log", "1").unwrap();
    db.close().unwrap();
    storage
}

fn check(storage: &Arc<MemoryStorage>) {
    let db = Db::open_read_only(storage.clone(), &options()).unwrap();
    assert_eq!(db.iter().count(), 301);
    assert_eq!(db.get(7_u64.to_be_bytes()).unwrap().as_deref(), Some(&[7; 20][..]));
    let shared: Arc<dyn Storage> = storage.clone();
    let report = verify_store(&shared, &mut |_, _| {}).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

/// The version in the newest manifest.
fn format_of(storage: &MemoryStorage) -> u32 {
    let newest = storage.list().unwrap().into_iter().filter(|name| name.ends_with(".manifest")).max().unwrap();
    let bytes = storage.content(&newest).unwrap();
    u32::from_le_bytes(bytes[8..12].try_into().unwrap())
}

#[test]
fn two_releases_share_a_store_until_it_is_upgraded_and_the_older_one_refuses_it_after() {
    let release = Release::older();
    let storage = store();
    let shared: Arc<dyn Storage> = storage.clone();
    release.newer();
    let db = Db::open(storage.clone(), &options()).unwrap();
    db.insert(7_u64.to_be_bytes(), [7; 20]).unwrap();
    let backups = Backups::at(Arc::new(MemoryStorage::new())).unwrap();
    backups.create(&shared, &BackupOptions::default(), &mut |_, _| {}).unwrap();
    let copies = [(); 3].map(|()| Arc::new(MemoryStorage::new()));
    let [checkpoint, live, restored] = copies.clone().map(|copy| copy as Arc<dyn Storage>);
    checkpoint_store(&shared, &live).unwrap();
    db.checkpoint(&checkpoint).unwrap();
    backups.restore(None, &restored, &mut |_, _| {}).unwrap();
    assert_eq!(db.stats().format, STORE_FORMAT);
    db.close().unwrap();
    release.older_again();
    for copy in copies.iter().chain([&storage]) {
        assert_eq!(format_of(copy), STORE_FORMAT);
        Db::open(copy.clone(), &options()).unwrap().close().unwrap();
        check(copy);
    }

    release.newer();
    let db = Db::open(storage.clone(), &options().upgrade(true)).unwrap();
    assert_eq!(db.stats().format, NEWER);
    db.close().unwrap();
    assert_eq!(format_of(&storage), NEWER);
    check(&storage);
    let new = Arc::new(MemoryStorage::new());
    Db::open(new.clone(), &options()).unwrap().close().unwrap();
    assert_eq!(format_of(&new), NEWER, "a new store has the newest format");

    release.older_again();
    let contents = || storage.list().unwrap().iter().map(|name| storage.content(name).unwrap()).collect::<Vec<_>>();
    let before = contents();
    let refusals = [
        Db::open(storage.clone(), &options()).unwrap_err(),
        Db::open_read_only(storage.clone(), &options()).unwrap_err(),
        backups.create(&shared, &BackupOptions::default(), &mut |_, _| {}).unwrap_err(),
        checkpoint_store(&shared, &(Arc::new(MemoryStorage::new()) as Arc<dyn Storage>)).unwrap_err(),
    ];
    for refused in refusals {
        assert!(matches!(refused, Error { cause: Cause::Version { found: NEWER, .. }, .. }), "{refused}");
        assert!(refused.to_string().contains(".manifest") && refused.to_string().contains("newer ogive"), "{refused}");
    }
    assert!(before == contents(), "a refused store has changed");
}

/// An opening that fails for lack of space changes no format; one that succeeds has raised it, whatever fails later.
#[test]
fn an_upgrade_that_fails_leaves_the_format_as_it_was() {
    let release = Release::older();
    let mut failures = 0;
    for operation in [Operation::Create, Operation::Write, Operation::Sync, Operation::Rename] {
        for at in 0.. {
            release.older_again();
            let storage = store();
            release.newer();
            let injector = FaultInjector::new(storage.clone());
            injector.fail_from(operation, at, Fault::NoSpace);
            let opened = Db::open(Arc::new(injector.clone()), &options().upgrade(true));
            let is_upgraded = opened.is_ok();
            let closed = opened.and_then(|db| db.close());
            let format = Db::open_read_only(storage.clone(), &options()).unwrap().stats().format;
            assert_eq!(format == NEWER, is_upgraded, "{operation:?} {at}: {closed:?}");
            check(&storage);
            if closed.is_ok() {
                break;
            }
            failures += 1;
        }
    }
    assert!(failures > 8, "{failures}");
}
