//! The measurements run on a small data set: all engines give the same answers, and each kind of query has its lines.

use clap::Parser;
use ogive_sql_bench::measure::{MeasureArguments, run};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: MeasureArguments,
}

#[tokio::test(flavor = "multi_thread")]
async fn small_measurements_agree_and_are_lines_of_json() {
    let folder = tempfile::tempdir().unwrap();
    let (files, lines) = (folder.path().join("files"), folder.path().join("lines.jsonl"));
    let (files, json) = (files.to_str().unwrap(), lines.to_str().unwrap());
    let kinds = "point;in 10 keys;range;10 %;last 10;half;groups;join 1:10;sorted;semi";
    let arguments = [
        "measure", "--rows", "3K", "--rounds", "1", "--folder", files, "--json", json, "--only", kinds, "--memory",
        "300",
    ];
    let mut table = Vec::new();
    // Different answers are an error.
    run(&Command::parse_from(arguments).arguments, &mut table).await.unwrap();
    let (table, lines) = (String::from_utf8(table).unwrap(), std::fs::read_to_string(&lines).unwrap());
    assert!(!table.contains("failed"), "{table}");
    for query in ["point, absent", "range of 100 rows", "join 1:10000", "join, both sorted, 300 MiB"] {
        for subject in ["ogive", "parquet"] {
            let start =
                format!("{{\"experiment\":\"sql\",\"query\":\"{query}\",\"subject\":\"{subject}\",\"keys\":3000,");
            assert_eq!(lines.lines().filter(|line| line.starts_with(&start)).count(), 1, "{query}, {subject}: {lines}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_to_an_emulated_object_store_are_counted_and_their_time_is_modelled() {
    let folder = tempfile::tempdir().unwrap();
    let (files, lines) = (folder.path().join("files"), folder.path().join("lines.jsonl"));
    let profile = folder.path().join("quick.json");
    // A millisecond, so that the test does not wait.
    let text =
        r#"{"ogive_profile": 1, "name": "quick", "parallel": 64, "latency_us": 1000.0, "bandwidth_mb_per_s": 90.0}"#;
    std::fs::write(&profile, text).unwrap();
    let path = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let kinds = "point;in 10 keys;sum of all rows;join 1:10";
    let arguments = [
        "measure",
        "--rows",
        "20K",
        "--rounds",
        "1",
        "--folder",
        &path(&files),
        "--json",
        &path(&lines),
        "--only",
        kinds,
        "--memory",
        "300",
        "--storage",
        "object-store",
        "--profile",
        &path(&profile),
    ];
    let mut table = Vec::new();
    // Different answers are an error.
    run(&Command::parse_from(arguments).arguments, &mut table).await.unwrap();
    let (table, lines) = (String::from_utf8(table).unwrap(), std::fs::read_to_string(&lines).unwrap());
    assert!(!table.contains("failed") && table.contains("modelled"), "{table}");
    let field = |query: &str, subject: &str, name: &str| {
        let start = format!("{{\"experiment\":\"sql\",\"query\":\"{query}\",\"subject\":\"{subject}\",");
        let line = lines.lines().find(|line| line.starts_with(&start)).unwrap();
        let (_, rest) = line.split_once(&format!("\"{name}\":")).unwrap();
        rest.split([',', '}']).next().unwrap().parse::<f64>().unwrap()
    };
    for subject in ["ogive", "parquet"] {
        assert!(lines.contains("\"profile\":\"quick\""), "{lines}");
        assert!(field("sum of all rows", subject, "store_bytes") > 20_000.0, "{lines}");
        assert!(field("in 10 keys", subject, "modelled_ms") >= 1.0, "{lines}");
    }
    // A key is in one block, some of which are read before in the round.
    assert!(field("point", "ogive", "store_gets") <= 1.0, "{lines}");
}
