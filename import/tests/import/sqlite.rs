//! Databases of SQLite that are taken, by examples.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support::{Place, records};
use ogive::types::Value;
use ogive::{Cause, Db, DbOptions};
use rusqlite::Connection;

fn database(place: &Place, statements: &str) -> Connection {
    let connection = Connection::open(place.path("a.db")).unwrap();
    connection.execute_batch(statements).unwrap();
    connection
}

#[test]
fn a_log_that_is_not_checkpointed_is_read_and_what_is_not_committed_is_not() {
    let place = Place::new();
    let writer = database(
        &place,
        "pragma journal_mode = wal; pragma wal_autocheckpoint = 0; create table t(a integer primary key, b text);
         insert into t values (1, 'one'); begin immediate; insert into t values (2, 'two');",
    );
    place.import(&["a.db", "store"]);
    let row = |text: &str| Value::Tuple(vec![text.into()]);
    assert_eq!(records(&place.store(), "t").1, [(Value::from(1_i64), row("one"))]);
    writer.execute_batch("commit").unwrap();
    place.import(&["a.db", "store", "--replace"]);
    assert_eq!(records(&place.store(), "t").1.len(), 2);
}

#[test]
fn the_source_and_its_folder_stay_as_they_are() {
    for mode in ["wal", "delete", "truncate"] {
        for immutable in [false, true] {
            let place = Place::new();
            std::fs::create_dir(place.path("source")).unwrap();
            let connection = Connection::open(place.path("source/a.db")).unwrap();
            let fill = format!("pragma journal_mode = {mode}; create table t(a primary key); insert into t values (1)");
            connection.execute_batch(&fill).unwrap();
            drop(connection);
            let before = place.files("source");
            let words = ["source/a.db", "store", "--immutable"];
            place.import(if immutable { &words } else { &words[..2] });
            assert!(place.files("source") == before, "{mode}: {:?}", place.files("source").keys());
        }
    }
}

