//! Databases of SQLite that are refused, with the reason, and without a trace in the store.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support::{Place, records};
use ogive::types::Value;
use ogive_testkit::{Random, seeds};
use rusqlite::Connection;

fn refused(statements: &str, said: &[&str]) -> Place {
    let place = Place::new();
    Connection::open(place.path("a.db")).unwrap().execute_batch(statements).unwrap();
    place.refused(&["a.db", "store"], 1, said);
    assert!(!place.path("store").exists() || place.keyspaces().is_empty());
    place
}

#[test]
fn values_of_several_classes_are_refused_or_text() {
    let place = refused(
        "create table t(a integer primary key, b); 
         insert into t values (5, 1), (7, null), (9, 'x'), (11, x'0aff'), (13, 0.1)",
        &[
            "column \"b\" of the table \"t\"",
            "integer in the row with the rowid 5",
            "text in the row with the rowid 9",
            "--as-text",
        ],
    );
    let told = place.import(&["a.db", "store", "--as-text"]);
    assert!(told.contains("several classes, stored as text"), "{told}");
    let texts: Vec<Value> = records(&place.store(), "t").1.into_iter().map(|(_, value)| value).collect();
    let row = |value: Value| Value::Tuple(vec![value]);
    assert_eq!(texts, ["1".into(), Value::Null, "x".into(), "X'0AFF'".into(), "0.1".into()].map(row));
}

#[test]
fn whole_numbers_that_no_float_has_are_not_rounded() {
    let statements =
        "create table t(a integer primary key, b decimal); insert into t values (1, 9007199254740993), (2, 0.5)";
    refused(statements, &["integer that is no float in the row with the rowid 1", "real in the row with the rowid 2"]);
}

#[test]
fn keys_that_a_store_does_not_have_are_refused_by_name() {
    refused(
        "create table t(a text primary key); insert into t values ('x'), (null)",
        &["\"a\"", "\"t\"", "null in the row with the rowid 2"],
    );
    refused(
        "create table t(a text collate nocase primary key); insert into t values ('x')",
        &["\"t\"", "collation nocase"],
    );
    refused(
        "create table t(a, b, primary key (a, b)) without rowid; insert into t values (1, 2), ('x', 3)",
        &["\"a\"", "in the row number 2"],
    );
    refused("create table t(rowid, _rowid_, oid)", &["\"t\" has no primary key"]);
    let columns: Vec<String> = (0..17).map(|number| format!("c{number}")).collect();
    let wide = format!("create table t({0}, primary key ({0}))", columns.join(", "));
    refused(&wide, &["the table \"t\" cannot be a keyspace", "16", "--skip t"]);
    refused(
        "create table t(a text primary key); insert into t values (printf('%.70000c', 'x'))",
        &["keyspace \"t\": a key of 70000 bytes", "nothing is left of \"t\""],
    );
    // The order of numbers is that of all collations.
    let place = Place::new();
    let connection = Connection::open(place.path("a.db")).unwrap();
    connection.execute_batch("create table t(a int collate nocase primary key); insert into t values (1)").unwrap();
    place.import(&["a.db", "store"]);
}

#[test]
fn one_table_that_is_refused_can_be_left_out() {
    let place =
        refused("create table t(a text primary key); insert into t values (null); create table u(a)", &["--skip t"]);
    place.import(&["a.db", "store", "--skip", "t"]);
    assert_eq!(place.keyspaces(), ["u"]);
}

#[test]
fn text_that_is_none_is_refused_after_the_store_was_made_and_leaves_none() {
    refused(
        "create table a(x); insert into a values (1);
         create table t(a text, b); insert into t values ('good', 1), (cast(x'ff80' as text), 2)",
        &[
            "\"a\" of the table \"t\" has text that is not UTF-8, in the row with the rowid 2",
            "nothing is left of \"a\", \"t\"",
        ],
    );
}

#[test]
fn a_database_that_another_program_writes_is_refused_after_the_wait() {
    let place = Place::new();
    let writer = Connection::open(place.path("a.db")).unwrap();
    writer.execute_batch("create table t(a); begin exclusive").unwrap();
    place.refused(&["a.db", "store"], 1, &["is locked by another program"]);
}

#[test]
fn files_of_other_kinds_are_refused_by_name() {
    let place = Place::new();
    std::fs::write(place.path("a.csv"), "a,b\n1,2\n").unwrap();
    std::fs::write(place.path("cut.db"), "SQLite format 3\0").unwrap();
    std::fs::write(place.path("none"), "").unwrap();
    std::fs::create_dir(place.path("folder")).unwrap();
    place.refused(&["a.csv", "store"], 1, &["a.csv is not of SQLite, LMDB or RocksDB", "`ogive db import`"]);
    place.refused(&["none", "store"], 1, &["none is not of"]);
    place.refused(&["folder", "store"], 1, &["folder is not of"]);
    place.refused(&["absent", "store"], 1, &["cannot read absent"]);
    place.refused(&["cut.db", "store", "--from", "lmdb"], 1, &["is a database of SQLite, not an environment of LMDB"]);
    place.refused(&["cut.db", "store"], 1, &["cut.db"]);
    assert!(!place.path("store").exists());
}

/// A damaged page is found by SQLite, or its rows are as before: whatever is done agrees with what is said.
#[test]
fn a_damaged_database_ends_no_program_and_leaves_nothing_half() {
    let place = Place::new();
    let connection = Connection::open(place.path("a.db")).unwrap();
    connection
        .execute_batch(
            "pragma page_size = 512; create table t(a integer primary key, b text); create index i on t(b);
             with n(x) as (select 1 union all select x + 1 from n where x < 300)
             insert into t select x, 'text ' || x from n;",
        )
        .unwrap();
    drop(connection);
    let whole = std::fs::read(place.path("a.db")).unwrap();
    for seed in seeds(0..40) {
        let mut random = Random::new(seed);
        let mut damaged = whole.clone();
        match random.below(3) {
            0 => damaged.truncate(random.below(damaged.len() as u64) as usize),
            1 => {
                let at = random.below(damaged.len() as u64 - 64) as usize;
                damaged[at..at + 64].fill(random.below(256) as u8);
            }
            _ => {
                let at = random.below(damaged.len() as u64) as usize;
                damaged[at] ^= 1 << random.below(8);
            }
        }
        std::fs::write(place.path("a.db"), damaged).unwrap();
        _ = std::fs::remove_dir_all(place.path("store"));
        let run = place.run(&["a.db", "store"]);
        match run.code {
            Some(0) if run.out.contains("nothing to import") => {}
            Some(0) => assert!(place.keyspaces().len() <= 1, "{seed}: {run:?}"),
            Some(1) => {
                assert!(!place.path("store").exists() || place.keyspaces().is_empty(), "{seed}: {run:?}");
            }
            _ => panic!("{seed}: {run:?}"),
        }
        assert!(!run.err.contains("panicked"), "{seed}: {run:?}");
    }
}
