//! Round trips through every command on tables. Method: small tables from each kind of input; lookups of all present
//! and some absent keys, as text and as JSON.

use super::run::{Folder, sosd, uneven_keys};
use serde_json::Value;
use std::io::Read;
use std::process::Stdio;

#[test]
fn integers_come_back_as_they_were_given() {
    let folder = Folder::new();
    let keys = uneven_keys(20_000);
    folder.write("keys.u64", sosd(&keys));
    folder.build("keys.u64", "t.ogive", &[]);
    for key in [keys[0], keys[777], keys[19_999]] {
        folder.run(&["get", "t.ogive", &key.to_string()]).exits_with(0).prints("\n");
    }
    let expected: String = keys.iter().map(|key| format!("{key}\t\n")).collect();
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints(&expected);
    for (rank, key) in keys.iter().enumerate().step_by(3331) {
        folder.run(&["rank", "t.ogive", &key.to_string()]).exits_with(0).prints(&format!("{rank}\n"));
        folder.run(&["nth", "t.ogive", &rank.to_string()]).exits_with(0).prints(&format!("{key}\t\n"));
    }
    folder.run(&["count", "t.ogive"]).exits_with(0).prints("20000\n");
    let (from, to) = (keys[10].to_string(), keys[110].to_string());
    folder.run(&["count", "t.ogive", &from, &to]).exits_with(0).prints("100\n");
    folder.run(&["count", "t.ogive", &to, &from]).exits_with(2).complains_of("ends before it begins");
}

#[test]
fn an_absent_key_exits_with_one_and_says_so() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&[0, 5, u64::MAX]));
    folder.build("keys.u64", "t.ogive", &[]);
    for key in ["1", "4", "6", "18446744073709551614"] {
        let run = folder.run(&["get", "t.ogive", key]).exits_with(1).complains_of("not found");
        assert!(run.stdout.is_empty());
        let run = folder.run(&["get", "t.ogive", key, "--json"]).exits_with(1);
        assert_eq!(run.json()["found"], false);
    }
    folder.run(&["get", "t.ogive", "0"]).exits_with(0);
    folder.run(&["get", "t.ogive", "18446744073709551615"]).exits_with(0);
    folder.run(&["nth", "t.ogive", "2"]).exits_with(0).prints("18446744073709551615\t\n");
    folder.run(&["nth", "t.ogive", "3"]).exits_with(1).complains_of("3 records");
    folder.run(&["nth", "t.ogive", "-1"]).exits_with(0).prints("18446744073709551615\t\n");
    assert_eq!(folder.run(&["nth", "t.ogive", "-3", "--json"]).exits_with(0).json()["index"], 0);
    folder.run(&["nth", "t.ogive", "-4"]).exits_with(1).complains_of("no record at position -4");
}

#[test]
fn a_scan_keeps_to_its_bounds_and_direction() {
    let folder = Folder::new();
    folder.write("words.txt", "a\nb\nc\nd\ne\n");
    folder.build("words.txt", "t.ogive", &[]);
    let scan = |arguments: &[&str]| {
        let run = folder.run(&[&["scan", "t.ogive"], arguments].concat()).exits_with(0);
        run.stdout.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(scan(&["b", "d"]), ["b", "c"]);
    assert_eq!(scan(&["b", "--limit", "2"]), ["b", "c"]);
    assert_eq!(scan(&["--reverse"]), ["e", "d", "c", "b", "a"]);
    assert_eq!(scan(&["b", "d", "--reverse", "--limit", "1"]), ["c"]);
    assert_eq!(scan(&["bb", "bbb"]), [""; 0]);
    folder.run(&["scan", "t.ogive", "d", "b"]).exits_with(2).complains_of("ends before it begins");
    assert_eq!(scan(&["--limit", "0"]), [""; 0]);
}

#[test]
fn duplicates_are_all_kept() {
    let folder = Folder::new();
    folder.write("rows.csv", "k,v\n5,a\n5,b\n4,c\n5,d\n");
    folder.build("rows.csv", "t.ogive", &["--value", "v"]);
    folder.run(&["get", "t.ogive", "5"]).exits_with(0).prints("a\n");
    folder.run(&["get", "t.ogive", "5", "--all"]).exits_with(0).prints("a\nb\nd\n");
    folder.run(&["count", "t.ogive", "5", "6"]).exits_with(0).prints("3\n");
    let found = folder.run(&["get", "t.ogive", "5", "--all", "--json"]).exits_with(0).json();
    let values: Vec<_> = found["records"].as_array().unwrap().iter().map(|record| record["v"].clone()).collect();
    assert_eq!(values, ["a", "b", "d"]);
}

#[test]
fn a_trace_says_what_was_read() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&uneven_keys(50_000)));
    folder.build("keys.u64", "t.ogive", &["--design", "coded", "--block-size", "4096"]);
    let run = folder.run(&["get", "t.ogive", "0", "--explain"]).exits_with(0);
    assert!(run.stdout.contains("open") && run.stdout.contains("4,096 B"), "{}", run.stdout);
    let reads = folder.run(&["get", "t.ogive", "0", "--explain", "--json"]).exits_with(0).json()["reads"].clone();
    let reads = reads.as_array().unwrap();
    assert_eq!(reads.iter().map(|read| read["purpose"].as_str().unwrap()).collect::<Vec<_>>(), ["open", "data"]);
    assert_eq!(reads[1]["size_bytes"], 4096);
    assert_eq!(reads[1]["offset"], 0);
}

