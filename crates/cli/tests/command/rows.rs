//! Rows of typed columns: they go in by every command and come out as they were. Method: whole runs on a file of eight
//! columns of eight types, and on columns whose types are hard to guess.

use super::run::{Folder, Run};
use serde_json::json;
use std::io::Write;
use std::process::Stdio;

/// Eight columns of eight types, the key neither the first nor sorted, in canonical form.
const EIGHT: &str = "\
name,id,price,born,seen,uid,ok,delta
Ann,3,1.5,1990-05-01,2024-02-29T12:00:00.5,01890a5d-ac96-774b-bcce-b302099a8057,true,-3
\"Bo, \"\"jr\"\"\",1,2,1991-01-31,2024-02-29T12:00:01,01890a5d-ac96-774b-bcce-b302099a8058,false,7
,2,-0.25,,1999-12-31T23:59:59.25,,true,
";
const EIGHT_TYPES: &str =
    "{name: text?, price: f64, born: date?, seen: timestamp(ms), uid: uuid?, ok: bool, delta: i64?}";

fn eight() -> (Folder, String) {
    let folder = Folder::new();
    folder.write("eight.csv", EIGHT);
    let mut lines: Vec<&str> = EIGHT.split_inclusive('\n').collect();
    lines[1..].rotate_left(1);
    (folder, lines.concat())
}

fn content(folder: &Folder, name: &str) -> String {
    std::fs::read_to_string(folder.path(name)).unwrap()
}

