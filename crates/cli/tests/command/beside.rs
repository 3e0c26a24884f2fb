//! Indexes beside Parquet files: lookups, scans, counts and checks by the command, and what is refused. Method: whole
//! runs on files that the command itself exports.

use super::run::Folder;
use arrow_array::builder::{Int64Builder, MapBuilder, StringBuilder};
use arrow_array::types::{Decimal256Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, Date32Array, Date64Array, Decimal256Array, FixedSizeBinaryArray,
    Float64Array, Int64Array, RecordBatch, Time32SecondArray, TimestampSecondArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use serde_json::json;
use std::sync::Arc;

/// A folder with `events.parquet`: identifiers in order, and names out of order.
fn events() -> Folder {
    let folder = Folder::new();
    let rows: String = (0..500).map(|i| format!("{i},name {},{}\n", i * 7 % 500, i % 3)).collect();
    folder.write("events.csv", format!("id,name,level\n{rows}"));
    folder.build("events.csv", "events.ogive", &["--key", "id"]);
    folder.run(&["export", "events.ogive", "events.parquet"]).exits_with(0);
    folder
}

fn index(folder: &Folder, key: &str, name: &str) {
    folder.run(&["build", "events.parquet", "--external", "--key", key, "-o", name]).exits_with(0);
}

fn write_parquet(folder: &Folder, name: &str, rows: &RecordBatch) {
    let file = std::fs::File::create(folder.path(name)).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, rows.schema(), None).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
}

#[test]
fn rows_of_a_parquet_file_are_found_by_its_index() {
    let folder = events();
    index(&folder, "id", "id.idx");
    index(&folder, "name", "name.idx");
    folder.run(&["get", "id.idx", "7"]).exits_with(0).prints("id,name,level\n7,name 49,1\n");
    folder.run(&["get", "name.idx", "name 49", "--columns", "level,id"]).exits_with(0).prints("level,id\n1,7\n");
    let rows = folder.run(&["get", "id.idx", "7", "8", "--json", "--columns", "id"]).exits_with(0).json_lines();
    let found = |id: u32| json!({ "key": id, "found": true, "record": { "id": id } });
    assert_eq!(rows, [found(7), found(8)]);
    folder.run(&["get", "id.idx", "500"]).exits_with(1).complains_of("500: not found");
    folder.run(&["scan", "id.idx", "--from", "3", "--to", "5", "--columns", "id"]).exits_with(0).prints("id\n3\n4\n");
    folder.run(&["scan", "id.idx", "--limit", "1", "--columns", "id"]).exits_with(0).prints("id\n0\n");
    folder.run(&["count", "id.idx", "--from", "10", "--to", "20"]).exits_with(0).prints("10\n");
    folder.run(&["rank", "name.idx", "name 1"]).exits_with(0).prints("1\n");
    folder.run(&["verify", "name.idx"]).exits_with(0);
    let found = folder.run(&["info", "id.idx", "--json"]).exits_with(0).json_lines();
    assert_eq!(found[0]["kind"], json!("parquet index"));
}

/// Bytes of a lookup in a Parquet file of 300,000 rows whose texts are all different, however they are distributed.
const LOOKUP_BYTES_MAX: u64 = 100_000;

