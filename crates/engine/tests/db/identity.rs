//! Tests of files that are mistaken for others. Goal: data that two copies of a store wrote after they diverged is
//! never accepted by the other; a live log that is lost whole is not a torn tail; an older manifest in place of the
//! newest is reported, and no file that it does not name is removed. Method: two diverged copies of a store, with each
//! file of one put into the other; live logs and manifests lost, emptied, zeroed, overwritten and replaced; each store
//! is opened, read, verified and repaired.

use crate::support::{Files, files, memory};
use ogive::backup::{BackupOptions, Backups};
use ogive::io::{FastPaths, MemoryStorage, Storage, StorageWrapper, UpdatableFile};
use ogive::lsm::{Db, DbOptions, checkpoint_store};
use ogive::repair::repair_store;
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::verify::verify_store;
use ogive::{Advice, Call, Cause, Error, KeyType};
use ogive_testkit::{CrashOptions, SimulatedDisk, enumerate_crashes};
use std::collections::BTreeMap;
use std::sync::Arc;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn options() -> DbOptions {
    DbOptions::default()
        .writes(|writes| writes.memtable_bytes(64 << 10))
        .levels(|levels| levels.table_bytes(4 << 10).level_bytes(16 << 10))
        .memory_bytes(8 << 20)
        .values(|values| values.separation_bytes(200))
        // Each value goes to a value file at once, so that the copies have many of them.
        .fast_paths(FastPaths { deferred_values: false, ..FastPaths::ALL })
        .threads(0)
}

fn shared(memory: &MemoryStorage) -> Arc<dyn Storage> {
    Arc::new(memory.clone())
}

fn open(memory: &MemoryStorage) -> ogive::Result<Db> {
    Db::open(shared(memory), &options())
}

fn kind(name: &str) -> &str {
    name.rsplit('.').next().unwrap()
}

fn all(db: &Db) -> ogive::Result<Model> {
    let records: Model =
        db.iter().map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect::<Result<_, _>>()?;
    for (key, value) in &records {
        assert_eq!(db.get(key)?.as_deref(), Some(value.as_slice()));
    }
    Ok(records)
}

/// The contents of a store, opened for writing and read-only.
fn ask(files: &Files) -> ogive::Result<Model> {
    let read = Db::open_read_only(shared(&memory(files)), &options()).and_then(|db| all(&db));
    let written = open(&memory(files)).and_then(|db| all(&db));
    assert_eq!(read.is_ok(), written.is_ok(), "{:?}, but {:?}", read.as_ref().err(), written.as_ref().err());
    written
}

fn is_sound(files: &Files) -> bool {
    verify_store(shared(&memory(files)), &mut |_, _| {}).unwrap().is_sound()
}

/// Repairs a store, checks that it is sound, and returns its contents.
fn repaired(files: &Files) -> Model {
    let memory = memory(files);
    repair_store(shared(&memory), &mut |_, _| {}).unwrap();
    let report = verify_store(shared(&memory), &mut |_, _| {}).unwrap();
    assert!(report.is_sound() && report.orphans.is_empty(), "{:?} {:?}", report.findings, report.orphans);
    all(&open(&memory).unwrap()).unwrap()
}

fn key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// Writes that differ only by `mark`, so that copies use the same file numbers, lengths and keys.
fn go_on(db: &Db, mark: u8, round: u64) {
    let value = |i: u64| vec![mark; if i.is_multiple_of(3) { 300 } else { 20 }];
    (0..60).for_each(|i| db.insert(key(i * 7 + round), value(i)).unwrap());
    db.flush().unwrap();
    let elsewhere: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let write = TableWriteOptions::default().key_type(KeyType::Bytes);
    let mut writer = TableWriter::create((Arc::clone(&elsewhere), "table"), write).unwrap();
    (0..20).for_each(|i| writer.append(&key(1_000_000 + round * 100 + i), &[mark; 30]).unwrap());
    writer.finish().unwrap();
    db.ingest_from(&[(elsewhere, "table".to_owned())]).unwrap();
    (0..40).for_each(|i| db.insert(key(i * 5 + round), value(i + 1)).unwrap());
}

/// When the copy is made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Parting {
    Checkpoint,
    /// Made by a reader that does not have the store open.
    Live,
    /// A backup of the open store, restored.
    Restored,
    /// After a clean close.
    Closed,
    /// After a kill.
    Killed,
}