#[test]
fn a_database_that_is_written_meanwhile_is_read_at_one_moment() {
    let place = Place::new();
    let writer = database(
        &place,
        "pragma journal_mode = wal; create table t(a integer primary key, b text);
         create table u(a integer primary key);",
    );
    let insert = |count: u32| {
        let rows = format!(
            "begin; with n(x) as (select 1 union all select x + 1 from n where x < {count})
             insert into t(b) select 'text' from n; insert into u select a from t where a not in u; commit"
        );
        writer.execute_batch(&rows).unwrap();
    };
    insert(50_000);
    let mut child = place.command(&["a.db", "store"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    let mut commits = 0;
    while child.try_wait().unwrap().is_none() {
        insert(1);
        commits += 1;
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(commits > 0, "no commit came in time");
    let db = place.store();
    let keys = |name: &str| records(&db, name).1.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    assert!(keys("t") == keys("u"), "{} and {}", keys("t").len(), keys("u").len());
}

#[test]
fn a_copy_with_its_log_is_read_and_stays() {
    let place = Place::new();
    let writer = database(
        &place,
        "pragma journal_mode = wal; pragma wal_autocheckpoint = 0; create table t(a); insert into t values (1)",
    );
    std::fs::create_dir(place.path("copy")).unwrap();
    for name in ["a.db", "a.db-wal"] {
        std::fs::copy(place.path(name), place.path("copy").join(name)).unwrap();
    }
    drop(writer);
    let before = place.files("copy");
    place.import(&["copy/a.db", "store"]);
    assert_eq!(records(&place.store(), "t").1.len(), 1);
    // SQLite makes the index of the log.
    let mut after = place.files("copy");
    after.retain(|path, _| !path.to_string_lossy().ends_with("-shm"));
    assert!(after == before);
}

#[test]
fn an_empty_database_and_empty_tables_are_no_error() {
    let place = Place::new();
    drop(database(&place, "create table t(a); drop table t"));
    assert!(place.import(&["a.db", "store"]).contains("nothing to import"));
    assert!(!place.path("store").exists());
    std::fs::write(place.path("empty"), "").unwrap();
    assert!(place.import(&["empty", "store", "--from", "sqlite"]).contains("nothing to import"));
    drop(database(&place, "create table t(a int, b text not null, c, d date, e decimal, f boolean, g real)"));
    place.import(&["a.db", "store"]);
    let (types, found) = records(&place.store(), "t");
    assert!(found.is_empty());
    let expected = "i64 -> {a: i64?, b: text, c: bytes?, d: text?, e: f64?, f: i64?, g: f64?}";
    assert_eq!(types.to_string(), expected);
}

#[test]
fn values_of_several_mebibytes_are_taken_and_those_beyond_the_memory_refused() {
    let place = Place::new();
    let connection = database(&place, "create table t(a integer primary key, b)");
    for (key, length) in [(1, 1 << 20), (2, (1 << 20) + 1), (3, 20 << 20), (4, 0)] {
        connection.execute("insert into t values (?, randomblob(?))", (key, length)).unwrap();
    }
    place.import(&["a.db", "store"]);
    let (_, found) = records(&place.store(), "t");
    for (key, value) in found {
        let Value::Signed(key) = key else { panic!() };
        let expected: Vec<u8> =
            connection.query_row("select b from t where a = ?", [key as i64], |row| row.get(0)).unwrap();
        assert!(value == Value::Tuple(vec![Value::Bytes(expected)]), "{key}");
    }
    place.refused(
        &["a.db", "other", "--memory", "32MiB"],
        1,
        &["\"t\"", "20.0 MiB", "use --memory 160MiB", "nothing is left of \"t\""],
    );
    assert_eq!(Db::open(place.path("other"), &DbOptions::default()).unwrap().keyspaces(), ["default"]);
}

#[test]
fn indexes_are_kept_where_the_store_has_such_and_others_are_named() {
    let place = Place::new();
    drop(database(
        &place,
        "create table u(id integer primary key, email text unique, country text, joined int,
                        \"odd name\" text collate nocase);
         create index by_country on u(country, joined desc);
         create unique index by_lower on u(lower(email)) where Email is not null;
         create index by_odd on u(\"odd name\");
         create index by_sum on u(joined + 1);
         create index by_some on u(joined) where joined > 3;
         create index by_rtrim on u(country collate rtrim);
         insert into u values (1, 'A@x', 'de', 5, 'Q'), (2, 'b@x', 'de', 7, 'q'), (3, null, 'fr', 1, null);",
    ));
    let told = place.import(&["a.db", "store"]);
    for left in ["index by_sum: it is by an expression", "index by_some: it is partial", "index by_rtrim: it compares"]
    {
        assert!(told.contains(left), "{told}");
    }
    let db = Db::open(place.path("store"), &DbOptions::default()).unwrap();
    let keys = |name: &str, values: &[Value]| -> Vec<u64> {
        let found = db.index(name).unwrap().get(values).unwrap();
        let key = |key: &[u8]| u64::from_be_bytes(key.try_into().unwrap()) ^ 1 << 63;
        found.map(|record| key(&record.unwrap().0)).collect()
    };
    assert_eq!(keys("by_country", &["de".into()]), [2, 1]);
    assert_eq!(keys("u_by_email", &["A@x".into()]), [1]);
    assert_eq!(keys("by_lower", &["a@x".into()]), [1]);
    assert_eq!(keys("by_odd", &["q".into()]), [1, 2]);
    assert_eq!(db.indexes().len(), 4);
    let definition = db.index("by_lower").unwrap().definition().to_string();
    assert_eq!(definition, "lower(email) unique where email is not null");
    let users = db.keyspace("u").unwrap();
    let row: Vec<u8> = users.iter().next().unwrap().unwrap().1.to_vec();
    assert_eq!(users.insert([0xff; 8], row).unwrap_err().cause, Cause::NotUnique);
}

#[test]
fn what_is_left_out_is_named() {
    let place = Place::new();
    drop(database(
        &place,
        "create table t(a integer primary key, b int, c int as (b * 2) stored, d int as (b + 1), e references t(a));
         create view v as select * from t; create trigger r after insert on t begin select 1; end;
         create virtual table f using fts5(x); insert into f values ('text'); insert into t(a, b) values (1, 2);",
    ));
    let told = place.import(&["a.db", "store"]);
    for left in [
        "view v",
        "trigger r: of t",
        "virtual table f",
        "table of a virtual table f_data",
        "generated column t.c",
        "generated column t.d",
        "foreign key t: to t",
    ] {
        assert!(told.contains(&format!("left out: {left}")), "{left}: {told}");
    }
    assert_eq!(place.keyspaces(), ["t"]);
    assert_eq!(
        records(&place.store(), "t").1,
        [(Value::from(1_i64), Value::Tuple(vec![Value::from(2_i64), Value::Null]))]
    );
    place.refused(&["a.db", "store", "--only", "v"], 2, &["\"v\" is left out: view"]);
}

#[test]
fn rows_without_a_key_have_their_rowid_whatever_a_column_is_called() {
    let place = Place::new();
    drop(database(&place, "create table t(rowid text, OID text); insert into t values ('a', 'b'), ('c', 'd')"));
    let told = place.import(&["a.db", "store"]);
    assert!(told.contains("the key is its _rowid_"), "{told}");
    let (types, found) = records(&place.store(), "t");
    assert_eq!(types.columns().iter().map(|column| &*column.name).collect::<Vec<_>>(), ["_rowid_", "rowid", "OID"]);
    assert_eq!(found[1], (Value::from(2_i64), Value::Tuple(vec!["c".into(), "d".into()])));
}

#[test]
fn declared_types_and_values_are_told_apart() {
    let place = Place::new();
    drop(database(
        &place,
        "create table t(a integer primary key, b int, c date, d text, e decimal);
         insert into t values (1, 'x', '2024-01-01', x'00', 3), (2, 'y', '2024-01-02', x'01', 3.5);",
    ));
    let told = place.import(&["a.db", "store"]);
    assert!(told.contains("\"b\" is declared INT, and has values of text"), "{told}");
    assert!(told.contains("\"d\" is declared TEXT, and has values of bytes"), "{told}");
    let expected = "i64 -> {b: text?, c: text?, d: bytes?, e: f64?}";
    assert_eq!(records(&place.store(), "t").0.to_string(), expected);
}
