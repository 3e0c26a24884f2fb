//! Rows without a table in a cluster: alone, beside those of tables in unions, and in joins. Each query ends, with the
//! rows that it has in one process.

use crate::common::{of_processes, rows, write_table};
use datafusion::arrow::array::RecordBatch;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;
use ogive_ballista::{LocalCluster, OpenTables, connect_with, session_config, standalone};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Rows of the table, enough for three partitions.
const ROWS: u64 = 270_000;
/// Longest time for a query.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Queries whose rows have one order, or are one.
const QUERIES: &[&str] = &[
    "select 1",
    "select 1 where false",
    "select 1, null, 'a', now() > '2000-01-01'",
    "values (1), (2)",
    "select * from (values (3, 'c'), (1, 'a'), (2, null)) v order by 1",
    "select count(*) from (select * from (values (1), (2), (3), (4)) v limit 2)",
    "select count(*), min(k) from (select column1 as k from (values (1), (2), (3)) v limit 2 offset 1)",
    "select 1 union all select 2 order by 1",
    "select 1 union select 1",
    "select 1 where false union all select 2",
    "select unnest([3, 1, 2]) as n order by n",
    "select k from (select key as k from t where key < 20 union all select 60) order by k",
    "select count(*), sum(k), max(k) from (select key as k from t union all select 600000000)",
    "select count(*), sum(k) from (select 7 as k union all select key from t union all select 8)",
    "select count(*), sum(k) from (select key as k from t union all select 60 where false)",
    "select count(*), sum(k) from (select key as k from t union all select column1 from (values (1), (2)) v)",
    "select count(*) from (select key as k from t union all select column1 from (values (1), (2), (3)) v limit 270002)",
    "select count(*), sum(k) from (select key as k from t union all (select column1 from (values (1), (2), (3)) v \
     limit 2))",
    "select count(*), sum(k) from (select key as k from t union select 60)",
    "select n, count(*) from (select number as n from t union all select 5 union all select 1000) group by n order by \
     2, 1 limit 3",
    "select k from (select count(*) as k from t union all select 60) order by 1",
    "select k from (select count(*) as k from t union all select 60 union all select max(key) from t) order by 1",
    "select count(*), sum(n) from (select key, n from t cross join (select 2 as n))",
    "select count(*), sum(n) from (select key, n from (select 2 as n) cross join t)",
    "select count(*), sum(n) from (select t.key, n from t join (select 60 as k, 2 as n) c on t.key = c.k)",
    "select key, n from t join (values (60, 2), (90, 3), (91, 4)) c (k, n) on t.key = c.k order by key",
    "select c.k, t.number from (values (60), (61)) c (k) left join t on t.key = c.k order by 1",
    "select count(*), count(c.k) from t left join (select 60 as k where false) c on t.key = c.k",
    "select count(*) from t join (select 60 as k where false) c on t.key = c.k",
    "select count(*) from t where key in (select 60)",
    "select count(*) from t where key in (select 60 union all select 61 union all select 63)",
    "select count(*) from t where key not in (select 60 where false)",
    "select count(*) from t where exists (select 1)",
    "select count(*) from t where exists (select 1 where false)",
    "select count(*) from t where key > (select 60)",
    "select count(*), (select 7) from t",
    "select (select max(key) from t), (select 1)",
    "select count(*) from (select key from t where false) e full join (select 1 as k) c on e.key = c.k",
    "with c as (select 3 as k) select key from t join c on t.key = c.k union all select k from c order by 1",
    "select k, sum(k) over (order by k) from (select key as k from t where key < 9 union all select 60) order by k",
];

fn with_paths(query: &str, folder: &Path) -> String {
    let path = format!("'{}'", folder.join("t.ogive").display());
    query.replace("from t", &format!("from {path} t")).replace("join t", &format!("join {path} t"))
}

/// The answers in one process.
async fn expected(rows_of_table: &RecordBatch) -> Vec<String> {
    let context = SessionContext::new();
    let memory = MemTable::try_new(rows_of_table.schema(), vec![vec![rows_of_table.clone()]]).unwrap();
    context.register_table("t", Arc::new(memory)).unwrap();
    let mut expected = Vec::new();
    for query in QUERIES {
        expected.push(rows(&context, query).await.unwrap_or_else(|error| panic!("{query}: {error}")));
    }
    expected
}

async fn check(context: &SessionContext, folder: &Path, expected: &[String], what: &str) {
    let mut wrong = Vec::new();
    for (query, expected) in QUERIES.iter().zip(expected) {
        match tokio::time::timeout(TIMEOUT, rows(context, &with_paths(query, folder))).await {
            Ok(Ok(found)) if found == *expected => {}
            Ok(Ok(found)) => wrong.push(format!("{query}: {found:?} instead of {expected:?}")),
            Ok(Err(error)) => wrong.push(format!("{query}: {error}")),
            Err(_) => wrong.push(format!("{query}: it does not end")),
        }
    }
    assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_without_a_table_are_those_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let expected = expected(&write_table(folder.path(), "t.ogive", ROWS, 3, 0)).await;
    let tables = Arc::new(OpenTables::default());
    let config = session_config(&tables).with_target_partitions(1);
    let context = standalone(config, &tables, 2).await.unwrap();
    check(&context, folder.path(), &expected, "within this process").await;
    let cluster = cluster();
    let config = session_config(&Arc::default()).with_target_partitions(3);
    let context = connect_with(&cluster.address().to_string(), config).await.unwrap();
    check(&context, folder.path(), &expected, "processes").await;
    // Constants that do not fit into a message are refused before a task has them, and other queries go on.
    let of_scheduler = |bytes: usize| format!("repeat('x', {bytes})");
    let of_client = |bytes: usize| format!("'{}'", "x".repeat(bytes));
    for (constant, expected) in
        [(of_scheduler(18 << 20), None), (of_client(17 << 20), None), (of_scheduler(9 << 20), Some("1\n"))]
    {
        let query = format!("select count(*) from t where name = {constant} or key = 60");
        let found = tokio::time::timeout(TIMEOUT, rows(&context, &with_paths(&query, folder.path()))).await.unwrap();
        match (found, expected) {
            (Ok(found), Some(expected)) => assert_eq!(found, expected),
            (found, _) => {
                let error = found.unwrap_err().to_string();
                assert!(error.contains("at most 16 MiB travel") && error.contains("join that"), "{error}");
            }
        }
    }
}

/// A cluster of a scheduler and an executor.
fn cluster() -> LocalCluster {
    LocalCluster::start(&of_processes(1)).unwrap()
}
