//! Round trips through every command on stores; a process killed repeatedly during an import loses no reported row.
//! Method: whole runs, and files damaged by hand.

use super::run::{Folder, Run, grouped, sosd, uneven_keys};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// Runs a command on a store.
fn db(folder: &Folder, arguments: &[&str]) -> Run {
    folder.run(&grouped("db", arguments))
}

fn rows(range: std::ops::Range<u32>) -> String {
    let rows = range.map(|i| format!("key{:05},value of {i}\n", i * 7 % 100_000));
    std::iter::once("key,value\n".to_owned()).chain(rows).collect()
}

#[test]
fn entries_go_in_and_come_out_by_every_command() {
    let folder = Folder::new();
    db(&folder, &["put", "s", "apple", "red"]).exits_with(0).prints("apple: written\n");
    db(&folder, &["put", "s", "banana", "yellow"]).exits_with(0);
    db(&folder, &["put", "s", "apple", "green"]).exits_with(0);
    folder.run(&["get", "s", "apple"]).exits_with(0).prints("green\n");
    folder.run(&["get", "s", "apple", "--raw"]).exits_with(0).prints("green");
    let found = folder.run(&["get", "s", "apple", "--json"]).exits_with(0).json();
    assert_eq!(found, json!({ "key": "apple", "found": true, "record": { "key": "apple", "value": "green" } }));
    folder.run(&["get", "s", "cherry"]).exits_with(1).complains_of("cherry: not found");
    let absent = folder.run(&["get", "s", "cherry", "--json"]).exits_with(1).json();
    assert_eq!(absent, json!({ "key": "cherry", "found": false }));
    folder.run(&["scan", "s"]).exits_with(0).prints("apple\tgreen\nbanana\tyellow\n");
    folder.run(&["scan", "s", "--reverse", "--limit", "1", "--keys-only"]).exits_with(0).prints("banana\n");
    folder.run(&["scan", "s", "--from", "b", "--to", "c"]).exits_with(0).prints("banana\tyellow\n");
    folder
        .run(&["scan", "s", "--prefix", "app", "--json"])
        .exits_with(0)
        .prints("{\"key\":\"apple\",\"value\":\"green\"}\n");
    db(&folder, &["delete", "s", "apple"]).exits_with(0).prints("apple: removed\n");
    db(&folder, &["delete", "s", "apple"]).exits_with(1).complains_of("not found");
    db(&folder, &["delete", "s", "--from", "a"]).exits_with(0);
    folder.run(&["scan", "s"]).exits_with(0).prints("");
    db(&folder, &["put", "s", "x", "1", "--keyspace", "other"]).exits_with(0);
    folder.run(&["scan", "s", "--keyspace", "other"]).exits_with(0).prints("x\t1\n");
    folder.run(&["scan", "s", "--keyspace", "none"]).exits_with(1).complains_of("default, other");
    folder.run(&["verify", "s"]).exits_with(0);
}

