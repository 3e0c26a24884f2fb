//! Commands that tables, indexes and stores share: equal answers for equal entries, and the differences that are meant.
//! Method: whole runs on one set of entries in all three.

use super::run::{Folder, Run};
use serde_json::json;

/// A table `t`, an index `i` and a store `s` with the entries 1 to 9 and values `v1` to `v9`.
fn filled() -> Folder {
    let folder = Folder::new();
    let rows: String = (1..10).map(|number| format!("{number},v{number}\n")).collect();
    folder.write("rows.csv", format!("id,name\n{rows}"));
    let columns = ["rows.csv", "--key", "id", "--value", "name"];
    folder.build("rows.csv", "t", &[&columns[1..], &["--key-type", "u64"]].concat());
    folder.run(&["index", "create", "i", "--value-bytes", "2"]).exits_with(0);
    folder.run(&[&["index", "load", "i"], &columns[..]].concat()).exits_with(0);
    folder.run(&[&["db", "import", "s", "--key-type", "u64"], &columns[..]].concat()).exits_with(0);
    folder
}

/// Runs a command on the table, the index and the store.
fn on_all(folder: &Folder, verb: &str, arguments: &[&str]) -> [Run; 3] {
    ["t", "i", "s"].map(|name| folder.run(&[&[verb, name], arguments].concat()))
}

#[test]
fn present_and_absent_keys_are_answered_alike() {
    let folder = filled();
    for run in on_all(&folder, "get", &["7"]) {
        assert_eq!(run.exits_with(0).prints("v7\n").stderr, "");
    }
    // A table and a store have rows, an index has payloads.
    let row = json!({ "id": 7, "name": "v7" });
    let records = [row.clone(), json!({ "key": 7, "value": "v7" }), row];
    let scans = on_all(&folder, "scan", &["--from", "7", "--limit", "1", "--json"]);
    for ((run, scan), record) in on_all(&folder, "get", &["7", "--json"]).into_iter().zip(scans).zip(records) {
        assert_eq!(run.exits_with(0).json(), json!({ "key": 7, "found": true, "record": record }));
        assert_eq!(scan.exits_with(0).json_lines(), [record]);
    }
    for run in on_all(&folder, "get", &["7", "--raw"]) {
        run.exits_with(0).prints("v7");
    }
    for run in on_all(&folder, "get", &["10"]) {
        assert_eq!(run.exits_with(1).prints("").stderr, "10: not found\n");
    }
    for run in on_all(&folder, "get", &["10", "--json"]) {
        let run = run.exits_with(1);
        assert_eq!((run.json(), run.stderr.as_str()), (json!({ "key": 10, "found": false }), "10: not found\n"));
    }
    for run in on_all(&folder, "get", &["seven"]) {
        run.exits_with(2).complains_of("'seven' is not a valid key");
    }
}

#[test]
fn ranges_are_counted_alike() {
    let folder = filled();
    let counts: [(&[&str], &str); 5] = [
        (&[], "9\n"),
        (&["--from", "3"], "7\n"),
        (&["--from", "3", "--to", "5"], "2\n"),
        (&["--from", "3", "--to", "3"], "0\n"),
        (&["--from", "8", "--json"], "{\"count\":2}\n"),
    ];
    for (arguments, expected) in counts {
        for run in on_all(&folder, "count", arguments) {
            run.exits_with(0).prints(expected);
        }
    }
    for run in on_all(&folder, "count", &["--from", "2", "--to", "1"]) {
        run.exits_with(2).complains_of("swap its ends");
    }
    for run in on_all(&folder, "count", &["--prefix", "1"]) {
        run.exits_with(2).complains_of("--from and --to");
    }
}