#[test]
fn a_lookup_in_an_exported_file_of_unique_text_reads_small_pages() {
    let folder = Folder::new();
    let text = |i: u64| format!("{:016x} of {i}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let rows: String = (0..300_000).map(|i| format!("{},{},{}\n", i * 7, text(i), i % 5)).collect();
    folder.write("rows.csv", format!("id,name,level\n{rows}"));
    folder.build("rows.csv", "rows.ogive", &[]);
    folder.run(&["export", "rows.ogive", "rows.parquet"]).exits_with(0);
    for key in ["id", "name"] {
        let index = format!("{key}.idx");
        folder.run(&["build", "rows.parquet", "--external", "--key", key, "-o", &index]).exits_with(0);
        for i in [0, 700, 65_535, 65_536, 200_001, 299_999] {
            let key = if key == "id" { (i * 7).to_string() } else { text(i) };
            let found = folder.run(&["get", &index, &key, "--explain", "--json"]).exits_with(0).json();
            assert_eq!(found["record"], json!({ "id": i * 7, "name": text(i), "level": i % 5 }));
            let reads = found["reads"].as_array().unwrap();
            let bytes: u64 = reads.iter().map(|read| read["size_bytes"].as_u64().unwrap()).sum();
            assert!((1..LOOKUP_BYTES_MAX).contains(&bytes), "{index} {key}: {bytes} in {reads:?}");
        }
    }
}

#[test]
fn rows_are_found_by_position_and_printed_backwards() {
    let folder = events();
    index(&folder, "id", "id.idx");
    index(&folder, "name", "name.idx");
    folder.run(&["nth", "id.idx", "7"]).exits_with(0).prints("id,name,level\n7,name 49,1\n");
    folder.run(&["nth", "id.idx", "-1", "--columns", "id"]).exits_with(0).prints("id\n499\n");
    folder.run(&["nth", "name.idx", "1", "--columns", "name"]).exits_with(0).prints("name\nname 1\n");
    assert_eq!(folder.run(&["nth", "id.idx", "3", "--json"]).exits_with(0).json()["record"]["id"], json!(3));
    let absent = folder.run(&["nth", "id.idx", "500", "--json"]).exits_with(1);
    assert_eq!(absent.complains_of("has 500 records").json(), json!({ "index": 500, "found": false }));
    folder.run(&["nth", "id.idx", "-501"]).exits_with(1).prints("").complains_of("no record at position -501");
    let explained = folder.run(&["nth", "name.idx", "1", "--explain", "--json"]).exits_with(0).json();
    assert!(explained["reads"].is_array(), "{explained:?}");
    for name in ["id.idx", "name.idx"] {
        let lines = |flags: &[&str]| {
            let run = folder.run(&[&["scan", name, "--json"], flags].concat()).exits_with(0);
            run.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let (mut forwards, backwards) = (lines(&[]), lines(&["--reverse"]));
        forwards.reverse();
        assert_eq!(forwards, backwards);
        assert_eq!(lines(&["--reverse", "--limit", "2"]), forwards[..2]);
    }
    let some = ["scan", "id.idx", "--from", "3", "--to", "6", "--reverse", "--columns", "id"];
    folder.run(&some).exits_with(0).prints("id\n5\n4\n3\n");
}

#[test]
fn keys_of_lookups_are_read_from_standard_input() {
    let folder = events();
    index(&folder, "id", "id.idx");
    let keys: String = (0..1200).map(|number| format!("{}\n", number % 500)).collect();
    folder.write("keys.txt", keys);
    let found = folder.run_piped("keys.txt", &["get", "id.idx", "-", "--columns", "id"]).exits_with(0);
    assert_eq!(found.stdout.lines().count(), 1201);
    folder.write("keys.txt", "7\n900\n");
    let found = folder.run_piped("keys.txt", &["get", "id.idx", "8", "-", "--columns", "id"]).exits_with(1);
    found.prints("id\n8\n7\n").complains_of("900: not found");
}

#[test]
fn rows_are_exported_and_joined_as_records_with_the_keys_of_the_index() {
    let folder = events();
    index(&folder, "id", "id.idx");
    index(&folder, "name", "name.idx");
    for (name, key) in [("id.idx", "id"), ("name.idx", "name")] {
        for out in ["x.csv", "x.jsonl", "x.parquet", "x.ogive"] {
            folder.run(&["export", name, out, "--force"]).exits_with(0).prints(&format!("{out}: 500 records\n"));
        }
        folder.build("events.parquet", "again.ogive", &["--key", key, "--force"]);
        let expected = folder.run(&["export", "again.ogive", "-"]).exits_with(0).stdout;
        assert_eq!(folder.run(&["export", "x.ogive", "-"]).exits_with(0).stdout, expected);
        assert_eq!(folder.run(&["export", name, "-"]).exits_with(0).stdout, expected);
        let csv = std::fs::read_to_string(folder.path("x.csv")).unwrap();
        assert_eq!(csv, expected);
    }
    let part = ["export", "id.idx", "-", "--from", "3", "--to", "5", "--columns", "level"];
    folder.run(&part).exits_with(0).prints("id,level\n3,0\n4,1\n");
    folder.run(&["export", "id.idx", "-", "--columns", "nope"]).exits_with(1).complains_of("nope");

    folder.write("some.csv", "id,colour\n3,red\n4,blue\n900,green\n");
    folder.build("some.csv", "some.ogive", &["--key-type", "i64"]);
    let key_type = folder.run(&["info", "id.idx", "--json"]).json()["key_type"].as_str().unwrap().to_owned();
    folder.build("some.csv", "some.ogive", &["--key-type", &key_type, "--force"]);
    let joined = folder.run(&["join", "some.ogive", "id.idx", "-o", "-", "--to", "csv"]).exits_with(0);
    joined.prints("id,colour,name,level\n3,red,name 21,0\n4,blue,name 28,1\n");
    let chosen = ["join", "id.idx", "some.ogive", "-o", "-", "--to", "csv", "--left-value", "level"];
    folder.run(&chosen).exits_with(0).prints("id,level,colour\n3,0,red\n4,1,blue\n");
    let keyed = [&chosen[..], &["--left-key", "id"]].concat();
    folder.run(&keyed).exits_with(2).complains_of("--left-key");
    let both = folder.run(&["join", "id.idx", "id.idx", "-o", "-", "--kind", "semi"]).exits_with(0);
    assert_eq!(both.stdout.lines().count(), 500);
}

#[test]
fn a_damaged_index_is_built_again_and_not_repaired() {
    let folder = events();
    index(&folder, "name", "name.idx");
    let mut content = std::fs::read(folder.path("name.idx")).unwrap();
    content[100] ^= 1;
    folder.write("name.idx", content);
    let anew = "`ogive build DATA --external --key name -o name.idx` makes it anew";
    for verb in ["verify", "repair"] {
        folder.run(&[verb, "name.idx"]).exits_with(1).complains_of(anew).keeps_quiet_about("--update");
    }
    // Another command does not lead around in a circle.
    let anew = "`ogive build DATA --external --key COL -o name.idx` makes it anew";
    let update = ["build", "events.parquet", "--external", "--update", "-o", "name.idx"];
    folder.run(&update).exits_with(1).complains_of(anew).keeps_quiet_about("ogive repair");
    index(&folder, "name", "name.idx");
    folder.run(&["repair", "name.idx"]).exits_with(0).prints("name.idx: sound; nothing to repair\n");
}

#[test]
fn what_verify_rejects_is_not_sound_to_repair() {
    let folder = events();
    std::fs::create_dir(folder.path("d")).unwrap();
    std::fs::copy(folder.path("events.parquet"), folder.path("d/a.parquet")).unwrap();
    std::fs::copy(folder.path("events.parquet"), folder.path("d/b.parquet")).unwrap();
    folder.run(&["build", "d", "--external", "--key", "id", "-o", "d.idx"]).exits_with(0);
    std::fs::remove_file(folder.path("d/b.parquet")).unwrap();
    for verb in ["verify", "repair"] {
        let run = folder.run(&[verb, "d.idx"]).exits_with(1);
        assert!(format!("{}{}", run.stdout, run.stderr).contains("is indexed, but is gone"), "{}", run.stderr);
        run.complains_of("`ogive build DATA --external --update -o d.idx` brings it up to date");
    }
    folder.run(&["build", "d", "--external", "--update", "-o", "d.idx"]).exits_with(0);
    for verb in ["verify", "repair"] {
        folder.run(&[verb, "d.idx"]).exits_with(0);
    }
}

#[test]
fn of_rows_with_one_key_the_first_is_printed_unless_all_are_asked_for() {
    let folder = events();
    index(&folder, "level", "level.idx");
    let one = folder.run(&["get", "level.idx", "2", "--columns", "level,id"]).exits_with(0);
    one.prints("level,id\n2,2\n").complains_of("165 more records with this key; --all prints them");
    let all = folder.run(&["get", "level.idx", "2", "--columns", "level,id", "--all"]).exits_with(0);
    assert_eq!(all.stdout.lines().count(), 167);
    all.keeps_quiet_about("--all");
    let one = folder.run(&["get", "level.idx", "2", "--columns", "id", "--json"]).exits_with(0);
    assert_eq!(one.json(), json!({ "key": 2, "found": true, "record": { "id": 2 }, "more": 165 }));
    let all = folder.run(&["get", "level.idx", "2", "--columns", "id", "--json", "--all"]).exits_with(0).json();
    assert_eq!(all["records"].as_array().map(Vec::len), Some(166));
    let several = folder.run(&["get", "level.idx", "1", "2", "--columns", "id"]).exits_with(0);
    several.prints("id\n1\n2\n").keeps_quiet_about("more");
}

#[test]
fn info_shows_the_key_the_columns_and_the_files() {
    let folder = events();
    index(&folder, "id", "id.idx");
    let told = folder.run(&["info", "id.idx"]).exits_with(0).stdout;
    for part in ["an index of 500 rows in 1 Parquet file", "key: id (", "column name: ", "file ", "events.parquet, "] {
        assert!(told.contains(part), "{told}");
    }
    let facts = folder.run(&["info", "id.idx", "--json"]).exits_with(0).json();
    assert_eq!((&facts["key"], &facts["rows"]), (&json!(["id"]), &json!(500)));
    assert_eq!(facts["columns"], json!(["id", "name", "level"]));
    assert!(facts["files"][0]["path"].as_str().unwrap().ends_with("events.parquet"), "{facts}");
}

#[test]
fn null_keys_are_in_ranges_that_ask_for_them_whatever_the_layout() {
    let folder = Folder::new();
    for (name, ids) in [
        ("first", [None, None, Some(1), Some(2), Some(5)]),
        ("last", [Some(1), Some(2), Some(5), None, None]),
        ("mixed", [Some(5), None, Some(1), None, Some(2)]),
    ] {
        let ids = Arc::new(Int64Array::from(ids.to_vec())) as ArrayRef;
        let rows = RecordBatch::try_from_iter_with_nullable([("id", ids, true)]).unwrap();
        write_parquet(&folder, "ids.parquet", &rows);
        folder.run(&["build", "ids.parquet", "--external", "--key", "id", "-o", "ids.idx", "--force"]).exits_with(0);
        folder.run(&["scan", "ids.idx", "--from", "1"]).exits_with(0).prints("id\n1\n2\n5\n");
        folder.run(&["scan", "ids.idx", "--to", "5"]).exits_with(0).prints("id\n1\n2\n");
        folder.run(&["count", "ids.idx", "--from", "2"]).exits_with(0).prints("2\n");
        folder.run(&["count", "ids.idx", "--to", "9"]).exits_with(0).prints("3\n");
        folder.run(&["rank", "ids.idx", "5"]).exits_with(0).prints("2\n");
        folder.run(&["count", "ids.idx"]).exits_with(0).prints("5\n");
        let all = folder.run(&["get", "ids.idx", "", "--json", "--all"]).exits_with(0).json();
        assert_eq!(all["records"].as_array().map(Vec::len), Some(2), "{name}");
    }
}

#[test]
fn each_request_of_a_lookup_is_shown() {
    let folder = events();
    for (key, name, rounds) in [("id", "7", 2), ("name", "name 49", 3)] {
        index(&folder, key, "i.idx");
        let answer = folder.run(&["get", "i.idx", name, "--explain", "--json"]).exits_with(0).json();
        assert_eq!(answer["record"]["id"], json!(7));
        let requests = answer["reads"].as_array().cloned().unwrap_or_default();
        assert_eq!(requests.last().map(|request| &request["round"]), Some(&json!(rounds)), "{requests:?}");
        for member in ["purpose", "offset", "size_bytes", "path"] {
            assert!(requests.iter().all(|request| !request[member].is_null()), "{requests:?}");
        }
        // Keys that are looked up together have their requests in common.
        let several = folder.run(&["get", "i.idx", name, name, "--explain", "--json"]).exits_with(0).json_lines();
        assert_eq!(several.len(), 3);
        assert!(several[0]["reads"].is_null() && several[2]["reads"].is_array(), "{several:?}");
    }
    for line in [&["rank", "i.idx", "name 49"][..], &["count", "i.idx"]] {
        let answer = folder.run(&[line, &["--explain", "--json"]].concat()).exits_with(0).json();
        assert!(answer["reads"].is_array(), "{answer}");
    }
}

#[test]
fn what_an_index_of_parquet_files_does_not_have_is_refused() {
    let folder = events();
    index(&folder, "id", "id.idx");
    folder.run(&["scan", "id.idx", "--keys-only"]).exits_with(2).complains_of("--columns id");
    folder.run(&["get", "id.idx", "7", "--raw"]).exits_with(2).complains_of("--columns");
    folder.run(&["get", "id.idx", "7", "--keyspace", "k"]).exits_with(2).complains_of("--keyspace is for a store");
    folder.run(&["explain", "id.idx", "7"]).exits_with(2).complains_of("ogive get id.idx 7 --explain");
    folder.run(&["get", "events.ogive", "7", "--csv"]).exits_with(2).complains_of("indexes of Parquet files");
    folder.run(&["export", "events.ogive", "-", "--columns", "id"]).exits_with(2).complains_of("indexes of Parquet");
    folder.run(&["get", "id.idx", "7", "--columns", "nope"]).exits_with(1).complains_of("id, name, level");
    let no_key = ["build", "events.parquet", "--external", "-o", "x.idx"];
    folder.run(&no_key).exits_with(1).complains_of("no key is given");
    let keyed = ["build", "events.csv", "--external", "--key", "id", "-o", "x.idx"];
    folder.run(&keyed).exits_with(2).complains_of("columns of Parquet files");
    std::fs::write(folder.path("events.parquet"), "changed").unwrap();
    folder.run(&["get", "id.idx", "7"]).exits_with(1).complains_of("has changed since it was indexed");
}

#[test]
fn an_index_is_no_input_of_commands_that_take_records() {
    let folder = events();
    index(&folder, "id", "id.idx");
    index(&folder, "name", "name.idx");
    for name in ["id.idx", "name.idx"] {
        for command in [
            &["build", name, "-o", "x.ogive"][..],
            &["build", name, "--external", "-o", "x.idx"],
            &["db", "ingest", "store", name],
        ] {
            folder.run(command).exits_with(1).complains_of("is an index of Parquet files");
        }
        folder.run(&["tune", name]).exits_with(1).complains_of("is an Ogive table, not an input file");
    }
}

#[test]
fn an_update_with_other_data_is_refused() {
    let folder = events();
    index(&folder, "id", "id.idx");
    std::fs::copy(folder.path("events.parquet"), folder.path("others.parquet")).unwrap();
    let update = |data| folder.run(&["build", data, "--external", "--update", "-o", "id.idx"]);
    update("others.parquet").exits_with(1).complains_of("the index is of the data in events.parquet");
    update("events.parquet").exits_with(0);
}

#[test]
fn times_of_zones_are_printed_as_tables_print_them() {
    let folder = Folder::new();
    // The first of January 1880 has an offset with seconds in Berlin, and the ends have no year of four digits.
    let times = Int64Array::from(vec![0, 3_600_000_000, -2_840_140_800_000_000, i64::MIN, i64::MAX]);
    let in_zone = |zone: &str| {
        let times = times.reinterpret_cast::<TimestampMicrosecondType>().with_timezone(zone);
        (zone.to_owned(), Arc::new(times) as ArrayRef)
    };
    let batch = RecordBatch::try_from_iter(["UTC", "Europe/Berlin", "+01:00"].map(in_zone)).unwrap();
    write_parquet(&folder, "events.parquet", &batch);
    index(&folder, "UTC", "i.idx");
    let expected = "UTC,Europe/Berlin,+01:00\n1970-01-01T00:00:00,1970-01-01T00:00:00,1970-01-01T00:00:00\n";
    for key in ["1970-01-01T00:00:00Z", "1970-01-01T00:00:00", "1970-01-01T01:00:00+01:00"] {
        folder.run(&["get", "i.idx", key]).exits_with(0).prints(expected);
    }
    folder.run(&["build", "events.parquet", "--key", "UTC", "-o", "t.ogive"]).exits_with(0);
    let scan = |file| folder.run(&["scan", file, "--json"]).exits_with(0).json_lines();
    assert_eq!(scan("i.idx"), scan("t.ogive"));
}

#[test]
fn numbers_that_a_type_cannot_hold_are_refused_as_they_are() {
    let folder = Folder::new();
    let exact = 1_i64 << 53;
    let whole: ArrayRef = Arc::new(Int64Array::from(vec![exact, exact + 1]));
    write_parquet(&folder, "whole.parquet", &RecordBatch::try_from_iter([("n", whole)]).unwrap());
    for options in [["--key-type", "f64"], ["--key-type", "f32"]] {
        let build = folder.run(&[&["build", "whole.parquet", "-o", "t.ogive"][..], &options].concat());
        build.exits_with(1).complains_of("9007199254740993");
    }
    let long = Decimal256Array::from(vec![<Decimal256Type as ArrowPrimitiveType>::Native::MAX])
        .with_precision_and_scale(76, 0);
    let rows = [("k", Arc::new(Int64Array::from(vec![1])) as ArrayRef), ("n", Arc::new(long.unwrap()))];
    write_parquet(&folder, "long.parquet", &RecordBatch::try_from_iter(rows).unwrap());
    let build = folder.run(&["build", "long.parquet", "-o", "t.ogive", "--type", "n=i128"]).exits_with(1);
    build.complains_of("'57896").keeps_quiet_about("empty fields");
}

#[test]
fn the_page_of_an_index_has_its_files_and_the_requests_of_its_lookups() {
    let folder = events();
    for (key, value) in [("id", "7"), ("name", "name 49")] {
        index(&folder, key, "i.idx");
        folder.run(&["report", "i.idx", "-o", "i.html", "--force", "--key", value]).exits_with(0);
        let html = std::fs::read_to_string(folder.path("i.html")).unwrap();
        assert!(html.starts_with("<!doctype html>") && html.len() < 300_000, "{} bytes", html.len());
        let bytes = |name: &str| std::fs::metadata(folder.path(name)).unwrap().len();
        let grouped = ogive_report::format::grouped;
        assert!(html.contains(&grouped(bytes("events.parquet"))), "{key}");
        assert!(html.contains("1 Parquet file with 500 rows"), "{key}");
        let answer = folder.run(&["get", "i.idx", value, "--explain", "--json"]).exits_with(0).json();
        let data = folder.run(&["report", "i.idx", "--json", "--key", value]).exits_with(0).json();
        assert_eq!(data["lookups"][0]["rows"], 1);
        let (shown, made) = (&data["lookups"][0]["requests"], answer["reads"].as_array().unwrap());
        assert_eq!(shown.as_array().unwrap().len(), made.len());
        for (shown, made) in shown.as_array().unwrap().iter().zip(made) {
            assert_eq!([&shown["round"], &shown["offset"]], [&made["round"], &made["offset"]]);
            assert_eq!(shown["bytes"], made["size_bytes"]);
            assert!(html.contains(&grouped(made["size_bytes"].as_u64().unwrap())), "{made}");
        }
        assert_eq!(data["index_bytes"].as_u64(), Some(bytes("i.idx")));
        assert_eq!(data["files"][0]["rows"], 500);
        // The explorer is that of the table, where there is one.
        assert_eq!(html.contains("id=\"explorer-key\""), key == "name");
    }
}

#[test]
fn keys_that_are_not_named_come_from_the_files_and_figures_are_drawn_where_there_is_data() {
    let folder = events();
    index(&folder, "id", "id.idx");
    index(&folder, "name", "name.idx");
    for name in ["id.idx", "name.idx"] {
        let data = folder.run(&["report", name, "--json"]).exits_with(0).json();
        let lookups = data["lookups"].as_array().unwrap();
        assert!(lookups.len() == 3 && lookups.iter().all(|lookup| lookup["rows"] == 1), "{data}");
        folder.run(&["report", name, "-o", "curve.svg", "--figure", "curve", "--force"]).exits_with(0);
        assert!(std::fs::read_to_string(folder.path("curve.svg")).unwrap().contains("s before it"));
    }
    let curve = folder.run(&["report", "id.idx", "--json", "--samples", "5"]).exits_with(0).json()["curve"].clone();
    let points: Vec<(&str, u64)> = curve
        .as_array()
        .unwrap()
        .iter()
        .map(|point| (point["text"].as_str().unwrap(), point["rows"].as_u64().unwrap()))
        .collect();
    assert_eq!(points, [("0", 0), ("124", 124), ("249", 249), ("374", 374), ("499", 499)]);
    folder.run(&["report", "name.idx", "-o", "layers.svg", "--figure", "layers"]).exits_with(0);
    folder.run(&["report", "id.idx", "-o", "x.svg", "--figure", "layers"]).exits_with(2).complains_of("no layers");
    folder.run(&["report", "events.csv", "-o", "x.html"]).exits_with(1).complains_of("index beside Parquet files");
}

/// Writes a batch as a file of the folder.
fn write(folder: &Folder, name: &str, batch: &RecordBatch) {
    let file = std::fs::File::create(folder.path(name)).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn keys_of_bytes_are_asked_for_as_they_are_printed() {
    let folder = Folder::new();
    let keys: [&[u8]; 4] = [b"6162", b"ab", b"a\\x00", b"\xff\x00"];
    let mut sorted = keys;
    sorted.sort_unstable();
    let wide: ArrayRef = Arc::new(BinaryArray::from_iter_values(keys));
    let fixed: ArrayRef =
        Arc::new(FixedSizeBinaryArray::try_from_iter([[1_u8; 16], [2; 16], [3; 16], [4; 16]].iter()).unwrap());
    let number: ArrayRef = Arc::new(Int64Array::from(vec![0, 1, 2, 3]));
    write(&folder, "b.parquet", &RecordBatch::try_from_iter([("k", wide), ("n", number), ("f", fixed)]).unwrap());
    folder.run(&["build", "b.parquet", "--external", "--key", "k", "-o", "b.idx"]).exits_with(0);
    folder.build("b.parquet", "b.ogive", &["--key", "k", "--value", "n"]);
    let scanned = folder.run(&["scan", "b.idx", "--columns", "k"]).exits_with(0).stdout.clone();
    let table = folder.run(&["scan", "b.ogive"]).exits_with(0).stdout.clone();
    let of_table: Vec<&str> = table.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(scanned.lines().skip(1).collect::<Vec<_>>(), of_table);
    for (shown, key) in of_table.iter().zip(sorted) {
        let number = keys.iter().position(|known| *known == key).unwrap();
        let found = folder.run(&["get", "b.idx", shown, "--columns", "n"]);
        found.exits_with(0).prints(&format!("n\n{number}\n"));
    }
    let rows = |name: &str| folder.run(&["scan", name, "--json"]).exits_with(0).json_lines();
    let of = |name: &str| rows(name).into_iter().map(|row| row["k"].clone()).collect::<Vec<_>>();
    assert_eq!(of("b.idx"), of("b.ogive"));
    assert_eq!(of("b.idx").last(), Some(&json!({ "hex": "ff00" })));
}

#[test]
fn json_has_every_value_and_is_read_back() {
    let folder = Folder::new();
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5]));
    let floats = vec![Some(f64::NAN), Some(f64::INFINITY), Some(f64::NEG_INFINITY), None, Some(-0.0)];
    let floats: ArrayRef = Arc::new(Float64Array::from(floats));
    let mut maps = MapBuilder::new(None, Int64Builder::new(), StringBuilder::new());
    for row in 0..5 {
        if row < 2 {
            maps.keys().append_value(row + 7);
            maps.values().append_value("x");
            maps.keys().append_value(row);
            maps.values().append_null();
        }
        maps.append(row != 4).unwrap();
    }
    let maps: ArrayRef = Arc::new(maps.finish());
    let batch = RecordBatch::try_from_iter([("id", ids), ("x", floats), ("m", maps)]).unwrap();
    std::fs::create_dir(folder.path("d")).unwrap();
    write(&folder, "d/a.parquet", &batch);
    let more: ArrayRef = Arc::new(Int64Array::from(vec![6]));
    write(&folder, "d/b.parquet", &RecordBatch::try_from_iter([("id", more)]).unwrap());
    folder.run(&["build", "d", "--external", "--key", "id", "-o", "i.idx"]).exits_with(0);
    let rows = folder.run(&["scan", "i.idx", "--json"]).exits_with(0);
    let expected = r#"{"id":1,"x":"NaN","m":[{"key":7,"value":"x"},{"key":0,"value":null}]}
{"id":2,"x":"Infinity","m":[{"key":8,"value":"x"},{"key":1,"value":null}]}
{"id":3,"x":"-Infinity","m":[]}
{"id":4,"x":null,"m":[]}
{"id":5,"x":-0.0,"m":null}
{"id":6}
"#;
    rows.prints(expected);
    folder.run(&["get", "i.idx", "1", "6", "--json", "--columns", "id,x"]).exits_with(0).prints(
        "{\"key\":1,\"found\":true,\"record\":{\"id\":1,\"x\":\"NaN\"}}\n\
             {\"key\":6,\"found\":true,\"record\":{\"id\":6}}\n",
    );
    let flat = folder.run(&["scan", "i.idx", "--json", "--columns", "id,x"]).exits_with(0).stdout.clone();
    folder.write("rows.jsonl", &flat);
    folder.build("rows.jsonl", "again.ogive", &[]);
    let again = folder.run(&["scan", "again.ogive", "--json"]).exits_with(0).json_lines();
    let words: Vec<_> = again.iter().map(|row| row["x"].clone()).collect();
    assert_eq!(words[..4], [json!("NaN"), json!("Infinity"), json!("-Infinity"), json!(null)]);
    assert_eq!(words[5], json!(null), "what no file has is null in a table");
    folder
        .run(&["get", "i.idx", "9", "1", "--json", "--columns", "id"])
        .exits_with(1)
        .prints("{\"key\":9,\"found\":false}\n{\"key\":1,\"found\":true,\"record\":{\"id\":1}}\n");
}

