//! Every kind of input becomes a table, in any order; what cannot is refused with a word about where, and leaves nothing
//! behind.

use super::run::{Folder, sosd, uneven_keys};
use serde_json::json;
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn standard_input_is_read_once_and_sorted() {
    let folder = Folder::new();
    for (format, content) in [("lines", "b\nc\na\n"), ("csv", "key\nb\nc\na\n")] {
        let mut child = folder
            .command(&["build", "-", "-o", "t.ogive", "--format", format])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(content.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        folder.run(&["scan", "t.ogive"]).exits_with(0).prints("a\t\nb\t\nc\t\n");
    }
    folder.run(&["build", "-", "-o", "t.ogive"]).exits_with(1).complains_of("no records");
    assert_eq!(folder.names(), ["t.ogive"]);
}

#[test]
fn an_interrupted_build_leaves_the_old_table_and_nothing_else() {
    let folder = Folder::new();
    folder.write("old.txt", "old\n");
    folder.build("old.txt", "t.ogive", &[]);
    let mut child = folder
        .command(&["build", "-", "-o", "t.ogive", "--memory", "1MiB"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: String = (0..100_000).rev().map(|number| format!("{number}\n")).collect();
    input.write_all(lines.as_bytes()).unwrap();
    let signal = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(signal.success());
    // What it does not read any more breaks the pipe.
    let broken = (0..200).any(|_| input.write_all(lines.as_bytes()).is_err());
    assert!(broken);
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
    assert_eq!(folder.names(), ["old.txt", "t.ogive"]);
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("old\t\n");
}

#[test]
fn blocks_can_be_sized_by_all_keys() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&uneven_keys(30_000)));
    folder.write("shuffled.csv", "id,name\n3,c\n1,a\n2,b\n");
    folder.build("keys.u64", "keys.ogive", &["--exact", "--payload", "8"]);
    folder.run(&["count", "keys.ogive"]).exits_with(0).prints("30000\n");
    folder.build("shuffled.csv", "rows.ogive", &["--exact", "--value", "name", "--memory", "1MiB"]);
    folder.run(&["scan", "rows.ogive"]).exits_with(0).prints("1\ta\n2\tb\n3\tc\n");
    folder.write("words.txt", "a\nb\n");
    folder.build("words.txt", "words.ogive", &["--exact"]);
    folder.run(&["count", "words.ogive"]).exits_with(0).prints("2\n");
    assert_eq!(folder.names().len(), 6);
}

#[test]
fn compressed_and_filtered_tables_give_the_same_answers() {
    let folder = Folder::new();
    let lines: String = (0..20_000).map(|number| format!("the same words again and again {number:08}\n")).collect();
    folder.write("lines.txt", &lines);
    folder.build("lines.txt", "plain.ogive", &["--block-size", "4KiB"]);
    folder.build("lines.txt", "packed.ogive", &["--block-size", "4KiB", "--compress", "lz4", "--filter", "10"]);
    let report = |table: &str| folder.run(&["explain", table, "--json"]).exits_with(0).json();
    let (plain, packed) = (report("plain.ogive"), report("packed.ogive"));
    assert!(packed["data_bytes"].as_u64().unwrap() * 2 < plain["data_bytes"].as_u64().unwrap());
    assert!(packed["filter_bytes"].as_u64().unwrap() > 20_000);
    let expected = folder.run(&["scan", "plain.ogive"]).exits_with(0).stdout;
    folder.run(&["scan", "packed.ogive"]).exits_with(0).prints(&expected);
    folder.run(&["get", "packed.ogive", "the same words again and again 00012345"]).exits_with(0);
    folder.run(&["get", "packed.ogive", "the same words again and again 0001234"]).exits_with(1);
    folder.run(&["verify", "packed.ogive"]).exits_with(0);
}

