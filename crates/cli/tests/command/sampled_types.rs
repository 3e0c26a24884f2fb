//! Types that are found by a part of an input. Goal: what does not fit them is told with the place and the option, and
//! nothing is stored as what it is not. Method: rows of another type behind each kind of sample, from files and pipes.

use super::run::Folder;
use serde_json::json;

/// Rows before the ones that do not fit: more than the first sample has.
const BEFORE: usize = 3_000;
/// Bytes of a long row, so that few rows are more than a long sample.
const LONG_ROW_BYTES: usize = 1 << 20;

fn numbers(last: &str) -> String {
    let rows: String = (0..BEFORE).map(|id| format!("{id},{id}\n")).collect();
    format!("id,n\n{rows}{last}")
}

/// Rows of 70 MiB, and one that does not fit them.
fn long(last: &str) -> String {
    let rows: String = (0..70).map(|id| format!("{id},{},{id}\n", "x".repeat(LONG_ROW_BYTES))).collect();
    format!("id,text,n\n{rows}{last}")
}

#[test]
fn decimals_come_back_as_they_were_written() {
    let folder = Folder::new();
    let rows = "id,amount,rate,wide\n1,18410.40,0.5,12345678901234567.89\n2,-0.05,0.25,1.00\n3,,1e3,0.10\n";
    folder.write("a.csv", rows);
    let built = folder.build("a.csv", "t.ogive", &[]);
    assert!(built.stdout.contains("{amount: decimal(18,2)?, rate: f64, wide: decimal(38,2)}"), "{}", built.stdout);
    folder.run(&["export", "t.ogive", "b.csv"]).exits_with(0);
    let written = std::fs::read_to_string(folder.path("b.csv")).unwrap();
    assert_eq!(written, rows.replace("1e3", "1000"));
    folder.build("a.csv", "u.ogive", &["--type", "amount=f64?"]);
    folder.run(&["get", "u.ogive", "1"]).exits_with(0).prints("18410.4\t0.5\t12345678901234567.89\n");
    // As keys they are ordered by their values.
    folder.write("keys.txt", "10.50\n9.75\n-1.00\n");
    folder.build("keys.txt", "k.ogive", &[]);
    folder.run(&["scan", "k.ogive"]).exits_with(0).prints("-1.00\t\n9.75\t\n10.50\t\n");
    // Numbers of JSON are floats.
    folder.write("a.jsonl", "{\"id\":1,\"amount\":18410.40}\n");
    assert!(folder.build("a.jsonl", "j.ogive", &[]).stdout.contains("{amount: f64}"));
}

/// Money without and with cents, and of other digits, is floats, and the note says how it stays exact.
#[test]
fn numbers_of_several_scales_are_told_with_the_decimals_that_keep_them() {
    let folder = Folder::new();
    folder.write("a.csv", "id,price,rate,size,odd\n1,12,0.5,1,1\n2,12.50,0.125,2.5,1.5\n3,-3,1.0,1e3,0.123456789\n");
    let built = folder.build("a.csv", "t.ogive", &[]);
    assert!(built.stdout.contains("{price: f64, rate: f64, size: f64, odd: f64}"), "{}", built.stdout);
    let built = built
        .complains_of("column 'price' is f64")
        .complains_of("--type 'price=decimal(18,2)'")
        .complains_of("--type 'rate=decimal(18,3)'");
    // Exponents and many digits are those of measurements.
    assert!(!built.stderr.contains("size") && !built.stderr.contains("odd"), "{}", built.stderr);
    let exact = folder.build("a.csv", "u.ogive", &["--type", "price=decimal(18,2)", "--type", "rate=decimal(18,3)"]);
    assert_eq!(exact.stderr, "");
    folder.run(&["get", "u.ogive", "2"]).exits_with(0).prints("12.50\t0.125\t2.5\t1.5\n");
    // A join has an option for each side.
    folder.write("names.csv", "id,name\n1,fig\n");
    let joined = folder.run(&["join", "names.csv", "a.csv", "--on", "id", "-o", "j.csv"]).exits_with(0);
    joined.complains_of("--right-type 'price=decimal(18,2)'");
    // A cent behind the first rows, and a number that no float holds.
    folder.write("b.csv", numbers("7,0.07\n8,9007199254740993\n"));
    let built = folder.build("b.csv", "v.ogive", &[]);
    built.complains_of("column 'n' is text").complains_of("--type 'n=decimal(18,2)'");
}

#[test]
fn truth_values_and_moments_of_psql_are_read_as_such() {
    let folder = Folder::new();
    folder.write("a.csv", "id,paid,at\n1,t,2024-01-01 10:00:00+00\n2,,2024-01-01 10:00:00.5-05:30\n3,f,\n");
    let built = folder.build("a.csv", "t.ogive", &[]);
    assert!(built.stdout.contains("{paid: bool?, at: timestamp(ms)?}"), "{}", built.stdout);
    let rows = "1\ttrue\t2024-01-01T10:00:00\n2\t\t2024-01-01T15:30:00.5\n3\tfalse\t\n";
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints(rows);
    folder.write("b.csv", "id,paid\n1,t\n2,n\n");
    assert!(folder.build("b.csv", "u.ogive", &[]).stdout.contains("{paid: text}"));
}

#[test]
fn a_build_begins_again_with_the_types_of_all_rows_and_says_so() {
    let folder = Folder::new();
    for (last, key_type) in [("-1,-1\n", "i64 -> {n: i64}"), ("7,n/a\n", "u64 -> {n: text}"), ("7,\n", "{n: u64?}")] {
        folder.write("a.csv", numbers(last));
        let built = folder.build("a.csv", "t.ogive", &[]);
        assert!(built.stdout.contains(key_type), "{}", built.stdout);
        built.complains_of("record 3,001 of a.csv (line 3,002)").complains_of("all rows are read for their types");
    }
    // With all rows read first, nothing has to be told.
    folder.write("b.csv", numbers("-1,-1\n"));
    assert_eq!(folder.build("b.csv", "t.ogive", &["--scan-all"]).stderr, "");
}

