//! Goal: every command that takes a table or an input takes a URL. Method: the same records as files and as objects,
//! with the same answers.

use super::proxy::Proxy;
use super::server::{BUCKET, Place};
use std::fmt::Write;
use std::sync::{Arc, Mutex};

/// Rows of a CSV file whose keys are not sorted as text.
fn rows(count: u64) -> String {
    let mut text = "id,name\n".to_owned();
    (0..count).for_each(|i| writeln!(text, "{},name {}", i * 3, i % 100).unwrap());
    text
}

fn url(name: &str) -> String {
    format!("s3://{BUCKET}/{name}")
}

#[test]
fn a_table_is_built_read_checked_and_exported_by_url() {
    let Some(place) = Place::new() else { return };
    place.write("rows.csv", rows(20_000));
    let table = url("tables/rows.ogive");
    let prints = |words: &[&str]| place.prints(words);
    place.prints(&["build", "rows.csv", "-o", &table]);
    place.prints(&["build", "rows.csv", "-o", "rows.ogive", "--for", "s3"]);
    assert_eq!(place.server.names("tables/"), ["tables/rows.ogive"]);
    for words in [
        &["get", "TABLE", "300"][..],
        &["get", "TABLE", "59997", "0", "300", "303", "300", "30000"],
        &["scan", "TABLE", "--from", "100", "--to", "200", "--json"],
        &["count", "TABLE", "--from", "100"],
        &["rank", "TABLE", "3000"],
        &["nth", "TABLE", "77"],
        &["explain", "TABLE", "--json"],
        &["verify", "TABLE"],
        &["export", "TABLE", "-"],
    ] {
        let of = |table: &str| {
            let words: Vec<&str> = words.iter().map(|word| if *word == "TABLE" { table } else { word }).collect();
            prints(&words).replace(table, "TABLE")
        };
        assert_eq!(of(&table), of("rows.ogive"), "{words:?}");
    }
    let explained = prints(&["get", &table, "300", "--explain"]);
    assert!(explained.contains("2 reads"), "{explained}");
    assert!(prints(&["info", &table]).contains("a table: 20,000 records"));
    let absent = place.run(&["get", &table, "301"]);
    assert_eq!(absent.code, Some(1), "{absent:?}");
    // Replaced as a whole, and kept if it is something else.
    place.prints(&["build", "rows.csv", "-o", &table, "--keys-only"]);
    place.server.put("tables/text", "no table, but text of some length ".repeat(100));
    let refused = place.run(&["build", "rows.csv", "-o", &url("tables/text")]);
    refused.complains_of(&["s3://bucket/tables/text", "not an Ogive table"]);
    place.prints(&["build", "rows.csv", "-o", &url("tables/text"), "--force"]);
    assert!(prints(&["info", &url("tables/text")]).contains("a table: 20,000 records"));
}

#[test]
fn inputs_and_outputs_of_all_formats_are_urls() {
    let Some(place) = Place::new() else { return };
    place.server.put("inputs/rows.csv", rows(5_000));
    let count = |table: &str| place.prints(&["count", table]).trim().to_owned();
    place.prints(&["build", &url("inputs/rows.csv"), "-o", &url("inputs/rows.ogive")]);
    assert_eq!(count(&url("inputs/rows.ogive")), "5000");
    // An order that must be sorted, more of it than the memory holds.
    let shuffled: String = (0..30_000_u64).map(|i| format!("{:08}\n", i * 7919 % 30_000)).collect();
    place.server.put("inputs/lines.txt", shuffled);
    let sorted = url("inputs/lines.ogive");
    place.prints(&["build", &url("inputs/lines.txt"), "-o", &sorted, "--memory", "128KiB"]);
    assert_eq!(count(&sorted), "30000");
    let mut keys = 3_000_u64.to_le_bytes().to_vec();
    (0..3_000_u64).for_each(|i| keys.extend((i * i).to_le_bytes()));
    place.server.put("inputs/keys.u64", keys);
    place.prints(&["build", &url("inputs/keys.u64"), "-o", "keys.ogive"]);
    assert_eq!(count("keys.ogive"), "3000");
    place.prints(&["tune", &url("inputs/keys.u64"), "--for", "s3"]);
    // An index of data that stay where they are.
    place.prints(&["build", &url("inputs/keys.u64"), "-o", &url("inputs/keys.idx"), "--external"]);
    assert_eq!(count(&url("inputs/keys.idx")), "3000");
    let refused = place.run(&["build", &url("inputs/keys.u64"), "-o", &url("elsewhere/keys.idx"), "--external"]);
    refused.complains_of(&["different folders"]);
    // A table again, and other formats.
    place.prints(&["build", &url("inputs/rows.ogive"), "-o", &url("inputs/again.ogive")]);
    for format in ["csv", "tsv", "jsonl", "ogive"] {
        let target = url(&format!("outputs/rows.{format}"));
        place.prints(&["export", &url("inputs/rows.ogive"), &target]);
        place.prints(&["build", &target, "-o", "back.ogive", "--force"]);
        assert_eq!(count("back.ogive"), "5000", "{format}");
    }
    assert_eq!(place.server.names("outputs/").len(), 4, "no temporary objects");
}

