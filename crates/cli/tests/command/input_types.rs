//! Types and columns of inputs: inputs without rows, two sides of a join, later imports, and JSON lines. Method: whole
//! runs on small files.

use super::run::{Folder, Run};
use serde_json::json;

fn key_type(folder: &Folder, table: &str) -> String {
    let told = folder.run(&["explain", table, "--json"]).exits_with(0).json();
    format!("{} -> {}", told["key_type"].as_str().unwrap(), told["value_type"].as_str().unwrap())
}

#[test]
fn a_header_without_rows_is_a_table_without_records() {
    let folder = Folder::new();
    folder.write("none.csv", "id,price\n");
    folder.write("nothing.csv", "");
    for (flags, types) in [
        (&[][..], "text -> {price: text}"),
        (&["--key-type", "u64", "--type", "price=f64?"], "u64 -> {price: f64?}"),
        (&["--exact", "--key-type", "u64"], "u64 -> {price: text}"),
        (&["--memory", "64k", "--filter", "10"], "text -> {price: text}"),
    ] {
        folder.build("none.csv", "t", flags);
        assert_eq!(key_type(&folder, "t"), types);
        folder.run(&["scan", "t"]).exits_with(0).prints("");
        folder.run(&["verify", "t"]).exits_with(0);
        folder.run(&["get", "t", "1"]).exits_with(1).complains_of("not found");
    }
    folder.build("t", "again", &[]);
    folder.run(&["export", "again", "-"]).exits_with(0).prints("id,price\n");
    folder.run(&["db", "import", "s", "none.csv"]).exits_with(0);
    folder.run(&["scan", "s"]).exits_with(0).prints("");
    folder.run(&["index", "create", "i", "--value-bytes", "8"]).exits_with(0);
    folder.run(&["index", "load", "i", "none.csv"]).exits_with(0);
    folder.run(&["join", "none.csv", "t", "-o", "-"]).exits_with(0).prints("");
    folder.run(&["tune", "none.csv"]).exits_with(1).complains_of("no records");
    // Objects are read by the names that are asked for, so that there may be none.
    folder.write("none.jsonl", "");
    for flags in [&["--keys-only"][..], &["--value", "v"]] {
        folder.build("none.jsonl", "t", &[&["--key", "k", "--key-type", "u64"], flags].concat());
        folder.run(&["count", "t"]).exits_with(0).prints("0\n");
    }
    // A file without a header does not tell its columns, and no command guesses that there are none.
    for name in ["nothing.csv", "nothing.tsv", "nothing.jsonl"] {
        folder.write(name, "");
        for command in [
            &["build", name, "-o", "x"][..],
            &["db", "import", "x", name],
            &["index", "load", "i", name],
            &["join", name, "t", "-o", "-"],
            &["join", "t", name, "-o", "-"],
            &["join", name, "none.csv", "-o", "-"],
            &["join", "none.csv", name, "-o", "-"],
            &["join", name, name, "-o", "-"],
        ] {
            folder.run(command).exits_with(1).complains_of(&format!("{name} contains no records"));
        }
    }
}

#[test]
fn keys_of_one_column_are_never_null() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,v\n,a\nx,b\n");
    for flags in [&[][..], &["--type", "id=text?"]] {
        folder.build("rows.csv", "t", flags);
        folder.run(&["scan", "t"]).exits_with(0).prints("\ta\nx\tb\n");
    }
    folder
        .run(&["build", "rows.csv", "-o", "t", "--type", "id=u8?"])
        .exits_with(1)
        .complains_of("key column 'id': an empty field");
}

