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
fn changes_are_printed_in_order_until_they_are_acknowledged() {
    let folder = Folder::new();
    folder.run(&["db", "put", "s", "apple", "red"]).exits_with(0);
    let changes = |arguments: &[&str]| folder.run(&[&["db", "changes", "s"], arguments].concat()).exits_with(0);
    let (lines, _) = split(&changes(&[]));
    assert_eq!(lines, [json!({ "put": { "keyspace": "default", "key": "apple", "value": "red" } })]);
    let subscribed = changes(&["--subscriber", "search", "--subscribe"]).json();
    assert!(changes(&["--subscriber", "search"]).stdout.is_empty());
    folder.run(&["db", "delete", "s", "apple"]).exits_with(0);
    folder.run(&["db", "delete", "s", "--from", "a", "--to", "c"]).exits_with(0);
    folder.write("rows.csv", "id,name\n1,ann\n2,bob\n");
    folder.run(&["db", "import", "s", "rows.csv", "--key", "id", "--keyspace", "people"]).exits_with(0);
    folder.run(&["db", "compact", "s"]).exits_with(0);
    folder.run(&["db", "drop-keyspace", "s", "people"]).exits_with(0);
    let (lines, _) = split(&changes(&["--subscriber", "search"]));
    assert_eq!(lines[0], json!({ "remove": { "keyspace": "default", "key": "apple" } }));
    assert_eq!(lines[1], json!({ "remove_range": { "keyspace": "default", "from": "a", "to": "c" } }));
    assert_eq!(lines.last().unwrap(), &json!({ "drop": { "keyspace": "people" } }));
    assert_eq!(lines[2], json!({ "put": { "keyspace": "people", "key": 1, "value": { "name": "ann" } } }));
    assert_eq!(lines.len(), 5, "{lines:?}");
    // A keyspace that has its name now, with other types, does not matter.
    folder.write("others.csv", "id,name\nx,-5\n");
    folder.run(&["db", "import", "s", "others.csv", "--key", "id", "--keyspace", "people"]).exits_with(0);
    let all = split(&changes(&["--subscriber", "search"])).0;
    assert_eq!((&all[..5], all.len()), (&lines[..], 6));
    assert_eq!(all[5], json!({ "put": { "keyspace": "people", "key": "x", "value": { "name": -5 } } }));
    folder.run(&["db", "drop-keyspace", "s", "people"]).exits_with(0);
    let (lines, positions) = split(&changes(&["--subscriber", "search"]));
    // What was printed is not acknowledged by that.
    assert_eq!(split(&changes(&["--subscriber", "search"])).0, lines);
    let acknowledged = changes(&["--subscriber", "search", "--ack", &positions[0]]).json();
    assert_eq!(acknowledged, json!({ "acknowledged": positions[0] }));
    assert_eq!(split(&changes(&["--subscriber", "search", "--ack-printed"])).0, lines[1..]);
    assert!(changes(&["--subscriber", "search"]).stdout.is_empty());
    // It is there already, and stays where it is.
    let again = changes(&["--subscriber", "search", "--subscribe"]).json();
    assert!(again["subscribed"] == **positions.last().unwrap() && again != subscribed, "{again}");
    let ahead = positions[0].split_once('-').unwrap().0.to_owned() + "-999";
    for (refused, why) in [
        (&["--subscriber", "other"][..], "there are: search"),
        (&["--subscriber", "other", "--follow"], "--subscribe"),
        (&["--subscriber", "other", "--ack", &positions[0]], "no subscriber \"other\""),
        (&["--subscriber", "search", "--ack", &ahead], "999"),
        (&["--subscriber", "search", "--ack", "0123456789abcdef-1"], "a position of another store"),
        (&["--ack", &positions[0]], "--subscriber"),
        (&["--subscriber", "search", "--subscribe", "--follow"], "cannot be used with"),
    ] {
        folder.run(&[&["db", "changes", "s"], refused].concat()).exits_with_error().complains_of(why);
    }
    let (again, _) = split(&changes(&["--since", &positions[0]]));
    assert_eq!(again.first(), Some(&lines[1]));
    changes(&["--subscriber", "search", "--unsubscribe"]).prints("{\"unsubscribed\":true}\n");
    folder.run(&["db", "compact", "s"]).exits_with(0);
    let run = folder.run(&["db", "changes", "s", "--since", &positions[0]]);
    run.exits_with(1).complains_of("does not have the next changes any more");
    folder.run(&["db", "changes", "s", "--since", "7"]).exits_with(2).complains_of("is not a position");
}

