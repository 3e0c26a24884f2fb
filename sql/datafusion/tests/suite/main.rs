//! Queries of random tables, stores, indexes and indexed Parquet files beside the same rows in memory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by it")]

mod altering;
mod changes;
mod conditions;
mod floats;
mod indexes;
mod inserts;
mod joins;
mod keys_alone;
mod literals;
mod old_timestamps;
mod older_tables;
mod orders;
mod other_types;
mod places;
mod programs;
mod queries;
mod relations;
mod scans;
mod transactions;
mod unions;

use arrow_array::RecordBatch;
use datafusion::datasource::MemTable;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use ogive_datafusion::{OgiveOptions, UrlTables, configure, with_ogive};
use std::sync::Arc;

/// The first seed of a run: another one than 1 for longer searches.
fn first_seed() -> u64 {
    std::env::var("OGIVE_SQL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

/// A session that knows Ogive.
fn ours(partitions: usize) -> SessionContext {
    let config = configure(SessionConfig::new().with_target_partitions(partitions).with_batch_size(1024));
    let state = SessionStateBuilder::new().with_default_features().with_config(config);
    SessionContext::from(with_ogive(state, &OgiveOptions::default()).build())
}

/// A session that knows Ogive, in whose statements paths are tables.
fn with_paths(partitions: usize) -> SessionContext {
    let (state, urls) = UrlTables::add_to(ours(partitions).state(), OgiveOptions::default());
    let context = SessionContext::from(state);
    urls.attach(&context);
    context
}

/// A session of DataFusion.
fn reference() -> SessionContext {
    SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2))
}

fn register_memory(context: &SessionContext, name: &str, batch: &RecordBatch) {
    let table = MemTable::try_new(batch.schema(), vec![vec![batch.clone()]]).unwrap();
    context.register_table(name, Arc::new(table)).unwrap();
}

/// The rows of a query as text.
async fn rows(context: &SessionContext, query: &str) -> String {
    let found = async { context.sql(query).await?.collect().await }.await;
    let found = found.unwrap_or_else(|error| panic!("{query}: {error}"));
    let found: Vec<RecordBatch> = found.into_iter().filter(|batch| batch.num_rows() > 0).collect();
    datafusion::arrow::util::pretty::pretty_format_batches(&found).unwrap().to_string()
}

/// As [`rows`], in the order of their text.
async fn sorted_rows(context: &SessionContext, query: &str) -> Vec<String> {
    let mut lines: Vec<String> = rows(context, query).await.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The physical plan of a query as text.
async fn plan(context: &SessionContext, query: &str) -> String {
    let plan = context.sql(query).await.unwrap().create_physical_plan().await.unwrap();
    datafusion::physical_plan::displayable(&*plan).indent(true).to_string()
}
