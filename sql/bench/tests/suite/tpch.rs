//! All queries of TPC-H at scale factor 0.01, over Ogive tables and over Parquet files, give DuckDB's answers.

use datafusion::arrow::datatypes::DataType;
use datafusion::prelude::SessionContext;
use ogive::{LocalStorage, Storage};
use ogive_sql_bench::answer::Answer;
use ogive_sql_bench::session::Limits;
use ogive_sql_bench::tpch::{ANSWERED_SCALE, QUERIES, TABLES, ogive_session, parquet_session, write_files};
use std::sync::Arc;

async fn check(context: SessionContext, name: &str) {
    for query in &QUERIES {
        let ours = query.run(&context).await.unwrap();
        let difference = ours.difference(&Answer::parse(query.answer).unwrap());
        assert_eq!(difference, None, "query {} over {name}", query.number);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_queries_give_the_answers_of_duckdb() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), ANSWERED_SCALE).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder.path()));
    let limits = Limits { partitions: Some(2), ..Limits::default() };
    let ogive = ogive_session(&storage, &limits).unwrap();
    types_are_those_of_the_rows(&ogive).await;
    let parquet = parquet_session(folder.path(), &limits).await.unwrap();
    let checks = [tokio::spawn(check(ogive, "Ogive")), tokio::spawn(check(parquet, "Parquet"))];
    for check in checks {
        check.await.unwrap();
    }
}

/// Decimals, dates and integers are what they were; text is `Utf8`.
async fn types_are_those_of_the_rows(context: &SessionContext) {
    for table in &TABLES {
        let found = context.table(table.table().name.as_str()).await.unwrap();
        let (found, wanted) = (found.schema().inner().clone(), table.rows(ANSWERED_SCALE).schema());
        assert_eq!(found.fields().len(), wanted.fields().len());
        for (found, wanted) in found.fields().iter().zip(wanted.fields()) {
            let wanted_type = match wanted.data_type() {
                DataType::Utf8View => &DataType::Utf8,
                other => other,
            };
            assert_eq!((found.name(), found.data_type()), (wanted.name(), wanted_type));
        }
    }
}
