//! Joins of text files into text, whose values are passed on without a look at them. Goal: the output is that of values
//! that were read and written by their types, byte for byte. Method: files of odd shapes; a condition that always holds
//! makes the join read all values.

use super::run::Folder;

/// Spellings of the fields of each column; the first of some are of a narrower type than the later ones.
const SPELLINGS: [(&str, &[&str]); 9] = [
    ("whole", &["0", "7", "18446744073709551615", "", "-0", "007", "-5"]),
    ("amount", &["1.50", "-0.05", "0.00", "1234567.89", "", "-0.00", "1.5"]),
    ("float", &["1.5", "1e5", "100000", "0.1", "-0", "-0.0", "1.50", "0.3016698162688452", "1e-7", "NaN", "inf"]),
    ("day", &["2024-02-29", "1969-12-31", "", "0001-01-01", "n/a"]),
    ("at", &["2024-02-29T12:00:00", "2024-02-29 12:00:00.5", "2024-02-29", "2024-02-29T12:00:00.500", ""]),
    ("time", &["12:00:00", "23:59:59.25", "07:30", "12:00:00.0"]),
    ("flag", &["true", "false", "", "TRUE"]),
    ("id", &["01890a5d-ac96-774b-bcce-b302099a8057", "01890A5D-AC96-774B-BCCE-B302099A8057"]),
    (
        "note",
        &[
            "plain",
            "\"a, b\"",
            "\"say \"\"so\"\"\"",
            "\"two\nlines\"",
            "",
            "\"\"",
            " spaces ",
            "\"unneeded\"",
            "it's",
            "a\"b",
        ],
    ),
];

/// A file of this many rows, whose columns take the first `variety` spellings.
fn file(rows: u64, variety: usize, seed: u64, end: &str) -> String {
    let mut state = seed;
    let mut pick = |count: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % count
    };
    let names: Vec<&str> = SPELLINGS.iter().map(|(name, _)| *name).collect();
    let mut text = format!("key,{}{end}", names.join(","));
    for row in 0..rows {
        let key = row * 7 % rows;
        text.push_str(&key.to_string());
        for (_, spellings) in SPELLINGS {
            text.push(',');
            text.push_str(spellings[pick(spellings.len().min(variety))]);
        }
        text.push_str(end);
    }
    text
}

/// Compares the outputs of a join with and without a condition that always holds.
fn assert_same(folder: &Folder, output: &str, flags: &[&str]) {
    let words = ["join", "left.csv", "right.csv", "--on", "key", "--force", "-o", output];
    let run = |more: &[&str]| {
        folder.run(&[&words, flags, more].concat()).exits_with(0);
        std::fs::read(folder.path(output)).unwrap()
    };
    let (passed_on, read) = (run(&[]), run(&["--where", "left.key >= right.key"]));
    assert!(passed_on.len() > 100, "{flags:?}");
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(passed_on == read, "{output} {flags:?}:\n{}\nand read\n{}", shown(&passed_on), shown(&read));
}

#[test]
fn values_are_written_as_if_they_were_read() {
    let folder = Folder::new();
    for variety in 1..11 {
        for (left_end, right_end) in [("\n", "\r\n"), ("\r\n", "\n")] {
            folder.write("left.csv", file(60, variety, 1, left_end));
            folder.write("right.csv", file(40, variety, 2, right_end));
            for (output, kind) in [("j.csv", "inner"), ("j.csv", "full"), ("j.tsv", "left")] {
                assert_same(&folder, output, &["--kind", kind, "--method", "merge"]);
            }
        }
    }
    for flags in [
        &["--kind", "semi"][..],
        &["--kind", "anti"],
        &["--kind", "left", "--method", "hash"],
        &["--kind", "full", "--method", "hash"],
        &["--null", "n/a"],
        &["--left-value", "note", "--right-value", "float"],
        &["--left-type", "amount=f64?", "--right-type", "whole=text"],
        &["--left-type", "note=bytes?"],
        &["--quote", "\""],
    ] {
        let method: &[&str] = if flags.contains(&"--method") { &[] } else { &["--method", "merge"] };
        let flags = [flags, method].concat();
        assert_same(&folder, if flags.contains(&"--quote") { "j.tsv" } else { "j.csv" }, &flags);
    }
}