#[test]
fn a_result_of_arrow_without_rows_has_its_columns() {
    let folder = events();
    index(&folder, "id", "id.idx");
    for command in [&["scan", "id.idx", "--from", "900"][..], &["get", "id.idx", "900"]] {
        let run = folder.command(&[command, &["--arrow", "--columns", "name,id"]].concat()).output().unwrap();
        let stream = arrow_ipc::reader::StreamReader::try_new(&run.stdout[..], None).unwrap();
        let schema = arrow_array::RecordBatchReader::schema(&stream);
        assert_eq!(schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), ["name", "id"]);
        assert_eq!(stream.count(), 0);
    }
}

#[test]
fn copies_of_files_are_accepted_by_their_keys() {
    for (key, value) in [("id", "7"), ("name", "name 49")] {
        let folder = events();
        index(&folder, key, "i.idx");
        let touch = |name: &str| {
            let file = std::fs::File::options().write(true).open(folder.path(name)).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(86_400)).unwrap();
        };
        touch("events.parquet");
        folder.run(&["get", "i.idx", value]).exits_with(1).complains_of("ogive verify --accept");
        folder.run(&["verify", "i.idx"]).exits_with(1);
        let accepted = folder.run(&["verify", "i.idx", "--accept", "--json"]).exits_with(0).json();
        assert_eq!([&accepted["accepted_files"], &accepted["rows"]], [&json!(1), &json!(500)]);
        folder.run(&["get", "i.idx", value, "--columns", "id"]).exits_with(0).prints("id\n7\n");
        folder.run(&["verify", "i.idx"]).exits_with(0);
        // Another file of that length is not taken for it.
        let whole = std::fs::read(folder.path("events.parquet")).unwrap();
        let mut other = whole.clone();
        let at = whole.windows(6).position(|bytes| bytes == b"name 4").unwrap();
        other[at + 5] = b'9';
        std::fs::write(folder.path("events.parquet"), other).unwrap();
        let run = folder.run(&["verify", "i.idx", "--accept"]);
        if key == "name" {
            run.exits_with(1);
            folder.run(&["get", "i.idx", value]).exits_with(1);
        }
    }
    let folder = events();
    folder.run(&["verify", "events.ogive", "--accept"]).exits_with(2).complains_of("indexes of Parquet files");
}

