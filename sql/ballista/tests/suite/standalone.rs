//! Queries through a cluster within the process, beside the same rows in memory in DataFusion: every shape of plan
//! gives the same rows, whatever the number of partitions, with adaptive planning and without.

use crate::common::{rows, write_table};
use ballista::prelude::SessionConfigExt;
use datafusion::arrow::array::RecordBatch;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;
use ogive::types::{KeyType, RecordType};
use ogive::{Db, DbOptions};
use ogive_ballista::{Allowed, OpenTables, session_config, standalone};
use ogive_datafusion::OgiveOptions;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Rows of the table, enough for sixteen partitions.
const ROWS: u64 = 270_000;
/// Rows of the table that is joined with it.
const FEW_ROWS: u64 = 40_000;
/// Longest time for a query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(120);

/// Queries whose rows have one order, or are one.
const QUERIES: &[&str] = &[
    "select count(*) from t",
    "select count(*) from t where key between 1000 and 500000",
    "select count(*), min(key), max(key), sum(number) from t where key > 77",
    "select count(*) from t where number % 3 = 0",
    "select * from t where key = 300",
    "select * from t where key = 301",
    "select * from t where key in (3, 6, 7, 300000, 839997, 900000) order by key",
    "select key, name from t where key >= 600000 and key < 600100 order by key",
    "select key from t where key < 60 or key between 300 and 330 or key > 839900 order by key",
    "select count(*) from t where key > 100 and key < 100",
    "select key, number + 1 as more from t where key > 400000 order by key limit 17",
    "select key, number from t order by key desc limit 9",
    "select key from t order by key limit 5 offset 100000",
    "select count(*) from (select key from t limit 1000)",
    "select number, key from t where weight > 7 order by number desc, key limit 20",
    "select name, count(*), sum(weight) from t group by name order by name",
    "select key / 100000 as part, count(*), avg(weight) from t group by 1 order by 1",
    "select key, count(*) from t where key < 3000 group by key order by key limit 40",
    "select count(distinct number) from t where name is null",
    "select count(*), sum(a.number + b.number) from t a join few b on a.key = b.key",
    "select a.key, a.number, b.number from t a join few b on a.key = b.key where b.key < 2000 order by a.key limit 50",
    "select count(*), count(b.key) from t a left join few b on a.key = b.key where a.key < 100000",
    "select count(*) from t where key in (select key from few where number = 5)",
    "select count(*), sum(a.number) from t b join few a on a.key = b.key where a.key in (select key from t group by \
     key having sum(number) > 500)",
    "select key from t where key in (select max(key) from few group by number) order by key limit 5",
    "select count(*) from t a where not exists (select 1 from few b where b.key = a.key)",
    "select b.name, count(*) from t a join few b on a.number = b.number where a.key < 300 group by b.name order by 1",
    "select b.key, b.number, a.key from t a join few b on a.number = b.number where a.key < 900 and a.name not in \
     ('n1', 'n2') and b.key < 9000 order by b.key, a.key",
    "select count(*) from (select key from t where key < 900 union all select key from few where key < 900)",
    "select sum(n) from (select count(*) as n from t union all select count(*) from few)",
    "select key, sum(number) over (order by key) as so_far from t where key < 90 order by key",
    "select count(*) from t where number > (select avg(number) from few)",
    "select key, (select number from few where key = 30) as n from t where key < 10 order by key",
    "select count(*), count(distinct a.key) from few b join (select number, key, count(*) as n from t group by key, \
     number order by n, key limit 2) a on b.number = a.number where b.number <> 7",
    "select a.key, b.key from few a cross join few b where a.key < 15 and b.key < 15 order by 1, 2",
];

/// A query that DataFusion itself fails at, since its second column has no nulls, and its rows.
const EMPTY_SUBQUERY: (&str, &str) = (
    "select key, (select number from few where key < 0) as n from t where key < 4 order by key",
    "0 | null\n3 | null\n",
);