#[test]
fn two_text_sides_have_the_narrowest_keys_that_fit_both() {
    for (left, right, types, remark) in [
        ("1\n2\n", "-1\n2\n", "i64", None),
        ("1\n2\n", "2\n2.5\n", "f64", None),
        ("18446744073709551615\n", "-1\n", "i128", None),
        ("2024-02-29\n", "2024-02-29T00:00:00\n", "timestamp(s)", None),
        ("1\n2\n", "2\nn/a\n", "text", Some("has keys of type u64, but record 2 of right.csv is 'n/a'")),
        ("2024-02-29\n", "soon\n", "text", Some("has keys of type date, but those of right.csv are text")),
        ("2\n", "", "u64", None),
    ] {
        let folder = Folder::new();
        folder.write("left.csv", format!("id\n{left}"));
        folder.write("right.csv", format!("id\n{right}"));
        for sides in [["left.csv", "right.csv"], ["right.csv", "left.csv"]] {
            let run = folder.run(&["join", sides[0], sides[1], "-o", "t.ogive", "--kind", "full"]).exits_with(0);
            assert!(run.stdout.contains(&format!("types: {types} ->")), "{left:?} {right:?}: {}", run.stdout);
            match remark {
                Some(remark) => _ = run.complains_of(remark),
                None => assert!(!run.stderr.contains("note"), "{}", run.stderr),
            }
        }
        // A piped side is read as a file is.
        let piped =
            format!("cat right.csv | '{}' join left.csv - --right-format csv -o p.ogive", env!("CARGO_BIN_EXE_ogive"));
        let output =
            std::process::Command::new("sh").args(["-c", &piped]).current_dir(folder.path("")).output().unwrap();
        let run = Run::new(&["join"], output).exits_with(0);
        assert!(run.stdout.contains(&format!("types: {types} ->")), "{left:?} {right:?}: {}", run.stdout);
    }
}

#[test]
fn keys_of_several_columns_are_united_column_by_column_over_all_records() {
    let folder = Folder::new();
    let many: String = (0..3000).map(|number| format!("{number},a\n")).collect();
    folder.write("left.csv", format!("n,w\n{many}"));
    folder.write("right.csv", format!("w,n\na,7\nb,-7\n{}a,0.5\n", "a,1\n".repeat(2000)));
    let sides = ["--left-key", "n", "--left-key", "w", "--right-key", "n", "--right-key", "w"];
    let join =
        |flags: &[&str]| folder.run(&[&["join", "left.csv", "right.csv", "-o", "t.ogive"], &sides[..], flags].concat());
    assert!(join(&[]).exits_with(0).stdout.contains("types: (f64, text) ->"));
    folder.run(&["scan", "t.ogive", "--limit", "1", "--reverse"]).exits_with(0).prints("7,a\t\n");
    // A given type is that of both.
    join(&["--left-type", "n=u16"])
        .exits_with(1)
        .complains_of("'-7' in record 2 of right.csv")
        .complains_of("--right-type");
    assert!(join(&["--right-type", "n=f32"]).exits_with(0).stdout.contains("types: (f32, text) ->"));
}

#[test]
fn a_typed_side_rules() {
    let folder = Folder::new();
    folder.write("ids.csv", "id\n1\n2\n");
    folder.write("words.csv", "id\n1\nx\n");
    folder.build("ids.csv", "t.ogive", &[]);
    for sides in [["t.ogive", "words.csv"], ["words.csv", "t.ogive"]] {
        let run = folder.run(&["join", sides[0], sides[1], "-o", "-"]).exits_with(1);
        run.complains_of("'x' in record 2 of words.csv (line 3) is not of type u64")
            .complains_of("the keys of t.ogive");
    }
}

#[test]
fn sides_have_delimiters_and_types_of_their_own() {
    let folder = Folder::new();
    folder.write("left.csv", "id;price\n1;007\n");
    folder.write("right.csv", "id|note\n1|x\n");
    let sides = ["join", "left.csv", "right.csv", "-o", "-", "--left-delimiter", ";", "--right-delimiter", "|"];
    let join = |flags: &[&str]| folder.run(&[&sides[..], flags].concat());
    join(&[]).exits_with(0).prints("1\t007\tx\n");
    join(&["--left-type", "price=u16"]).exits_with(0).prints("1\t7\tx\n");
    join(&["--right-type", "note=u16"])
        .exits_with(1)
        .complains_of("column 'note'")
        .complains_of("--right-type 'note=text'");
    join(&["--right-type", "nmae=u16"]).exits_with(1).complains_of("no column 'nmae'");
    join(&["--row-limit", "2"]).exits_with(1).complains_of("raise --row-limit");
    folder.build("left.csv", "t", &["--delimiter", ";"]);
    let typed = ["join", "t", "right.csv", "-o", "-", "--left-type", "price=u8"];
    folder.run(&typed).exits_with(2).complains_of("remove --left-type");
    let lines = ["join", "lines.txt", "right.csv", "-o", "-", "--left-delimiter", ";"];
    folder.write("lines.txt", "1\n");
    folder.run(&lines).exits_with(2).complains_of("no delimiters").complains_of("remove --left-delimiter");
    folder.write("keys.u64", super::run::sosd(&[1]));
    let sosd = ["join", "keys.u64", "right.csv", "-o", "-", "--left-type", "1=u8"];
    folder.run(&sosd).exits_with(2).complains_of("remove --left-type");
}

