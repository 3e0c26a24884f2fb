//! Tests of backups. Goal: each kept backup can be restored to what the store contained when it was made, whatever
//! happens to later backups; files are copied once; damage is named, never restored. Method: a store whose contents are
//! recorded at each backup; restore drills; a kill and a failure at every call that a backup makes to its storage;
//! damage of every file of the store and of the backups. Options are drawn.

use crate::support::{Draws, Files, Records, collect, files, memory, small};
use ogive::backup::{BackupOptions, Backups};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::verify::verify_store;
use ogive::{Cause, Error};
use ogive_testkit::{
    CrashOptions, Fault, Operation, Random, Repeat, SimulatedDisk, enumerate_crashes, enumerate_faults, seeds,
};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

/// The contents of the store at each backup, by number.
type Kept = BTreeMap<u64, Records>;

fn shared(memory: &MemoryStorage) -> Arc<dyn Storage> {
    Arc::new(memory.clone())
}

fn options() -> DbOptions {
    small()
        .threads(0)
        .writes(|writes| writes.memtable_bytes(4 << 10))
        .levels(|levels| levels.table_bytes(4 << 10).level_bytes(16 << 10))
}

/// A store, its model, and random work on both.
struct Work {
    store: MemoryStorage,
    draws: Draws,
    db: Option<Db>,
    model: Records,
    random: Random,
}

impl Work {
    fn new(seed: u64) -> Self {
        let draws = Draws::new(seed, &options()).timeless();
        let store = MemoryStorage::new();
        let mut work = Self { store, draws, db: None, model: Records::new(), random: Random::new(seed) };
        work.reopen();
        work
    }

    fn reopen(&mut self) {
        self.db = None;
        self.db = Some(Db::open(shared(&self.store), &self.draws.next()).unwrap());
    }

    fn db(&self) -> &Db {
        self.db.as_ref().unwrap()
    }

    fn go_on(&mut self, steps: u64) {
        for _ in 0..steps {
            match self.random.below(80) {
                0 => self.db().compact().unwrap(),
                1 | 2 => self.db().flush().unwrap(),
                3 => self.reopen(),
                4..14 => {
                    let key = self.key();
                    self.db().remove(&key).unwrap();
                    self.model.remove(&key);
                }
                _ => {
                    let (key, length) = (self.key(), self.random.below(500));
                    let value: Vec<u8> = (0..length).map(|_| self.random.next_u64() as u8).collect();
                    self.db().insert(&key, &value).unwrap();
                    self.model.insert(key, value);
                }
            }
        }
        self.db().persist().unwrap();
    }

    fn key(&mut self) -> Vec<u8> {
        format!("key {:03}", self.random.below(300)).into_bytes()
    }
}

fn back_up(backups: &Backups, store: &MemoryStorage, keep: usize) -> ogive::Result<ogive::backup::BackupSummary> {
    backups.create(shared(store), &BackupOptions::default().keep(keep), &mut |_, _| ())
}

fn numbers(backups: &Backups) -> Vec<u64> {
    backups.list().unwrap().backups.iter().map(|backup| backup.number).collect()
}

fn restored(backups: &Backups, number: Option<u64>) -> ogive::Result<MemoryStorage> {
    let target = MemoryStorage::new();
    let outcome = backups.restore(number, shared(&target), &mut |_, _| ());
    if outcome.is_err() {
        let left: Vec<String> = target.list()?.into_iter().filter(|name| name != "LOCK").collect();
        assert!(left.is_empty(), "a failed restore has left {left:?}");
    }
    outcome.map(|_| target)
}

fn contents(db: &Db) -> Records {
    collect(db.iter()).unwrap()
}