#[test]
fn an_import_takes_types_from_the_first_64_mib() {
    let folder = Folder::new();
    folder.write("short.csv", numbers("7,n/a\n"));
    folder.run(&["db", "import", "short", "short.csv"]).exits_with(0);
    folder.run_piped("short.csv", &["db", "import", "piped", "-"]).exits_with(0);
    for store in ["short", "piped"] {
        folder.run(&["get", store, "7"]).exits_with(0).prints("n/a\n");
    }
    for (store, is_piped, written, fitting) in
        [("file", false, "n/a", "text"), ("pipe", true, "70.50", "decimal(18,2)")]
    {
        folder.write("long.csv", long(&format!("70,y,{written}\n")));
        let words = |input: &'static str| ["db", "import", store, input, "--batch", "10", "--format", "csv"];
        let refused = if is_piped { folder.run_piped("long.csv", &words("-")) } else { folder.run(&words("long.csv")) };
        refused
            .exits_with(1)
            .complains_of(&format!("column 'n': '{written}' in record 71"))
            .complains_of("(line 72)")
            .complains_of("the first 70 rows are durable")
            .complains_of(&format!("--type 'n={fitting}'"));
        folder.run(&["count", store]).exits_with(0).prints("70\n");
    }
    for (keyspace, words) in [("typed", &["--type", "n=text"][..]), ("scanned", &["--scan-all"])] {
        let words = [&["db", "import", "given", "-", "--format", "csv", "--keyspace", keyspace][..], words].concat();
        folder.run_piped("long.csv", &words).exits_with(0);
    }
}

#[test]
fn a_given_text_is_a_null_and_an_empty_field_empty_text() {
    let folder = Folder::new();
    folder.write("a.csv", "id,name,n\n1,\\N,\\N\n2,,4\n3,\"\\N\",5\n");
    folder.build("a.csv", "t.ogive", &["--null", "\\N"]);
    let rows = "{\"id\":1,\"name\":null,\"n\":null}\n{\"id\":2,\"name\":\"\",\"n\":4}\n\
                {\"id\":3,\"name\":\"\\\\N\",\"n\":5}\n";
    folder.run(&["scan", "t.ogive", "--json"]).exits_with(0).prints(rows);
    folder.write("b.tsv", "id\tn\n1\tNULL\n2\t3\n");
    assert!(folder.build("b.tsv", "u.ogive", &["--null", "NULL"]).stdout.contains("{n: u64?}"));
    folder.run(&["build", "a.csv", "-o", "v", "--format", "lines", "--null", "x"]).exits_with(2).complains_of("--null");
}

#[test]
fn bad_rows_are_left_out_counted_and_written_with_their_reasons() {
    let folder = Folder::new();
    folder.write("a.csv", "id,n\n1,2\n2\n3,x\n4,\"5\"\n,6\n");
    let typed = ["build", "a.csv", "-o", "t.ogive", "--type", "id=u64", "--type", "n=u64"];
    folder.run(&typed).exits_with(1).complains_of("--skip-bad-rows");
    let skipping = [&typed[..], &["--skip-bad-rows", "bad.csv", "--json"]].concat();
    let built = folder.run(&skipping).exits_with(0);
    assert_eq!(built.json()["skipped_rows"], json!(3));
    built.complains_of("3 rows of a.csv left out; see bad.csv");
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("1\t2\n4\t5\n");
    let told = std::fs::read_to_string(folder.path("bad.csv")).unwrap();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!((lines.len(), lines[0]), (4, "line,reason,row"), "{told}");
    assert!(lines[1].starts_with("3,\"the row in line 3 has 1 field") || lines[1].contains("1 field"), "{told}");
    assert!(lines[2].starts_with("4,") && lines[2].ends_with(",\"3,x\""), "{told}");
    // A file that was there is not replaced.
    folder.run(&skipping).exits_with(1).complains_of("bad.csv").complains_of("exists");
    // An unsorted input is read twice, and its rows are told once.
    folder.write("c.csv", "id,n\n9,1\nx,2\n8,3\n");
    let again = ["build", "c.csv", "-o", "u.ogive", "--type", "id=u64", "--skip-bad-rows", "c.bad"];
    folder.run(&again).exits_with(0);
    assert_eq!(std::fs::read_to_string(folder.path("c.bad")).unwrap().lines().count(), 2);
    folder.write("e.csv", numbers("7,1.5\n"));
    folder
        .run(&["build", "e.csv", "-o", "e.ogive", "--skip-bad-rows", "./e.ogive"])
        .exits_with(2)
        .complains_of("two names");
    // Types are found by more than the first rows, since no other reading follows.
    let built = folder.build("e.csv", "e.ogive", &["--skip-bad-rows", "e.bad"]);
    assert!(built.stdout.contains("{n: f64}") && !folder.path("e.bad").exists(), "{}", built.stdout);
    folder.write("d.jsonl", "{\"id\":1}\n{\"id\":\nnonsense\n{\"id\":2}\n");
    folder.run(&["db", "import", "s", "d.jsonl", "--keys-only", "--skip-bad-rows", "d.bad"]).exits_with(0);
    folder.run(&["count", "s"]).exits_with(0).prints("2\n");
    assert_eq!(std::fs::read_to_string(folder.path("d.bad")).unwrap().lines().count(), 3);
}
