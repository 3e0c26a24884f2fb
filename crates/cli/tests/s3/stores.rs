//! Goal: a store is used by its URL as in a folder, by one writer at a time and any number of readers. Method: the same
//! commands on both, with the same answers; writers and readers of the library beside them.

use super::proxy::Proxy;
use super::server::{BUCKET, Place};
use std::sync::{Arc, Mutex};

fn url(name: &str) -> String {
    format!("s3://{BUCKET}/{name}")
}

#[test]
fn a_store_is_written_read_and_checked_by_url() {
    let Some(place) = Place::new() else { return };
    let rows: String = (0..3_000).map(|i| format!("{{\"id\": {i}, \"name\": \"name {}\"}}\n", i % 100)).collect();
    place.write("rows.jsonl", rows);
    let remote = url("stores/fruit");
    for words in [
        &["db", "put", "STORE", "apple", "red"][..],
        &["db", "put", "STORE", "pear", "green"],
        &["get", "STORE", "apple"],
        &["db", "delete", "STORE", "pear"],
        &["scan", "STORE"],
        &["count", "STORE"],
        &["db", "import", "STORE", "rows.jsonl", "--key", "id", "--keyspace", "rows"],
        &["get", "STORE", "17", "299", "--keyspace", "rows", "--json"],
        &["scan", "STORE", "--keyspace", "rows", "--from", "100", "--to", "120"],
        &["db", "compact", "STORE"],
        &["get", "STORE", "2999", "0", "17", "299", "17", "1500", "--keyspace", "rows"],
        &["scan", "STORE", "--keyspace", "rows", "--reverse", "--limit", "5"],
        &["db", "keyspaces", "STORE"],
        &["verify", "STORE"],
        &["export", "STORE", "rows.csv", "--keyspace", "rows", "--force"],
        &["db", "drop-keyspace", "STORE", "rows"],
        &["scan", "STORE", "--json"],
    ] {
        let of = |store: &str| {
            let words: Vec<&str> = words.iter().map(|word| if *word == "STORE" { store } else { word }).collect();
            let run = place.run(&words);
            assert_eq!(run.code, Some(0), "{words:?}: {run:?}");
            run.stdout.replace(store, "STORE")
        };
        let (there, here) = (of(&remote), of("fruit"));
        // Sizes differ by the roots in the manifest, and times.
        if !matches!(words[1], "import" | "compact" | "verify" | "keyspaces") {
            assert_eq!(there, here, "{words:?}");
        }
    }
    assert!(place.run(&["get", &remote, "pear"]).code == Some(1));
    // A store is an input, a side of a join, and something to ask about.
    assert!(place.prints(&["info", &remote]).contains("a store: 1 keyspace"));
    place.prints(&["build", &remote, "-o", "fruit.ogive"]);
    assert_eq!(place.prints(&["get", "fruit.ogive", "apple"]).trim(), "red");
    let joined = place.prints(&["join", &remote, "fruit.ogive", "-o", "-"]);
    assert!(joined.contains("apple") && joined.contains("red"), "{joined}");
    // Copies go anywhere.
    let (copy, backups, again) = (url("stores/copy"), url("stores/backups"), url("stores/again"));
    place.prints(&["db", "checkpoint", &remote, &copy]);
    place.prints(&["db", "backup", &remote, &backups]);
    place.prints(&["db", "put", &remote, "fig", "purple"]);
    place.prints(&["db", "backup", &remote, &backups]);
    place.prints(&["db", "backups", &backups, "--verify"]);
    place.prints(&["db", "restore", &backups, &again, "--backup", "1"]);
    place.prints(&["db", "restore", &backups, "fruit-again"]);
    for (store, has_fig) in [(&copy, false), (&again, false), (&"fruit-again".to_owned(), true)] {
        assert_eq!(place.prints(&["get", store, "apple"]).trim(), "red");
        assert_eq!(place.run(&["get", store, "fig"]).code, Some(i32::from(!has_fig)), "{store}");
        place.prints(&["verify", store]);
    }
    let absent = place.run(&["get", &url("stores/none"), "apple"]);
    absent.complains_of(&["s3://bucket/stores/none"]);
    assert!(place.server.names("stores/none").is_empty());
}

