//! Indexes that a store keeps: created, listed, used by lookups, kept by other commands, and dropped. Method: whole
//! runs.

use super::run::{Folder, Run, grouped};
use serde_json::json;

fn db(folder: &Folder, arguments: &[&str]) -> Run {
    folder.run(&grouped("db", arguments))
}

#[test]
fn an_index_is_created_listed_used_and_dropped() {
    let folder = Folder::new();
    folder.write("users.csv", "id,name,email\n1,Ann,Ann@x\n2,Bob,bob@x\n3,Cid,\n");
    folder.write("more.csv", "id,name,email\n5,Eve,eve@x\n6,Fay,BOB@x\n");
    let types = "email=text?";
    db(&folder, &["import", "s", "users.csv", "--key", "id", "--keyspace", "users", "--type", types]).exits_with(0);
    let create = ["index", "create", "s", "by_email", "--keyspace", "users", "--by", "lower(email)"];
    db(&folder, &[&create[..], &["--where", "email > 1"]].concat()).exits_with(2).complains_of("is not null");
    db(&folder, &[&create[..7], &["upper(email)"]].concat()).exits_with(2).complains_of("upper(email)");
    let with = [&create[..], &["--unique", "--where", "email is not null"]].concat();
    db(&folder, &with)
        .exits_with(0)
        .prints("s: index \"by_email\" of the keyspace \"users\" by lower(email) unique where email is not null\n");
    let listed = db(&folder, &["index", "list", "s", "--json"]).exits_with(0).json();
    let expected = json!([{
        "name": "by_email", "keyspace": "users", "definition": "lower(email) unique where email is not null",
        "fields": ["lower(email)"], "is_unique": true, "where_not_null": "email", "is_complete": true,
    }]);
    assert_eq!(listed["indexes"], expected);
    assert!(db(&folder, &["index", "list", "s"]).exits_with(0).stdout.contains("by_email"));
    assert!(!db(&folder, &["keyspaces", "s"]).exits_with(0).stdout.contains("ogive."));

    // Other commands keep it.
    db(&folder, &["put", "s", "4", "Dan,ann@X", "--keyspace", "users"]).exits_with(1).complains_of("the row \"1\"");
    db(&folder, &["put", "s", "4", "Dan,dan@x", "--keyspace", "users"]).exits_with(0);
    db(&folder, &["delete", "s", "1", "--keyspace", "users"]).exits_with(0);
    db(&folder, &["import", "s", "more.csv", "--key", "id", "--keyspace", "users"]).exits_with(1).complains_of("\"2\"");
    let get = |arguments: &[&str]| db(&folder, &[&["index", "get", "s", "by_email"], arguments].concat());
    get(&["ann@x"]).exits_with(1).complains_of("ann@x: not found");
    get(&["dan@x"]).exits_with(0).prints("4\tDan\tdan@x\n");
    get(&["--from", "bob@x", "--to", "dan@x"]).exits_with(0).prints("2\tBob\tbob@x\n");
    get(&["--reverse", "--limit", "1", "--keys-only"]).exits_with(0).prints("4\n");
    get(&["--prefix", "bo"]).exits_with(0).prints("2\tBob\tbob@x\n");
    assert_eq!(get(&["bob@x", "--json"]).exits_with(0).json()["name"], "Bob");
    folder.run(&["verify", "s"]).exits_with(0);

    // A program is told which rows have the same values.
    let refused = |arguments: &[&str], index: &str, [key, other]: [u64; 2]| {
        let rows = json!({ "keyspace": "users", "index": index, "key": key, "other_key": other });
        let told = db(&folder, &[arguments, &["--json"]].concat()).exits_with(1).json_lines().pop();
        assert_eq!(told.unwrap()["not_unique"], rows);
    };
    let put = ["put", "s", "7", "Gus,DAN@x", "--keyspace", "users"];
    refused(&put, "by_email", [7, 4]);
    refused(&[&put[..], &["--ttl", "1h"]].concat(), "by_email", [7, 4]);
    refused(&["import", "s", "more.csv", "--key", "id", "--keyspace", "users"], "by_email", [6, 2]);
    let row = r#"{"put": {"keyspace": "users", "key": 8, "value": {"name": "Hal", "email": "dan@X"}}}"#;
    folder.write("changes.jsonl", row);
    refused(&["apply", "s", "changes.jsonl"], "by_email", [8, 4]);
    db(&folder, &["put", "s", "9", "Dan,d@x", "--keyspace", "users"]).exits_with(0);
    let by_name = ["index", "create", "s", "by_name", "--keyspace", "users", "--by", "name", "--unique"];
    refused(&by_name, "by_name", [9, 4]);

    db(&folder, &["index", "drop", "s", "by_name"]).exits_with(1).complains_of("existing indexes: by_email");
    db(&folder, &["index", "drop", "s", "by_email"]).exits_with(0).prints("s: index \"by_email\" dropped\n");
    get(&["dan@x"]).exits_with(1).complains_of("no index");
    db(&folder, &["put", "s", "6", "Fay,BOB@x", "--keyspace", "users"]).exits_with(0);
}