/// Queries that fail, and words of their errors.
const FAILING: &[(&str, &str)] = &[
    ("select key, (select number from few where key < 30) as n from t", "more than one row"),
    ("select count(*) from t where number > (select number from few)", "more than one row"),
];

/// Makes rows in memory a table of a session.
fn register(context: &SessionContext, name: &str, batch: &RecordBatch) {
    let memory = MemTable::try_new(batch.schema(), vec![vec![batch.clone()]]).unwrap();
    context.register_table(name, Arc::new(memory)).unwrap();
}

fn with_paths(query: &str, folder: &Path) -> String {
    let path = |name: &str| format!("'{}'", folder.join(name).display());
    let placed = query.replace("from t", &format!("from {}", path("t.ogive")));
    placed.replace(" few", &format!(" {}", path("few.ogive")))
}

/// Every `step`-th query.
async fn check(folder: &Path, expected: &[String], partitions: usize, adaptive: bool, step: usize) {
    let tables = Arc::new(OpenTables::default());
    let config =
        session_config(&tables).with_target_partitions(partitions).with_ballista_adaptive_query_planner(adaptive);
    let context = standalone(config, &tables, 4).await.unwrap();
    for (query, expected) in QUERIES.iter().zip(expected).skip(partitions % step).step_by(step) {
        let run = tokio::time::timeout(QUERY_TIMEOUT, rows(&context, &with_paths(query, folder))).await;
        let what = format!("{partitions} partitions, adaptive {adaptive}: {query}");
        let found = run.unwrap_or_else(|_| panic!("{what} takes too long"));
        let found = found.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(found, *expected, "{what}");
    }
    let (query, expected) = EMPTY_SUBQUERY;
    assert_eq!(rows(&context, &with_paths(query, folder)).await.unwrap(), expected);
    for (query, words) in FAILING {
        let run = tokio::time::timeout(QUERY_TIMEOUT, rows(&context, &with_paths(query, folder))).await;
        let error = run.unwrap_or_else(|_| panic!("{query} takes too long")).unwrap_err().to_string();
        assert!(error.contains(words), "{query}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_plan_gives_the_rows_of_datafusion() {
    let folder = tempfile::tempdir().unwrap();
    let reference = SessionContext::new();
    register(&reference, "t", &write_table(folder.path(), "t.ogive", ROWS, 3, 0));
    register(&reference, "few", &write_table(folder.path(), "few.ogive", FEW_ROWS, 5, 1));
    let mut expected = Vec::new();
    for query in QUERIES {
        expected.push(rows(&reference, query).await.unwrap());
    }
    for (partitions, adaptive, step) in
        [(3, true, 1), (16, false, 1), (1, true, 4), (1, false, 5), (2, true, 5), (7, false, 5), (16, true, 3)]
    {
        check(folder.path(), &expected, partitions, adaptive, step).await;
    }
}

async fn cluster(tables: OpenTables) -> SessionContext {
    let tables = Arc::new(tables);
    standalone(session_config(&tables).with_target_partitions(3), &tables, 2).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_is_replaced_under_a_cluster_is_an_error_for_those_who_know_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path(), "t.ogive", 1_000, 1, 0);
    let query = with_paths("select count(*), sum(number) from t", folder.path());
    let context = cluster(OpenTables::default()).await;
    let opened = OgiveOptions::default().open(&folder.path().join("t.ogive").display().to_string());
    context.register_table("t", Arc::new(opened.unwrap().unwrap())).unwrap();
    let by_name = "select count(*), sum(number) from t";
    let old = rows(&context, by_name).await.unwrap();
    assert!(old.starts_with("1000 |"), "{old}");
    write_table(folder.path(), "t.ogive", 1_500, 1, 0);
    // The scheduler and the executor have the old table open: the answer is that of the old table, whole.
    assert_eq!(rows(&context, by_name).await.unwrap(), old);
    assert!(rows(&context, &query).await.unwrap().starts_with("1500 |"));
    // Now they have the new one.
    let error = rows(&context, by_name).await.unwrap_err().to_string();
    assert!(error.contains("t.ogive") && error.contains("changed after the query was planned"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_opens_what_is_allowed_alone() {
    let (folder, secret) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_table(folder.path(), "t.ogive", 1_000, 1, 0);
    write_table(secret.path(), "t.ogive", 1_000, 1, 0);
    let allowed = Allowed::only(&[folder.path().display().to_string()]).unwrap();
    let context = cluster(OpenTables::new(allowed, OgiveOptions::default(), 8)).await;
    let query = "select count(*) from t where key > 10";
    assert_eq!(rows(&context, &with_paths(query, folder.path())).await.unwrap(), "989\n");
    let error = rows(&context, &with_paths(query, secret.path())).await.unwrap_err().to_string();
    assert!(error.contains("may not be opened by queries") && error.contains("--allow"), "{error}");
    // Through a folder that is allowed, and out of it.
    let around = folder.path().join("..").join(secret.path().file_name().unwrap());
    let error = rows(&context, &with_paths(query, &around)).await.unwrap_err().to_string();
    assert!(error.contains("may not be opened by queries"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_that_are_no_queries_work_through_a_cluster() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path(), "t.ogive", 40_000, 1, 0);
    let context = cluster(OpenTables::default()).await;
    let explained =
        rows(&context, &with_paths("explain select key from t where key < 9", folder.path())).await.unwrap();
    assert!(explained.contains("keys=[") && explained.contains("file_type=ogive"), "{explained}");
    let copied = folder.path().join("copied.parquet");
    let copy = with_paths("copy (select key, name from t where key < 30000) to", folder.path());
    assert_eq!(rows(&context, &format!("{copy} '{}'", copied.display())).await.unwrap(), "30000\n");
    let query = format!("select count(*), max(key) from '{}'", copied.display());
    assert_eq!(rows(&context, &query).await.unwrap(), "30000 | 29999\n");
    let joined =
        with_paths(&format!("select count(*) from t a join '{}' b using (key)", copied.display()), folder.path());
    assert_eq!(rows(&context, &joined).await.unwrap(), "30000\n");
    let described = rows(&context, &format!("describe '{}'", folder.path().join("t.ogive").display())).await.unwrap();
    assert!(described.starts_with("key | UInt64 | NO\n") && described.contains("name | Utf8"), "{described}");
    let last = with_paths("explain select key from t order by key desc limit 3", folder.path());
    let last = rows(&context, &last).await.unwrap();
    assert!(last.contains("descending, last=3"), "{last}");
    let error = rows(&context, &with_paths("select * from few", folder.path())).await.unwrap_err().to_string();
    assert!(error.contains("few.ogive"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_and_folders_of_tables_are_read_by_a_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    std::fs::create_dir(place("many")).unwrap();
    for number in 0..3 {
        write_table(&folder.path().join("many"), &format!("{number}.ogive"), 40_000, 1, number);
    }
    let db = Db::open(place("store"), &DbOptions::default()).unwrap();
    let orders = db.keyspace("orders").unwrap();
    let orders = orders.stating(&RecordType::new(KeyType::U64, KeyType::Text)).unwrap();
    for number in 0..2_000_u64 {
        orders.insert(number.to_be_bytes(), "order").unwrap();
    }
    db.close().unwrap();
    let context = cluster(OpenTables::default()).await;
    let count = |name: &str| format!("select count(*) from '{}'", place(name));
    assert_eq!(rows(&context, &count("many")).await.unwrap(), "120000\n");
    assert_eq!(rows(&context, &format!("{} where key < 30", count("many"))).await.unwrap(), "90\n");
    assert_eq!(rows(&context, &count("store#orders")).await.unwrap(), "2000\n");
    let created = format!("create external table made stored as ogive location '{}'", place("many/1.ogive"));
    rows(&context, &created).await.unwrap();
    assert_eq!(rows(&context, "select max(key) from made").await.unwrap(), "39999\n");
}
