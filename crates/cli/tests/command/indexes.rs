//! Commands on indexes. Method: whole runs; a process that is killed must lose nothing that it has reported.

use super::run::{Folder, grouped, sosd, uneven_keys};
use ogive::index::{Index, IndexOptions};
use ogive::io::LocalStorage;
use ogive::types::{RecordType, ValueType};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::Arc;

/// Runs a command on an index.
fn index(folder: &Folder, arguments: &[&str]) -> super::run::Run {
    folder.run(&grouped("index", arguments))
}

#[test]
fn a_scan_of_an_index_keeps_to_its_bounds_and_direction() {
    let folder = Folder::new();
    index(&folder, &["create", "i.ogx", "--key-type", "i64", "--value-bytes", "2"]).exits_with(0);
    for key in ["-20", "-10", "0", "10", "20"] {
        index(&folder, &["put", "i.ogx", key, "7", "--values", "number"]).exits_with(0);
    }
    let scan = |arguments: &[&str]| {
        let run = folder.run(&[&["scan", "i.ogx", "--values", "number"], arguments].concat()).exits_with(0);
        run.stdout.lines().map(|line| line.strip_suffix("\t7").unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(scan(&[]), ["-20", "-10", "0", "10", "20"]);
    assert_eq!(scan(&["--from", "-10", "--to", "10"]), ["-10", "0"]);
    assert_eq!(scan(&["--reverse", "--limit", "2"]), ["20", "10"]);
    assert_eq!(scan(&["--from", "11", "--to", "20"]), [""; 0]);
    let reversed = ["scan", "i.ogx", "--from", "20", "--to", "-20"];
    index(&folder, &reversed).exits_with(2).complains_of("the range from 20 to -20 ends before it begins");
    assert_eq!(scan(&["--limit", "0"]), [""; 0]);
    let objects = folder.run(&["scan", "i.ogx", "--json", "--values", "number", "--limit", "1"]).json_lines();
    assert_eq!(objects, [json!({ "key": -20, "value": 7 })]);
}

#[test]
fn inputs_that_are_not_sorted_are_inserted_and_bulk_loads_can_be_insisted_on() {
    let folder = Folder::new();
    folder.write("rows.csv", "id,name\n5,five\n3,three\n9,nine\n3,drei\n");
    index(&folder, &["create", "i.ogx", "--value-bytes", "8"]).exits_with(0);
    let load = ["load", "i.ogx", "rows.csv", "--key", "id", "--value", "name"];
    index(&folder, &[&load[..], &["--sorted"]].concat()).exits_with(1).complains_of("out of order");
    folder.run(&["scan", "i.ogx"]).exits_with(0).prints("");
    let loaded = index(&folder, &[&load[..], &["--json"]].concat()).exits_with(0).json();
    assert_eq!([&loaded["records"], &loaded["bulk"], &loaded["entries"]], [&json!(4), &json!(false), &json!(3)]);
    folder.run(&["scan", "i.ogx"]).exits_with(0).prints("3\tdrei\n5\tfive\n9\tnine\n");
    index(&folder, &[&load[..], &["--sorted"]].concat()).exits_with(1).complains_of("has entries already");
    folder.write("long.csv", "id,name\n1,far too long a name\n");
    index(&folder, &["load", "i.ogx", "long.csv", "--value", "name"]).exits_with(1).complains_of("record 1");
    folder.write("words.txt", "one\n");
    index(&folder, &["load", "i.ogx", "words.txt"]).exits_with(1).complains_of("one");
}

#[test]
fn keys_of_bytes_and_duplicates_go_in_and_out() {
    let folder = Folder::new();
    index(&folder, &["create", "i.ogx", "--key-type", "bytes3", "--value-bytes", "4", "--duplicates"]).exits_with(0);
    folder.write("rows.csv", "k,v\nabc,1\nabc,2\nabd,3\n");
    index(&folder, &["load", "i.ogx", "rows.csv", "--value", "v"]).exits_with(0);
    folder.run(&["get", "i.ogx", "abc", "--all"]).exits_with(0).prints("1\n2\n");
    index(&folder, &["put", "i.ogx", "ab\\xff", "4"]).exits_with(0);
    let found = folder.run(&["get", "i.ogx", "ab\\xff", "--all", "--json"]).exits_with(0).json();
    assert_eq!(found["records"], json!([{ "key": found["key"], "value": "4" }]));
    index(&folder, &["delete", "i.ogx", "abc"]).exits_with(0).prints("abc: 1 entry removed\n");
    index(&folder, &["put", "i.ogx", "abc", "5"]).exits_with(0);
    index(&folder, &["delete", "i.ogx", "abc", "--all"]).exits_with(0).prints("abc: 2 entries removed\n");
    folder.run(&["get", "i.ogx", "abc"]).exits_with(1).complains_of("not found");
    folder.run(&["get", "i.ogx", "abcd"]).exits_with(2).complains_of("3 bytes");
}

#[test]
fn wrong_usage_of_an_index_exits_with_two_and_makes_no_file() {
    let folder = Folder::new();
    for arguments in [
        &[][..],
        &["conjure"],
        &["create"],
        &["create", "i.ogx", "--kind", "rmi"],
        &["create", "i.ogx", "--key-type", "bytes17"],
        &["create", "i.ogx", "--page-size", "1000"],
        &["create", "i.ogx", "--fill", "0"],
        &["create", "i.ogx", "--value-bytes", "2000"],
        &["create", "i.ogx", "--kind", "alex"],
    ] {
        let run = index(&folder, arguments).exits_with(2);
        assert!(run.stdout.is_empty() && run.stderr.contains("error:"), "{arguments:?}: {}", run.stderr);
    }
    assert!(folder.names().is_empty(), "{:?}", folder.names());
    index(&folder, &["create", "i.ogx"]).exits_with(0);
    for arguments in [
        &["get", "i.ogx", "one"][..],
        &["get", "i.ogx", "-1"],
        &["put", "i.ogx", "1", "value"],
        &["put", "i.ogx"],
        &["scan", "i.ogx", "--limit", "many"],
        &["load", "i.ogx", "keys.u64", "--batch", "0"],
        &["load", "i.ogx", "keys.u64", "--sorted", "--random"],
    ] {
        index(&folder, arguments).exits_with(2).complains_of("error:");
    }
    index(&folder, &["create", "i.ogx"]).exits_with(1).complains_of("i.ogx");
    folder.run(&["get", "nowhere.ogx", "1"]).exits_with(1).complains_of("nowhere.ogx");
}

#[test]
fn a_damaged_or_foreign_index_is_an_error_and_never_a_panic() {
    let folder = Folder::new();
    folder.write("keys.u64", sosd(&uneven_keys(2000)));
    index(&folder, &["create", "i.ogx", "--page-size", "512"]).exits_with(0);
    index(&folder, &["load", "i.ogx", "keys.u64"]).exits_with(0);
    let whole = std::fs::read(folder.path("i.ogx")).unwrap();
    let mut flipped = whole.clone();
    let middle = whole.len() * 2 / 3;
    flipped[middle..middle + 512].iter_mut().for_each(|byte| *byte ^= 1);
    for (name, content) in [("flipped", &flipped[..]), ("empty", &[]), ("text", b"hello\n"), ("zeros", &[0; 20_000])] {
        folder.write(name, content);
        folder.run(&["verify", name]).exits_with(1).complains_of(name);
        folder.run(&["scan", name, "--json"]).exits_with(1).complains_of(name);
    }
    folder.run(&["verify", "i.ogx"]).exits_with(0);
}

/// A process that tells each entry once it is durable is killed: everything that it told is there.
#[test]
fn what_was_told_before_a_kill_is_there_afterwards() {
    let folder = Folder::new();
    index(&folder, &["create", "i.ogx", "--page-size", "512"]).exits_with(0);
    let script = "i=0; while true; do i=$((i + 1)); \"$0\" index put i.ogx $i || exit 1; done";
    let mut child = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_ogive")])
        .current_dir(folder.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut told: Vec<_> = lines.by_ref().take(25).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    // The last `put` may still be at work; the pipe ends with it.
    told.extend(lines);
    for line in told {
        let key = line.unwrap().split(':').next().unwrap().to_owned();
        folder.run(&["get", "i.ogx", &key]).exits_with(0);
    }
    folder.run(&["verify", "i.ogx"]).exits_with(0);
}

fn says(run: super::run::Run, part: &str) {
    assert!(run.stdout.contains(part), "{}", run.stdout);
}

#[test]
fn an_index_of_rows_prints_and_takes_keys_and_values_as_what_they_are() {
    let folder = Folder::new();
    folder.write(
        "pets.csv",
        "name,owner,born,weight\nrex,7,2020-02-29,-3\n\"a,b\",7,,12\n\"\",-1,2019-01-01,0\n".as_bytes(),
    );
    let row = "{name: text, weight: i16}";
    let made = index(
        &folder,
        &["create", "pets.ogx", "--key-type", "(i32, date?)", "--value-type", row, "--value-bytes", "20"],
    );
    says(made.exits_with(0), ") -> {name: text, weight: i16}");
    let load = ["load", "pets.ogx", "pets.csv", "--key", "owner", "--key", "born"];
    says(index(&folder, &load).exits_with(0), ") -> {name: text, weight: i16}");
    let scanned = "-1,2019-01-01\t\t0\n7,2020-02-29\trex\t-3\n7,\ta,b\t12\n";
    folder.run(&["scan", "pets.ogx"]).exits_with(0).prints(scanned);
    folder.run(&["get", "pets.ogx", "7,2020-02-29"]).exits_with(0).prints("rex\t-3\n");
    let found = folder.run(&["get", "pets.ogx", "7,2020-02-29", "--json"]).exits_with(0).json();
    assert_eq!(found["record"], json!({ "key1": 7, "key2": "2020-02-29", "name": "rex", "weight": -3 }), "{found}");
    index(&folder, &["put", "pets.ogx", "8,2021-01-01", "tom,4"]).exits_with(0);
    index(&folder, &["put", "pets.ogx", "8,2021-01-01", "tom"]).exits_with(2).complains_of("is not a value of type");
    let long = format!("{},4", "x".repeat(30));
    index(&folder, &["put", "pets.ogx", "8,2021-01-01", &long]).exits_with(2).complains_of("at most 20 bytes");
    folder.run(&["scan", "pets.ogx", "--from", "8,2021-01-01"]).exits_with(0).prints("8,2021-01-01\ttom\t4\n");
    says(folder.run(&["info", "pets.ogx"]).exits_with(0), "{name: text, weight: i16}");
    // What reads an index has its types.
    folder.run(&["build", "pets.ogx", "-o", "pets.ogive"]).exits_with(0);
    folder.run(&["get", "pets.ogive", "7,2020-02-29"]).exits_with(0).prints("rex\t-3\n");
    says(folder.run(&["join", "pets.ogx", "pets.ogive", "-o", "-"]).exits_with(0), "rex\t-3\trex\t-3");
    // A value that does not fit names its record, and a column of another type its type.
    folder.write("long.csv", format!("owner,born,name,weight\n1,2020-01-01,{},1\n", "y".repeat(40)).as_bytes());
    let load = ["load", "pets.ogx", "long.csv", "--key", "owner", "--key", "born"];
    index(&folder, &load).complains_of("record 1 of long.csv").complains_of("--value-bytes");
    folder.write("wrong.csv", b"owner,born,name,weight\n1,2020-01-01,a,heavy\n");
    let load = ["load", "pets.ogx", "wrong.csv", "--key", "owner", "--key", "born"];
    index(&folder, &load).complains_of("'heavy'").complains_of("i16");
}

#[test]
fn an_index_of_numbers_has_values_with_a_type_or_payloads_without() {
    let folder = Folder::new();
    folder.write("ages.csv", b"id,age\n3,41\n1,-7\n");
    index(&folder, &["create", "ages.ogx", "--value-type", "i64"]).exits_with(0);
    index(&folder, &["load", "ages.ogx", "ages.csv", "--key", "id", "--value", "age"]).exits_with(0);
    folder.run(&["scan", "ages.ogx"]).exits_with(0).prints("1\t-7\n3\t41\n");
    folder.run(&["get", "ages.ogx", "3", "--values", "hex"]).exits_with(0).prints("2900000000000000\n");
    folder.write("words.csv", b"id,age\n3,old\n");
    index(&folder, &["load", "ages.ogx", "words.csv"])
        .complains_of("'old' in record 1 of words.csv (line 2) is not of type i64");
    index(&folder, &["create", "many.ogx", "--duplicates", "--value-type", "u8"]).exits_with(0);
    index(&folder, &["put", "many.ogx", "1", "5"]).exits_with(0);
    assert_eq!(folder.run(&["get", "many.ogx", "1"]).exits_with(0).stderr, "");
    index(&folder, &["put", "many.ogx", "1", "6"]).exits_with(0);
    let found = folder.run(&["get", "many.ogx", "1"]).exits_with(0);
    assert_eq!((&*found.stdout, &*found.stderr), ("5\n", "1 more record with this key; --all prints them\n"));
    index(&folder, &["create", "text.ogx", "--value-type", "text"]).exits_with(2).complains_of("--value-bytes");
    index(&folder, &["create", "wide.ogx", "--key-type", "(u64, u64, u8)"]).complains_of("up to 16 bytes");
    index(&folder, &["create", "date.ogx", "--value-type", "date", "--value-bytes", "5"])
        .complains_of("4 bytes, not 5");
}

#[test]
fn a_payload_that_is_no_value_of_the_type_is_not_written() {
    let folder = Folder::new();
    let row = "{name: text, born: date?}";
    index(&folder, &["create", "i.ogx", "--value-type", row, "--value-bytes", "40"]).exits_with(0);
    let put = index(&folder, &["put", "i.ogx", "3", "00ff", "--values", "hex"]);
    put.exits_with(2).complains_of("values of type {name: text, born: date?}").complains_of("leave out --values");
    index(&folder, &["put", "i.ogx", "3", "--values", "hex"]).exits_with(2).complains_of("this payload is none");
    folder.write("rows.csv", "id,payload\n3,00ff\n");
    let load = ["load", "i.ogx", "rows.csv", "--values", "hex"];
    index(&folder, &load).exits_with_error().complains_of("record 1 of rows.csv").complains_of("values of type");
    folder.write("keys.txt", "1\n2\n");
    let load = ["load", "i.ogx", "keys.txt", "--payload", "42"];
    index(&folder, &load).exits_with_error().complains_of("record 1 of keys.txt").complains_of("values of type");
    folder.run(&["count", "i.ogx"]).exits_with(0).prints("0\n");
    // The bytes of a value are one.
    index(&folder, &["put", "i.ogx", "3", "rex,"]).exits_with(0);
    let hex = folder.run(&["get", "i.ogx", "3", "--values", "hex"]).exits_with(0);
    index(&folder, &["put", "i.ogx", "4", hex.stdout.trim(), "--values", "hex"]).exits_with(0);
    folder.run(&["scan", "i.ogx"]).exits_with(0).prints("3\trex\t\n4\trex\t\n");
    folder.run(&["verify", "i.ogx"]).exits_with(0);
}

#[test]
fn what_a_program_wrote_as_bytes_is_found_and_not_joined() {
    let folder = Folder::new();
    let values: ValueType = "{a: u8, b: u8?}".parse().unwrap();
    let options = IndexOptions::default().record_type(RecordType::new(ogive::KeyType::U64, values));
    let storage = Arc::new(LocalStorage::new(folder.path("")));
    let made = Index::<u64, [u8; 4]>::create((storage, "i.ogx"), &options).unwrap();
    let mut transaction = made.write().unwrap();
    transaction.insert(1, [1, 2, 3, 4]).unwrap();
    transaction.commit().unwrap();
    made.close().unwrap();
    let verdict = folder.run(&["verify", "i.ogx", "--json"]).exits_with(1).json();
    assert_eq!(verdict["findings"][0]["detail"], "the payload of key 1 is no value of type {a: u8, b: u8?}");
    folder.run(&["verify", "i.ogx"]).exits_with(1).prints("").complains_of("the payload of key 1");
    for output in [["-o", "-", "--json"], ["-o", "-", "--to=csv"], ["-o", "out.csv", "--force"], ["-o", "o", "--force"]]
    {
        let joined = folder.run(&[&["join", "i.ogx", "i.ogx"], &output[..]].concat());
        joined
            .exits_with_error()
            .complains_of("the value of key 1 in")
            .complains_of("i.ogx is no value of type {a: u8");
    }
    folder.run(&["build", "i.ogx", "-o", "t.ogive"]).exits_with_error().complains_of("values of type {a: u8, b: u8?}");
}

#[test]
fn keys_of_several_columns_and_of_nulls_are_loaded_from_parquet_as_from_csv() {
    for (key_type, columns) in [("(i64, i32?)", &["k", "m"][..]), ("(i32?)", &["m"]), ("(i64 desc)", &["k"])] {
        let folder = Folder::new();
        folder.write("n.csv", "k,m,b\n7,1,x\n5,,y\n-3,2,z\n");
        let keys: Vec<&str> = columns.iter().flat_map(|column| ["--key", column]).collect();
        let typed = ["--key-type", key_type, "--value", "b"];
        folder.build("n.csv", "n.ogive", &[&keys[..], &typed].concat()).exits_with(0);
        folder.run(&["export", "n.ogive", "n.parquet"]).exits_with(0);
        let mut scanned = Vec::new();
        for input in ["n.csv", "n.parquet"] {
            let name = format!("{input}.ogx");
            let types = ["--key-type", key_type, "--value-type", "{b: text?}", "--value-bytes", "40"];
            index(&folder, &[&["create", &name][..], &types].concat()).exits_with(0);
            let load = [&["load", &name, input][..], &keys, &["--value", "b"]].concat();
            index(&folder, &load).exits_with(0);
            scanned.push(folder.run(&["scan", &name]).exits_with(0).stdout);
        }
        assert!(scanned[0] == scanned[1] && scanned[0].lines().count() == 3, "{key_type}: {scanned:?}");
    }
}

#[test]
fn columns_of_parquet_become_keys_of_an_index_where_that_is_exact() {
    let folder = Folder::new();
    index(&folder, &["create", "i.ogx", "--value-type", "bool"]).exits_with(0);
    for (name, keys, code) in [("fits", "7\n5\n", 0), ("negative", "6\n-3\n", 1)] {
        folder.write("n.csv", format!("k,v\n{}", keys.replace('\n', ",true\n")));
        folder.build("n.csv", &format!("{name}.ogive"), &["--key-type", "i64"]).exits_with(0);
        folder.run(&["export", &format!("{name}.ogive"), &format!("{name}.parquet")]).exits_with(0);
        let loaded = index(&folder, &["load", "i.ogx", &format!("{name}.parquet"), "--key", "k"]).exits_with(code);
        if code == 1 {
            loaded.complains_of("-3");
        }
    }
    folder.run(&["count", "i.ogx"]).exits_with(0).prints("2\n");
}

#[test]
fn a_write_to_a_file_of_another_format_leaves_nothing_beside_it() {
    let folder = Folder::new();
    folder.write("people.csv", "id,name\n1,ann\n");
    folder.run(&["index", "put", "people.csv", "1", "ann"]).exits_with_error();
    assert_eq!(folder.names(), ["people.csv"]);
}
