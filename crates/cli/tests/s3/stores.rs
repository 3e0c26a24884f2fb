//! Goal: a store is used by its URL as in a folder, by one writer at a time and any number of readers. Method: the same
//! commands on both, with the same answers; writers and readers of the library beside them.

use super::server::{BUCKET, Place};

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
        &["db", "get", "STORE", "apple"],
        &["db", "delete", "STORE", "pear"],
        &["db", "scan", "STORE"],
        &["db", "count", "STORE"],
        &["db", "import", "STORE", "rows.jsonl", "--key", "id", "--keyspace", "rows"],
        &["db", "get", "STORE", "17", "299", "--keyspace", "rows", "--json"],
        &["db", "scan", "STORE", "--keyspace", "rows", "--from", "100", "--to", "120"],
        &["db", "compact", "STORE"],
        &["db", "scan", "STORE", "--keyspace", "rows", "--reverse", "--limit", "5"],
        &["db", "keyspaces", "STORE"],
        &["db", "verify", "STORE"],
        &["db", "export", "STORE", "rows.csv", "--keyspace", "rows", "--force"],
        &["db", "drop-keyspace", "STORE", "rows"],
        &["db", "scan", "STORE", "--json"],
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
    assert!(place.run(&["db", "get", &remote, "pear"]).code == Some(1));
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
        assert_eq!(place.prints(&["db", "get", store, "apple"]).trim(), "red");
        assert_eq!(place.run(&["db", "get", store, "fig"]).code, Some(i32::from(!has_fig)), "{store}");
        place.prints(&["db", "verify", store]);
    }
    let absent = place.run(&["db", "get", &url("stores/none"), "apple"]);
    absent.complains_of(&["s3://bucket/stores/none"]);
    assert!(place.server.names("stores/none").is_empty());
}