fn piped(folder: &Folder, arguments: &[&str], input: &str) -> std::process::Output {
    let mut child =
        folder.command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn eight_columns_come_out_as_they_went_in() {
    let (folder, sorted) = eight();
    folder.build("eight.csv", "t.ogive", &["--key", "id"]);
    let told = folder.run(&["explain", "t.ogive", "--json"]).exits_with(0).json();
    assert_eq!((&told["key_type"], &told["value_type"]), (&json!("u64"), &json!(EIGHT_TYPES)));
    folder.run(&["export", "t.ogive", "out.csv"]).exits_with(0);
    assert_eq!(content(&folder, "out.csv"), sorted);
    folder.run(&["export", "t.ogive", "-"]).exits_with(0).prints(&sorted);
    folder.run(&["db", "import", "s", "eight.csv", "--key", "id"]).exits_with(0);
    folder.run(&["export", "s", "-"]).exits_with(0).prints(&sorted);
    folder.run(&["export", "s", "again.ogive"]).exits_with(0);
    folder.run(&["export", "again.ogive", "-"]).exits_with(0).prints(&sorted);
    // A table is a side, and the other has a column of its own.
    folder.write("ids.csv", "id\n1\n2\n3\n4\n");
    folder.run(&["join", "t.ogive", "ids.csv", "-o", "j.ogive"]).exits_with(0);
    folder.run(&["join", "eight.csv", "ids.csv", "--left-key", "id", "-o", "j.csv"]).exits_with(0);
    let by_key = |text: &str| {
        let keyed = |line: &str| {
            let mut record = csv_fields(line);
            let key = record.remove(1);
            format!("{key},{}\n", record.join(","))
        };
        text.lines().map(keyed).collect::<String>()
    };
    folder.run(&["export", "j.ogive", "-"]).exits_with(0).prints(&by_key(&sorted));
    assert_eq!(content(&folder, "j.csv"), by_key(&sorted));
    let output = piped(&folder, &["build", "-", "--format", "csv", "--key", "id", "-o", "p.ogive"], EIGHT);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.run(&["export", "p.ogive", "-"]).exits_with(0).prints(&sorted);
}

/// The fields of a line of CSV, still in their quotes.
fn csv_fields(line: &str) -> Vec<String> {
    let (mut fields, mut is_quoted) = (vec![String::new()], false);
    for c in line.chars() {
        is_quoted ^= c == '"';
        match c {
            ',' if !is_quoted => fields.push(String::new()),
            c => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}

#[test]
fn rows_are_printed_field_by_field() {
    let (folder, _) = eight();
    folder.build("eight.csv", "t.ogive", &["--key", "id"]);
    folder.run(&["db", "import", "s", "eight.csv", "--key", "id"]).exits_with(0);
    let expected = json!({
        "id": 2, "name": null, "price": -0.25, "born": null, "seen": "1999-12-31T23:59:59.25", "uid": null, "ok": true,
        "delta": null
    });
    for command in [&["get", "t.ogive", "2"][..], &["get", "s", "2"]] {
        folder.run(command).exits_with(0).prints("\t-0.25\t\t1999-12-31T23:59:59.25\t\ttrue\t\n");
        assert_eq!(folder.run(&[command, &["--json"]].concat()).exits_with(0).json()["record"], expected);
    }
    let line = folder.run(&["export", "t.ogive", "-", "--json", "--from", "2", "--to", "3"]).exits_with(0).stdout;
    assert!(line.starts_with("{\"name\":null,\"id\":2,\"price\":-0.25,"), "{line}");
    folder.run(&["db", "put", "s", "9", "Zoe,1,,2024-02-29T12:00:00,,false,"]).exits_with(0);
    folder.run(&["get", "s", "9"]).exits_with(0).prints("Zoe\t1\t\t2024-02-29T12:00:00\t\tfalse\t\n");
    folder.run(&["db", "put", "s", "9", "Zoe"]).exits_with(2).complains_of("its fields in this order");
}

#[test]
fn what_would_be_lost_or_not_be_a_row_is_refused() {
    let (folder, sorted) = eight();
    folder.run(&["index", "create", "i.ogx", "--value-bytes", "4"]).exits_with(0);
    folder.run(&["index", "load", "i.ogx", "eight.csv", "--key", "id"]).exits_with(2).complains_of("--keys-only");
    folder.write("two.csv", "id,v\n1,ab\n");
    folder.run(&["index", "load", "i.ogx", "two.csv"]).exits_with(0);
    folder.run(&["get", "i.ogx", "1"]).exits_with(0).prints("ab\n");
    folder.run(&["db", "import", "s", "eight.csv", "--key", "id"]).exits_with(0);
    folder.write("file", "99");
    folder.run(&["db", "put", "s", "4", "--file", "file"]).exits_with(2).complains_of("not a file");
    // Names of the columns of a key stay.
    folder.write("renamed.csv", EIGHT.replacen("id", "user", 1));
    folder.run(&["db", "import", "s", "renamed.csv", "--key", "user"]).exits_with(0);
    folder.run(&["export", "s", "-"]).exits_with(0).prints(&sorted);
}

#[test]
fn prefixes_of_tuples_of_one_width_are_found_in_tables_and_stores() {
    let folder = Folder::new();
    folder.write("rows.csv", "c,d,v\n17,2024-01-01,a\n17,2024-01-02,b\n18,2024-01-01,c\n");
    folder.build("rows.csv", "t", &["--key", "c", "--key", "d"]);
    folder.run(&["db", "import", "s", "rows.csv", "--key", "c", "--key", "d"]).exits_with(0);
    for command in [&["scan", "t"][..], &["scan", "s"]] {
        let of_17 = "17,2024-01-01\ta\n17,2024-01-02\tb\n";
        folder.run(&[command, &["--prefix", "17"]].concat()).exits_with(0).prints(of_17);
    }
    folder.run(&["count", "t", "--prefix", "18"]).exits_with(0).prints("1\n");
}

#[test]
fn columns_are_chosen_and_typed() {
    let folder = Folder::new();
    folder.write("rows.csv", "id;a;b;a\n1;x;007;\n2;y;8;z\n");
    let built = |name: &str, flags: &[&str]| -> Run {
        folder.build("rows.csv", name, &[&["--delimiter", ";"][..], flags].concat());
        folder.run(&["scan", name]).exits_with(0)
    };
    built("all", &[]).prints("1\tx\t007\t\n2\ty\t8\tz\n");
    built("two", &["--value", "b", "--value", "2"]).prints("1\t007\tx\n2\t8\ty\n");
    built("none", &["--keys-only"]).prints("1\t\n2\t\n");
    built("typed", &["--type", "b=u8", "--type", "4=text?"]).prints("1\tx\t7\t\n2\ty\t8\tz\n");
    let told = folder.run(&["explain", "typed", "--json"]).exits_with(0).json();
    assert_eq!(told["value_type"], json!("{a: text, b: u8, a_2: text?}"));
    let wrong = ["build", "rows.csv", "-o", "x", "--delimiter", ";", "--type", "4=u8"];
    folder.run(&wrong).exits_with(1).complains_of("column 'a_2'").complains_of("a_2=u8?");
    folder.run(&["build", "rows.csv", "-o", "x", "--type", "c=u8"]).exits_with(1).complains_of("no column 'c'");
}

#[test]
fn types_are_found_over_the_whole_input_and_a_fall_to_text_is_told() {
    let folder = Folder::new();
    let numbers: String = (0..3000).map(|number| format!("{number}\n")).collect();
    for (name, content, key_type) in [
        ("floats.txt", "1.5\n2\n-3e5\n".to_owned(), "f64"),
        ("wide.txt", "-3\n2\n18446744073709551615\n".to_owned(), "i128"),
        ("late.txt", format!("{numbers}0.5\n"), "f64"),
        ("days.txt", "2024-02-29\n1999-12-31\n".to_owned(), "date"),
    ] {
        folder.write(name, &content);
        folder.build(name, "t", &[]);
        assert_eq!(folder.run(&["explain", "t", "--json"]).exits_with(0).json()["key_type"], json!(key_type), "{name}");
        assert!(piped(&folder, &["build", "-", "-o", "t"], &content).status.success());
        assert_eq!(folder.run(&["explain", "t", "--json"]).exits_with(0).json()["key_type"], json!(key_type), "{name}");
        folder.run(&["db", "import", "s", name, "--keyspace", name]).exits_with(0);
        let keyspaces = folder.run(&["info", "s", "--json"]).exits_with(0).json()["keyspaces"].clone();
        let found = keyspaces.as_array().unwrap().iter().find(|keyspace| keyspace["name"] == json!(name)).unwrap();
        assert_eq!(found["key_type"], json!(key_type));
    }
    folder.write(
        "mixed.csv",
        format!("id,v\n{}", (0..2000).map(|id| format!("{id},{id}\n")).collect::<String>() + "7,n/a\n"),
    );
    let built = folder.run(&["build", "mixed.csv", "-o", "m"]).exits_with(0);
    assert!(built.stdout.contains("types: u64 -> {v: text}"), "{}", built.stdout);
    built.complains_of("column 'v' has numbers, but record 2,001 is 'n/a'");
}

#[test]
fn an_import_takes_the_types_of_the_keyspace() {
    let folder = Folder::new();
    folder.write("first.csv", "id,price\n1,1.5\n");
    folder.write("second.csv", "id,price\n2,7\n");
    folder.write("other.csv", "id,colour\n3,red\n");
    let import = |name: &str| folder.run(&["db", "import", "s", name]);
    import("first.csv").exits_with(0);
    import("second.csv").exits_with(0);
    folder.run(&["scan", "s"]).exits_with(0).prints("1\t1.5\n2\t7.0\n");
    import("other.csv").exits_with(2).complains_of("{price: decimal(18,1)}").complains_of("a column 'colour'");
    folder.write("wrong.csv", "id,price\n3,cheap\n");
    import("wrong.csv").exits_with(1).complains_of("column 'price': 'cheap'");
}

#[test]
fn rows_that_replace_others_since_no_key_was_given_are_counted() {
    let folder = Folder::new();
    folder.write("orders.csv", "customer,item\n7,fig\n8,lime\n7,pear\n7,plum\n");
    let import = |store: &str, more: &[&str]| folder.run(&[&["db", "import", store, "orders.csv"], more].concat());
    let run = import("s", &[]).exits_with(0);
    run.complains_of("2 rows replaced an earlier row").complains_of("column customer").complains_of("--key");
    folder.run(&["count", "s"]).exits_with(0).prints("2\n");
    let told = import("json", &["--json"]).exits_with(0).stdout;
    assert!(told.lines().last().unwrap().contains("\"replaced_rows\":2"), "{told}");
    for (store, more) in [("chosen", &["--key", "customer"][..]), ("both", &["--key", "customer", "--key", "item"])] {
        assert_eq!(import(store, more).exits_with(0).stderr, "");
    }
    folder.write("orders.csv", "customer,item\n7,fig\n8,lime\n");
    assert_eq!(import("unique", &[]).exits_with(0).stderr, "");
}

#[test]
fn conditions_compare_fields_of_both_sides() {
    let folder = Folder::new();
    folder.write("orders.csv", "item,price,day\n1,5,2024-01-05\n1,9,2024-01-01\n2,7,2024-01-03\n3,1,\n");
    folder.write("limits.csv", "item,limit,since\n1,6.5,2024-01-01\n2,6.5,2024-01-04\n3,8,2024-01-01\n");
    let join = |kind: &str, conditions: &[&str]| {
        let flags = conditions.iter().flat_map(|condition| ["--where", condition]).collect::<Vec<_>>();
        let named = ["join", "orders.csv", "limits.csv", "-o", "-", "--kind", kind];
        folder.run(&[&named[..], &flags].concat())
    };
    let cheap = "1\t5\t2024-01-05\t6.5\t2024-01-01\n";
    join("inner", &["left.price < right.limit", "left.day >= right.since"]).exits_with(0).prints(cheap);
    join("semi", &["left.price > 8"]).exits_with(0).prints("1\t9\t2024-01-01\n");
    let anti = join("anti", &["left.price < right.limit"]).exits_with(0).stdout;
    assert_eq!(anti, "1\t9\t2024-01-01\n2\t7\t2024-01-03\n");
    let left = join("left", &["left.price = 1"]).exits_with(0).stdout;
    assert_eq!(left.lines().count(), 4, "{left}");
    assert!(left.contains("3\t1\t\t8\t2024-01-01\n") && left.contains("2\t7\t2024-01-03\t\t\n"), "{left}");
    join("inner", &["left.colour = 'red'"]).exits_with(2).complains_of("item, price, day");
}

#[test]
fn conditions_name_columns_of_keys_and_names_in_quotes() {
    let folder = Folder::new();
    folder.write("orders.csv", "item,day,unit price\n1,mon,5\n1,tue,9\n2,mon,7\n");
    folder.write("limits.csv", "item,day,\"at < most\"\n1,mon,6\n1,tue,6\n2,mon,8\n");
    let join = |condition: &str| {
        let keys = ["--left-key", "item", "--left-key", "day", "--right-key", "item", "--right-key", "day"];
        let named = ["join", "orders.csv", "limits.csv", "-o", "-", "--where", condition];
        folder.run(&[&named[..], &keys].concat())
    };
    let (monday, tuesday, other) = ("1,mon\t5\t6\n", "1,tue\t9\t6\n", "2,mon\t7\t8\n");
    for (condition, expected) in [
        ("left.item = 1", [monday, tuesday].concat()),
        ("right.day = 'mon'", [monday, other].concat()),
        ("\"day\" != mon", tuesday.to_owned()),
        ("\"unit price\" > 6", [tuesday, other].concat()),
        ("left.\"unit price\" < right.\"at < most\"", [monday, other].concat()),
        ("left.item < right.\"at < most\"", [monday, tuesday, other].concat()),
    ] {
        join(condition).exits_with(0).prints(&expected);
    }
    join("\"unit cost\" > 6").exits_with(2).complains_of("the left columns are item, day, \"unit price\", the right");
}

#[test]
fn a_join_has_no_partners_for_nulls_in_keys() {
    let folder = Folder::new();
    folder.write("left.csv", "id,day,v\n1,mon,a\n,mon,b\n2,tue,c\n");
    folder.write("right.csv", "id,day,w\n,mon,x\n2,tue,y\n");
    let join = |kind: &str| {
        let keys = ["--left-key", "id", "--left-key", "day", "--right-key", "id", "--right-key", "day"];
        let types = ["--key-type", "(u64?, text)"];
        folder.run(&[&["join", "left.csv", "right.csv", "-o", "-", "--kind", kind], &keys[..], &types].concat())
    };
    join("inner").exits_with(0).prints("2,tue\tc\ty\n");
    join("semi").exits_with(0).prints("2,tue\tc\n");
    join("anti").exits_with(0).prints("1,mon\ta\n,mon\tb\n");
    join("left").exits_with(0).prints("1,mon\ta\t\n2,tue\tc\ty\n,mon\tb\t\n");
    let full = join("full").exits_with(0).stdout;
    let mut full: Vec<&str> = full.lines().collect();
    full.sort_unstable();
    assert_eq!(full, [",mon\t\tx", ",mon\tb\t", "1,mon\ta\t", "2,tue\tc\ty"]);
}

#[test]
fn the_raw_value_of_a_row_is_that_of_its_only_column() {
    let folder = Folder::new();
    folder.write("one.csv", "id,name\n1,ann\n2,bob\n");
    folder.write("two.csv", "id,name,n\n1,ann,7\n");
    folder.write("lines.txt", "1\tann\n");
    for (file, expected) in [("one.csv", Some("ann")), ("two.csv", None)] {
        folder.build(file, "t", &["--key", "id"]);
        folder.run(&["db", "import", file.trim_end_matches(".csv"), file, "--key", "id"]).exits_with(0);
        let store = file.trim_end_matches(".csv");
        for command in [&["get", "t", "1", "--raw"][..], &["get", store, "1", "--raw"]] {
            match expected {
                Some(name) => _ = folder.run(command).exits_with(0).prints(name),
                None => {
                    _ = folder.run(command).exits_with(2).complains_of("{name: text, n: u64}").complains_of("--json")
                }
            }
        }
    }
    folder.run(&["get", "one", "3", "--raw"]).exits_with(1).prints("");
}

#[test]
fn records_without_values_are_exported_without_a_column_of_values() {
    let folder = Folder::new();
    folder.write("ids.csv", "id,name\n3,c\n1,a\n2,b\n");
    folder.write("words.txt", "fig\napple\n");
    folder.build("ids.csv", "ids", &["--key", "id", "--keys-only"]);
    folder.build("ids.csv", "names", &["--key", "name", "--keys-only"]);
    folder.build("words.txt", "words", &[]);
    folder.run(&["db", "import", "s", "words.txt"]).exits_with(0);
    for (source, expected, column) in
        [("ids", "id\n1\n2\n3\n", "id"), ("names", "name\na\nb\nc\n", "name"), ("words", "key\napple\nfig\n", "key")]
    {
        folder.run(&["export", source, "-"]).exits_with(0).prints(expected);
        folder.run(&["export", source, "-", "--json"]).exits_with(0);
        folder.run(&["export", source, "again.csv", "--force"]).exits_with(0);
        for flags in [&["--key", column][..], &["--key", column, "--keys-only"]] {
            folder.build("again.csv", "again", flags);
            folder.run(&["export", "again", "-"]).exits_with(0).prints(expected);
        }
    }
    folder.run(&["export", "s", "-"]).exits_with(0).prints("key\napple\nfig\n");
    folder.run(&["export", "ids", "-", "--json"]).exits_with(0).prints("{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n");
    folder.run(&["scan", "ids", "--json"]).exits_with(0).prints("{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n");
}

#[test]
fn values_of_bytes_are_a_column_even_if_all_are_empty_and_come_back() {
    let folder = Folder::new();
    let given = ["--key-type", "u64", "--value-type", "bytes"];
    for key in ["1", "2"] {
        folder.run(&["db", "put", "s", key, "", "--keyspace", "q", "--key-type", "u64"]).exits_with(0);
    }
    folder.write("rows.csv", "key,value\n1,\n2,\n");
    folder.build("rows.csv", "t.ogive", &given);
    folder
        .run(&["scan", "t.ogive", "--json"])
        .exits_with(0)
        .prints("{\"key\":1,\"value\":\"\"}\n{\"key\":2,\"value\":\"\"}\n");
    let rows = "key,value\n1,\"\"\n2,\"\"\n";
    let formats = ["csv", "tsv", "jsonl", "parquet"];
    for format in formats.into_iter().filter(|&format| format != "parquet" || cfg!(feature = "parquet")) {
        let (stored, built) = (format!("s.{format}"), format!("t.{format}"));
        folder.run(&["export", "s", &stored, "--keyspace", "q"]).exits_with(0);
        folder.run(&["export", "t.ogive", &built]).exits_with(0);
        folder.run(&["db", "import", "s", &stored, "--keyspace", "q"]).exits_with(0);
        let flags = if format == "parquet" { &[][..] } else { &given };
        for file in [&stored, &built] {
            folder.run(&[&["db", "import", "n", file, "--keyspace", file], flags].concat()).exits_with(0);
            folder.run(&["export", "n", "-", "--keyspace", file]).exits_with(0).prints(rows);
            folder.run(&["db", "put", "n", "3", "x", "--keyspace", file]).exits_with(0);
            folder.build(file, "again.ogive", flags);
            folder.run(&["export", "again.ogive", "-"]).exits_with(0).prints(rows);
            folder.run(&["export", "again.ogive", "-", "--from", "7"]).exits_with(0).prints("key,value\n");
        }
    }
}

#[test]
fn keys_alone_are_shown_without_a_type_of_values() {
    let folder = Folder::new();
    folder.write("ids.csv", "id\n1\n2\n");
    let told = |arguments: &[&str]| folder.run(arguments).exits_with(0).stdout;
    let none = json!("{}");
    let built = told(&["build", "ids.csv", "-o", "t.ogive"]);
    assert!(built.contains("types: u64 -> {}\n"), "{built}");
    let about = told(&["info", "t.ogive"]);
    assert!(about.contains("2 records of u64 -> {}"), "{about}");
    assert_eq!(folder.run(&["explain", "t.ogive", "--json"]).exits_with(0).json()["value_type"], none);
    let imported = folder.run(&["db", "import", "s", "ids.csv", "--json"]).exits_with(0).json_lines();
    assert_eq!(imported.last().unwrap()["value_type"], none);
    for command in [&["db", "keyspaces", "s", "--json"][..], &["info", "s", "--json"]] {
        assert_eq!(folder.run(command).exits_with(0).json()["keyspaces"][0]["value_type"], none, "{command:?}");
    }
    // An index without payloads has keys alone, and so have the tables that are made of it.
    folder.run(&["index", "create", "i.ogx", "--key-type", "u64", "--value-bytes", "0"]).exits_with(0);
    folder.run(&["index", "put", "i.ogx", "7"]).exits_with(0);
    folder.build("i.ogx", "i.ogive", &[]);
    folder.run(&["export", "i.ogive", "-"]).exits_with(0).prints("key\n7\n");
}

#[test]
fn records_have_one_form_in_json() {
    let folder = Folder::new();
    folder.write("rows.csv", "name,id,n\nann,7,1.5\n");
    folder.build("rows.csv", "t", &["--key", "id", "--type", "n=f64"]);
    folder.run(&["db", "import", "s", "rows.csv", "--key", "id", "--type", "n=f64"]).exits_with(0);
    folder.write("none.csv", "id\n8\n");
    let record = json!({ "name": "ann", "id": 7, "n": 1.5 });
    for command in [
        &["scan", "t"][..],
        &["export", "t", "-"],
        &["scan", "s"],
        &["export", "s", "-"],
        &["join", "t", "none.csv", "-o", "-", "--kind", "anti"],
    ] {
        let run = folder.run(&[command, &["--json"]].concat()).exits_with(0);
        assert_eq!(run.json_lines(), std::slice::from_ref(&record), "{command:?}");
        if command[0] != "join" {
            assert_eq!(run.stdout, "{\"name\":\"ann\",\"id\":7,\"n\":1.5}\n", "{command:?}");
        }
    }
    folder.run(&["scan", "s", "--keys-only", "--json"]).exits_with(0).prints("{\"id\":7}\n");
    for command in [&["get", "t", "7"][..], &["get", "s", "7"], &["nth", "t", "0"]] {
        assert_eq!(folder.run(&[command, &["--json"]].concat()).exits_with(0).json()["record"], record, "{command:?}");
    }
    let all = folder.run(&["get", "t", "7", "--all", "--json"]).exits_with(0).json();
    assert_eq!(all, json!({ "key": 7, "found": true, "records": [record] }));
    let lines = folder.run(&["scan", "t", "--explain", "--json"]).exits_with(0).json_lines();
    assert_eq!(lines[0], record);
    assert!(lines[1]["reads"].is_array(), "{lines:?}");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_the_types_of_the_columns() {
    let (folder, sorted) = eight();
    folder.build("eight.csv", "t.ogive", &["--key", "id"]);
    folder.run(&["export", "t.ogive", "t.parquet"]).exits_with(0);
    folder.build("t.parquet", "again.ogive", &["--key", "id"]);
    folder.run(&["export", "again.ogive", "-"]).exits_with(0).prints(&sorted);
    folder.write("ids.csv", "id\n1\n2\n3\n");
    folder.run(&["join", "t.ogive", "ids.csv", "-o", "j.parquet"]).exits_with(0);
    folder.build("j.parquet", "j.ogive", &[]);
    folder.run(&["count", "j.ogive"]).exits_with(0).prints("3\n");
}

#[cfg(feature = "parquet")]
#[test]
fn integers_of_128_bits_are_decimals_of_parquet_and_come_back() {
    let folder = Folder::new();
    let (least, most, unsigned) = (i128::MIN.to_string(), i128::MAX.to_string(), u128::MAX.to_string());
    for (key_type, keys) in [("u128", ["0", "7", &unsigned]), ("i128", [&least, "-1", &most])] {
        let typed = |null: &str| format!("{key_type}{null}");
        let rows = keys.map(|key| format!("{key},{key}\n{key},\n")).concat();
        let rows = format!("k,v\n{rows}");
        folder.write("k.csv", &rows);
        let value_type = format!("v={}", typed("?"));
        folder.build("k.csv", "k.ogive", &["--key-type", key_type, "--type", &value_type]);
        folder.run(&["export", "k.ogive", "k.parquet", "--force"]).exits_with(0);
        folder.build("k.parquet", "again.ogive", &[]);
        let told = folder.run(&["explain", "again.ogive", "--json"]).exits_with(0).json();
        assert_eq!(told["key_type"], json!(key_type));
        assert_eq!(told["value_type"], json!(format!("{{v: {}}}", typed("?"))));
        folder.run(&["export", "again.ogive", "-"]).exits_with(0).prints(&rows);
        let build = ["build", "k.parquet", "--external", "--key", "k", "-o", "k.idx", "--force"];
        folder.run(&build).exits_with(0);
        for key in keys {
            let found = folder.run(&["get", "k.idx", "--all", "--", key]).exits_with(0);
            found.prints(&format!("k,v\n{key},{key}\n{key},\n"));
        }
        folder.run(&["join", "k.parquet", "k.ogive", "-o", "j.parquet", "--force"]).exits_with(0);
        folder.build("j.parquet", "j.ogive", &[]);
        folder.run(&["count", "j.ogive"]).exits_with(0).prints("12\n");
    }
}

#[test]
fn several_keys_are_looked_up_at_once_and_from_standard_input() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,v\n1,a\n2,b\n2,c\n3,d\n");
    folder.build("rows.csv", "t", &["--key", "id"]);
    folder.run(&["db", "import", "s", "rows.csv"]).exits_with(0);
    let run = folder.run(&["get", "t", "3", "7", "1"]).exits_with(1);
    assert_eq!((&*run.stdout, &*run.stderr), ("3\td\n1\ta\n", "7: not found\n"));
    folder.run(&["get", "s", "3", "2"]).exits_with(0).prints("3\td\n2\tc\n");
    let found = folder.run(&["get", "t", "3", "7", "--json"]).exits_with(1).json_lines();
    assert_eq!(
        found,
        [json!({ "key": 3, "found": true, "record": { "id": 3, "v": "d" } }), json!({ "key": 7, "found": false })]
    );
    let output = piped(&folder, &["get", "t", "-"], "1\r\n3\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\ta\n3\td\n");
    folder.run(&["get", "t", "1", "2", "--raw"]).exits_with(2).complains_of("one key");
    let run = folder.run(&["get", "t", "2"]).exits_with(0);
    assert_eq!((&*run.stdout, &*run.stderr), ("b\n", "1 more record with this key; --all prints them\n"));
    assert_eq!(folder.run(&["get", "t", "1"]).exits_with(0).stderr, "");
}

#[test]
fn a_table_is_built_of_a_table_an_index_and_a_store() {
    let (folder, sorted) = eight();
    folder.build("eight.csv", "t.ogive", &["--key", "id"]);
    folder.build("t.ogive", "again.ogive", &["--for", "s3"]);
    folder.run(&["export", "again.ogive", "-"]).exits_with(0).prints(&sorted);
    folder.run(&["db", "import", "s", "eight.csv", "--key", "id", "--keyspace", "people"]).exits_with(0);
    folder.build("s", "stored.ogive", &["--keyspace", "people"]);
    folder.run(&["export", "stored.ogive", "-"]).exits_with(0).prints(&sorted);
    folder.run(&["build", "s", "-o", "x", "--keyspace", "others"]).exits_with(1).complains_of("existing keyspaces");
    folder.run(&["index", "create", "i.ogx", "--key-type", "date", "--value-bytes", "2"]).exits_with(0);
    for (key, value) in [("2024-02-29", "ab"), ("1999-12-31", "cd")] {
        folder.run(&["index", "put", "i.ogx", key, value]).exits_with(0);
    }
    folder.build("i.ogx", "i.ogive", &[]);
    folder.run(&["scan", "i.ogive"]).exits_with(0).prints("1999-12-31\tcd\n2024-02-29\tab\n");
    folder.run(&["build", "t.ogive", "-o", "x", "--key", "name"]).exits_with(2).complains_of("already");
}

#[test]
fn columns_of_joins_have_one_name_each_and_keep_that_of_the_key() {
    let folder = Folder::new();
    folder.write("a.csv", "k,w\nx,5\n");
    folder.write("b.csv", "k,key\nx,a\n");
    folder.run(&["db", "import", "s", "a.csv"]).exits_with(0);
    folder.write("none.csv", "k,v\n");
    let header = |left: &str, right: &str| {
        let run = folder.run(&["join", left, right, "-o", "-", "--kind", "full", "--to", "csv"]).exits_with(0);
        run.stdout.lines().next().unwrap().to_owned()
    };
    assert_eq!(header("a.csv", "b.csv"), "k,w,key");
    assert_eq!(header("s", "b.csv"), "k,w,key");
    assert_eq!(header("none.csv", "a.csv"), "k,v,w");
    folder.write("lines.txt", "x\n");
    assert_eq!(header("lines.txt", "b.csv"), "key,left,right_key");
}

#[test]
fn a_raw_value_may_exceed_memory_and_is_text_unless_it_is_bytes() {
    let folder = Folder::new();
    let long = "x".repeat(3 << 20);
    folder.write("long.csv", format!("id,name\n1,{long}\n2,\n"));
    folder.build("long.csv", "t", &["--key", "id", "--row-limit", "16MiB", "--type", "name=text?"]);
    let raw = ["get", "t", "1", "--raw", "--memory", "1MiB"];
    folder.run(&raw).exits_with(0).prints(&long);
    folder.run(&["get", "t", "2", "--raw"]).exits_with(0).prints("");
    folder.run(&["get", "t", "3", "--raw"]).exits_with(1).prints("");
    folder.write("prices.csv", "id,price,day\n1,-2.5,2024-02-29\n");
    folder.build("prices.csv", "prices", &["--key", "id", "--value", "price"]);
    folder.build("prices.csv", "days", &["--key", "id", "--value", "day", "--type", "day=date?"]);
    folder.run(&["get", "prices", "1", "--raw"]).exits_with(0).prints("-2.5");
    folder.run(&["get", "days", "1", "--raw"]).exits_with(0).prints("2024-02-29");
    folder.run(&["db", "import", "s", "prices.csv", "--key", "id", "--value", "price"]).exits_with(0);
    folder.run(&["get", "s", "1", "--raw"]).exits_with(0).prints("-2.5");
}

#[test]
fn records_in_json_have_their_columns_in_order_in_all_commands() {
    let folder = Folder::new();
    folder.write("rows.csv", "zone,id,area\nn,1,x\ns,1,y\nw,2,z\n");
    folder.build("rows.csv", "t", &["--key", "id"]);
    folder.run(&["db", "import", "s", "rows.csv", "--key", "zone"]).exits_with(0);
    let scanned = folder.run(&["scan", "t", "--json", "--limit", "1"]).exits_with(0);
    assert_eq!(scanned.stdout, "{\"zone\":\"n\",\"id\":1,\"area\":\"x\"}\n");
    let record = scanned.stdout.trim();
    let found = folder.run(&["get", "t", "1", "--json"]).exits_with(0);
    found.prints(&format!("{{\"key\":1,\"found\":true,\"record\":{record},\"more\":1}}\n"));
    let all = folder.run(&["get", "t", "1", "--json", "--all"]).exits_with(0);
    assert!(all.stdout.starts_with(&format!("{{\"key\":1,\"found\":true,\"records\":[{record},")), "{}", all.stdout);
    assert!(!all.stdout.contains("more"), "{}", all.stdout);
    let one = folder.run(&["get", "t", "2", "--json", "--explain"]).exits_with(0);
    assert!(one.stdout.contains(",\"record\":{\"zone\":\"w\",\"id\":2,\"area\":\"z\"},\"reads\":["), "{}", one.stdout);
    let nth = folder.run(&["nth", "t", "0", "--json"]).exits_with(0);
    nth.prints(&format!("{{\"index\":0,\"found\":true,\"record\":{record}}}\n"));
    let stored = folder.run(&["get", "s", "n", "--json"]).exits_with(0);
    stored.prints("{\"key\":\"n\",\"found\":true,\"record\":{\"zone\":\"n\",\"id\":1,\"area\":\"x\"}}\n");
    folder.run(&["get", "t", "9", "--json"]).exits_with(1).prints("{\"key\":9,\"found\":false}\n");
}
