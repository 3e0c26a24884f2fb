//! Backups and verification by requests. Goal: the counts that `docs/stores-on-object-stores.md` states, and copies
//! that replace nothing and survive lost answers. Method: a store that counts requests and bytes, and fails as told.

use crate::faulty_store::{Counts, Fault, FaultyStore, Lacks};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use ogive::backup::{BackupOptions, Backups};
use ogive::io::{FileCopy, Storage, Timer};
use ogive::verify::verify_store;
use ogive::{Cause, Db, DbOptions, Error};
use ogive_object_store::{ObjectOptions, ObjectStorage};
use ogive_testkit::Random;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

fn folder<S: ObjectStore>(store: &Arc<FaultyStore<S>>, name: &str) -> Arc<dyn Storage> {
    let options = ObjectOptions::default().backoff_ms(1);
    Arc::new(ObjectStorage::new(store.clone(), name, &format!("test://bucket/{name}"), &options).unwrap())
}

/// Fills a store with about this many bytes of records, one in ten with a value of 4 kB that has a value file; returns
/// the length of its tables and value files.
fn fill(storage: &Arc<dyn Storage>, bytes: u64, table_bytes: u64) -> u64 {
    let options = DbOptions::default()
        .threads(0)
        .writes(|writes| writes.memtable_bytes(table_bytes))
        .levels(|levels| levels.table_bytes(table_bytes));
    let db = Db::open(Arc::clone(storage), &options).unwrap();
    let (mut random, mut written) = (Random::new(3), 0);
    while written < bytes {
        let mut batch = db.batch();
        for number in 0..500 {
            let length = if number % 10 == 0 { 4_000 } else { 100 };
            let value: Vec<u8> = (0..length / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect();
            written += 16 + value.len() as u64;
            batch.insert(&db, random.next_u64().to_be_bytes(), value);
        }
        batch.commit().unwrap();
    }
    db.compact().unwrap();
    db.close().unwrap();
    let is_data = |name: &String| name.ends_with(".table") || name.ends_with(".values");
    storage.list().unwrap().iter().filter(|name| is_data(name)).map(|name| storage.open(name).unwrap().len()).sum()
}

fn requests(counts: &Counts) -> u64 {
    counts.gets + counts.heads + counts.puts + counts.lists + counts.deletes + counts.uploads + counts.copies
}

#[test]
fn a_backup_within_a_bucket_and_verifications_take_few_requests_and_read_once() {
    let store = FaultyStore::new();
    let (source, target) = (folder(&store, "fruit"), folder(&store, "backups"));
    let bytes = fill(&source, 12 << 20, 8 << 20);
    let backups = Backups::at(Arc::clone(&target)).unwrap();
    store.take_counts();
    let made = backups.create(&source, &BackupOptions::default(), &mut |_, _| ()).unwrap();
    let counts = store.take_counts();
    assert!(made.backup.unread_files == 0 && bytes > 12_000_000, "{made:?} of {bytes} bytes");
    assert!(counts.copies >= 2 && counts.uploads == 0, "{counts:?}");
    assert!(requests(&counts) <= 40, "{} requests: {counts:?}", requests(&counts));
    assert!(counts.bytes <= bytes + bytes / 20, "{} bytes of {bytes}", counts.bytes);

    let trusted = Backups::at(folder(&store, "trusted")).unwrap();
    trusted.create(&source, &BackupOptions::default().trust(true), &mut |_, _| ()).unwrap();
    let counts = store.take_counts();
    assert!(counts.bytes < bytes / 20 && requests(&counts) <= 40, "{} requests: {counts:?}", requests(&counts));

    assert!(verify_store(&source, &mut |_, _| ()).unwrap().is_sound());
    let counts = store.take_counts();
    assert!(requests(&counts) <= 30, "{} requests: {counts:?}", requests(&counts));
    // Value files are read for their pointers, and then from end to end.
    assert!(counts.bytes <= bytes + bytes / 20, "{} bytes of {bytes}", counts.bytes);

    assert_eq!(backups.verify(&mut |_, _| ()).unwrap(), []);
    let counts = store.take_counts();
    assert!(requests(&counts) <= 12 && counts.bytes <= bytes + bytes / 20, "{counts:?}");
}

/// Prints the counts of the document: `cargo test --release -p ogive-object-store --test objects counts_of -- --ignored
/// --nocapture`.
#[test]
#[ignore = "long: 1 minute"]
#[expect(clippy::disallowed_macros, reason = "it prints the figures of the document")]
fn counts_of_backups_and_verifications_of_68_mb_at_40_ms_a_request() {
    let wait = Duration::from_millis(40);
    let config = ThrottleConfig::default();
    let store = FaultyStore::over(ThrottledStore::new(InMemory::new(), config));
    let (source, target) = (folder(&store, "fruit"), folder(&store, "backups"));
    let bytes = fill(&source, 66_000_000, 8 << 20);
    store.inner.config_mut(|config| {
        (config.wait_get_per_call, config.wait_put_per_call) = (wait, wait);
        (config.wait_list_with_delimiter_per_call, config.wait_delete_per_call) = (wait, wait);
    });
    store.take_counts();
    let report = |what: &str, work: &mut dyn FnMut()| {
        let begun = Timer::start();
        work();
        let (counts, seconds) = (store.take_counts(), begun.elapsed_us() / 1e6);
        let (all, megabytes) = (requests(&counts), counts.bytes as f64 / 1e6);
        println!("{what}: {all} requests, {megabytes:.1} MB down, {seconds:.1} s; {counts:?}");
    };
    println!("store: {:.1} MB", bytes as f64 / 1e6);
    let back_up = |target: &Arc<dyn Storage>, options: BackupOptions| {
        Backups::at(Arc::clone(target)).unwrap().create(&source, &options, &mut |_, _| ()).unwrap();
    };
    report("backup", &mut || back_up(&target, BackupOptions::default()));
    report("second backup", &mut || back_up(&target, BackupOptions::default()));
    report("backup --trust", &mut || back_up(&folder(&store, "trusted"), BackupOptions::default().trust(true)));
    report("verify of the store", &mut || assert!(verify_store(&source, &mut |_, _| ()).unwrap().is_sound()));
    report("verify of the backups", &mut || {
        assert_eq!(Backups::at(Arc::clone(&target)).unwrap().verify(&mut |_, _| ()).unwrap(), []);
    });
}

fn file_copy(from: &str, length_bytes: u64, to: &str) -> FileCopy {
    FileCopy { name: from.to_owned(), length_bytes, new_name: to.to_owned() }
}

/// Copies `a` of the folder to `b` of another one.
fn copy_a(store: &Arc<FaultyStore>) -> Result<bool, Error> {
    let (from, to) = (folder(store, "folder"), folder(store, "copies"));
    from.copy_within(&[file_copy("a", 5, "b")], &*to).remove(0)
}

fn copied(store: &Arc<FaultyStore>) -> Option<u64> {
    folder(store, "copies").find_file("b").unwrap().and_then(|found| found.length_bytes)
}

#[test]
fn a_copy_is_one_request_and_replaces_nothing() {
    for copy_conditions in [false, true] {
        let store = FaultyStore::lacking(Lacks { copy_conditions, ..Lacks::default() });
        store.put("a", b"apple");
        store.take_counts();
        assert!(copy_a(&store).unwrap());
        let counts = store.take_counts();
        // Where the store says that it has no condition, the name is looked for.
        let asked = u64::from(copy_conditions);
        assert_eq!((counts.copies, counts.heads, requests(&counts)), (1 + asked, asked, 1 + 2 * asked));
        store.put("a", b"other");
        let error = copy_a(&store).unwrap_err();
        assert_eq!(error.cause, Cause::Io(ErrorKind::AlreadyExists), "{error}");
        assert!(error.to_string().contains("copies/b"), "{error}");
        let kept = folder(&store, "copies").read_whole(&["b".to_owned()]).remove(0).unwrap();
        assert_eq!(kept, b"apple");
    }
}

#[test]
fn a_copy_whose_answer_was_lost_is_taken_and_one_that_was_not_made_is_made_again() {
    for copy_conditions in [false, true] {
        for fault in [Fault::LateReset, Fault::Reset, Fault::SlowDown] {
            let store = FaultyStore::lacking(Lacks { copy_conditions, ..Lacks::default() });
            store.put("a", b"apple");
            store.fail_copies(&[None, Some(fault)][usize::from(!copy_conditions)..]);
            assert!(copy_a(&store).unwrap(), "{fault:?}");
            assert_eq!(copied(&store), Some(5), "{fault:?}");
        }
    }
    // After a lost answer, an object of another length is another one's.
    let store = FaultyStore::new();
    store.put("a", b"apple");
    folder(&store, "copies").put_if_absent("b", b"longer than an apple").unwrap();
    store.fail_copies(&[Some(Fault::Reset)]);
    assert_eq!(copy_a(&store).unwrap_err().cause, Cause::Io(ErrorKind::AlreadyExists));
}

#[test]
fn a_copy_of_what_is_missing_names_it_and_one_to_another_store_is_not_made() {
    let (store, other) = (FaultyStore::new(), FaultyStore::new());
    let error = copy_a(&store).unwrap_err();
    assert!(error.cause == Cause::Io(ErrorKind::NotFound) && error.to_string().contains("folder/a"), "{error}");
    store.put("a", b"apple");
    let (from, elsewhere) = (folder(&store, "folder"), folder(&other, "copies"));
    let files = [file_copy("a", 5, "b"), file_copy("a", 5_000_000_001, "long")];
    assert!(from.copy_within(&files, &*elsewhere).into_iter().all(|copied| !copied.unwrap()));
    let within: Vec<bool> =
        from.copy_within(&files, &*folder(&store, "copies")).into_iter().map(Result::unwrap).collect();
    assert_eq!(within, [true, false], "more than one request can copy");
}

/// Of a store whose longest files exceed what one request copies, as tables above 5 GB do.
#[test]
fn files_that_the_store_does_not_copy_are_downloaded_and_uploaded() {
    const MOST: u64 = 3_000_000;
    let store = FaultyStore::new();
    let options = ObjectOptions::default().backoff_ms(1).copied_bytes_max(MOST).part_bytes(1 << 20);
    let at = |name: &str| -> Arc<dyn Storage> {
        Arc::new(ObjectStorage::new(store.clone(), name, &format!("test://bucket/{name}"), &options).unwrap())
    };
    let source = at("fruit");
    fill(&source, 12 << 20, 8 << 20);
    let lengths = |name: &str| -> Vec<u64> {
        let is_data = |name: &String| name.ends_with(".table") || name.ends_with(".values");
        let names = at(name).list().unwrap().into_iter().filter(is_data);
        names.map(|file| at(name).open(&file).unwrap().len()).collect()
    };
    store.take_counts();
    let backups = Backups::at(at("backups")).unwrap();
    backups.create(&source, &BackupOptions::default(), &mut |_, _| ()).unwrap();
    let counts = store.take_counts();
    assert!(counts.uploads > 0 && counts.copies > 0, "{counts:?}");
    assert_eq!(backups.verify(&mut |_, _| ()).unwrap(), []);
    // A checkpoint copies them one by one.
    store.take_counts();
    Db::open(Arc::clone(&source), &DbOptions::default().threads(0)).unwrap().checkpoint(at("copy")).unwrap();
    let counts = store.take_counts();
    let (long, short): (Vec<u64>, Vec<u64>) = lengths("copy").into_iter().partition(|&length| length > MOST);
    assert_eq!((counts.uploads, counts.copies), (long.len() as u64, short.len() as u64), "{long:?}, {short:?}");
    assert!(verify_store(at("copy"), &mut |_, _| ()).unwrap().is_sound());
}

/// Names with what URLs and headers give a meaning.
#[test]
fn hostile_names_are_copied_as_they_are() {
    let store = FaultyStore::new();
    let (from, to) = (folder(&store, "a folder+%2f?x=1&y#z"), folder(&store, "ümlaut / and \"quotes\""));
    for name in ["a b", "a%20b", "a+b", "ä", "?versionId=1", "#1", "\"q\""] {
        from.put_if_absent(name, b"apple").unwrap();
        let copy = format!("copy of {name}");
        assert!(from.copy_within(&[file_copy(name, 5, &copy)], &*to).remove(0).unwrap(), "{name}");
        assert_eq!(to.read_whole(&[copy]).remove(0).unwrap(), b"apple", "{name}");
    }
}
