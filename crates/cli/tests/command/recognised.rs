//! Inputs are what their content says. Goal: no file of another format becomes lines of text, and what was inferred is
//! named. Method: the same rows in each form, from files and pipes, and files of formats that are refused by name.

use super::run::{Folder, Run};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// The rows that each form contains.
const CSV: &str = "id,name\n2,b c\n10,\u{e4}\n";

fn gzip(content: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content.as_ref()).unwrap();
    encoder.finish().unwrap()
}

fn utf_16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(unit).collect()
}

/// The forms, and what is said of each.
fn forms() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let semicolons = CSV.replace(',', ";");
    let tabs = CSV.replace(',', "\t");
    vec![
        ("a.csv", CSV.into(), ""),
        (
            "part-00000",
            CSV.into(),
            "note: part-00000 is read as CSV, delimiter ',', names of columns in line 1; --format says otherwise\n",
        ),
        ("b.txt", CSV.replace('\n', "\r\n").into(), "read as CSV"),
        ("c.csv", semicolons.clone().into(), "read as CSV, delimiter ';'"),
        ("d", CSV.replace(',', "|").into(), "read as CSV, delimiter '|'"),
        ("e.csv", tabs.clone().into(), "read as CSV, delimiter '\\t'"),
        ("f.dump", tabs.clone().into(), "read as TSV"),
        ("g.csv.gz", gzip(CSV), ""),
        ("h.csv", gzip(CSV), ""),
        ("i", [gzip(&CSV[..9]), gzip(&CSV[9..])].concat(), "read as CSV"),
        ("j.csv", utf_16(&semicolons, u16::to_le_bytes), "read as CSV, delimiter ';'"),
        ("k.txt", utf_16(&tabs, u16::to_be_bytes), "read as TSV"),
        ("l.csv.gz", gzip(utf_16(CSV, u16::to_le_bytes)), ""),
        ("m.json", "[{\"id\":2,\"name\":\"b c\"},{\"id\":10,\"name\":\"\u{e4}\"}]".into(), ""),
        (
            "n",
            "\u{feff} [\n  {\"id\": 2,\n \"name\": \"b c\"}\n, {\"name\": \"\u{e4}\", \"id\": 10} ]\n\n".into(),
            "as JSON",
        ),
        (
            "p.csv",
            format!("\u{feff}sep=;\r\n{semicolons}").into(),
            "delimiter ';', names of columns in line 2; --format",
        ),
        ("q.csv", utf_16(&format!("sep=\t\n{tabs}"), u16::to_le_bytes), "read as CSV, delimiter '\\t'"),
        ("r.csv.gz", [gzip(CSV), vec![0; 700]].concat(), ""),
        ("s.csv", CSV.replace('\n', "\r").into(), ""),
        ("o.json.gz", gzip("{\"id\":2,\"name\":\"b c\"}\n{\"id\":10,\"name\":\"\u{e4}\"}\n"), ""),
    ]
}

fn build(folder: &Folder, name: &str, is_piped: bool) -> Run {
    match is_piped {
        true => folder.run_piped(name, &["build", "-", "-o", "t.ogive"]),
        false => folder.run(&["build", name, "-o", "t.ogive"]),
    }
}

#[test]
fn rows_are_the_same_in_each_form_whatever_the_name() {
    for (name, content, said) in forms() {
        let folder = Folder::new();
        folder.write(name, content);
        let run = build(&folder, name, false).exits_with(0);
        match said {
            "" => assert_eq!(run.stderr, "", "{name}"),
            said => _ = run.complains_of(said),
        }
        folder.run(&["scan", "t.ogive"]).exits_with(0).prints("2\tb c\n10\t\u{e4}\n");
        // A pipe has no name.
        build(&folder, name, true).exits_with(0);
        folder.run(&["scan", "t.ogive"]).exits_with(0).prints("2\tb c\n10\t\u{e4}\n");
        folder.run(&["db", "import", "s", name]).exits_with(0);
        folder.run(&["scan", "s"]).exits_with(0).prints("2\tb c\n10\t\u{e4}\n");
    }
}

