//! Goal: one file is one file, whatever path leads to it. Method: indexes, stores and tables are reached through
//! symbolic links, of files and of folders, and through hard links; two writers at once must meet the same lock and the
//! same log, or be refused.

#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "links are those of real folders")]

use ogive::index::{Index, IndexOptions};
use ogive::io::{LocalStorage, Storage};
use ogive::lsm::{Db, DbOptions};
use ogive::page::PageOptions;
use ogive::table::{Table, TableWriteOptions, TableWriter};
use ogive::{Cause, Error, Result};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

type Numbers = Index<u64, u64>;

/// Where a path leads, as the command line finds out.
fn place(path: &Path) -> (Arc<dyn Storage>, String) {
    let (folder, name) = LocalStorage::split_path(path).unwrap();
    (Arc::new(LocalStorage::new(folder)), name)
}

fn open(path: &Path) -> Result<Numbers> {
    let (storage, name) = place(path);
    Numbers::open((storage.clone(), &name), &IndexOptions::default())
}

fn create(path: &Path) -> Result<Numbers> {
    let (storage, name) = place(path);
    Numbers::create((storage.clone(), &name), &IndexOptions::default())
}

fn insert(index: &Numbers, keys: std::ops::Range<u64>) {
    let mut transaction = index.write().unwrap();
    keys.for_each(|key| assert!(transaction.insert(key, key).unwrap()));
    transaction.commit().unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_symbolic_link_leads_to_the_lock_and_the_log_of_the_index_itself() {
    let directory = tempfile::tempdir().unwrap();
    let (real, elsewhere) = (directory.path().join("real"), directory.path().join("elsewhere"));
    fs::create_dir(&real).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    let (file, link, folder) = (real.join("x"), elsewhere.join("link"), directory.path().join("folder"));
    // The link is there before the file: it is followed all the same.
    symlink("../real/x", &link).unwrap();
    symlink(&real, &folder).unwrap();
    let paths = [file.clone(), link.clone(), folder.join("x")];
    let index = create(&link).unwrap();
    insert(&index, 0..1000);
    for path in &paths {
        assert!(matches!(open(path), Err(Error { cause: Cause::Locked { .. }, .. })), "{}", path.display());
        let taken = create(path).map(drop).unwrap_err();
        assert!(matches!(&taken, Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. }), "{taken}");
        let (storage, name) = place(path);
        let reader = Numbers::open_read_only((storage.clone(), &name), &IndexOptions::default()).unwrap();
        assert_eq!(reader.len().unwrap(), 1000, "what only the log has is seen through {}", path.display());
    }
    drop(index);
    for (round, path) in (1_u64..).zip(&paths) {
        insert(&open(path).unwrap(), round * 1000..round * 1000 + 1000);
    }
    assert_eq!(open(&file).unwrap().len().unwrap(), 4000);
    assert_eq!(names(&elsewhere), ["link"], "nothing lies beside the link");
    assert_eq!(names(&real), ["x", "x.lock"]);
}

#[test]
fn names_of_a_storage_that_are_links_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    drop(create(&directory.path().join("x")).unwrap());
    symlink("x", directory.path().join("soft")).unwrap();
    symlink("nothing", directory.path().join("dangling")).unwrap();
    fs::hard_link(directory.path().join("x"), directory.path().join("hard")).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(directory.path()));
    let refused = |outcome: Result<Numbers>, word: &str| match outcome {
        Err(error @ Error { cause: Cause::OtherNames, .. }) => assert!(error.detail().contains(word), "{error}"),
        other => panic!("{other:?}"),
    };
    let options = PageOptions::default();
    // Under either of its names a file with two has none that its lock could be found by.
    for (name, word) in [("soft", "symbolic link to x"), ("hard", "2 hard links"), ("x", "2 hard links")] {
        refused(Numbers::open((storage.clone(), name), &IndexOptions::default().pages(options.clone())), word);
        refused(
            Numbers::open_read_only((storage.clone(), name), &IndexOptions::default().pages(options.clone())),
            word,
        );
    }
    refused(Numbers::create((storage.clone(), "dangling"), &IndexOptions::default()), "symbolic link to nothing");
    fs::remove_file(directory.path().join("hard")).unwrap();
    insert(&Numbers::open((storage.clone(), "x"), &IndexOptions::default().pages(options.clone())).unwrap(), 0..10);
    // Wrappers ask what they wrap.
    let metered: Arc<dyn Storage> = Arc::new(ogive::io::Meter::new(storage));
    refused(Numbers::open((metered.clone(), "soft"), &IndexOptions::default().pages(options.clone())), "symbolic link");
}