/// Two stores with keyspaces of the same types, of which one has the records of the other once its changes are applied.
#[test]
fn the_changes_of_a_store_are_applied_to_another_one_and_make_a_copy() {
    let folder = Folder::new();
    let db = |arguments: &[&str]| folder.run(&[&["db"], arguments].concat());
    folder.write("people.csv", "id,name,age\n1,ann,\n2,\"b\"\"ob\",30\n3,cid,7\n");
    folder.write("none.csv", "id,name,age\n");
    folder.write("words", "red\nblue\n");
    let typed =
        ["--key", "id", "--keyspace", "people", "--key-type", "u16", "--type", "age=u8?", "--type", "name=text"];
    for (store, rows) in [("a", "people.csv"), ("b", "none.csv")] {
        db(&["put", store, "note", "old"]).exits_with(0);
        db(&["changes", store, "--subscriber", "x", "--subscribe"]).exits_with(0);
        db(&[&["import", store, rows], &typed[..]].concat()).exits_with(0);
        db(&["import", store, "words", "--keyspace", "words"]).exits_with(0);
        db(&["put", store, "7", "x", "--keyspace", "gone"]).exits_with(0);
    }
    db(&["put", "a", "late", "1", "--expires-at", "2120-01-31 12:00:00.5"]).exits_with(0);
    db(&["put", "a", "past", "1", "--expires-at", "2020-01-31"]).exits_with(0);
    db(&["put", "a", "\\xff", "\\x00\\xfe", "--escaped"]).exits_with(0);
    db(&["delete", "a", "note"]).exits_with(0);
    db(&["delete", "a", "--keyspace", "people", "--from", "3"]).exits_with(0);
    db(&["delete", "a", "--keyspace", "words", "--prefix", "re"]).exits_with(0);
    db(&["drop-keyspace", "a", "gone"]).exits_with(0);
    let changes = db(&["changes", "a", "--subscriber", "x"]).exits_with(0);
    folder.write("changes", &changes.stdout);
    let (_, positions) = split(&changes);

    // A keyspace is not dropped in a transaction.
    let refused = db(&["apply", "b", "changes"]).exits_with(2).complains_of("a keyspace is dropped by itself");
    refused.complains_of("nothing was written");
    folder.run(&["get", "b", "note"]).exits_with(0);
    let applied = db(&["apply", "b", "changes", "--batches", "--json"]).exits_with(0).json();
    assert_eq!(applied["transactions"], positions.len());
    for keyspace in ["default", "people", "words"] {
        let scan = |store: &str| folder.run(&["scan", store, "--keyspace", keyspace, "--json"]).exits_with(0).stdout;
        assert_eq!(scan("a"), scan("b"), "{keyspace}");
    }
    folder.run(&["count", "b", "--keyspace", "gone"]).exits_with(1).complains_of("was not found");
    let expiring = |store: &str| {
        let lines = split(&db(&["changes", store, "--subscriber", "x"]).exits_with(0)).0;
        lines.into_iter().filter(|line| line["put"]["expires"].is_string()).collect::<Vec<_>>()
    };
    assert!(expiring("a") == expiring("b") && expiring("a").len() == 2, "{:?}", expiring("b"));

    // What was applied before a failure is durable, and told.
    let whole = changes.stdout.lines().find(|line| line.contains("\"remove\"") && line.contains("position")).unwrap();
    folder.write("broken", format!("{whole}\n{{\"put\": 7}}\n"));
    let broken = db(&["apply", "b", "broken", "--batches"]).exits_with(2).complains_of("line 2 of broken");
    broken.complains_of("1 transaction before it, 1 change, are durable");
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
    let first = made["archive"]["moment"]["position"].as_str().unwrap();
    let early = db(&["restore", "b", "now", "--until", "1999-01-01T00:00:00Z"]).exits_with(2);
    early.complains_of("archive begins after").complains_of("the first moment").complains_of(first);
    let early = db(&["restore", "b", "now", "--until", &(first.split_once('-').unwrap().0.to_owned() + "-0")]);
    early.exits_with(2).complains_of("the first moment").complains_of(first);
    // A moment is taken as it is printed.
    let told = db(&["backups", "b"]).exits_with(0).stdout;
    let first = told.lines().find_map(|line| line.strip_prefix("archived from ")).unwrap();
    let (time, position) = first.split_once(", position ").unwrap();
    for (name, until) in [("by-time", time), ("by-position", position)] {
        let restored = db(&["restore", "b", name, "--until", until]).exits_with(0).stdout;
        assert!(restored.contains(first), "{restored}");
    }
    db(&["restore", "b", "now", "--until", "noon"]).exits_with(2).complains_of("give a time in UTC");
    assert!(!folder.path("now").exists() && !has_staging(&folder));
    assert!(folder.path("before.restoring/notes").exists());
    let told = db(&["backups", "b", "--verify"]).exits_with(0).stdout;
    assert!(told.contains("archived from "), "{told}");
    let list = db(&["backups", "b", "--json"]).exits_with(0).json();
    assert_eq!(list["archived"].as_array().unwrap().len(), 3);
    assert_eq!(list["archived"][1], moment);
}