/// Restores a backup, verifies the store, and opens it for writing.
fn drill(backups: &Backups, number: Option<u64>, expected: &Records, options: &DbOptions) {
    let target = restored(backups, number).unwrap();
    let report = verify_store(shared(&target), &mut |_, _| ()).unwrap();
    assert!(report.is_sound() && report.orphans.is_empty(), "{report:?}");
    let db = Db::open(shared(&target), &options.clone().create(false)).unwrap();
    assert!(contents(&db) == *expected, "backup {number:?} differs");
    db.insert("new", "one").unwrap();
    db.compact().unwrap();
    db.close().unwrap();
    let db = Db::open(shared(&target), options).unwrap();
    assert_eq!(contents(&db).len(), expected.len() + 1);
}

#[test]
fn each_kept_backup_is_restored_to_what_the_store_contained() {
    for (objects, seed) in seeds(1..=2).into_iter().flat_map(|seed| [(false, seed), (true, seed)]) {
        let _repeat = Repeat::new("db", seed);
        let target = if objects { MemoryStorage::objects() } else { MemoryStorage::new() };
        let (backups, mut work, mut kept) = (Backups::at(shared(&target)).unwrap(), Work::new(seed), Kept::new());
        for round in 0..8 {
            let steps = work.random.below(150);
            work.go_on(steps);
            let made = back_up(&backups, &work.store, 3).unwrap();
            assert_eq!(made.backup.number, round + 1);
            kept.insert(made.backup.number, work.model.clone());
            assert_eq!(made.removed, if round < 3 { vec![] } else { vec![round - 2] });
            made.removed.iter().for_each(|number| _ = kept.remove(number));
            assert!(numbers(&backups).iter().eq(kept.keys()));
            for (&number, expected) in &kept {
                drill(&backups, Some(number), expected, &work.draws.next());
                let db = backups.open(Some(number), &options()).unwrap();
                assert!(contents(&db) == *expected, "backup {number} opened in place differs");
            }
            drill(&backups, None, &work.model, &work.draws.next());
        }
        assert_eq!(backups.verify(&mut |_, _| ()).unwrap(), []);
        only_named_files(&target);
    }
}

/// Nothing lies among backups but their records and the files that these name.
fn only_named_files(target: &MemoryStorage) {
    for name in target.list().unwrap().into_iter().filter(|name| name != "LOCK" && !name.ends_with(".backup")) {
        let without = memory(&files(target));
        without.remove(&name).unwrap();
        let problems = Backups::at(shared(&without)).unwrap().verify(&mut |_, _| ()).unwrap();
        assert!(problems.iter().any(|problem| problem.file == name), "{name} belongs to no backup");
    }
}

#[test]
fn an_unchanged_file_is_copied_once() {
    let (target, mut work) = (MemoryStorage::new(), Work::new(31));
    let backups = Backups::at(shared(&target)).unwrap();
    work.go_on(400);
    let first = back_up(&backups, &work.store, 9).unwrap();
    assert_eq!(first.copied_files, first.backup.files);
    let before = files(&target);
    let second = back_up(&backups, &work.store, 9).unwrap();
    let copied: Vec<String> = files(&target).into_keys().filter(|name| !before.contains_key(name)).collect();
    assert!(copied.iter().all(|name| name == "000002.backup" || name.starts_with("000002-")), "{copied:?}");
    assert!(!copied.iter().any(|name| name.ends_with(".table")), "{copied:?}");
    assert_eq!(second.copied_files, copied.len() as u64 - 1);
    assert!(second.copied_bytes < first.copied_bytes / 2, "{second:?} after {first:?}");
    // A file that was removed by hand is copied again.
    let table = before.keys().find(|name| name.ends_with(".table")).unwrap();
    target.remove(table).unwrap();
    let third = back_up(&backups, &work.store, 9).unwrap();
    assert_eq!(third.copied_files, second.copied_files + 1);
    drill(&backups, Some(3), &work.model, &options());
    let refused = restored(&backups, Some(2)).unwrap_err();
    assert!(refused.to_string().contains(table), "{refused}");
}

