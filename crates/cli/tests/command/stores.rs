//! Repair and compaction of damaged and fragmented stores, cleanup after failed creation, and the messages. Method:
//! whole runs; files are removed, copied and damaged by hand.

use super::run::{Folder, Run, grouped, sosd, uneven_keys};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn db(folder: &Folder, arguments: &[&str]) -> Run {
    folder.run(&grouped("db", arguments))
}

fn rows(range: std::ops::Range<u32>) -> String {
    let rows = range.map(|i| format!("key{i:05},value of {i}\n"));
    std::iter::once("key,value\n".to_owned()).chain(rows).collect()
}

/// The files of a folder with an ending, by name.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.to_str().unwrap().ends_with(ending));
    found.sort();
    found
}

fn lose_manifest(folder: &Path) {
    files(folder, ".manifest").iter().for_each(|path| fs::remove_file(path).unwrap());
}

/// A store of 3,000 entries in tables.
fn store() -> Folder {
    let folder = Folder::new();
    folder.write("rows.csv", rows(0..3000));
    db(&folder, &["import", "s", "rows.csv", "--value", "value"]).exits_with(0);
    db(&folder, &["compact", "s"]).exits_with(0);
    folder
}

#[test]
fn a_repair_reports_known_and_unknown_losses() {
    let folder = store();
    let table = files(&folder.path("s"), ".table").pop().unwrap();
    let mut bytes = fs::read(&table).unwrap();
    bytes[1000] ^= 4;
    fs::write(&table, bytes).unwrap();
    let said = folder.run(&["repair", "s"]).exits_with(0);
    assert!(said.stdout.contains(" lost\n") && !said.stderr.contains("unknown"), "{}{}", said.stdout, said.stderr);
    lose_manifest(&folder.path("s"));
    let said = folder.run(&["repair", "s"]).exits_with(0).complains_of("unknown without the manifest");
    assert!(
        said.stdout.contains("the number of lost entries is unknown") && !said.stdout.contains("known to be lost"),
        "{}",
        said.stdout
    );
    assert!(
        said.stdout.contains("*.manifest: damaged or missing\n") && !said.stderr.contains("damaged log"),
        "{}",
        said.stdout
    );
    lose_manifest(&folder.path("s"));
    let said = folder.run(&["repair", "s", "--json"]).exits_with(0).json();
    assert_eq!((&said["is_loss_known"], &said["lost_entries"]), (&json!(false), &json!(0)), "{said}");
    assert_eq!(folder.run(&["repair", "s", "--json"]).exits_with(0).json()["is_loss_known"], json!(true));
}

