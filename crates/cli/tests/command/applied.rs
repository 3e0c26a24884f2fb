//! Tests of `ogive db apply`. Goal: the changes of a file are there together, or none is; a key with another value than
//! expected is named; a line that cannot be read is named, and changes nothing. Method: whole runs on stores of bytes
//! and of rows.

use super::run::{Folder, Run, grouped};
use serde_json::json;

fn apply(folder: &Folder, lines: &str, more: &[&str]) -> Run {
    folder.write("changes.jsonl", lines);
    folder.run(&[&grouped("db", &["apply", "s", "changes.jsonl"])[..], more].concat())
}

fn scan(folder: &Folder, keyspace: &str) -> String {
    folder.run(&["scan", "s", "--keyspace", keyspace, "--json"]).exits_with(0).stdout
}

/// A store with rows by numbers, and with words.
fn bank() -> Folder {
    let folder = Folder::new();
    folder.write("accounts.csv", "id,owner,amount\n1,ann,100\n2,bob,0\n");
    let import = ["import", "s", "accounts.csv", "--key", "id", "--keyspace", "accounts", "--type", "amount=u32?"];
    folder.run(&grouped("db", &import)).exits_with(0);
    folder.run(&grouped("db", &["put", "s", "note", "old"])).exits_with(0);
    folder
}

const TRANSFER: &str = r#"
{"expect": {"keyspace": "accounts", "key": 1, "value": {"amount": 100, "owner": "ann"}}}
{"expect": {"keyspace": "accounts", "key": 3}}
{"put": {"keyspace": "accounts", "key": 1, "value": {"owner": "ann", "amount": 70}}}

{"put": {"keyspace": "accounts", "key": 2, "value": {"owner": "bob"}}}
{"remove": {"key": "note"}}
{"put": {"key": {"hex": "ff"}, "value": "new"}}
"#;

#[test]
fn changes_are_applied_together_if_values_are_as_expected() {
    let folder = bank();
    apply(&folder, TRANSFER, &[]).exits_with(0).prints("s: 4 changes applied\n");
    let accounts = "{\"id\":1,\"owner\":\"ann\",\"amount\":70}\n{\"id\":2,\"owner\":\"bob\",\"amount\":null}\n";
    assert_eq!(scan(&folder, "accounts"), accounts);
    assert_eq!(scan(&folder, "default"), "{\"key\":{\"hex\":\"ff\"},\"value\":\"new\"}\n");

    // A second time the amount is another one: the first condition that fails is named.
    let before = (scan(&folder, "accounts"), scan(&folder, "default"));
    let run = apply(&folder, TRANSFER, &[]).exits_with(1).prints("");
    run.complains_of("the key 1 of the keyspace \"accounts\"").complains_of("nothing was written");
    let run = apply(&folder, TRANSFER, &["--json"]).exits_with(1).complains_of("conflict");
    assert_eq!(run.json()["conflict"], json!({ "keyspace": "accounts", "key": 1 }));
    assert_eq!((scan(&folder, "accounts"), scan(&folder, "default")), before);

    let absent = r#"{"expect": {"key": "note", "value": null}}"#;
    let applied = apply(&folder, absent, &["--json"]).exits_with(0).json();
    assert_eq!(applied, json!({ "applied": 0, "expected": 1 }));
}

#[cfg(unix)]
#[test]
fn changes_come_from_standard_input() {
    let folder = bank();
    folder.write("changes.jsonl", TRANSFER);
    let run = folder.run_piped("changes.jsonl", &grouped("db", &["apply", "s", "-", "--json"])).exits_with(0);
    assert_eq!(run.json(), json!({ "applied": 4, "expected": 2 }));
    let run = folder.run_piped("changes.jsonl", &grouped("db", &["apply", "s", "-"])).exits_with(1);
    run.complains_of("the key 1 of the keyspace \"accounts\"");
}