#[test]
fn joins_read_and_write_urls() {
    let Some(place) = Place::new() else { return };
    place.server.put("joins/left.csv", rows(4_000));
    place.write("right.csv", rows(1_000));
    place.prints(&["build", &url("joins/left.csv"), "-o", &url("joins/left.ogive")]);
    place.prints(&["build", "right.csv", "-o", &url("joins/right.ogive")]);
    let (left, right) = (url("joins/left.ogive"), url("joins/right.ogive"));
    for (left, right, out) in [
        (left.clone(), right.clone(), url("joins/out.ogive")),
        (url("joins/left.csv"), right.clone(), url("joins/out.csv")),
        (left.clone(), "right.csv".to_owned(), "out.jsonl".to_owned()),
    ] {
        let joined = place.prints(&["join", &left, &right, "-o", &out, "--json"]);
        assert!(joined.contains("1000"), "{joined}");
    }
    assert_eq!(place.prints(&["count", &url("joins/out.ogive")]).trim(), "1000");
    assert_eq!(place.prints(&["join", &left, &right, "-o", "-"]).lines().count(), 1_000);
    assert_eq!(place.server.names("joins/out").len(), 2);
    let refused = place.run(&["join", &left, &right, "-o", &left]);
    refused.complains_of(&["an input of this command"]);
}

#[test]
fn a_join_looks_at_an_object_once() {
    let Some(place) = Place::new() else { return };
    let text = rows(150_000);
    place.write("few.csv", rows(20));
    place.server.put("once/rows.csv", &text);
    place.prints(&["build", "few.csv", "-o", &url("once/few.ogive")]);
    let counted = |words: &[&str]| {
        let counts = Arc::new(Mutex::new((0_usize, 0_usize)));
        let kept = Arc::clone(&counts);
        let proxy = Proxy::before(&place.server, move |_, answer| {
            let mut counts = kept.lock().unwrap();
            *counts = (counts.0 + 1, counts.1 + answer.body.len());
        });
        let run = place.run_at(&proxy.endpoint(), words);
        assert_eq!((run.code, run.stdout.lines().count()), (Some(0), 20), "{run:?}");
        let counts = counts.lock().unwrap();
        *counts
    };
    // A look for a store, and the opening.
    let (requests, _) = counted(&["join", "few.csv", &url("once/few.ogive"), "-o", "-"]);
    assert!(requests <= 5, "{requests} requests");
    // Text is read once besides, and its start and its end to tell what it is.
    let (requests, bytes) = counted(&["join", "few.csv", &url("once/rows.csv"), "--on", "id", "-o", "-"]);
    assert!(requests <= 12 && bytes < text.len() * 3 / 2, "{requests} requests, {bytes} of {} bytes", text.len());
}

