//! Key types given by name. Method: tables, stores and joins of each new type from text inputs, and their errors.

use super::run::Folder;
use serde_json::json;

#[test]
fn tables_are_built_with_keys_of_each_width_from_text() {
    let folder = Folder::new();
    folder.write("u32.csv", "id,name\n4294967295,last\n7,seven\n 10,ten\n");
    folder.write(
        "i128.txt",
        "0\n-170141183460469231731687303715884105728\n-5\n170141183460469231731687303715884105727\n",
    );
    folder.write("bytes4.csv", "code,name\nefgh,2\nab\\d,1\n");
    folder.build("u32.csv", "u32.ogive", &["--key-type", "u32", "--value", "name"]);
    folder.run(&["scan", "u32.ogive"]).exits_with(0).prints("7\tseven\n10\tten\n4294967295\tlast\n");
    folder.run(&["get", "u32.ogive", "10"]).exits_with(0).prints("ten\n");
    folder.run(&["rank", "u32.ogive", "11"]).exits_with(0).prints("2\n");
    folder.run(&["get", "u32.ogive", "4294967296"]).exits_with(2).complains_of("0 to 4294967295");
    let rows = folder.run(&["scan", "u32.ogive", "--json"]).exits_with(0).json_lines();
    assert_eq!(rows[2], json!({ "id": 4_294_967_295_u32, "name": "last" }));
    folder.build("i128.txt", "i128.ogive", &["--key-type", "i128"]);
    let least_first =
        "-170141183460469231731687303715884105728\t\n-5\t\n0\t\n170141183460469231731687303715884105727\t\n";
    folder.run(&["scan", "i128.ogive"]).exits_with(0).prints(least_first);
    folder.run(&["count", "i128.ogive", "-5", "1"]).exits_with(0).prints("2\n");
    folder.build("bytes4.csv", "bytes4.ogive", &["--key-type", "bytes4", "--value", "name"]);
    folder.run(&["scan", "bytes4.ogive"]).exits_with(0).prints("ab\\\\d\t1\nefgh\t2\n");
    folder.run(&["get", "bytes4.ogive", "ab\\\\d"]).exits_with(0).prints("1\n");
    folder.run(&["get", "bytes4.ogive", "abc"]).exits_with(2).complains_of("4 bytes each");
    for key_type in ["u32", "i128", "bytes4"] {
        let table = format!("{key_type}.ogive");
        let told = folder.run(&["explain", &table, "--json"]).exits_with(0).json();
        assert_eq!(told["key_type"], json!(key_type), "{told}");
        folder.run(&["verify", &table]).exits_with(0);
    }
}

#[test]
fn keys_of_another_type_and_unknown_types_are_refused() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,name\nabc,1\n");
    let build = |key_type| folder.run(&["build", "rows.csv", "-o", "t.ogive", "--key-type", key_type]);
    for key_type in ["u32", "i128", "bytes4"] {
        build(key_type).exits_with(1).complains_of(key_type).complains_of("--key-type");
    }
    for unknown in ["u12", "bytes0", "bytes256", "decimal(4,5)", "(text, colour)"] {
        build(unknown).exits_with(2).complains_of("the key types are bool, u8");
    }
    for key_type in ["(u8, text)", "text", "bytes", "(u128, u8)"] {
        let run = folder.run(&["index", "create", "i.ogx", "--key", key_type]).exits_with(2);
        run.complains_of(key_type).complains_of("bytes1 to bytes16");
    }
    assert_eq!(folder.names(), ["rows.csv"]);
}

const VISITS: &str = "\
user,day,at,amount,id,number
ann,2024-02-29,2024-02-29T12:00:00,1.50,01890a5d-ac96-774b-bcce-b302099a8057,-7
bob,2024-01-01,2024-01-01 00:00,-3.25,01890a5d-ac96-774b-bcce-b302099a8058,2
ann,2023-12-31,1969-12-31T23:59:59.5,0,01890a5d-ac96-774b-bcce-b302099a8059,300
,2024-01-01,2024-05-05,7,01890a5d-ac96-774b-bcce-b302099a8060,0
";

