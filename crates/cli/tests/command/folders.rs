//! Folders as inputs. Goal: the files of one format in a folder are one input, whatever their names, and nothing is
//! left out in silence. Method: folders of each format, with columns that differ, compared with one file of all rows.

use super::run::Folder;

/// The same rows in one file, and in the files of a folder.
const WHOLE: &str = "id,name,n\n1,a,10\n2,b,\n3,\"c,d\",-7\n4,,9000000000\n";

fn folder_of(format: &str) -> Folder {
    let folder = Folder::new();
    folder.write("whole.csv", WHOLE);
    folder.build("whole.csv", "whole.ogive", &[]);
    std::fs::create_dir_all(folder.path("in/sub")).unwrap();
    folder.write("one.csv", "id,name,n\n3,\"c,d\",-7\n4,,9000000000\n");
    // Its columns are in another order, and `n` is of another type.
    folder.write("two.csv", "n,id,name\n10,1,a\n,2,b\n");
    folder.write("in/_SUCCESS", "");
    folder.write("in/.hidden.csv", "id,name,n\n9,x,1\n");
    folder.write("in/README.md", "No rows,\nbut text\n");
    match format {
        "csv" => {
            std::fs::rename(folder.path("one.csv"), folder.path("in/part-0")).unwrap();
            std::fs::rename(folder.path("two.csv"), folder.path("in/sub/b.csv")).unwrap();
        }
        format => {
            for (from, to) in [("one.csv", "in/000000_0"), ("two.csv", "in/sub/part")] {
                folder.build(from, "t.ogive", &["--force", "--key", "id"]);
                folder.run(&["export", "t.ogive", &format!("{to}.{format}")]).exits_with(0);
                std::fs::rename(folder.path(&format!("{to}.{format}")), folder.path(to)).unwrap();
            }
        }
    }
    folder
}

#[test]
fn the_files_of_a_folder_are_one_input() {
    for format in ["csv", "parquet", "jsonl"] {
        let folder = folder_of(format);
        let built = folder.run(&["build", "in", "-o", "t.ogive", "--key", "id"]);
        let told = ["note: in is read as", ", 2 files; --format", "note: left out of in: README.md\n"];
        assert!(told.iter().all(|told| built.stderr.contains(told)), "{format}: {}", built.stderr);
        built.exits_with(0);
        let scanned = |table: &str| folder.run(&["scan", table]).stdout;
        // Nulls in text are told from empty text by formats that know both.
        assert_eq!(scanned("t.ogive"), scanned("whole.ogive"), "{format}");
        let info = folder.run(&["info", "t.ogive"]).stdout;
        // No type of Parquet holds the unsigned and the signed integers of both files.
        let integers = if format == "parquet" { "n: i128?" } else { "n: i64?" };
        assert!(info.contains(integers), "{format}: {info}");
        folder.run(&["db", "import", "st", "in", "--key", "id"]).exits_with(0);
        assert_eq!(scanned("st"), scanned("whole.ogive"), "{format}");
        let joined = |side: &str| folder.run(&["join", side, "whole.csv", "--on", "id", "-o", "-"]).stdout;
        assert_eq!(joined("in").lines().count(), 4, "{format}: {}", joined("in"));
    }
}

#[test]
fn columns_that_paths_state_and_columns_that_a_file_lacks_are_there() {
    let folder = Folder::new();
    for (path, rows) in [("dt=2026-01-02/a.csv", "id,x\n1,5\n"), ("dt=2026-01-03/b.csv", "id,y\n2,w\n")] {
        std::fs::create_dir_all(folder.path("in").join(path).parent().unwrap()).unwrap();
        folder.write(&format!("in/{path}"), rows);
    }
    for key in [&["--key", "id"][..], &["--key", "dt", "--key", "id"]] {
        let built = folder.run(&[&["build", "in", "-o", "t.ogive", "--force"], key].concat());
        assert!(built.stderr.contains("in is read as comma-separated values, 2 files"), "{}", built.stderr);
        built.exits_with(0);
        folder.run(&["export", "t.ogive", "out.csv", "--force"]).exits_with(0);
        let written = std::fs::read_to_string(folder.path("out.csv")).unwrap();
        assert_eq!(written, "id,x,y,dt\n1,5,,2026-01-02\n2,,w,2026-01-03\n");
    }
    let info = folder.run(&["info", "t.ogive"]).stdout;
    assert!(info.contains("(date, u64) -> {x: u64?, y: text?}"), "{info}");
}

