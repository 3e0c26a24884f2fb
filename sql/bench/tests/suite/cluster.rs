//! Queries of a small data set are counted in clusters of one and of two executors.

use clap::Parser;
use ogive_sql_bench::cluster::{ClusterArguments, run};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: ClusterArguments,
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_reads_and_bytes_of_links_are_counted_by_executor() {
    let folder = tempfile::tempdir().unwrap();
    let (files, lines) = (folder.path().join("files"), folder.path().join("lines.jsonl"));
    let (files, json) = (files.to_str().unwrap(), lines.to_str().unwrap());
    let kinds = "sum of all rows;semi join";
    let arguments = ["cluster", "--rows", "100K", "--folder", files, "--json", json, "--only", kinds];
    let mut table = Vec::new();
    run(&Command::parse_from(arguments).arguments, &mut table).await.unwrap();
    let lines = std::fs::read_to_string(&lines).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    let field = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!("\"{name}\":")).unwrap();
        rest.split([',', '}', ']']).next().unwrap().parse::<u64>().unwrap()
    };
    let [scan_1, scan_2, join_1, join_2] = lines[..] else { panic!("{lines:?}") };
    // Both executors read, and each reads less than one that is alone.
    let (alone, together) = (field(scan_1, "read_bytes"), field(scan_2, "read_bytes"));
    assert!(alone > 500_000 && together > alone / 4 && together < alone * 3 / 4, "{lines:?}");
    // A task carries no rows, and rows of a join go from one executor to the other, past the scheduler.
    assert!(field(join_2, "task_bytes") < field(join_2, "shuffled_bytes") / 4, "{lines:?}");
    assert!(field(join_2, "fetched_bytes") > field(join_2, "shuffled_bytes") / 8, "{lines:?}");
    assert!(field(join_1, "fetched_bytes") < field(join_1, "shuffled_bytes") / 4, "{lines:?}");
    assert_eq!(field(join_1, "parts_remote"), 0, "{lines:?}");
}
