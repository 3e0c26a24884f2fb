//! Detection of the inputs of a join, and its error messages. Method: whole runs over small stores and files.

use super::run::{Folder, Run, sosd, uneven_keys};
use serde_json::json;

fn join(folder: &Folder, arguments: &[&str]) -> Run {
    folder.run(&[&["join"], arguments].concat())
}

#[test]
fn keys_of_a_store_that_are_numbers_stay_numbers() {
    let folder = Folder::new();
    let keys = uneven_keys(300);
    folder.write("keys.u64", sosd(&keys));
    folder.write("some.u64", sosd(&keys[10..20]));
    folder.build("some.u64", "some.ogive", &["--payload", "8"]);
    folder.run(&["db", "import", "s", "keys.u64", "--payload", "8"]).exits_with(0);
    let expected: Vec<String> = keys[10..20].iter().map(u64::to_string).collect();
    for (name, sides, kind) in [
        ("left.ogive", ["s", "some.ogive"], "inner"),
        ("right.ogive", ["some.ogive", "s"], "inner"),
        ("semi.ogive", ["s", "some.ogive"], "semi"),
        ("file.ogive", ["s", "some.u64"], "left"),
    ] {
        join(&folder, &[sides[0], sides[1], "-o", name, "--kind", kind]).exits_with(0);
        let told = folder.run(&["explain", name, "--json"]).exits_with(0).json();
        assert_eq!(told["key_type"], json!("u64"), "{name}: {told}");
        let first = folder.run(&["get", name, &expected[0]]);
        assert!(first.exits_with(0).stdout.len() > 1, "{name}");
    }
    let shown = folder.run(&["scan", "left.ogive", "--json"]).exits_with(0).json_lines();
    let found: Vec<String> = shown.iter().map(|row| row["key"].to_string()).collect();
    assert_eq!(found, expected);
    // A key written as bytes is not a number, whatever `--keys` says.
    folder.run(&["db", "put", "bytes", "five5", "1"]).exits_with(0);
    folder.run(&["db", "put", "bytes", "eight888", "1"]).exits_with(0);
    join(&folder, &["bytes", "some.ogive", "-o", "-", "--key-type", "u64"]).exits_with(1).complains_of("u64");
    join(&folder, &["some.ogive", "bytes", "-o", "-"]).exits_with(0).prints("");
}

#[test]
fn a_file_without_rows_is_an_empty_relation() {
    let folder = Folder::new();
    folder.write("rows.csv", "key,value\na,1\nb,2\n");
    folder.write("header.csv", "key,value\n");
    folder.write("nothing.csv", "");
    folder.write("nothing.txt", "");
    folder.write("none.u64", sosd(&[]));
    folder.write("keys.u64", sosd(&[1, 2]));
    let columns = ["--left-value", "value", "--right-value", "value"];
    let run = |sides: [&str; 2], kind| join(&folder, &[&sides[..], &["-o", "-", "--kind", kind], &columns].concat());
    assert_eq!(run(["rows.csv", "header.csv"], "inner").exits_with(0).stdout, "");
    let anti = run(["rows.csv", "header.csv"], "anti").exits_with(0).stdout;
    assert!(anti.starts_with("a\t1\nb\t2\n"), "{anti}");
    assert_eq!(run(["header.csv", "rows.csv"], "left").exits_with(0).stdout, "");
    assert_eq!(run(["header.csv", "header.csv"], "left").exits_with(0).stdout, "");
    // Without a header there is no telling what its columns are.
    for sides in [["rows.csv", "nothing.csv"], ["nothing.csv", "rows.csv"], ["nothing.csv", "nothing.csv"]] {
        run(sides, "left").exits_with(1).complains_of("nothing.csv contains no records");
        let numbered = ["--left-value", "2", "--right-value", "2", "--no-header"];
        let bare = join(&folder, &[&sides[..], &["-o", "-"], &numbered].concat());
        bare.exits_with(1).complains_of("nothing.csv contains no records");
    }
    join(&folder, &["rows.csv", "nothing.txt", "-o", "-", "--kind", "semi"]).exits_with(0).prints("");
    join(&folder, &["keys.u64", "none.u64", "-o", "-", "--kind", "anti"]).exits_with(0).prints("1\n2\n");
    join(&folder, &["keys.u64", "nothing.txt", "-o", "-", "--kind", "anti"]).exits_with(0).prints("1\n2\n");
    join(&folder, &["nothing.txt", "keys.u64", "-o", "out.ogive"]).exits_with(0);
    folder.run(&["scan", "out.ogive"]).exits_with(0).prints("");
}

#[test]
fn standard_output_by_its_name_is_refused_with_a_hint_that_is_true() {
    let folder = Folder::new();
    folder.write("rows.csv", "key,value\na,1\n");
    folder.run(&["db", "put", "s", "a", "1"]).exits_with(0);
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let run = join(&folder, &["rows.csv", "rows.csv", "-o", name]).exits_with(1);
        let run = run.complains_of("not a regular file").complains_of("- for standard output");
        assert!(run.stdout.is_empty() && !run.stderr.contains("remove it"), "{}", run.stderr);
    }
    let run = folder.run(&["build", "rows.csv", "-o", "/dev/stdout"]).exits_with(1).complains_of("not a regular file");
    assert!(run.stdout.is_empty());
}

