//! Unions of tables in the order of their keys, beside constants that differ: the order of a query holds, and a copy,
//! an insert and a view keep it.

use crate::{ours, rows};
use datafusion::prelude::SessionContext;
use ogive::{KeyType, LocalStorage, Table, TableOptions, TableWriteOptions, TableWriter};
use ogive_datafusion::OgiveTable;
use std::sync::Arc;

/// A session with the table `t` of the keys 10 to 40.
fn session(folder: &std::path::Path, partitions: usize) -> SessionContext {
    let storage = Arc::new(LocalStorage::new(folder));
    let options = TableWriteOptions::default().key_type(KeyType::U64);
    let mut writer = TableWriter::create((storage.clone(), "t.ogive"), options).unwrap();
    (1..5_u64).for_each(|key| writer.append(&(key * 10).to_be_bytes(), b"v").unwrap());
    writer.finish().unwrap();
    let context = ours(partitions);
    let table = Table::open((storage, "t.ogive"), &TableOptions::default()).unwrap();
    context.register_table("t", Arc::new(OgiveTable::new(table).unwrap())).unwrap();
    context
}

/// The first two columns of the rows of a query, in their order.
async fn pairs(context: &SessionContext, query: &str) -> Vec<(i64, u64)> {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let table = rows(context, query).await;
    let lines = table.lines().filter(|line| line.starts_with('|')).skip(1);
    lines.map(cells).map(|cells| (cells[1].parse().unwrap(), cells[2].parse().unwrap())).collect()
}

const UNION: &str = "select 2 as a, key as b from t union all select 1 as a, key as b from t";

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_union_are_sorted_by_a_constant_that_differs() {
    for partitions in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let context = session(folder.path(), partitions);
        let ascending: Vec<(i64, u64)> = (1..3).flat_map(|a| (1..5).map(move |b| (a, b * 10))).collect();
        assert_eq!(pairs(&context, &format!("{UNION} order by a, b")).await, ascending);
        assert_eq!(pairs(&context, &format!("select * from ({UNION}) order by a, b limit 3")).await, ascending[..3]);
        let three = format!("{UNION} union all select 3, key from t where key < 30");
        let more = [&ascending[..], &[(3, 10), (3, 20)]].concat();
        assert_eq!(pairs(&context, &format!("select * from ({three}) order by a, b")).await, more);
        let sums = format!("select a, sum(b) from ({UNION}) group by a order by a");
        assert_eq!(pairs(&context, &sums).await, [(1, 100), (2, 100)]);
        let counts = format!("select count(*) over (partition by a order by b), b from ({UNION}) order by a, b");
        let counted: Vec<(i64, u64)> = ascending.iter().map(|(_, b)| ((b / 10) as i64, *b)).collect();
        assert_eq!(pairs(&context, &counts).await, counted);
        // One that is the same on both sides needs no sort.
        let same = "select 1 as a, key as b from t union all select 1 as a, key as b from t order by a, b";
        let twice: Vec<(i64, u64)> = (2..10).map(|b| (1, b / 2 * 10)).collect();
        assert_eq!(pairs(&context, same).await, twice);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_inserts_and_views_of_unions_have_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let context = session(folder.path(), 2);
    let ascending: Vec<(i64, u64)> = (1..3).flat_map(|a| (1..5).map(move |b| (a, b * 10))).collect();
    rows(&context, &format!("create view v as {UNION}")).await;
    assert_eq!(pairs(&context, "select a, b from v order by a, b").await, ascending);
    for (number, query) in [UNION, "select * from v"].into_iter().enumerate() {
        let path = |name: &str| folder.path().join(format!("{name}-{number}")).display().to_string();
        let file = path("copy") + ".parquet";
        rows(&context, &format!("copy (select * from ({query}) order by a, b) to '{file}'")).await;
        let read = format!("create external table p{number} stored as parquet location '{file}'");
        rows(&context, &read).await;
        // One file and one partition: in the order of the file.
        rows(&context, "set datafusion.execution.target_partitions = 1").await;
        assert_eq!(pairs(&context, &format!("select a, b from p{number}")).await, ascending, "{query}");
        rows(&context, "set datafusion.execution.target_partitions = 2").await;
        let store = path("shop");
        let copy = format!("copy (select *, 0 as c from ({query}) order by a, b limit 0) to '{store}' stored as ogive");
        rows(&context, &format!("{copy} options (keyspace 'k', key 'a,b')")).await;
        rows(&context, &format!("create external table k{number} stored as ogive location '{store}#k'")).await;
        rows(&context, &format!("insert into k{number} select *, 0 from ({query}) order by a, b limit 5")).await;
        assert_eq!(pairs(&context, &format!("select a, b from k{number}")).await, ascending[..5], "{query}");
    }
}
