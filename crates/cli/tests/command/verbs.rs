//! Verbs that take a place of any kind: each on a table, an index, a store and an index of Parquet files. Goal: every
//! pair does the work or says what does it. Method: whole runs on the same records in all of them.

use super::run::Folder;
use serde_json::json;

/// The records 1 to 9, with values `v1` to `v9`, in `t`, `i` and `s`, and in `p` if Parquet is built in.
fn filled() -> (Folder, Vec<&'static str>) {
    let folder = Folder::new();
    let rows: String = (1..10).map(|number| format!("{number},v{number}\n")).collect();
    folder.write("rows.csv", format!("id,name\n{rows}"));
    folder.build("rows.csv", "t", &["--key", "id", "--key-type", "u64"]);
    folder.run(&["index", "create", "i", "--value-type", "{name: text}", "--value-bytes", "8"]).exits_with(0);
    folder.run(&["index", "load", "i", "rows.csv", "--key", "id", "--value", "name"]).exits_with(0);
    folder.run(&["db", "import", "s", "rows.csv", "--key", "id", "--key-type", "u64"]).exits_with(0);
    let mut places = vec!["t", "i", "s"];
    if cfg!(feature = "parquet") {
        folder.run(&["export", "t", "rows.parquet"]).exits_with(0);
        folder.run(&["build", "rows.parquet", "--external", "--key", "id", "-o", "p"]).exits_with(0);
        places.push("p");
    }
    (folder, places)
}

