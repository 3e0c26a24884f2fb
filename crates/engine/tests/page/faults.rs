//! Goal: acknowledged changes survive a failing storage, and after a failed write or sync the handle accepts no more
//! changes. Method: every call to the storage fails once, as a broken device or a full disk would make it.

use crate::support::{Model, change, options};
use ogive::io::{MemoryStorage, Purpose, Storage};
use ogive::page::{PageFile, PageOptions};
use ogive::{Cause, Error};
use ogive_testkit::{Fault, FaultInjector, Operation, Random, enumerate_faults};
use std::sync::Arc;

fn small() -> PageOptions {
    let mut options = options(512);
    options.memory_bytes = 0;
    options.checkpoint_bytes = 6_000;
    options.transaction_bytes = 3_000;
    options
}

#[derive(Debug, Default)]
struct Outcome {
    /// The last acknowledged commit; none if the file could not be made.
    acknowledged: Option<Model>,
    /// A commit that failed, and may be there or not.
    attempted: Option<Model>,
}

/// Random work that goes on after errors, as far as the handle lets it.
fn work(storage: &Arc<dyn Storage>, operation: Operation) -> Outcome {
    let mut outcome = Outcome::default();
    let mut random = Random::new(3);
    let Ok(mut file) = PageFile::create(storage, "f", &small(), b"head") else {
        return outcome;
    };
    let mut model = Model::default();
    outcome.acknowledged = Some(model.clone());
    for step in 0..40 {
        if step % 13 == 12 {
            // Whether it succeeds or not, the next handle has everything.
            let _ = file.close();
            match PageFile::open(storage, "f", &small()) {
                Ok(opened) => file = opened,
                Err(_) => return outcome,
            }
        }
        let mut tx = match file.begin() {
            Ok(tx) => tx,
            Err(Error { cause: Cause::Poisoned, .. }) => {
                assert!(matches!(file.checkpoint(), Err(Error { cause: Cause::Poisoned, .. })));
                return outcome;
            }
            Err(_) => continue,
        };
        let mut after = model.clone();
        if (0..6).any(|_| change(&mut tx, &mut after, &mut random).is_err()) {
            continue;
        }
        outcome.attempted = Some(after.clone());
        match tx.commit() {
            Ok(()) => {
                model = after;
                outcome.acknowledged = Some(model.clone());
                outcome.attempted = None;
            }
            Err(_) => {
                // It may exist or not, so nothing may depend on it.
                assert!(
                    matches!(file.begin(), Err(Error { cause: Cause::Poisoned, .. })) || operation == Operation::Create
                );
                model.check_snapshot(&file.snapshot().unwrap()).unwrap_or_else(|error| {
                    assert_eq!(operation, Operation::Read, "{error}");
                });
                return outcome;
            }
        }
    }
    outcome
}

fn check(outcome: &Outcome, storage: &Arc<dyn Storage>, what: &str) {
    let Some(acknowledged) = &outcome.acknowledged else {
        if storage.exists("f").unwrap() {
            drop(PageFile::open(storage, "f", &small()).unwrap());
        } else {
            drop(PageFile::create(storage, "f", &small(), b"head").unwrap());
        }
        return;
    };
    let file = PageFile::open(storage, "f", &small()).unwrap_or_else(|error| panic!("{what}: {error}"));
    let snapshot = file.snapshot().unwrap();
    let mut refusals = String::new();
    for model in outcome.attempted.iter().chain([acknowledged]) {
        let verified = || file.verify(&model.claimed()).map_err(|error| error.to_string());
        match model.check_snapshot(&snapshot).and_then(|()| verified()) {
            Ok(()) => return,
            Err(refusal) => refusals.push_str(&refusal),
        }
    }
    panic!("{what}: acknowledged commits are lost: {refusals}");
}

#[test]
fn no_failing_call_loses_what_was_acknowledged() {
    let mut failed = 0;
    for operation in Operation::ALL {
        for fault in [Fault::DeviceError, Fault::NoSpace, Fault::Short, Fault::TooManyOpenFiles] {
            failed += enumerate_faults(
                operation,
                fault,
                || Arc::new(MemoryStorage::new()),
                |storage| work(&storage, operation),
                |at, outcome, storage| check(&outcome, &storage, &format!("{operation:?} {at} {fault:?}")),
            );
        }
    }
    assert!(failed > 500, "only {failed} calls were failed");
}

#[test]
fn a_creation_that_fails_leaves_nothing_behind() {
    let mut failures = 0;
    for operation in [Operation::Create, Operation::Write, Operation::Sync, Operation::Rename] {
        for at in 0..4 {
            let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
            let faulty = FaultInjector::new(memory.clone());
            faulty.fail_once(operation, at, Fault::NoSpace);
            let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
            if PageFile::create(&storage, "f", &small(), b"head").is_err() {
                let names = memory.list().unwrap();
                assert!(names.is_empty(), "{operation:?} {at}: {names:?}");
                failures += 1;
            }
        }
    }
    assert!(failures >= 4, "{failures}");
}

/// Whether the rest of an aborted transaction stays in the file, however the transaction ends.
#[test]
fn the_file_is_cut_back_after_an_aborted_transaction() {
    const PAGES: u32 = 5_000;
    let fill = |file: &PageFile, pages: u32| {
        let mut tx = file.begin()?;
        let first = tx.allocate_extent(pages)?;
        (first..first + pages).try_for_each(|page| tx.write_fresh(page, Purpose::Leaf, &[7; 100]))?;
        Ok::<_, Error>((tx, (first, pages)))
    };
    let inner: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let length = || inner.open("f").unwrap().len();
    let injector = FaultInjector::new(Arc::clone(&inner));
    let storage: Arc<dyn Storage> = Arc::new(injector.clone());
    let file = PageFile::create(&storage, "f", &small(), b"").unwrap();
    let (tx, one) = fill(&file, 10).unwrap();
    tx.commit().unwrap();
    file.checkpoint().unwrap();
    let before = length();

    let aborted = fill(&file, PAGES).unwrap();
    assert!(length() > before + 1_000_000, "most pages are written before the commit");
    drop(aborted);
    assert_eq!((length(), file.statistics().file_bytes), (before, before));
    // The pages are taken again.
    let (tx, two) = fill(&file, 10).unwrap();
    tx.commit().unwrap();
    file.verify(&[one, two]).unwrap();
    file.checkpoint().unwrap();
    let before = length();

    // A full disk, whose handle accepts nothing more.
    injector.fail_from(Operation::Write, 1, Fault::NoSpace);
    let failed = fill(&file, PAGES);
    assert!(failed.is_err(), "{:?}", failed.map(drop));
    assert_eq!(length(), before);
    injector.clear();
    drop(file);

    // A process that was killed: the next opening cuts the file.
    let file = inner.open_update("f").unwrap();
    file.set_len(before + 1_000_000).unwrap();
    let read_only = PageFile::open_read_only(&inner, "f", &small()).unwrap();
    assert_eq!(read_only.statistics().file_bytes, before + 1_000_000, "the length is that of the file");
    drop(read_only);
    let file = PageFile::open(&inner, "f", &small()).unwrap();
    assert_eq!((length(), file.statistics().file_bytes), (before, before));
    file.verify(&[one, two]).unwrap();
}
