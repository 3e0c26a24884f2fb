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
            [Works, Refuses(2, "`ogive explain i KEY`"), Refuses(2, "`ogive stats s`")],
            Works,
        ),
        ("scan", &["--from", "3", "--limit", "1"], rows("3\tv3"), Prints("3,v3")),
        ("scan", &["--reverse", "--limit", "1"], rows("9\tv9"), Prints("9,v9")),
        ("scan", &["--keys-only", "--limit", "1"], rows("1"), Refuses(2, "--columns 'id'")),
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
        ("explain", &[], [Works, Refuses(2, "give a key"), Refuses(1, "`ogive stats s`")], Works),
        (
            "explain",
            &["7"],
            [Refuses(2, "`ogive get t 7 --explain`"), Works, Refuses(1, "`ogive stats s`")],
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
    let (folder, _) = filled();
    for place in ["t", "i", "s"] {
        let rank = folder.run(&["rank", place, "4", "--json"]).exits_with(0).json();
        assert_eq!(rank, json!({ "key": 4, "rank": 3 }), "{place}");
        let last = folder.run(&["nth", place, "-1", "--json"]).exits_with(0).json();
        assert_eq!(last, json!({ "index": 8, "found": true, "record": last["record"] }), "{place}");
        let none = folder.run(&["nth", place, "-10", "--json"]).exits_with(1).json();
        assert_eq!(none, json!({ "index": -10, "found": false }), "{place}");
        let exported = folder.run(&["export", place, "-", "--json", "--to", "2"]).exits_with(0).json();
        assert_eq!(exported["name"], json!("v1"), "{exported}");
    }
}

#[test]
fn a_get_in_an_empty_default_keyspace_names_the_others() {
    let folder = Folder::new();
    folder.run(&["db", "put", "s", "apple", "red", "--keyspace", "fruit"]).exits_with(0);
    folder.run(&["db", "put", "s", "oak", "green", "--keyspace", "trees"]).exits_with(0);
    let told = folder.run(&["get", "s", "apple"]).exits_with(1).complains_of("apple: not found");
    told.complains_of("the keyspace default is empty; use --keyspace: fruit, trees");
    folder.run(&["get", "s", "apple", "pear"]).exits_with(1).complains_of("use --keyspace: fruit, trees");
    folder.run(&["get", "s", "pear", "--keyspace", "fruit"]).exits_with(1).keeps_quiet_about("--keyspace");
    folder.run(&["db", "put", "s", "a", "b"]).exits_with(0);
    folder.run(&["get", "s", "apple"]).exits_with(1).keeps_quiet_about("--keyspace");
}