#[test]
fn a_log_that_points_into_a_damaged_value_file_is_not_called_damaged() {
    let folder = Folder::new();
    folder.write("long", "x".repeat(100_000));
    db(&folder, &["put", "s", "first", "--file", "long"]).exits_with(0);
    db(&folder, &["put", "s", "second", "short"]).exits_with(0);
    let values = files(&folder.path("s"), ".values").pop().unwrap();
    let mut bytes = fs::read(&values).unwrap();
    bytes[50_000] ^= 1;
    fs::write(&values, bytes).unwrap();
    let name = values.file_name().unwrap().to_str().unwrap();
    let verdict = folder.run(&["verify", "s", "--json"]).exits_with(1).json();
    let findings = verdict["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["file"] == name), "{verdict}");
    let said = folder.run(&["repair", "s", "--json"]).exits_with(0).json();
    assert_eq!((&said["damaged_files"], &said["is_loss_known"]), (&json!([name]), &json!(true)), "{said}");
    assert_eq!(said["lost_entries"], json!(1), "{said}");
    folder.run(&["verify", "s"]).exits_with(0);
    folder.run(&["get", "s", "second"]).exits_with(0).prints("short\n");
    folder.run(&["get", "s", "first"]).exits_with(1);
}

#[test]
fn a_repair_names_and_sets_aside_value_files_of_a_copy() {
    let folder = Folder::new();
    folder.write("long", "x".repeat(10_000));
    let put = |store: &str, key: &str| _ = db(&folder, &["put", store, key, "--file", "long"]).exits_with(0);
    put("s", "first");
    db(&folder, &["compact", "s"]).exits_with(0);
    fs::create_dir(folder.path("copy")).unwrap();
    for path in files(&folder.path("s"), "") {
        fs::copy(&path, folder.path("copy").join(path.file_name().unwrap())).unwrap();
    }
    for store in ["s", "copy"] {
        put(store, "second");
        db(&folder, &["compact", store]).exits_with(0);
        folder.write("long", "y".repeat(10_000));
    }
    let stolen = files(&folder.path("copy"), ".values").pop().unwrap();
    let name = stolen.file_name().unwrap().to_str().unwrap();
    fs::copy(&stolen, folder.path("s").join(name)).unwrap();
    lose_manifest(&folder.path("s"));
    let said = folder.run(&["repair", "s"]).exits_with(0);
    assert!(said.stdout.contains(&format!("{name}: appears to belong to another store or a copy")), "{}", said.stdout);
    assert!(folder.path("s").join(format!("{name}.foreign")).exists());
    let shown = folder.run(&["scan", "s"]).exits_with(0).stdout;
    assert!(shown.contains("first\tx") && !shown.contains('y'), "{}", shown.len());
    folder.run(&["verify", "s"]).exits_with(0);
}

#[test]
fn a_compaction_merges_many_small_tables_to_few() {
    let folder = Folder::new();
    let mut tables = Vec::new();
    for i in 0..40 {
        let name = format!("{i}.ogive");
        folder.write("rows.csv", rows(i * 100..(i + 1) * 100));
        folder.build("rows.csv", &name, &["--value", "value", "--key-type", "bytes"]);
        tables.push(name);
    }
    for name in &tables {
        db(&folder, &["ingest", "s", name]).exits_with(0);
    }
    let count = || -> (u64, u64) {
        let stats: Value = folder.run(&["stats", "s", "--json"]).exits_with(0).json();
        let levels = stats["keyspaces"][0]["levels"].as_array().unwrap().clone();
        let sum = |name: &str| levels.iter().map(|level| level[name].as_u64().unwrap()).sum();
        (sum("tables"), sum("records"))
    };
    // Some are merged as soon as they are ingested.
    let (ingested, records) = count();
    assert!(ingested > 1 && records == 4000, "{ingested} tables, {records} records");
    db(&folder, &["compact", "s"]).exits_with(0);
    assert_eq!(count(), (1, 4000));
    folder.run(&["verify", "s"]).exits_with(0);
}

#[test]
fn a_table_of_a_store_whose_manifest_is_lost_is_no_output() {
    let folder = store();
    lose_manifest(&folder.path("s"));
    let table = files(&folder.path("s"), ".table").pop().unwrap();
    let before = fs::read(&table).unwrap();
    let name = format!("s/{}", table.file_name().unwrap().to_str().unwrap());
    for output in [name.as_str(), "s/000900.table", "s/000900.values"] {
        for force in [&[][..], &["--force"]] {
            let run = folder.run(&[&["build", "rows.csv", "-o", output], force].concat()).exits_with(1);
            run.complains_of("in the folder of a store");
        }
    }
    assert_eq!(fs::read(&table).unwrap(), before);
    assert!(!folder.path("s/000900.table").exists());
    // A table of such a name outside a store is an ordinary output.
    folder.build("rows.csv", "000001.table", &[]);
    folder.build("rows.csv", "000001.table", &["--value", "value"]);
}

#[test]
fn what_fails_in_a_new_folder_leaves_nothing() {
    let folder = Folder::new();
    db(&folder, &["put", "new/deep", "k", "v", "--memory", "1000"]).exits_with_error();
    db(&folder, &["put", "new/deep", "word", "v", "--keys", "u64"]).exits_with(2);
    assert!(folder.names().is_empty(), "{:?}", folder.names());
    // A key that no store takes.
    folder.write("rows.csv", format!("k,v\n{},1\n", "k".repeat((64 << 10) + 1)));
    db(&folder, &["import", "new/deep", "rows.csv", "--key", "k"]).exits_with(1).complains_of("no row is durable");
    db(&folder, &["import", "new", "rows.csv", "--key", "k", "--keyspace", "other"]).exits_with(1);
    let key = folder.path("rows.csv");
    let key = fs::read_to_string(key).unwrap()[4..].to_owned();
    db(&folder, &["put", "new", &key, "v"]).exits_with(1);
    db(&folder, &["put", "new", "1", "\\q", "--escaped"]).exits_with(2);
    assert_eq!(folder.names(), ["rows.csv"]);
    // Nor does it leave a keyspace.
    db(&folder, &["put", "there", "k", "v"]).exits_with(0);
    for (arguments, code) in
        [(&["zz", "x", "--key-type", "i64"][..], 2), (&["1", "\\q", "--escaped"], 2), (&[&key, "v"], 1)]
    {
        db(&folder, &[&["put", "there", "--keyspace", "other"], arguments].concat()).exits_with(code);
        db(&folder, &["keyspaces", "there"]).exits_with(0).keeps_quiet_about("other");
        let listed = db(&folder, &["keyspaces", "there"]).stdout;
        assert!(!listed.contains("other"), "{listed}");
    }
    fs::remove_dir_all(folder.path("there")).unwrap();
    fs::remove_file(folder.path("rows.csv")).unwrap();
    fs::create_dir(folder.path("empty")).unwrap();
    db(&folder, &["put", "empty", "k", "v", "--memory", "1000"]).exits_with_error();
    assert!(files(&folder.path("empty"), "").is_empty());
    db(&folder, &["put", "s", "k", "--file", "/dev/null"]).exits_with(0);
}

#[test]
fn a_checkpoint_that_fails_leaves_nothing() {
    let folder = store();
    fs::create_dir(folder.path("taken")).unwrap();
    folder.write("taken/notes.txt", "mine");
    db(&folder, &["checkpoint", "s", "taken"]).exits_with(1).complains_of("notes.txt");
    assert_eq!(files(&folder.path("taken"), "").len(), 1);
    // The folder can be made, and no file in it: its path would be too long.
    let mut deep = "new".to_owned();
    while deep.len() < 4092 {
        let length = (4092 - deep.len() - 1).min(200);
        deep.push('/');
        deep.push_str(&"d".repeat(length));
    }
    let names = folder.names();
    db(&folder, &["checkpoint", "s", &deep]).exits_with_error();
    assert_eq!(folder.names(), names);
    db(&folder, &["put", &deep, "k", "v"]).exits_with_error();
    assert_eq!(folder.names(), names);
}

#[test]
fn a_key_of_another_type_than_the_keyspace_has_is_an_error_that_names_both() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&uneven_keys(100)));
    db(&folder, &["import", "s", "keys.u64"]).exits_with(0);
    for arguments in [
        &["get", "s", "1234", "--keys", "text"][..],
        &["get", "s", "1234", "--keys", "i64"],
        &["delete", "s", "1234", "--keys", "text"],
        &["scan", "s", "--from", "1234", "--keys", "u128"],
    ] {
        let run = db(&folder, arguments).exits_with(1).complains_of("are u64, not ");
        assert!(run.stderr.contains(arguments.last().unwrap()) && !run.stderr.contains("not found"), "{}", run.stderr);
    }
    // Bytes are what every key is.
    folder.run(&["get", "s", "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00", "--keys", "bytes"]).exits_with(0);
    folder.run(&["get", "s", "0", "--keys", "u64"]).exits_with(0);
}

