//! Fault tests of stores: the storage fails at every single call. Goal: no device failure and no full disk makes the
//! store lose acknowledged data, show unwritten data, or stay closed to writes once the cause is gone. Method: the same
//! random work is repeated with another call failing each time; then reads, `resume`, further work and reopening are
//! compared with a model. The options are drawn anew for each opening.

use crate::support::{Draws, History, World, after, matching, small};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::Db;
use ogive_testkit::{Fault, FaultInjector, Operation, Random, Repeat, named_seed};
use std::sync::Arc;

const STEPS: u32 = 40;

/// Sizes that lead to about the same number of calls with any options, since each call fails in a run of its own.
fn draws(seed: u64) -> Draws {
    let like = small()
        .writes(|writes| writes.memtable_bytes(4 << 10))
        .levels(|levels| levels.table_bytes(4 << 10).level_bytes(8 << 10));
    Draws::new(seed, &like).timeless()
}

/// A failing storage, and the progress of the work on it.
struct Run {
    inner: MemoryStorage,
    injector: FaultInjector,
    draws: Draws,
    history: History,
    world: Option<World>,
    failed: bool,
}

impl Run {
    /// Works until a call fails, or to the end.
    fn new(seed: u64, plan: impl FnOnce(&FaultInjector)) -> Self {
        let inner = MemoryStorage::new();
        let injector = FaultInjector::new(Arc::new(inner.clone()));
        plan(&injector);
        let draws = draws(seed);
        let mut run = Self { inner, injector, draws, history: History::default(), world: None, failed: false };
        run.failed = run.work(seed).is_err();
        run
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::new(self.injector.clone())
    }

    fn work(&mut self, seed: u64) -> ogive::Result<()> {
        let mut random = Random::new(seed);
        let mut world = World::open(&self.storage(), self.draws.others(seed), &self.history)?;
        let outcome = (0..STEPS).try_for_each(|_| world.step(&mut self.history, &mut random));
        self.world = Some(world);
        outcome
    }

    /// Checks that the open store shows what the history allows, which is then taken as its contents.
    fn recover_and_compare(&mut self, when: &str) {
        let db = self.world.as_ref().and_then(|world| world.db.as_ref());
        let Some(db) = db else { return };
        // Without a power loss, all acknowledged data is there.
        let mut acknowledged = self.history.clone();
        acknowledged.durable = self.history.contents.len().saturating_sub(2).max(self.history.durable);
        acknowledged.durable_names = self.history.names.len().saturating_sub(2).max(self.history.durable_names);
        let found = matching(&acknowledged, db).unwrap_or_else(|error| panic!("{when}: {error}"));
        self.history = after(&self.history, found);
    }

    /// The cause is gone: the store accepts writes again, and has lost nothing.
    fn resume_and_go_on(mut self, when: &str) {
        self.injector.clear();
        self.recover_and_compare(when);
        let mut random = Random::new(99);
        if let Some(mut world) = self.world.take().filter(|world| world.db.is_some()) {
            world.db().resume().unwrap_or_else(|error| panic!("{when}: cannot resume: {error}"));
            world.go_on(&self.history).unwrap();
            self.world = Some(world);
            self.recover_and_compare(&format!("{when}, resumed"));
            self.go_on(when, &mut random);
            let world = self.world.as_mut().unwrap();
            world.close(&mut self.history).unwrap_or_else(|error| panic!("{when}, closing: {error}"));
        }
        let db = Db::open(Arc::new(self.inner.clone()), &self.draws.next()).unwrap();
        matching(&self.history, &db).unwrap_or_else(|error| panic!("{when}, opened again: {error}"));
    }

    /// Further work. A fault that has not been reported yet may be reported once.
    fn go_on(&mut self, when: &str, random: &mut Random) {
        self.world.as_mut().unwrap().go_on(&self.history).unwrap();
        let mut is_late = true;
        for _ in 0..10 {
            let world = self.world.as_mut().unwrap();
            if let Err(error) = world.step(&mut self.history, random) {
                assert!(is_late, "{when}, then: {error}");
                is_late = false;
                world.db().resume().unwrap();
                self.recover_and_compare(&format!("{when}, then: {error}"));
                self.world.as_mut().unwrap().go_on(&self.history).unwrap();
            }
        }
    }

    /// Reopens the store after the end of the process.
    fn open_again(mut self, when: &str) {
        drop(self.world.take());
        let db = Db::open(Arc::new(self.inner.clone()), &self.draws.next())
            .unwrap_or_else(|error| panic!("{when}: cannot be opened: {error}"));
        let mut acknowledged = self.history.clone();
        acknowledged.durable = acknowledged.durable.min(self.history.contents.len() - 1);
        matching(&acknowledged, &db).unwrap_or_else(|error| panic!("{when}, opened again: {error}"));
    }
}

