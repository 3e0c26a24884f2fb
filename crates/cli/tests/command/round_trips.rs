//! Tables come out of an export as they went in, in each format and by each command. Method: whole runs on eight
//! columns of eight types with nulls, empty texts, quotes and new lines, compared to the byte.

use super::run::Folder;
use serde_json::json;
use std::io::Write;
use std::process::Stdio;

/// Rows in the order of their keys, in canonical form: a null is nothing, empty text is `""`.
const ROWS: [&str; 5] = [
    "-7,\"\",-0.25,1990-05-01,2024-02-29T12:00:00.5,01890a5d-ac96-774b-bcce-b302099a8057,true,18446744073709551615\n",
    "0,,1250.75,,1969-12-31T23:59:59.999,,false,0\n",
    "2,\"say \"\"so\"\", Bo\",2,0001-01-01,,01890a5d-ac96-774b-bcce-b302099a8058,true,\n",
    "3,\"two\nlines\",,9999-12-31,2024-02-29T12:00:01,,,7\n",
    "40,\"tab\t, comma\",NaN,2000-01-01,2024-02-29T12:00:02,,false,8\n",
];
const HEADER: &str = "delta,name,price,born,seen,uid,ok,count\n";
const TYPES: &str = "{name: text?, price: f64?, born: date?, seen: timestamp(ms)?, uid: uuid?, ok: bool?, count: u64?}";

fn sorted() -> String {
    HEADER.to_owned() + &ROWS.concat()
}

/// A folder with the rows in another order, in `rows.csv`.
fn shuffled() -> Folder {
    let folder = Folder::new();
    let rows = [3, 0, 4, 2, 1].map(|row| ROWS[row]);
    folder.write("rows.csv", HEADER.to_owned() + &rows.concat());
    folder
}

fn types(folder: &Folder, table: &str) -> [String; 2] {
    let told = folder.run(&["explain", table, "--json"]).exits_with(0).json();
    [&told["key_type"], &told["value_type"]].map(|name| name.as_str().unwrap().to_owned())
}

#[test]
fn rows_go_in_by_every_command_and_come_out_to_the_byte() {
    let folder = shuffled();
    folder.build("rows.csv", "t.ogive", &[]);
    assert_eq!(types(&folder, "t.ogive"), ["i64", TYPES]);
    folder.run(&["export", "t.ogive", "-"]).exits_with(0).prints(&sorted());
    let imported = folder.run(&["db", "import", "s", "rows.csv"]).exits_with(0);
    assert!(imported.stdout.contains(&format!("types: i64 -> {TYPES}\n")), "{}", imported.stdout);
    folder.run(&["db", "export", "s", "-"]).exits_with(0).prints(&sorted());
    folder.write("keys.csv", "delta\n0\n-7\n40\n3\n2\n");
    for (left, out) in [("rows.csv", "j.csv"), ("t.ogive", "k.csv"), ("s", "l.csv")] {
        let joined = folder.run(&["join", left, "keys.csv", "-o", out]).exits_with(0);
        assert!(joined.stdout.contains(&format!("types: i64 -> {TYPES}\n")), "{}", joined.stdout);
        assert_eq!(std::fs::read_to_string(folder.path(out)).unwrap(), sorted(), "{left}");
    }
    let told = folder.run(&["join", "rows.csv", "keys.csv", "-o", "j.ogive", "--json"]).exits_with(0).json();
    assert_eq!([&told["key_type"], &told["value_type"]], [&json!("i64"), &json!(TYPES)]);
    folder.run(&["export", "j.ogive", "-"]).exits_with(0).prints(&sorted());
}

#[test]
fn an_export_builds_an_equal_table_in_every_format() {
    let folder = shuffled();
    folder.build("rows.csv", "t.ogive", &[]);
    let mut names = vec!["out.csv", "out.tsv", "out.jsonl", "out.ndjson"];
    if cfg!(feature = "parquet") {
        names.push("out.parquet");
    }
    for name in names {
        folder.run(&["export", "t.ogive", name]).exits_with(0);
        folder.build(name, "again.ogive", &[]);
        assert_eq!(types(&folder, "again.ogive"), ["i64", TYPES], "{name}");
        folder.run(&["export", "again.ogive", "-"]).exits_with(0).prints(&sorted());
        folder.run(&["db", "import", "s", name, "--keyspace", name]).exits_with(0);
        folder.run(&["db", "export", "s", "-", "--keyspace", name]).exits_with(0).prints(&sorted());
    }
    let lines = std::fs::read(folder.path("out.jsonl")).unwrap();
    let arguments = ["build", "-", "--format", "jsonl", "-o", "piped.ogive"];
    let mut child = folder.command(&arguments).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&lines).unwrap();
    assert!(child.wait().unwrap().success());
    folder.run(&["export", "piped.ogive", "-"]).exits_with(0).prints(&sorted());
}

#[test]
fn types_that_text_does_not_show_come_back_if_they_are_given() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,wide,price,raw,narrow\n1,7,1.50,\"\",-3\n2,,0.25,ab,4\n");
    let given = ["--type", "wide=u128?", "--type", "price=decimal(8,2)", "--type", "raw=bytes", "--type", "narrow=i8"];
    folder.build("rows.csv", "t.ogive", &given);
    for name in ["out.csv", "out.jsonl"] {
        folder.run(&["export", "t.ogive", name]).exits_with(0);
        folder.build(name, "again.ogive", &given);
        assert_eq!(types(&folder, "again.ogive"), types(&folder, "t.ogive"));
        let rows = folder.run(&["export", "t.ogive", "-"]).exits_with(0).stdout;
        folder.run(&["export", "again.ogive", "-"]).exits_with(0).prints(&rows);
    }
    folder.write("raw", b"\xff\x00\nplain\n");
    folder.build("raw", "raw.ogive", &[]);
    folder.run(&["export", "raw.ogive", "raw.jsonl"]).exits_with(0);
    folder.build("raw.jsonl", "again.ogive", &["--key", "key", "--keys-only"]);
    folder.run(&["scan", "again.ogive"]).exits_with(0).prints("plain\t\n\\xff\\x00\t\n");
}

#[test]
fn a_quoted_empty_field_is_empty_text_and_one_of_nothing_a_null() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,a,b,c,d\n1,\"\",,\"\",\n2,x,y,\"\",\"\"\n");
    folder.build("rows.csv", "t", &[]);
    assert_eq!(types(&folder, "t")[1], "{a: text, b: text?, c: text, d: text?}");
    let rows = folder.run(&["scan", "t", "--json"]).exits_with(0).json_lines();
    assert_eq!(rows[0], json!({ "id": 1, "a": "", "b": null, "c": "", "d": null }));
    assert_eq!(rows[1], json!({ "id": 2, "a": "x", "b": "y", "c": "", "d": "" }));
    folder.build("rows.csv", "t", &["--type", "a=text?", "--type", "b=text", "--type", "c=u8?", "--type", "d=text?"]);
    let first = folder.run(&["get", "t", "1", "--json"]).exits_with(0).json();
    assert_eq!(first["record"], json!({ "id": 1, "a": "", "b": "", "c": null, "d": null }));
}
