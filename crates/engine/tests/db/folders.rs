//! Tests of store folders. Goal: a store is created in a folder of its own, never among other files, and its files are
//! recognized by their place. Method: stores are opened in, and copied to, folders with all kinds of contents; the
//! contents must be there afterwards, and nothing else.

#![allow(clippy::disallowed_methods, reason = "folders are what is tested")]

use ogive::Error;
use ogive::io::LocalStorage;
use ogive::lsm::{Db, DbOptions, is_store_file};
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
            assert!(matches!(refused, Err(Error::NotAStore { .. })), "{other}");
            assert_eq!(names(&path), before, "{other}");
        }
        let refused = source.checkpoint(&path);
        assert!(matches!(refused, Err(Error::NotAStore { .. })), "{other}: {refused:?}");
        assert_eq!(names(&path), before, "{other}");
    }
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
