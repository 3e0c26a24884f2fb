//! Integers beside floats: what is written as an integer is the float that holds it, or is refused; in a join it
//! matches nothing then. Method: whole runs on small files, for every way in which text becomes a key.

use super::run::{Folder, Run};

/// Of each type: the last integer before which all are held, and the next one, which is none.
const ENDS: [(&str, &str, &str); 2] =
    [("f64", "9007199254740992", "9007199254740993"), ("f32", "16777216", "16777217")];

fn refused(run: Run, wrong: &str) {
    run.exits_with_error().complains_of(wrong);
}

#[test]
fn an_integer_that_a_float_cannot_hold_is_no_key() {
    for (key_type, exact, wrong) in ENDS {
        let folder = Folder::new();
        let row = |number: &str| format!("k,v\n0.5,a\n{number},b\n");
        folder.write("exact.csv", row(exact));
        folder.write("wrong.csv", row(wrong));
        folder.write("wrong.jsonl", format!("{{\"k\": 0.5, \"v\": \"a\"}}\n{{\"k\": {wrong}, \"v\": \"b\"}}\n"));
        folder.write("wrong.txt", format!("0.5\n{wrong}\n"));
        let typed = ["--key-type", key_type];
        folder.build("exact.csv", "t.ogive", &typed);
        folder.run(&["db", "import", "s", "exact.csv", "--key-type", key_type]).exits_with(0);
        let create = ["index", "create", "i.ogx", "--value-type", "{v: text}", "--value-bytes", "9"];
        folder.run(&[&create[..], &typed].concat()).exits_with(0);
        folder.run(&["index", "load", "i.ogx", "exact.csv"]).exits_with(0);
        for input in ["wrong.csv", "wrong.jsonl", "wrong.txt"] {
            let build = ["build", input, "-o", "u.ogive"];
            let place = format!("'{wrong}' in record 2 of {input}");
            refused(folder.run(&[&build[..], &typed].concat()), &place);
            // In a join it is a number that the floats are not.
            for (sides, row) in [(["t.ogive", input], "0.5\ta"), ([input, "t.ogive"], "0.5")] {
                let joined = folder.run(&["join", sides[0], sides[1], "-o", "-"]).exits_with(0).stdout;
                assert!(joined.starts_with(row) && joined.lines().count() == 1, "{key_type} {sides:?}: {joined}");
            }
            if input != "wrong.txt" {
                refused(folder.run(&["db", "import", "s", input]), &place);
                refused(folder.run(&["index", "load", "i.ogx", input]), &place);
            }
        }
        let arguments: [&[&str]; 12] = [
            &["get", "t.ogive", wrong],
            &["scan", "t.ogive", "--from", wrong],
            &["count", "t.ogive", "--to", wrong],
            &["rank", "t.ogive", wrong],
            &["get", "s", wrong],
            &["scan", "s", "--from", wrong],
            &["db", "put", "s", wrong, "c"],
            &["db", "delete", "s", wrong],
            &["get", "i.ogx", wrong],
            &["index", "put", "i.ogx", wrong, "c"],
            &["index", "delete", "i.ogx", wrong],
            &["scan", "i.ogx", "--from", wrong],
        ];
        for arguments in arguments {
            refused(folder.run(arguments), &format!("'{wrong}' is not a valid key of type {key_type}"));
        }
        let rows = format!("0.5\ta\n{exact}\tb\n");
        for scan in [&["scan", "t.ogive"][..], &["scan", "s"], &["scan", "i.ogx"]] {
            folder.run(scan).exits_with(0).prints(&rows);
        }
        // A point or an exponent says that it is the nearest float that is meant.
        for meant in [format!("{wrong}.0"), format!("{wrong}e0")] {
            folder.run(&["get", "t.ogive", &meant]).exits_with(0).prints("b\n");
        }
        // A component of a key is a key, too.
        let pair = format!("({key_type}, u8)");
        folder.write("pair.csv", format!("a,b\n{wrong},1\n"));
        refused(
            folder.run(&["build", "pair.csv", "-o", "u.ogive", "--key", "a", "--key", "b", "--key-type", &pair]),
            wrong,
        );
    }
}

