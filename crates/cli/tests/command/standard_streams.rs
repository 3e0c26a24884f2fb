//! Standard input and output in the places of files, and the formats that names of outputs stand for. Method: whole
//! runs with pipes.

use super::run::Folder;
use std::process::Stdio;

#[test]
fn standard_input_is_no_two_sides_of_a_join() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,v\n1,a\n2,b\n");
    for sides in [["-", "-"], ["-", "/dev/stdin"]] {
        let formats = ["--left-format", "csv", "--right-format", "csv"];
        let run = folder.run_piped("rows.csv", &[&["join"], &sides[..], &["-o", "-"], &formats].concat());
        run.exits_with(2).prints("").complains_of("standard input").complains_of("put it into a file");
    }
    folder.run(&["join", "rows.csv", "rows.csv", "--on", "id", "-o", "-"]).exits_with(0).prints("1\ta\ta\n2\tb\tb\n");
}

#[cfg(feature = "parquet")]
#[test]
fn a_pipe_of_parquet_is_read_as_the_file_is() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,v\n1,a\n2,b\n");
    folder.build("rows.csv", "rows.ogive", &[]);
    folder.run(&["export", "rows.ogive", "rows.parquet"]).exits_with(0);
    folder.run(&["index", "create", "i.ogx", "--key-type", "i64", "--value-bytes", "1"]).exits_with(0);
    let format = ["--format", "parquet"];
    for (command, shown) in [
        (&["build", "-", "-o", "t.ogive"][..], &["scan", "t.ogive"][..]),
        (&["build", "-", "-o", "t.ogive", "--exact"], &["scan", "t.ogive"]),
        (&["db", "import", "s", "-"], &["scan", "s"]),
        (&["index", "load", "i.ogx", "-"], &["scan", "i.ogx"]),
    ] {
        folder.run_piped("rows.parquet", &[command, &format].concat()).exits_with(0);
        folder.run(shown).exits_with(0).prints("1\ta\n2\tb\n");
    }
    let join = ["join", "rows.parquet", "-", "-o", "-", "--right-format", "parquet"];
    folder.run_piped("rows.parquet", &join).exits_with(0).prints("1\ta\ta\n2\tb\tb\n");
    folder.write("none.parquet", "");
    let none = folder.run_piped("none.parquet", &["build", "-", "-o", "n.ogive", "--format", "parquet"]);
    none.exits_with(1).complains_of("standard input").keeps_quiet_about("/tmp");
}

#[test]
fn a_table_is_not_written_to_standard_output() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,v\n1,a\n");
    let run = folder.run(&["build", "rows.csv", "-o", "-"]).exits_with(2);
    run.complains_of("a table cannot be written to standard output").complains_of("name a file");
    folder.run(&["profile", "rows.csv", "-o", "-"]).exits_with(2).complains_of("standard output");
    assert_eq!(folder.names(), ["rows.csv"]);
}

#[test]
fn the_suffix_of_an_output_means_one_format_in_every_command() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,v\n1,a\n");
    folder.build("rows.csv", "t.ogive", &[]);
    folder.run(&["db", "import", "s", "rows.csv"]).exits_with(0);
    for (suffix, content) in [
        ("csv", "id,v\n1,a\n"),
        ("CSV", "id,v\n1,a\n"),
        ("Tsv", "id\tv\n1\ta\n"),
        ("jsonl", "{\"id\":1,\"v\":\"a\"}\n"),
        ("ndjson", "{\"id\":1,\"v\":\"a\"}\n"),
        ("NDJSON", "{\"id\":1,\"v\":\"a\"}\n"),
    ] {
        let (join, table, store) = (format!("join.{suffix}"), format!("table.{suffix}"), format!("store.{suffix}"));
        folder.run(&["join", "t.ogive", "t.ogive", "--kind", "semi", "-o", &join]).exits_with(0);
        folder.run(&["export", "t.ogive", &table]).exits_with(0);
        folder.run(&["export", "s", &store]).exits_with(0);
        for name in [join, table, store] {
            assert_eq!(std::fs::read_to_string(folder.path(&name)).unwrap(), content, "{name}");
        }
    }
    for suffix in ["json", "txt", "JSON"] {
        let name = format!("out.{suffix}");
        for command in
            [&["join", "t.ogive", "t.ogive", "-o", &name][..], &["export", "t.ogive", &name], &["export", "s", &name]]
        {
            folder.run(command).exits_with(2).complains_of("does not determine a format").complains_of(".jsonl");
        }
        assert!(!folder.path(&name).exists());
    }
    folder.run(&["join", "t.ogive", "t.ogive", "-o", "out.txt", "--to", "text"]).exits_with(0);
    folder.run(&["join", "t.ogive", "t.ogive", "-o", "unnamed"]).exits_with(0);
    folder.run(&["scan", "unnamed"]).exits_with(0).prints("1\ta\ta\n");
}

