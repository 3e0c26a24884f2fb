//! Whole runs on a store that another process has open. Goal: `verify`, `checkpoint` and `backup` do not meet its lock
//! and do not disturb it, and what they make is the store at one moment. Method: this process inserts ascending keys,
//! flushes and compacts, while commands run; each copy must have the first n keys, for an n between those acknowledged
//! before and those begun after.

use super::run::{Folder, Run, grouped};
use ogive::lsm::{Db, DbOptions};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn db(folder: &Folder, arguments: &[&str]) -> Run {
    folder.run(&grouped("db", arguments))
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Checks that a store has the first keys, and how many.
fn first_keys(folder: &Folder, store: &str) -> u64 {
    let printed = folder.run(&["scan", store]).exits_with(0).stdout;
    for (number, line) in printed.lines().enumerate() {
        assert_eq!(line, format!("key{number:08}\t{}", "v".repeat(number % 300)), "{store}");
    }
    printed.lines().count() as u64
}

#[test]
fn commands_on_a_store_that_another_process_writes_to_find_it_at_one_moment() {
    let folder = Folder::new();
    let options = DbOptions::default()
        .writes(|writes| writes.memtable_bytes(16 << 10))
        .levels(|levels| levels.table_bytes(16 << 10))
        .values(|values| values.separation_bytes(200));
    let store = Db::open(folder.path("s"), &options.memory_bytes(8 << 20)).unwrap();
    let (acknowledged, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let stop_on_drop = Stop(&stop);
        let writer = scope.spawn(|| {
            for number in 0_u64.. {
                if stop.load(Ordering::Acquire) {
                    break;
                }
                let value = "v".repeat((number % 300) as usize);
                store.insert(format!("key{number:08}"), value).unwrap();
                acknowledged.store(number + 1, Ordering::Release);
                match number % 1000 {
                    0 => store.compact().unwrap(),
                    500 => store.flush().unwrap(),
                    _ => {}
                }
            }
        });
        while acknowledged.load(Ordering::Acquire) < 100 {
            assert!(!writer.is_finished());
        }
        for round in 0..4 {
            let verified = folder.run(&["verify", "s", "--json"]).exits_with(0).json();
            assert_eq!(verified["sound"], json!(true), "{verified}");
            let copy = format!("copy{round}");
            let before = acknowledged.load(Ordering::Acquire);
            db(&folder, &["checkpoint", "s", &copy]).exits_with(0);
            let after = acknowledged.load(Ordering::Acquire) + 1;
            let found = first_keys(&folder, &copy);
            assert!((before..=after).contains(&found), "{found} is not in {before}..={after}");

            let before = acknowledged.load(Ordering::Acquire);
            let made = db(&folder, &["backup", "s", "backups", "--keep", "2", "--json"]).exits_with(0).json();
            let after = acknowledged.load(Ordering::Acquire) + 1;
            let again = format!("again{round}");
            let number = made["backup"]["number"].to_string();
            db(&folder, &["restore", "backups", &again, "--backup", &number]).exits_with(0);
            let found = first_keys(&folder, &again);
            assert!((before..=after).contains(&found), "{found} is not in {before}..={after}");
        }
        db(&folder, &["put", "s", "a", "b"]).exits_with(1).complains_of("locked by process");
        drop(stop_on_drop);
        writer.join().unwrap();
    });
    store.close().unwrap();
    assert_eq!(first_keys(&folder, "s"), acknowledged.load(Ordering::Acquire));
    db(&folder, &["backups", "backups", "--verify"]).exits_with(0);
}