#[test]
fn types_that_only_the_writer_hints_at_are_the_same_in_every_command() {
    let folder = Folder::new();
    let day = 86_400_000;
    let columns: [(ArrayRef, &str, [&str; 2]); 3] = [
        (
            Arc::new(Date64Array::from(vec![day, 2 * day + 1])),
            "timestamp(ms)",
            ["1970-01-02T00:00:00", "1970-01-03T00:00:00.001"],
        ),
        (
            Arc::new(TimestampSecondArray::from(vec![-1, 7])),
            "timestamp(s)",
            ["1969-12-31T23:59:59", "1970-01-01T00:00:07"],
        ),
        (Arc::new(Time32SecondArray::from(vec![1, 2])), "time(s)", ["00:00:01", "00:00:02"]),
    ];
    for (array, key_type, keys) in columns {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        // Of two files, one coerces types to those of Parquet.
        for is_coerced in [false, true] {
            let properties = parquet::file::properties::WriterProperties::builder().set_coerce_types(is_coerced);
            let array = match (is_coerced, array.data_type()) {
                // What is no day is no date of Parquet.
                (true, DataType::Date64) => Arc::new(Date64Array::from(vec![day, 2 * day])),
                _ => array.clone(),
            };
            let rows = RecordBatch::try_from_iter([("t", array), ("n", numbers.clone())]).unwrap();
            let file = std::fs::File::create(folder.path("t.parquet")).unwrap();
            let mut writer =
                parquet::arrow::ArrowWriter::try_new(file, rows.schema(), Some(properties.build())).unwrap();
            writer.write(&rows).unwrap();
            writer.close().unwrap();
            let keys = [keys[0], if is_coerced { keys[1].trim_end_matches(".001") } else { keys[1] }];
            let expected = format!("{}\t1\n{}\t2\n", keys[0], keys[1]);
            folder.build("t.parquet", "t.ogive", &["--force"]);
            let told = folder.run(&["explain", "t.ogive", "--json"]).exits_with(0).json();
            assert_eq!(told["key_type"], json!(key_type));
            folder.run(&["scan", "t.ogive"]).exits_with(0).prints(&expected);
            _ = std::fs::remove_dir_all(folder.path("s"));
            folder.run(&["db", "import", "s", "t.parquet"]).exits_with(0);
            folder.run(&["scan", "s"]).exits_with(0).prints(&expected);
            folder.run(&["join", "t.parquet", "t.ogive", "-o", "-"]).exits_with(0);
            _ = std::fs::remove_file(folder.path("t.ogx"));
            folder.run(&["index", "create", "t.ogx", "--key-type", key_type, "--value-type", "{n: i64}"]).exits_with(0);
            folder.run(&["index", "load", "t.ogx", "t.parquet"]).exits_with(0);
            folder.run(&["scan", "t.ogx"]).exits_with(0).prints(&expected);
            let build = ["build", "t.parquet", "--external", "--key", "t", "-o", "t.idx"];
            let built = folder.run(&[&build[..], &["--json"]].concat()).exits_with(0).json();
            assert_eq!(built["key_type"], json!(key_type));
            folder.run(&["get", "t.idx", keys[1], "--columns", "n"]).exits_with(0).prints("n\n2\n");
        }
    }
}