#[cfg(feature = "zstd")]
#[test]
fn zstandard_is_decoded() {
    let folder = Folder::new();
    let frame = |text: &[u8]| zstd::bulk::compress(text, 1).unwrap();
    let skipped = [b"\x50\x2a\x4d\x18\x02\0\0\0ab".to_vec(), frame(&CSV.as_bytes()[..9]), frame(&CSV.as_bytes()[9..])];
    folder.write("a.csv.zst", frame(CSV.as_bytes()));
    folder.write("b", skipped.concat());
    for name in ["a.csv.zst", "b"] {
        build(&folder, name, false).exits_with(0);
        folder.run(&["scan", "t.ogive"]).exits_with(0).prints("2\tb c\n10\t\u{e4}\n");
    }
    folder.write("cut.csv.zst", &frame(&CSV.as_bytes().repeat(100))[..30]);
    build(&folder, "cut.csv.zst", false).exits_with(1).complains_of("Zstandard");
    // As `zstd --long` writes it: a header with a window of 2^N bytes, and a last block of bytes as they are.
    let windowed = |log: u8| {
        let block = (CSV.len() as u32) << 3 | 1;
        [b"\x28\xb5\x2f\xfd\0", &[(log - 10) << 3][..], &block.to_le_bytes()[..3], CSV.as_bytes()].concat()
    };
    folder.write("long.csv.zst", windowed(27));
    build(&folder, "long.csv.zst", false).exits_with(0);
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("2\tb c\n10\t\u{e4}\n");
    folder.write("longest.csv.zst", windowed(28));
    let refused = build(&folder, "longest.csv.zst", false).exits_with(1);
    refused.complains_of("window is longer than 128 MiB").complains_of("`zstd -dc --long=31 FILE |");
}

#[test]
fn compressed_integers_are_read_from_a_copy() {
    let folder = Folder::new();
    folder.write("a.u64.gz", gzip(super::run::sosd(&[1, 5, 9])));
    folder.run(&["build", "a.u64.gz", "-o", "t.ogive"]).exits_with(0);
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("1\t\n5\t\n9\t\n");
    folder.run(&["join", "a.u64.gz", "t.ogive", "-o", "-"]).exits_with(0).prints("1\n5\n9\n");
}

#[test]
fn a_stream_that_is_cut_off_or_damaged_is_told_with_its_offset() {
    let folder = Folder::new();
    let whole = gzip(CSV.repeat(1_000));
    folder.write("cut.csv.gz", &whole[..whole.len() / 2]);
    folder.write(
        "damaged.csv.gz",
        whole.iter().enumerate().map(|(at, byte)| byte ^ u8::from(at == whole.len() - 6)).collect::<Vec<_>>(),
    );
    for (name, word) in [("cut.csv.gz", "cut off"), ("damaged.csv.gz", "gzip")] {
        for is_piped in [false, true] {
            build(&folder, name, is_piped).exits_with(1).complains_of(word).complains_of("byte ");
        }
    }
    assert!(!folder.path("t.ogive").exists());
}