/// Columns with their types, and a key of each in canonical form, in ascending order.
const TYPED: [(&str, &str, [&str; 4]); 5] = [
    (
        "at",
        "timestamp(ms)",
        ["1969-12-31T23:59:59.5", "2024-01-01T00:00:00", "2024-02-29T12:00:00", "2024-05-05T00:00:00"],
    ),
    ("amount", "decimal(6,2)", ["-3.25", "0.00", "1.50", "7.00"]),
    (
        "id",
        "uuid",
        [
            "01890a5d-ac96-774b-bcce-b302099a8057",
            "01890a5d-ac96-774b-bcce-b302099a8058",
            "01890a5d-ac96-774b-bcce-b302099a8059",
            "01890a5d-ac96-774b-bcce-b302099a8060",
        ],
    ),
    ("number", "i16", ["-7", "0", "2", "300"]),
    ("amount", "f32", ["-3.25", "0", "1.5", "7"]),
];

#[test]
fn keys_of_each_type_are_printed_as_they_are_and_found_in_tables_indexes_and_stores() {
    let folder = Folder::new();
    folder.write("visits.csv", VISITS);
    for (index, (column, key_type, keys)) in TYPED.iter().enumerate() {
        let columns = ["--key", column, "--key-type", key_type, "--keys-only"];
        folder.build("visits.csv", "t.ogive", &[&columns[..], &["--force"]].concat());
        let (file, keyspace) = (format!("{index}.ogx"), format!("k{index}"));
        folder.run(&["index", "create", &file, "--key-type", key_type]).exits_with(0);
        folder.run(&["index", "load", &file, "visits.csv", "--key", column, "--keys-only"]).exits_with(0);
        let import = ["db", "import", "s", "visits.csv", "--keyspace", &keyspace];
        folder.run(&[&import[..], &columns].concat()).exits_with(0);
        let places = [&["t.ogive"][..], &[&file], &["s", "--keyspace", &keyspace]];
        for place in places {
            let run = |command: &str, rest: &[&str]| folder.run(&[&[command], place, rest].concat());
            let lines: String = keys.iter().map(|key| format!("{key}\t\n")).collect();
            run("scan", &[]).exits_with(0).prints(&lines);
            run("scan", &["--from", keys[1], "--to", keys[3]])
                .exits_with(0)
                .prints(&format!("{}\t\n{}\t\n", keys[1], keys[2]));
            for key in keys {
                let found = run("get", &[key, "--json"]).exits_with(0).json();
                let shown = &found["key"];
                let shown = shown.as_str().map_or_else(|| shown.to_string(), str::to_owned);
                assert_eq!(shown.trim_end_matches(".0"), *key, "{found}");
            }
            folder.run(&["verify", place[0]]).exits_with(0);
        }
    }
}

#[test]
fn keys_of_several_columns_are_tuples() {
    let folder = Folder::new();
    folder.write("visits.csv", VISITS);
    let columns = ["--key", "user", "--key", "day", "--value", "amount"];
    let types = ["--key-type", "(text? nulls first, date desc)"];
    folder.build("visits.csv", "t.ogive", &[&columns[..], &types].concat());
    let all = ",2024-01-01\t7\nann,2024-02-29\t1.5\nann,2023-12-31\t0\nbob,2024-01-01\t-3.25\n";
    let of_ann = "ann,2024-02-29\t1.5\nann,2023-12-31\t0\n";
    folder
        .run(&["db", "import", "s", "visits.csv"].iter().chain(&columns).chain(&types).copied().collect::<Vec<_>>())
        .exits_with(0);
    for command in [["scan", "t.ogive"].as_slice(), &["scan", "s"]] {
        let scan = |rest: &[&str]| folder.run(&[command, rest].concat()).exits_with(0);
        scan(&[]).prints(all);
        scan(&["--prefix", "ann"]).prints(of_ann);
        scan(&["--from", "ann,2024-02-29", "--to", "bob,2024-01-01"]).prints(of_ann);
        let rows = scan(&["--json"]).json_lines();
        assert_eq!(rows[0], json!({ "user": null, "day": "2024-01-01", "amount": rows[0]["amount"] }));
        assert_eq!(rows[1], json!({ "user": "ann", "day": "2024-02-29", "amount": 1.5 }));
    }
    folder.run(&["get", "t.ogive", "ann,2024-02-29"]).exits_with(0).prints("1.5\n");
    folder.run(&["get", "t.ogive", "ann"]).exits_with(2).complains_of("2 components, separated by commas");
    folder.run(&["verify", "t.ogive"]).exits_with(0);
    // Without types, each column has its own.
    folder.build("visits.csv", "guessed.ogive", &["--key", "number", "--key", "user", "--keys-only"]);
    folder.run(&["scan", "guessed.ogive"]).exits_with(0).prints("-7,ann\t\n0,\t\n2,bob\t\n300,ann\t\n");
    let told = folder.run(&["explain", "guessed.ogive", "--json"]).exits_with(0).json();
    assert_eq!(told["key_type"], json!("(i64, text? nulls last)"));
    // A join by two columns, with a table that has such keys.
    folder.write("prices.csv", "day,user,price\n2024-02-29,ann,10\n2024-01-01,bob,20\n2024-01-01,cid,30\n");
    let sides = ["--right-key", "user", "--right-key", "day", "--right-value", "price"];
    folder
        .run(&[&["join", "t.ogive", "prices.csv", "-o", "-"][..], &sides].concat())
        .exits_with(0)
        .prints("ann,2024-02-29\t1.5\t10\nbob,2024-01-01\t-3.25\t20\n");
    let wrong = ["build", "visits.csv", "-o", "x.ogive", "--key", "user", "--key", "day", "--key-type", "date"];
    folder.run(&wrong).exits_with(2).complains_of("keys of 2 columns are not of type date");
}

