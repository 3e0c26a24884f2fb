//! Messages of commands that end early, which state the part of the work that remains. Method: commands are ended by a
//! bad record, a limit on the file size, and an interrupt; their messages are compared with the files.

use super::run::{Folder, grouped};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// Rows whose keys are numbers, with one at `bad` that is none.
fn rows(count: u64, bad: Option<u64>) -> String {
    let row = |at| if Some(at) == bad { "oops,value\n".to_owned() } else { format!("{at},value of {at}\n") };
    std::iter::once("key,value\n".to_owned()).chain((0..count).map(row)).collect()
}

/// The number in "the first N ...".
fn first(stderr: &str) -> u64 {
    let told = stderr.split("the first ").nth(1).unwrap_or_else(|| panic!("no number in {stderr}"));
    told.split(' ').next().unwrap().replace(',', "").parse().unwrap()
}

fn held(folder: &Folder, arguments: &[&str]) -> u64 {
    folder.run(arguments).exits_with(0).stdout.lines().count() as u64
}

const LIES: [&str; 2] = ["was not created", "half-made"];

#[test]
fn an_import_that_fails_says_how_many_rows_are_durable() {
    let folder = Folder::new();
    folder.write("rows.csv", rows(2000, Some(1234)));
    let import = ["db", "import", "s", "rows.csv", "--value", "value", "--key-type", "u64", "--batch", "100"];
    let run = folder.run(&import).exits_with(1).complains_of("the first 1,200 rows are durable");
    assert!(LIES.iter().all(|lie| !run.stderr.contains(lie)), "{}", run.stderr);
    assert_eq!(held(&folder, &["scan", "s"]), 1200);
    folder.write("rows.csv", rows(50, Some(3)));
    let run = folder.run(&["db", "import", "t", "rows.csv", "--key-type", "u64"]).exits_with(1);
    run.complains_of("no row is durable");
    let object = folder.run(&[&import[..], &["--json"]].concat()).exits_with(1).json_lines();
    assert!(object.last().unwrap()["error"].as_str().unwrap().contains("no row is durable"), "{object:?}");
}

#[test]
fn a_record_that_is_refused_is_an_error_wherever_it_stands_in_its_batch() {
    let folder = Folder::new();
    let long = "k".repeat((1 << 16) + 1);
    let rows = |range: std::ops::Range<u64>| range.map(|at| format!("{at:06},{at}\n")).collect::<String>();
    // Alone in the input, alone in a last batch, at the end of one, and within one.
    for (before, after) in [(0, 0), (100, 0), (99, 0), (150, 30)] {
        folder.write("rows.csv", format!("key,value\n{}{long},1\n{}", rows(0..before), rows(before..before + after)));
        let store = format!("{before}");
        let durable = before / 100 * 100;
        let import = folder.run(&["db", "import", &store, "rows.csv", "--batch", "100"]).exits_with(1);
        let import = import.complains_of("65537 bytes").keeps_quiet_about("imported");
        match durable {
            0 => _ = import.complains_of("no row is durable"),
            durable => assert_eq!(first(&import.stderr), durable),
        }
        if folder.path(&store).exists() {
            assert_eq!(held(&folder, &["scan", &store]), durable);
        }
        folder.run(&["build", "rows.csv", "-o", "t.ogive"]).exits_with(1).complains_of("65537 bytes");
        let join = folder.run(&["join", "rows.csv", "rows.csv", "--on", "key", "-o", "t.ogive"]).exits_with(1);
        join.complains_of("65537 bytes");
        assert!(!folder.path("t.ogive").exists());
    }
}

#[test]
fn a_first_write_that_fails_states_no_types() {
    let folder = Folder::new();
    let long = "k".repeat((1 << 16) + 1);
    folder.write("rows.csv", format!("key,value\n{long},1\n"));
    std::fs::create_dir(folder.path("no-file")).unwrap();
    folder.run(&["db", "put", "s", "1", "one", "--keyspace", "other", "--key-type", "u8"]).exits_with(0);
    let is_undecided = || {
        let db = ogive::Db::open_read_only(folder.path("s"), &ogive::DbOptions::default()).unwrap();
        db.is_undecided().unwrap()
    };
    let fails = |arguments: &[&str]| {
        folder.run(&grouped("db", arguments)).exits_with(1);
        assert!(is_undecided(), "{arguments:?}");
    };
    fails(&["put", "s", &long, "value", "--key-type", "text"]);
    fails(&["put", "s", "k", "--file", "no-file", "--key-type", "text"]);
    fails(&["import", "s", "rows.csv"]);
    fails(&["import", "s", "rows.csv", "--key-type", "text"]);
    folder.run(&["db", "put", "s", "7", "seven", "--key-type", "u64"]).exits_with(0);
    assert!(!is_undecided());
    folder.run(&["db", "import", "s", "rows.csv", "--keyspace", "more"]).exits_with(1);
    let names = folder.run(&["db", "keyspaces", "s"]).exits_with(0).stdout;
    assert!(!names.contains("more"), "{names}");
}