#[test]
fn explain_tells_all_that_the_contract_names() {
    let folder = Folder::new();
    let keys = uneven_keys(100_000);
    folder.write("keys.u64", sosd(&keys));
    folder.build("keys.u64", "t.ogive", &["--payload", "8", "--block-size", "4KiB"]);
    let report = folder.run(&["explain", "t.ogive", "--json"]).exits_with(0).json();
    assert_eq!(report["records"], 100_000);
    assert_eq!(report["block_size_bytes"], 4096);
    for name in [
        "blocks",
        "data_bytes",
        "index_bytes",
        "metadata_bytes",
        "filter_bytes",
        "location_bytes",
        "count_bytes",
        "resident_bytes",
    ] {
        assert!(report[name].is_u64(), "{name}: {report}");
    }
    for layer in report["layers"].as_array().unwrap() {
        for name in ["kind", "nodes", "size_bytes", "mean_read_bytes", "max_read_bytes"] {
            assert!(!layer[name].is_null(), "{name}: {report}");
        }
    }
    for name in ["cold", "open"] {
        assert!(report["reads_per_get"][name].is_number(), "{report}");
    }
    for name in ["optane", "nvme", "sata", "ssd", "hdd", "nfs", "s3"] {
        assert!(report["modelled_us"][name].as_f64().unwrap() > 0.0, "{report}");
    }
    let text = folder.run(&["explain", "t.ogive"]).exits_with(0).stdout;
    assert!(text.contains("100,000") && text.contains("nvme"), "{text}");
}

#[test]
fn designs_are_laid_side_by_side() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&uneven_keys(50_000)));
    let report = folder.run(&["tune", "keys.u64", "--for", "s3", "--json"]).exits_with(0).json();
    let designs = report["designs"].as_array().unwrap();
    let names: Vec<&str> = designs.iter().map(|design| design["design"].as_str().unwrap()).collect();
    for name in ["tuned", "btree", "coded", "none"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let modelled = |design: &Value| design["modelled_us"].as_f64().unwrap();
    assert!(designs.iter().all(|design| modelled(design) >= modelled(&designs[0])), "{report}");
    let text = folder.run(&["tune", "keys.u64", "--for", "nvme"]).exits_with(0).stdout;
    assert!(text.contains("btree") && text.contains("us"), "{text}");
    assert_eq!(folder.names(), ["keys.u64"]);
}