/// The files of a store and its copy after both were opened and written again.
fn parted(parting: Parting, is_closed: bool) -> [Files; 2] {
    let first = MemoryStorage::new();
    let second = MemoryStorage::new();
    let db = open(&first).unwrap();
    go_on(&db, b'0', 0);
    let mut first_db = None;
    match parting {
        Parting::Checkpoint => {
            db.checkpoint(shared(&second)).unwrap();
            first_db = Some(db);
        }
        Parting::Live => {
            checkpoint_store(shared(&first), shared(&second)).unwrap();
            first_db = Some(db);
        }
        Parting::Restored => {
            let backups = Backups::at(Arc::new(MemoryStorage::new())).unwrap();
            backups.create(shared(&first), &BackupOptions::default(), &mut |_, _| {}).unwrap();
            backups.restore(None, shared(&second), &mut |_, _| {}).unwrap();
            first_db = Some(db);
        }
        Parting::Closed => {
            db.close().unwrap();
            files(&first).iter().for_each(|(name, content)| second.put(name, content.clone()).unwrap());
        }
        Parting::Killed => files(&first).iter().for_each(|(name, content)| second.put(name, content.clone()).unwrap()),
    }
    let first = if parting == Parting::Killed { memory(&files(&first)) } else { first };
    let mut ends = Vec::new();
    for (copy, found, mark) in [(&first, first_db, b'1'), (&second, None, b'2')] {
        let db = found.unwrap_or_else(|| open(copy).unwrap());
        go_on(&db, mark, 1);
        db.close().unwrap();
        let db = open(copy).unwrap();
        go_on(&db, mark, 2);
        if is_closed {
            db.close().unwrap();
        }
        ends.push(files(copy));
    }
    [ends.remove(0), ends.remove(0)]
}

/// Puts each file of `from` into `into`; returns the number of reports by kind of file.
fn put_each(into: &Files, from: &Files, what: &str) -> BTreeMap<String, (u32, u32)> {
    let model = ask(into).unwrap();
    assert!(is_sound(into), "{what}");
    let mut counts: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for (name, content) in from {
        if into.get(name) == Some(content) {
            continue;
        }
        let is_there = into.contains_key(name);
        let mut mixed = into.clone();
        mixed.insert(name.clone(), content.clone());
        let count = counts.entry(kind(name).to_owned()).or_default();
        count.1 += u32::from(is_there);
        match ask(&mixed) {
            Ok(found) => assert!(found == model, "{what}: {name} of the other is taken for its own"),
            Err(error) => {
                assert!(matches!(error, Error { cause: Cause::Damaged | Cause::Io(_), .. }), "{what}: {name}: {error}");
                assert!(!is_sound(&mixed), "{what}: {name}: `verify` finds nothing, but {error}");
                count.0 += u32::from(is_there);
            }
        }
    }
    counts
}

#[test]
fn what_two_copies_wrote_after_they_parted_never_passes_for_the_others() {
    for parting in [Parting::Checkpoint, Parting::Live, Parting::Restored, Parting::Closed, Parting::Killed] {
        for is_closed in [true, false] {
            let [first, second] = parted(parting, is_closed);
            for (into, from) in [(&first, &second), (&second, &first)] {
                let what = format!("{parting:?}, closed: {is_closed}");
                let counts = put_each(into, from, &what);
                for kind in ["table", "values", "log"] {
                    let (told, tried) = counts.get(kind).copied().unwrap_or_default();
                    // A copy of an open store ends a value file that the store goes on with: the longer file has all
                    // values of the shorter one, in the same places.
                    let is_continued = kind == "values" && matches!(parting, Parting::Live | Parting::Restored);
                    assert!(told > 0 || tried == 0 || is_continued, "{what}: no {kind} of {tried} was told");
                }
            }
        }
    }
}

#[test]
fn files_of_a_copy_are_told_by_verify_and_repaired_without_them() {
    // Copies of a closed store go on with the same numbers.
    let [first, second] = parted(Parting::Closed, true);
    let model = ask(&first).unwrap();
    let mut tried = 0;
    for (name, content) in second.iter().filter(|(name, _)| first.contains_key(*name) && kind(name) != "manifest") {
        let mut mixed = first.clone();
        mixed.insert(name.clone(), content.clone());
        if ask(&mixed).is_ok() {
            continue;
        }
        tried += 1;
        for (key, value) in repaired(&mixed) {
            assert!(value.first() != Some(&b'2'), "{name}: a value of the copy");
            assert!(model.contains_key(&key), "{name}: a key of the copy");
        }
    }
    assert!(tried >= 2, "only {tried} files");
}