/// Runs the command where no file may exceed `blocks` times 512 bytes; a write beyond that is an error.
fn limited(folder: &Folder, blocks: u64, arguments: &[&str]) -> std::process::Output {
    let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    let place = folder.path("");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_ogive")]).args(arguments).current_dir(place).stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn an_import_onto_a_full_disk_says_how_many_rows_are_durable() {
    let folder = Folder::new();
    folder.write("rows.csv", rows(200_000, None));
    let arguments = ["db", "import", "s", "rows.csv", "--value", "value", "--key-type", "u64", "--batch", "1000"];
    let output = limited(&folder, 2000, &arguments);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(LIES.iter().all(|lie| !told.contains(lie)), "{told}");
    let durable = first(&told);
    assert!(told.contains("rows are durable") && durable > 0, "{told}");
    let held = held(&folder, &["scan", "s"]);
    assert!((durable..200_000).contains(&held), "{durable} rows were told to be durable, and {held} are there");
}

/// Sends an interrupt to a command that was not waited for yet.
fn interrupt(child: &std::process::Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn an_interrupted_import_says_how_many_rows_are_durable() {
    let folder = Folder::new();
    folder.write("rows.csv", rows(300_000, None));
    let arguments =
        ["db", "import", "s", "rows.csv", "--value", "value", "--key-type", "u64", "--batch", "50", "--json"];
    let mut child = folder.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    interrupt(&child);
    lines.for_each(drop);
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{told}");
    assert!(told.contains("interrupted; the first ") && told.contains("rows are durable"), "{told}");
    assert!(LIES.iter().all(|lie| !told.contains(lie)), "{told}");
    assert_eq!(held(&folder, &["scan", "s"]), first(&told));
}

#[test]
fn a_load_that_fails_says_what_is_in_the_index() {
    let folder = Folder::new();
    folder.write("rows.csv", rows(1000, Some(777)));
    for (durability, number) in [("synced", 0), ("grouped", 1), ("buffered", 2)] {
        let index = format!("{number}.ogx");
        folder.run(&["index", "create", &index, "--value-bytes", "16"]).exits_with(0);
        let bulk = ["index", "load", &index, "rows.csv", "--value", "value", "--sorted"];
        folder.run(&bulk).exits_with(1).complains_of("no records were loaded");
        assert_eq!(held(&folder, &["scan", &index]), 0);
        let load = ["index", "load", &index, "rows.csv", "--value", "value", "--random", "--batch", "100"];
        let run = folder.run(&[&load[..], &["--durability", durability]].concat()).exits_with(1);
        run.complains_of("the first 700 records are durable in the index");
        assert_eq!(held(&folder, &["scan", &index]), 700, "{durability}");
        // Sorted, all records are one commit, or those of each batch.
        let load = ["index", "load", &index, "rows.csv", "--value", "value", "--durability", durability];
        folder.run(&load).exits_with(1).complains_of("no records were loaded");
        let batches = folder.run(&[&load[..], &["--batch", "100"]].concat()).exits_with(1);
        batches.complains_of("the first 700 records are durable in the index");
        assert_eq!(held(&folder, &["scan", &index]), 700, "{durability}");
    }
}

#[test]
fn an_interrupted_build_leaves_what_was_there_and_says_so() {
    let folder = Folder::new();
    folder.write("words.txt", "apple\n");
    folder.build("words.txt", "there.ogive", &[]);
    let lines: String = (0..600_000_u64).map(|at| format!("{}\n", at * 7919 % 600_011)).collect();
    folder.write("many.txt", lines);
    for (output, said) in [("new.ogive", "new.ogive was not created"), ("there.ogive", "there.ogive is unchanged")] {
        let arguments = ["build", "many.txt", "-o", output, "--memory", "1MiB"];
        let before = folder.names();
        let mut child = folder.command(&arguments).stderr(Stdio::piped()).spawn().unwrap();
        if folder.waits_for_a_file(&mut child, &before, ".ogive-") {
            interrupt(&child);
        }
        let ended = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        // While this process is paused, the command may come to its end.
        if ended.status.code() == Some(0) {
            std::fs::remove_file(folder.path(output)).unwrap();
            continue;
        }
        assert_eq!(ended.status.code(), Some(130), "{told}");
        assert!(told.contains(&format!("interrupted; {said}")), "{told}");
        assert!(!folder.path("new.ogive").exists());
        folder.run(&["scan", "there.ogive"]).exits_with(0).prints("apple\t\n");
    }
}

#[test]
fn an_interrupted_export_says_what_was_written_and_leaves_no_file() {
    let folder = Folder::new();
    folder.write("rows.csv", rows(100_000, None));
    folder.run(&["db", "import", "s", "rows.csv", "--value", "value", "--key-type", "u64"]).exits_with(0);
    let mut child = folder.command(&["export", "s", "-"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    // The command blocks on the pipe, which holds less than the output.
    interrupt(&child);
    let read = lines.count() as u64;
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{told}");
    assert!(told.contains("interrupted; at most the first ") && read < 100_000, "{told}");
    assert!(read <= first(&told), "{read} rows came: {told}");
    for name in ["out.csv", "out.ogive"] {
        let before = folder.names();
        let mut child = folder.command(&["export", "s", name]).stderr(Stdio::piped()).spawn().unwrap();
        if folder.waits_for_a_file(&mut child, &before, ".ogive-") {
            interrupt(&child);
        }
        let ended = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        // While this process is paused, the command may come to its end.
        if ended.status.code() == Some(0) {
            std::fs::remove_file(folder.path(name)).unwrap();
        } else {
            assert_eq!(ended.status.code(), Some(130), "{told}");
            assert!(told.contains(&format!("interrupted; {name} was not created")), "{told}");
            assert!(folder.names().iter().all(|found| !found.starts_with("out.")), "{:?}", folder.names());
        }
    }
}
