//! A scheduler and two executors as processes on the loopback: one executor is killed in the middle of a query, whose
//! answer is right; paths outside of what is allowed are refused.

use crate::common::{of_processes, rows, write_table};
use ballista::prelude::SessionConfigExt;
use datafusion::prelude::SessionContext;
use ogive_ballista::{ClusterOptions, DemoOptions, LocalCluster, connect, connect_with, demo, session_config};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Longest time for a test of processes.
const TIMEOUT: Duration = Duration::from_secs(240);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_survives_the_loss_of_an_executor() {
    let mut out = Vec::new();
    let options = DemoOptions { cluster: of_processes(2), rows: 300_000, store: None };
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
    let cluster = LocalCluster::start(&ClusterOptions { allow, ..of_processes(1) }).unwrap();
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn executors_outlive_their_scheduler() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path(), "t.ogive", 1_000, 1, 0);
    let mut cluster = LocalCluster::start(&of_processes(2)).unwrap();
    for _ in 0..2 {
        let context = connect(&cluster.address().to_string()).await.unwrap();
        let query = format!("select count(*), max(key) from '{}/t.ogive'", folder.path().display());
        let found = tokio::time::timeout(TIMEOUT, rows(&context, &query)).await.unwrap().unwrap();
        assert_eq!(found, "1000 | 999\n");
        cluster.restart_scheduler().unwrap();
    }
}

/// Queries that may end before an executor is killed.
const ATTEMPTS: usize = 5;

/// Starts a query, and waits until its rows were exchanged: each task joins for seconds then, and all vcores are
/// occupied.
async fn start_long(
    cluster: &LocalCluster,
    context: &SessionContext,
    query: &str,
) -> JoinHandle<Result<String, Box<dyn Error + Send + Sync>>> {
    let files = || (0..cluster.executors().len()).map(|executor| cluster.result_files(executor)).sum();
    let mut attempt = 0;
    loop {
        attempt += 1;
        assert!(attempt <= ATTEMPTS, "every query was over before an executor could be killed");
        let first: usize = files();
        let long = tokio::spawn({
            let (context, query) = (context.clone(), query.to_owned());
            async move { tokio::time::timeout(TIMEOUT, rows(&context, &query)).await?.map_err(Into::into) }
        });
        let (mut before, mut quiet) = (0, 0);
        while quiet < 12 && !long.is_finished() {
            tokio::time::sleep(Duration::from_millis(25)).await;
            let now = files();
            quiet = if now > first && now == before { quiet + 1 } else { 0 };
            before = now;
        }
        if !long.is_finished() {
            return long;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_begin_anew_or_fail_when_an_executor_is_lost_in_a_join() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path(), "t.ogive", 12_000, 3, 0);
    let allow = vec![folder.path().display().to_string()];
    let mut cluster = LocalCluster::start(&ClusterOptions { allow, ..of_processes(3) }).unwrap();
    let address = cluster.address().to_string();
    let config = session_config(&Arc::default()).with_target_partitions(4);
    let context = connect_with(&address, config.clone()).await.unwrap();
    let table = folder.path().join("t.ogive").display().to_string();
    let query = format!(
        "select count(*), sum(a.weight * b.weight) from '{table}' a join '{table}' b on a.number % 8 = b.number % 8 \
         and a.key + b.key <> 1"
    );
    let long = start_long(&cluster, &context, &query).await;
    cluster.kill(0).unwrap();
    let found = long.await.unwrap().unwrap();
    // All vcores are free again.
    let again = tokio::time::timeout(TIMEOUT, rows(&context, &query)).await.unwrap().unwrap();
    assert_eq!(found, again);
    let adaptive = connect_with(&address, config.with_ballista_adaptive_query_planner(true)).await.unwrap();
    let long = start_long(&cluster, &adaptive, &query).await;
    cluster.kill(1).unwrap();
    // Unless none of its tasks was on the executor.
    match long.await.unwrap() {
        Ok(found) => assert_eq!(found, again),
        Err(error) => assert!(error.to_string().contains("run the query again"), "{error}"),
    }
    assert_eq!(tokio::time::timeout(TIMEOUT, rows(&adaptive, &query)).await.unwrap().unwrap(), again);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_survives_the_loss_of_an_executor() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path(), "t.ogive", 300_000, 3, 0);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let allow = vec![path("")];
    let mut cluster = LocalCluster::start(&ClusterOptions { allow, ..of_processes(2) }).unwrap();
    let config = session_config(&Arc::default()).with_target_partitions(16);
    let context = connect_with(&cluster.address().to_string(), config).await.unwrap();
    let sums = |from: String| format!("select count(*), sum(key), sum(number) from '{from}'");
    let run = async |query: String| tokio::time::timeout(TIMEOUT, rows(&context, &query)).await.unwrap().unwrap();
    let expected = run(sums(path("t.ogive"))).await;
    let mut is_lost = false;
    for attempt in 0..5 {
        let store = path(&format!("store-{attempt}"));
        let query = format!(
            "copy (select * from '{}') to '{store}' stored as ogive options (keyspace 'k', key 'key')",
            path("t.ogive")
        );
        let before = cluster.result_files(0);
        let copying = tokio::spawn({
            let context = context.clone();
            async move { rows(&context, &query).await }
        });
        while cluster.result_files(0) <= before && !copying.is_finished() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        if !copying.is_finished() && !is_lost {
            cluster.kill(0).unwrap();
            is_lost = true;
        }
        let copied = tokio::time::timeout(TIMEOUT, copying).await.unwrap().unwrap().unwrap();
        assert_eq!(copied, "300000\n");
        assert_eq!(run(sums(format!("{store}#k"))).await, expected);
        let names = std::fs::read_dir(&store).unwrap().chain(std::fs::read_dir(folder.path()).unwrap());
        let names: Vec<String> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert!(names.iter().all(|name| !name.starts_with("rows-")), "{names:?}");
        if is_lost {
            break;
        }
    }
    assert!(is_lost, "every copy was over before an executor could be killed");
}