#[test]
fn columns_become_keys_and_values() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,name\n10,ten\n9,nine\n-1,\"minus, one\"\n");
    folder.build("rows.csv", "by-id.ogive", &["--key", "id", "--value", "name"]);
    folder.run(&["scan", "by-id.ogive"]).exits_with(0).prints("-1\tminus, one\n9\tnine\n10\tten\n");
    folder.run(&["get", "by-id.ogive", "-1"]).exits_with(0).prints("minus, one\n");
    folder.build("rows.csv", "by-name.ogive", &["--key", "name", "--value", "1"]);
    folder.run(&["scan", "by-name.ogive", "n"]).exits_with(0).prints("nine\t9\nten\t10\n");
    let records = folder.run(&["scan", "by-id.ogive", "--json", "--limit", "2"]).exits_with(0).json_lines();
    assert_eq!(records, [json!({"key": -1, "value": "minus, one"}), json!({"key": 9, "value": "nine"})]);
}

#[test]
fn unsorted_input_is_sorted_within_the_memory_given() {
    let folder = Folder::new();
    let mut lines: Vec<String> =
        (0..30_000_u64).map(|index| format!("key {:016x}", index.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    folder.write("lines.txt", lines.join("\n"));
    folder.build("lines.txt", "t.ogive", &["--memory", "1MiB"]);
    lines.sort();
    let expected: String = lines.iter().map(|line| format!("{line}\t\n")).collect();
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints(&expected);
    folder.run(&["verify", "t.ogive"]).exits_with(0);
    assert_eq!(folder.names(), ["lines.txt", "t.ogive"]);
}

#[test]
fn a_key_that_turns_out_to_be_no_number_makes_all_keys_text() {
    let folder = Folder::new();
    let mut lines: Vec<String> = (0..5000).map(|number| number.to_string()).collect();
    lines.push("unknown".into());
    folder.write("ids.txt", lines.join("\n"));
    folder.build("ids.txt", "t.ogive", &[]);
    folder.run(&["count", "t.ogive"]).exits_with(0).prints("5001\n");
    folder.run(&["nth", "t.ogive", "2"]).exits_with(0).prints("10\t\n");
    folder.run(&["build", "ids.txt", "-o", "u.ogive", "--key-type", "u64"]).exits_with(1).complains_of("5,001");
}

#[test]
fn bytes_that_are_no_text_are_shown_escaped_and_can_be_asked_for() {
    let folder = Folder::new();
    folder.write("raw", b"\xff\x00z\nplain\nback\\slash\n");
    folder.build("raw", "t.ogive", &[]);
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("back\\\\slash\t\nplain\t\n\\xff\\x00z\t\n");
    for key in ["\\xff\\x00z", "plain", "back\\\\slash"] {
        folder.run(&["get", "t.ogive", key]).exits_with(0);
    }
    let records = folder.run(&["scan", "t.ogive", "--json"]).exits_with(0).json_lines();
    assert_eq!(records[2]["key"], json!({"hex": "ff007a"}));
}

#[test]
fn a_failed_build_leaves_the_old_table_and_no_half_made_file() {
    let folder = Folder::new();
    folder.write("good.csv", "k\nold\n");
    folder.build("good.csv", "t.ogive", &[]);
    folder.write("bad.csv", "k,v\n1,2\n3\n");
    folder.write("empty.txt", "");
    folder.write("short.u64", &sosd(&[1, 2, 3])[..20]);
    for (input, word) in
        [("bad.csv", "line 3"), ("empty.txt", "no records"), ("short.u64", "SOSD"), ("none.txt", "check the path")]
    {
        folder.run(&["build", input, "-o", "t.ogive"]).exits_with(1).complains_of(word);
        folder.run(&["build", input, "-o", "new.ogive"]).exits_with(1).complains_of(input);
    }
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("old\t\n");
    assert_eq!(folder.names(), ["bad.csv", "empty.txt", "good.csv", "short.u64", "t.ogive"]);
}

#[test]
fn an_absent_column_is_an_error_that_names_those_there_are() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,name\n1,x\n");
    let run = folder.run(&["build", "rows.csv", "-o", "t.ogive", "--key", "nmae"]).exits_with(1);
    run.complains_of("no column 'nmae'").complains_of("'id', 'name'");
    assert_eq!(folder.names(), ["rows.csv"]);
}