#[test]
fn options_come_from_the_url_or_the_command_line_and_http_is_read_only() {
    let Some(place) = Place::new() else { return };
    place.write("rows.csv", rows(100));
    let endpoint = place.server.endpoint();
    let bare = |words: &[&str]| {
        let mut command = super::server::command(&place.path(""), words);
        let output = command.output().unwrap();
        super::server::Run::new(words, output)
    };
    let query = format!("?endpoint={endpoint}&access_key_id=SECRET1&secret_access_key=SECRET2&region=us-east-1");
    let table = format!("{}{query}", url("options/rows.ogive"));
    let built = bare(&["build", "rows.csv", "-o", &table, "--json"]);
    assert_eq!(built.code, Some(0), "{built:?}");
    assert!(!built.stdout.contains("SECRET") && !built.stderr.contains("SECRET"), "{built:?}");
    let got = bare(&["get", &table, "298", "--explain", "--json"]);
    assert_eq!(got.code, Some(1), "{got:?}");
    assert!(!got.stdout.contains("SECRET") && !got.stderr.contains("SECRET"), "{got:?}");
    let options = [format!("endpoint={endpoint}"), "access_key_id=x".into(), "secret_access_key=SECRET".into()];
    let mut words = vec!["get", "s3://bucket/options/rows.ogive", "297"];
    options.iter().for_each(|option| words.extend(["--storage-option", option]));
    let got = bare(&words);
    assert_eq!((got.code, got.stdout.trim()), (Some(0), "name 99"), "{got:?}");
    bare(&["get", "s3://bucket/a", "1", "--storage-option", "no_such=SECRET"])
        .complains_of(&["no_such", "s3://bucket"]);
    bare(&["get", "tape://drive/a", "1"]).complains_of(&["tape://drive", "no storage"]);

    // Without credentials, of an object that all may read.
    place.prints(&["build", "rows.csv", "-o", "rows.ogive"]);
    place.server.put("options/public.ogive", std::fs::read(place.path("rows.ogive")).unwrap());
    let http = format!("{endpoint}/{BUCKET}/options/public.ogive?signature=SECRET");
    let got = bare(&["get", &http, "297"]);
    assert_eq!((got.code, got.stdout.trim()), (Some(0), "name 99"), "{got:?}");
    bare(&["get", &http, "298"]).complains_of(&["not found"]);
    place.prints(&["db", "put", &url("options/store"), "a", "b"]);
    let store = format!("{endpoint}/{BUCKET}/options/store");
    bare(&["get", &store, "a"]).complains_of(&["nothing is listed by http", "s3://bucket/store"]);
    bare(&["build", "rows.csv", "-o", &format!("{endpoint}/{BUCKET}/new.ogive")]).complains_of(&["read only"]);
}

#[test]
fn a_store_is_measured_and_left_as_it_was() {
    let Some(place) = Place::new() else { return };
    let measured = place.prints(&["profile", &url("profiles"), "--seconds", "1", "-o", "p.json", "--json"]);
    assert!(measured.contains("\"requests_cold\"") && measured.contains("\"parallel\""), "{measured}");
    assert_eq!(place.server.names("profiles"), Vec::<String>::new());
    place.write("rows.csv", rows(100));
    place.prints(&["build", "rows.csv", "-o", "t.ogive", "--for", "p.json"]);
    assert!(place.prints(&["profile", &url("profiles"), "--seconds", "1"]).contains("a million lookups"));
}

#[test]
fn a_cache_serves_later_commands_and_many_at_once() {
    let Some(place) = Place::new() else { return };
    place.write("rows.csv", rows(200_000));
    let table = url("cached/rows.ogive");
    place.prints(&["build", "rows.csv", "-o", &table]);
    let get = ["get", &table, "300", "--json", "--cache", "kept:8MiB"];
    let first = place.prints(&get);
    assert!(first.contains("name 0"), "{first}");
    let pages = place.path("kept/ogive-cache.pages");
    let bytes = std::fs::metadata(&pages).unwrap().len();
    assert!(bytes > 0 && bytes < 8 << 20, "{bytes}");
    assert_eq!(place.prints(&get), first);
    // The second command has found all of it.
    assert_eq!(std::fs::metadata(&pages).unwrap().len(), bytes);
    // A table that takes its place is read anew.
    place.write("rows.csv", rows(200_000).replace("name", "NAME"));
    place.prints(&["build", "rows.csv", "-o", &table, "--cache", "kept:8MiB"]);
    assert!(place.prints(&get).contains("NAME 0"));
    assert!(place.prints(&["verify", &table, "--cache", "kept:8MiB"]).contains("sound"));
    // One of them writes, and the others find what was there before.
    let lock = std::fs::File::open(place.path("kept/ogive-cache.lock")).unwrap();
    lock.try_lock().unwrap();
    assert!(place.prints(&get).contains("NAME 0"));
    drop(lock);
    for cache in ["kept:8MiB", "new:8MiB"] {
        let get = ["get", &table, "300", "--json", "--cache", cache];
        let runs = std::thread::scope(|scope| {
            let started: Vec<_> = (0..60).map(|_| scope.spawn(|| place.run(&get))).collect();
            started.into_iter().map(|run| run.join().unwrap()).collect::<Vec<_>>()
        });
        let fails = runs.iter().filter(|run| run.code != Some(0) || !run.stdout.contains("NAME 0")).count();
        assert_eq!(fails, 0, "of 60 commands: {runs:?}");
    }
    #[cfg(unix)]
    for (name, mode) in [("", 0o700), ("pages", 0o600), ("slots", 0o600), ("lock", 0o600)] {
        use std::os::unix::fs::PermissionsExt;
        let path = if name.is_empty() { place.path("new") } else { place.path(&format!("new/ogive-cache.{name}")) };
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode, "{}", path.display());
    }
    // What cannot be written is no failure of the read.
    let uncached = place.run(&["get", &table, "300", "--cache", "rows.csv"]);
    assert!(uncached.code == Some(0) && uncached.stderr.contains("there is no cache"), "{uncached:?}");
    place.run(&["get", &table, "300", "--cache", "kept:9"]).complains_of(&["cache of 9 bytes", "at least"]);
}