#[test]
fn folders_of_several_formats_or_of_none_are_refused() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("in")).unwrap();
    folder.run(&["build", "in", "-o", "t.ogive"]).exits_with_error().complains_of("in contains no records");
    folder.write("in/a.csv", "id,n\n1,2\n");
    folder.write("in/b.jsonl", "{\"id\":3}\n");
    let refused = folder.run(&["build", "in", "-o", "t.ogive"]);
    assert!(refused.stderr.contains("a.csv is comma-separated values, and b.jsonl is JSON"), "{}", refused.stderr);
    folder.run(&["db", "import", "st", "in"]).exits_with_error().complains_of("several formats");
    assert!(!folder.path("st").exists());
    folder.write("in/a.csv", "id,n\n1\n");
    std::fs::remove_file(folder.path("in/b.jsonl")).unwrap();
    let bad = folder.run(&["build", "in", "-o", "t.ogive"]);
    assert!(bad.stderr.contains("in/a.csv") && bad.stderr.contains("line 2"), "{}", bad.stderr);
    folder.write("in/b.csv", "id,n\n7\n8,9\n");
    let skipped = folder.run(&["build", "in", "-o", "t.ogive", "--skip-bad-rows", "bad.csv"]);
    assert!(skipped.stderr.contains("2 rows of in left out"), "{}", skipped.stderr);
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("8\t9\n");
    assert_eq!(std::fs::read_to_string(folder.path("bad.csv")).unwrap().lines().count(), 3);
}

#[test]
fn no_row_of_a_folder_is_lost_in_silence() {
    let folder = Folder::new();
    let fill = |files: &[(&str, &str)]| {
        _ = std::fs::remove_dir_all(folder.path("in"));
        for (path, rows) in files {
            std::fs::create_dir_all(folder.path("in").join(path).parent().unwrap()).unwrap();
            folder.write(&format!("in/{path}"), rows);
        }
    };
    let build = || folder.run(&["build", "in", "-o", "t.ogive", "--force"]);
    // A file without a header, and one of names alone.
    fill(&[("a.csv", "id,n\n1,2\n"), ("b.csv", "2,3\n")]);
    build().exits_with_error().complains_of("in/b.csv has no column 'id'");
    fill(&[("a.csv", "id,n\n10,2\n9,3\n"), ("b.csv", "id\n"), ("c.csv", "\n\n"), ("_d.csv", "id,n\n7,7\n")]);
    build().exits_with(0).complains_of("1 file whose names begin with _ or .");
    folder.run(&["scan", "t.ogive"]).prints("9\t3\n10\t2\n");
    // A column that a path states, and another file has.
    fill(&[("n=2/a.csv", "id\n1\n"), ("n=3/b.csv", "id,n\n2,3\n")]);
    build().exits_with(0);
    folder.run(&["scan", "t.ogive"]).prints("1\t2\n2\t3\n");
    fill(&[("n=2/a.csv", "id,n\n1,5\n")]);
    build().exits_with_error().complains_of("5, though its folder states 2");
    // A file of the input is no output, under any name.
    fill(&[("a.csv", "id,n\n1,2\n")]);
    for output in ["in/a.csv", "in/../in/a.csv"] {
        let refused = folder.run(&["build", "in", "-o", output, "--force"]);
        refused.exits_with_error().complains_of("a file of in, an input of this command");
    }
}

#[test]
fn text_of_hive_has_no_header() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("in")).unwrap();
    folder.write("in/000000_0", "1\u{1}a\u{1}2.50\n2\u{1}\\N\u{1}3.75\n");
    folder.write("in/000001_0", "3\u{1}\"c,\u{1}\\N\n");
    let built = folder.run(&["build", "in", "-o", "t.ogive"]);
    assert!(built.stderr.contains("2 files"), "{}", built.stderr);
    built.exits_with(0);
    folder.run(&["scan", "t.ogive", "--json"]).exits_with(0);
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("1\ta\t2.50\n2\t\t3.75\n3\t\"c,\t\n");
}

