//! `ogive db changes`: lines of JSON in the order of the commits, subscribers, and a reader beside a writer.

use super::run::{Folder, Run};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// Whether the folder of a restore is left.
fn has_staging(folder: &Folder) -> bool {
    let mut names = std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    names.any(|name| name.to_string_lossy().contains(".restoring-"))
}

/// The lines without the positions, and the positions.
fn split(run: &Run) -> (Vec<Value>, Vec<String>) {
    let mut lines = run.json_lines();
    let taken = lines.iter_mut().filter_map(|line| line.as_object_mut()?.remove("position"));
    let positions = taken.map(|position| position.as_str().unwrap().to_owned()).collect();
    (lines, positions)
}

#[test]
fn changes_are_printed_in_order_and_once_for_each_subscriber() {
    let folder = Folder::new();
    folder.run(&["db", "put", "s", "apple", "red"]).exits_with(0);
    let changes = |arguments: &[&str]| folder.run(&[&["db", "changes", "s"], arguments].concat()).exits_with(0);
    let (lines, _) = split(&changes(&[]));
    assert_eq!(lines, [json!({ "keyspace": "default", "put": { "key": "apple", "value": "red" } })]);
    assert!(changes(&["--subscriber", "search"]).stdout.is_empty());
    folder.run(&["db", "delete", "s", "apple"]).exits_with(0);
    folder.run(&["db", "delete", "s", "--from", "a", "--to", "c"]).exits_with(0);
    folder.write("rows.csv", "id,name\n1,ann\n2,bob\n");
    folder.run(&["db", "import", "s", "rows.csv", "--key", "id", "--keyspace", "people"]).exits_with(0);
    folder.run(&["db", "compact", "s"]).exits_with(0);
    folder.run(&["db", "drop-keyspace", "s", "people"]).exits_with(0);
    let (lines, positions) = split(&changes(&["--subscriber", "search"]));
    assert_eq!(lines[0], json!({ "keyspace": "default", "remove": { "key": "apple" } }));
    assert_eq!(lines[1], json!({ "keyspace": "default", "remove_range": { "from": "a", "to": "c" } }));
    assert_eq!(lines.last().unwrap(), &json!({ "keyspace": "people", "drop": true }));
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(changes(&["--subscriber", "search"]).stdout.is_empty());
    let (again, _) = split(&changes(&["--since", &positions[0]]));
    assert_eq!(again.first(), Some(&lines[1]));
    changes(&["--subscriber", "search", "--unsubscribe"]).prints("{\"unsubscribed\":true}\n");
    folder.run(&["db", "compact", "s"]).exits_with(0);
    let run = folder.run(&["db", "changes", "s", "--since", &positions[0]]);
    run.exits_with(1).complains_of("does not have the next changes any more");
    folder.run(&["db", "changes", "s", "--since", "7"]).exits_with(2).complains_of("is not a position");
}

#[test]
fn a_follower_prints_what_another_process_writes_meanwhile() {
    let folder = Folder::new();
    folder.run(&["db", "put", "s", "first", "1"]).exits_with(0);
    let mut follower =
        folder.command(&["db", "changes", "s", "--follow", "--every", "10ms"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["put"]["key"].clone();
    assert_eq!(next(), "first");
    for key in ["second", "third"] {
        folder.run(&["db", "put", "s", key, "1"]).exits_with(0);
        assert_eq!(next(), key);
    }
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn a_store_is_restored_as_of_an_archived_moment() {
    let folder = Folder::new();
    let db = |arguments: &[&str]| folder.run(&[&["db"], arguments].concat());
    db(&["put", "s", "apple", "red"]).exits_with(0);
    db(&["archive", "s", "b"]).exits_with(1).complains_of("b");
    let made = db(&["backup", "s", "b", "--archive-logs", "--json"]).exits_with(0).json();
    assert_eq!((&made["archive"]["began"], &made["archive_failure"]), (&json!(true), &Value::Null));
    db(&["put", "s", "pear", "green"]).exits_with(0);
    // A folder that is not of the program stays.
    std::fs::create_dir(folder.path("before.restoring")).unwrap();
    folder.write("before.restoring/notes", "mine");
    let moment = db(&["archive", "s", "b", "--json"]).exits_with(0).json()["moment"].clone();
    db(&["delete", "s", "--from", "a", "--to", "z"]).exits_with(0);
    db(&["archive", "s", "b"]).exits_with(0);
    db(&["restore", "b", "before", "--until", moment["position"].as_str().unwrap()]).exits_with(0);
    folder.run(&["get", "before", "pear"]).exits_with(0).prints("green\n");
    db(&["restore", "b", "now", "--until", "2999-01-01 00:00:00"]).exits_with(2).complains_of("not archived yet");
    db(&["restore", "b", "now", "--until", "1999-01-01T00:00:00Z"]).exits_with(2).complains_of("archive begins after");
    db(&["restore", "b", "now", "--until", "noon"]).exits_with(2).complains_of("give a time in UTC");
    assert!(!folder.path("now").exists() && !has_staging(&folder));
    assert!(folder.path("before.restoring/notes").exists());
    let told = db(&["backups", "b", "--verify"]).exits_with(0).stdout;
    assert!(told.contains("archived from "), "{told}");
    let list = db(&["backups", "b", "--json"]).exits_with(0).json();
    assert_eq!(list["archived"].as_array().unwrap().len(), 3);
    assert_eq!(list["archived"][1], moment);
}
