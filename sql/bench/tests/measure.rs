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