#[cfg(feature = "parquet")]
#[test]
fn text_beside_floats_of_parquet_is_never_rounded() {
    for (key_type, exact, wrong) in ENDS {
        let folder = Folder::new();
        folder.write("exact.csv", format!("k,v\n0.1,a\n{exact},b\n"));
        folder.build("exact.csv", "t.ogive", &["--key-type", key_type]);
        folder.run(&["export", "t.ogive", "floats.parquet"]).exits_with(0);
        folder.write("wrong.csv", format!("k,w\n0.1,x\n{wrong},y\n"));
        folder.write("wrong.jsonl", format!("{{\"k\": 0.1, \"w\": \"x\"}}\n{{\"k\": {wrong}, \"w\": \"y\"}}\n"));
        for text in ["wrong.csv", "wrong.jsonl"] {
            for (sides, row) in [(["floats.parquet", text], "0.1\ta\tx\n"), ([text, "floats.parquet"], "0.1\tx\ta\n")] {
                folder.run(&["join", sides[0], sides[1], "-o", "-"]).exits_with(0).prints(row);
            }
        }
        folder.write("right.csv", format!("k,w\n0.1,x\n{exact},y\n"));
        let join = ["join", "floats.parquet", "right.csv", "-o", "-"];
        folder.run(&join).exits_with(0).prints(&format!("0.1\ta\tx\n{exact}\tb\ty\n"));
        // Text of Parquet, as text of CSV.
        folder.build("wrong.csv", "text.ogive", &["--key-type", "text"]);
        folder.run(&["export", "text.ogive", "text.parquet"]).exits_with(0);
        for flags in [["--key-type", key_type], ["--type", &format!("k={key_type}")]] {
            let run = folder.run(&[&["build", "text.parquet", "-o", "u.ogive"][..], &flags].concat());
            run.exits_with(1).complains_of(wrong);
        }
    }
}

#[test]
fn values_are_the_floats_that_programs_write() {
    let folder = Folder::new();
    // 2^60 as JavaScript writes it, exactly, and as Rust, Python and C do.
    for written in ["1152921504606847000", "1152921504606846976", "1.152921504606847e18", "1.152921504606847e+18"] {
        folder.write("v.csv", format!("k,v\n1,{written}\n"));
        folder.build("v.csv", "v.ogive", &["--type", "v=f64", "--force"]);
        folder.run(&["scan", "v.ogive"]).exits_with(0).prints("1\t1.152921504606847e18\n");
    }
    for (float, _, wrong) in ENDS {
        folder.write("v.csv", format!("k,v\n1,{wrong}\n"));
        let build = ["build", "v.csv", "-o", "v.ogive", "--force", "--type", &format!("v={float}")];
        folder.run(&build).exits_with(1).complains_of(&format!("column 'v': '{wrong}' in record 1"));
    }
    // A guess keeps what is written, in keys and in values.
    folder.write("v.csv", "k,v\n0.5,1e30\n1152921504606847000,1152921504606847000\n");
    let run = folder.build("v.csv", "v.ogive", &["--force"]);
    let run = run.complains_of("column 'k' has numbers, but record 2 is '1152921504606847000', which f64 cannot hold");
    assert!(run.complains_of("column 'v'").stdout.contains("text -> {v: text}"));
    folder.write("v.csv", "k,v\n0.5,1e30\n1152921504606846976,1152921504606846976\n");
    assert!(folder.build("v.csv", "v.ogive", &["--force"]).stdout.contains("f64 -> {v: f64}"));
}

#[test]
fn large_and_small_floats_are_short_and_read_again() {
    let folder = Folder::new();
    let rows = "-1e308,1.7976931348623157e308\n1e-7,-5e-324\n0.000001,100000000000000000000\n1e21,1e21\n";
    folder.write("f.csv", format!("k,x\n{rows}"));
    folder.build("f.csv", "f.ogive", &["--key-type", "f64", "--type", "x=f64"]);
    let lines = rows.replace(',', "\t");
    folder.run(&["scan", "f.ogive"]).exits_with(0).prints(&lines);
    for (key, value) in rows.lines().map(|line| line.split_once(',').unwrap()) {
        folder.run(&["get", "f.ogive", key]).exits_with(0).prints(&format!("{value}\n"));
    }
    folder.run(&["export", "f.ogive", "again.csv"]).exits_with(0);
    let again = folder.build("again.csv", "again.ogive", &[]);
    assert!(again.stdout.contains("f64 -> {x: f64}"), "{}", again.stdout);
    folder.run(&["scan", "again.ogive"]).exits_with(0).prints(&lines);
}

#[cfg(feature = "parquet")]
#[test]
fn floats_of_parquet_become_no_decimals_and_no_integers() {
    let folder = Folder::new();
    folder.write("f.csv", "k,x\n1,0.1\n2,2\n");
    folder.build("f.csv", "f.ogive", &[]);
    folder.run(&["export", "f.ogive", "f.parquet"]).exits_with(0);
    for asked in ["decimal(10,2)", "i64", "u8", "bool", "date"] {
        let build = ["build", "f.parquet", "-o", "t.ogive", "--type", &format!("x={asked}")];
        folder.run(&build).exits_with(1).complains_of("column 'x': '0.1' in record 1 of f.parquet");
    }
    folder.build("f.parquet", "t.ogive", &["--type", "x=text"]);
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("1\t0.1\n2\t2\n");
}
