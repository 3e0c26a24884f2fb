//! A scheduler and two executors as processes on the loopback: one executor is killed in the middle of a query, whose
//! answer is right; paths outside of what is allowed are refused.

mod common;

use common::{rows, write_table};
use ogive_ballista::{ClusterOptions, DemoOptions, LocalCluster, connect, demo};
use std::path::PathBuf;
use std::time::Duration;

/// Longest time for a test of processes.
const TIMEOUT: Duration = Duration::from_secs(240);

fn options() -> ClusterOptions {
    ClusterOptions {
        scheduler: PathBuf::from(env!("CARGO_BIN_EXE_ogive-scheduler")),
        executor: PathBuf::from(env!("CARGO_BIN_EXE_ogive-executor")),
        ..ClusterOptions::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_survives_the_loss_of_an_executor() {
    let mut out = Vec::new();
    let options = DemoOptions { cluster: options(), rows: 300_000 };
    let ended = tokio::time::timeout(TIMEOUT, demo(&options, &mut out)).await;
    let said = String::from_utf8(out).unwrap();
    ended.unwrap_or_else(|_| panic!("it takes too long:\n{said}")).unwrap_or_else(|error| panic!("{error}\n{said}"));
    assert!(said.contains("in the middle of the query") && said.contains("The answer is right"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_open_what_is_allowed_alone() {
    let (folder, secret) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_table(folder.path(), "t.ogive", 1_000, 1, 0);
    write_table(secret.path(), "s.ogive", 1_000, 1, 0);
    std::fs::write(secret.path().join("s.csv"), "a\n1\n2\n").unwrap();
    std::fs::write(folder.path().join("t.csv"), "a\n1\n2\n").unwrap();
    std::os::unix::fs::symlink(secret.path(), folder.path().join("link")).unwrap();
    let allow = vec![folder.path().display().to_string()];
    let cluster = LocalCluster::start(&ClusterOptions { allow, executors: 1, ..options() }).unwrap();
    let context = connect(&cluster.address().to_string()).await.unwrap();
    let count = async |path: PathBuf| {
        let query = format!("select count(*) from '{}'", path.display());
        tokio::time::timeout(TIMEOUT, rows(&context, &query)).await.unwrap()
    };
    assert_eq!(count(folder.path().join("t.ogive")).await.unwrap(), "1000\n");
    assert_eq!(count(folder.path().join("t.csv")).await.unwrap(), "2\n");
    for path in [
        secret.path().join("s.ogive"),
        folder.path().join("link/s.ogive"),
        secret.path().join("s.csv"),
        folder.path().join("link/s.csv"),
    ] {
        let error = count(path.clone()).await.unwrap_err().to_string();
        assert!(error.contains("may not be opened by queries"), "{}: {error}", path.display());
    }
    let name = secret.path().join("new.csv");
    let copy = format!("copy (select * from '{}') to '{}'", folder.path().join("t.csv").display(), name.display());
    let error = rows(&context, &copy).await.unwrap_err().to_string();
    assert!(error.contains("may not be opened by queries") && !name.exists(), "{error}");
}
