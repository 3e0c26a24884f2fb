//! Failures of archives. Goal: whatever call of a run or of a restore fails, the next one succeeds, and what is
//! restored is what the store contained; of two restores to one place one succeeds. Method: every call to the archive,
//! to the store and to the place of the restored store fails once, as of a broken device, a full disk, and by half.

use crate::archive::{ARCHIVE, Work, archive_of_runs, archived, back_up, contents_at, with_records};
use crate::support::{Files, files, memory};
use ogive::backup::{Backups, Moment};
use ogive::io::{LocalStorage, MemoryStorage, Storage};
use ogive::{Cause, Error};
use ogive_testkit::{Fault, Operation, enumerate_faults};
use std::io::ErrorKind;
use std::sync::{Arc, Barrier};

/// The failures of each kind of call.
fn cases() -> impl Iterator<Item = (Fault, Operation)> {
    let writing = [Operation::Write, Operation::Create, Operation::Sync, Operation::SyncDirectory];
    let of = |fault, operations: &[Operation]| operations.iter().map(move |&it| (fault, it)).collect::<Vec<_>>();
    let moving = [Operation::Write, Operation::Read];
    let all = [of(Fault::DeviceError, &Operation::ALL), of(Fault::NoSpace, &writing), of(Fault::Short, &moving)];
    all.into_iter().flatten()
}

fn image(files: &Files) -> Arc<dyn Storage> {
    Arc::new(memory(files))
}

/// A store with changes behind a backup that archives them: the files of both, and the work.
fn begun(seed: u64) -> (Files, Files, Work) {
    let (target, mut work) = (MemoryStorage::new(), Work::new(seed));
    let backups = Backups::at(Arc::new(target.clone()) as Arc<dyn Storage>).unwrap();
    back_up(&backups, &work.store, &archived()).unwrap();
    (0..8).for_each(|_| work.step());
    backups.archive(Arc::new(work.store.clone()) as Arc<dyn Storage>, ARCHIVE).unwrap();
    (0..8).for_each(|_| work.step());
    (files(&target), files(&work.store), work)
}

/// Archives what there is, and restores it.
fn check(target: &Arc<dyn Storage>, store: &Arc<dyn Storage>, work: &Work, when: &str) {
    let backups = Backups::at(Arc::clone(target)).unwrap();
    let last = backups.archive(Arc::clone(store), ARCHIVE).unwrap_or_else(|error| panic!("{when}: {error}")).moment;
    let names = target.list().unwrap();
    assert!(names.iter().all(|name| !name.ends_with(".new")), "{when}: {names:?}");
    assert_eq!(backups.verify(&mut |_, _| ()).unwrap(), [], "{when}");
    let restored: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    backups.restore_until(Moment::Position(last.position), Arc::clone(&restored), &mut |_, _| ()).unwrap();
    assert!(with_records(&contents_at(&restored)) == with_records(&work.now), "{when}: another store");
}

#[test]
fn a_run_goes_on_after_a_failure_at_any_call_to_the_archive_or_to_the_store() {
    let (target, store, work) = begun(1);
    let (mut failures, mut failed) = (0, 0);
    for (fault, operation) in cases() {
        for of_archive in [true, false] {
            let make = || if of_archive { image(&target) } else { image(&store) };
            let attempt = |storage: Arc<dyn Storage>| {
                let (left_store, left_target) = (image(&store), image(&target));
                let (target, store) = match of_archive {
                    true => (storage, Arc::clone(&left_store)),
                    false => (Arc::clone(&left_target), storage),
                };
                let outcome = Backups::at(target).and_then(|backups| backups.archive(store, ARCHIVE)).map(drop);
                (outcome, left_store, left_target)
            };
            failures += enumerate_faults(operation, fault, make, attempt, |at, (outcome, store, target), inner| {
                failed += u32::from(outcome.is_err());
                let (target, store) = if of_archive { (inner, store) } else { (target, inner) };
                check(&target, &store, &work, &format!("{fault:?} {operation:?} {at}, archive {of_archive}"));
            });
        }
    }
    assert!(failures > 60 && failed > 40, "{failed} of {failures}");
}

#[test]
fn a_restore_succeeds_after_a_failure_at_any_call_to_its_place_or_to_the_archive() {
    let (target, _, work, moments) = archive_of_runs(7, 2);
    let (archive, until) = (files(&target), Moment::Position(moments[2].position));
    let restore = |archive: &Arc<dyn Storage>, place: &Arc<dyn Storage>| {
        let backups = Backups::at(Arc::clone(archive))?;
        backups.restore_until(until, Arc::clone(place), &mut |_, _| ()).map(drop)
    };
    let (mut failures, mut failed) = (0, 0);
    for (fault, operation) in cases() {
        for of_place in [true, false] {
            let make = || if of_place { image(&Files::default()) } else { image(&archive) };
            let attempt = |storage: Arc<dyn Storage>| {
                let place: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
                let outcome = if of_place { restore(&image(&archive), &storage) } else { restore(&storage, &place) };
                (outcome, place)
            };
            failures += enumerate_faults(operation, fault, make, attempt, |at, (outcome, place), inner| {
                let when = format!("{fault:?} {operation:?} {at}, place {of_place}");
                let place = if of_place { inner } else { place };
                if outcome.is_err() {
                    failed += 1;
                    restore(&image(&archive), &place).unwrap_or_else(|error| panic!("{when}: {error}"));
                }
                assert!(contents_at(&place) == work.now, "{when}: another store");
            });
        }
    }
    assert!(failures > 60 && failed > 40, "{failed} of {failures}");
}

#[test]
fn of_two_restores_to_one_place_at_once_one_succeeds_and_the_other_says_why() {
    let (target, _, work, moments) = archive_of_runs(5, 2);
    let until = Moment::Position(moments[2].position);
    for round in 0..12 {
        let folder = tempfile::tempdir().unwrap();
        let in_memory = MemoryStorage::new();
        let place = || -> Arc<dyn Storage> {
            match round % 2 {
                0 => Arc::new(in_memory.clone()),
                _ => Arc::new(LocalStorage::new(folder.path())),
            }
        };
        let barrier = Barrier::new(2);
        let restore = || {
            let backups = Backups::at(Arc::new(target.clone()) as Arc<dyn Storage>).unwrap();
            barrier.wait();
            backups.restore_until(until, place(), &mut |_, _| ())
        };
        let outcomes = std::thread::scope(|scope| {
            let both = [scope.spawn(restore), scope.spawn(restore)];
            both.map(|one| one.join().unwrap())
        });
        let refused: Vec<Error> = outcomes.into_iter().filter_map(Result::err).collect();
        let [refused] = &refused[..] else { panic!("round {round}: {refused:?}") };
        let is_typed =
            matches!(refused.cause, Cause::Locked { .. } | Cause::Input | Cause::Io(ErrorKind::AlreadyExists));
        assert!(is_typed, "round {round}: {refused:?}");
        assert!(contents_at(&place()) == work.now, "round {round}");
    }
}