#[test]
fn links_in_a_circle_are_an_error() {
    let directory = tempfile::tempdir().unwrap();
    symlink("b", directory.path().join("a")).unwrap();
    symlink("a", directory.path().join("b")).unwrap();
    assert!(matches!(LocalStorage::split_path(&directory.path().join("a")), Err(Error { cause: Cause::Input, .. })));
}

#[test]
fn a_store_behind_a_link_is_locked_once_and_stays_where_it_was_opened() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second, link) =
        (directory.path().join("first"), directory.path().join("second"), directory.path().join("now"));
    fs::create_dir(&second).unwrap();
    drop(Db::open(&first, &DbOptions::default()).unwrap());
    symlink("first", &link).unwrap();
    let db = Db::open(&link, &DbOptions::default()).unwrap();
    assert!(matches!(Db::open(&first, &DbOptions::default()), Err(Error { cause: Cause::Locked { .. }, .. })));
    // The link is turned elsewhere while the store is at work.
    fs::remove_file(&link).unwrap();
    symlink("second", &link).unwrap();
    db.insert(b"key", b"value").unwrap();
    db.flush().unwrap();
    drop(db);
    assert!(names(&second).is_empty(), "{:?}", names(&second));
    let db = Db::open(&first, &DbOptions::default()).unwrap();
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
}

#[test]
fn a_table_that_is_replaced_through_a_link_is_the_one_that_the_link_leads_to() {
    let directory = tempfile::tempdir().unwrap();
    let (file, link) = (directory.path().join("t"), directory.path().join("link"));
    symlink("t", &link).unwrap();
    for (path, value) in [(&file, &b"old"[..]), (&link, b"new")] {
        let (storage, name) = place(path);
        let options = TableWriteOptions::default().replace(true);
        let mut writer = TableWriter::create((storage, &name), options).unwrap();
        writer.append(b"key", value).unwrap();
        writer.finish().unwrap();
    }
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    for path in [&file, &link] {
        let (storage, name) = place(path);
        let table = Table::open((storage, &name), &ogive::table::TableOptions::default()).unwrap();
        assert_eq!(table.get(b"key").unwrap().as_deref(), Some(&b"new"[..]));
    }
}

#[test]
fn what_is_written_to_an_index_that_is_gone_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for how in 0..4 {
        let path = folder.path().join(format!("{how}.idx"));
        let index = create(&path).unwrap();
        insert(&index, 0..10);
        assert!(index.is_in_place());
        let lock = folder.path().join(format!("{how}.idx.lock"));
        match how {
            0 => fs::remove_file(&path).unwrap(),
            1 => fs::rename(&path, path.with_extension("moved")).unwrap(),
            2 => fs::remove_file(&lock).unwrap(),
            _ => {
                names(folder.path())
                    .iter()
                    .filter(|name| name.starts_with("3."))
                    .for_each(|name| fs::remove_file(folder.path().join(name)).unwrap());
                insert(&create(&path).unwrap(), 0..1);
            }
        }
        assert!(!index.is_in_place(), "{how}");
        for _ in 0..2 {
            let mut transaction = index.write().unwrap();
            transaction.insert(100, 100).unwrap();
            assert!(matches!(transaction.commit(), Err(Error { cause: Cause::Gone, .. })), "{how}");
        }
        assert_eq!(index.get(5).unwrap(), Some(5), "{how}");
        assert_eq!(index.get(100).unwrap(), None, "{how}");
        drop(index);
        if how == 3 {
            assert_eq!(open(&path).unwrap().len().unwrap(), 1);
        }
    }
}