#[test]
fn a_restored_store_without_a_unique_index_says_so() {
    let folder = Folder::new();
    let db = |arguments: &[&str]| folder.run(&[&["db"], arguments].concat());
    folder.write("users.csv", "id,email\n1,ann\n2,bob\n");
    db(&["import", "s", "users.csv", "--key", "id", "--value", "email"]).exits_with(0);
    db(&["backup", "s", "b", "--archive-logs"]).exits_with(0);
    db(&["index", "create", "s", "by_email", "--by", "email", "--unique"]).exits_with(0);
    db(&["archive", "s", "b"]).exits_with(0);
    db(&["index", "drop", "s", "by_email"]).exits_with(0);
    db(&["put", "s", "3", "ann"]).exits_with(0);
    let (_, positions) = split(&db(&["changes", "s", "--subscriber", "archive"]).exits_with(0));
    db(&["delete", "s", "3"]).exits_with(0);
    db(&["archive", "s", "b"]).exits_with(0);
    let restored = db(&["restore", "b", "t", "--until", positions.last().unwrap()]).exits_with(0);
    restored.complains_of("unique indexes that were not made").complains_of("by_email");
    folder.run(&["count", "t"]).exits_with(0).prints("3\n");
}

#[test]
fn info_and_stats_tell_indexes_and_what_is_kept_for_subscribers() {
    let folder = Folder::new();
    let db = |arguments: &[&str]| folder.run(&[&["db"], arguments].concat()).exits_with(0);
    folder.write("users.csv", "id,email\n1,ann\n2,bob\n");
    db(&["import", "s", "users.csv", "--key", "id", "--value", "email", "--keyspace", "users"]);
    for verb in ["info", "stats"] {
        let facts = folder.run(&[verb, "s", "--json"]).exits_with(0).json();
        assert_eq!((&facts["indexes"], &facts["subscribers"]), (&json!([]), &json!([])), "{facts}");
    }
    let create =
        ["index", "create", "s", "mail", "--keyspace", "users", "--by", "lower(email), email desc", "--unique"];
    db(&[&create[..], &["--where", "email is not null"]].concat());
    let subscribed = db(&["changes", "s", "--subscriber", "search", "--subscribe"]).json();
    db(&["changes", "s", "--subscriber", "late", "--subscribe"]);
    db(&["put", "s", "apple", "red"]);
    db(&["compact", "s"]);
    let (_, positions) = split(&db(&["changes", "s", "--subscriber", "late"]));
    db(&["changes", "s", "--subscriber", "late", "--ack", positions.last().unwrap()]);
    for verb in ["info", "stats"] {
        let facts = folder.run(&[verb, "s", "--json"]).exits_with(0).json();
        let index = &facts["indexes"][0];
        assert_eq!(index["fields"], json!(["lower(email)", "email desc"]), "{facts}");
        assert_eq!((&index["is_unique"], &index["is_complete"]), (&json!(true), &json!(true)));
        assert_eq!((&index["where_not_null"], &index["keyspace"]), (&json!("email"), &json!("users")));
        let [late, search] = [0, 1].map(|at| facts["subscribers"][at].clone());
        assert_eq!((&late["name"], &late["kept_bytes"]), (&json!("late"), &json!(0)), "{facts}");
        assert_eq!((&search["name"], &search["position"]), (&json!("search"), &subscribed["subscribed"]));
        assert!(search["kept_bytes"].as_u64().unwrap() > 0, "{facts}");
        let told = folder.run(&[verb, "s"]).exits_with(0).stdout;
        assert!(told.contains("index mail of the keyspace users by lower(email), email desc unique where"), "{told}");
        assert!(told.contains("subscriber late: acknowledged up to ") && told.contains("; 0 B kept for it"), "{told}");
        let of_one = folder.run(&[verb, "s", "--keyspace", "default", "--json"]).exits_with(0).json();
        assert_eq!((&of_one["indexes"], &of_one["subscribers"]), (&json!([]), &json!([])), "{of_one}");
    }
}

#[test]
fn a_folder_of_backups_in_the_place_of_a_store_is_told_with_what_reads_it() {
    let folder = Folder::new();
    folder.run(&["db", "put", "s", "apple", "red"]).exits_with(0);
    folder.run(&["db", "backup", "s", "b"]).exits_with(0);
    for arguments in [&["verify", "b"][..], &["get", "b", "apple"], &["db", "put", "b", "x", "1"], &["stats", "b"]] {
        let run = folder.run(arguments).exits_with_error();
        run.complains_of("--verify` verifies them").complains_of("restores the newest");
    }
}