#[test]
fn what_a_folder_has_that_cannot_be_read_and_what_it_lacks_is_told() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("in/dt=2026-01-02/hour=7")).unwrap();
    folder.write("in/dt=2026-01-02/hour=7/a.csv", "id,n\n1,2\n");
    std::os::unix::fs::symlink("nowhere", folder.path("in/b.csv")).unwrap();
    let built = folder.run(&["build", "in", "-o", "t.ogive"]).exits_with(0);
    built.complains_of("left out of in: b.csv (a link that leads nowhere)").keeps_quiet_about("states");
    // A folder does not know of those above it.
    for (given, parent) in [("in/dt=2026-01-02/hour=7", "in"), ("in/dt=2026-01-02/", "in")] {
        let built = folder.build(given, "t.ogive", &["--force"]);
        let told = format!("no column of its files; {parent} as input has it");
        assert!(built.stderr.contains("states dt") && built.stderr.contains(&told), "{}", built.stderr);
    }
    // Options of indexes of Parquet files are not those of inputs.
    for month in ["01", "2"] {
        std::fs::create_dir_all(folder.path(&format!("months/m={month}"))).unwrap();
        folder.write(&format!("months/m={month}/a.csv"), "id,n\n1,2\n");
    }
    let refused = folder.run(&["build", "months", "-o", "m.ogive"]).exits_with(1);
    refused.complains_of("state its type with --type m=i64 or").keeps_quiet_about("--partition");
    folder.build("months", "m.ogive", &["--type", "m=text"]);
    std::fs::create_dir_all(folder.path("lake/_delta_log")).unwrap();
    folder.write("lake/_delta_log/00000000000000000000.json", "{}");
    folder.write("lake/a.csv", "id,n\n1,2\n");
    let refused = folder.run(&["build", "lake", "-o", "l.ogive"]).exits_with(1);
    refused.complains_of("a table of Delta Lake").complains_of("--ignore-table-log").keeps_quiet_about("--files");
    let info = folder.run(&["info", "in"]).exits_with(1).stdout;
    let told = ["in: a folder of comma-separated values, 1 file", "columns: id, n, dt, hour", "`ogive build in -o"];
    assert!(told.iter().all(|told| info.contains(told)), "{info}");
    std::fs::create_dir(folder.path("none")).unwrap();
    let info = folder.run(&["info", "none"]).exits_with(1).stdout;
    assert!(info.contains("without files to read"), "{info}");
    let unnamed = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff");
    std::fs::create_dir(folder.path("in").join(unnamed)).unwrap();
    folder.run(&["build", "in", "-o", "t.ogive"]).exits_with(1).complains_of("its name is not text in UTF-8");
}

#[test]
fn nothing_is_written_into_a_folder_that_is_the_input() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("in/below")).unwrap();
    folder.write("in/a.csv", "id,n\n1,2\nx\n");
    for bad_rows in ["in/bad.csv", "in/below/bad.csv"] {
        let build = ["build", "in", "-o", "t.ogive", "--skip-bad-rows", bad_rows];
        folder.run(&build).exits_with(2).complains_of("is in in, whose files are the input");
    }
    folder.write("in/a.csv", "id,n\n1,2\n");
    let join = ["join", "in", "in", "--on", "id", "-o", "in/out.csv"];
    folder.run(&join).exits_with(1).complains_of("in/out.csv is in in, whose files are the input");
    // A table is none of the files that are read.
    folder.build("in", "in/t.ogive", &[]);
    let join = folder.run(&["join", "in", "in", "--on", "id", "-o", "out.csv"]).exits_with(0);
    join.complains_of("left out of in: t.ogive");
}

#[test]
fn a_part_of_one_row_is_read_and_a_spoilt_one_is_no_neighbour_to_leave_out() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("in")).unwrap();
    folder.write("in/part-0", "1,a\n2,b\n");
    folder.write("in/part-1", "3,c\n");
    let count = |flags: &[&str]| {
        folder.run(&[&["build", "in", "-o", "t.ogive", "--force"], flags].concat()).exits_with(0);
        folder.run(&["count", "t.ogive"]).exits_with(0).stdout
    };
    assert_eq!(count(&["--no-header"]), "3\n");
    // A format chooses among those of a folder.
    folder.write("in/part-2", "{\"1\": 4, \"a\": \"d\"}\n");
    folder.run(&["build", "in", "-o", "u.ogive"]).exits_with(1).complains_of("files of several formats");
    assert_eq!(count(&["--no-header", "--format", "csv"]), "3\n");
    assert_eq!(count(&["--format", "jsonl"]), "1\n");
    std::fs::remove_file(folder.path("in/part-2")).unwrap();
    folder.write("in/c.csv", b"\xfd7zXZ\0\0\x04");
    let refused = folder.run(&["build", "in", "-o", "u.ogive"]).exits_with(1);
    refused.complains_of("c.csv in in is compressed by xz, although its name says");
}
