//! Tables from every kind of input, in any order; bad inputs are refused with their position and leave nothing behind.

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
    assert_eq!(output.status.code(), Some(130));
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
fn records_lie_as_densely_in_any_order_and_with_any_pass() {
    let folder = Folder::new();
    let lines = |order: &mut dyn Iterator<Item = u64>| order.map(|key| format!("{key}\n")).collect::<String>();
    folder.write("sorted.txt", lines(&mut (0..20_000)));
    folder.write("turned.txt", lines(&mut (0..20_000).rev()));
    let data_bytes = |input: &str, flags: &[&str]| {
        let flags = [&["--block-size", "4096", "--json"], flags].concat();
        folder.build(input, "t.ogive", &flags).json()["data_bytes"].as_u64().unwrap()
    };
    let dense = data_bytes("sorted.txt", &[]);
    for (input, flags) in [("turned.txt", &[][..]), ("sorted.txt", &["--exact"]), ("turned.txt", &["--exact"])] {
        assert_eq!(data_bytes(input, flags), dense, "{input} {flags:?}");
    }
}

#[test]
fn a_table_is_never_read_as_text() {
    let folder = Folder::new();
    folder.write("words.txt", "a\nb\n");
    folder.build("words.txt", "t.ogive", &[]);
    let before = std::fs::read(folder.path("t.ogive")).unwrap();
    let mut damaged = before.clone();
    let middle_of_tail = damaged.len() - 40;
    damaged[middle_of_tail] ^= 1;
    folder.write("damaged.ogive", &damaged);
    for (arguments, message) in [
        (&["build", "t.ogive", "-o", "t.ogive"][..], "is an input of this command"),
        (&["build", "damaged.ogive", "-o", "u.ogive"], "damaged.ogive"),
        (&["tune", "t.ogive"], "is an Ogive table"),
    ] {
        folder.run(arguments).exits_with(1).complains_of(message);
    }
    assert_eq!(std::fs::read(folder.path("t.ogive")).unwrap(), before);
    assert_eq!(folder.names(), ["damaged.ogive", "t.ogive", "words.txt"]);
    folder.build("t.ogive", "u.ogive", &["--exact"]);
    let words = folder.run(&["scan", "t.ogive"]).exits_with(0).stdout;
    folder.run(&["scan", "u.ogive"]).exits_with(0).prints(&words);
    folder.build("t.ogive", "u.ogive", &["--format", "lines"]);
}

#[test]
fn what_is_in_the_way_is_named_and_left_alone() {
    let folder = Folder::new();
    folder.write("words.txt", "a\nb\n");
    for (name, content) in
        [("notes.txt", "precious"), ("empty.ogive", ""), ("long.txt", "precious\n".repeat(999).as_str())]
    {
        folder.write(name, content);
        let run = folder.run(&["build", "words.txt", "-o", name]).exits_with(1).complains_of("is not replaced");
        assert!(run.stderr.contains(name) && run.stderr.contains("hint: choose another name"), "{}", run.stderr);
        assert_eq!(std::fs::read_to_string(folder.path(name)).unwrap(), content);
    }
}

#[test]
fn an_index_that_keeps_more_than_asked_for_is_told() {
    let folder = Folder::new();
    folder.write("words.txt", "a\nb\n");
    let run = folder.build("words.txt", "t.ogive", &["--resident", "1"]);
    assert!(run.stderr.contains("more than --resident"), "{}", run.stderr);
    let run = folder.build("words.txt", "t.ogive", &["--resident", "1KiB"]);
    assert!(!run.stderr.contains("--resident"), "{}", run.stderr);
}

#[test]
fn compressed_and_filtered_tables_give_the_same_answers() {
    let folder = Folder::new();
    // What all keys of a block begin with is stored once in either table; the rest is for the codec.
    let lines: String = (0..20_000).map(|number| format!("{number:08} and the same words again and again\n")).collect();
    folder.write("lines.txt", &lines);
    folder.build("lines.txt", "plain.ogive", &["--block-size", "4KiB"]);
    folder.build("lines.txt", "packed.ogive", &["--block-size", "4KiB", "--compress", "lz4", "--filter", "10"]);
    let report = |table: &str| folder.run(&["explain", table, "--json"]).exits_with(0).json();
    let (plain, packed) = (report("plain.ogive"), report("packed.ogive"));
    assert!(packed["data_bytes"].as_u64().unwrap() * 2 < plain["data_bytes"].as_u64().unwrap());
    assert!(packed["filter_bytes"].as_u64().unwrap() > 20_000);
    let expected = folder.run(&["scan", "plain.ogive"]).exits_with(0).stdout;
    folder.run(&["scan", "packed.ogive"]).exits_with(0).prints(&expected);
    folder.run(&["get", "packed.ogive", "00012345 and the same words again and again"]).exits_with(0);
    folder.run(&["get", "packed.ogive", "0001234 and the same words again and again"]).exits_with(1);
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
    assert_eq!(records, [json!({"id": -1, "name": "minus, one"}), json!({"id": 9, "name": "nine"})]);
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
    folder.build("raw", "t.ogive", &["--format", "lines"]);
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

#[test]
fn a_row_of_another_length_is_told_with_its_line() {
    let folder = Folder::new();
    folder.write("rows.csv", "k,v\n1,a\n2\n");
    folder.run(&["build", "rows.csv", "-o", "t.ogive"]).exits_with(1).complains_of("line 3 has 1 field, the rows");
    assert_eq!(folder.names(), ["rows.csv"]);
}

#[test]
fn a_limit_is_stated_where_it_is_met_with_what_helps() {
    let folder = Folder::new();
    folder.write("long.txt", format!("short\n{}\n", "x".repeat(5_000_000)));
    let run = folder.run(&["build", "long.txt", "-o", "t"]).exits_with(1);
    run.complains_of("line 2 of long.txt is longer than 64.0 KiB, the longest key")
        .complains_of("hint: each line is a");
    let value = "x".repeat(300_000);
    folder.write("rows.csv", format!("id,text\n1,a\n2,{value}\n"));
    for command in [&["build", "rows.csv", "-o", "t"][..], &["db", "import", "s", "rows.csv"]] {
        let flags = ["--value", "text", "--row-limit"];
        let run = folder.run(&[command, &flags, &["100k"]].concat()).exits_with(1);
        run.complains_of("row 2 of rows.csv is longer than 100 KiB").complains_of("--row-limit");
        folder.run(&[command, &flags, &["300k"]].concat()).exits_with(0);
    }
    folder.run(&["get", "t", "2"]).exits_with(0).prints(&format!("{value}\n"));
    folder.run(&["get", "s", "2"]).exits_with(0).prints(&format!("{value}\n"));
    for command in [&["build", "rows.csv", "-o", "t"][..], &["tune", "rows.csv"]] {
        let run = folder.run(&[command, &["--memory", "1"]].concat()).exits_with(2);
        run.complains_of("at least 64 KiB of memory");
        folder.run(&[command, &["--memory", "64k"]].concat()).exits_with(0);
    }
}