#[test]
fn parts_of_a_scan_are_printed_alike() {
    let folder = filled();
    let scans: [(&[&str], &str); 3] = [
        (&["--limit", "2"], "1\tv1\n2\tv2\n"),
        (&["--reverse", "--limit", "2"], "9\tv9\n8\tv8\n"),
        (&["--limit", "0"], ""),
    ];
    for (arguments, expected) in scans {
        for run in on_all(&folder, "scan", arguments) {
            run.exits_with(0).prints(expected);
        }
    }
    let row = "{\"id\":1,\"name\":\"v1\"}\n";
    let rows = [row, "{\"key\":1,\"value\":\"v1\"}\n", row];
    for (run, row) in on_all(&folder, "scan", &["--limit", "1", "--json"]).into_iter().zip(rows) {
        run.exits_with(0).prints(row);
    }
    for (from, to, expected) in [("3", "5", "3\tv3\n4\tv4\n"), ("5", "5", ""), ("0", "0", "")] {
        folder.run(&["scan", "t", from, to]).exits_with(0).prints(expected);
        for run in on_all(&folder, "scan", &["--from", from, "--to", to]) {
            run.exits_with(0).prints(expected);
        }
    }
    for run in on_all(&folder, "scan", &["--from", "5", "--to", "3"]) {
        run.exits_with(2).complains_of("the range from 5 to 3 ends before it begins");
    }
    folder.run(&["scan", "t", "5", "3"]).exits_with(2).complains_of("ends before it begins");
    for run in on_all(&folder, "scan", &["--prefix", "1"]) {
        run.exits_with(2).complains_of("keys of type u64 have no prefixes");
    }
    folder.run(&["scan", "i", "--to", "0"]).exits_with(0).prints("");
    for run in on_all(&folder, "scan", &["--keys-only", "--limit", "2"]) {
        run.exits_with(0).prints("1\n2\n");
    }
    for (run, name) in
        on_all(&folder, "scan", &["--keys-only", "--limit", "1", "--json"]).into_iter().zip(["id", "key", "id"])
    {
        run.exits_with(0).prints(&format!("{{\"{name}\":1}}\n"));
    }
}

#[test]
fn sound_data_is_reported_on_standard_output_alone() {
    let folder = filled();
    for run in on_all(&folder, "verify", &[]) {
        let run = run.exits_with(0);
        assert!(run.stdout.contains(": sound; ") && run.stderr.is_empty(), "{}{}", run.stdout, run.stderr);
    }
    for run in on_all(&folder, "verify", &["--json"]) {
        assert_eq!(run.exits_with(0).json()["sound"], true);
    }
}

#[test]
fn writes_say_in_their_own_words_what_they_did() {
    let folder = filled();
    folder.run(&["index", "put", "i", "7", "x", "--json"]).exits_with(0).prints("{\"key\":7,\"new\":false}\n");
    folder.run(&["db", "put", "s", "7", "x", "--json"]).exits_with(0).prints("{\"durable\":true,\"key\":7}\n");
    folder.run(&["index", "delete", "i", "7"]).exits_with(0).prints("7: 1 entry removed\n");
    folder.run(&["db", "delete", "s", "7"]).exits_with(0).prints("7: removed\n");
    for command in [["index", "delete", "i"], ["db", "delete", "s"]] {
        let run = folder.run(&[&command[..], &["7", "--json"]].concat()).exits_with(1);
        assert_eq!(run.prints("{\"key\":7,\"removed\":0}\n").stderr, "7: not found\n");
    }
}

#[test]
fn empty_values_are_remarked_on_except_in_stores() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,name\n1,\n");
    let columns = ["--key", "id", "--value", "name", "--key-type", "u64"];
    folder.build("rows.csv", "t", &columns);
    folder.run(&["index", "create", "i"]).exits_with(0);
    folder.run(&["index", "put", "i", "1"]).exits_with(0);
    folder.run(&[&["db", "import", "s", "rows.csv"], &columns[..]].concat()).exits_with(0);
    let remarks = ["found; the value is empty\n", "found; this index has no payloads\n", ""];
    for (run, remark) in on_all(&folder, "get", &["1"]).into_iter().zip(remarks) {
        assert_eq!(run.exits_with(0).prints("\n").stderr, remark);
    }
    for run in on_all(&folder, "get", &["1", "--json"]) {
        assert_eq!(run.exits_with(0).stderr, "");
    }
}