/// A killed store with a live log: its files, the name of the log, and its contents with those that are only in the
/// log.
fn killed() -> (Files, String, Model) {
    let memory = MemoryStorage::new();
    let db = open(&memory).unwrap();
    go_on(&db, b'0', 0);
    let left = files(&memory);
    let model = all(&db).unwrap();
    drop(db);
    let live: Vec<&String> = left.keys().filter(|name| kind(name) == "log").collect();
    let live = (*live.last().unwrap()).clone();
    (left, live, model)
}

fn is_told(damaged: &Files, live: &str, what: &str) {
    match ask(damaged) {
        Err(error @ Error { cause: Cause::Damaged, .. }) => {
            assert!(error.path().unwrap().to_string_lossy().ends_with(live), "{what}: {error}");
            assert_eq!(error.advice(), Some(&Advice::Use(Call::RepairStore)), "{what}: {error}");
        }
        Err(error) => panic!("{what}: {error}"),
        Ok(found) => panic!("{what}: {} records were found", found.len()),
    }
    let memory = memory(damaged);
    let before = files(&memory);
    assert!(open(&memory).is_err());
    assert!(before.iter().all(|(name, content)| memory.content(name).unwrap() == *content), "{what}: changed");
    assert!(!is_sound(damaged), "{what}");
}

#[test]
fn a_live_log_that_is_lost_whole_is_told_and_is_no_torn_tail() {
    let (left, live, model) = killed();
    let content = left[&live].clone();
    let (strange, other, _) = killed();
    let mut forms: Vec<(String, Option<Vec<u8>>)> = vec![
        ("missing".into(), None),
        ("empty".into(), Some(vec![])),
        ("zeroed".into(), Some(vec![0; content.len()])),
        ("overwritten".into(), Some(b"other data ".repeat(content.len() / 11))),
        ("of another store".into(), Some(strange[&other].clone())),
        ("zeroed to its header".into(), Some([vec![0; 512], content[512..].to_vec()].concat())),
    ];
    forms.extend([1, 20, 40, 55].map(|length| (format!("{length} bytes"), Some(content[..length].to_vec()))));
    forms.extend((0..56 * 8).step_by(5).map(|bit| {
        let mut flipped = content.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        (format!("bit {bit}"), Some(flipped))
    }));
    for name in left.keys().filter(|name| kind(name) == "log" && **name != live) {
        forms.push((format!("{name} in its place"), Some(left[name].clone())));
    }
    for (what, form) in forms {
        let mut damaged = left.clone();
        damaged.remove(&live);
        damaged.extend(form.map(|form| (live.clone(), form)));
        is_told(&damaged, &live, &what);
        let found = repaired(&damaged);
        assert!(found.len() >= 60, "{what}: what lay in tables is lost");
        for (key, value) in &found {
            assert_eq!(value.first(), model[key].first(), "{what}");
        }
    }
}

#[test]
fn a_log_whose_header_alone_is_lost_is_repaired_without_loss() {
    let (left, live, model) = killed();
    let mut damaged = left;
    damaged.get_mut(&live).unwrap()[..50].fill(0);
    assert!(repaired(&damaged) == model);
}