#[test]
fn files_of_other_formats_are_refused_by_name() {
    let inner = |at: usize, magic: &[u8]| [&vec![0; at][..], magic, &[0; 64]].concat();
    for (content, told) in [
        (b"PK\x03\x04\x14\0xl/workbook.xml".to_vec(), "spreadsheet"),
        (b"PK\x03\x04\x14\0readme.txt".to_vec(), "archive"),
        (b"7z\xbc\xaf\x27\x1c\0\x04".to_vec(), "7-Zip"),
        (b"BZh91AY&SY\x01".to_vec(), "bzip2"),
        (b"\xfd7zXZ\0\0\x04".to_vec(), "xz"),
        (b"SQLite format 3\0\x10\0".to_vec(), "SQLite"),
        (b"PGDMP\x01\x0e".to_vec(), "pg_dump"),
        (b"redb\x1a\x0a\xa9\x0d\x0a".to_vec(), "redb"),
        (inner(16, b"\xde\xc0\xef\xbe"), "LMDB"),
        (inner(8, b"DUCK"), "DuckDB"),
        ([&[0; 64][..], b"\x57\xfb\x80\x8b\x24\x75\x47\xdb"].concat(), "LevelDB"),
        (b"ORC\x0a\x03".to_vec(), "ORC"),
        (b"Obj\x01\x04\x14".to_vec(), "Avro"),
        (b"ARROW1\0\0".to_vec(), "Arrow"),
        (b"one\0two\n".to_vec(), "bytes of zero"),
        ("a\nb\n".encode_utf16().flat_map(u16::to_le_bytes).collect(), "UTF-16 without a byte order mark"),
        (b"--\n-- PostgreSQL database dump\n--\n".to_vec(), "SQL statements"),
        (b"SET NAMES utf8mb4;\n".to_vec(), "SQL statements"),
        (b"SET x = 0;\n\nCOPY public.t (id, n) FROM stdin;\n1\t2\n\\.\n".to_vec(), "\\copy (select * from NAME) to"),
        (b" id | n \n----+---\n  1 | 2\n(1 row)\n".to_vec(), "psql --csv -c"),
        (b"| id | n |\n|---:|---|\n| 1 | 2 |\n".to_vec(), "a table of Markdown"),
        (b"+----+---+\n| id | n |\n+----+---+\n|  1 | 2 |\n+----+---+\n".to_vec(), "drawn for people"),
    ] {
        let folder = Folder::new();
        folder.write("input", &content);
        // A text may contain bytes if its name says what it is.
        let is_named = content == b"one\0two\n";
        let names = if is_named { &["input"][..] } else { &["input", "input.csv"] };
        for name in names {
            folder.write(name, &content);
            build(&folder, name, false).exits_with(1).complains_of(told).complains_of("--format lines");
            folder.run(&["db", "import", "s", name]).exits_with(1).complains_of(told);
        }
        build(&folder, "input", true).exits_with(1).complains_of(told);
        assert_eq!(folder.names(), names);
    }
}

#[test]
fn lines_stay_lines_where_they_are_asked_for_or_nothing_speaks_against_it() {
    let folder = Folder::new();
    folder.write("a", CSV);
    folder.run(&["build", "a", "-o", "t", "--format", "lines"]).exits_with(0);
    folder.run(&["count", "t"]).exits_with(0).prints("3\n");
    folder.write("names.txt", "Doe, John\nplain\n");
    folder.run(&["build", "names.txt", "-o", "u"]).exits_with(0);
    folder.run(&["scan", "u"]).exits_with(0).prints("Doe, John\t\nplain\t\n");
    folder.write("zeros", "a\0b\n");
    folder.run(&["build", "zeros", "-o", "v", "--format", "lines"]).exits_with(0);
}

#[test]
fn lines_of_old_macs_end_with_carriage_returns() {
    let folder = Folder::new();
    let lines: String = (10_000..30_000).map(|key| format!("key {key}\r")).collect();
    for (name, content, count) in
        [("long", &*lines, "20000\n"), ("open.txt", "b\rc\ra", "3\n"), ("mixed", "1\r2\n3\r\n", "2\n")]
    {
        folder.write(name, content);
        build(&folder, name, false).exits_with(0);
        folder.run(&["count", "t.ogive"]).exits_with(0).prints(count);
        let piped = ["build", "-", "-o", "t.ogive", "--format", "lines", "--key-type", "text"];
        folder.run_piped(name, &piped).exits_with(0);
        folder.run(&["count", "t.ogive"]).exits_with(0).prints(count);
    }
    folder.run(&["get", "t.ogive", "1\\r2"]).exits_with(0);
}

