//! Messages that name the file, the cause and the way out. Goal: a user who got something wrong learns what to do, and
//! nothing stays behind. Method: whole runs that fail.

use super::run::{Folder, Run, grouped, sosd};
use ogive::index::{Index, IndexOptions};
use ogive::io::LocalStorage;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn a_missing_file_is_no_entity() {
    let folder = Folder::new();
    for command in [
        &["get", "nope", "1"][..],
        &["index", "put", "nope", "1"],
        &["repair", "--in-place", "nope"],
        &["repair", "nope"],
        &["db", "delete", "nope", "1"],
        &["nth", "nope", "1"],
        &["build", "nope", "-o", "t.ogive"],
    ] {
        let run = folder.run(command).exits_with(1).complains_of("nope");
        assert!(!run.stderr.contains("entity") && run.stderr.contains("check the path"), "{}", run.stderr);
    }
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

#[test]
fn the_holder_of_a_lock_is_named() {
    let folder = Folder::new();
    let storage = Arc::new(LocalStorage::new(folder.path("")));
    let index = Index::<u64, u64>::create((storage.clone(), "ids"), &IndexOptions::default()).unwrap();
    let holder = format!("locked by process {}", std::process::id());
    folder.run(&["index", "put", "ids", "1", "2"]).exits_with(1).complains_of(&holder);
    let error = Index::<u64, u64>::open((storage, "ids"), &ogive::IndexOptions::default()).unwrap_err();
    assert!(error.to_string().contains("locked by this process"), "{error}");
    drop(index);
    folder.run(&["index", "put", "ids", "1", "2"]).exits_with(0);
}

#[test]
fn names_that_are_not_unicode_are_names_like_others() {
    let folder = Folder::new();
    let run = |arguments: &[&[u8]]| {
        let arguments = arguments.iter().map(|argument| OsStr::from_bytes(argument));
        let output = folder.command(&[]).args(arguments).output().unwrap();
        Run::new(&["of names of bytes"], output).exits_with(0)
    };
    std::fs::write(folder.path("").join(OsStr::from_bytes(b"w\xff.txt")), "apple\nbanana\n").unwrap();
    run(&[b"build", b"w\xff.txt", b"-o", b"w\xff.ogive"]);
    run(&[b"scan", b"w\xff.ogive"]).prints("apple\t\nbanana\t\n");
    run(&[b"verify", b"w\xff.ogive"]);
    run(&[b"info", b"w\xff.ogive"]);
    run(&[b"join", b"w\xff.txt", b"w\xff.ogive", b"-o", b"-"]);
    run(&[b"index", b"create", b"i\xfe", b"--value-bytes", b"1"]);
    run(&[b"index", b"put", b"i\xfe", b"7", b"x"]);
    run(&[b"get", b"i\xfe", b"7"]).prints("x\n");
    run(&[b"db", b"put", b"d\xff", b"apple", b"red"]);
    run(&[b"db", b"import", b"d\xff", b"w\xff.txt", b"--payload", b"3"]);
    run(&[b"export", b"d\xff", b"e\xff.csv"]);
    run(&[b"get", b"d\xff", b"apple"]);
    let names: Vec<Vec<u8>> = std::fs::read_dir(folder.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().as_bytes().to_vec())
        .collect();
    assert!(names.iter().all(|name| name.iter().any(|&byte| byte >= 0xfe)), "{names:?}");
}

#[test]
fn a_store_in_the_place_of_a_file_is_named() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("empty")).unwrap();
    folder.run(&["db", "put", "store", "apple", "red"]).exits_with(0);
    for command in [&["index", "put", "store", "1"][..], &["index", "delete", "store", "1"]] {
        folder.run(command).exits_with(1).complains_of("it is a store").complains_of("ogive scan");
    }
    folder.build("store", "t.ogive", &[]);
    folder.run(&["index", "put", "empty", "1"]).exits_with(1).complains_of("give a file");
    folder.run(&["get", "empty", "apple"]).exits_with(1).complains_of("is not an Ogive store");
}

#[test]
fn messages_about_stores_do_not_speak_of_tables() {
    let folder = Folder::new();
    folder.run(&["db", "put", "store", "apple", "red"]).exits_with(0);
    let long = "k".repeat(70_000);
    for command in [&["put", "store", &long, "x"][..], &["get", "store", "1", "--keys", "u64"]] {
        let run = folder.run(&grouped("db", command)).exits_with(1);
        assert!(!run.stderr.contains("table"), "{}", run.stderr);
    }
}

