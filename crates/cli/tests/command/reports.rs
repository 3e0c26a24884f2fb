//! Pages of indexes, stores, profiles, designs and joins: each number is that of the command's own answer, and a store
//! that a program has open is reported on, too.

use super::run::{Folder, sosd};
use ogive::lsm::{Db, DbOptions};
use std::fs;

fn page(folder: &Folder, name: &str) -> String {
    let html = fs::read_to_string(folder.path(name)).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.contains("Content-Security-Policy") && html.len() < 300_000);
    html
}

/// A number as pages write it.
fn grouped(number: u64) -> String {
    ogive_report::format::grouped(number)
}

fn keys(folder: &Folder, name: &str, count: u64) {
    let keys: Vec<u64> = (0..count).map(|key| key * key / 7 + key).collect();
    folder.write(name, sosd(&keys));
}

#[test]
fn the_page_of_an_index_has_its_statistics_and_the_path_of_a_key() {
    let folder = Folder::new();
    keys(&folder, "k.u64", 50_000);
    folder.run(&["index", "create", "ids.ogx", "--value-bytes", "8"]).exits_with(0);
    folder.run(&["index", "load", "ids.ogx", "k.u64", "--payload", "8"]).exits_with(0);
    folder.run(&["report", "ids.ogx", "-o", "index.html", "--key", "8"]).exits_with(0);
    let html = page(&folder, "index.html");
    let stats = folder.run(&["stats", "ids.ogx", "--json"]).exits_with(0).json();
    for number in ["entries", "inner_pages"] {
        assert!(html.contains(&grouped(stats[number].as_u64().unwrap())), "{number}");
    }
    let path = folder.run(&["explain", "ids.ogx", "8", "--json"]);
    let visits = path.json()["path"].as_array().unwrap().clone();
    assert!(!visits.is_empty());
    for visit in visits {
        assert!(html.contains(&format!("page {}", visit["page"])), "{visit}");
    }
}

#[test]
fn the_page_of_a_store_that_is_open_has_its_levels_and_escapes_its_keys() {
    let folder = Folder::new();
    let db = Db::open(folder.path("fruit"), &DbOptions::default()).unwrap();
    for key in ["apple", "</script><script>alert(1)</script>", "pear"] {
        db.insert(key, "x").unwrap();
    }
    db.flush().unwrap();
    let run = folder.run(&["report", "fruit", "-o", "store.html"]).exits_with(0);
    assert!(run.stdout.contains("store.html"));
    let html = page(&folder, "store.html");
    let table = db.tables()[0];
    for expected in [format!("table {}", table.number), grouped(table.bytes), "apple".to_owned()] {
        assert!(html.contains(&expected), "{expected}");
    }
    assert!(!html.contains("<script>alert"));
    let data = folder.run(&["report", "fruit", "--json"]).exits_with(0).json();
    assert_eq!(data["tables"][0]["records"], 3);
}

#[test]
fn pages_of_profiles_designs_and_joins_are_written_beside_their_answers() {
    let folder = Folder::new();
    keys(&folder, "k.u64", 30_000);
    folder.build("k.u64", "k.ogive", &[]);
    let designs = folder.run(&["tune", "k.u64", "--for", "ssd", "--html", "tune.html", "--json"]).exits_with(0).json();
    let html = page(&folder, "tune.html");
    for design in designs["designs"].as_array().unwrap() {
        let index = grouped(design["index_bytes"].as_u64().unwrap());
        let time = ogive_report::format::time_us(design["modelled_us"].as_f64().unwrap());
        assert!(html.contains(&index) && html.contains(&time), "{design}");
    }
    let join = ["join", "k.ogive", "k.u64", "-o", "both.csv", "--explain", "--html", "join.html"];
    folder.run(&join).exits_with(0);
    let html = page(&folder, "join.html");
    assert!(html.contains("30,000 rows") && html.contains("Predicted cost of each method"));
    let profile = ["profile", ".", "--seconds", "0.1", "--file-size", "4MiB", "--html", "disk.html"];
    folder.run(&profile).exits_with(0);
    assert!(page(&folder, "disk.html").contains("T(n), the time to read n bytes"));
    // An existing file of another kind is kept.
    folder.run(&["tune", "k.u64", "--html", "k.u64"]).exits_with(1);
}

#[test]
fn the_page_of_a_store_without_tables_says_where_its_entries_are() {
    let folder = Folder::new();
    folder.run(&["db", "put", "fruit", "apple", "red"]).exits_with(0);
    folder.run(&["report", "fruit", "-o", "logs.html"]).exits_with(0);
    let html = page(&folder, "logs.html");
    assert!(html.contains("1 row; 1 entry is not in a table yet") && html.contains("`ogive db compact fruit`"));
    let data = folder.run(&["report", "fruit", "--json"]).exits_with(0).json();
    assert!(data["log_bytes"].as_u64().unwrap() > 0);
    folder.run(&["db", "compact", "fruit"]).exits_with(0);
    let data = folder.run(&["report", "fruit", "--json"]).exits_with(0).json();
    assert_eq!(data["tables"][0]["filter_bytes"], 4096, "a filter of one page");
}
