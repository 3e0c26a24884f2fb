//! Tests of store folders. Goal: a store is created in a folder of its own, never among other files, and its files are
//! recognized by their place. Method: stores are opened in, and copied to, folders with all kinds of contents; the
//! contents must be there afterwards, and nothing else.

#![allow(clippy::disallowed_methods, reason = "folders are what is tested")]

use ogive::io::LocalStorage;
use ogive::lsm::{Db, DbOptions, is_store_file};
use ogive::{Cause, Durability, Error};
use std::fs;
use std::path::Path;

fn names(folder: &Path) -> Vec<String> {
    LocalStorage::names(folder).unwrap()
}

#[test]
fn a_store_is_never_made_among_other_things() {
    let folder = tempfile::tempdir().unwrap();
    let source = Db::open(folder.path().join("source"), &DbOptions::default()).unwrap();
    source.insert("a", "1").unwrap();
    for other in ["notes.txt", ".hidden", "LOCK.old", "000001.tables", "folder/"] {
        let path = folder.path().join(format!("of {}", other.trim_end_matches('/')));
        fs::create_dir(&path).unwrap();
        match other.strip_suffix('/') {
            Some(name) => fs::create_dir(path.join(name)).unwrap(),
            None => fs::write(path.join(other), "mine").unwrap(),
        }
        let before = names(&path);
        for create in [true, false] {
            let refused = Db::open(&path, &DbOptions::default().create(create));
            assert!(matches!(refused, Err(Error { cause: Cause::NotAStore, .. })), "{other}");
            assert_eq!(names(&path), before, "{other}");
        }
        let refused = source.checkpoint(&path);
        assert!(matches!(refused, Err(Error { cause: Cause::NotAStore, .. })), "{other}: {refused:?}");
        assert_eq!(names(&path), before, "{other}");
    }
}

#[test]
fn the_creation_of_a_store_can_be_taken_back_until_it_has_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("empty")).unwrap();
    fs::write(path("empty/LOCK"), "").unwrap();
    for name in ["new/deep", "empty"] {
        let db = Db::open(path(name), &DbOptions::default()).unwrap();
        let words = db.keyspace("words").unwrap();
        db.keyspace("dropped").unwrap();
        db.drop_keyspace("dropped").unwrap();
        assert!(db.take_back().unwrap(), "{name}");
        assert!(matches!(words.insert("a", "1"), Err(Error { cause: Cause::Closed, .. })), "{name}");
        assert!(!db.take_back().unwrap(), "{name}");
        db.close().unwrap();
    }
    assert_eq!(names(folder.path()), ["empty"]);
    assert_eq!(names(&path("empty")), ["LOCK"]);
    // One with a record, even a removed one, and one that was there before, stay as they are.
    let db = Db::open(path("used"), &DbOptions::default()).unwrap();
    db.insert("a", "1").unwrap();
    db.remove("a").unwrap();
    assert!(!db.take_back().unwrap());
    db.insert("b", "2").unwrap();
    drop(db);
    let db = Db::open(path("used"), &DbOptions::default()).unwrap();
    assert!(!db.take_back().unwrap());
    assert_eq!(db.get("b").unwrap().as_deref(), Some(&b"2"[..]));
    let db = Db::open(path("unused"), &DbOptions::default()).unwrap();
    drop(db);
    assert!(!Db::open(path("unused"), &DbOptions::default()).unwrap().take_back().unwrap());
    Db::open(path("unused"), &DbOptions::default().create(false)).unwrap();
}

#[test]
fn an_empty_folder_a_store_and_what_is_left_of_making_one_are_fine() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for leftovers in [&[][..], &["LOCK"], &["LOCK", "000001.manifest.new"]] {
        let path = path(&format!("{} files", leftovers.len()));
        fs::create_dir(&path).unwrap();
        leftovers.iter().for_each(|name| fs::write(path.join(name), "").unwrap());
        let db = Db::open(&path, &DbOptions::default()).unwrap();
        db.insert("a", "1").unwrap();
        db.close().unwrap();
        // Other files beside an existing store do not lock it out.
        fs::write(path.join("notes.txt"), "mine").unwrap();
        assert_eq!(Db::open(&path, &DbOptions::default()).unwrap().get("a").unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(fs::read_to_string(path.join("notes.txt")).unwrap(), "mine");
    }
    fs::create_dir_all(path("disk/lost+found")).unwrap();
    Db::open(path("disk"), &DbOptions::default()).unwrap().checkpoint(path("deep/copy")).unwrap();
    Db::open(path("deep/copy"), &DbOptions::default().create(false)).unwrap();
}