#[test]
fn a_path_in_a_hint_is_one_word_of_a_shell() {
    let folder = Folder::new();
    folder.write("my file.csv", "name,colour\napple,red\n");
    let hint = "`ogive build 'my file.csv' -o 'my file.ogive'`";
    folder.run(&["get", "my file.csv", "apple"]).exits_with(1).complains_of(hint);
    let told = folder.run(&["info", "my file.csv"]).exits_with(1).stdout;
    assert!(told.contains("`ogive build 'my file.csv' -o OUT.ogive`"), "{told}");
    folder.build("my file.csv", "it's.ogive", &[]);
    let told = folder.run(&["info", "it's.ogive"]).exits_with(0).stdout;
    assert!(told.contains("`ogive explain 'it'\\''s.ogive'`"), "{told}");
    folder.run(&["explain", "it's.ogive", "a b"]).exits_with(2).complains_of("'it'\\''s.ogive' 'a b' --explain");
    folder.run(&["db", "put", "sp ace", "key", "value"]).exits_with(0);
    let told = folder.run(&["info", "sp ace"]).exits_with(0).stdout;
    assert!(told.contains("`ogive stats 'sp ace'`"), "{told}");
}

#[test]
fn a_design_of_papers_is_told_with_the_program_that_has_it() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&[1, 2, 3]));
    for design in ["rmi", "pgm:64", "layers=1,builder=plr,error=4"] {
        let run = folder.run(&["tune", "keys.u64", "--design", design]).exits_with(2);
        run.complains_of("is one of papers").complains_of("`ogive-research`");
    }
}

#[test]
fn help_names_what_an_argument_is() {
    let folder = Folder::new();
    for (command, placeholder) in
        [(&["get"][..], "<PLACE>"), (&["index", "create"], "<INDEX>"), (&["db", "put"], "<STORE>")]
    {
        let help = folder.run(&[command, &["--help"]].concat()).exits_with(0);
        assert!(help.stdout.contains(placeholder) && !help.stdout.contains("<DB>"), "{}", help.stdout);
    }
}