#[test]
fn later_imports_find_columns_by_their_names() {
    let folder = Folder::new();
    folder.write("first.csv", "id,name,price,note\n1,a,1.5,\n2,b,2.5,x\n");
    folder.run(&["db", "import", "s", "first.csv"]).exits_with(0);
    let import = |content: &str, flags: &[&str]| {
        folder.write("more.csv", content);
        folder.run(&[&["db", "import", "s", "more.csv"], flags].concat())
    };
    import("note,price,name,id\ny,3.5,c,3\n", &[]).exits_with(0);
    import("price,name,id\n4.5,d,4\n", &[]).exits_with(0);
    import("5,e,5.5,z\n", &["--no-header"]).exits_with(0);
    import("id,name,junk,price\n6,f,?,6.5\n", &["--value", "name", "--value", "price"]).exits_with(0);
    let rows = "1\ta\t1.5\t\n2\tb\t2.5\tx\n3\tc\t3.5\ty\n4\td\t4.5\t\n5\te\t5.5\tz\n6\tf\t6.5\t\n";
    folder.run(&["scan", "s"]).exits_with(0).prints(rows);
    import("id,name\n7,g\n", &[]).exits_with(2).complains_of("no column 'price'").complains_of("cannot be null");
    import("name,price\ng,7\n", &[]).exits_with(2).complains_of("no column 'id'").complains_of("--key");
    let new = "id,name,price,note,colour\n7,g,7.5,,red\n";
    import(new, &[])
        .exits_with(2)
        .complains_of("a column 'colour'")
        .complains_of("--value")
        .complains_of("--add-columns");
    import("id,name,price\n7,g,cheap\n", &[]).exits_with(1).complains_of("column 'price': 'cheap'");
    folder.run(&["scan", "s"]).exits_with(0).prints(rows);
    let run = import(new, &["--add-columns"]).exits_with(0);
    assert!(run.stdout.contains("{name: text, price: decimal(18,1), note: text?, colour: text?}"), "{}", run.stdout);
    let seven = folder.run(&["get", "s", "7", "--json"]).exits_with(0).json();
    assert_eq!(seven["record"], json!({ "id": 7, "name": "g", "price": "7.5", "note": null, "colour": "red" }));
    let one = folder.run(&["get", "s", "1", "--json"]).exits_with(0).json();
    assert_eq!(one["record"], json!({ "id": 1, "name": "a", "price": "1.5", "note": null, "colour": null }));
    folder.write("more.jsonl", "{\"price\": 8.5, \"id\": 8, \"name\": \"h\"}\n");
    folder.run(&["db", "import", "s", "more.jsonl"]).exits_with(0);
    folder.run(&["get", "s", "8"]).exits_with(0).prints("h\t8.5\t\t\n");
}

#[cfg(feature = "parquet")]
#[test]
fn columns_of_parquet_are_found_by_their_names() {
    let folder = Folder::new();
    folder.write("first.csv", "id,name,note\n1,a,x\n2,b,\n");
    folder.run(&["db", "import", "s", "first.csv"]).exits_with(0);
    folder.write("more.csv", "name,id\nc,3\n");
    folder.build("more.csv", "more.ogive", &["--key", "id"]);
    folder.run(&["export", "more.ogive", "more.parquet"]).exits_with(0);
    folder.run(&["db", "import", "s", "more.parquet"]).exits_with(0);
    folder.run(&["scan", "s"]).exits_with(0).prints("1\ta\tx\n2\tb\t\n3\tc\t\n");
    folder.run(&["index", "create", "i", "--value-bytes", "1"]).exits_with(0);
    folder.run(&["index", "load", "i", "more.parquet", "--key", "id", "--value", "name"]).exits_with(0);
    folder.run(&["get", "i", "3"]).exits_with(0).prints("c\n");
}