#[test]
fn types_that_are_given_keep_what_columns_of_parquet_say() {
    let folder = Folder::new();
    let days: ArrayRef = Arc::new(Date32Array::from(vec![1, 2]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![5, 7]));
    write_parquet(&folder, "t.parquet", &RecordBatch::try_from_iter([("n", numbers), ("day", days)]).unwrap());
    folder.build("t.parquet", "t.ogive", &["--type", "n=decimal(8,2)"]);
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("5.00\t1970-01-02\n7.00\t1970-01-03\n");
    let seconds = ["build", "t.parquet", "-o", "t.ogive", "--type", "day=timestamp(s)"];
    folder.run(&seconds).exits_with(1).complains_of("is date, and is not converted to timestamp(s)");
    folder.build("t.parquet", "t.ogive", &["--type", "day=i64", "--type", "n=text"]);
    folder.run(&["scan", "t.ogive"]).exits_with(0).prints("5\t1\n7\t2\n");
}

/// A file of timestamps of the type INT96, by Julian days and nanoseconds of the day. Its writer states that it had
/// seconds, as pyarrow does, which does not change the type.
fn old_timestamps(folder: &Folder, name: &str, times: &[(u32, i64)]) {
    use parquet::data_type::{Int64Type, Int96, Int96Type};
    use parquet::file::metadata::KeyValue;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    let schema = parquet::schema::parser::parse_message_type("message m { required int96 t; required int64 n; }");
    let seconds = Field::new("t", DataType::Timestamp(TimeUnit::Second, None), false);
    let stated = Schema::new(vec![seconds, Field::new("n", DataType::Int64, false)]);
    let stated = KeyValue::new("ARROW:schema".to_owned(), parquet::arrow::encode_arrow_schema(&stated));
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![stated])).build();
    let file = std::fs::File::create(folder.path(name)).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema.unwrap()), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let of = |&(day, of_day): &(u32, i64)| Int96::from(vec![of_day as u32, (of_day >> 32) as u32, day]);
    let values: Vec<Int96> = times.iter().map(of).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int96Type>().write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    let numbers: Vec<i64> = (0..).take(times.len()).collect();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&numbers, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn timestamps_of_int96_are_microseconds_in_every_command() {
    let folder = Folder::new();
    let last = (5_373_484, 86_399_999_999_000);
    old_timestamps(&folder, "t.parquet", &[(2_440_588, 1_000), (2_440_588, 2_000), last]);
    let expected = "1970-01-01T00:00:00.000001\t0\n1970-01-01T00:00:00.000002\t1\n9999-12-31T23:59:59.999999\t2\n";
    for key_type in [&[][..], &["--key-type", "timestamp(us)"]] {
        folder.build("t.parquet", "t.ogive", key_type);
        folder.run(&["scan", "t.ogive"]).exits_with(0).prints(expected);
    }
    folder.run(&["db", "import", "s", "t.parquet"]).exits_with(0);
    folder.run(&["scan", "s"]).exits_with(0).prints(expected);
    folder.run(&["join", "t.parquet", "t.parquet", "-o", "-", "--on", "t"]).exits_with(0).prints(
        "1970-01-01T00:00:00.000001\t0\t0\n1970-01-01T00:00:00.000002\t1\t1\n9999-12-31T23:59:59.999999\t2\t2\n",
    );
    folder.run(&["build", "t.parquet", "--external", "--key", "t", "-o", "t.idx"]).exits_with(0);
    let found = folder.run(&["get", "t.idx", "9999-12-31T23:59:59.999999"]);
    found.exits_with(0).prints("t,n\n9999-12-31T23:59:59.999999,2\n");

    old_timestamps(&folder, "ns.parquet", &[(2_440_588, 1_000), (2_440_588, 2_001)]);
    for command in [
        &["build", "ns.parquet", "-o", "ns.ogive"][..],
        &["build", "ns.parquet", "--external", "--key", "t", "-o", "ns.idx"],
        &["db", "import", "n", "ns.parquet"],
        &["join", "ns.parquet", "t.parquet", "-o", "-", "--on", "t"],
    ] {
        let option = if command[0] == "join" { "--left-type" } else { "--type" };
        let told = folder.run(command).exits_with(1).complains_of("row 2 of column 't'");
        told.complains_of(&format!("{option} 't=timestamp(ns)'"));
    }
    let typed = ["join", "ns.parquet", "t.parquet", "-o", "-", "--on", "t", "--left-type", "t=timestamp(ns)"];
    folder.run(&typed).exits_with(0).prints("1970-01-01T00:00:00.000001\t0\t0\n");
    let fine = ["--type", "t=timestamp(ns)"];
    folder.build("ns.parquet", "ns.ogive", &fine);
    folder
        .run(&["scan", "ns.ogive", "--reverse", "--limit", "1"])
        .exits_with(0)
        .prints("1970-01-01T00:00:00.000002001\t1\n");
    let build = ["build", "ns.parquet", "--external", "--key", "t", "-o", "ns.idx"];
    folder.run(&[&build[..], &fine].concat()).exits_with(0);
    folder.run(&["get", "ns.idx", "1970-01-01T00:00:00.000002001", "--columns", "n"]).exits_with(0).prints("n\n1\n");
    for build in [
        &["build", "t.parquet", "-o", "x.ogive"][..],
        &["build", "t.parquet", "--external", "--key", "t", "-o", "x.idx"],
    ] {
        folder.run(&[build, &fine].concat()).exits_with(1).complains_of("1677 to 2262");
    }
}