#[test]
fn files_of_a_store_are_known_by_their_folder_and_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    Db::open(&store, &DbOptions::default()).unwrap().insert("a", "1").unwrap();
    assert!(names(&store).iter().all(|name| is_store_file(&store.join(name)).unwrap()), "{:?}", names(&store));
    for name in ["LOCK", "000019.table", "1234567.values", "000001.table.0123456789abcdef.ogive-tmp"] {
        assert!(is_store_file(&store.join(name)).unwrap(), "{name}");
        assert!(!is_store_file(&folder.path().join(name)).unwrap(), "{name} beside the store");
    }
    for name in ["notes.txt", "000019.table.bak", "000019.tables"] {
        assert!(!is_store_file(&store.join(name)).unwrap(), "{name}");
        fs::write(store.join(name), "mine").unwrap();
        // Files that are not the store's are not orphans of it either.
        drop(Db::open(&store, &DbOptions::default()).unwrap());
        assert_eq!(fs::read_to_string(store.join(name)).unwrap(), "mine", "{name}");
    }
}

/// Removes, renames or empties a folder.
#[cfg(unix)]
fn displace(path: &Path, how: usize) {
    match how {
        0 => fs::remove_dir_all(path).unwrap(),
        1 => fs::rename(path, path.with_extension("moved")).unwrap(),
        _ => names(path).iter().for_each(|name| fs::remove_file(path.join(name)).unwrap()),
    }
}

#[test]
#[cfg(unix)]
fn what_is_written_to_a_folder_that_is_gone_is_refused_and_harms_no_store_that_is_there_now() {
    let folder = tempfile::tempdir().unwrap();
    for case in 0..12 {
        let (how, is_made_again, threads) = (case % 3, case / 3 % 2 == 1, case / 6 * 2);
        let path = folder.path().join(format!("{case}"));
        let options = DbOptions::default().threads(threads);
        let old = Db::open(&path, &options).unwrap();
        old.insert("a", "old").unwrap();
        old.flush().unwrap();
        let snapshot = old.snapshot();
        old.insert("a", "older").unwrap();
        assert!(old.is_in_place().unwrap());
        displace(&path, how);
        assert!(!old.is_in_place().unwrap(), "{case}");
        let new = is_made_again.then(|| Db::open(&path, &options).unwrap());
        if let Some(new) = &new {
            new.insert("a", "new").unwrap();
            new.flush().unwrap();
        }
        let before = if path.is_dir() { names(&path) } else { Vec::new() };
        for _ in 0..2 {
            assert!(matches!(old.insert("b", "lost"), Err(Error { cause: Cause::Gone, .. })), "{case}");
            assert!(
                matches!(old.compare_and_swap("b", None, Some(b"lost")), Err(Error { cause: Cause::Gone, .. })),
                "{case}"
            );
            assert!(matches!(old.keyspace("new"), Err(Error { cause: Cause::Gone, .. })), "{case}");
            assert!(matches!(old.drop_keyspace("kept"), Err(Error { cause: Cause::Gone, .. })), "{case}");
            assert!(old.flush().is_err() && old.compact().is_err(), "{case}");
        }
        assert_eq!(snapshot.get(&old, "a").unwrap().as_deref(), Some(&b"old"[..]), "{case}");
        drop(snapshot);
        // What was acknowledged is synced, wherever it is now.
        old.close().unwrap();
        assert_eq!(if path.is_dir() { names(&path) } else { Vec::new() }, before, "{case}");
        if let Some(new) = new {
            assert!(new.is_in_place().unwrap());
            new.insert("b", "kept").unwrap();
            new.close().unwrap();
            let again = Db::open(&path, &options).unwrap();
            assert_eq!(again.get("a").unwrap().as_deref(), Some(&b"new"[..]), "{case}");
            assert_eq!(again.get("b").unwrap().as_deref(), Some(&b"kept"[..]), "{case}");
        }
        if how == 1 {
            let moved = Db::open(path.with_extension("moved"), &options).unwrap();
            assert_eq!(moved.get("a").unwrap().as_deref(), Some(&b"older"[..]), "{case}");
        }
    }
}

#[test]
#[cfg(unix)]
fn a_write_without_a_sync_is_refused_soon_after_its_folder_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let db = Db::open(&path, &DbOptions::default().durability(Durability::Buffered)).unwrap();
    db.insert("a", "1").unwrap();
    fs::remove_dir_all(&path).unwrap();
    let outcomes: Vec<_> = (0..64).map(|_| db.insert("a", "2")).collect();
    assert!(matches!(outcomes[63], Err(Error { cause: Cause::Gone, .. })));
    assert!(matches!(db.insert("a", "3"), Err(Error { cause: Cause::Gone, .. })));
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(()) | Err(Error { cause: Cause::Gone, .. }))));
}

#[test]
#[cfg(unix)]
fn a_reader_knows_whether_its_path_leads_to_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    Db::open(&path, &DbOptions::default()).unwrap().insert("a", "1").unwrap();
    let reader = Db::open_read_only(&path, &DbOptions::default()).unwrap();
    assert!(reader.is_in_place().unwrap());
    // In the same folder, another store.
    displace(&path, 2);
    assert!(!reader.is_in_place().unwrap());
    Db::open(&path, &DbOptions::default()).unwrap().insert("a", "2").unwrap();
    assert!(!reader.is_in_place().unwrap());
    let reader = Db::open_read_only(&path, &DbOptions::default()).unwrap();
    assert!(reader.is_in_place().unwrap());
    displace(&path, 1);
    assert!(!reader.is_in_place().unwrap());
}