#[test]
fn the_help_lists_all_key_types() {
    let folder = Folder::new();
    for arguments in [&["build", "--help"][..], &["join", "--help"], &["db", "import", "--help"]] {
        let help = folder.run(arguments).exits_with(0).stdout;
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("bool, u8 to u128, i8 to i128, f32, f64, text, bytes, bytes1 to bytes255"), "{help}");
    }
}

#[test]
fn a_store_keeps_the_new_types() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,name\n300,c\n2,b\n");
    folder.write("codes.csv", "id,name\nab,c\n\"a,\",b\n");
    let import = |rows, keyspace, key_type| {
        let arguments = ["db", "import", "s", rows, "--value", "name", "--keyspace", keyspace, "--key-type", key_type];
        folder.run(&arguments).exits_with(0);
    };
    import("rows.csv", "ids", "u32");
    import("codes.csv", "codes", "bytes2");
    folder.run(&["scan", "s", "--keyspace", "ids"]).exits_with(0).prints("2\tb\n300\tc\n");
    folder.run(&["get", "s", "300", "--keyspace", "ids"]).exits_with(0).prints("c\n");
    folder.run(&["get", "s", "abc", "--keyspace", "codes"]).exits_with(2).complains_of("2 bytes each");
    folder.run(&["export", "s", "out.csv", "--keyspace", "codes"]).exits_with(0);
    assert_eq!(std::fs::read_to_string(folder.path("out.csv")).unwrap(), "id,name\n\"a,\",b\nab,c\n");
    folder.run(&["export", "s", "ids.ogive", "--keyspace", "ids"]).exits_with(0);
    folder.run(&["scan", "ids.ogive"]).exits_with(0).prints("2\tb\n300\tc\n");
}

#[test]
fn indexes_of_narrow_keys_are_joined_with_files_tables_and_stores() {
    let folder = Folder::new();
    folder.write("ids.csv", "id,name\n7,x\n9,y\n");
    folder.write("other.csv", "id,name\n9,z\n300,u\n");
    folder.write("codes.csv", "id,name\nabc,x\nabd,y\n");
    folder.write("words.csv", "id,name\nab,t\nabd,u\n");
    for (index, key, rows) in [("u32.ogx", "u32", "ids.csv"), ("b3.ogx", "bytes3", "codes.csv")] {
        folder.run(&["index", "create", index, "--key", key, "--value-bytes", "1"]).exits_with(0);
        folder.run(&["index", "load", index, rows, "--value", "name"]).exits_with(0);
    }
    let join =
        |left: &str, right: &str, flags: &[&str]| folder.run(&[&["join", left, right, "-o", "-"], flags].concat());
    let value = &["--right-value", "name"][..];
    join("u32.ogx", "other.csv", value).exits_with(0).prints("9\ty\tz\n");
    join("other.csv", "u32.ogx", &["--left-value", "name"]).exits_with(0).prints("9\tz\ty\n");
    folder.build("other.csv", "u32.ogive", &["--key-type", "u32", "--value", "name"]);
    join("u32.ogx", "u32.ogive", &[]).exits_with(0).prints("9\ty\tz\n");
    folder.build("other.csv", "u64.ogive", &["--value", "name"]);
    join("u32.ogx", "u64.ogive", &[]).exits_with(0).prints("9\ty\tz\n").complains_of("u32");
    // Bytes of one length are compared with those of any.
    join("b3.ogx", "words.csv", value).exits_with(0).prints("abd\ty\tu\n");
    folder.build("words.csv", "words.ogive", &["--key-type", "bytes", "--value", "name"]);
    join("b3.ogx", "words.ogive", &[]).exits_with(0).prints("abd\ty\tu\n");
    // A store of untyped keys, on either side.
    folder.run(&["db", "put", "s", "abd", "s"]).exits_with(0);
    folder.run(&["db", "put", "s", "\\x00\\x00\\x00\\x09", "n", "--keys", "bytes"]).exits_with(0);
    join("b3.ogx", "s", &["--right-from", "ab"]).exits_with(0).prints("abd\ty\ts\n");
    join("s", "b3.ogx", &[]).exits_with(0).prints("abd\ts\ty\n");
    join("u32.ogx", "s", &[]).exits_with(0).prints("9\ty\tn\n");
    join("s", "u32.ogx", &[]).exits_with(0).prints("\\x00\\x00\\x00\\t\tn\ty\n");
}