#[test]
fn advice_on_timestamps_of_int96_does_as_it_is() {
    let folder = Folder::new();
    let schema = "message m { required int64 n; optional int96 t; }";
    let schema = parquet::schema::parser::parse_message_type(schema).unwrap();
    let write = |day: u32, of_day: i64| {
        use parquet::data_type::{Int64Type, Int96, Int96Type};
        let file = std::fs::File::create(folder.path("t.parquet")).unwrap();
        let schema = Arc::new(schema.clone());
        let mut writer = parquet::file::writer::SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[1, 2], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let value = Int96::from(vec![of_day as u32, (of_day >> 32) as u32, day]);
        column.typed::<Int96Type>().write_batch(&[value], Some(&[0, 1]), None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
    };
    write(2_440_588, 1);
    let advised = ["--type", "t=timestamp(ns)?"];
    for command in [
        &["build", "t.parquet", "-o", "t.ogive"][..],
        &["db", "import", "s", "t.parquet"],
        &["build", "t.parquet", "--external", "--key", "t", "-o", "t.idx"],
    ] {
        folder.run(command).exits_with(1).complains_of("--type 't=timestamp(ns)?'");
        folder.run(&[command, &advised].concat()).exits_with(0);
    }
    // No unit holds a nanosecond of the year 9999, so none is advised.
    write(5_373_484, 1);
    for flags in [&[][..], &advised] {
        let refused = folder.run(&[&["build", "t.parquet", "-o", "t.ogive"], flags].concat()).exits_with(1);
        refused.complains_of("is 9999-12-31T00:00:00.000000001").complains_of("correct it").keeps_quiet_about("--type");
    }
}