#[test]
fn a_join_without_memory_for_a_row_names_its_option_and_an_amount_that_suffices() {
    let folder = Folder::new();
    let long = "x".repeat(1_500_000);
    folder.write("long.csv", format!("key,value\na,{long}\nb,{long}\n"));
    folder.write("short.csv", "key,value\na,1\n");
    // The longest row is the last one, and has a key with others.
    let lines = |length: usize| format!("b,{}\n", &long[..length]);
    let rising: String = [1_000, 40_000, 300_000, 600_000].map(lines).concat();
    folder.write("rising.csv", format!("key,value\n{rising}"));
    folder.build("long.csv", "long.ogive", &[]);
    let sides = [
        ["long.csv", "short.csv"],
        ["short.csv", "long.csv"],
        ["long.csv", "long.csv"],
        ["rising.csv", "short.csv"],
        ["rising.csv", "long.csv"],
        ["long.csv", "rising.csv"],
    ];
    for [left, right] in sides {
        for flags in [&[][..], &["--kind", "full"], &["--kind", "anti"], &["--method", "hash", "--any-order"]] {
            let run = |memory: &str| {
                let arguments = [left, right, "-o", "out.ogive", "--force", "--on", "key", "--memory", memory];
                join(&folder, &[&arguments[..], flags].concat())
            };
            let short = run("1MiB");
            let short = short.exits_with(1).keeps_quiet_about("Options::").keeps_quiet_about("`");
            let hint = short.stderr.split("raise --memory to ").nth(1).unwrap_or_else(|| panic!("{}", short.stderr));
            let memory = hint.split([' ', '\n', ',']).next().unwrap();
            let bytes: u64 = memory.parse().unwrap();
            assert!(bytes < 150 << 20, "{left} {right}: {bytes}");
            run(memory).exits_with(0);
        }
    }
    // What sorts leave for merging is not known before, nor are the rows of a table before they are read.
    for (sides, flags) in
        [(["long.csv", "rising.csv"], &["--method", "merge"][..]), (["long.ogive", "long.ogive"], &[])]
    {
        let mut memory = "1MiB".to_owned();
        for step in 0..3 {
            let arguments = [sides[0], sides[1], "-o", "out.ogive", "--force", "--on", "key", "--memory", &memory];
            let run = join(&folder, &[&arguments[..], flags].concat());
            if !run.stderr.contains("error:") {
                run.exits_with(0);
                break;
            }
            assert!(step < 2, "{sides:?}: {}", run.stderr);
            let hint = run.stderr.split("raise --memory to ").nth(1).unwrap_or_else(|| panic!("{}", run.stderr));
            memory = hint.split([' ', '\n', ',']).next().unwrap().to_owned();
        }
    }
}

#[test]
fn a_side_without_records_joins_keys_of_any_type() {
    let folder = Folder::new();
    folder.write("none.csv", "id,name\n");
    folder.write("rows.csv", "id,price\n1,7\n2,8\n");
    folder.build("none.csv", "none.ogive", &["--key", "id"]);
    folder.build("rows.csv", "rows.ogive", &["--key", "id"]);
    folder.run(&["index", "create", "none.ogx", "--key-type", "date"]).exits_with(0);
    for none in ["none.csv", "none.ogive", "none.ogx"] {
        for rows in ["rows.ogive", "rows.csv"] {
            join(&folder, &[none, rows, "-o", "-"]).exits_with(0).prints("");
            join(&folder, &[rows, none, "-o", "-", "--kind", "semi"]).exits_with(0).prints("");
            join(&folder, &[rows, none, "-o", "-", "--kind", "anti"]).exits_with(0).prints("1\t7\n2\t8\n");
            let full = join(&folder, &[none, rows, "-o", "-", "--kind", "full", "--json"]).exits_with(0).json_lines();
            assert_eq!((full.len(), &full[0]["price"]), (2, &json!(7)), "{none} {rows}: {full:?}");
            let left = join(&folder, &[rows, none, "-o", "out.ogive", "--kind", "left"]).exits_with(0);
            assert!(left.stdout.contains("2 rows"), "{none} {rows}: {}", left.stdout);
        }
        let told = folder.run(&["explain", "out.ogive", "--json"]).exits_with(0).json();
        assert!(told["records"] == 2, "{none}: {told}");
    }
    // Sides with records keep to one type.
    folder.write("words.csv", "id,name\na,b\n");
    folder.build("words.csv", "words.ogive", &["--key", "id"]);
    join(&folder, &["words.ogive", "rows.ogive", "-o", "-"]).exits_with(1).complains_of("of type");
}