/// The end of a table says that it is one. Without it, the file must not pass for lines of text.
#[test]
fn a_table_or_an_index_without_its_end_is_not_read_as_text() {
    let folder = Folder::new();
    folder.write("keys.txt", "aa\nbb\ncc\n");
    for key_type in ["bytes2", "bytes", "text"] {
        folder.build("keys.txt", "t.ogive", &["--key-type", key_type, "--force"]);
        let whole = std::fs::read(folder.path("t.ogive")).unwrap();
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        let damaged = [
            whole[..whole.len() - 1].to_vec(),
            whole[..whole.len() / 2].to_vec(),
            [&whole[..], &[7; 21]].concat(),
            flipped,
        ];
        for (number, bytes) in damaged.iter().enumerate() {
            // A part of a table without its marks, under another name, is lines of bytes.
            let names = if number == 1 { &["cut.ogive"][..] } else { &["cut.ogive", "cut"] };
            for &name in names {
                folder.write(name, bytes);
                for command in [
                    &["join", "t.ogive", name, "-o", "-", "--kind", "anti"][..],
                    &["join", name, "t.ogive", "-o", "-", "--kind", "left"],
                    &["build", name, "-o", "again.ogive"],
                    &["db", "import", "d.db", name],
                ] {
                    println!("{key_type}, damage {number}");
                    folder.run(command).exits_with_error();
                }
            }
        }
    }
    folder.run(&["index", "create", "i.ogx", "--key-type", "bytes2"]).exits_with(0);
    folder.run(&["index", "put", "i.ogx", "aa"]).exits_with(0);
    let index = std::fs::read(folder.path("i.ogx")).unwrap();
    folder.write("cut", &index[..3000]);
    folder
        .run(&["join", "t.ogive", "cut", "-o", "-", "--kind", "anti"])
        .exits_with(1)
        .complains_of("is an Ogive index");
}

#[test]
fn keys_are_found_and_bound_ranges_as_they_are_printed() {
    let folder = Folder::new();
    let keys = ["a\tb", "a\nb", "C:\\dir", "C:\\new", "a\\x41", "\u{1}", "plain"];
    let quoted: String = keys.iter().map(|key| format!("\"{key}\",v\n")).collect();
    folder.write("keys.csv", format!("k,v\n{quoted}"));
    folder.build("keys.csv", "t", &["--key-type", "text"]);
    folder.run(&["db", "import", "s", "keys.csv", "--key-type", "text"]).exits_with(0);
    folder.run(&["index", "create", "i", "--key-type", "bytes3", "--value-bytes", "1"]).exits_with(0);
    folder.write("bytes.csv", "k,v\n\"a\tb\",v\n\"\\\\n\",v\n\"a\nb\",v\n");
    folder.run(&["index", "load", "i", "bytes.csv"]).exits_with(0);
    for (name, count) in [("t", 7), ("s", 7), ("i", 3)] {
        let run = |verb: &str, rest: &[&str]| folder.run(&[&[verb, name], rest].concat()).exits_with(0);
        let lines = run("scan", &[]).stdout;
        let shown: Vec<&str> = lines.lines().map(|line| line.split('\t').next().unwrap()).collect();
        assert_eq!(shown.len(), count, "{lines}");
        for (at, key) in shown.iter().enumerate() {
            run("get", &[key]).prints("v\n");
            run("count", &["--from", key]).prints(&format!("{}\n", count - at));
            run("count", &["--to", key]).prints(&format!("{at}\n"));
            run("count", &["--prefix", key]).prints("1\n");
        }
    }
    folder.run(&["scan", "t", "--prefix", "C"]).exits_with(0).prints("C:\\dir\tv\nC:\\\\new\tv\n");
}