#[test]
fn a_file_of_another_kind_is_named_as_what_it_is_with_the_command_for_it() {
    let folder = filled();
    let log =
        std::fs::read_dir(folder.path("s")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let log = format!("s/{}", log.filter(|name| name.ends_with(".log")).max().unwrap());
    for verb in ["get", "scan", "stats", "verify"] {
        let key: &[&str] = if verb == "get" { &["7"] } else { &[] };
        let command = |words: &[&str], name: &str| folder.run(&[words, &[name], key].concat()).exits_with(1);
        command(&[verb], &log).complains_of("it is a file of a store").complains_of("name its folder instead");
    }
    for (group, name, told, advice) in [
        ("index", "t", "it is a table", "use `ogive get`"),
        ("index", &log[..], "it is a file of a store", "name its folder instead"),
        ("index", "s", "it is a store", ""),
        ("db", "t", "t is a table, but a store is a folder", ""),
        ("db", "i", "i is a file of an index, but a store is a folder", ""),
    ] {
        folder.run(&[group, "delete", name, "7"]).exits_with(1).complains_of(told).complains_of(advice);
    }
    folder.run(&["tune", "i"]).exits_with(1).complains_of("is an Ogive index, not an input file");
    std::fs::copy(folder.path("i"), folder.path("i.csv")).unwrap();
    folder.run(&["tune", "i.csv"]).exits_with(1).complains_of("is an Ogive index, not an input file");
    folder.write("words.txt", "OGVPGF\nOgiveTbl\n");
    folder.run(&["build", "words.txt", "-o", "words"]).exits_with(0);
    for (name, content, told) in [
        ("noname", &b"BZh91AY&SY\x01"[..], "is compressed by bzip2"),
        ("sheet.xlsx", b"PK\x03\x04xl/workbook.xml", "save it as CSV"),
    ] {
        std::fs::write(folder.path(name), content).unwrap();
        for command in [&["build", name, "-o", "x"][..], &["db", "import", "new", name]] {
            folder.run(command).exits_with(1).complains_of(told);
        }
        folder.run(&["build", name, "-o", "as-lines", "--format", "lines", "--key-type", "bytes"]).exits_with(0);
    }
    assert!(!folder.path("new").exists() && !folder.path("x").exists());
    folder
        .run(&["build", &log, "-o", "x"])
        .exits_with(1)
        .complains_of("is a file of an Ogive store, not an input file");
    folder.run(&["index", "create", "i"]).exits_with(1).complains_of("choose another name");
}

#[test]
fn former_spellings_of_options_still_work() {
    let folder = filled();
    folder.run(&["index", "create", "j", "--key", "i64"]).exits_with(0);
    for durability in ["commit", "grouped", "checkpoint"] {
        folder.run(&["index", "put", "j", "-7", "--durability", durability]).exits_with(0);
    }
    folder.build("t", "again", &["--beside"]);
    folder.run(&["get", "again", "7"]).exits_with(0).prints("v7\n");
}

#[test]
fn a_refused_import_or_creation_leaves_nothing_behind() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,name\n1,a\n");
    let import = ["db", "import", "s", "rows.csv", "--key", "id", "--keys", "u64"];
    folder.write("wrong.csv", "id,name\nx,a\n");
    folder.run(&["db", "import", "s", "wrong.csv", "--key", "id", "--keys", "u64"]).exits_with(1).complains_of("u64");
    folder.run(&["index", "create", "rows.csv"]).exits_with(1).complains_of("choose another name");
    assert_eq!(folder.names(), ["rows.csv", "wrong.csv"]);
    folder.run(&["db", "put", "s", "a", "b"]).exits_with(0);
    folder.run(&import).exits_with(1).complains_of("has keys that are not u64");
    folder.run(&["db", "put", "s", "x", "y", "--keyspace", "ids"]).exits_with(0);
    folder.run(&["db", "checkpoint", "s", "s"]).exits_with(2).complains_of("the store itself");
}