#[test]
fn an_older_manifest_in_place_of_the_newest_is_told_and_removes_nothing() {
    let memory_of = MemoryStorage::new();
    let mut manifests: BTreeMap<Vec<u8>, String> = BTreeMap::new();
    let mut model = Model::new();
    let mut seen = |found: &Files| {
        let newest = found.iter().rfind(|(name, _)| kind(name) == "manifest").unwrap();
        manifests.insert(newest.1.clone(), newest.0.clone());
    };
    let mut ends = Vec::new();
    for round in 0..4_u64 {
        let db = open(&memory_of).unwrap();
        seen(&files(&memory_of));
        for step in 0..3_u64 {
            for i in 0..40 {
                let (key, value) =
                    (key(i * 3 + step + round), vec![round as u8 * 10 + step as u8; 150 + i as usize * 3]);
                db.insert(&key, &value).unwrap();
                model.insert(key, value);
            }
            seen(&files(&memory_of));
            if round != 2 || step == 0 {
                db.flush().unwrap();
            }
            seen(&files(&memory_of));
        }
        db.insert(b"last", [round as u8; 10]).unwrap();
        model.insert(b"last".to_vec(), vec![round as u8; 10]);
        ends.push((files(&memory_of), model.clone()));
        db.close().unwrap();
        seen(&files(&memory_of));
        ends.push((files(&memory_of), model.clone()));
    }
    let (mut told, mut tried) = (0, 0);
    for (end, model) in &ends {
        let newest = end.keys().rfind(|name| kind(name) == "manifest").unwrap().clone();
        for (stale, name) in manifests.iter().filter(|(_, name)| **name <= newest) {
            if end[&newest] == *stale {
                continue;
            }
            if *name == newest && stale.len() >= end[&newest].len() {
                continue;
            }
            let mut damaged = end.clone();
            damaged.remove(&newest);
            damaged.insert(name.clone(), stale.clone());
            tried += 1;
            let memory = memory(&damaged);
            let outcome = open(&memory).and_then(|db| all(&db));
            match outcome {
                Ok(found) => assert!(found == *model, "{name} instead of {newest}"),
                Err(error) => {
                    told += 1;
                    assert!(matches!(error, Error { cause: Cause::Damaged | Cause::Io(_), .. }), "{error}");
                    for (file, content) in &damaged {
                        assert!(memory.content(file).unwrap() == *content, "{file} was changed or removed");
                    }
                    assert!(!is_sound(&damaged));
                    assert!(repaired(&damaged) == *model, "{name} instead of {newest}, repaired: {error}");
                }
            }
        }
    }
    assert!(tried > 30 && told > tried * 3 / 4, "{told} of {tried} were told");
}

#[test]
fn a_file_beyond_the_numbers_that_are_reserved_is_told_and_never_removed() {
    let memory_of = MemoryStorage::new();
    let db = open(&memory_of).unwrap();
    go_on(&db, b'0', 0);
    db.close().unwrap();
    let left = files(&memory_of);
    let model = ask(&left).unwrap();
    for ending in ["table", "values", "log"] {
        let name = format!("900000.{ending}");
        for ours in left.keys().filter(|ours| kind(ours) == ending) {
            let mut damaged = left.clone();
            damaged.insert(name.clone(), left[ours].clone());
            is_told(&damaged, &name, &format!("{ours} as {name}"));
            let found = repaired(&damaged);
            assert!(model.iter().all(|(key, value)| found.get(key) == Some(value)), "{ours} as {name}");
        }
        // A file that is not the store's proves nothing, and nothing of it is lost.
        let mut strange = left.clone();
        strange.insert(name.clone(), b"notes".to_vec());
        let memory = memory(&strange);
        assert_eq!(all(&open(&memory).unwrap()).unwrap(), model);
        assert_eq!(memory.content(&name).unwrap(), b"notes");
    }
}

#[test]
fn a_log_with_a_successor_is_no_torn_one_although_nothing_names_the_successor() {
    let memory_of = MemoryStorage::new();
    let db = open(&memory_of).unwrap();
    (0..50).for_each(|i| db.insert(key(i), [1; 30]).unwrap());
    let before = files(&memory_of);
    db.flush().unwrap();
    let after = files(&memory_of);
    drop(db);
    let is_log = |name: &&String| kind(name) == "log";
    let live = before.keys().find(is_log).unwrap().clone();
    let next = after.keys().find(|name| is_log(name) && **name > live).unwrap().clone();
    // As after a crash when the successor was begun, but not named yet.
    let mut crashed = before.clone();
    crashed.insert(next.clone(), after[&next].clone());
    assert_eq!(ask(&crashed).unwrap().len(), 50);
    assert!(is_sound(&crashed));
    let torn = before[&live].len() - 3;
    for files in [&before, &crashed] {
        let mut torn_files = files.clone();
        torn_files.get_mut(&live).unwrap().truncate(torn);
        let has_successor = files.contains_key(&next);
        assert_eq!(ask(&torn_files).is_err(), has_successor);
        assert_eq!(is_sound(&torn_files), !has_successor);
        assert_eq!(repaired(&torn_files).len(), 49);
    }
}

