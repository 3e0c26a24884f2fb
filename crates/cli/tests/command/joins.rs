//! Joins of all kinds of inputs by all methods, compared with expected rows; failures leave no files behind. Method:
//! whole runs over small tables, indexes, stores and files, with text on standard output compared line by line.

use super::run::{Folder, Run, sosd, uneven_keys};
use serde_json::json;
use std::io::Read;
use std::process::Stdio;

const COLOURS: &str = "key,value\napple,red\nbanana,yellow\nbanana,green\ncherry,dark\n";
const PRICES: &str = "key,value\nbanana,3\nbanana,4\ncherry,5\ndate,7\n";

fn join(folder: &Folder, arguments: &[&str]) -> Run {
    folder.run(&[&["join"], arguments].concat())
}

/// Lines in an order that does not depend on that of equal keys.
fn sorted(run: &Run) -> Vec<String> {
    let mut lines: Vec<String> = run.stdout.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn fruit() -> Folder {
    let folder = Folder::new();
    folder.write("colours.csv", COLOURS);
    folder.write("prices.csv", PRICES);
    folder.build("colours.csv", "colours.ogive", &["--value", "value"]);
    folder.build("prices.csv", "prices.ogive", &["--value", "value"]);
    folder
}

const INNER: [&str; 5] =
    ["banana\tgreen\t3", "banana\tgreen\t4", "banana\tyellow\t3", "banana\tyellow\t4", "cherry\tdark\t5"];

#[test]
fn every_kind_of_join_gives_what_its_name_says() {
    let folder = fruit();
    let run = |kind| join(&folder, &["colours.ogive", "prices.ogive", "-o", "-", "--kind", kind]).exits_with(0);
    assert_eq!(sorted(&run("inner")), INNER);
    let mut left: Vec<&str> = INNER.to_vec();
    left.insert(0, "apple\tred\t");
    assert_eq!(sorted(&run("left")), left);
    left.push("date\t\t7");
    assert_eq!(sorted(&run("full")), left);
    assert_eq!(sorted(&run("semi")), ["banana\tgreen", "banana\tyellow", "cherry\tdark"]);
    assert_eq!(sorted(&run("anti")), ["apple\tred"]);
}

#[test]
fn a_side_that_takes_more_memory_says_how_much_the_join_takes() {
    let folder = fruit();
    folder.run(&["db", "put", "store", "banana", "3"]).exits_with(0);
    let within = |memory| join(&folder, &["store", "colours.ogive", "-o", "-", "--memory", memory]);
    within("2MiB").exits_with(1).complains_of("raise --memory to 16777216 or more");
    assert_eq!(sorted(&within("16777216").exits_with(0)), ["banana\t3\tgreen", "banana\t3\tyellow"]);
    // The commands on a store name their own option.
    folder.run(&["get", "store", "banana", "--memory", "100000"]).exits_with(1).complains_of("--memory 1MiB");
    folder.run(&["get", "store", "banana", "--memory", "1048576"]).exits_with(0);
}

#[test]
fn a_long_record_is_joined_within_the_memory_that_the_error_names() {
    let folder = fruit();
    folder.write("long.csv", format!("key,text\napple,short\nbanana,{}\n", "x".repeat(3 << 20)));
    folder.build("long.csv", "long.ogive", &[]);
    folder.run(&["db", "import", "long", "long.csv"]).exits_with(0);
    for side in ["long.csv", "long.ogive", "long"] {
        for (left, right) in [(side, "prices.ogive"), ("prices.csv", side)] {
            for method in ["auto", "merge", "hash", "partition"] {
                let mut memory = "2097152".to_owned();
                // A part of a join may fail after another one was given what it takes.
                let run = (0..4).find_map(|_| {
                    let arguments = [left, right, "-o", "-", "--method", method, "--memory", &memory];
                    let run = join(&folder, &arguments);
                    let advice = run.stderr.split("raise --memory to ").nth(1).map(str::to_owned);
                    match advice {
                        Some(advice) => memory = advice.split(' ').next().unwrap().to_owned(),
                        None => return Some(run.exits_with(0)),
                    }
                    None
                });
                let run = run.unwrap_or_else(|| panic!("{left} and {right} by {method}: still too little: {memory}"));
                assert_eq!(run.stdout.lines().count(), 2, "{left} and {right} by {method}");
            }
        }
    }
}

#[test]
fn a_side_may_be_a_table_a_store_or_a_file() {
    let folder = fruit();
    for (name, rows) in [("colours", COLOURS), ("prices", PRICES)] {
        folder.write(&format!("{name}.csv"), rows);
    }
    folder.run(&["db", "put", "store", "banana", "3"]).exits_with(0);
    folder.run(&["db", "put", "store", "cherry", "5"]).exits_with(0);
    let files = ["colours.csv", "prices.csv", "-o", "-", "--left-value", "value", "--right-value", "value"];
    assert_eq!(sorted(&join(&folder, &files).exits_with(0)), INNER);
    let mixed = ["colours.csv", "prices.ogive", "-o", "-", "--left-value", "2"];
    assert_eq!(sorted(&join(&folder, &mixed).exits_with(0)), INNER);
    let from_store = join(&folder, &["store", "colours.ogive", "-o", "-"]).exits_with(0);
    assert_eq!(sorted(&from_store), ["banana\t3\tgreen", "banana\t3\tyellow", "cherry\t5\tdark"]);
    let part = join(&folder, &["store", "colours.ogive", "-o", "-", "--left-from", "c", "--left-to", "d"]);
    assert_eq!(sorted(&part.exits_with(0)), ["cherry\t5\tdark"]);
}

#[test]
fn an_output_has_the_types_that_are_printed_whatever_the_sides_are() {
    let folder = Folder::new();
    for (key_type, rows) in [("text", "a,1\nb,2\n"), ("u64", "1,1\n2,2\n"), ("bytes", "a,1\nb,2\n")] {
        folder.write("rows.csv", format!("key,value\n{rows}"));
        let typed = ["--key-type", key_type];
        folder.run(&[&["db", "import", key_type, "rows.csv"], &typed[..]].concat()).exits_with(0);
        folder.build("rows.csv", &format!("{key_type}.ogive"), &typed);
        let table = format!("{key_type}.ogive");
        for (left, right) in [(key_type, key_type), (key_type, &*table), (&*table, key_type)] {
            for kind in ["inner", "full", "anti"] {
                let joined = |output: &str| {
                    let run = join(&folder, &[left, right, "-o", output, "--kind", kind, "--force"]).exits_with(0);
                    run.stdout.lines().find_map(|line| line.strip_prefix("types: ").map(str::to_owned)).unwrap()
                };
                let printed = joined("out.ogive");
                assert!(printed.starts_with(&format!("{key_type} -> {{value: u64")), "{printed}");
                let info = folder.run(&["info", "out.ogive"]).exits_with(0);
                assert!(info.stdout.contains(&format!(" of {printed}, ")), "{printed}: {}", info.stdout);
                if cfg!(feature = "parquet") {
                    let printed = joined("out.parquet");
                    let built = folder.build("out.parquet", "built.ogive", &[]);
                    assert!(built.stdout.contains(&printed), "{printed}: {}", built.stdout);
                }
            }
        }
    }
    // Keys of bytes are compared with text, and stay what they are.
    folder.run(&["db", "put", "untyped", "b", "3"]).exits_with(0);
    let run = join(&folder, &["untyped", "text.ogive", "-o", "out.ogive", "--force"]).exits_with(0);
    assert!(run.stdout.contains("types: bytes -> "), "{}", run.stdout);
    let info = folder.run(&["info", "out.ogive"]).exits_with(0);
    assert!(info.stdout.contains(" of bytes -> "), "{}", info.stdout);
}

#[test]
fn a_side_without_rows_gives_an_empty_or_an_outer_result() {
    let folder = fruit();
    folder.write("numbers.csv", "id,part,name\n10,x,ten\n9,y,nine\n");
    folder.write("header.csv", "id,part,name\n");
    folder.write("nothing.txt", "");
    folder.build("numbers.csv", "numbers.ogive", &["--key", "id", "--value", "name"]);
    folder.run(&["index", "create", "nothing.ogx", "--value-bytes", "8"]).exits_with(0);
    folder.run(&["db", "put", "store", "x", "1"]).exits_with(0);
    folder.run(&["db", "delete", "store", "x"]).exits_with(0);
    let empty = ["-o", "nothing.ogive", "--kind", "semi"];
    join(&folder, &[&["numbers.ogive", "nothing.txt"][..], &empty].concat()).exits_with(0);
    let sides = ["header.csv", "nothing.txt", "nothing.ogx", "nothing.ogive", "store", "/dev/null", "-"];
    for side in sides {
        let run = |left: &str, right: &str, kind| {
            let are_files = left.ends_with(".csv") && right.ends_with(".csv");
            let on = if are_files { &["--on", "id"][..] } else { &[] };
            join(&folder, &[&[left, right, "-o", "-", "--kind", kind], on].concat()).exits_with(0)
        };
        // The fields of the empty side differ, but not the keys and the fields of the other one.
        let rows = |run: Run| {
            let fields = run.stdout.lines().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
            let fields: Vec<Vec<String>> = fields.collect();
            assert!(fields.iter().all(|row| row.len() == fields[0].len()), "{fields:?}");
            let name = |row: &Vec<String>| row.iter().any(|field| ["nine", "ten"].contains(&&**field));
            assert!(fields.iter().all(name), "{fields:?}");
            fields.into_iter().map(|row| row[0].clone()).collect::<Vec<_>>()
        };
        for kind in ["inner", "left", "full", "semi", "anti"] {
            let of_right: &[&str] = if kind == "full" { &["9", "10"] } else { &[] };
            assert_eq!(rows(run(side, "numbers.ogive", kind)), of_right, "{side} {kind}");
            // Standard input can be read only once.
            if side != "-" {
                run(side, side, kind).prints("");
            }
            let of_left: &[&str] = if ["left", "full", "anti"].contains(&kind) { &["9", "10"] } else { &[] };
            assert_eq!(rows(run("numbers.ogive", side, kind)), of_left, "{side} {kind}");
        }
        run("numbers.ogive", side, "anti").prints("9\tnine\n10\tten\n");
    }
    // Keys of two columns on the other side: the empty file has no type that it could force on them.
    for side in ["header.csv", "nothing.txt", "-"] {
        let two = ["-o", "-", "--kind", "left", "--right-key", "id", "--right-key", "part"];
        join(&folder, &[&[side, "numbers.csv"], &two[..]].concat()).exits_with(0).prints("");
    }
}

#[test]
fn an_index_is_a_side_too() {
    let folder = Folder::new();
    let keys = uneven_keys(2000);
    folder.write("keys.u64", sosd(&keys));
    folder.write("some.u64", sosd(&keys[500..510]));
    folder.run(&["index", "create", "i.ogx", "--value-bytes", "8"]).exits_with(0);
    folder.run(&["index", "load", "i.ogx", "keys.u64", "--payload", "8"]).exits_with(0);
    let expected: Vec<String> = keys[500..510].iter().map(u64::to_string).collect();
    for method in ["auto", "merge", "inlj:index"] {
        let run = join(&folder, &["some.u64", "i.ogx", "-o", "-", "--method", method]).exits_with(0);
        let found: Vec<&str> = run.stdout.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(found, expected, "{method}");
    }
}

#[test]
fn the_output_is_a_table_a_text_or_plain_records() {
    let folder = Folder::new();
    folder.write("a.u64", sosd(&[1, 2, 3]));
    folder.write("b.u64", sosd(&[2, 3, 4]));
    for name in ["a", "b"] {
        folder.build(&format!("{name}.u64"), &format!("{name}.ogive"), &["--payload", "8"]);
    }
    let report = join(&folder, &["a.ogive", "b.ogive", "-o", "both.ogive", "--json"]).exits_with(0).json();
    assert_eq!(report["rows"], 2);
    for name in ["planning", "loading", "reading", "joining", "writing"] {
        assert!(report["seconds"][name].is_f64(), "{name}: {report}");
    }
    for name in ["predicted_us", "bytes_read", "requests", "peak_memory_bytes"] {
        assert!(report[name].is_number(), "{name}: {report}");
    }
    assert!(report["method"].is_string(), "{report}");
    folder.run(&["verify", "both.ogive"]).exits_with(0);
    folder.run(&["count", "both.ogive"]).exits_with(0).prints("2\n");
    join(&folder, &["a.ogive", "b.ogive", "-o", "both.ogive"]).exits_with(0);
    join(&folder, &["a.u64", "b.u64", "-o", "both.tsv", "--to", "text"]).exits_with(0);
    assert_eq!(std::fs::read_to_string(folder.path("both.tsv")).unwrap(), "2\n3\n");
    join(&folder, &["a.ogive", "b.ogive", "-o", "both.bin", "--to", "records"]).exits_with(0);
    assert_eq!(std::fs::metadata(folder.path("both.bin")).unwrap().len(), 2 * 24);
    assert_eq!(folder.names(), ["a.ogive", "a.u64", "b.ogive", "b.u64", "both.bin", "both.ogive", "both.tsv"]);
}

#[test]
fn rows_in_json_have_one_shape_and_no_report_behind_them() {
    let folder = fruit();
    let run = |kind, flags: &[&str]| {
        let named = ["colours.ogive", "prices.ogive", "-o", "-", "--json", "--kind", kind];
        join(&folder, &[&named[..], flags].concat()).exits_with(0)
    };
    for flags in [&[][..], &["--explain"]] {
        let full = run("full", flags);
        assert!(full.stderr.contains("7 rows by"), "{}", full.stderr);
        let lines = full.json_lines();
        assert_eq!(lines.len(), 7);
        assert_eq!(lines[0], json!({ "key": "apple", "value": "red", "right_value": null }));
        assert_eq!(lines[6], json!({ "key": "date", "value": null, "right_value": 7 }));
        assert!(lines.iter().all(|line| line.as_object().unwrap().len() == 3), "{lines:?}");
    }
    assert_eq!(run("anti", &[]).json_lines(), [json!({ "key": "apple", "value": "red" })]);
}

#[test]
fn the_name_of_the_output_determines_its_format() {
    let folder = fruit();
    let named = |name| ["colours.ogive", "prices.ogive", "--kind", "full", "-o", name];
    for (name, to, separator) in [("both.csv", "csv", ","), ("both.tsv", "tsv", "\t")] {
        join(&folder, &named(name)).exits_with(0);
        let written = std::fs::read_to_string(folder.path(name)).unwrap();
        let mut lines: Vec<String> = written.lines().map(|line| line.replace(separator, " ")).collect();
        assert_eq!(lines[0], "key value right_value");
        lines[1..].sort();
        let (apple, date) = if to == "tsv" { ("apple red \\N", "date \\N 7") } else { ("apple red ", "date  7") };
        assert_eq!((&*lines[1], &*lines[7], lines.len()), (apple, date, 8));
        let piped = join(&folder, &[&named("-")[..], &["--to", to]].concat()).exits_with(0);
        assert_eq!(piped.stdout, written);
        let again = ["--left-value", "right_value", "--right-value", "value", "-o", "-"];
        let again = join(&folder, &[&[name, "prices.csv"], &again[..]].concat()).exits_with(0);
        assert_eq!(again.stdout.lines().count(), 10);
    }
    join(&folder, &named("both.jsonl")).exits_with(0);
    let written = std::fs::read_to_string(folder.path("both.jsonl")).unwrap();
    assert_eq!(join(&folder, &[&named("-")[..], &["--json"]].concat()).exits_with(0).stdout, written);
    for name in ["both", "both.ogive"] {
        join(&folder, &named(name)).exits_with(0);
        folder.run(&["count", name]).exits_with(0).prints("7\n");
    }
    if cfg!(not(feature = "parquet")) {
        join(&folder, &named("both.parquet")).exits_with(2).complains_of(".csv");
    }
    // The names of the columns stay if there is no row.
    folder.write("nothing.txt", "");
    join(&folder, &["colours.ogive", "nothing.txt", "-o", "none.csv"]).exits_with(0);
    assert_eq!(std::fs::read_to_string(folder.path("none.csv")).unwrap(), "key,value\n");
}

#[test]
fn an_explanation_shows_the_choice_the_alternatives_and_what_it_took() {
    let folder = fruit();
    let run = join(&folder, &["colours.ogive", "prices.ogive", "-o", "both.ogive", "--explain"]).exits_with(0);
    for word in ["chosen:", "partition", "inlj:index is not possible:", "predicted", "took", "left: ", "right: "] {
        assert!(run.stdout.contains(word), "{word}: {}", run.stdout);
    }
    let lines = join(&folder, &["colours.ogive", "prices.ogive", "-o", "b.ogive", "--explain", "--json"]);
    let lines = lines.exits_with(0).json_lines();
    assert_eq!(lines.len(), 2);
    assert!(lines[0]["alternatives"].as_array().unwrap().len() >= crate::METHODS.len(), "{}", lines[0]);
    assert_eq!(lines[0]["actual"]["rows"], lines[1]["rows"]);
    let piped = join(&folder, &["colours.ogive", "prices.ogive", "-o", "-", "--explain"]).exits_with(0);
    assert_eq!(sorted(&piped), INNER);
    assert!(piped.stderr.contains("chosen:"), "{}", piped.stderr);
    // Reads of text, and of what was sorted on the disk, count as those of tables.
    let rows: String = (0..200_000_u32).map(|row| format!("{},text {row}\n", row.reverse_bits())).collect();
    folder.write("long.csv", format!("key,text\n{rows}"));
    for (memory, most) in [("64MiB", 2), ("8MiB", 8)] {
        let flags = ["--method", "merge", "--memory", memory, "--explain", "--json"];
        let lines =
            join(&folder, &[&["long.csv", "long.csv", "--on", "key", "-o", "b.csv", "--force"], &flags[..]].concat());
        let lines = lines.exits_with(0).json_lines();
        let (read, text) = (lines[0]["actual"]["bytes_read"].as_u64().unwrap(), 2 * rows.len() as u64);
        let least = if most == 2 { text } else { text + rows.len() as u64 };
        assert!((least..most * text).contains(&read), "{memory}: {read} of {text}");
    }
}

#[test]
fn what_cannot_be_joined_is_refused_with_a_hint() {
    let folder = fruit();
    folder.write("keys.u64", sosd(&[1, 2, 3]));
    folder.build("keys.u64", "keys.ogive", &[]);
    join(&folder, &["keys.ogive", "colours.ogive", "-o", "x.ogive"]).exits_with(1).complains_of("must have one type");
    let named = ["colours.ogive", "prices.ogive", "-o", "x.ogive"];
    let with = |flags: &[&str]| join(&folder, &[&named[..], flags].concat());
    with(&["--method", "inlj:index"]).exits_with(2).complains_of("not an open index");
    with(&["--method", "guesswork"]).exits_with(2).complains_of("partition");
    with(&["--kind", "outer"]).exits_with(2).complains_of("anti");
    with(&["--memory", "1000"]).exits_with(2).complains_of("--memory");
    with(&["--for", "floppy"]).exits_with(2).complains_of("nvme");
    with(&["--left-key", "1"]).exits_with(2).complains_of("--left-key");
    with(&["--right-from", "a"]).exits_with(2).complains_of("--right-from");
    with(&["--to", "records"]).exits_with_error().complains_of("text");
    join(&folder, &["colours.ogive", "prices.ogive", "-o", "-", "--to", "table"]).exits_with(2).complains_of("-o");
    join(&folder, &["nowhere.ogive", "prices.ogive", "-o", "x.ogive"]).exits_with(1).complains_of("nowhere.ogive");
    join(&folder, &["colours.ogive", "prices.ogive", "-o", "prices.csv"]).exits_with(1).complains_of("prices.csv");
    assert_eq!(std::fs::read_to_string(folder.path("prices.csv")).unwrap(), PRICES);
    assert!(!folder.names().iter().any(|name| name.starts_with("x.ogive")), "{:?}", folder.names());
}

#[test]
fn a_closed_pipe_ends_the_join() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&uneven_keys(200_000)));
    folder.build("keys.u64", "t.ogive", &[]);
    let mut child = folder
        .command(&["join", "t.ogive", "t.ogive", "-o", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Lines of numbers in an order that has nothing to do with them.
fn shuffled_lines(rows: u64, step: u64) -> String {
    (0..rows).map(|at| format!("{}\n", at * 7919 % rows * step)).collect()
}

/// Two files that a join within 1 MiB must put aside, and the command that joins them.
fn large(folder: &Folder) -> [&'static str; 8] {
    folder.write("a.txt", shuffled_lines(300_007, 2));
    folder.write("b.txt", shuffled_lines(300_007, 3));
    ["join", "a.txt", "b.txt", "-o", "both.ogive", "--memory", "1MiB", "--method=merge"]
}

#[test]
fn an_interrupted_join_leaves_nothing_and_says_so() {
    let folder = Folder::new();
    let arguments = large(&folder);
    let before = folder.names();
    let mut child = folder.command(&arguments).stderr(Stdio::piped()).spawn().unwrap();
    if folder.waits_for_a_file(&mut child, &before, ".spill") {
        let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
    }
    let output = child.wait_with_output().unwrap();
    // While this process is paused, the join may come to its end.
    if output.status.code() == Some(0) {
        return;
    }
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
    assert_eq!(folder.names(), ["a.txt", "b.txt"]);
}

#[test]
fn sides_of_keys_alone_give_columns_of_keys_alone() {
    let folder = Folder::new();
    folder.write("some.csv", "id\n1\n2\n3\n");
    folder.write("one.csv", "id\n2\n");
    folder.write("named.csv", "id,name\n2,two\n");
    let written = |right: &str, kind: &str, file: &str| {
        join(&folder, &["some.csv", right, "-o", file, "--kind", kind, "--force"]).exits_with(0);
        std::fs::read_to_string(folder.path(file)).unwrap()
    };
    for (kind, csv, json) in [
        ("inner", "id\n2\n", "{\"id\":2}\n"),
        ("semi", "id\n2\n", "{\"id\":2}\n"),
        ("anti", "id\n1\n3\n", "{\"id\":1}\n{\"id\":3}\n"),
    ] {
        assert_eq!((written("one.csv", kind, "o.csv"), written("one.csv", kind, "o.jsonl")), (csv.into(), json.into()));
    }
    assert_eq!(written("named.csv", "semi", "o.csv"), "id\n2\n", "the values of the other side are in no row");
    assert_eq!(written("named.csv", "inner", "o.csv"), "id,name\n2,two\n");
}

#[test]
fn a_file_of_objects_without_any_has_the_columns_that_are_asked_for() {
    let folder = Folder::new();
    folder.write("some.csv", "k,v\n1,a\n2,b\n");
    folder.write("none.jsonl", "");
    let columns = ["--right-key", "k", "--right-value", "v", "--right-type", "v=text"];
    let of = |more: &[&str]| {
        join(&folder, &[&["some.csv", "none.jsonl", "-o", "-", "--to", "csv"], more, &columns[..]].concat())
            .exits_with(0)
            .stdout
    };
    assert_eq!(of(&["--kind", "left"]), "k,v,right_v\n1,a,\n2,b,\n");
    assert_eq!(of(&["--kind", "inner", "--where", "left.v < right.v"]), "k,v,right_v\n");
}

#[test]
fn what_a_killed_join_put_aside_is_removed_by_the_next_one() {
    let folder = Folder::new();
    let arguments = large(&folder);
    for wait_ms in [0, 500] {
        let before = folder.names();
        let mut child = folder.command(&arguments).spawn().unwrap();
        folder.waits_for_a_file(&mut child, &before, ".spill");
        // Any moment will do.
        std::thread::sleep(std::time::Duration::from_millis(wait_ms));
        // It may be done already.
        let _ = child.kill();
        child.wait().unwrap();
    }
    let run = folder.run(&[&arguments[..], &["--json"]].concat()).exits_with(0);
    assert_eq!(run.json()["rows"], 100_003);
    assert_eq!(folder.names(), ["a.txt", "b.txt", "both.ogive"]);
    folder.run(&["verify", "both.ogive"]).exits_with(0);
}

#[cfg(feature = "parquet")]
#[test]
fn rows_of_parquet_are_all_rows_whatever_their_values_are() {
    let folder = Folder::new();
    folder.write("keys.csv", "k\n3\n1\n2\n");
    folder.build("keys.csv", "keys.ogive", &[]);
    folder.write("keys.u64", sosd(&[1, 2, 3]));
    folder.build("keys.u64", "bytes.ogive", &["--payload", "8"]);
    for (left, right) in [("keys.ogive", "keys.ogive"), ("bytes.ogive", "keys.ogive"), ("keys.ogive", "bytes.ogive")] {
        let of = |out: &str| {
            join(&folder, &[left, right, "-o", out, "--force"]).exits_with(0);
            folder.build(out, "again.ogive", &["--key-type", "u64"]);
            folder.run(&["export", "again.ogive", "-", "--json"]).exits_with(0).stdout
        };
        let (parquet, rows) = (of("j.parquet"), of("j.jsonl"));
        assert_eq!(parquet.lines().count(), 3, "{left} {right}: {parquet}");
        assert_eq!(parquet, rows);
    }
}

/// The types and the rows of a join are those of keys alone, whatever holds the keys.
#[test]
fn keys_alone_of_any_length_add_no_column() {
    let folder = Folder::new();
    folder.write("keys.txt", "cherry\napple\n");
    folder.write("prices.csv", "fruit,price\napple,3\nfig,4\n");
    folder.build("keys.txt", "keys.ogive", &[]);
    folder.run(&["db", "import", "s", "keys.txt", "--key-type", "text"]).exits_with(0);
    for keys in ["keys.txt", "keys.ogive", "s"] {
        for (kind, rows) in [
            ("inner", "key,price\napple,3\n"),
            ("semi", "key\napple\n"),
            ("anti", "key\ncherry\n"),
            ("left", "key,price\napple,3\ncherry,\n"),
            ("full", "key,left,price\napple,true,3\ncherry,true,\nfig,false,4\n"),
        ] {
            let join = ["join", keys, "prices.csv", "-o", "-", "--to", "csv", "--kind", kind];
            folder.run(&join).exits_with(0).prints(rows);
            let join = ["join", keys, "prices.csv", "-o", "out.ogive", "--kind", kind];
            folder.run(&join).exits_with(0);
            folder.run(&["export", "out.ogive", "-"]).exits_with(0).prints(rows);
        }
    }
}
