//! A cluster on this machine that loses an executor during a query, and still answers it.

use crate::cluster::{ClusterOptions, LocalCluster};
use crate::session::{connect_with, session_config};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::error::{DataFusionError, Result};
use datafusion::prelude::{SessionConfig, SessionContext};
use ogive::io::remote_url;
use ogive::types::{Field, KeyType, RecordType, RowBuilder, RowType, Value, ValueType};
use ogive::{LocalStorage, TableWriteOptions, TableWriter};
use ogive_datafusion::OgiveOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Partitions of a scan: more than there are tasks at a time, so that a query has a middle.
const PARTITIONS: usize = 16;
/// Longest time for a query, with an executor lost.
const QUERY_TIMEOUT: Duration = Duration::from_secs(300);
/// Queries that may end before the executor is killed.
const ATTEMPTS: usize = 5;

/// The keyspace that the demonstration fills.
const KEYSPACE: &str = "events";

/// What a demonstration runs.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// The processes.
    pub cluster: ClusterOptions,
    /// Rows of the table.
    pub rows: u64,
    /// Path or URL of the store that is made and stays; one in a temporary folder if there is none.
    pub store: Option<String>,
}

impl Default for DemoOptions {
    /// Three processes, and a table of two million rows.
    fn default() -> Self {
        Self { cluster: ClusterOptions::default(), rows: 2_000_000, store: None }
    }
}

/// Makes a table, starts a scheduler and executors as processes, has them write a store of its rows and answer queries,
/// kills the first executor in the middle of one, and compares the answer with that of this process. What happens is
/// written to `out`.
///
/// # Errors
/// For processes that do not start, queries that fail, and an answer that is wrong.
pub async fn demo(options: &DemoOptions, out: &mut (dyn Write + Send)) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("ogive-demo-").tempdir()?;
    write_table(folder.path(), options.rows).map_err(|error| DataFusionError::External(Box::new(error)))?;
    let path = folder.path().join("events.ogive").display().to_string();
    writeln!(out, "Made the table {path} of {} rows.", options.rows)?;
    let store = options.store.clone().unwrap_or_else(|| folder.path().join("store").display().to_string());
    let mut allow = vec![folder.path().display().to_string()];
    if options.store.is_some() {
        if remote_url(Path::new(&store)).is_none() {
            std::fs::create_dir_all(&store)?;
        }
        allow.push(store.clone());
    }
    let cluster_options = ClusterOptions { allow, ..options.cluster.clone() };
    let mut cluster = LocalCluster::start(&cluster_options)?;
    let executors: Vec<String> = cluster.executors().iter().map(ToString::to_string).collect();
    writeln!(out, "Started a scheduler at {}, and executors at {}.", cluster.address(), executors.join(" and "))?;

    let config = session_config(&Arc::default()).with_target_partitions(PARTITIONS);
    let context = connect_with(&cluster.address().to_string(), config).await?;
    let keyspace = format!("{store}#{KEYSPACE}");
    for query in [
        format!(
            "copy (select * from '{path}') to '{store}' stored as ogive options (keyspace '{KEYSPACE}', key 'key')"
        ),
        format!("select count(*) from '{keyspace}'"),
        format!("select * from '{keyspace}' where key in (10, 1000, 100000)"),
        format!("select count(*), avg(weight) from '{keyspace}' where key between 1000 and 900000"),
    ] {
        let start = Instant::now();
        let found = context.sql(&query).await?.collect().await?;
        writeln!(out, "\n{query}\n{}\n{:.0?}", pretty_format_batches(&found)?, start.elapsed())?;
    }

    let query = "select a.number % 10 as digit, count(*), sum(a.weight + b.weight) from events a join events b on \
        a.number = b.number and a.key % 50 = 0 where b.key % 3 = 0 group by 1 order by 1";
    writeln!(out, "\n{query}")?;
    let expected = alone(&keyspace, query).await?;
    let query = query.replace("events", &format!("'{keyspace}'"));
    let start = Instant::now();
    let found = lose_executor(&context, &mut cluster, &query, out).await?;
    writeln!(out, "{found}\n{:.1?}", start.elapsed())?;
    if found != expected {
        let message = format!("the answer is wrong; this process alone finds\n{expected}");
        return Err(DataFusionError::Execution(message));
    }
    writeln!(out, "The answer is right: this process alone finds the same.")?;
    Ok(())
}

/// Runs a query, and kills the first executor when it has ended a task of it.
async fn lose_executor(
    context: &SessionContext,
    cluster: &mut LocalCluster,
    query: &str,
    out: &mut (dyn Write + Send),
) -> Result<String> {
    for _ in 0..ATTEMPTS {
        // Results of earlier queries stay for some time.
        let before = cluster.result_files(0);
        let running: JoinHandle<Result<Vec<RecordBatch>>> = {
            let frame = context.sql(query).await?;
            tokio::spawn(frame.collect())
        };
        while cluster.result_files(0) <= before && !running.is_finished() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if running.is_finished() {
            continue;
        }
        cluster.kill(0)?;
        writeln!(out, "Killed the executor at {} in the middle of the query.", cluster.executors()[0])?;
        let found = tokio::time::timeout(QUERY_TIMEOUT, running).await;
        let found = found.map_err(|_| DataFusionError::Execution(format!("no answer within {QUERY_TIMEOUT:?}")))?;
        let found = found.map_err(|error| DataFusionError::External(Box::new(error)))??;
        return Ok(pretty_format_batches(&found)?.to_string());
    }
    Err(DataFusionError::Execution(
        "every query was over before an executor could be killed; give more rows".to_owned(),
    ))
}

/// The answer of this process without the cluster.
async fn alone(path: &str, query: &str) -> Result<String> {
    let context = SessionContext::new_with_config(SessionConfig::new());
    let table = OgiveOptions::default().open(path)?;
    let table = table.ok_or_else(|| DataFusionError::Execution(format!("{path} is no table")))?;
    context.register_table("events", Arc::new(table))?;
    Ok(pretty_format_batches(&context.sql(query).await?.collect().await?)?.to_string())
}

fn write_table(folder: &Path, rows: u64) -> ogive::Result<()> {
    let fields = vec![Field::new("number", KeyType::I64), Field::new("weight", KeyType::F64)];
    let row_type = RowType::new(fields)?;
    let types = RecordType::new(KeyType::U64, ValueType::Row(row_type.clone()));
    let options = TableWriteOptions::default().record_type(types);
    let mut writer = TableWriter::create((Arc::new(LocalStorage::new(folder)), "events.ogive"), options)?;
    let mut row = RowBuilder::new(row_type);
    for key in 0..rows {
        let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        row.push(&Value::Signed(i128::from(mixed % 5_000)))?;
        row.push(&Value::Float((mixed % 128) as f64 / 8.0))?;
        let mut value = Vec::new();
        row.finish(&mut value)?;
        writer.append(&key.to_be_bytes(), &value)?;
    }
    writer.finish()?;
    Ok(())
}