#[test]
fn types_of_json_lines_are_those_of_json_or_narrower() {
    let folder = Folder::new();
    let types = |lines: &str| {
        folder.write("rows.jsonl", lines);
        folder.build("rows.jsonl", "t", &[]);
        key_type(&folder, "t")
    };
    let one = "{\"id\": 1, \"s\": \"12\", \"f\": 1.5, \"b\": true, \"d\": \"2024-02-29\", \"n\": null, \"e\": \"\"}\n";
    assert_eq!(types(one), "u64 -> {s: text, f: f64, b: bool, d: date, n: text?, e: text}");
    assert_eq!(types("{\"id\": -1}\n\n {\"v\": 2, \"id\": 18446744073709551616}\r\n"), "i128 -> {v: u64?}");
    assert_eq!(types("{\"id\": 1, \"v\": 2.0}\n{\"v\": \"NaN\", \"id\": 2}\n"), "u64 -> {v: f64}");
    assert_eq!(types("{\"id\": 1, \"v\": true}\n{\"v\": \"true\", \"id\": 2}\n"), "u64 -> {v: text}");
    assert_eq!(types("{\"id\": 1, \"v\": \"2024-02-29\"}\n{\"v\": \"\", \"id\": 2}\n"), "u64 -> {v: text}");
    let many: String = (0..2000).map(|id| format!("{{\"id\": {id}, \"v\": {id}}}\n")).collect();
    assert_eq!(
        types(&format!("{many}{{\"late\": \"x\", \"id\": 2000, \"v\": \"5\"}}\n")),
        "u64 -> {v: text, late: text?}"
    );
    folder.run(&["get", "t", "2000"]).exits_with(0).prints("5\tx\n");
    folder.build("rows.jsonl", "t", &["--key", "v", "--value", "late"]);
    assert_eq!(key_type(&folder, "t"), "text -> {late: text?}");
}

#[test]
fn what_is_no_row_of_json_is_refused_with_its_line_and_field() {
    let folder = Folder::new();
    for (lines, flags, words) in [
        ("{\"id\": 1}\n{\"id\": 2, \"tags\": [1]}\n", &[][..], "field 'tags' in record 2 of rows.jsonl is an array"),
        ("{\"id\": 1, \"o\": {\"a\": 1}}\n", &[], "field 'o' in record 1 of rows.jsonl is an object"),
        ("{\"id\": 1, \"o\": {\"a\": 1}}\n", &["--type", "o=text"], "column 'o': '{\"a\": 1}' in record 1"),
        ("{\"id\": 1}\n{\"id\": }\n", &[], "line 2 is not an object of JSON: expected value"),
        ("{\"id\": 1}\n[1]\n", &[], "line 2 is not an object of JSON"),
        ("{\"id\": 1} {}\n", &[], "line 1 is not an object of JSON"),
        ("{\"id\": 1, \"id\": 2}\n", &[], "the field 'id' appears twice"),
        ("{\"id\": null}\n", &[], "key column 'id': a null in record 1"),
        ("{\"id\": 1, \"n\": null}\n", &["--type", "n=text"], "--type 'n=text?'"),
        ("{\"id\": 1}\n", &["--key", "nmae"], "no column 'nmae'"),
        ("\n", &[], "contains no records"),
    ] {
        folder.write("rows.jsonl", lines);
        folder.run(&[&["build", "rows.jsonl", "-o", "t"], flags].concat()).exits_with(1).complains_of(words);
    }
    folder.write("rows.jsonl", "{\"id\": 1, \"o\": {}, \"v\": \"x\"}\n");
    folder.build("rows.jsonl", "t", &["--value", "v"]);
    folder.run(&["scan", "t"]).exits_with(0).prints("1\tx\n");
}

#[test]
fn an_input_in_the_place_of_a_table_is_named_with_the_command_that_builds_one() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,v\n1,a\n2,b\n");
    folder.write("rows.jsonl", "{\"id\": 1}\n");
    for command in [&["scan", "rows.csv"][..], &["get", "rows.csv", "1"], &["verify", "rows.csv"]] {
        let run =
            folder.run(command).exits_with(1).complains_of("rows.csv is comma-separated values, an input, not a table");
        run.complains_of("`ogive build rows.csv -o rows.ogive`");
    }
    folder.run(&["count", "rows.jsonl"]).exits_with(1).complains_of("JSON, an input");
    let index = folder.run(&["index", "put", "rows.csv", "1"]).exits_with(1).complains_of("not an index");
    index.complains_of("`ogive index load INDEX rows.csv`");
}