#[test]
fn types_of_keys_are_found_again_where_the_names_of_keyspaces_are_lost() {
    let folder = Folder::new();
    folder.write("numbers.txt", (1..=500).map(|number| format!("{number}\n")).collect::<String>());
    db(&folder, &["import", "s", "numbers.txt", "--key-type", "u64"]).exits_with(0);
    db(&folder, &["import", "s", "numbers.txt", "--key-type", "u64", "--keyspace", "ids"]).exits_with(0);
    db(&folder, &["put", "s", "name", "value", "--keyspace", "words"]).exits_with(0);
    db(&folder, &["compact", "s"]).exits_with(0);
    lose_manifest(&folder.path("s"));
    folder.run(&["repair", "s"]).exits_with(0);
    folder.run(&["get", "s", "7"]).exits_with(0);
    db(&folder, &["put", "s", "seven", "x"]).exits_with(2);
    folder.run(&["get", "s", "7", "--keyspace", "ids"]).exits_with(0);
    db(&folder, &["put", "s", "seven", "x", "--keyspace", "ids"]).exits_with(2);
    // A keyspace of bytes loses its name.
    let names = folder.run(&["stats", "s", "--json"]).exits_with(0).stdout;
    let names: Value = serde_json::from_str(&names).unwrap();
    let names: Vec<&str> =
        names["keyspaces"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names.iter().filter(|name| name.starts_with("keyspace ")).count(), 1, "{names:?}");
}

#[test]
fn the_keyspace_of_types_is_reserved() {
    let folder = Folder::new();
    db(&folder, &["put", "s", "1", "a", "--keys", "u64"]).exits_with(0);
    for arguments in [
        &["put", "s", "default", "text", "--keyspace", "ogive"][..],
        &["delete", "s", "--from", "", "--keyspace", "ogive"],
        &["scan", "s", "--keyspace", "ogive"],
    ] {
        db(&folder, arguments).exits_with(1).complains_of("reserved for key types");
    }
    folder.run(&["get", "s", "1"]).exits_with(0);
}

#[test]
fn a_key_of_a_type_that_the_keys_are_not_is_an_error_and_not_absent() {
    let folder = store();
    for command in ["get", "delete"] {
        let said = db(&folder, &[command, "s", "1", "--keys", "u128"]).exits_with(1);
        said.complains_of("are text, not u128");
    }
    folder.run(&["get", "s", "key00001", "--keys", "text"]).exits_with(0);
}