/// Fails every `stride`-th call of a kind; returns the number of failures.
fn every_call(operation: Operation, fault: Fault, seed: u64, stride: u64) -> u64 {
    let seed = named_seed().unwrap_or(seed);
    let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
    let (mut at, mut failures) = (seed % stride, 0);
    loop {
        for resumes in [true, false] {
            let run = Run::new(seed, |injector| injector.fail_once(operation, at, fault));
            if !run.injector.triggered() {
                return failures;
            }
            failures += 1;
            let when = format!("{operation:?} {at} met {fault:?} (seed {seed})");
            if resumes { run.resume_and_go_on(&when) } else { run.open_again(&when) }
        }
        at += stride;
    }
}

/// A test with few failures proves little, unless a seed was requested.
#[track_caller]
fn assert_many(failures: u64, least: u64) {
    assert!(failures > least || named_seed().is_some(), "only {failures} failures");
}

#[test]
fn a_device_error_at_any_change_loses_nothing() {
    for (seed, operation) in [
        Operation::Write,
        Operation::Sync,
        Operation::Create,
        Operation::Rename,
        Operation::Remove,
        Operation::SyncDirectory,
    ]
    .into_iter()
    .enumerate()
    {
        assert_many(every_call(operation, Fault::DeviceError, seed as u64, 1), 10);
    }
}

#[test]
fn a_full_disk_at_any_change_loses_nothing() {
    for (seed, operation) in
        [Operation::Write, Operation::Sync, Operation::Create, Operation::SyncDirectory].into_iter().enumerate()
    {
        every_call(operation, Fault::NoSpace, 3 + seed as u64, 1);
    }
    every_call(Operation::Write, Fault::Short, 7, 1);
}

#[test]
fn a_device_error_at_any_read_is_told_and_loses_nothing() {
    assert_many(every_call(Operation::Read, Fault::DeviceError, 1, 5), 20);
    assert_many(every_call(Operation::Read, Fault::Short, 2, 7), 20);
    assert_many(every_call(Operation::Open, Fault::DeviceError, 0, 1), 20);
}

/// The calls that need a file handle: those that open and create files, and reads of files that were closed in the
/// meantime.
#[test]
fn no_handle_left_at_any_call_is_told_and_loses_nothing() {
    assert_many(every_call(Operation::Open, Fault::TooManyOpenFiles, 0, 2), 10);
    assert_many(every_call(Operation::Create, Fault::TooManyOpenFiles, 1, 5), 5);
    assert_many(every_call(Operation::Read, Fault::TooManyOpenFiles, 3, 61), 5);
    assert_many(every_call(Operation::Open, Fault::SystemTooManyOpenFiles, 4, 7), 3);
    every_call(Operation::SyncDirectory, Fault::TooManyOpenFiles, 2, 9);
}

/// A store opened without free handles is never opened incompletely: a value file that cannot be opened is not a torn
/// one.
#[test]
fn no_handle_left_at_opening_makes_no_log_shorter() {
    let storage = MemoryStorage::new();
    let seed = named_seed().unwrap_or(1);
    let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
    let mut draws = draws(seed);
    let apart = draws.next().values(|values| values.separation_bytes(0));
    let db = Db::open(Arc::new(storage.clone()), &apart).unwrap();
    (0..20_u32).for_each(|key| db.insert(key.to_be_bytes(), vec![key as u8; 2_000]).unwrap());
    // As after a kill.
    let killed = MemoryStorage::new();
    for name in storage.list().unwrap() {
        killed.put(&name, storage.content(&name).unwrap()).unwrap();
    }
    for operation in [Operation::Open, Operation::Read] {
        for fault in [Fault::TooManyOpenFiles, Fault::DeviceError] {
            let mut at = 0;
            loop {
                let copy = MemoryStorage::new();
                for name in killed.list().unwrap() {
                    copy.put(&name, killed.content(&name).unwrap()).unwrap();
                }
                let injector = FaultInjector::new(Arc::new(copy.clone()));
                injector.fail_once(operation, at, fault);
                // The number of calls is the same in equal openings.
                drop(Db::open(Arc::new(injector.clone()), &draws.others(1).next()));
                if !injector.triggered() {
                    break;
                }
                let db = Db::open(Arc::new(copy), &draws.next()).unwrap();
                for key in 0..20_u32 {
                    let found = db.get(key.to_be_bytes()).unwrap();
                    assert_eq!(found.as_deref(), Some(&[key as u8; 2_000][..]), "{operation:?} {at}: {fault:?}, {key}");
                }
                at += 1;
            }
            assert!(at > 2, "{operation:?}: {at}");
        }
    }
}

/// On a full disk reads go on, writes are refused, and `resume` reports the reason.
#[test]
fn a_disk_that_stays_full_makes_the_store_read_only_until_it_is_not() {
    for at in ogive_testkit::seeds((0..400).step_by(9)) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), at);
        let run = Run::new(at, |injector| injector.fail_from(Operation::Write, at, Fault::NoSpace));
        if !run.failed {
            break;
        }
        let mut run = run;
        let when = format!("full from write {at} on");
        if let Some(db) = run.world.as_ref().and_then(|world| world.db.as_ref()) {
            assert!(db.resume().is_err(), "{when}: resumed on a full disk");
            assert!(db.insert("key", "value").is_err(), "{when}: took a write");
            run.recover_and_compare(&when);
        }
        run.resume_and_go_on(&when);
    }
}
