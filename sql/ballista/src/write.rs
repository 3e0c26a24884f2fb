//! Statements that write Ogive rows: tasks write tables, and the client adds them to their target in one commit.

use crate::codec::check_place;
use crate::plan_size::check_logical;
use async_trait::async_trait;
use ballista_core::error::BallistaError;
use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::types::UInt64Type;
use datafusion::arrow::array::{RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::Session;
use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties, collect,
};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use futures::stream;
use ogive_datafusion::{PartsNode, PartsStep, Staging, TablesPlace, WriteRequest, WriteTarget, blocking, cuts_of};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Times that a step is run, if executors are lost with its results.
const STEP_ATTEMPTS: usize = 4;
/// Pause before a step is run again.
const STEP_PAUSE: Duration = Duration::from_secs(2);

/// Pause before the tables of a statement that failed are removed.
const CANCELLING_PAUSE: Duration = Duration::from_millis(500);
/// Pauses before the tables of a statement that failed are removed, each time.
const CLEARING_PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(5)];

/// Plans what a cluster's client does itself, statements that write rows of Ogive and `DESCRIBE`, and leaves all others
/// to Ballista.
#[derive(Debug)]
pub(crate) struct ClientPlanner {
    pub(crate) queries: Arc<dyn QueryPlanner + Send + Sync>,
}

#[async_trait]
impl QueryPlanner for ClientPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        if let LogicalPlan::DescribeTable(_) = plan {
            return DefaultPhysicalPlanner::default().create_physical_plan(plan, session).await;
        }
        let Some((request, input)) = WriteRequest::of(plan)? else {
            check_logical(plan, session)?;
            return self.queries.create_physical_plan(plan, session).await;
        };
        let Some(state) = session.as_any().downcast_ref::<SessionState>() else {
            return internal_err!("the session of a cluster's client is one of another engine");
        };
        let request = request.absolute()?;
        check_place(request.target().location())?;
        let (queries, state) = (self.queries.clone(), Arc::new(state.clone()));
        Ok(Arc::new(ClusterWriteExec::new(Write { request, input: input.clone(), queries, state })))
    }
}

/// A statement that writes rows.
#[derive(Clone, Debug)]
struct Write {
    request: WriteRequest,
    input: Arc<LogicalPlan>,
    queries: Arc<dyn QueryPlanner + Send + Sync>,
    state: Arc<SessionState>,
}

impl Write {
    /// Writes all rows, or none; returns their number.
    async fn run(self, context: Arc<TaskContext>) -> Result<u64> {
        let request = self.request.clone();
        let (request, staging) = blocking(move || {
            let request = request.checked()?;
            let staging = request.staging()?;
            Ok((request, staging))
        })
        .await?;
        let write = Self { request, ..self };
        let mut staged = Staged { staging: Some(staging.clone()) };
        let written = write.write(&staging, context).await;
        if written.is_ok() {
            staged.staging = None;
        } else {
            // The process may end behind the error; tasks that are being cancelled may complete a table yet.
            tokio::time::sleep(CANCELLING_PAUSE).await;
            _ = blocking(move || staging.clear(&[])).await;
        }
        written
    }

    /// Writes tables to a staging place, and commits them; returns the number of their rows.
    async fn write(&self, staging: &Staging, context: Arc<TaskContext>) -> Result<u64> {
        let cuts = self.cuts(&context).await?;
        let place = TablesPlace {
            folder: staging.folder().to_owned(),
            names: staging.names().clone(),
            is_single: matches!(self.request.target(), WriteTarget::Table { .. }),
        };
        let written = self.step((*self.input).clone(), PartsStep::Write { cuts, place }, &context).await?;
        // Of a range that was written twice, since an executor was lost, one table is taken.
        let mut tables = BTreeMap::new();
        for batch in &written {
            let [rows, ranges] = [1, 2].map(|at| batch.column(at).as_primitive::<UInt64Type>().values());
            let names = batch.column(0).as_string::<i32>().iter().flatten();
            tables.extend(ranges.iter().copied().zip(names.map(str::to_owned).zip(rows.iter().copied())));
        }
        let (names, rows): (Vec<String>, Vec<u64>) = tables.into_values().unzip();
        let rows = rows.iter().sum();
        let request = self.request.clone();
        let staging = staging.clone();
        blocking(move || request.commit(&staging, &names)).await?;
        Ok(rows)
    }