#[test]
fn a_line_that_cannot_be_read_is_named_and_nothing_is_written() {
    let folder = bank();
    let put = "{\"put\": {\"key\": \"a\", \"value\": \"b\"}}\n";
    let before = (scan(&folder, "accounts"), scan(&folder, "default"));
    for (line, fault) in [
        ("{\"put\": {\"key\": \"a\", ", "line 2 of changes.jsonl: EOF"),
        (r#"{"set": {"key": "a"}}"#, "unknown field `set`"),
        (r#"{"put": {"key": "a", "value": "b"}, "remove": {"key": "b"}}"#, "one change or condition"),
        (r#"{"put": {"key": "a", "value": "b", "expires": "soon"}}"#, "is no time in UTC"),
        (r#"{"drop": {"keyspace": "accounts"}}"#, "a keyspace is dropped by itself"),
        (r#"{"put": {"key": "a", "values": "b"}}"#, "unknown field `values`"),
        (r#"{"put": {"value": "b"}}"#, "missing field `key`"),
        (r#"{"put": {"key": "a"}}"#, "a put has no value"),
        (r#"{"put": {"key": "a", "value": [1]}}"#, "is not of type bytes"),
        (r#"{"put": {"keyspace": "accounts", "key": "x", "value": {"owner": "x"}}}"#, "\"x\" is not of type u64"),
        (r#"{"put": {"keyspace": "accounts", "key": 7, "value": {"owner": "x", "amount": -1}}}"#, "the field 'amount'"),
        (
            r#"{"put": {"keyspace": "accounts", "key": 7, "value": {"owner": "x", "sum": 1}}}"#,
            "there is no field 'sum'",
        ),
        (r#"{"expect": {"keyspace": "accounts", "key": 1, "value": 100}}"#, "an object"),
    ] {
        let run = apply(&folder, &format!("{put}{line}\n"), &[]).exits_with(2).prints("");
        run.complains_of("line 2 of changes.jsonl").complains_of(fault).complains_of("nothing was written");
    }
    let elsewhere = format!("{put}{{\"put\": {{\"keyspace\": \"users\", \"key\": \"a\", \"value\": \"b\"}}}}");
    apply(&folder, &elsewhere, &[]).exits_with(1).complains_of("existing keyspaces: default, accounts");
    let no_key = "{\"remove\": {\"key\": \"".to_owned() + &"x".repeat(70_000) + "\"}}";
    apply(&folder, &(put.to_owned() + &no_key), &[]).exits_with(1).complains_of("at most");
    apply(&folder, &put.repeat(2000), &["--memory", "64KiB"]).exits_with(1).complains_of("--memory");
    assert_eq!((scan(&folder, "accounts"), scan(&folder, "default")), before);
    folder.run(&grouped("db", &["apply", "none", "changes.jsonl"])).exits_with(1).complains_of("not found");
    assert!(!folder.path("none").exists());
    folder.run(&grouped("db", &["apply", "s", "missing"])).exits_with(1).complains_of("missing");
}

#[test]
fn ranges_are_removed_and_records_expire_as_their_lines_say() {
    let folder = bank();
    let lines = r#"
{"put": {"key": "a", "value": "1", "expires": "2120-01-31T12:00:00"}}
{"put": {"key": "b", "value": "1", "expires": "2020-01-31 12:00:00Z"}}
{"put": {"keyspace": "accounts", "key": 9, "value": {"owner": "eve"}}}
{"remove_range": {"keyspace": "accounts", "from": 2, "to": 9}}
{"remove_range": {"from": "m", "to": null}}
"#;
    apply(&folder, lines, &[]).exits_with(0).prints("s: 5 changes applied\n");
    assert_eq!(scan(&folder, "default"), "{\"key\":\"a\",\"value\":\"1\"}\n");
    folder.run(&["scan", "s", "--keyspace", "accounts", "--keys-only"]).exits_with(0).prints("1\n9\n");
    let changes = folder.run(&["db", "changes", "s"]).exits_with(0);
    assert!(changes.stdout.contains("\"expires\":\"2120-01-31T12:00:00\""), "{}", changes.stdout);
}

/// Keys alone have no value, and rows from before a field was added are as they are read.
#[test]
fn keys_alone_and_altered_rows_are_expected_as_they_are_printed() {
    let folder = bank();
    folder.write("tags", "red\nblue\n");
    folder.run(&grouped("db", &["import", "s", "tags", "--keyspace", "tags"])).exits_with(0);
    folder.run(&grouped("db", &["alter", "s", "accounts", "--add", "city: text?"])).exits_with(0);
    let lines = r#"
{"expect": {"keyspace": "accounts", "key": 1, "value": {"owner": "ann", "amount": 100, "city": null}}}
{"put": {"keyspace": "accounts", "key": 1, "value": {"owner": "ann", "amount": 100, "city": "Rome"}}}
{"put": {"keyspace": "tags", "key": "green"}}
{"remove": {"keyspace": "tags", "key": "red"}}
"#;
    apply(&folder, lines, &[]).exits_with(0);
    folder.run(&["get", "s", "1", "--keyspace", "accounts"]).exits_with(0).prints("ann\t100\tRome\n");
    folder.run(&["scan", "s", "--keyspace", "tags"]).exits_with(0).prints("blue\t\ngreen\t\n");
    let valued = r#"{"put": {"keyspace": "tags", "key": "green", "value": "x"}}"#;
    apply(&folder, valued, &[]).exits_with(2).complains_of("keys alone");
}
