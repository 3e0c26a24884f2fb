//! Columns of inputs: nulls in keys of one column, zones, columns that are named twice, and what the messages about
//! values of a wrong type advise. Method: whole runs on small files.

use super::run::{Folder, sosd};

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
    folder.run(&["export", "s", "-"]).exits_with(0).prints("k,v\n\"\",y\n1,z\n,x\n");
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
        folder.run(&refused).exits_with(1).complains_of("key column 'k': ").complains_of("'(i64?)'");
    }
}

#[test]
fn a_null_key_is_named_and_the_hint_on_it_works_as_it_is_printed() {
    let folder = Folder::new();
    folder.write("one.csv", "k,v\n1,a\n,b\n");
    folder.write("one.jsonl", "{\"k\": 1, \"v\": \"a\"}\n{\"k\": null, \"v\": \"b\"}\n");
    folder.write("two.csv", "k,j,v\n1,1,a\n,2,b\n");
    let mut cases = vec![
        ("one.csv", vec!["--key-type", "u64"]),
        ("one.csv", vec!["--type", "k=u64?"]),
        ("one.csv", vec!["--type", "k=i64", "--key", "k"]),
        ("one.jsonl", vec![]),
        ("one.jsonl", vec!["--type", "k=u64?"]),
        ("one.jsonl", vec!["--key-type", "text"]),
        ("two.csv", vec!["--key", "k", "--key", "j", "--key-type", "(u64, u64 desc)"]),
        ("two.csv", vec!["--key", "j", "--key", "k", "--type", "k=u64"]),
    ];
    if cfg!(feature = "parquet") {
        folder.build("two.csv", "two.ogive", &["--key", "v", "--key-type", "text"]);
        folder.run(&["export", "two.ogive", "two.parquet"]).exits_with(0);
        cases.push(("two.parquet", vec!["--key", "k"]));
        cases.push(("two.parquet", vec!["--key", "k", "--type", "k=u64?"]));
        cases.push(("two.parquet", vec!["--key", "k", "--key", "j", "--key-type", "(u64, u64)"]));
    }
    for (input, given) in cases {
        let build = [&["build", input, "-o", "t.ogive", "--force"], &given[..]].concat();
        let run = folder.run(&build).exits_with(1).complains_of("key column 'k': ").complains_of(" null");
        assert!(run.stderr.contains("in record 2 of "), "{}", run.stderr);
        let hint = run.stderr.split("hint: read nulls in keys with --key-type '").nth(1);
        let hint = hint.and_then(|hint| hint.split('\'').next()).unwrap_or_else(|| panic!("{}", run.stderr)).to_owned();
        assert!(!given.contains(&&hint[..]), "{given:?}: {hint}");
        let others = match given.iter().position(|word| *word == "--key-type") {
            Some(at) => [&given[..at], &given[at + 2..]].concat(),
            None => given.clone(),
        };
        folder.build(input, "t.ogive", &[&["--force", "--key-type", &hint], &others[..]].concat());
        assert!(folder.run(&["count", "t.ogive"]).exits_with(0).stdout == "2\n", "{hint}");
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

#[test]
fn a_column_that_is_named_twice_is_refused() {
    let folder = Folder::new();
    folder.write("rows.csv", "city,day,price\nA,1,2\n");
    for (flags, words) in [
        (&["--key", "day", "--key", "day"][..], "--key names column 'day' twice"),
        (&["--key", "day", "--key", "2"], "--key names column 'day' twice"),
        (&["--value", "price", "--value", "price"], "--value names column 'price' twice"),
        (&["--key", "city", "--value", "city"], "column 'city' is named by --key and by --value"),
    ] {
        for command in [&["build", "rows.csv", "-o", "t"][..], &["db", "import", "s", "rows.csv"]] {
            folder.run(&[command, flags].concat()).exits_with(2).complains_of(words);
        }
    }
    let join = ["join", "rows.csv", "rows.csv", "-o", "-", "--left-key", "day", "--left-key", "day"];
    folder.run(&join).exits_with(2).complains_of("--left-key names column 'day' twice");
    assert_eq!(folder.names(), ["rows.csv"]);
}

#[test]
fn columns_without_names_of_their_own_are_asked_for_by_those_that_they_get() {
    let folder = Folder::new();
    folder.write("rows.csv", "a,,a\n1,x,7\n2,y,8\n");
    folder.build("rows.csv", "t.ogive", &["--key", "a_2", "--value", "column2"]);
    folder.run(&["export", "t.ogive", "-"]).exits_with(0).prints("column2,a_2\nx,7\ny,8\n");
    let typed = ["--key", "a_2", "--type", "a_2=u8", "--type", "column2=text?"];
    folder.run(&[&["db", "import", "s", "rows.csv"][..], &typed].concat()).exits_with(0);
    // They are found by the names that the keyspace has.
    folder.run(&["db", "import", "s", "rows.csv"]).exits_with(0);
    folder.run(&["export", "s", "-"]).exits_with(0).prints("a,column2,a_2\n1,x,7\n2,y,8\n");
    let none = ["build", "rows.csv", "-o", "u.ogive", "--key", "b"];
    folder.run(&none).exits_with(1).complains_of("'a', 'column2', 'a_2'");
}

#[test]
fn a_type_that_is_given_twice_is_refused() {
    let folder = Folder::new();
    folder.write("rows.csv", "k,v\n1,2\n");
    for twice in [["v=u8", "v=text"], ["v=u8", "v=u8"], ["2=u8", "v=text"]] {
        let [one, other] = twice;
        let build = ["build", "rows.csv", "-o", "t", "--type", one, "--type", other];
        folder.run(&build).exits_with(2).complains_of("--type gives the type of column 'v' twice");
    }
    if cfg!(feature = "parquet") {
        folder.build("rows.csv", "t.ogive", &[]);
        std::fs::create_dir_all(folder.path("d/month=01")).unwrap();
        folder.run(&["export", "t.ogive", "d/month=01/a.parquet"]).exits_with(0);
        let build = ["build", "d", "--external", "--key", "k", "-o", "i", "--partition", "month=i64"];
        let run = folder.run(&[&build[..], &["--partition", "month=text"]].concat());
        run.exits_with(2).complains_of("--partition gives the type of column 'month' twice");
        folder.run(&build).exits_with(0);
    }
}

#[test]
fn quoted_fields_of_tsv_are_told_that_they_are_read_with_quotes_as_characters() {
    let folder = Folder::new();
    let quoted = ["--quote", "\""];
    folder.write("rows.tsv", "k\tv\n1\t\"a b\"\n");
    let run = folder.build("rows.tsv", "t.ogive", &["--force"]);
    run.complains_of("note: rows.tsv has fields that begin with quotes").complains_of("--quote '\"'");
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("1\t\"a b\"\n");
    folder.build("rows.tsv", "t.ogive", &[&quoted[..], &["--force"]].concat()).keeps_quiet_about("quote");
    folder.write("tab.tsv", "k\tv\n1\t\"a\tb\"\n");
    let build = ["build", "tab.tsv", "-o", "t.ogive", "--force"];
    let run = folder.run(&build).exits_with(1).complains_of("has 3 fields");
    run.complains_of("--quote '\"' reads fields in quotes");
    folder.run(&[&build[..], &quoted].concat()).exits_with(0);
    folder.write("plain.tsv", "k\tv\n1\t5\" disk\n");
    folder.build("plain.tsv", "t.ogive", &["--force"]).keeps_quiet_about("quote");
    folder.write("plain.tsv", "k\tv\n1\t5\t6\n");
    folder.run(&["build", "plain.tsv", "-o", "t.ogive", "--force"]).exits_with(1).keeps_quiet_about("quote");
}

#[test]
fn a_wrong_value_for_a_typed_column_of_a_keyspace_is_not_advised_to_change_its_type() {
    let folder = Folder::new();
    folder.write("first.csv", "id,d\n1,2024-01-01\n");
    folder.run(&["db", "import", "s", "first.csv"]).exits_with(0);
    let import = |content: &str| {
        folder.write("more.csv", content);
        folder.run(&["db", "import", "s", "more.csv"]).exits_with(1).keeps_quiet_about("--type")
    };
    import("id,d\n2,soon\n").complains_of("column 'd': 'soon'").complains_of("the keyspace has this type");
    import("id,d\n2,\n").complains_of("column 'd': ''").complains_of("another keyspace");
    import("id,d\nx,2024-01-02\n").complains_of("the keyspace has this type").keeps_quiet_about("--key-type");
    folder.run(&["index", "create", "i.ogx", "--key-type", "u64", "--value-type", "{d: date}"]).exits_with(0);
    let load = |content: &str, code| {
        folder.write("more.csv", content);
        folder.run(&["index", "load", "i.ogx", "more.csv"]).exits_with(code).keeps_quiet_about("keyspace")
    };
    load("id,d\n2,soon\n", 1).complains_of("the index has this type").keeps_quiet_about("--type");
    load("id,d\nx,2024-01-02\n", 1).complains_of("the index has this type").keeps_quiet_about("--key-type");
    load("id,d,e\n2,2024-01-02,x\n", 2).complains_of("rows of the index are").keeps_quiet_about("--add-columns");
    load("id,e\n2,x\n", 2).keeps_quiet_about("--add-columns");
}

#[test]
fn notes_on_numbers_that_became_text_name_the_culprit_and_are_few() {
    let folder = Folder::new();
    for rows in ["9007199254740993\n1.5\n", "1.5\n9007199254740993\n"] {
        folder.write("v.csv", format!("v\n{rows}"));
        let run = folder.build("v.csv", "t.ogive", &[]);
        run.complains_of("is '9007199254740993', which f64 cannot hold").keeps_quiet_about("'1.5'");
    }
    folder.write("big.csv", "k\n9007199254740993\n");
    folder.write("half.csv", "k\n15e-1\n");
    let run = folder.run(&["join", "half.csv", "big.csv", "-o", "t.ogive"]).exits_with(0);
    run.complains_of("record 1 of big.csv is '9007199254740993', which f64 cannot hold");
    let line = |field: &str| vec![field; 14].join(",");
    let names: Vec<String> = (0..14).map(|number| format!("c{number}")).collect();
    folder.write("wide.csv", format!("{}\n{}\n{}\n", names.join(","), line("1"), line("x")));
    let run = folder.build("wide.csv", "t.ogive", &[]).complains_of("column 'c9'").complains_of("and 4 more columns");
    let run = run.keeps_quiet_about("column 'c10'");
    assert_eq!(run.stderr.matches("note: ").count(), 11, "{}", run.stderr);
}

#[test]
fn advice_on_a_wrong_key_fits_columns_and_lines() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,v\n1,a\nx,b\n");
    folder.write("empty.csv", "id,v\n1,a\n,b\n");
    folder.write("lines.txt", "1\nx\n");
    let build = |input: &str| folder.run(&["build", input, "-o", "t", "--key-type", "u64"]).exits_with(1);
    build("rows.csv").complains_of("--key-type, such as text").keeps_quiet_about("fits any line");
    build("empty.csv").complains_of("--key-type '(u64?)'").keeps_quiet_about("fits any line");
    build("lines.txt").complains_of("`bytes` fits any line");
}

#[test]
fn keys_without_values_say_so_and_take_none() {
    let folder = Folder::new();
    folder.write("ids.csv", "id\n3\n1\n2\n");
    let import = ["db", "import", "s", "ids.csv", "--key-type", "u64"];
    let told = folder.run(&import).exits_with(0).stdout;
    assert!(told.contains("types: u64 -> {}"), "{told}");
    folder.run(&import).exits_with(0);
    folder.run(&["export", "s", "-"]).exits_with(0).prints("id\n1\n2\n3\n");
    folder.run(&["db", "put", "s", "4", "four"]).exits_with(2).complains_of("keys alone");
    folder.run(&["db", "put", "s", "4", ""]).exits_with(0);
    folder.build("ids.csv", "t.ogive", &["--key-type", "u64"]);
    folder.run(&["db", "ingest", "s", "t.ogive"]).exits_with(0);
    folder.run(&["export", "s", "t2.ogive"]).exits_with(0);
    folder.run(&["export", "t2.ogive", "-"]).exits_with(0).prints("id\n1\n2\n3\n4\n");
    // Values that any option brings are refused; keys from files of all formats are taken.
    folder.run(&["db", "import", "s", "ids.csv", "--payload", "8"]).exits_with(2).complains_of("keys alone");
    folder.write("values.csv", "id,v\n9,x\n");
    let values = ["db", "import", "s", "values.csv", "--value", "v", "--value-type", "bytes"];
    folder.run(&values).exits_with(2).complains_of("keys alone");
    folder.build("values.csv", "values.ogive", &["--key-type", "u64", "--value", "v", "--value-type", "bytes"]);
    folder.run(&["db", "ingest", "s", "values.ogive"]).exits_with(2).complains_of("keys alone");
    folder.write("lines.txt", "5\n");
    folder.write("six.u64", sosd(&[6]));
    folder.write("seven.jsonl", "{\"id\": 7}\n");
    folder.build("lines.txt", "lines.ogive", &["--key-type", "u64"]);
    for import in [
        ["import", "s", "lines.txt"],
        ["import", "s", "six.u64"],
        ["import", "s", "seven.jsonl"],
        ["ingest", "s", "lines.ogive"],
    ] {
        folder.run(&[&["db"][..], &import].concat()).exits_with(0);
        folder.run(&["db", "put", "s", "5", "five"]).exits_with(2).complains_of("keys alone");
    }
    folder.run(&["export", "s", "-"]).exits_with(0).prints("id\n1\n2\n3\n4\n5\n6\n7\n");
    // A new keyspace gets values where they are asked for.
    for input in ["ids.csv", "six.u64"] {
        let import = ["db", "import", "s", input, "--payload", "8", "--keyspace", input];
        let told = folder.run(&import).exits_with(0).stdout;
        assert!(told.contains("types: u64 -> bytes"), "{told}");
    }
}

#[test]
fn keys_alone_empty_no_values() {
    let folder = Folder::new();
    folder.write("k.csv", "id\n1\n");
    folder.write("k.jsonl", "{\"id\": 1}\n");
    folder.write("k.txt", "1\n");
    folder.write("k.u64", sosd(&[1]));
    folder.write("two.csv", "id,v\n1,x\n");
    folder.build("k.csv", "k.ogive", &["--key-type", "u64"]);
    folder.build("k.txt", "lines.ogive", &["--key-type", "u64"]);
    for (values, value) in [("bytes", "val"), ("text", "val"), ("i64", "7")] {
        let store = format!("s_{values}");
        folder.write("start.csv", format!("id,value\n1,{value}\n"));
        let start = ["db", "import", &store, "start.csv", "--key-type", "u64", "--value-type", values];
        folder.run(&start).exits_with(0);
        for file in ["k.csv", "k.jsonl", "k.txt", "k.u64"] {
            folder.run(&["db", "import", &store, file]).exits_with(2).complains_of("keys alone");
        }
        let keys_only = ["db", "import", &store, "two.csv", "--keys-only"];
        folder.run(&keys_only).exits_with(2).complains_of("keys alone");
        for table in ["k.ogive", "lines.ogive"] {
            folder.run(&["db", "ingest", &store, table]).exits_with(1).complains_of("keys alone");
        }
        folder.run(&["get", &store, "1"]).exits_with(0).prints(&format!("{value}\n"));
    }
    // Nor do they if they come with a table of values, whichever is first.
    folder.write("value.csv", "id,value\n1,val\n");
    folder.build("value.csv", "values.ogive", &["--key-type", "u64", "--value", "value", "--value-type", "bytes"]);
    for tables in [["values.ogive", "k.ogive"], ["k.ogive", "values.ogive"]] {
        folder.run(&[&["db", "ingest", "both"], &tables[..]].concat()).exits_with(1).complains_of("unlike those");
    }
    assert!(!folder.path("both").exists());
    // Empty values are asked for.
    folder.run(&["db", "import", "s_bytes", "k.txt", "--payload", "0"]).exits_with(0);
    folder.run(&["scan", "s_bytes", "--json"]).exits_with(0).prints("{\"id\":1,\"value\":\"\"}\n");
}

#[test]
fn values_that_a_keyspace_does_not_take_are_named_as_such() {
    let folder = Folder::new();
    folder.write("keys.csv", "key\n5\n6\n");
    folder.write("values.csv", "key,v\n5,1\n");
    folder.run(&["db", "import", "s", "keys.csv"]).exits_with(0);
    let refused = folder.run(&["db", "import", "s", "values.csv"]).exits_with(1);
    let refused = refused.complains_of("are keys alone, and these have values of type {v: u64}");
    refused.complains_of("another keyspace for other values");
    let long = "x".repeat((1 << 20) + 1);
    folder.write("long.csv", format!("key,value\n1,short\n2,{long}\n"));
    folder.build("long.csv", "long.ogive", &["--value-type", "text", "--row-limit", "4MiB"]);
    let refused = folder.run(&["db", "ingest", "t", "long.ogive", "--memory", "1GiB"]).exits_with_error();
    refused.complains_of("write its records instead").keeps_quiet_about("--memory");
}

#[test]
fn a_value_that_ends_a_type_is_told_and_truth_values_of_programs_are_read() {
    let folder = Folder::new();
    folder.write(
        "v.csv",
        "id,d,b,p,q\n1,2024-02-29,True,18410.40,3.15\n2,2024-02-30,False,-0.00,1e2\n3,2024-03-01,,0.10,\n",
    );
    let built = folder.build("v.csv", "v.ogive", &[]);
    for told in [
        "column 'd' is date as far as record 2, which is '2024-02-30', so all of it is text",
        "column 'p' is decimal(18,2) as far as record 2, which is '-0.00', so all of it is f64",
        "column 'q' is decimal(18,2) as far as record 2, which is '1e2', so all of it is f64",
    ] {
        assert!(built.stderr.contains(told), "{told}: {}", built.stderr);
    }
    assert!(built.stdout.contains("b: bool?"), "{}", built.stdout);
    folder.write("k.csv", "day,n\n2024-02-29,1\n,2\n");
    folder.build("k.csv", "k.ogive", &[]).complains_of("is date, but record 2 is empty, so all of it is text");
}