#[test]
fn bytes_and_keys_of_several_columns_are_passed_on() {
    let folder = Folder::new();
    folder.write("left.csv", b"key,day,b\n1,2024-02-29,caf\xe9\n1,,\"\xff,\"\n2,2024-01-01,\n");
    folder.write("right.csv", b"key,day,c\n2,2024-01-01,\xfe\n1,2024-02-29,\"\"\n1,,x\n");
    for kind in ["inner", "left", "full"] {
        let words = ["join", "left.csv", "right.csv", "--on", "key,day", "--kind", kind, "--force", "-o", "j.csv"];
        let run = |more: &[&str]| {
            folder.run(&[&words, more].concat()).exits_with(0);
            std::fs::read(folder.path("j.csv")).unwrap()
        };
        assert_eq!(run(&[]), run(&["--where", "left.key >= right.key"]), "{kind}");
    }
    // The values of a side without columns are no text.
    folder.write("ids.csv", "key\n1\n3\n");
    folder.run(&["join", "left.csv", "ids.csv", "--on", "key", "--kind", "left", "-o", "k.csv"]).exits_with(0);
    let written = std::fs::read(folder.path("k.csv")).unwrap();
    assert_eq!(written, b"key,right,day,b\n1,true,2024-02-29,caf\xe9\n1,true,,\"\xff,\"\n2,false,2024-01-01,\n");
}

/// Rows of more than the 4 MiB from which files are not read before they are joined, and a last one.
fn long(last: &str) -> String {
    let note = "x".repeat(2000);
    let rows: String = (0..2500).map(|id| format!("{id},{id},{note}\n")).collect();
    format!("key,n,note\n{rows}{last}")
}

#[test]
fn long_files_are_read_once_unless_a_late_row_is_of_another_type() {
    let folder = Folder::new();
    folder.write("right.csv", "key,town\n5,oslo\n2499,rome\n9999,ulm\n");
    let join = || folder.run(&["join", "left.csv", "right.csv", "--force", "-o", "j.csv"]);
    let rows = || std::fs::read_to_string(folder.path("j.csv")).unwrap().replace(&"x".repeat(2000), "x");
    folder.write("left.csv", long(""));
    let joined = join().exits_with(0);
    assert!(joined.stdout.contains("u64 -> {n: u64, note: text, town: text}"), "{}", joined.stdout);
    assert_eq!(rows(), "key,n,note,town\n5,5,x,oslo\n2499,2499,x,rome\n");
    for (last, types) in [("9999,n/a,x\n", "{n: text,"), ("9999,-1,x\n", "{n: i64,"), ("9999,1.5,x\n", "{n: f64,")] {
        folder.write("left.csv", long(last));
        let joined = join().exits_with(0).complains_of("record 2,501 of left.csv (line 2,502)");
        let joined = joined.complains_of("all rows are read for their types");
        assert!(joined.stdout.contains(types), "{}", joined.stdout);
        assert_eq!(
            joined.stderr.matches("record 2,501").count(),
            1 + usize::from(last.contains("n/a")),
            "{}",
            joined.stderr
        );
        let field = last.split(',').nth(1).unwrap();
        assert_eq!(rows(), format!("key,n,note,town\n5,5,x,oslo\n2499,2499,x,rome\n9999,{field},x,ulm\n"));
    }
    // So does a null in a late key, if its row is kept.
    folder.write("left.csv", long(",7,x\n"));
    assert!(join().exits_with(0).stdout.contains("types: u64 -> "));
    let kept = folder.run(&["join", "left.csv", "right.csv", "--force", "-o", "j.csv", "--kind", "anti"]).exits_with(0);
    assert!(kept.stdout.contains("types: (u64?"), "{}", kept.stdout);
    assert!(rows().ends_with("2498,2498,x\n,7,x\n"));
    // A key of another type changes those of both sides; a row with too few fields is told as ever.
    folder.write("left.csv", long("x,1,x\n"));
    assert!(join().exits_with(0).stdout.contains("text -> {n: u64,"));
    folder.write("left.csv", long("9999,1\n"));
    join().exits_with(1).complains_of("the row in line 2502 has 2 fields, the rows before it have 3");
    assert!(folder.path("j.csv").exists(), "the output of before is kept");
}
