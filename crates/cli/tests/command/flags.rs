//! Flags of verbs that take a place of any kind. Goal: none is ignored, and what a place is called is true. Method:
//! whole runs with each flag on what it is not for, and on what is no place.

use super::run::Folder;
use serde_json::json;

/// A store with rows in the keyspace `ids` alone, and an index.
fn filled() -> Folder {
    let folder = Folder::new();
    folder.write("rows.csv", "id,name\n1,one\n2,two\n");
    folder.run(&["db", "import", "s", "rows.csv", "--key", "id", "--keyspace", "ids"]).exits_with(0);
    folder.run(&["index", "create", "i.ogx"]).exits_with(0);
    folder
}

/// The verbs that take a place of any kind, each with what it needs.
const VERBS: [&[&str]; 9] = [
    &["get", "P", "5"],
    &["scan", "P"],
    &["count", "P"],
    &["rank", "P", "5"],
    &["nth", "P", "0"],
    &["export", "P", "-"],
    &["stats", "P"],
    &["explain", "P"],
    &["verify", "P"],
];

/// The flags of a place, with values.
const FLAGS: [&[&str]; 5] =
    [&["--keyspace", "ids"], &["--key-type", "u64"], &["--open-files", "64"], &["--resident", "5"], &["--direct"]];

#[test]
fn a_missing_or_foreign_file_is_told_before_any_flag_is_judged() {
    let folder = filled();
    std::fs::create_dir(folder.path("empty")).unwrap();
    for verb in VERBS {
        for flags in FLAGS {
            for (place, told) in
                [("nofile.db", "No such file"), ("rows.csv", "is comma-separated values"), ("empty", "empty")]
            {
                let line: Vec<&str> = verb.iter().map(|word| if *word == "P" { place } else { word }).collect();
                let run = folder.run(&[&line[..], flags].concat()).exits_with(1);
                run.complains_of(told).keeps_quiet_about(" is for ").keeps_quiet_about(" is a table");
            }
        }
    }
    folder.run(&["get", "nofile", "5", "--values", "hex"]).exits_with(1).complains_of("No such file");
    folder.run(&["explain", "nofile", "5", "--keyspace", "k"]).exits_with(1).complains_of("No such file");
    folder.run(&["repair", "nofile", "--in-place"]).exits_with(1).complains_of("No such file");
    folder.run(&["build", "nofile", "--keyspace", "k", "-o", "t"]).exits_with(1).complains_of("No such file");
    folder.run(&["repair", "empty", "--in-place"]).exits_with(1).keeps_quiet_about("a store is always");
}

#[test]
fn a_keyspace_is_one_of_the_store_or_refused_where_the_whole_store_is_meant() {
    let folder = filled();
    for verb in [&["stats", "s"][..], &["info", "s"], &["explain", "s"], &["get", "s", "1"]] {
        folder.run(&[verb, &["--keyspace", "nosuch"]].concat()).exits_with(1).complains_of("\"nosuch\" was not found");
        let one = folder.run(&[verb, &["--keyspace", "ids"]].concat()).exits_with(0);
        assert!(!one.stdout.contains("default"), "{verb:?}: {}", one.stdout);
    }
    let names = |verb| {
        let told = folder.run(&[verb, "s", "--keyspace", "ids", "--json"]).exits_with(0).json();
        told["keyspaces"].as_array().unwrap().iter().map(|found| found["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!([names("stats"), names("info"), names("explain")], [[json!("ids")], [json!("ids")], [json!("ids")]]);
    for verb in [&["verify", "s"][..], &["repair", "s"], &["report", "s", "-o", "r.html"]] {
        let run = folder.run(&[verb, &["--keyspace", "ids"]].concat()).exits_with(2);
        run.complains_of("the whole store").keeps_quiet_about("similar");
    }
    folder.run(&["info", "i.ogx", "--keyspace", "ids"]).exits_with(2).complains_of("--keyspace is for a store");
    for (line, told) in [
        (&["verify", "s", "--key-type", "u64"][..], "--key-type is not for `ogive verify`"),
        (&["stats", "s", "--key-type", "u64"], "--key-type is for commands on keys"),
        (&["explain", "s", "--key-type", "u64"], "--key-type is for commands on keys"),
        (&["verify", "i.ogx", "--resident", "5"], "--resident is for lookups"),
        (&["stats", "i.ogx", "--resident", "5"], "--resident is for lookups"),
        (&["report", "s", "--samples", "5", "-o", "r.html"], "--samples is for the curve"),
        (&["report", "i.ogx", "--samples", "5", "-o", "r.html"], "--samples is for the curve"),
        (&["build", "rows.csv", "--keyspace", "ids", "-o", "t"], "--keyspace is for a store"),
        (&["join", "rows.csv", "s", "-o", "-", "--left-keyspace", "ids"], "rows.csv is not a store"),
    ] {
        folder.run(line).exits_with(2).complains_of(told);
    }
    assert_eq!(folder.names(), ["i.ogx", "i.ogx.lock", "rows.csv", "s"]);
}

#[cfg(feature = "parquet")]
#[test]
fn an_index_of_parquet_files_is_called_that() {
    let folder = filled();
    folder.build("rows.csv", "rows.ogive", &["--key", "id"]);
    folder.run(&["export", "rows.ogive", "rows.parquet"]).exits_with(0);
    folder.run(&["build", "rows.parquet", "--external", "--key", "id", "-o", "p.idx"]).exits_with(0);
    let told = "but p.idx is an index of Parquet files";
    for verb in VERBS {
        let line: Vec<&str> = verb.iter().map(|word| if *word == "P" { "p.idx" } else { word }).collect();
        for flags in &FLAGS[..4] {
            folder.run(&[&line[..], flags].concat()).exits_with(2).complains_of(told);
        }
    }
    folder.run(&["get", "p.idx", "1", "--values", "hex"]).exits_with(2).complains_of(told);
    folder.run(&["explain", "p.idx", "1", "--keyspace", "ids"]).exits_with(2).complains_of(told);
    for (place, kind) in [("rows.ogive", "a table"), ("s", "a store"), ("i.ogx", "an index")] {
        for flags in [&["--columns", "id"][..], &["--csv"], &["--arrow"]] {
            let told = format!("{} is for indexes of Parquet files, but {place} is {kind}", flags[0]);
            folder.run(&[&["scan", place], flags].concat()).exits_with(2).complains_of(&told);
        }
        folder.run(&["verify", place, "--accept"]).exits_with(2).complains_of(&format!("{place} is {kind}"));
    }
}
