//! Exact answers of a cluster, as in one process: floats of Parquet files, casts of inserted rows, literals, and the
//! order of unions.

use crate::common::{rows, write_table};
use datafusion::prelude::SessionContext;
use ogive::types::{RecordType, ValueType};
use ogive::{Db, DbOptions};
use ogive_ballista::{OpenTables, session_config, standalone};
use std::path::Path;
use std::sync::Arc;

async fn cluster() -> SessionContext {
    let tables = Arc::new(OpenTables::default());
    standalone(session_config(&tables).with_target_partitions(2), &tables, 2).await.unwrap()
}

async fn run(context: &SessionContext, query: &str) -> String {
    rows(context, query).await.unwrap_or_else(|error| panic!("{query}: {error}"))
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nan_is_read_from_parquet_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = path(folder.path(), "f.parquet");
    let values = "values (1, 7.5), (2, cast('NaN' as double)), (3, 7.5)";
    let write = format!("copy (select column1 as id, column2 as x from ({values})) to '{file}'");
    rows(&SessionContext::new(), &write).await.unwrap();
    let context = cluster().await;
    assert_eq!(run(&context, &format!("select id, x from '{file}' order by id")).await, "1 | 7.5\n2 | NaN\n3 | 7.5\n");
    assert_eq!(run(&context, &format!("select max(x), count(*), min(id) from '{file}'")).await, "NaN | 3 | 1\n");
    assert_eq!(run(&context, &format!("select id from '{file}' where x > 100")).await, "2\n");
    assert_eq!(run(&context, &format!("select id from '{file}' order by x desc limit 1")).await, "2\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inserted_rows_are_cast_exactly_and_literals_compared_so() {
    let folder = tempfile::tempdir().unwrap();
    let (store, file) = (path(folder.path(), "store"), path(folder.path(), "u.parquet"));
    write_table(folder.path(), "t.ogive", 4, 10, 0);
    let context = cluster().await;
    let copy = format!(
        "copy (select cast(1 as bigint) as k, arrow_cast('2024-01-01', 'Timestamp(Microsecond, None)') as t) \
         to '{store}' stored as ogive options (keyspace 'k')"
    );
    run(&context, &copy).await;
    run(&context, &format!("create external table k stored as ogive location '{store}#k'")).await;
    for row in ["values (6.7, '2024-01-01')", "select 6.7, '2024-01-01'", "values (7, '2024-01-01T00:00:00.0000001')"] {
        let error = rows(&context, &format!("insert into k {row}")).await.err();
        let error = error.unwrap_or_else(|| panic!("{row} is not refused")).to_string();
        assert!(error.contains("would be") && error.contains("column '"), "{row}: {error}");
    }
    run(&context, "insert into k values (7.0, '2024-01-01T00:00:00.000001')").await;
    let table = path(folder.path(), "t.ogive");
    run(&context, &format!("insert into k select key + 0.0, '2024-01-02' from '{table}' where key > 10")).await;
    assert_eq!(run(&context, "select k from k order by k").await, "1\n7\n20\n30\n");
    assert_eq!(run(&context, "select k from k where t < '2024-01-01T00:00:00.000000999'").await, "1\n");
    assert_eq!(run(&context, "select count(*) from k where k > 6.5 and k < 20.5").await, "2\n");
    let union = format!("select 2 as a, key as b from '{table}' union all select 1 as a, key as b from '{table}'");
    run(&context, &format!("copy (select * from ({union}) order by a, b) to '{file}'")).await;
    let found = run(&SessionContext::new().enable_url_table(), &format!("select a, b from '{file}'")).await;
    assert_eq!(found, "1 | 0\n1 | 10\n1 | 20\n1 | 30\n2 | 0\n2 | 10\n2 | 20\n2 | 30\n");
    assert_eq!(run(&context, &format!("{union} order by a, b")).await, found);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_go_on_when_fields_are_added_and_single_values_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = path(folder.path(), "store");
    write_table(folder.path(), "t.ogive", 20_000, 3, 0);
    let (table, context) = (path(folder.path(), "t.ogive"), cluster().await);
    let declare = |keyspace: &str, keys: &str, values: &str| {
        let types = RecordType::new(keys.parse().unwrap(), values.parse::<ValueType>().unwrap());
        let db = Db::open(&store, &DbOptions::default()).unwrap();
        db.keyspace(keyspace).unwrap().declare(&types).unwrap();
        db.close().unwrap();
    };
    declare("k", "(i64 desc, text?)", "f64");
    declare("old", "u64", "{a: i64}");
    // Ranges of keys are cut in the order of the keyspace.
    let columns = "key as key1, case when key % 2 = 0 then 'x' end as key2, key + 0.5 as value";
    run(
        &context,
        &format!("copy (select {columns} from '{table}') to '{store}' stored as ogive options (keyspace 'k')"),
    )
    .await;
    run(&context, &format!("create external table k stored as ogive location '{store}#k'")).await;
    run(&context, &format!("insert into k select key + 100000, null, key + 0.25 from '{table}' where key < 30")).await;
    assert_eq!(
        run(&context, "select count(*), count(key2), sum(key1 - value) from k").await,
        "20010 | 10000 | 989997.5\n"
    );
    assert_eq!(run(&context, "select * from k limit 2").await, "100027 | null | 27.25\n100024 | null | 24.25\n");

    run(&context, &format!("create external table old stored as ogive location '{store}#old'")).await;
    run(&context, "insert into old values (1, 10)").await;
    declare("old", "u64", "{a: i64, b: text?}");
    assert_eq!(run(&context, "select * from old").await, "1 | 10\n");
    run(&context, "insert into old values (2, 20)").await;
    run(&context, &format!("insert into '{store}#old' values (3, 30, 'three')")).await;
    run(&context, "insert into old values (2, 20)").await;
    assert_eq!(run(&context, "select * from old order by key desc").await, "3 | 30\n2 | 20\n1 | 10\n");
    assert_eq!(
        run(&context, &format!("select b, a from '{store}#old' where key > 1")).await,
        "null | 20\nthree | 30\n"
    );
}
