//! Random queries of random tables, over Ogive tables and over the same rows in memory, give the same rows.
//!
//! The seed is fixed; another is set by `OGIVE_SQL_SEED`. The same queries are compared with DuckDB by the command
//! `ogive-sql-bench random` and `compare.py`.

use datafusion::datasource::MemTable;
use ogive::{MemoryStorage, Storage};
use ogive_sql_bench::files::FilesWriter;
use ogive_sql_bench::random::{DataSet, Size, answer_of, random_query, reference_session};
use ogive_sql_bench::session::{Limits, register_ogive, session_with_ogive};
use ogive_testkit::Random;
use std::sync::Arc;

/// Data sets of a run, and queries of each.
const DATA_SETS: u64 = 15;
const QUERIES: u64 = 20;

/// Returns the number of rows of all answers.
async fn check(seed: u64) -> usize {
    let mut draw = Random::new(seed);
    let set = DataSet::new(&mut draw, Size::Small).unwrap();
    let limits = Limits { partitions: Some(*draw.pick(&[1, 2, 3, 16])), ..Limits::default() };
    let (ours, reference) = (session_with_ogive(&limits, &[]).unwrap(), reference_session(&limits).unwrap());
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    for table in &set.tables {
        let mut writer = FilesWriter::ogive(storage.clone(), &table.table, &table.rows.schema()).unwrap();
        writer.write(&table.rows).unwrap();
        writer.finish().unwrap();
        register_ogive(&ours, storage.clone(), &table.table).unwrap();
        let memory = MemTable::try_new(table.rows.schema(), vec![vec![table.rows.clone()]]).unwrap();
        reference.register_table(table.table.name.as_str(), Arc::new(memory)).unwrap();
    }
    let mut rows = 0;
    for _ in 0..QUERIES {
        let query = random_query(&mut draw, &set).unwrap();
        let failed = |error| format!("OGIVE_SQL_SEED={seed}: {query}: {error}");
        let wanted = answer_of(&reference, &query).await.map_err(failed).unwrap();
        let found = answer_of(&ours, &query).await.map_err(failed).unwrap();
        assert_eq!(found.difference(&wanted), None, "OGIVE_SQL_SEED={seed}: {query}");
        rows += wanted.rows.len();
    }
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn random_queries_give_the_rows_of_the_same_tables_in_memory() {
    let first = std::env::var("OGIVE_SQL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut rows = 0;
    for seed in first..first + DATA_SETS {
        rows += check(seed).await;
    }
    assert!(rows > 1_000, "the queries found {rows} rows, too few to compare");
}
