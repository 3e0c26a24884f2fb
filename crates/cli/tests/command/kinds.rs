//! Round trips through every command on indexes, for every kind of the program. Method: whole runs; a process that is
//! killed repeatedly must lose nothing that it has reported. `ogive-research` runs the same tests with its kinds.

use super::run::{Folder, Run, sosd, uneven_keys};
use crate::KINDS;
use serde_json::json;
use std::process::Stdio;

/// Runs a sub-command of `ogive index`.
fn index(folder: &Folder, arguments: &[&str]) -> Run {
    folder.run(&[&["index"], arguments].concat())
}

#[test]
fn every_kind_of_index_is_made_filled_asked_and_checked() {
    for kind in KINDS {
        let folder = Folder::new();
        let keys = uneven_keys(3000);
        folder.write("keys.u64", sosd(&keys));
        let create = ["create", "i.ogx", "--kind", kind, "--value-bytes", "8", "--page-size", "512", "--json"];
        let made = index(&folder, &create).exits_with(0).json();
        assert_eq!((&made["kind"], &made["page_bytes"]), (&json!(kind), &json!(512)));
        let loaded = index(&folder, &["load", "i.ogx", "keys.u64", "--payload", "8", "--json"]).exits_with(0).json();
        assert_eq!(
            [&loaded["records"], &loaded["bulk"], &loaded["entries"]],
            [&json!(3000), &json!(true), &json!(3000)]
        );
        assert_eq!([&loaded["key_type"], &loaded["payload_bytes"]], [&json!("u64"), &json!(8)], "{kind}");
        let (first, last) = (keys[0].to_string(), keys[2999].to_string());
        let found = folder.run(&["get", "i.ogx", &first, "--values", "hex"]).exits_with(0);
        assert_eq!(found.stdout.trim_end().len(), 16, "{kind}: {}", found.stdout);
        index(&folder, &["put", "i.ogx", "17", "hello"]).exits_with(0).prints("17: inserted\n");
        index(&folder, &["put", "i.ogx", "17", "again"]).exits_with(0).prints("17: overwritten\n");
        folder.run(&["get", "i.ogx", "17"]).exits_with(0).prints("again\n");
        index(&folder, &["delete", "i.ogx", &last]).exits_with(0).prints(&format!("{last}: 1 entry removed\n"));
        index(&folder, &["delete", "i.ogx", &last]).exits_with(1).complains_of("not found");
        let explained = folder.run(&["explain", "i.ogx", &first, "--json"]).exits_with(0).json();
        assert_eq!(explained["found"], true, "{kind}");
        let path = explained["path"].as_array().unwrap();
        assert!(!path.is_empty() && path.iter().all(|visit| visit["page"].is_u64() && visit["node"].is_string()));
        assert!(explained["blocks"].as_u64().unwrap() as usize <= path.len(), "{kind}: {explained}");
        let stats = folder.run(&["stats", "i.ogx", "--json"]).exits_with(0).json();
        assert_eq!(stats["entries"], 3000, "{kind}: {stats}");
        for name in ["leaves", "leaf_pages", "inner_pages", "height"] {
            assert!(stats[name].is_u64(), "{kind}: {name}: {stats}");
        }
        let verdict = folder.run(&["verify", "i.ogx", "--json"]).exits_with(0).json();
        assert_eq!((&verdict["sound"], &verdict["entries"]), (&json!(true), &json!(3000)), "{kind}");
        let scanned = folder.run(&["scan", "i.ogx"]).exits_with(0);
        assert_eq!(scanned.stdout.lines().count(), 3000, "{kind}");
        for text in [&["stats", "i.ogx"][..], &["explain", "i.ogx", &first], &["verify", "i.ogx"]] {
            assert!(!folder.run(text).exits_with(0).stdout.is_empty(), "{kind}");
        }
    }
}

/// The size of the index and its log.
fn bytes(folder: &Folder) -> u64 {
    let files = folder.names().into_iter().filter(|name| name.starts_with("i.ogx"));
    // A file may be removed after it was listed.
    files.filter_map(|name| std::fs::metadata(folder.path(&name)).ok()).map(|file| file.len()).sum()
}

#[test]
fn records_in_any_order_are_sorted_within_the_memory_given() {
    let folder = Folder::new();
    let file = |name: &str, keys: &mut dyn Iterator<Item = u64>| {
        folder.write(name, keys.map(|key| format!("{}\n", key * 7919 % 30_011)).collect::<String>());
    };
    file("first.txt", &mut (0..4_000));
    file("second.txt", &mut (2_000..12_000));
    for kind in KINDS {
        let name = format!("{kind}.ogx");
        index(&folder, &["create", &name, "--kind", kind, "--value-bytes", "8", "--page-size", "512"]).exits_with(0);
        let before = folder.names();
        for (input, more, entries) in [
            ("first.txt", &["--batch", "1500"][..], 4_000),
            ("second.txt", &[], 12_000),
            ("first.txt", &["--random"], 12_000),
        ] {
            let load = ["load", &name, input, "--payload", "8", "--sort-memory", "64KiB", "--json"];
            let loaded = index(&folder, &[&load[..], more].concat()).exits_with(0).json();
            assert_eq!(loaded["entries"], json!(entries), "{kind}, {input}");
        }
        folder.run(&["verify", &name]).exits_with(0);
        let names = folder.names();
        assert!(!names.iter().any(|name| name.contains("sort")), "{before:?}, {names:?}");
        let keys = folder.run(&["scan", &name, "--values", "hex", "--limit", "3"]).exits_with(0);
        assert!(keys.stdout.starts_with("0\t"), "{}", keys.stdout);
    }
    index(&folder, &["load", "ogive.ogx", "first.txt", "--sort-memory", "1KiB"]).exits_with(2).complains_of("64 KiB");
}

/// A process that inserts in small batches is killed at some moment; what it had committed is there, and nothing else.
#[test]
fn a_load_that_is_killed_again_and_again_loses_nothing_and_leaves_a_sound_index() {
    for kind in KINDS {
        let folder = Folder::new();
        let create = ["create", "i.ogx", "--kind", kind, "--value-bytes", "8", "--page-size", "512"];
        index(&folder, &create).exits_with(0);
        let mut entries = 0;
        for round in 0..3_u64 {
            let keys: Vec<u64> = (0..60_000).map(|i| (i * 7919 + round * 31) % 1_000_003 * 3 + round).collect();
            let text: String = keys.iter().map(|key| format!("{key}\n")).collect();
            folder.write("keys.txt", text);
            let load = ["index", "load", "i.ogx", "keys.txt", "--random", "--batch", "50", "--payload", "8"];
            let before = bytes(&folder);
            let mut child = folder.command(&load).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            // Killed at any moment after its first writes.
            while bytes(&folder) == before && child.try_wait().unwrap().is_none() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            std::thread::sleep(std::time::Duration::from_millis(40 * round));
            child.kill().unwrap();
            child.wait().unwrap();
            let verdict = folder.run(&["verify", "i.ogx", "--json"]).exits_with(0).json();
            let found = verdict["entries"].as_u64().unwrap();
            assert!(found >= entries, "{kind}: {found} entries after {entries}");
            entries = found;
            let scanned = folder.run(&["scan", "i.ogx", "--values", "hex"]).exits_with(0);
            assert_eq!(scanned.stdout.lines().count() as u64, entries, "{kind}");
        }
    }
}