    /// The keys at which the ranges begin that tasks write, without the first.
    async fn cuts(&self, context: &Arc<TaskContext>) -> Result<Vec<Vec<u8>>> {
        let ranges = self.state.config().target_partitions();
        if ranges < 2 || matches!(self.request.target(), WriteTarget::Table { .. }) {
            return Ok(Vec::new());
        }
        let schema = self.input.schema();
        let columns = self.request.key().into_iter().map(|name| {
            let (qualifier, field) = schema.qualified_field(schema.as_arrow().index_of(&name)?);
            Ok(Expr::from((qualifier, field)))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let keys = LogicalPlanBuilder::new_from_arc(self.input.clone()).project(columns)?.build()?;
        cuts_of(&self.step(keys, PartsStep::Sample, context).await?, ranges)
    }

    /// The rows of a step in the cluster.
    async fn step(&self, input: LogicalPlan, step: PartsStep, context: &Arc<TaskContext>) -> Result<Vec<RecordBatch>> {
        let node = Arc::new(PartsNode::try_new(input, self.request.types().clone(), step)?);
        let logical = LogicalPlan::Extension(Extension { node });
        let mut attempts = 1;
        loop {
            let plan = self.queries.create_physical_plan(&logical, &*self.state).await?;
            match collect(plan, context.clone()).await {
                // What an executor says of the tables that it has written is lost with it. They are left over then.
                Err(error) if attempts < STEP_ATTEMPTS && is_lost(&error) => tokio::time::sleep(STEP_PAUSE).await,
                ended => return ended,
            }
            attempts += 1;
        }
    }
}

/// Whether the result of a query cannot be fetched, since an executor does not answer.
fn is_lost(error: &DataFusionError) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(BallistaError::GrpcConnectionError(_) | BallistaError::FetchFailed(..)) = error.downcast_ref() {
            return true;
        }
        cause = error.source();
    }
    // Ballista hands some of its errors on as text.
    error.to_string().contains("GrpcConnectionError")
}

/// Staged tables that are removed unless they were committed: a statement may also be cancelled.
struct Staged {
    staging: Option<Staging>,
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(staging) = self.staging.take() {
            // Tasks that are being cancelled may complete a table yet. What cannot be removed is named by the
            // documentation, and the error of the statement is the one to tell.
            let clearing = std::thread::spawn(move || {
                for pause in CLEARING_PAUSES {
                    std::thread::sleep(pause);
                    _ = staging.clear(&[]);
                }
            });
            CLEARING.lock().unwrap_or_else(PoisonError::into_inner).push(clearing);
        }
    }
}

/// Threads that remove the tables of cancelled statements.
static CLEARING: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

/// Waits until the tables of cancelled statements are removed: a program that ends before leaves them behind. Calls
/// `begin` if there are any.
pub fn finish_clearing(begin: impl FnOnce()) {
    let clearing = std::mem::take(&mut *CLEARING.lock().unwrap_or_else(PoisonError::into_inner));
    if clearing.iter().any(|thread| !thread.is_finished()) {
        begin();
    }
    // A panic is of no interest any more.
    clearing.into_iter().for_each(|thread| _ = thread.join());
}

/// Writes rows by tasks of a cluster; runs in the client.
#[derive(Clone, Debug)]
struct ClusterWriteExec {
    write: Write,
    properties: Arc<PlanProperties>,
}

impl ClusterWriteExec {
    fn new(write: Write) -> Self {
        let schema = Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)]));
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { write, properties: Arc::new(properties) }
    }
}

impl DisplayAs for ClusterWriteExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ClusterWriteExec: target={}", self.write.request.target().location())
    }
}

impl ExecutionPlan for ClusterWriteExec {
    fn name(&self) -> &str {
        "ClusterWriteExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (write, schema) = (self.write.clone(), self.schema());
        let counted = {
            let schema = schema.clone();
            async move {
                let rows = write.run(context).await?;
                Ok(RecordBatch::try_new(schema, vec![Arc::new(UInt64Array::from(vec![rows]))])?)
            }
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream::once(counted))))
    }
}
