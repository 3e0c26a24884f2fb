//! Commands that wait for another process that has a store open for writing. Method: several commands at once, and a
//! store that the test itself holds.

use super::run::{Folder, Run};
use ogive::io::Storage;
use ogive::{Db, DbOptions, LocalStorage};
use std::time::Duration;

#[test]
fn commands_that_write_at_the_same_time_wait_for_each_other() {
    let folder = Folder::new();
    folder.run(&["db", "put", "s", "key", "0"]).exits_with(0);
    let keys: Vec<String> = (0..8).map(|number| format!("key{number}")).collect();
    let children: Vec<_> =
        keys.iter().map(|key| folder.command(&["db", "put", "s", key, "1", "--wait", "2m"]).spawn().unwrap()).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    folder.run(&["count", "s"]).exits_with(0).prints("9\n");
}

#[test]
fn a_command_that_waits_in_vain_names_the_process_that_holds_the_store() {
    let folder = Folder::new();
    let held = Db::open(folder.path("s"), &DbOptions::default()).unwrap();
    let holder = format!("LOCK is locked by process {}\n", std::process::id());
    for wait in [&[][..], &["--wait", "50ms"]] {
        let run: Run = folder.run(&[&["db", "put", "s", "a", "1"], wait].concat());
        run.exits_with(1).complains_of(&holder).complains_of("--wait 10s");
    }
    folder.run(&["db", "put", "s", "a", "1", "--wait", "soon"]).exits_with(2).complains_of("'soon' is not a time");
    drop(held);
    folder.run(&["db", "put", "s", "a", "1"]).exits_with(0);
}

/// Runs of an archive and backups take turns at the folder of the backups.
#[test]
fn a_run_of_an_archive_waits_for_a_backup_to_the_same_place() {
    let folder = Folder::new();
    folder.run(&["db", "put", "s", "a", "1"]).exits_with(0);
    folder.run(&["db", "backup", "s", "b", "--archive-logs"]).exits_with(0);
    let lock = LocalStorage::new(folder.path("b")).lock("LOCK").unwrap();
    for verb in ["archive", "backup"] {
        let run = folder.run(&["db", verb, "s", "b", "--wait", "50ms"]).exits_with(1);
        run.complains_of("is locked by").complains_of("--wait 10s");
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            drop(lock);
        });
        folder.run(&["db", "archive", "s", "b", "--wait", "2m"]).exits_with(0);
    });
}
