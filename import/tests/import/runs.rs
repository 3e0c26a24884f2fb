//! Runs that meet what is there already, and runs that end early.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support::{Place, is_empty, records};
use ogive::types::Value;
use ogive::{Db, DbOptions};
use rusqlite::Connection;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The mark of an import that is under way.
const MARKS: &str = "ogive-import.unfinished";

fn fill(place: &Place, statements: &str) {
    Connection::open(place.path("a.db")).unwrap().execute_batch(statements).unwrap();
}

fn keys(place: &Place, keyspace: &str) -> Vec<i128> {
    let key = |(key, _)| if let Value::Signed(key) = key { Some(key) } else { None };
    records(&place.store(), keyspace).1.into_iter().map(|record| key(record).unwrap()).collect()
}

#[test]
fn a_keyspace_with_records_is_kept_unless_it_is_said_what_becomes_of_it() {
    let place = Place::new();
    fill(
        &place,
        "create table t(a integer primary key, b text); create index i on t(b);
         insert into t values (1, 'x'), (2, 'y')",
    );
    place.import(&["a.db", "store"]);
    fill(&place, "delete from t where a = 1; insert into t values (3, 'z'); update t set b = 'new' where a = 2");
    place.refused(&["a.db", "store"], 1, &["\"t\" has records", "--replace", "--add"]);
    assert_eq!(keys(&place, "t"), [1, 2]);
    place.import(&["a.db", "store", "--add"]);
    assert_eq!(keys(&place, "t"), [1, 2, 3]);
    assert_eq!(records(&place.store(), "t").1[1].1, Value::Tuple(vec!["new".into()]));
    place.import(&["a.db", "store", "--replace"]);
    assert_eq!(keys(&place, "t"), [2, 3]);
    fill(&place, "alter table t add column c int");
    place.refused(&["a.db", "store", "--add"], 1, &["\"t\"", "{b: text?, c: i64?}", "--rename"]);
    assert_eq!(keys(&place, "t"), [2, 3]);
    let db = Db::open(place.path("store"), &DbOptions::default()).unwrap();
    assert_eq!((db.indexes().len(), db.index("i").unwrap().get(&["z".into()]).unwrap().count()), (1, 1));
    place.refused(&["a.db", "store", "--add"], 1, &["--wait"]);
}

#[test]
fn the_default_keyspace_can_be_replaced_too() {
    let place = Place::new();
    fill(&place, "create table \"default\"(a integer primary key, b text); insert into \"default\" values (1, 'x')");
    place.import(&["a.db", "store"]);
    fill(
        &place,
        "drop table \"default\"; create table \"default\"(a text primary key); insert into \"default\" values ('k')",
    );
    place.import(&["a.db", "store", "--replace"]);
    assert_eq!(records(&place.store(), "default").1, [(Value::from("k"), Value::Null)]);
}

#[test]
fn names_choose_and_rename() {
    let place = Place::new();
    fill(&place, "create table apples(a); create table figs(a); create table pears(a)");
    place.import(&["a.db", "store", "--only", "apples", "--only", "figs", "--rename", "figs=fruit"]);
    assert_eq!(place.keyspaces(), ["apples", "fruit"]);
    place.refused(&["a.db", "store", "--only", "appels"], 2, &["no \"appels\"", "did you mean \"apples\"?"]);
    place.refused(&["a.db", "store", "--rename", "x=y"], 2, &["no \"x\"", "apples, figs, pears"]);
    place.refused(&["a.db", "store", "--rename", "apples=figs"], 2, &["two keyspaces would be called \"figs\""]);
    place.refused(&["a.db", "store", "--rename", "apples=ogive"], 2, &["cannot be called \"ogive\""]);
    place.refused(&["a.db", "a.db"], 2, &["a.db is a file"]);
    let run = place.run(&["a.db", "store", "--replace", "--add"]);
    assert_eq!(run.code, Some(2));
}

#[test]
fn the_summary_is_one_object() {
    let place = Place::new();
    fill(&place, "create table t(a integer primary key); insert into t values (1), (2); create view v as select 1");
    let told = place.import(&["a.db", "store", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["keyspaces"][0]["records"], 2);
    assert_eq!(told["keyspaces"][0]["types"], "i64 -> {}");
    assert_eq!(told["keyspaces"][0]["checksum"].as_str().unwrap().len(), 16);
    assert_eq!(told["left_out"][0]["name"], "v");
    let run = place.run(&["a.db", "store", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert!(told["error"].as_str().unwrap().contains("has records") && told["hint"].is_string());
}

/// Rows whose import takes a while.
fn many_rows(place: &Place) {
    fill(
        place,
        "create table few(a integer primary key); insert into few values (1);
         create table many(a integer primary key, b text);
         with n(x) as (select 1 union all select x + 1 from n where x < 200000)
         insert into many select x, 'some text of the row ' || x from n;",
    );
}

#[test]
fn after_a_kill_the_next_run_says_what_is_there_and_replaces_it() {
    let place = Place::new();
    many_rows(&place);
    let mut unfinished = 0;
    for delay_ms in [50, 100, 200, 400, 600, 800, 1200] {
        _ = std::fs::remove_dir_all(place.path("store"));
        let mut child = place.command(&["a.db", "store"]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay_ms));
        _ = child.kill();
        child.wait().unwrap();
        if is_empty(&place.path("store")) {
            continue;
        }
        let is_marked = Db::open_read_only(place.path("store"), &DbOptions::default())
            .is_ok_and(|db| db.keyspaces().iter().any(|name| name == MARKS));
        if !is_marked {
            continue;
        }
        unfinished += 1;
        place.refused(&["a.db", "store"], 1, &["of an import from a.db that did not end", "--replace"]);
        place.refused(&["a.db", "store", "--add"], 1, &["of an import from a.db that did not end"]);
        place.import(&["a.db", "store", "--replace"]);
        assert_eq!(place.keyspaces(), ["few", "many"]);
        assert_eq!(keys(&place, "many").len(), 200_000);
    }
    assert!(unfinished > 0, "no kill came in time");
}

#[test]
fn an_interrupt_leaves_nothing_half() {
    let place = Place::new();
    many_rows(&place);
    let mut interrupted = 0;
    for delay_ms in [100, 200, 400, 800] {
        _ = std::fs::remove_dir_all(place.path("store"));
        let child = place.command(&["a.db", "store"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay_ms));
        _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        let output = child.wait_with_output().unwrap();
        if output.status.code() == Some(130) {
            interrupted += 1;
            let left = if place.path("store").exists() { place.keyspaces() } else { Vec::new() };
            assert!(left.is_empty(), "{left:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    assert!(interrupted > 0, "no interrupt came in time");
}
