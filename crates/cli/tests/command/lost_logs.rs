//! Repair of indexes whose log is lost, which keeps the last checkpoint and needs consent. Method: the files of an open
//! index are copied, as a crash leaves them, and its log is removed, emptied or damaged.

use super::run::{Folder, grouped};
use ogive::index::{Index, IndexOptions};
use ogive::io::{LocalStorage, Storage};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

/// An index as a crash leaves it, with 1,000 entries in its last checkpoint and 500 only in its log; and its log
/// segments.
fn crashed(folder: &Folder) -> Vec<PathBuf> {
    let elsewhere = Folder::new();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(elsewhere.path("")));
    let index = Index::<u64, u64>::create((storage.clone(), "ids"), &IndexOptions::default()).unwrap();
    let put = |keys: std::ops::Range<u64>| {
        let mut transaction = index.write().unwrap();
        keys.for_each(|key| _ = transaction.insert(key, key).unwrap());
        transaction.commit().unwrap();
    };
    put(0..1000);
    index.checkpoint().unwrap();
    put(1000..1200);
    put(1200..1500);
    let mut segments = Vec::new();
    for name in elsewhere.names().iter().filter(|name| *name == "ids" || name.contains(".log-")) {
        fs::copy(elsewhere.path(name), folder.path(name)).unwrap();
        if name.contains(".log-") {
            segments.push(folder.path(name));
        }
    }
    assert!(!segments.is_empty());
    drop(index);
    let sound = Index::<u64, u64>::open_read_only(
        (Arc::new(LocalStorage::new(folder.path(""))), "ids"),
        &IndexOptions::default(),
    );
    assert_eq!(sound.unwrap().len().unwrap(), 1500);
    segments
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_log_is_like_a_lost_one_and_is_not_waited_for() {
    let folder = Folder::new();
    for segment in crashed(&folder) {
        fs::remove_file(&segment).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&segment).status().unwrap().success());
    }
    folder.run(&["get", "ids", "7"]).exits_with(1).complains_of("a pipe or a device, not a file");
    folder.run(&["verify", "ids"]).exits_with(1).complains_of("a pipe or a device, not a file");
    let said = folder.run(&["repair", "--in-place", "ids"]).exits_with(1).complains_of("--accept-loss");
    assert!(said.stdout.contains("kept: 1,000 entries"), "{}", said.stdout);
    let said = folder.run(&["repair", "ids"]).exits_with(0).complains_of("number of commits lost");
    said.prints("ids: 1,000 records saved in ids.repaired, none lost\n");
}

#[test]
fn commits_of_an_unknown_number_are_not_called_0_records() {
    let (folder, elsewhere) = (Folder::new(), Folder::new());
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(elsewhere.path("")));
    let index = Index::<u64, u64>::create((storage, "ids"), &IndexOptions::default()).unwrap();
    index.bulk_load((0..1000).map(|key| (key, key))).unwrap();
    // As after a kill, but without the log, which alone says that the pages are in use.
    fs::copy(elsewhere.path("ids"), folder.path("ids")).unwrap();
    drop(index);
    let run = folder.run(&["repair", "ids"]).exits_with(1);
    let run = run.complains_of("nothing can be saved").complains_of("their number is unknown: ");
    assert!(!run.stderr.contains(" 0 "), "{}", run.stderr);
    folder.run(&["repair", "--in-place", "ids"]).exits_with(1).complains_of("--accept-loss");
}

#[test]
fn an_index_without_its_log_keeps_its_last_checkpoint_once_the_loss_is_accepted() {
    let removed = |path: &PathBuf| fs::remove_file(path).unwrap();
    let emptied = |path: &PathBuf| fs::write(path, "").unwrap();
    let zeroed = |path: &PathBuf| fs::write(path, vec![0; fs::metadata(path).unwrap().len() as usize]).unwrap();
    for lose in [&removed as &dyn Fn(&PathBuf), &emptied, &zeroed] {
        let folder = Folder::new();
        crashed(&folder).iter().for_each(lose);
        let before = fs::read(folder.path("ids")).unwrap();
        for command in [&["get", "ids", "7"][..], &["put", "ids", "7", "x"], &["scan", "ids"], &["stats", "ids"]] {
            folder.run(&grouped("index", command)).exits_with(1).complains_of("`ogive repair --in-place`");
        }
        let said = folder.run(&["repair", "--in-place", "ids"]).exits_with(1).complains_of("--accept-loss");
        assert!(said.stdout.contains("kept: 1,000 entries") && said.stdout.contains("unknown"), "{}", said.stdout);
        let said = folder.run(&["repair", "--in-place", "ids", "--json"]).exits_with(1).json();
        assert_eq!((&said["repaired"], &said["entries"]), (&json!(false), &json!(1000)));
        assert_eq!(fs::read(folder.path("ids")).unwrap(), before, "nothing was changed");
        folder.run(&["repair", "--in-place", "ids", "--accept-loss"]).exits_with(0);
        folder.run(&["verify", "ids"]).exits_with(0);
        assert_eq!(folder.run(&["scan", "ids"]).exits_with(0).stdout.lines().count(), 1000);
        for key in ["1000", "1499", "5"] {
            folder.run(&["index", "put", "ids", key, "3"]).exits_with(0);
        }
        folder.run(&["verify", "ids"]).exits_with(0);
        assert_eq!(folder.run(&["scan", "ids"]).exits_with(0).stdout.lines().count(), 1002);
    }
}

#[test]
fn an_index_that_opens_is_not_touched_and_neither_is_one_whose_pages_are_damaged() {
    let folder = Folder::new();
    let segments = crashed(&folder);
    let before = fs::read(folder.path("ids")).unwrap();
    let said = folder.run(&["repair", "--in-place", "ids", "--accept-loss", "--json"]).exits_with(0).json();
    assert_eq!(said, json!({ "opens": true, "repaired": false }));
    assert_eq!(fs::read(folder.path("ids")).unwrap(), before);
    segments.iter().for_each(|path| fs::remove_file(path).unwrap());
    let mut damaged = before.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(folder.path("ids"), &damaged).unwrap();
    folder.run(&["repair", "--in-place", "ids", "--accept-loss"]).exits_with(1).complains_of("nothing was changed");
    assert_eq!(fs::read(folder.path("ids")).unwrap(), damaged);
    folder.run(&["repair", "--in-place", "missing"]).exits_with(1);
    assert!(!folder.names().iter().any(|name| name.contains("missing")), "{:?}", folder.names());
}