#[test]
fn bytes_of_zero_are_no_text_wherever_they_are() {
    let folder = Folder::new();
    let lines = "some key\n".repeat(10_000);
    folder.write("late", format!("{lines}a\0b\n"));
    for is_piped in [false, true] {
        build(&folder, "late", is_piped).exits_with(1).complains_of("byte 90001 of its text is zero");
    }
    folder.write("late.gz", gzip(format!("id,n\n{}3,\0\n", "1,2\n".repeat(20_000))));
    build(&folder, "late.gz", false).exits_with(1).complains_of("byte 80007 of its text is zero");
    assert_eq!(folder.names(), ["late", "late.gz"]);
    folder.run(&["build", "late", "-o", "t.ogive", "--format", "lines"]).exits_with(0);
    folder.run(&["get", "t.ogive", "a\\x00b"]).exits_with(0);
}

#[test]
fn json_whose_lines_are_no_rows_is_refused_with_the_line_that_makes_rows_of_it() {
    let folder = Folder::new();
    for (content, told) in [
        ("{\"rows\":[{\"id\":1},{\"id\":2}]}", "jq -c '.rows[]' FILE"),
        ("{\n  \"meta\": {\"n\": 2},\n  \"data\": [\n    {\"id\": 1}\n  ]\n}\n", "jq -c '.data[]' FILE"),
        ("{\n  \"id\": 1\n}\n{\n  \"id\": 2\n}\n", "jq -c . FILE"),
    ] {
        folder.write("a.json", content);
        for is_piped in [false, true] {
            build(&folder, "a.json", is_piped).exits_with(1).complains_of(told).complains_of("--format jsonl");
        }
        folder.run(&["db", "import", "s", "a.json"]).exits_with(1).complains_of(told);
    }
    // Frames of pandas by columns and as lists.
    for content in ["{\"id\":{\"0\":1},\"n\":{\"0\":2}}", "{\"columns\":[\"id\"],\"data\":[[1]]}", "[[1,2],[3,4]]"] {
        folder.write("a.json", content);
        build(&folder, "a.json", false).exits_with(1).complains_of("orient='records', lines=True");
    }
    // Lines with arrays of objects, of which others can be read.
    folder.write("a.json", "{\"id\":1,\"of\":[{\"n\":1}]}\n{\"id\":2,\"of\":[]}\n");
    folder.run(&["build", "a.json", "-o", "t.ogive", "--key", "id", "--keys-only"]).exits_with(0);
}

#[test]
fn an_array_of_json_that_is_malformed_is_told_with_its_object() {
    for (array, told) in [
        ("[{\"a\":1},{\"a\":2}", "cut off"),
        ("[{\"a\":1} {\"a\":2}]", "no comma"),
        ("[{\"a\":1},{\"a\":2}] x", "more text behind its array"),
        ("[{\"a\":1},2]", "object 2"),
        ("[{\"a\":1},]", "object 2"),
        ("[{\"a\":1},{\"a\":\"]},\\\"{\"},{\"b\":1}]", "a null in record 3"),
    ] {
        let folder = Folder::new();
        folder.write("a.json", array);
        build(&folder, "a.json", false).exits_with(1).complains_of(told);
    }
}

#[test]
fn rows_with_mistakes_are_rows_and_what_is_unclear_is_refused() {
    let folder = Folder::new();
    folder.write("rows", format!("id,n\n{}9\n", "1,2\n".repeat(20)));
    folder.run(&["build", "rows", "-o", "t.ogive"]).exits_with_error().complains_of("line 22");
    let built = folder.run(&["build", "rows", "-o", "t.ogive", "--skip-bad-rows", "bad.csv"]);
    built.exits_with(0).complains_of("1 row of rows left out");
    folder.write("few", "id,n\n1,2\n3\n");
    for input in ["few", "-"] {
        let run = folder.run_piped("few", &["build", input, "-o", "u.ogive"]);
        run.exits_with_error().complains_of("may be CSV or lines of text").complains_of("--format lines");
    }
    folder.run(&["build", "few", "-o", "u.ogive", "--format", "lines"]).exits_with(0);
    folder.write("none.csv", "id,n\n1\n2\n");
    let all = folder.run(&["build", "none.csv", "-o", "u.ogive", "--force", "--skip-bad-rows", "all.csv"]);
    all.exits_with_error().complains_of("no row of none.csv can be read: all 2 were left out").complains_of("all.csv");
    folder.run(&["scan", "u.ogive"]).exits_with(0).prints("1,2\t\n3\t\nid,n\t\n");
    folder.write("half.txt", [0xff, 0xfe, b'a', 0, 0, 0xd8, b'b', 0]);
    folder.run(&["build", "half.txt", "-o", "v.ogive"]).exits_with_error().complains_of("half of a surrogate pair");
    folder.write("latin.csv", b"id,name\n1,M\xfcller\n");
    let told = folder.run(&["build", "latin.csv", "-o", "w.ogive"]);
    told.exits_with(0).complains_of("column 'name' is bytes, since record 1, ").complains_of("iconv");
    let told = folder.run(&["build", "latin.csv", "-o", "x.ogive", "--type", "name=text"]);
    told.exits_with(1).complains_of("is not of type text").complains_of("iconv");
    folder.write("header.csv", b"id,gr\xf6\xdfe\n1,M\n");
    folder.run(&["build", "header.csv", "-o", "x.ogive"]).exits_with(1).complains_of("column 2").complains_of("iconv");
}