/// Two backups, and a store that has changed since: the files, the store, and the contents of each.
fn two_backups(seed: u64) -> (Files, Work, Kept) {
    let (target, mut work, mut kept) = (MemoryStorage::new(), Work::new(seed), Kept::new());
    let backups = Backups::at(shared(&target)).unwrap();
    for number in 1..=2 {
        work.go_on(60);
        back_up(&backups, &work.store, 9).unwrap();
        kept.insert(number, work.model.clone());
    }
    work.go_on(60);
    (files(&target), work, kept)
}

/// Checks that all backups that are listed can be restored, and that the next backup succeeds and leaves no leftovers.
fn check_after(storage: Arc<dyn Storage>, work: &Work, kept: &Kept, is_made: bool) -> Result<(), String> {
    let backups = Backups::at(storage).unwrap();
    let list = backups.list().map_err(|error| error.to_string())?;
    let listed: Vec<u64> = list.backups.iter().map(|backup| backup.number).collect();
    let is_expected = match is_made {
        true => listed == [2, 3],
        false => [&[1, 2][..], &[1, 2, 3], &[2, 3]].contains(&&listed[..]),
    };
    if !list.damaged.is_empty() || !is_expected {
        return Err(format!("the backups are {listed:?}, and damaged: {:?}", list.damaged));
    }
    for number in listed {
        let expected = kept.get(&number).unwrap_or(&work.model);
        let target = restored(&backups, Some(number)).map_err(|error| error.to_string())?;
        let db = Db::open(shared(&target), &options()).map_err(|error| error.to_string())?;
        if contents(&db) != *expected {
            return Err(format!("backup {number} differs"));
        }
    }
    let next = back_up(&backups, &work.store, 1).map_err(|error| error.to_string())?;
    match numbers(&backups) == [next.backup.number] {
        true => Ok(()),
        false => Err("the next backup is not alone".into()),
    }
}

#[test]
fn a_kill_at_any_call_of_a_backup_leaves_the_earlier_ones() {
    for seed in seeds(1..=1) {
        let _repeat = Repeat::new("db", seed);
        let (image, work, kept) = two_backups(seed);
        let crash = CrashOptions { random_images: 2, stride: 1, seed };
        let start = SimulatedDisk::with_files(image);
        let attempt = |disk: &SimulatedDisk| {
            let backups = Backups::at(Arc::new(disk.clone())).unwrap();
            back_up(&backups, &work.store, 2).is_ok_and(|made| made.removed == [1])
        };
        let report = enumerate_crashes(crash, &start, attempt, |is_made, disk, _| {
            let after = disk.clone();
            check_after(Arc::new(after.clone()), &work, &kept, *is_made)?;
            let names = after.list().map_err(|error| error.to_string())?;
            match names.iter().find(|name| name.ends_with(".new")) {
                Some(left) => Err(format!("{left} was left")),
                None => Ok(()),
            }
        });
        let points = report.unwrap_or_else(|failure| panic!("{failure}")).points;
        assert!(points > 10, "{points}");
    }
}

#[test]
fn a_failure_at_any_call_of_a_backup_leaves_the_earlier_ones() {
    let (image, work, kept) = two_backups(3);
    let mut failures = 0;
    // A full disk and a part of the bytes make other errors than a device of calls that write.
    let writing = [Operation::Write, Operation::Create, Operation::Sync, Operation::SyncDirectory];
    let cases = [
        (Fault::DeviceError, &Operation::ALL[..]),
        (Fault::NoSpace, &writing),
        (Fault::Short, &[Operation::Write, Operation::Read]),
    ];
    for (fault, operations) in cases {
        for &operation in operations {
            let make = || Arc::new(memory(&image)) as Arc<dyn Storage>;
            let attempt = |storage| back_up(&Backups::at(storage).unwrap(), &work.store, 2);
            failures += enumerate_faults(operation, fault, make, attempt, |at, outcome, storage| {
                let is_complete = outcome.as_ref().is_ok_and(|made| made.removal_failure.is_none());
                let names = storage.list().unwrap();
                let is_clean = names.iter().all(|name| !name.starts_with("000003-"));
                let has_record = names.iter().any(|name| name == "000003.backup");
                let when = format!("{fault:?} {operation:?} {at}");
                assert!(is_clean || has_record || operation == Operation::Remove, "{when}: files of a failed backup");
                check_after(storage, &work, &kept, is_complete)
                    .unwrap_or_else(|error| panic!("{fault:?} {operation:?} {at}: {error}; {outcome:?}"));
            });
        }
    }
    assert!(failures > 50, "{failures}");
}