#[test]
fn a_pipe_of_keys_only_is_read_from_its_start() {
    let folder = Folder::new();
    let rows: String = (0..5000).map(|id| format!("{id},x\n")).collect();
    folder.write("rows.csv", format!("id,v\n{rows}"));
    folder.run(&["index", "create", "i", "--value-bytes", "1"]).exits_with(0);
    for (command, counted) in [
        ("build - --format csv --key-type u64 --keys-only -o t", &["count", "t"][..]),
        ("index load i - --format csv", &["count", "i"]),
    ] {
        let piped = format!("cat rows.csv | '{}' {command}", env!("CARGO_BIN_EXE_ogive"));
        let output =
            std::process::Command::new("sh").args(["-c", &piped]).current_dir(folder.path("")).output().unwrap();
        Run::new(&[command], output).exits_with(0);
        folder.run(counted).exits_with(0).prints("5000\n");
    }
}

#[test]
fn a_new_field_leaves_the_columns_of_the_key_as_they_are() {
    let folder = Folder::new();
    let export = |store: &str, rows: &str| folder.run(&["export", store, "-"]).exits_with(0).prints(rows);
    folder.write("start.csv", "uid,a\n1,2\n");
    folder.write("more.csv", "id,a,b\n3,4,5\n");
    folder.build("more.csv", "more.ogive", &["--key-type", "i64", "--type", "a=i64?", "--type", "b=i64?"]);
    let types = ["--key-type", "i64", "--type", "a=i64?"];
    for (store, add) in [
        ("imported", &["import", "imported", "more.csv", "--key", "id", "--type", "b=i64", "--add-columns"][..]),
        ("ingested", &["ingest", "ingested", "more.ogive"]),
    ] {
        folder.run(&[&["db", "import", store, "start.csv"], &types[..]].concat()).exits_with(0);
        folder.run(&[&["db"], add].concat()).exits_with(0);
        export(store, "uid,a,b\n1,2,\n3,4,5\n");
        // A program that gives the key no name.
        let db = ogive::Db::open(folder.path(&format!("{store}.unnamed")), &ogive::DbOptions::default()).unwrap();
        let types =
            ogive::types::RecordType::new(ogive::KeyType::I64, "{a: i64?}".parse::<ogive::types::ValueType>().unwrap());
        drop(db.keyspace("default").unwrap().declare(&types).unwrap());
        db.close().unwrap();
        let unnamed = format!("{store}.unnamed");
        folder.write("row.csv", "key,a\n1,2\n");
        folder.run(&["db", "import", &unnamed, "row.csv"]).exits_with(0);
        let add: Vec<&str> = add.iter().map(|&part| if part == store { &unnamed[..] } else { part }).collect();
        folder.run(&[&["db"], &add[..]].concat()).exits_with(0);
        export(&unnamed, "key,a,b\n1,2,\n3,4,5\n");
    }
    folder.write("xy.csv", "x,y,v\n1,5,a\n");
    folder.write("xyw.csv", "x,y,v,w\n2,6,b,c\n");
    folder.run(&["db", "import", "xy", "xy.csv", "--key", "x", "--key", "y"]).exits_with(0);
    let add = ["db", "import", "xy", "xyw.csv", "--key", "y", "--key", "x", "--add-columns"];
    folder.run(&add).exits_with(1).complains_of("are by x, y, not by y, x");
    export("xy", "x,y,v\n1,5,a\n");
    // Nor are the default names of columns taken by place.
    let db = ogive::Db::open(folder.path("pairs"), &ogive::DbOptions::default()).unwrap();
    db.keyspace("default").unwrap().typed::<(u64, u64), u8>().unwrap().insert((1, 5), 7).unwrap();
    db.close().unwrap();
    folder.write("pairs.csv", "key2,key1,value\n6,2,8\n");
    folder.run(&["db", "import", "pairs", "pairs.csv", "--key", "key2", "--key", "key1"]).exits_with(1);
    folder.run(&["db", "import", "pairs", "pairs.csv"]).exits_with(0);
    export("pairs", "key1,key2,value\n1,5,7\n2,6,8\n");
}