#[test]
fn an_existing_table_is_replaced_and_no_other_file() {
    let folder = Folder::new();
    folder.write("a.txt", "a\n");
    folder.write("b.txt", "b\n");
    folder.build("a.txt", "t.ogive", &[]);
    folder.build("b.txt", "t.ogive", &[]);
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("b\t\n");
    for target in ["a.txt", "b.txt"] {
        folder.run(&["build", "b.txt", "-o", target]).exits_with(1).complains_of(target);
    }
    folder.run(&["build", "b.txt", "-o", "."]).exits_with_error();
    assert_eq!(std::fs::read_to_string(folder.path("a.txt")).unwrap(), "a\n");
    assert_eq!(folder.names(), ["a.txt", "b.txt", "t.ogive"]);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&uneven_keys(200_000)));
    folder.build("keys.u64", "t.ogive", &[]);
    for flags in [&["scan", "t.ogive"][..], &["scan", "t.ogive", "--json"]] {
        let mut child = folder.command(flags).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_damaged_or_foreign_file_is_an_error_and_never_a_panic() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&uneven_keys(3000)));
    folder.build("keys.u64", "t.ogive", &[]);
    let whole = std::fs::read(folder.path("t.ogive")).unwrap();
    let mut flipped = whole.clone();
    flipped[100] ^= 1;
    let cut = &whole[..whole.len() / 2];
    for (name, content) in
        [("flipped", &flipped[..]), ("cut", cut), ("empty", &[]), ("text", b"hello\n"), ("zeros", &[0; 8192])]
    {
        folder.write(name, content);
        folder.run(&["verify", name]).exits_with(1).complains_of(name);
        let run = folder.run(&["scan", name, "--json"]).exits_with(1).complains_of(name);
        assert!(run.json_lines().last().unwrap()["error"].is_string());
        folder.run(&["get", name, "0"]).exits_with(1).complains_of(name);
    }
    folder.run(&["verify", "t.ogive"]).exits_with(0);
    let verdict = folder.run(&["verify", "t.ogive", "--json"]).exits_with(0).json();
    assert_eq!(verdict["records"], 3000);
}

#[test]
fn a_scan_tells_what_it_read_behind_its_records() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&uneven_keys(20_000)));
    folder.build("keys.u64", "t.ogive", &[]);
    let run = folder.run(&["scan", "t.ogive", "--limit", "3", "--explain", "--json"]).exits_with(0);
    let lines = run.json_lines();
    assert_eq!(lines.len(), 4);
    let reads = lines[3]["reads"].as_array().expect("an array of reads");
    assert_eq!(reads.len(), 2, "the opening and one block: {reads:?}");
    let text = folder.run(&["scan", "t.ogive", "--limit", "3", "--explain"]).exits_with(0).stdout;
    assert!(text.lines().skip(3).any(|line| line.trim_start().starts_with("open")), "{text}");
}

#[test]
fn a_table_that_is_damaged_all_over_is_told_in_a_screenful() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&uneven_keys(20_000)));
    folder.build("keys.u64", "t.ogive", &["--block-size", "512"]);
    let mut content = std::fs::read(folder.path("t.ogive")).unwrap();
    content[..64 * 512].iter_mut().step_by(512).for_each(|byte| *byte ^= 1);
    std::fs::write(folder.path("t.ogive"), content).unwrap();
    let run = folder.run(&["verify", "t.ogive"]).exits_with(1).complains_of("64 findings");
    assert_eq!(run.stdout.lines().count(), 21);
    assert!(run.stdout.ends_with("and 44 more; --json lists more\n"), "{}", run.stdout);
    let object = folder.run(&["verify", "t.ogive", "--json"]).exits_with(1).json();
    assert_eq!(object["findings"].as_array().unwrap().len(), 64);
}

/// Goal: of two builds of one table at once, each ends in a whole table or is refused. Method: two processes with
/// inputs of different keys, sorted and not, several times.
#[test]
fn two_builds_of_one_table_at_once_leave_a_whole_one() {
    let folder = Folder::new();
    let lines = |from: u64, step: u64| -> String {
        (0..30_000_u64).map(|at| format!("{:06},{from}\n", from + at * step % 30_000)).collect()
    };
    folder.write("even.csv", format!("k,v\n{}", lines(0, 1)));
    folder.write("odd.csv", format!("k,v\n{}", lines(100_000, 7)));
    folder.build("even.csv", "even", &[]);
    folder.build("odd.csv", "odd", &[]);
    let expected = ["even", "odd"].map(|name| folder.run(&["scan", name]).exits_with(0).stdout);
    assert_ne!(expected[0], expected[1]);
    for _ in 0..5 {
        let children = ["even.csv", "odd.csv"].map(|input| {
            folder.command(&["build", input, "-o", "t"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        });
        let codes = children.map(|mut child| child.wait().unwrap().code());
        assert!(codes.contains(&Some(0)) && codes.iter().all(|code| matches!(code, Some(0 | 1))), "{codes:?}");
        folder.run(&["verify", "t"]).exits_with(0);
        assert!(expected.contains(&folder.run(&["scan", "t"]).exits_with(0).stdout), "a mixed table");
    }
    let left: Vec<String> =
        folder.names().into_iter().filter(|name| name.contains("tmp") || name.contains("run")).collect();
    assert_eq!(left, [""; 0]);
}