/// Files in sub-folders, not sorted by the key, with more keys than the memory for sorting holds.
#[cfg(feature = "parquet")]
#[test]
fn an_index_of_parquet_files_in_sub_folders_is_built_beside_them() {
    let Some(place) = Place::new() else { return };
    for day in 1..=3_u64 {
        let lines: String = (0..20_000_u64).map(|i| format!("{},{day}\n", (i * 7919 % 20_000) * 3 + day)).collect();
        place.write("rows.csv", format!("id,day\n{lines}"));
        // Sorted by another column, so that the rows are not in the order of `id`.
        place.prints(&["build", "rows.csv", "-o", "rows.ogive", "--key", "day", "--force"]);
        place.prints(&["export", "rows.ogive", &url(&format!("events/dt=2026-01-0{day}/rows.parquet"))]);
    }
    let index = url("events/ids.idx");
    place.prints(&["build", &url("events"), "--external", "--key", "id", "-o", &index, "--memory", "256KiB"]);
    assert_eq!(place.prints(&["count", &index]).trim(), "60000");
    let row = place.prints(&["get", &index, "302", "--json"]);
    assert!(row.contains("2026-01-02"), "{row}");
    let rows = place.prints(&["get", &index, "59999", "302", "4", "302", "--json"]);
    let days: Vec<&str> = rows.lines().map(|row| row.split("2026-01-0").nth(1).unwrap().get(..1).unwrap()).collect();
    assert_eq!(days, ["2", "2", "1", "2"], "{rows}");
    assert!(place.prints(&["verify", &index]).contains("sound"));
    // The index is a file of the folder, and no input.
    let copied = place.run(&["build", &url("events/"), "--key", "id", "-o", "copy.ogive"]);
    assert!(copied.stderr.contains("is read as Parquet, 3 files"), "{copied:?}");
    assert_eq!(place.prints(&["get", "copy.ogive", "302"]), "2\t2026-01-02\n");
    assert_eq!(place.prints(&["count", "copy.ogive"]).trim(), "60000");
    // With or without a slash, as when it was built.
    for data in [url("events"), url("events/")] {
        let updated = place.prints(&["build", &data, "--external", "--update", "-o", &index]);
        assert!(updated.contains("3 files"), "{updated}");
    }
    // Another file of the same length takes the place of one; objects state their time in seconds.
    let name = url("events/dt=2026-01-02/rows.parquet");
    let before = place.server.request("HEAD", &format!("/{BUCKET}/events/dt=2026-01-02/rows.parquet"), b"");
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    place.prints(&["export", "rows.ogive", &name, "--force"]);
    let length = |answer: &str| {
        let lower = answer.to_ascii_lowercase();
        lower.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()).unwrap().to_owned()
    };
    let after = place.server.request("HEAD", &format!("/{BUCKET}/events/dt=2026-01-02/rows.parquet"), b"");
    let is_same_length = length(&before) == length(&after);
    let changed = place.run(&["get", &index, "302"]);
    changed.complains_of(&["rows.parquet"]);
    assert!(!is_same_length || changed.stderr.contains("modified later"), "{changed:?}");
}