#[test]
fn an_import_that_failed_fixes_no_type() {
    let folder = Folder::new();
    folder.write("mixed.csv", "id,v\n1,a\nx,b\n");
    let import = |key_type| db(&folder, &["import", "s", "mixed.csv", "--key-type", key_type, "--value", "v"]);
    import("u64").exits_with(1).complains_of("--key-type, such as text");
    import("text").exits_with(0);
    assert_eq!(folder.run(&["get", "s", "x"]).exits_with(0).stdout, "b\n");
}

#[test]
fn a_failed_ingestion_leaves_no_keyspace_and_no_type() {
    let folder = Folder::new();
    folder.write("twice.csv", "id,n\n1,7\n1,8\n");
    folder.build("twice.csv", "twice.ogive", &["--key", "id"]);
    folder.run(&["db", "put", "s", "a", "b", "--keyspace", "other"]).exits_with(0);
    for keyspace in ["fresh", "default"] {
        let ingest = ["db", "ingest", "s", "twice.ogive", "--keyspace", keyspace];
        folder.run(&ingest).exits_with_error().complains_of("duplicate key");
        let known = folder.run(&["db", "keyspaces", "s"]).exits_with(0).stdout;
        assert!(!known.contains("fresh") && !known.contains("u64"), "{known}");
    }
    // Keys of another type find no trace of the first attempt.
    folder.run(&["db", "put", "s", "word", "b", "--keyspace", "fresh", "--key-type", "text"]).exits_with(0);
}

#[test]
fn records_in_logs_count_for_compactions_and_checks() {
    let folder = Folder::new();
    let rows: String = (0..1_000).map(|row| format!("{row},value {row}\n")).collect();
    folder.write("rows.csv", format!("key,value\n{rows}"));
    // A longer log would be flushed when the store is closed.
    folder.run(&["db", "import", "s", "rows.csv"]).exits_with(0);
    let verified = folder.run(&["verify", "s"]).exits_with(0);
    assert!(verified.stdout.contains("0 tables with 0 records"), "{}", verified.stdout);
    assert!(verified.stdout.contains("with 1,0"), "{}", verified.stdout);
    assert!(folder.run(&["verify", "s", "--json"]).json()["log_records"].as_u64().unwrap() >= 1_000);

    let compacted = folder.run(&["db", "compact", "s", "--json"]).exits_with(0).json();
    let bytes = |name: &str| compacted[name].as_u64().unwrap();
    assert!(bytes("bytes_before") > 1_000 * 8 && bytes("bytes_after") < bytes("bytes_before"), "{compacted}");
    let again = folder.run(&["db", "compact", "s", "--json"]).exits_with(0).json();
    assert_eq!(again["bytes_before"], compacted["bytes_after"]);
}

#[test]
fn a_value_that_is_longer_than_the_memory_is_in_the_way_of_no_command_but_those_that_print_it() {
    let folder = Folder::new();
    folder.write("long", "x".repeat(2 << 20));
    folder.write("rows.csv", "key,value\nb,1\nc,2\n");
    folder.build("rows.csv", "rows.ogive", &["--key-type", "bytes", "--value", "value"]);
    folder.write("raw.csv", "key,value\nb,1\nc,2\n");
    // The first key and the last one have long values.
    for (keyspace, key) in [("default", "a"), ("other", "z")] {
        let within = |arguments: &[&str]| db(&folder, &[arguments, &["--memory", "1MiB"]].concat());
        let on = |arguments: &[&str]| within(&[arguments, &["--keyspace", keyspace]].concat());
        on(&["put", "s", key, "--file", "long"]).exits_with(0);
        on(&["put", "s", key, "--file", "long"]).exits_with(0);
        on(&["put", "s", "m", "short"]).exits_with(0);
        on(&["get", "s", "m"]).exits_with(0).prints("short\n");
        on(&["get", "s", "m", "--key-type", "text"]).exits_with(0).prints("short\n");
        on(&["delete", "s", "m"]).exits_with(0);
        on(&["import", "s", "raw.csv", "--value", "value"]).exits_with(0);
        on(&["scan", "s", "--keys-only", "--from", "b", "--to", "d"]).exits_with(0).prints("b\nc\n");
        on(&["scan", "s", "--keys-only", "--key-type", "u64"]).exits_with(1).complains_of("keys that are not u64");
        on(&["get", "s", key]).exits_with(1).complains_of("raise --memory");
        within(&["compact", "s"]).exits_with(0);
        on(&["put", "s", "n", "short"]).exits_with(0);
        on(&["delete", "s", key]).exits_with(0);
        on(&["count", "s"]).exits_with(0).prints("3\n");
    }
}