/// What a verb does with a kind of place.
enum Does {
    /// Prints this on a line of its own.
    Prints(&'static str),
    /// Prints something, and succeeds.
    Works,
    /// Fails with this exit code, and this advice.
    Refuses(i32, &'static str),
}
use Does::{Prints, Refuses, Works};

#[test]
fn each_verb_takes_each_kind_of_place_or_says_what_to_use() {
    let (folder, places) = filled();
    let rows = |text| [Prints(text), Prints(text), Prints(text)];
    // On a table, an index and a store, then on an index of Parquet files.
    let cases: Vec<(&str, &[&str], [Does; 3], Does)> = vec![
        ("get", &["7"], rows("v7"), Prints("7,v7")),
        ("get", &["10"], [(); 3].map(|()| Refuses(1, "10: not found")), Refuses(1, "10: not found")),
        ("get", &["7", "8"], rows("8\tv8"), Prints("8,v8")),
        ("get", &["7", "--raw"], rows("v7"), Refuses(2, "--columns")),
        ("get", &["7", "--all"], rows("v7"), Prints("7,v7")),
        (
            "get",
            &["7", "--explain"],
            [Works, Refuses(2, "`ogive explain i KEY`"), Refuses(2, "`ogive explain s KEY`")],
            Works,
        ),
        ("scan", &["--from", "3", "--limit", "1"], rows("3\tv3"), Prints("3,v3")),
        ("scan", &["--reverse", "--limit", "1"], rows("9\tv9"), Prints("9,v9")),
        ("scan", &["--keys-only", "--limit", "1"], rows("1"), Refuses(2, "--columns id")),
        ("count", &[], rows("9"), Prints("9")),
        ("count", &["--from", "3", "--to", "5"], rows("2"), Prints("2")),
        ("rank", &["4"], rows("3"), Prints("3")),
        ("nth", &["0"], rows("1\tv1"), Prints("1,v1")),
        ("nth", &["-2"], rows("8\tv8"), Prints("8,v8")),
        ("nth", &["9"], [(); 3].map(|()| Refuses(1, "has 9 records")), Refuses(1, "has 9 records")),
        ("export", &["-", "--from", "8"], rows("8,v8"), Prints("8,v8")),
        ("info", &[], [Works, Works, Works], Works),
        ("stats", &[], [Works, Works, Works], Works),
        ("verify", &[], [Works, Works, Works], Works),
        ("repair", &[], [Works, Works, Works], Works),
        ("report", &["-o", "page.html", "--force"], [Works, Works, Works], Works),
        ("explain", &[], [Works, Refuses(2, "give a key"), Works], Works),
        (
            "explain",
            &["7"],
            [Refuses(2, "`ogive get t 7 --explain`"), Works, Works],
            Refuses(2, "`ogive get p 7 --explain`"),
        ),
    ];
    for (verb, arguments, does, beside) in cases {
        for (place, does) in places.iter().zip(does.into_iter().chain([beside])) {
            let run = folder.run(&[&[verb, place], arguments].concat());
            match does {
                Prints(line) => {
                    let run = run.exits_with(0);
                    assert!(run.stdout.lines().any(|printed| printed == line), "{verb} {place}: {}", run.stdout);
                }
                Works => assert!(!run.exits_with(0).stdout.is_empty(), "{verb} {place}"),
                Refuses(code, advice) => _ = run.exits_with(code).complains_of(advice),
            }
        }
    }
}

#[test]
fn options_of_one_kind_are_refused_for_the_others() {
    let (folder, places) = filled();
    for (flags, kind) in [
        (&["--keyspace", "default"][..], "s"),
        (&["--key-type", "u64"], "s"),
        (&["--open-files", "64"], "s"),
        (&["--resident", "0"], "i"),
        (&["--values", "hex"], "i"),
    ] {
        for place in &places {
            let run = folder.run(&[&["get", place, "7"], flags].concat());
            match *place == kind {
                true => _ = run.exits_with(0),
                false => _ = run.exits_with(2).complains_of(&format!("{} is for ", flags[0])),
            }
        }
    }
    folder.run(&["get", "s", "7", "--direct"]).exits_with(2).complains_of("--direct is for tables and indexes");
    folder.run(&["get", "t", "7", "--memory", "8MiB"]).exits_with(0);
    folder.run(&["repair", "t", "--in-place"]).exits_with(2).complains_of("leave out --in-place");
    folder.run(&["repair", "s", "--in-place"]).exits_with(2).complains_of("leave out --in-place");
}

#[test]
fn ranks_and_positions_are_answered_alike_as_json() {
    let (folder, places) = filled();
    for place in places {
        let rank = folder.run(&["rank", place, "4", "--json"]).exits_with(0).json();
        assert_eq!(rank, json!({ "key": 4, "rank": 3 }), "{place}");
        let last = folder.run(&["nth", place, "-1", "--json"]).exits_with(0).json();
        assert_eq!(last, json!({ "index": 8, "found": true, "record": last["record"] }), "{place}");
        let none = folder.run(&["nth", place, "-10", "--json"]).exits_with(1).json();
        assert_eq!(none, json!({ "index": -10, "found": false }), "{place}");
        let record = json!({ "id": 8, "name": "v8" });
        let named = |found: &serde_json::Value| found["name"] == record["name"];
        let found = folder.run(&["get", place, "8", "--json"]).exits_with(0).json();
        assert!(named(&found["record"]), "{found}");
        assert_eq!(found, json!({ "key": 8, "found": true, "record": found["record"] }), "{place}");
        let all = folder.run(&["get", place, "8", "--all", "--json"]).exits_with(0).json();
        assert_eq!(all, json!({ "key": 8, "found": true, "records": [found["record"]] }), "{place}");
        let absent = folder.run(&["get", place, "10", "--json"]).exits_with(1).json();
        assert_eq!(absent, json!({ "key": 10, "found": false }), "{place}");
        let exported = folder.run(&["export", place, "-", "--json", "--to", "2"]).exits_with(0).json();
        assert_eq!(exported["name"], json!("v1"), "{exported}");
    }
}

#[test]
fn a_verb_on_an_empty_default_keyspace_names_those_with_records() {
    let folder = Folder::new();
    folder.run(&["db", "put", "s", "apple", "red", "--keyspace", "fruit"]).exits_with(0);
    folder.run(&["db", "put", "s", "oak", "green", "--keyspace", "trees"]).exits_with(0);
    folder.run(&["db", "put", "s", "x", "y", "--keyspace", "gone"]).exits_with(0);
    folder.run(&["db", "delete", "s", "x", "--keyspace", "gone"]).exits_with(0);
    let told = folder.run(&["get", "s", "apple"]).exits_with(1).complains_of("apple: not found");
    let hint = "the keyspace default is empty; use --keyspace: fruit, trees\n";
    told.complains_of(hint);
    folder.run(&["get", "s", "apple", "pear"]).exits_with(1).complains_of(hint);
    folder.run(&["get", "s", "pear", "--keyspace", "fruit"]).exits_with(1).keeps_quiet_about("--keyspace");
    let verbs = [
        (&["scan", "s"][..], 0),
        (&["count", "s"], 0),
        (&["count", "s", "--json"], 0),
        (&["rank", "s", "a"], 0),
        (&["nth", "s", "0"], 1),
        (&["export", "s", "all.csv"], 0),
        (&["explain", "s", "apple"], 1),
        (&["build", "s", "-o", "t.ogive"], 0),
        (&["build", "s", "-o", "t.ogive", "--exact"], 0),
    ];
    for (line, code) in verbs {
        let run = folder.run(line).exits_with(code).complains_of(hint);
        assert_eq!(run.stderr.matches("is empty").count(), 1, "{line:?}: {}", run.stderr);
    }
    let join = folder.run(&["join", "t.ogive", "s", "-o", "-"]).exits_with(0);
    join.complains_of("the keyspace default is empty; use --right-keyspace: fruit, trees");
    let info = folder.run(&["info", "s"]).exits_with(0).stdout;
    assert!(info.contains("next: `ogive scan s --keyspace fruit --limit 10`, `ogive stats s`"), "{info}");
    folder.run(&["db", "put", "s", "a", "b"]).exits_with(0);
    folder.run(&["get", "s", "apple"]).exits_with(1).keeps_quiet_about("--keyspace");
    for (line, _) in verbs {
        folder
            .run(&[line, if line[0] == "export" { &["--force"] } else { &[] }].concat())
            .keeps_quiet_about("--keyspace");
    }
    let info = folder.run(&["info", "s"]).exits_with(0).stdout;
    assert!(info.contains("next: `ogive scan s --limit 10`"), "{info}");
}

#[test]
fn what_a_lookup_in_a_store_goes_through_is_shown() {
    let folder = Folder::new();
    let rows = |ids: std::ops::Range<u32>| ids.map(|id| format!("{id},v{id}\n")).collect::<String>();
    folder.write("rows.csv", format!("id,name\n{}", rows(0..2000)));
    folder.run(&["db", "import", "s", "rows.csv", "--key", "id", "--key-type", "u64"]).exits_with(0);
    folder.run(&["db", "compact", "s"]).exits_with(0);
    folder.run(&["db", "put", "s", "5000", "late", "--keyspace", "other"]).exits_with(0);
    let whole = folder.run(&["explain", "s", "--json"]).exits_with(0).json();
    let keyspace = &whole["keyspaces"][0];
    assert_eq!((&keyspace["name"], &keyspace["tables"][0]["records"]), (&json!("default"), &json!(2000)));
    assert_eq!(whole["keyspaces"][1]["memtable_records"], json!(1));
    let text = folder.run(&["explain", "s"]).exits_with(0).stdout;
    assert!(text.contains("keyspace default: a lookup goes through") && text.contains("memtables"), "{text}");
    let found = folder.run(&["explain", "s", "7", "--json"]).exits_with(0).json();
    assert_eq!((&found["key"], &found["found"], &found["tables"]), (&json!(7), &json!(true), &keyspace["tables"]));
    folder.run(&["explain", "s", "7"]).exits_with(0);
    let beyond = folder.run(&["explain", "s", "3000", "--json"]).exits_with(1).complains_of("3000: not found").json();
    assert_eq!((&beyond["found"], &beyond["tables"]), (&json!(false), &json!([])));
    folder.run(&["explain", "s", "5000", "--keyspace", "other"]).exits_with(0);
    folder.run(&["explain", "s", "word"]).exits_with(2);
}
