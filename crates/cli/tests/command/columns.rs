//! Columns of inputs: nulls in keys of one column, zones, columns that are named twice, and what the messages about
//! values of a wrong type advise. Method: whole runs on small files.

use super::run::Folder;

#[test]
fn a_key_type_with_nulls_tells_empty_text_from_nothing_in_one_column() {
    let folder = Folder::new();
    folder.write("rows.csv", "k,v\n,x\n\"\",y\n1,z\n");
    folder.build("rows.csv", "csv.ogive", &["--key-type", "(text?)"]);
    folder.write("rows.jsonl", "{\"v\": \"x\"}\n{\"k\": \"\", \"v\": \"y\"}\n{\"k\": \"1\", \"v\": \"z\"}\n");
    folder.build("rows.jsonl", "json.ogive", &["--key", "k", "--key-type", "(text?)"]);
    for table in ["csv.ogive", "json.ogive"] {
        let keys = folder.run(&["scan", table, "--json"]).exits_with(0).json_lines();
        let keys: Vec<_> = keys.iter().map(|found| found["k"].clone()).collect();
        assert_eq!(keys, [serde_json::json!(""), serde_json::json!("1"), serde_json::Value::Null], "{table}");
    }
    folder.run(&["export", "csv.ogive", "-"]).exits_with(0).prints("k,v\n\"\",y\n1,z\n,x\n");
    // A null matches no key, not even another null.
    let join = ["join", "csv.ogive", "rows.csv", "-o", "-"];
    folder.run(&join).exits_with(0).prints("\"\"\ty\ty\n1\tz\tz\n");
    folder.build("rows.csv", "bytes.ogive", &["--key-type", "(bytes?)"]);
    folder.run(&["export", "bytes.ogive", "-"]).exits_with(0).prints("k,v\n\"\",y\n1,z\n,x\n");
    // A comma is part of the only component.
    folder.write("comma.csv", "k,v\n\"a,b\",x\n");
    folder.build("comma.csv", "comma.ogive", &["--key-type", "(text?)"]);
    folder.run(&["export", "comma.ogive", "-"]).exits_with(0).prints("k,v\n\"a,b\",x\n");
    // A store keeps the type, and later imports obey it.
    folder.run(&["db", "import", "s", "rows.csv", "--key-type", "(text?)"]).exits_with(0);
    folder.run(&["db", "import", "s", "rows.jsonl"]).exits_with(0);
    folder.run(&["db", "export", "s", "-"]).exits_with(0).prints("k,v\n\"\",y\n1,z\n,x\n");
}

#[test]
fn a_key_type_with_nulls_takes_nulls_of_numbers_from_every_format() {
    let folder = Folder::new();
    folder.write("rows.csv", "k,v\n7,x\n,y\n-7,z\n");
    folder.write("rows.jsonl", "{\"k\": 7, \"v\": \"x\"}\n{\"k\": null, \"v\": \"y\"}\n{\"k\": -7, \"v\": \"z\"}\n");
    let mut inputs = vec!["rows.csv", "rows.jsonl"];
    if cfg!(feature = "parquet") {
        folder.build("rows.csv", "pair.ogive", &["--key", "v", "--key-type", "text"]);
        folder.run(&["export", "pair.ogive", "rows.parquet"]).exits_with(0);
        inputs.push("rows.parquet");
    }
    for input in inputs {
        folder.build(input, "t.ogive", &["--key", "k", "--value", "v", "--key-type", "(i64?)"]);
        folder.run(&["export", "t.ogive", "-"]).exits_with(0).prints("k,v\n-7,z\n7,x\n,y\n");
        let refused = ["build", input, "-o", "u.ogive", "--key", "k", "--key-type", "i64"];
        folder.run(&refused).exits_with(1).complains_of("key column 'k': '");
    }
}

#[test]
fn keys_with_zones_join_those_without_as_timestamps_of_utc() {
    let folder = Folder::new();
    folder.write("plain.csv", "at,v\n2024-01-01T00:00:00,a\n2024-06-01T10:00:00,b\n");
    folder.write("zoned.csv", "at,w\n2024-01-01 00:00:00Z,x\n2024-06-01T12:00:00+02:00,y\n");
    for name in ["plain", "zoned"] {
        folder.build(&format!("{name}.csv"), &format!("{name}.ogive"), &[]);
    }
    for suffix in ["ogive", "csv"] {
        let run = folder.run(&["join", &format!("plain.{suffix}"), &format!("zoned.{suffix}"), "-o", "t.ogive"]);
        let run = run.exits_with(0).keeps_quiet_about("note");
        assert!(run.stdout.contains("types: timestamp(s) ->"), "{}", run.stdout);
        let rows = "2024-01-01T00:00:00\ta\tx\n2024-06-01T10:00:00\tb\ty\n";
        folder.run(&["scan", "t.ogive"]).exits_with(0).prints(rows);
    }
    // One column with both is text.
    folder.write("mixed.csv", "at,w\n2024-01-01 00:00:00Z,x\n2024-01-01T00:00:00,y\n");
    let run = folder.run(&["join", "plain.csv", "mixed.csv", "-o", "m.ogive"]).exits_with(0);
    assert!(run.stdout.contains("types: text ->"), "{}", run.stdout);
}