#[test]
fn an_interrupted_import_of_standard_input_says_what_is_durable() {
    let folder = Folder::new();
    let arguments = ["db", "import", "s", "-", "--key-type", "u64", "--format", "lines", "--batch", "1", "--json"];
    let mut child = folder.command(&arguments);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"1\n2\n").unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    lines.next().unwrap().unwrap();
    lines.next().unwrap().unwrap();
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    lines.for_each(drop);
    let mut told = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{told}");
    assert!(told.contains("the first 2 rows are durable") && !told.contains("/dev/stdin"), "{told}");
    drop(input);
}

#[test]
fn an_import_that_is_interrupted_while_it_reads_types_from_a_pipe_says_that_nothing_is_durable() {
    let folder = Folder::new();
    let mut command = folder.command(&["db", "import", "s", "-", "--format", "csv"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The pipe stays open; it takes eight megabytes only if it is read.
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, "id,v\n1,2\n".repeat(1 << 20).as_bytes()).unwrap();
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    drop(input);
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(130), "{told}");
    assert!(told.contains("interrupted; no row is durable") && !told.contains("/dev/stdin"), "{told}");
    assert!(!folder.path("s").exists());
}

#[test]
fn messages_call_standard_input_by_its_name() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,v\n1,a\nx,b\n");
    folder.write("nothing.csv", "");
    let build = ["build", "-", "-o", "t", "--format", "csv", "--key-type", "u64"];
    let run = folder.run_piped("rows.csv", &build).exits_with(1).keeps_quiet_about("/dev/stdin");
    run.complains_of("'x' in record 2 of standard input (line 3)");
    let run = folder.run_piped("nothing.csv", &build).exits_with(1).keeps_quiet_about("/dev/stdin");
    run.complains_of("standard input contains no records");
    let import = ["db", "import", "s", "-", "--format", "csv", "--key-type", "u64"];
    folder.run_piped("rows.csv", &import).exits_with(1).complains_of("of standard input");
}

/// Lines whose type is given are read from the pipe itself, which is opened for their schema, too.
#[test]
fn a_pipe_of_typed_lines_loses_no_line() {
    let folder = Folder::new();
    let lines: String = (0..300_000).map(|key| format!("{key}\n")).collect();
    folder.write("keys.txt", lines);
    let typed = ["--key-type", "u64"];
    let run = folder.run_piped("keys.txt", &[&["db", "import", "s", "-"], &typed[..]].concat()).exits_with(0);
    assert!(run.stdout.contains("300,000 rows"), "{}", run.stdout);
    folder.run(&["count", "s"]).exits_with(0).prints("300000\n");
    folder.run_piped("keys.txt", &[&["build", "-", "-o", "t.ogive"], &typed[..]].concat()).exits_with(0);
    folder.run(&["count", "t.ogive"]).exits_with(0).prints("300000\n");
    folder.run(&["index", "create", "i.ogx", "--key-type", "u64"]).exits_with(0);
    folder.run_piped("keys.txt", &["index", "load", "i.ogx", "-"]).exits_with(0);
    folder.run(&["count", "i.ogx"]).exits_with(0).prints("300000\n");
    let join = ["join", "t.ogive", "-", "-o", "-", "--kind", "anti"];
    folder.run_piped("keys.txt", &join).exits_with(0).prints("");
}
