//! The engines that answer the same queries.

use super::duckdb::DuckDb;
use super::storage::Files;
use crate::answer::Answer;
use crate::emulated::StoreCounts;
use crate::error::failed;
use crate::session::{Limits, session, session_of_cluster, session_with_ogive};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An engine, and where its rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    /// DataFusion over Ogive tables; streams are Parquet files.
    Ogive,
    /// A cluster over Ogive tables; streams are Parquet files.
    Cluster,
    /// DataFusion over Parquet files.
    Parquet,
    /// DuckDB over its own file.
    DuckDb,
    /// DuckDB over the Parquet files.
    DuckDbParquet,
}

impl Subject {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ogive => "ogive",
            Self::Cluster => "cluster",
            Self::Parquet => "parquet",
            Self::DuckDb => "duckdb",
            Self::DuckDbParquet => "duckdb-parquet",
        }
    }

    /// Whether it reads Ogive tables.
    pub(super) fn is_ours(self) -> bool {
        matches!(self, Self::Ogive | Self::Cluster)
    }
}

/// What the queries of a round took, all together.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    pub(super) time: Duration,
    pub(super) read_requests: Option<u64>,
    pub(super) read_bytes: Option<u64>,
    /// Requests to an emulated object store.
    pub(super) store: Option<StoreCounts>,
    pub(super) peak_rss_bytes: Option<u64>,
    /// The rows of each query as text, sorted.
    pub(super) answers: Vec<Vec<String>>,
}

/// All engines.
pub(super) struct Subjects {
    files: Files,
    limits: Limits,
    parquet_settings: Vec<(String, String)>,
    timeout: Duration,
    /// Sessions by engine and limit of memory.
    sessions: BTreeMap<(Subject, Option<usize>), SessionContext>,
    duckdb: Option<DuckDb>,
    cluster: Option<String>,
}

impl Subjects {
    pub(super) fn new(
        files: Files,
        limits: Limits,
        parquet_settings: Vec<(String, String)>,
        timeout: Duration,
        duckdb: Option<DuckDb>,
        cluster: Option<String>,
    ) -> Self {
        Self { files, limits, parquet_settings, timeout, sessions: BTreeMap::new(), duckdb, cluster }
    }

    pub(super) fn all(&self) -> Vec<Subject> {
        let mut all = vec![Subject::Ogive, Subject::Parquet];
        if self.cluster.is_some() {
            all.push(Subject::Cluster);
        }
        if self.duckdb.is_some() {
            all.extend([Subject::DuckDb, Subject::DuckDbParquet]);
        }
        all
    }

    /// The session of an engine of DataFusion, with its tables open.
    async fn session(&mut self, subject: Subject, memory_bytes: Option<usize>) -> Result<SessionContext> {
        if let Some(context) = self.sessions.get(&(subject, memory_bytes)) {
            return Ok(context.clone());
        }
        let limits = Limits { memory_bytes, ..self.limits.clone() };
        let settings: Vec<(&str, &str)> =
            self.parquet_settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let context = match (subject, &self.cluster) {
            (Subject::Cluster, Some(address)) => session_of_cluster(address, &limits).await?,
            (Subject::Ogive, _) => session_with_ogive(&limits, &settings)?,
            _ => session(&limits, &settings)?,
        };
        self.files.register(&context, subject).await?;
        self.sessions.insert((subject, memory_bytes), context.clone());
        Ok(context)
    }

    /// Runs the queries of a round, one after the other.
    pub(super) async fn run(
        &mut self,
        subject: Subject,
        memory_bytes: Option<usize>,
        queries: &[String],
        with_answers: bool,
    ) -> Result<Taken> {
        let engine = match subject {
            Subject::DuckDb => "native",
            Subject::DuckDbParquet => "parquet",
            _ => return self.run_here(subject, memory_bytes, queries, with_answers).await,
        };
        let Some(duckdb) = &mut self.duckdb else { return Err(failed("DuckDB is not there; name its Python")) };
        duckdb.run(engine, memory_bytes, queries, with_answers)
    }

    async fn run_here(
        &mut self,
        subject: Subject,
        memory_bytes: Option<usize>,
        queries: &[String],
        with_answers: bool,
    ) -> Result<Taken> {
        if subject == Subject::Ogive && self.files.is_emulated() {
            // Tables are opened anew, without the blocks of earlier rounds; the metadata of Parquet files stay cached.
            self.sessions.remove(&(subject, memory_bytes));
        }
        let context = self.session(subject, memory_bytes).await?;
        let mut taken = Taken::default();
        let mut scanned_bytes = 0;
        self.files.take();
        reset_peak();
        for query in queries {
            let started = Instant::now();
            let ran = tokio::time::timeout(self.timeout, execute(&context, query)).await;
            let (plan, batches) =
                ran.map_err(|_| failed(format!("no answer within {} s", self.timeout.as_secs())))??;
            taken.time += started.elapsed();
            scanned_bytes += bytes_scanned(&plan);
            if with_answers {
                taken.answers.push(lines(&plan.schema(), &batches)?);
            }
        }
        taken.peak_rss_bytes = peak_rss_bytes();
        let (reads, store) = self.files.take();
        taken.store = store;
        match (subject, reads) {
            (Subject::Ogive, Some(reads)) => {
                taken.read_requests = Some(reads.requests);
                taken.read_bytes = Some(reads.bytes);
            }
            // Executors read.
            (Subject::Ogive | Subject::Cluster, _) => {}
            _ => taken.read_bytes = Some(scanned_bytes),
        }
        Ok(taken)
    }
}

pub(super) async fn execute(
    context: &SessionContext,
    query: &str,
) -> Result<(Arc<dyn ExecutionPlan>, Vec<RecordBatch>)> {
    let plan = context.sql(query).await?.create_physical_plan().await?;
    let batches = collect(plan.clone(), context.task_ctx()).await?;
    Ok((plan, batches))
}

/// Bytes of Parquet files that the operators of a plan have read.
fn bytes_scanned(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let own = plan.metrics().and_then(|metrics| metrics.sum_by_name("bytes_scanned"));
    let own = own.map_or(0, |value| value.as_usize() as u64);
    own + plan.children().into_iter().map(bytes_scanned).sum::<u64>()
}

/// Rows as text, sorted, since not every query says an order.
fn lines(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Vec<String>> {
    let cell = |cell: Option<String>| cell.unwrap_or_else(|| "None".to_owned());
    let rows = Answer::of_batches(schema, batches)?.rows.into_iter();
    let mut lines: Vec<String> = rows.map(|row| row.into_iter().map(cell).collect::<Vec<_>>().join("|")).collect();
    lines.sort_unstable();
    Ok(lines)
}

/// Begins a new measurement of the highest resident memory of this process, where Linux offers it.
fn reset_peak() {
    _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}