#[test]
fn backups_are_made_listed_restored_and_removed() {
    let folder = Folder::new();
    for number in 1..=3 {
        db(&folder, &["put", "s", "apple", &format!("color {number}")]).exits_with(0);
        let printed = db(&folder, &["backup", "s", "all/backups", "--keep", "2"]).exits_with(0).stdout;
        assert!(printed.starts_with(&format!("all/backups: backup {number} of s: ")), "{printed}");
        assert_eq!(printed.contains("; removed 1 backup (1)"), number == 3, "{printed}");
    }
    let listed = db(&folder, &["backups", "all/backups", "--json"]).exits_with(0).json();
    let numbers: Vec<&serde_json::Value> =
        listed["backups"].as_array().unwrap().iter().map(|backup| &backup["number"]).collect();
    assert_eq!(numbers, [2, 3]);
    assert_eq!(listed["damaged"], json!([]));
    let printed = db(&folder, &["backups", "all/backups"]).exits_with(0).stdout;
    assert!(printed.starts_with("backup") && printed.lines().count() == 3, "{printed}");
    db(&folder, &["restore", "all/backups", "new"]).exits_with(0);
    folder.run(&["get", "new", "apple"]).exits_with(0).prints("color 3\n");
    let restored = db(&folder, &["restore", "all/backups", "old", "--backup", "2", "--json"]).exits_with(0).json();
    assert_eq!((&restored["store"], &restored["backup"]["number"]), (&json!("old"), &json!(2)));
    folder.run(&["get", "old", "apple"]).exits_with(0).prints("color 2\n");
    folder.run(&["verify", "old"]).exits_with(0);

    db(&folder, &["restore", "all/backups", "other", "--backup", "1"]).exits_with(2).complains_of("ogive db backups");
    db(&folder, &["restore", "all/backups", "old"]).exits_with(1).complains_of("old");
    db(&folder, &["restore", "missing", "other"]).exits_with(1).complains_of("missing");
    db(&folder, &["backups", "missing"]).exits_with(1).complains_of("missing: no such folder");
    std::fs::create_dir(folder.path("empty")).unwrap();
    for (place, flags) in [("empty", &[][..]), ("s", &["--verify"]), ("new", &["--json"])] {
        let run = db(&folder, &[&["backups", place], flags].concat()).exits_with(1);
        assert!(format!("{}{}", run.stdout, run.stderr).contains(&format!("{place} contains no backups")));
    }
    db(&folder, &["backup", "s", "s"]).exits_with(2).complains_of("the store itself");
    db(&folder, &["backup", "s", "b", "--keep", "0"]).exits_with(2);
    db(&folder, &["backup", "new", "s"]).exits_with(2).complains_of("no backups");
    std::fs::create_dir(folder.path("taken")).unwrap();
    folder.write("taken/notes.txt", "mine");
    db(&folder, &["backup", "s", "taken"]).exits_with(2).complains_of("notes.txt");
    assert!(!folder.path("other").exists() && !folder.path("b").exists());
}

#[test]
fn a_damaged_backup_is_listed_and_not_restored() {
    let folder = Folder::new();
    db(&folder, &["put", "s", "apple", "red"]).exits_with(0);
    db(&folder, &["backup", "s", "b"]).exits_with(0);
    let names = std::fs::read_dir(folder.path("b")).unwrap().map(|entry| entry.unwrap().path());
    let file = names.filter(|path| path.to_str().unwrap().contains("000001-")).max().unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    db(&folder, &["backups", "b"]).exits_with(0);
    let listed = db(&folder, &["backups", "b", "--verify"]).exits_with(1).stdout;
    assert!(listed.contains("damaged") && listed.contains(name), "{listed}");
    db(&folder, &["restore", "b", "new"]).exits_with(1).complains_of(name);
    assert!(!folder.path("new").exists());
}

#[test]
fn a_killed_backup_leaves_the_earlier_ones_and_the_next_removes_its_files() {
    let folder = Folder::new();
    let options = DbOptions::default()
        .writes(|writes| writes.memtable_bytes(64 << 10))
        .levels(|levels| levels.table_bytes(32 << 10))
        .memory_bytes(8 << 20);
    let options = options.durability(ogive::Durability::Buffered);
    let store = Db::open(folder.path("s"), &options).unwrap();
    let fill = |from: u32| {
        for number in from..from + 30_000 {
            store.insert(number.to_be_bytes(), [number as u8; 40]).unwrap();
        }
        store.flush().unwrap();
    };
    store.insert("first", "1").unwrap();
    store.persist().unwrap();
    db(&folder, &["backup", "s", "b"]).exits_with(0);
    fill(0);
    let before: Vec<String> = ogive::LocalStorage::names(&folder.path("b")).unwrap();
    let mut child = folder.command(&["db", "backup", "s", "b"]).spawn().unwrap();
    let is_caught = loop {
        let names = ogive::LocalStorage::names(&folder.path("b")).unwrap();
        if names.iter().any(|name| name.starts_with("000002-")) {
            break child.try_wait().unwrap().is_none();
        }
        if child.try_wait().unwrap().is_some() {
            break false;
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let listed = db(&folder, &["backups", "b", "--verify", "--json"]).exits_with(0).json();
    let count = listed["backups"].as_array().unwrap().len();
    // The kill may have come too late.
    assert!(count == 1 || count == 2, "{listed}");
    db(&folder, &["restore", "b", "first", "--backup", "1"]).exits_with(0);
    folder.run(&["count", "first"]).exits_with(0).prints("1\n");
    db(&folder, &["backup", "s", "b", "--keep", "1"]).exits_with(0);
    let names = ogive::LocalStorage::names(&folder.path("b")).unwrap();
    assert_eq!(names.iter().filter(|name| name.ends_with(".backup")).count(), 1, "{before:?}, {names:?}");
    if is_caught && count == 1 {
        assert!(!names.iter().any(|name| name.starts_with("000002-")), "{names:?}");
    }
    db(&folder, &["restore", "b", "second"]).exits_with(0);
    folder.run(&["count", "second"]).exits_with(0).prints("30001\n");
}