#[test]
fn tables_are_ingested_by_url_and_no_file_of_a_store_is_replaced() {
    let Some(place) = Place::new() else { return };
    place.write("rows.csv", "id,name\n1,one\n2,two\n");
    let (table, store) = (url("ingested/rows.ogive"), url("ingested/store"));
    place.prints(&["build", "rows.csv", "-o", &table]);
    place.prints(&["db", "ingest", &store, &table]);
    place.prints(&["build", "rows.csv", "-o", "rows.ogive"]);
    std::os::unix::fs::symlink("rows.ogive", place.path("link.ogive")).unwrap();
    place.prints(&["db", "ingest", &store, "link.ogive", "--move"]);
    assert!(place.path("rows.ogive").exists() && !place.path("link.ogive").is_symlink(), "the link itself is moved");
    assert!(place.prints(&["get", &store, "2"]).contains("two"));
    let file = place.server.names("ingested/store/").into_iter().find(|name| name.ends_with(".table")).unwrap();
    for name in [&file[..], "ingested/store/000999.table"] {
        place.run(&["build", "rows.csv", "-o", &url(name)]).complains_of(&["in the folder of a store"]);
    }
    assert!(place.prints(&["verify", &store]).contains("sound"));
    place.run(&["db", "put", &table, "a", "b"]).complains_of(&["is a file, but a store is a folder"]);
    place.run(&["get", &table, "1", "--storage-option", "endpoint=127.0.0.1:1"]).complains_of(&["http://"]);
}

#[test]
fn a_table_below_the_url_of_a_store_is_taken_by_reference() {
    let Some(place) = Place::new() else { return };
    place.write("rows.csv", "id,name\n1,one\n2,two\n");
    let (store, table) = (url("adopted/store"), url("adopted/store/part-17.ogive"));
    place.prints(&["build", "rows.csv", "-o", &table]);
    place.prints(&["db", "ingest", &store, &table, "--move"]);
    let names = place.server.names("adopted/store/");
    assert!(names.iter().any(|name| name.ends_with("part-17.ogive")), "{names:?}");
    assert!(!names.iter().any(|name| name.ends_with(".table")), "{names:?}");
    assert!(place.prints(&["get", &store, "2"]).contains("two"));
    assert!(place.prints(&["verify", &store]).contains("1 table with 2 records"));
    place.run(&["db", "ingest", &store, &table, "--move"]).complains_of(&["is part of the store"]);
    place.run(&["build", "rows.csv", "-o", &table]).complains_of(&["in the folder of a store"]);
    let copy = url("adopted/copy");
    place.prints(&["db", "checkpoint", &store, &copy]);
    place.prints(&["db", "compact", &store]);
    for store in [store, copy] {
        assert!(place.prints(&["get", &store, "1"]).contains("one"));
    }
}

#[test]
fn what_is_no_store_or_no_url_is_told() {
    let Some(place) = Place::new() else { return };
    place.write("rows.csv", "id,name\n1,one\n");
    let store = url("told/store");
    place.prints(&["db", "put", &store, "a", "b"]);
    assert_eq!(place.prints(&["get", &store, "a"]), "b\n");
    place.run(&["get", &url("told/nothing"), "a"]).complains_of(&["NoSuchKey"]);
    place.run(&["build", "rows.csv", "-o", &store]).complains_of(&["is a store, which a file of the same name"]);
    let usage = place.run(&["db", "put", "s3:/bucket/told", "a", "b"]);
    assert!(usage.code == Some(2) && usage.stderr.contains("s3://bucket/told"), "{usage:?}");
    let http = format!("{}/{BUCKET}/told/new", place.server.endpoint());
    place.run(&["db", "put", &http, "a", "b"]).complains_of(&["http is read only"]);
    place.run(&["db", "backups", &url("told/none")]).complains_of(&["s3://bucket/told/none contains no backups"]);
}

/// What is read for one key of a store that was closed: a listing, its manifest and a block, in less than 100 kB. The
/// manifest of a store that is being written has several parts, and its logs take one round more.
#[test]
fn a_cold_get_by_url_is_three_requests() {
    let Some(place) = Place::new() else { return };
    let rows: String = (0..100_000).map(|i| format!("{i},{}-{i}\n", i * 7919 % 104_729)).collect();
    place.write("rows.csv", format!("id,name\n{rows}"));
    let store = url("counted/rows");
    place.prints(&["db", "import", &store, "rows.csv", "--key", "id"]);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let proxy = Proxy::before(&place.server, move |request, answer| {
        let first = request.lines().next().unwrap_or_default().to_owned();
        noted.lock().unwrap().push((first, answer.body.len()));
    });
    let get = |key: &str, code: i32| {
        let run = place.run_at(&proxy.endpoint(), &["get", &store, key]);
        assert_eq!(run.code, Some(code), "{run:?}");
        std::mem::take(&mut *asked.lock().unwrap())
    };
    for round in ["imported", "compacted"] {
        for (key, code, requests) in [("77777", 0, 3), ("100001", 1, 2)] {
            let asked = get(key, code);
            let bytes: usize = asked.iter().map(|(_, bytes)| bytes).sum();
            println!("{round}, {key}: {} requests, {bytes} bytes", asked.len());
            assert!(asked.len() == requests && bytes < 100_000, "{round}, {key}: {bytes} bytes, {asked:?}");
        }
        place.prints(&["db", "compact", &store]);
    }
    // A short log is read in a round of its own.
    place.prints(&["db", "put", &store, "5", "five"]);
    let asked = get("77777", 0);
    assert!(asked.len() <= 6, "{asked:?}");
}