#[test]
fn long_values_go_in_and_out_piece_by_piece() {
    let folder = Folder::new();
    let value: Vec<u8> = (0..3_000_000_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    folder.write("long", &value);
    db(&folder, &["put", "s", "long", "--file", "long"]).exits_with(0);
    let output = folder.command(&["get", "s", "long", "--raw"]).output().unwrap();
    assert_eq!(output.stdout, value);
    db(&folder, &["put", "new", "k", "--file", "missing"]).exits_with(1).complains_of("missing");
    assert!(!folder.path("new").exists(), "no store is left of a failed command");
}

#[test]
fn an_import_tells_durable_rows_and_an_export_gives_them_back() {
    let folder = Folder::new();
    folder.write("rows.csv", rows(0..2500));
    let import = ["import", "s", "rows.csv", "--key", "key", "--value", "value", "--batch", "1000", "--json"];
    let told = db(&folder, &import).exits_with(0).json_lines();
    assert_eq!(told[..3], [1000, 2000, 2500].map(|rows| json!({ "durable_rows": rows })));
    let types = |rows: u64| json!({ "durable_rows": rows, "key_type": "text", "value_type": "{value: text}" });
    assert_eq!(told[3..], [types(2500)]);
    folder.run(&["get", "s", "key00007"]).exits_with(0).prints("value of 1\n");
    for name in ["out.csv", "out.tsv", "out.ogive"] {
        let exported = folder.run(&["export", "s", name, "--json"]).exits_with(0).json();
        assert_eq!(exported, json!({ "records": 2500 }));
    }
    let text = folder.run(&["export", "s", "-"]).exits_with(0).stdout;
    assert_eq!(text, std::fs::read_to_string(folder.path("out.csv")).unwrap());
    db(&folder, &["import", "again", "out.csv", "--value", "value"]).exits_with(0);
    assert_eq!(folder.run(&["export", "again", "-"]).exits_with(0).stdout, text);
    folder.run(&["get", "out.ogive", "key00014"]).exits_with(0).prints("value of 2\n");
    let ingested = db(&folder, &["ingest", "taken", "out.ogive", "--json"]).exits_with(0).json();
    assert_eq!((&ingested["tables"], &ingested["records"]), (&json!(1), &json!(2500)));
    assert_eq!(folder.run(&["export", "taken", "-"]).exits_with(0).stdout, text);
    db(&folder, &["ingest", "taken", "out.ogive", "--move"]).exits_with(0);
    assert!(!folder.path("out.ogive").exists());
    folder.run(&["export", "s", "out.xml"]).exits_with(2).complains_of(".csv");
    folder.write("empty.csv", "key,value\n");
    let none = db(&folder, &["import", "none", "empty.csv", "--json"]).exits_with(0).json();
    assert_eq!(none, types(0));
}

#[test]
fn integers_of_an_input_stay_integers() {
    let folder = Folder::new();
    let keys = uneven_keys(3000);
    folder.write("keys.u64", sosd(&keys));
    db(&folder, &["import", "s", "keys.u64", "--payload", "8"]).exits_with(0);
    let key = keys[1234].to_string();
    folder.run(&["get", "s", &key]).exits_with(0);
    let shown = folder.run(&["scan", "s", "--keys-only"]).exits_with(0).stdout;
    let shown: Vec<u64> = shown.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(shown, keys);
    db(&folder, &["put", "s", &key, "another"]).exits_with(0);
    folder.run(&["get", "s", &key]).exits_with(0).prints("another\n");
    folder.run(&["get", "s", "word"]).exits_with(2).complains_of("whole numbers");
    folder.write("words.txt", "one\ntwo\n");
    db(&folder, &["import", "s", "words.txt"]).exits_with_error();
    db(&folder, &["import", "s", "words.txt", "--keyspace", "words"]).exits_with(0);
    folder.run(&["verify", "s"]).exits_with(0);
}

#[test]
fn a_store_tells_what_it_consists_of_and_becomes_smaller_by_compaction() {
    let folder = Folder::new();
    folder.write("rows.csv", rows(0..3000));
    for _ in 0..3 {
        db(&folder, &["import", "s", "rows.csv", "--value", "value"]).exits_with(0);
    }
    let compacted = db(&folder, &["compact", "s", "--json"]).exits_with(0).json();
    assert!(compacted["bytes_after"].as_u64() > Some(0), "{compacted}");
    let stats = folder.run(&["stats", "s", "--json"]).exits_with(0).json();
    let levels = stats["keyspaces"][0]["levels"].as_array().unwrap();
    let records: u64 = levels.iter().map(|level| level["records"].as_u64().unwrap()).sum();
    assert_eq!((levels.len(), records), (7, 3000), "{stats}");
    assert_eq!(stats["space_amplification"], json!(1.0));
    for name in ["table_bytes", "value_files", "memtable_bytes", "activity", "learning", "model_share"] {
        assert!(stats.get(name).is_some(), "{name}: {stats}");
    }
    let little = folder.run(&["stats", "s", "--json", "--memory", "2MiB"]).exits_with(0).json();
    assert_eq!((&little["memory_bytes"], &little["least_memory_bytes"]), (&json!(2 << 20), &json!(1 << 20)));
    let shown = folder.run(&["stats", "s", "--memory", "2MiB"]).exits_with(0).stdout;
    assert!(shown.contains("memory: 2,097,152 bytes given, 1,048,576 at least as the store is now\n"), "{shown}");
    assert!(folder.run(&["stats", "s"]).exits_with(0).stdout.contains("space amplification 1.00"));
}

#[test]
fn a_checkpoint_is_a_store_of_its_own() {
    let folder = Folder::new();
    db(&folder, &["put", "s", "a", "1"]).exits_with(0);
    db(&folder, &["checkpoint", "s", "copies/today"]).exits_with(0);
    db(&folder, &["put", "s", "a", "2"]).exits_with(0);
    folder.run(&["get", "copies/today", "a"]).exits_with(0).prints("1\n");
    db(&folder, &["checkpoint", "s", "copies/today"]).exits_with(1).complains_of("copies/today");
    folder.run(&["verify", "copies/today"]).exits_with(0);
}

#[test]
fn damage_is_told_and_repaired() {
    let folder = Folder::new();
    folder.write("rows.csv", rows(0..3000));
    db(&folder, &["import", "s", "rows.csv", "--value", "value"]).exits_with(0);
    db(&folder, &["compact", "s"]).exits_with(0);
    folder.run(&["repair", "s"]).exits_with(0).prints("s: nothing to repair\n");
    let sound = folder.run(&["verify", "s", "--json"]).exits_with(0).json();
    assert_eq!((&sound["sound"], &sound["records"]), (&json!(true), &json!(3000)));
    let table = std::fs::read_dir(folder.path("s")).unwrap().map(|entry| entry.unwrap().path());
    let table = table.filter(|path| path.extension().is_some_and(|name| name == "table")).max().unwrap();
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[1000] ^= 4;
    std::fs::write(&table, bytes).unwrap();
    let damaged = folder.run(&["verify", "s", "--json"]).exits_with(1).json();
    assert_eq!(damaged["sound"], json!(false));
    assert_eq!(damaged["findings"][0]["file"], json!(table.file_name().unwrap().to_str().unwrap()));
    folder.run(&["verify", "s"]).exits_with(1).complains_of("ogive repair");
    let repaired = folder.run(&["repair", "s", "--json"]).exits_with(0).json();
    let saved = repaired["saved_entries"].as_u64().unwrap();
    assert_eq!(saved + repaired["lost_entries"].as_u64().unwrap(), 3000, "{repaired}");
    assert!((2000..3000).contains(&saved), "{repaired}");
    folder.run(&["verify", "s"]).exits_with(0);
    assert_eq!(folder.run(&["scan", "s"]).exits_with(0).stdout.lines().count() as u64, saved);
}

#[test]
fn a_store_that_is_not_there_is_told_by_every_command() {
    let folder = Folder::new();
    for arguments in [
        &["get", "missing", "k"][..],
        &["delete", "missing", "k"],
        &["scan", "missing"],
        &["export", "missing", "-"],
        &["stats", "missing"],
        &["compact", "missing"],
        &["checkpoint", "missing", "copy"],
        &["backup", "missing", "backups"],
        &["verify", "missing"],
        &["repair", "missing"],
    ] {
        db(&folder, arguments).exits_with(1).complains_of("missing: ").complains_of("check the path");
        assert!(folder.names().is_empty(), "{arguments:?}: {:?}", folder.names());
    }
    std::fs::create_dir(folder.path("empty")).unwrap();
    std::fs::create_dir(folder.path("begun")).unwrap();
    for arguments in [
        &["verify", "DIR"][..],
        &["stats", "DIR"],
        &["count", "DIR"],
        &["get", "DIR", "k"],
        &["delete", "DIR", "k"],
        &["export", "DIR", "-"],
        &["keyspaces", "DIR"],
        &["checkpoint", "DIR", "copy"],
        &["backup", "DIR", "backups"],
        &["drop-keyspace", "DIR", "other"],
        &["repair", "DIR"],
        &["compact", "DIR"],
    ] {
        for name in ["empty", "begun"] {
            // As a creation leaves it that was cut short.
            folder.write("begun/000001.manifest.new", "cut short");
            let arguments: Vec<&str> = arguments.iter().map(|word| if *word == "DIR" { name } else { word }).collect();
            db(&folder, &arguments).exits_with(1).complains_of("is not an Ogive store");
        }
    }
}

#[test]
fn wrong_usage_exits_with_two_and_makes_no_store() {
    let folder = Folder::new();
    for arguments in [
        &[][..],
        &["conjure"],
        &["put", "s", "key"],
        &["put", "s", "key", "value", "--file", "f"],
        &["put", "s", "key", "value", "--keys", "colours"],
        &["import", "s"],
        &["import", "s", "rows.csv", "--batch", "0"],
        &["delete", "s"],
        &["ingest", "s"],
        &["scan", "s", "--prefix", "a", "--from", "b"],
    ] {
        let run = db(&folder, arguments).exits_with(2);
        assert!(run.stdout.is_empty() && run.stderr.contains("error:"), "{arguments:?}: {}", run.stderr);
    }
    assert!(folder.names().is_empty(), "{:?}", folder.names());
    for command in [
        "put",
        "delete",
        "import",
        "ingest",
        "keyspaces",
        "alter",
        "drop-keyspace",
        "compact",
        "checkpoint",
        "backup",
        "archive",
        "backups",
        "restore",
        "upgrade",
        "bench",
        "index",
    ] {
        let help = db(&folder, &[command, "--help"]).exits_with(0).stdout;
        assert!(help.contains("Examples:") && help.contains(&format!("ogive db {command}")), "{help}");
    }
}

#[test]
fn a_benchmark_tells_nanoseconds_and_refuses_a_folder_that_is_there() {
    let folder = Folder::new();
    let told = db(&folder, &["bench", "s", "--records", "2000", "--json"]).exits_with(0).json_lines();
    let workloads: Vec<&str> = told.iter().map(|line| line["workload"].as_str().unwrap()).collect();
    assert_eq!(workloads, ["load", "compact", "get present", "get absent", "scan 100", "overwrite"]);
    assert!(told.iter().all(|line| line["ns_per_op"].as_f64() > Some(0.0)));
    db(&folder, &["bench", "s"]).exits_with(1).complains_of("exists already");
    folder.run(&["verify", "s"]).exits_with(0);
}

/// Imports rows until it is killed after `lines` lines; the rows that were told to be durable.
fn killed_import(folder: &Folder, lines: usize) -> u64 {
    let arguments = ["db", "import", "s", "rows.csv", "--value", "value", "--batch", "20", "--json"];
    let mut child = folder.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut told = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines().take(lines) {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        told = line["durable_rows"].as_u64().unwrap();
    }
    // SIGKILL: nothing of the process runs any more.
    child.kill().unwrap();
    child.wait().unwrap();
    told
}

#[test]
fn a_killed_import_loses_no_row_that_it_had_told() {
    let folder = Folder::new();
    folder.write("rows.csv", rows(0..20_000));
    for lines in [1, 2, 5, 13, 40, 100, 250] {
        let told = killed_import(&folder, lines);
        let verdict = folder.run(&["verify", "s", "--json"]).exits_with(0).json();
        assert_eq!(verdict["sound"], json!(true), "{verdict}");
        let held = folder.run(&["scan", "s"]).exits_with(0).stdout;
        let held: std::collections::HashMap<&str, &str> =
            held.lines().map(|line| line.split_once('\t').unwrap()).collect();
        for i in 0..told {
            let (key, value) = (format!("key{:05}", i * 7 % 100_000), format!("value of {i}"));
            assert_eq!(held.get(key.as_str()), Some(&value.as_str()), "row {i} of {told}");
        }
        assert_eq!(held.len() % 20, 0, "batches are whole");
    }
    db(&folder, &["compact", "s"]).exits_with(0);
    folder.run(&["verify", "s"]).exits_with(0);
}

#[test]
fn a_range_of_a_keyspace_is_compacted_and_another_keyspace_is_told() {
    let folder = Folder::new();
    for key in ["a", "b", "c"] {
        db(&folder, &["put", "s", key, "1"]).exits_with(0);
    }
    db(&folder, &["compact", "s", "--from", "b", "--to", "c", "--json"]).exits_with(0);
    db(&folder, &["compact", "s", "--from", "c", "--to", "b"]).exits_with(2).complains_of("swap its ends");
    db(&folder, &["compact", "s", "--keyspace", "fruit"]).exits_with(1).complains_of("\"fruit\" was not found");
    folder.run(&["count", "s"]).exits_with(0).prints("3\n");
}