#[test]
fn keys_that_are_missing_keep_the_type_of_the_others() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"id\":9,\"n\":1}\n{\"n\":2}\n{\"id\":10,\"n\":3}\n");
    let told = folder.run(&["build", "a.jsonl", "-o", "t.ogive"]).exits_with(1);
    told.complains_of("is not of type u64").complains_of("--key-type '(u64?)'");
    folder.build("a.jsonl", "t.ogive", &["--key-type", "(u64?)"]);
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("9\t1\n10\t3\n\t2\n");
}

#[test]
fn a_column_that_begins_with_nulls_has_the_type_of_its_values() {
    let folder = Folder::new();
    let nulls: String = (0..2_000).map(|id| format!("{id},\n")).collect();
    folder.write("late.csv", format!("id,n\n{nulls}5000,7\n"));
    let built = folder.build("late.csv", "t.ogive", &[]);
    assert!(built.stdout.contains("{n: u64?}"), "{}", built.stdout);
}

#[test]
fn files_that_change_and_texts_of_other_widths_are_refused() {
    let folder = Folder::new();
    let wide: Vec<u8> = "\u{feff}id\n1\n".chars().flat_map(|letter| (letter as u32).to_le_bytes()).collect();
    folder.write("u.csv", wide);
    folder.run(&["build", "u.csv", "-o", "t.ogive"]).exits_with_error().complains_of("iconv -f UTF-32");
    folder.write("d.csv", "1,5;2,5\n3,5;4,5\n");
    let built = folder.run(&["build", "d.csv", "-o", "t.ogive", "--no-header"]);
    built.exits_with(0).complains_of("delimiter ';'");
    folder.write("s.txt", "INSERT INTO t VALUES (1, 2);\nINSERT INTO t VALUES (1, 2);\n");
    folder.run(&["build", "s.txt", "-o", "u.ogive"]).exits_with_error().complains_of("a script of SQL statements");
}

#[test]
fn rows_of_too_many_columns_end_before_they_fill_the_memory() {
    let folder = Folder::new();
    folder.write("wide.csv", format!("{}\n", ",".repeat(3 << 20)));
    folder.run(&["build", "wide.csv", "-o", "t.ogive"]).exits_with_error().complains_of("more than 32768 fields");
    folder.write("row.csv", format!("id,n\n1,2\n{}\n", ",".repeat(3 << 20)));
    folder.run(&["build", "row.csv", "-o", "t.ogive"]).exits_with_error().complains_of("more than 32768 fields");
    let members: String = (0..40_000).map(|id| format!("\"{id}\":1,")).collect();
    folder.write("wide.jsonl", format!("{{{members}\"id\":2}}\n"));
    folder.run(&["build", "wide.jsonl", "-o", "t.ogive"]).exits_with_error().complains_of("members of different names");
}