/// Runs a command on a pipe without a writer, interrupts it, and insists that it ends soon.
fn interrupted(folder: &Folder, arguments: &[&str]) {
    let mut child = folder.command(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // Until it handles signals, an interrupt ends it as any other process.
    std::thread::sleep(Duration::from_millis(400));
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > Duration::from_secs(10) {
            child.kill().unwrap();
            panic!("{arguments:?} goes on after an interrupt");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(child.wait().unwrap().code(), Some(130), "{arguments:?}");
}

#[test]
fn an_interrupt_ends_the_wait_for_a_pipe() {
    let folder = Folder::new();
    for name in ["pipe", "pipe.csv"] {
        assert!(Command::new("mkfifo").arg(folder.path(name)).status().unwrap().success());
    }
    folder.run(&["index", "create", "i.ogx"]).exits_with(0);
    interrupted(&folder, &["build", "pipe", "-o", "t.ogive"]);
    interrupted(&folder, &["build", "pipe.csv", "--key", "1", "-o", "t.ogive"]);
    interrupted(&folder, &["index", "load", "i.ogx", "pipe", "--key-type", "u64"]);
    interrupted(&folder, &["db", "import", "store", "pipe"]);
    let names = folder.names();
    assert!(!names.iter().any(|name| name.contains("tmp") || name == "t.ogive"), "{names:?}");
    // A pipe with a writer is read as before.
    let writer = std::thread::spawn({
        let path = folder.path("pipe");
        move || std::fs::write(path, "banana\napple\n").unwrap()
    });
    folder.build("pipe", "t.ogive", &[]);
    writer.join().unwrap();
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("apple\t\nbanana\t\n");
}

#[test]
fn an_interrupt_ends_the_parsing_of_an_input_without_records() {
    let folder = Folder::new();
    // Hours of empty lines, of which few bytes are read.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&[b'\n'; 1 << 20]).unwrap();
    folder.write("blank.jsonl.gz", encoder.finish().unwrap().repeat(1 << 14));
    interrupted(&folder, &["build", "blank.jsonl.gz", "-o", "t.ogive"]);
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    let path = folder.path("pipe");
    let writer = std::thread::spawn(move || {
        let mut pipe = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        while pipe.write_all(&[b'\n'; 1 << 16]).is_ok() {}
    });
    interrupted(&folder, &["db", "import", "store", "pipe", "--format", "jsonl"]);
    writer.join().unwrap();
    assert_eq!(folder.names(), ["blank.jsonl.gz", "pipe"]);
}

#[test]
fn files_that_are_none_of_ogive_are_named_alike_by_all_commands() {
    let folder = Folder::new();
    folder.write("t.csv", "id,name\n1,a\n");
    folder.write("passwd", "root:x:0:0:root:/root:/bin/sh\n".repeat(200));
    folder.write("noise", [0_u8, 255, 7, 128].repeat(500));
    ogive::Profile::by_name_or_file("nvme").unwrap().save(&folder.path("mine.json")).unwrap();
    for (file, name) in [
        ("t.csv", "comma-separated values, an input"),
        ("passwd", "lines of text, an input"),
        ("mine.json", "a storage profile named"),
        ("noise", "not a file of Ogive"),
    ] {
        for command in [
            &["get", file, "1"][..],
            &["scan", file],
            &["verify", file],
            &["explain", file],
            &["stats", file],
            &["count", file],
        ] {
            let run = folder.run(command).exits_with_error();
            run.complains_of(&format!("{file} is {name}")).complains_of("hint: ");
        }
        let info = folder.run(&["info", file]);
        let name = if file == "noise" { "noise contains bytes of zero" } else { name };
        assert!(info.stdout.contains(&format!("{file}: {name}")), "{}", info.stdout);
    }
    for (file, name) in
        [("t.csv", "comma-separated values"), ("passwd", "lines of text"), ("mine.json", "a storage profile")]
    {
        folder.run(&["repair", file]).exits_with_error().complains_of(&format!("{file} is {name}"));
        folder.run(&["db", "delete", file, "1"]).exits_with_error().complains_of(&format!("{file} is {name}"));
    }
}

#[test]
fn advice_fits_the_mistake() {
    let folder = Folder::new();
    folder.write("words.txt", "apple\nbanana\n");
    folder.build("words.txt", "t.ogive", &["--compress", "lz4", "--filter", "10", "--block-size", "512"]);
    folder.run(&["index", "create", "p.ogx", "--value-type", "{n: u8}"]).exits_with(0);
    folder.run(&["db", "put", "s", "apple", "red"]).exits_with(0);
    let says = |arguments: &[&str], word: &str| folder.run(arguments).exits_with_error().complains_of(word);
    says(&["db", "import", "s", "t.ogive"], "`ogive db ingest`").keeps_quiet_about("--external");
    says(&["index", "load", "p.ogx", "t.ogive"], "`ogive export`").keeps_quiet_about("--external");
    says(&["index", "put", "p.ogx", "5", "300"], "each a value of its type");
    says(&["build", "words.txt", "-o", "nowhere/t.ogive"], "cannot create nowhere/t.ogive");
    says(&["nth", "t.ogive", "5"], "the table has 2 records");
    says(&["scan", "t.ogive", "--limit", "1k"], "use a whole number in digits").keeps_quiet_about("invalid digit");
    says(&["db", "import", "s", "words.txt", "--batch", "0"], "use at least 1")
        .keeps_quiet_about("18446744073709551615");
    says(&["get", "s", "apple", "--memory", "64KiB"], "needs at least 1MiB of memory, but may take 64KiB");
    let info = folder.run(&["info", "s/LOCK"]).exits_with(0);
    assert!(info.stdout.contains("a file of a store") && !info.stdout.contains("build"), "{}", info.stdout);

    let note = folder.run(&["build", "t.ogive", "-o", "again.ogive"]).exits_with(0);
    for lost in ["its compression (--compress lz4)", "its filter (--filter)", "its block size (--block-size 512)"] {
        assert!(note.stderr.contains(lost), "{}", note.stderr);
    }
    let kept = ["--compress", "lz4", "--filter", "10", "--block-size", "512"];
    folder.build("t.ogive", "kept.ogive", &kept).keeps_quiet_about("without");
}

#[test]
fn a_null_is_called_one_and_the_advice_on_it_does() {
    let folder = Folder::new();
    folder.write("k.tsv", "k\tv\n1\t1\n\\N\t2\n");
    let typed = ["build", "k.tsv", "-o", "k.ogive", "--key-type", "u64"];
    let refused = folder.run(&typed).exits_with(1).complains_of("key column 'k': a null in record 2");
    refused.complains_of("--key-type '(u64?)'").keeps_quiet_about("empty");
    folder.build("k.tsv", "k.ogive", &["--key-type", "(u64?)"]);
    folder.write("v.tsv", "k\tv\n1\t1\n2\t\\N\n");
    let typed = ["build", "v.tsv", "-o", "v.ogive", "--type", "v=u64"];
    folder.run(&typed).exits_with(1).complains_of("a null in record 2").complains_of("--type 'v=u64?'");
    folder.build("v.tsv", "v.ogive", &["--type", "v=u64?"]);
}

#[test]
fn advice_on_a_side_of_a_join_names_options_that_joins_have() {
    let folder = Folder::new();
    folder.write("a.csv", "id,n\n1,2\n");
    folder.write("short.csv", "id,n\n1,2\n3\n");
    folder.write("unclear", "id,n\n1,2\n3,4\n5\n7,8\n");
    folder.write("x.csv", "id,n\n1,x\n");
    folder.write("null.csv", "id,n\n1,2\n,3\n");
    folder.write("b.txt", "id;n\n1;2\n3;4\n");
    let says = |words: &[&str], part: &str| {
        let run = folder.run(&[&["join", "a.csv"], words, &["-o", "-", "--on", "id"]].concat());
        run.complains_of(part).keeps_quiet_about(" --format").keeps_quiet_about(" --type")
    };
    says(&["short.csv"], "build short.csv --skip-bad-rows bad.csv -o good.ogive`");
    says(&["unclear"], "use --right-format csv, or --right-format lines\n").keeps_quiet_about("--skip-bad-rows");
    says(&["x.csv", "--right-type", "n=u64"], "--right-type 'n=text'");
    says(&["null.csv", "--right-type", "id=u64"], "nulls, which match nothing, with --right-type 'id=u64?'");
    says(&["null.csv", "--right-type", "id=u64?"], "1 row by");
    says(&["null.csv", "--key-type", "u64"], "--key-type '(u64?)'");
    says(&["b.txt"], "--right-format says otherwise");
}

#[test]
fn a_carriage_return_within_a_field_of_tsv_is_named_with_its_line() {
    let folder = Folder::new();
    for (rows, line) in [("k\tv\na\tx\ry\nb\tz\n", 2), ("k\na\nb\rc\n", 3), ("k\tv\r\na\tb\r\nc\td\re\r\n", 3)] {
        folder.write("k.tsv", rows);
        let build = ["build", "k.tsv", "-o", "k.ogive"];
        let refused =
            folder.run(&build).exits_with(1).complains_of(&format!("line {line} of k.tsv has a carriage return"));
        refused.complains_of("write it as \\r");
    }
    // Lines may all end with one, and with both.
    for rows in ["k\tv\ra\tb\rc\td\r", "k\tv\r\na\tb\r\nc\td\r\n", "k\tv\na\tb\nc\td\r"] {
        folder.write("k.tsv", rows);
        folder.build("k.tsv", "k.ogive", &[]);
        folder.run(&["scan", "k.ogive"]).exits_with(0).prints("a\tb\nc\td\n");
    }
    folder.write("k.tsv", "k\na\nb\rc\n");
    folder.build("k.tsv", "k.ogive", &["--lenient"]);
    folder.run(&["count", "k.ogive"]).exits_with(0).prints("3\n");
}

#[test]
fn advice_on_a_long_value_names_the_command_that_prints_it() {
    let folder = Folder::new();
    folder.write("long", "x".repeat(3_000_000));
    folder.run(&["db", "put", "s", "k", "--file", "long"]).exits_with(0);
    folder.run(&["export", "s", "t.ogive"]).exits_with(0);
    for (command, advice) in [
        (&["get", "s", "k"][..], "`ogive get KEY --raw`"),
        (&["scan", "s"], "`ogive get KEY --raw`"),
        (&["get", "t.ogive", "k"], "`ogive get KEY --raw`"),
    ] {
        let refused = folder.run(&[command, &["--memory", "1MiB"]].concat()).exits_with(1).complains_of(advice);
        assert_eq!(refused.stderr.matches("--raw").count(), 1, "{}", refused.stderr);
    }
    folder.run(&["get", "s", "k", "--raw", "--memory", "1MiB"]).exits_with(0);
    folder.run(&["get", "t.ogive", "k", "--raw", "--memory", "1MiB"]).exits_with(0);
}

#[test]
fn rows_of_too_many_columns_come_with_the_option_that_chooses_some() {
    let folder = Folder::new();
    let names: Vec<String> = (0..2050).map(|number| format!("c{number}")).collect();
    folder.write("wide.csv", format!("{}\n{}\n", names.join(","), vec!["1"; 2050].join(",")));
    let refused = folder.run(&["build", "wide.csv", "-o", "wide.ogive"]).exits_with(2);
    refused.complains_of("2,049 columns of values").complains_of("--value");
    folder.build("wide.csv", "wide.ogive", &["--value", "c7"]);
}