#[test]
fn inputs_and_parquet_files_are_read_by_http_and_their_changes_are_told() {
    let Some(place) = Place::new() else { return };
    let http = format!("{}/{BUCKET}", place.server.endpoint());
    place.write("rows.csv", "id,name\n1,one\n2,two\n");
    place.server.put("by-http/rows.csv", "id,name\n1,one\n2,two\n");
    place.prints(&["build", &format!("{http}/by-http/rows.csv"), "-o", "rows.ogive"]);
    assert!(place.prints(&["get", "rows.ogive", "2"]).contains("two"));
    // Two Parquet files of one length, put within a second.
    let parquet = |name: &str, shift: u64| {
        let rows: String = (0..500).map(|i| format!("{},{:05}\n", 10_000 + shift + i, i)).collect();
        place.write(&format!("{name}.csv"), format!("id,v\n{rows}"));
        place.prints(&["build", &format!("{name}.csv"), "-o", &format!("{name}.ogive"), "--force"]);
        place.prints(&["export", &format!("{name}.ogive"), &format!("{name}.parquet"), "--force"]);
        std::fs::read(place.path(&format!("{name}.parquet"))).unwrap()
    };
    let (first, second) = (parquet("first", 0), parquet("second", 5_000));
    assert_eq!(first.len(), second.len());
    place.server.put("by-http/data.parquet", &first);
    let data = format!("{http}/by-http/data.parquet");
    place.prints(&["build", &data, "--external", "--key", "id", "-o", "data.idx"]);
    assert!(place.prints(&["get", "data.idx", "10400"]).contains("00400"));
    let (url, index) = (url("by-http/data.parquet"), url("by-http/data.idx"));
    place.prints(&["build", &url, "--external", "--key", "id", "-o", &index]);
    place.server.put("by-http/data.parquet", &second);
    for index in ["data.idx", &index] {
        place.run(&["get", index, "10400"]).complains_of(&["has changed since it was indexed"]);
    }
    place.server.put("by-http/data.parquet", &second[..second.len() - 1]);
    place.run(&["get", &index, "10400"]).complains_of(&["has changed since it was indexed"]);
    place.server.request("DELETE", &format!("/{BUCKET}/by-http/data.parquet"), b"");
    place.run(&["get", &index, "10400"]).complains_of(&["is indexed, but is gone"]);
    // The target of a copy that is missing is told, and not the source.
    place.prints(&["db", "put", "source", "a", "b"]);
    place.run(&["db", "checkpoint", "source", "s3://no-such-bucket/copy"]).complains_of(&["no such bucket"]);
}

/// What is asked for a folder of text: each file is recognised, and then read for its names, its types and its rows.
#[cfg(feature = "parquet")]
#[test]
fn a_folder_by_url_is_looked_at_once() {
    let Some(place) = Place::new() else { return };
    for day in 1..=3 {
        place.server.put(&format!("folded/in/day={day}/part-0"), format!("id,n\n{day},5\n"));
    }
    place.server.put("folded/in/day=3/empty", "");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let proxy = Proxy::before(&place.server, move |request, _| {
        noted.lock().unwrap().push(request.lines().next().unwrap_or_default().to_owned());
    });
    let run = place.run_at(&proxy.endpoint(), &["build", &url("folded/in/"), "-o", "t.ogive"]);
    assert!(run.code == Some(0) && run.stderr.contains("left out of s3://bucket/folded/in/: day=3/empty"), "{run:?}");
    assert_eq!(place.prints(&["scan", "t.ogive"]), "1\t5\t1\n2\t5\t2\n3\t5\t3\n");
    let asked = std::mem::take(&mut *asked.lock().unwrap());
    let count = |part: &str| asked.iter().filter(|line| line.contains(part)).count();
    let (of_one, listings) = (count("day%3D1/part-0"), count("list-type"));
    println!("{of_one} requests for a file, {listings} listings, {} in all", asked.len());
    // Each opening asks for the length, and then for the bytes. One listing says that there is no store, one names the
    // files, and nine look for the logs of lake tables.
    assert_eq!((of_one, listings, asked.len()), (4 * 2, 2 + 9, 39), "{asked:#?}");
}

#[cfg(feature = "parquet")]
#[test]
fn files_of_lake_tables_are_refused_by_url() {
    let Some(place) = Place::new() else { return };
    place.write("rows.csv", rows(100));
    place.prints(&["build", "rows.csv", "-o", "rows.ogive"]);
    let file = url("lake/t/p=1/x.parquet");
    place.prints(&["export", "rows.ogive", &file]);
    place.prints(&["build", &file, "-o", "plain.ogive"]);
    let log = r#"{"protocol":{"minReaderVersion":3,"readerFeatures":["deletionVectors"]}}"#;
    place.server.put("lake/t/_delta_log/00000000000000000000.json", log);
    let queried = format!("{file}?region=us-east-1");
    for name in [&file, &queried] {
        let build = ["build", name, "-o", "x.ogive", "--format", "parquet"];
        place.run(&build).complains_of(&["names deletionVectors", "--ignore-table-log"]);
        place.prints(&[&build[..], &["--ignore-table-log"]].concat());
    }
    place.run(&["db", "import", "s", &file]).complains_of(&["names deletionVectors"]);
}
