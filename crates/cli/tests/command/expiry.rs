//! Entries that expire: by themselves, by a rule of their keyspace, and as followers see them. Method: whole runs.

use super::run::{Folder, Run, grouped};

fn db(folder: &Folder, arguments: &[&str]) -> Run {
    folder.run(&grouped("db", arguments))
}

#[test]
fn entries_expire_at_their_time_and_followers_get_it() {
    let folder = Folder::new();
    db(&folder, &["put", "s", "a", "1", "--ttl", "30d"]).exits_with(0).prints("a: written\n");
    db(&folder, &["put", "s", "b", "2", "--expires-at", "2020-01-31T12:00:00"]).exits_with(0);
    db(&folder, &["put", "s", "c", "3", "--expires-at", "2120-01-31"]).exits_with(0);
    folder.run(&["scan", "s"]).exits_with(0).prints("a\t1\nc\t3\n");
    folder.run(&["get", "s", "b"]).exits_with(1);
    let changes = db(&folder, &["changes", "s"]).exits_with(0);
    assert!(changes.stdout.contains("\"expires\":\"2020-01-31T12:00:00\""), "{}", changes.stdout);
    db(&folder, &["put", "s", "d", "4", "--ttl", "1h", "--expires-at", "2030-01-31"]).exits_with(2);
    db(&folder, &["put", "s", "d", "4", "--ttl", "soon"]).exits_with(2).complains_of("'soon' is not a time");
    db(&folder, &["put", "s", "d", "4", "--expires-at", "soon"]).exits_with(2);
    folder.run(&["verify", "s"]).exits_with(0);
}

#[test]
fn a_keyspace_gets_a_rule_and_loses_it() {
    let folder = Folder::new();
    db(&folder, &["put", "s", "a", "1"]).exits_with(0);
    db(&folder, &["alter", "s", "--expire-after", "0s"])
        .exits_with(0)
        .prints("s: keyspace \"default\" has the options: expiry 0ns after the write\n");
    db(&folder, &["put", "s", "b", "2"]).exits_with(0);
    db(&folder, &["alter", "s", "--expire-after", "never"])
        .exits_with(0)
        .prints("s: keyspace \"default\" has the options: those of the store\n");
    db(&folder, &["put", "s", "c", "3"]).exits_with(0);
    folder.run(&["scan", "s"]).exits_with(0).prints("a\t1\nc\t3\n");
    db(&folder, &["alter", "s", "--expire-at", "due"]).exits_with(2).complains_of("no field \"due\"");
    folder.write("orders.csv", "id,name,due\n1,fig,2020-01-31T12:00:00\n2,lime,2120-01-31T12:00:00\n");
    db(&folder, &["import", "t", "orders.csv", "--key", "id"]).exits_with(0);
    db(&folder, &["alter", "t", "--expire-at", "due"]).exits_with(0);
    db(&folder, &["import", "t", "orders.csv", "--key", "id"]).exits_with(0);
    folder.run(&["scan", "t", "--keys-only"]).exits_with(0).prints("2\n");
}