#[test]
fn a_failed_read_of_the_store_leaves_the_earlier_backups() {
    let (image, work, kept) = two_backups(4);
    for operation in [Operation::Open, Operation::Read] {
        let target: Arc<MemoryStorage> = Arc::new(memory(&image));
        let make = || shared(&work.store);
        let attempt = |store: Arc<dyn Storage>| {
            Backups::at(target.clone()).unwrap().create(&store, &BackupOptions::default(), &mut |_, _| ())
        };
        let failures = enumerate_faults(operation, Fault::DeviceError, make, attempt, |at, outcome, _| {
            assert!(outcome.is_err(), "{operation:?} {at}");
            assert_eq!(numbers(&Backups::at(target.clone()).unwrap()), [1, 2]);
        });
        assert!(failures > 5, "{failures}");
        let unused = memory(&files(&target));
        unused.remove("000003.backup").unwrap();
        check_after(Arc::new(unused), &work, &kept, false).unwrap();
    }
}

/// Flips a bit, cuts the end, or removes a file.
fn damage(files: &Files, name: &str, random: &mut Random) -> MemoryStorage {
    let mut damaged = files.clone();
    let content = damaged.get_mut(name).unwrap();
    match random.below(3) {
        0 => {
            let at = random.below(content.len() as u64) as usize;
            content[at] ^= 1 << random.below(8);
        }
        1 => content.truncate(random.below(content.len() as u64) as usize),
        _ => _ = damaged.remove(name),
    }
    memory(&damaged)
}

#[test]
fn damage_of_any_file_of_a_backup_is_found_and_not_restored() {
    let (image, work, kept) = two_backups(5);
    let mut random = Random::new(5);
    for name in image.keys() {
        for _ in 0..6 {
            let damaged = damage(&image, name, &mut random);
            let backups = Backups::at(shared(&damaged)).unwrap();
            // A record that is gone is a backup that was removed.
            if name.ends_with(".backup") && !damaged.exists(name).unwrap() {
                continue;
            }
            let found = backups.verify(&mut |_, _| ()).unwrap();
            assert!(found.iter().all(|finding| finding.file == *name) && !found.is_empty(), "{name}: {found:?}");
            for (&number, expected) in &kept {
                match restored(&backups, Some(number)) {
                    Err(error) => {
                        assert!(found[0].backups.contains(&number), "{name}: backup {number}: {error}");
                        assert!(error.to_string().contains(name), "{name}: {error}");
                    }
                    Ok(target) => {
                        assert!(!found[0].backups.contains(&number), "{name}: backup {number} was restored");
                        let db = Db::open(shared(&target), &options()).unwrap();
                        assert!(contents(&db) == *expected);
                    }
                }
            }
            if name.ends_with(".backup") {
                // Nothing is removed while it is unknown what the damaged record names.
                let before = files(&damaged);
                let made = back_up(&backups, &work.store, 1).unwrap();
                assert_eq!((made.damaged.len(), made.removed.len()), (1, 0));
                assert!(before.keys().all(|name| damaged.exists(name).unwrap()));
                assert!(restored(&backups, None).is_ok());
            }
        }
    }
}