/// Takes more numbers before an edit than a reserved batch has.
#[test]
fn no_crash_of_a_job_of_many_files_leaves_what_passes_for_a_stray() {
    let elsewhere: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let tables: Vec<(Arc<dyn Storage>, String)> = (0..100).map(|i| (Arc::clone(&elsewhere), format!("{i}"))).collect();
    for (i, (_, name)) in (100..).zip(&tables) {
        let write = TableWriteOptions::default().key_type(KeyType::Bytes);
        let mut writer = TableWriter::create((Arc::clone(&elsewhere), name), write).unwrap();
        writer.append(&key(i), b"taken in").unwrap();
        writer.finish().unwrap();
    }
    let disk = SimulatedDisk::new();
    let db = Db::open(Arc::new(disk.clone()), &options()).unwrap();
    (0..10).for_each(|i| db.insert(key(i), [i as u8; 60]).unwrap());
    db.close().unwrap();
    let mut counts = Vec::new();
    let outcome = enumerate_crashes(
        CrashOptions { random_images: 1, stride: 7, seed: 1 },
        &disk,
        |disk| drop(Db::open(Arc::new(disk.clone()), &options()).and_then(|db| db.ingest_from(&tables))),
        |(), disk, _| {
            let storage: Arc<dyn Storage> = Arc::new(disk.clone());
            let report = verify_store(&storage, &mut |_, _| {}).map_err(|error| error.to_string())?;
            if !report.is_sound() {
                return Err(format!("{:?}", report.findings));
            }
            let db = Db::open(storage, &options()).map_err(|error| error.to_string())?;
            counts.push(all(&db).map_err(|error| error.to_string())?.len());
            if [10, 110].contains(&counts[counts.len() - 1]) { Ok(()) } else { Err(format!("{counts:?}")) }
        },
    );
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    assert!(counts.len() > 100 && counts.contains(&10), "{} crashes", counts.len());
}

/// The manifest of a folder with many openings remembers only the recent ones.
#[test]
fn openings_without_files_are_forgotten() {
    let memory_of = MemoryStorage::new();
    let mut longest = 0;
    for i in 0..300_u64 {
        let db = open(&memory_of).unwrap();
        db.insert(key(i), [1; 30]).unwrap();
        db.close().unwrap();
        let files = files(&memory_of);
        longest = longest.max(files.iter().find(|(name, _)| kind(name) == "manifest").unwrap().1.len());
    }
    assert!(longest < 8 << 10, "a manifest of {longest} bytes");
    assert_eq!(ask(&files(&memory_of)).unwrap().len(), 300);
}

/// A storage on which no log can be created.
#[derive(Debug)]
struct WithoutNewLogs(MemoryStorage);

impl StorageWrapper for WithoutNewLogs {
    fn inner(&self) -> &dyn Storage {
        &self.0
    }

    fn create_update(&self, name: &str) -> ogive::Result<Arc<dyn UpdatableFile>> {
        if kind(name) == "log" {
            return Err(Error::io("create", self.0.path(name), std::io::ErrorKind::StorageFull.into()));
        }
        self.0.create_update(name)
    }
}

/// The closed manifest proves the length of the last log; the next log, which proves it again, is created after the
/// next manifest.
#[test]
fn what_a_clean_close_proved_of_a_log_stays_proved_between_the_next_manifest_and_the_next_log() {
    let memory_of = MemoryStorage::new();
    let db = open(&memory_of).unwrap();
    (0..50).for_each(|i| db.insert(key(i), [1; 30]).unwrap());
    db.close().unwrap();
    let closed = files(&memory_of);
    let live = closed.keys().rfind(|name| kind(name) == "log").unwrap().clone();
    assert!(Db::open(Arc::new(WithoutNewLogs(memory_of.clone())), &options()).is_err());
    let between = files(&memory_of);
    assert_ne!(
        closed.keys().rfind(|name| kind(name) == "manifest"),
        between.keys().rfind(|name| kind(name) == "manifest")
    );
    for files in [closed, between] {
        assert_eq!(ask(&files).unwrap().len(), 50);
        for length in [files[&live].len() - 3, files[&live].len() / 2, 64] {
            let mut torn = files.clone();
            torn.get_mut(&live).unwrap().truncate(length);
            assert!(ask(&torn).is_err() && !is_sound(&torn), "{length} bytes");
        }
    }
}