#[test]
fn dumps_of_psql_keep_their_rows_and_nulls() {
    let folder = Folder::new();
    folder.write("copy.csv", "1\t2.50\tline\\nbreak\n2\t\\N\t\\N\n");
    let built = folder.build("copy.csv", "t.ogive", &["--no-header"]);
    assert!(built.stderr.contains("read as TSV with escapes"), "{}", built.stderr);
    folder.run(&["get", "t.ogive", "2"]).exits_with(0).prints("\t\n");
    folder.write("bare.csv", "6114.30,2025-01-01\n7.10,2025-01-02\n");
    let told = folder.build("bare.csv", "u.ogive", &[]);
    assert!(told.stderr.contains("although one is '6114.30'; --no-header reads it as a row"), "{}", told.stderr);
    folder.write("keys.csv", "id,n\n1,2\n,3\n");
    folder.run(&["join", "keys.csv", "keys.csv", "--on", "id", "-o", "j.csv.gz"]).exits_with_error();
    assert!(!folder.path("j.csv.gz").exists());
}

#[test]
fn text_is_known_by_its_lines_and_not_by_letters_that_begin_other_formats() {
    let folder = Folder::new();
    let built = |name: &str, content: &str| {
        folder.write(name, content);
        folder.run(&["build", name, "-o", "t.ogive", "--force"])
    };
    for begin in ["ORCID", "BZh", "FEA1", "GIF8"] {
        built("x.csv", &format!("{begin},name\n1,ann\n")).exits_with(0);
    }
    built("d.csv", "id,name\nDUCK,m\nEMU,x\n").exits_with(0);
    // What stands above rows does not make lines of them, and one line may be that of names.
    let rows: String = (0..30).map(|row| format!("{row},x\n")).collect();
    for unclear in [format!("# made by hand\nid,name\n{rows}"), "id,name\n".to_owned()] {
        built("unclear", &unclear)
            .exits_with(1)
            .complains_of("may be CSV or lines of text")
            .complains_of("--format csv");
    }
    built("prose.txt", "one, two\nthree\nfour, five, six\nseven\n").exits_with(0).keeps_quiet_about("note: prose");
    built("a.yaml", "a: 1\nb: 2\n")
        .exits_with(0)
        .complains_of("a.yaml is read as lines of text; --format says otherwise");
    for (name, content, told) in
        [("x.csv", "<?xml version=\"1.0\"?>\n<Error>\n", "is XML"), ("y.csv", "<html>\n<body>502\n", "is HTML")]
    {
        built(name, content).exits_with(1).complains_of(told);
        let info = folder.run(&["info", name]).exits_with(1).stdout;
        assert!(info.contains(told) && !info.contains("makes a table"), "{info}");
    }
    folder.write("packed.csv.gz", gzip("id,n\n1,2\n"));
    let info = folder.run(&["info", "packed.csv.gz"]).exits_with(1).stdout;
    assert!(info.contains("comma-separated values, an input") && info.contains("makes a table"), "{info}");
    folder.write("packed", b"\x82\xa2id\x01\xa1n\xa1a");
    build(&folder, "packed", false).exits_with(1).complains_of("is neither text nor of a format that is read");
}

#[test]
fn other_stores_are_refused_with_the_program_that_reads_them() {
    let folder = Folder::new();
    folder.write("a.db", b"SQLite format 3\0\x10\0");
    std::fs::create_dir(folder.path("lmdb")).unwrap();
    folder.write("lmdb/data.mdb", [&[0; 16], &0xbeef_c0de_u32.to_le_bytes()[..], &[0; 100]].concat());
    std::fs::create_dir(folder.path("rocks")).unwrap();
    folder.write("rocks/CURRENT", "MANIFEST-000005\n");
    for (input, what) in [
        ("a.db", "a database of SQLite"),
        ("lmdb", "an environment of LMDB"),
        ("lmdb/data.mdb", "a database of LMDB"),
        ("rocks", "a folder of RocksDB"),
    ] {
        let run = folder.run(&["db", "import", "store", input]).exits_with_error();
        run.complains_of(what).complains_of("`ogive-import");
    }
}