#[test]
fn damage_of_any_file_of_the_store_is_named_and_leaves_the_earlier_backups() {
    let (image, mut work, kept) = two_backups(6);
    let mut random = Random::new(6);
    // All files are new ones, so that each is copied.
    work.db().compact().unwrap();
    work.db().close().unwrap();
    let store = files(&work.store);
    let needed = {
        let copy = MemoryStorage::new();
        let backups = Backups::at(shared(&copy)).unwrap();
        back_up(&backups, &work.store, 1).unwrap();
        let names = copy.list().unwrap().into_iter();
        names.filter_map(|name| Some(name.split_once('-')?.1.to_owned())).collect::<Vec<_>>()
    };
    let mut refused = 0;
    for name in needed.iter().filter(|name| !image.contains_key(&format!("000001-{name}"))) {
        if image.contains_key(&format!("000002-{name}")) {
            continue;
        }
        for _ in 0..6 {
            let damaged = damage(&store, name, &mut random);
            let target = memory(&image);
            let backups = Backups::at(shared(&target)).unwrap();
            match back_up(&backups, &damaged, 1) {
                // Only the remains of an older log, or padding, were hit.
                Ok(_) => drill(&backups, None, &work.model, &options()),
                Err(error) => {
                    assert!(error.to_string().contains(name.as_str()), "{name}: {error}");
                    refused += 1;
                    let after = files(&target);
                    assert!(after == image, "the backups have changed");
                }
            }
        }
    }
    assert!(refused > 10, "{refused}");
    work.reopen();
    assert_eq!(kept.len(), 2);
}

#[test]
fn backups_refuse_other_stores_other_folders_and_each_other() {
    let (image, work, _) = two_backups(7);
    let other = Work::new(8);
    let target = memory(&image);
    let backups = Backups::at(shared(&target)).unwrap();
    let refused = back_up(&backups, &other.store, 1).unwrap_err();
    assert!(refused.to_string().contains("backups of another store"), "{refused}");
    let refused = restored(&backups, Some(9)).unwrap_err();
    assert!(refused.to_string().contains("no backup 9"), "{refused}");

    let lock = target.lock("LOCK").unwrap();
    assert!(matches!(back_up(&backups, &work.store, 1), Err(Error { cause: Cause::Locked { .. }, .. })));
    // Restoring takes no lock.
    restored(&backups, None).unwrap();
    drop(lock);
    assert!(files(&target) == image);

    let refused = back_up(&Backups::at(shared(&work.store)).unwrap(), &other.store, 1).unwrap_err();
    assert!(refused.to_string().contains("no backups"), "{refused}");
    let refused = backups.restore(None, shared(&other.store), &mut |_, _| ()).unwrap_err();
    assert!(matches!(refused, Error { cause: Cause::Locked { .. }, .. }), "{refused}");
    other.db().close().unwrap();
    let refused = backups.restore(None, shared(&other.store), &mut |_, _| ()).unwrap_err();
    let kind = |error: &Error| matches!(error, Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. });
    assert!(kind(&refused), "{refused}");
    assert!(Backups::at(Arc::new(MemoryStorage::new())).unwrap().list().unwrap().backups.is_empty());
}

/// An object store has no locks; a running backup marks itself, and others that see the mark remove nothing.
#[test]
fn a_backup_in_an_object_store_removes_nothing_while_another_may_be_running() {
    let (target, mut work) = (MemoryStorage::objects(), Work::new(9));
    let backups = Backups::at(shared(&target)).unwrap();
    work.go_on(50);
    back_up(&backups, &work.store, 1).unwrap();
    let now_ms = ogive::io::unix_time_ms();
    target.put("000002.begun", now_ms.to_le_bytes().to_vec()).unwrap();
    target.put("000002-000099.table", vec![1]).unwrap();
    let made = back_up(&backups, &work.store, 1).unwrap();
    assert_eq!((made.backup.number, made.removed.len()), (3, 0));
    assert!(target.exists("000002-000099.table").unwrap());
    // It was killed two days ago.
    target.put("000002.begun", (now_ms - 2 * 24 * 3600 * 1000).to_le_bytes().to_vec()).unwrap();
    let made = back_up(&backups, &work.store, 1).unwrap();
    assert_eq!(made.removed, [1, 3]);
    assert!(!target.exists("000002-000099.table").unwrap() && !target.exists("000002.begun").unwrap());
    drill(&backups, None, &work.model, &options());
}
