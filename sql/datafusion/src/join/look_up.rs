//! Lookup joins: they read a batch of rows of one side, then look up their keys in the other.

use super::keyed_side::{KeyedSide, keys_of_rows};
use crate::key_set::KeySet;
use crate::unary::one_input;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{JoinType, NullEquality, internal_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::joins::utils::{JoinFilter, JoinOn, build_join_schema};
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, Metric, MetricValue, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PhysicalExpr, PlanProperties,
    displayable,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// Rows whose keys are looked up at a time: the more, the more of them share a block.
const ROWS_AT_ONCE: usize = 64 << 10;
/// Fewest rows of a part into which rows are divided if their join does not fit memory.
const ROWS_MIN: usize = 256;

/// Joins the rows of a plan, a batch at a time, with the rows of a relation that have their keys. Where a block has
/// several of the keys, it is read once.
///
/// Rows of the relation without a row of the plan are not found; so it does inner joins, and outer, semi, anti and mark
/// joins that return the rows of the plan.
#[derive(Clone, Debug)]
pub struct LookUpJoinExec {
    /// Whose rows pass.
    stream: Arc<dyn ExecutionPlan>,
    /// What is read of the relation. It is no child: each partition reads any of it, and what optimisers insert there,
    /// such as exchanges, would be in the way of that.
    keyed: Arc<dyn ExecutionPlan>,
    on: JoinOn,
    filter: Option<JoinFilter>,
    join_type: JoinType,
    /// Whether keys are looked up in the left input.
    looks_left: bool,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl LookUpJoinExec {
    /// The same join of the rows of another plan.
    fn with_input(&self, stream: Arc<dyn ExecutionPlan>) -> Result<Self> {
        let Self { keyed, on, filter, join_type, looks_left, .. } = self;
        let (left, right) = if *looks_left { (keyed.clone(), stream) } else { (stream, keyed.clone()) };
        Self::try_new(left, right, on.clone(), filter.clone(), *join_type, *looks_left)
    }

    /// Whether joins of a type can be done so, if keys are looked up in the left or the right input.
    pub(crate) fn supports(join_type: JoinType, looks_left: bool) -> bool {
        match join_type {
            JoinType::Inner => true,
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => !looks_left,
            JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => looks_left,
            JoinType::Full => false,
        }
    }

    /// Joins two inputs by columns; keys are looked up in the left one, or in the right one.
    ///
    /// # Errors
    /// An input whose keys are looked up that is no scan of one relation, or not by the first columns of its key; a
    /// join that returns rows of it without a partner.
    pub fn try_new(
        left: Arc<dyn ExecutionPlan>,
        right: Arc<dyn ExecutionPlan>,
        on: JoinOn,
        filter: Option<JoinFilter>,
        join_type: JoinType,
        looks_left: bool,
    ) -> Result<Self> {
        if !Self::supports(join_type, looks_left) {
            return internal_err!("a {join_type} join needs all rows of the input whose keys are looked up");
        }
        let (schema, _) = build_join_schema(&left.schema(), &right.schema(), &join_type);
        let (stream, keyed) = if looks_left { (right, left) } else { (left, right) };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::new(schema)),
            Partitioning::UnknownPartitioning(stream.output_partitioning().partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let (properties, metrics) = (Arc::new(properties), ExecutionPlanMetricsSet::new());
        let mut join = Self { stream, keyed, on, filter, join_type, looks_left, properties, metrics };
        join.keyed = join.side()?.whole()?;
        Ok(join)
    }

    /// The columns that are joined.
    #[must_use]
    pub fn on(&self) -> &JoinOn {
        &self.on
    }

    /// The condition on both rows.
    #[must_use]
    pub fn filter(&self) -> Option<&JoinFilter> {
        self.filter.as_ref()
    }

    /// The type of the join.
    #[must_use]
    pub fn join_type(&self) -> JoinType {
        self.join_type
    }

    /// Whether keys are looked up in the left input.
    #[must_use]
    pub fn looks_left(&self) -> bool {
        self.looks_left
    }

    /// The input whose rows pass.
    #[must_use]
    pub fn stream(&self) -> &Arc<dyn ExecutionPlan> {
        &self.stream
    }

    /// The input whose keys are looked up.
    #[must_use]
    pub fn keyed(&self) -> &Arc<dyn ExecutionPlan> {
        &self.keyed
    }

    fn side(&self) -> Result<KeyedSide> {
        let column = |(left, right): &(_, _)| Arc::clone(if self.looks_left { left } else { right });
        let columns: Vec<Arc<dyn PhysicalExpr>> = self.on.iter().map(column).collect();
        match KeyedSide::of(&self.keyed, &columns) {
            Some(side) => Ok(side),
            None => internal_err!("keys can be looked up only in a scan of one relation, by the first of its columns"),
        }
    }

    /// The rows of a batch, joined.
    fn join_rows(
        &self,
        side: &KeyedSide,
        rows: &RecordBatch,
        context: &Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let columns = side.on.iter().map(|&at| {
            let (left, right) = &self.on[at];
            let column = if self.looks_left { right } else { left };
            column.evaluate(rows)?.into_array(rows.num_rows())
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let keys = side.relation().and_then(|relation| keys_of_rows(relation.key(), &columns));
        // Threads that the other partitions leave idle; two in any case, since the last batch of one may come alone.
        let threads = context.session_config().target_partitions();
        let share = (threads / self.properties.partitioning.partition_count().max(1)).max(2).min(threads);
        let found = side.with_keys(&keys.unwrap_or_else(KeySet::all), share)?;
        let batch: Arc<dyn ExecutionPlan> =
            MemorySourceConfig::try_new_exec(&[vec![rows.clone()]], rows.schema(), None)?;
        let inputs = if self.looks_left { (found, batch) } else { (batch, found) };
        let join = HashJoinExec::try_new(
            inputs.0,
            inputs.1,
            self.on.clone(),
            self.filter.clone(),
            &self.join_type,
            None,
            PartitionMode::CollectLeft,
            NullEquality::NullEqualsNothing,
            false,
        )?;
        // The found rows are put into a hash table, and those of the batch pass it.
        match self.looks_left {
            true => join.execute(0, context.clone()),
            false => join.swap_inputs(PartitionMode::CollectLeft)?.execute(0, context.clone()),
        }
    }

    /// The rows of a batch, joined; in parts, if memory is short.
    async fn join_batch(
        &self,
        side: &KeyedSide,
        rows: RecordBatch,
        context: &Arc<TaskContext>,
    ) -> Result<VecDeque<RecordBatch>> {
        let (mut parts, mut joined) = (vec![rows], VecDeque::new());
        while let Some(rows) = parts.pop() {
            let found: Result<Vec<RecordBatch>> = match self.join_rows(side, &rows, context) {
                Ok(stream) => stream.try_collect().await,
                Err(error) => Err(error),
            };
            match found {
                Ok(batches) => joined.extend(batches.into_iter().filter(|batch| batch.num_rows() > 0)),
                Err(error) if is_short_of_memory(&error) && rows.num_rows() > ROWS_MIN => {
                    let half = rows.num_rows() / 2;
                    parts.push(rows.slice(half, rows.num_rows() - half));
                    parts.push(rows.slice(0, half));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(joined)
    }
}

fn is_short_of_memory(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
}

impl DisplayAs for LookUpJoinExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on: Vec<String> = self.on.iter().map(|(left, right)| format!("({left}, {right})")).collect();
        let side = if self.looks_left { "left" } else { "right" };
        write!(formatter, "LookUpJoinExec: join_type={}, on=[{}], look_up={side}", self.join_type, on.join(", "))?;
        if let Some(filter) = &self.filter {
            write!(formatter, ", filter={}", filter.expression())?;
        }
        let mut reads = Some(&self.keyed);
        while let Some(plan) = reads {
            write!(formatter, " <- {}", displayable(plan.as_ref()).one_line().to_string().trim_end())?;
            reads = plan.children().first().copied();
        }
        Ok(())
    }
}

impl ExecutionPlan for LookUpJoinExec {
    one_input!("LookUpJoinExec", stream);

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn apply_expressions(
        &self,
        apply: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let filter = self.filter.iter().map(JoinFilter::expression);
        let columns = self.on.iter().flat_map(|(left, right)| [left, right]);
        datafusion::physical_plan::apply_expression_roots(columns.chain(filter), apply)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.stream.execute(partition, context.clone())?;
        let side = self.side()?;
        let measured = BaselineMetrics::new(&self.metrics, partition);
        let state = State { join: self.clone(), side, input: Some(input), ready: VecDeque::new(), context };
        let joined =
            stream::try_unfold(state, |mut state| async move { Ok(state.next().await?.map(|batch| (batch, state))) });
        let joined = joined.map(move |batch| {
            if let Ok(batch) = &batch {
                measured.record_output(batch.num_rows());
            }
            batch
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), joined)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let mut metrics = self.metrics.clone_inner();
        let read = self.side().ok().and_then(|side| side.scan_metrics());
        for metric in read.iter().flat_map(MetricsSet::iter).filter(|metric| is_of_reads(metric)) {
            metrics.push(metric.clone());
        }
        Some(metrics)
    }
}

/// Whether a metric of a scan is about what it read, rather than about its rows, which the join has metrics of, too.
fn is_of_reads(metric: &Metric) -> bool {
    matches!(metric.value(), MetricValue::Count { .. })
}

/// The state of one partition.
struct State {
    join: LookUpJoinExec,
    side: KeyedSide,
    /// `None` at its end.
    input: Option<SendableRecordBatchStream>,
    ready: VecDeque<RecordBatch>,
    context: Arc<TaskContext>,
}

impl State {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            let Some(rows) = self.rows().await? else { return Ok(None) };
            self.ready = self.join.join_batch(&self.side, rows, &self.context).await?;
        }
    }

    /// The next rows of the input.
    async fn rows(&mut self) -> Result<Option<RecordBatch>> {
        let (mut batches, mut rows) = (Vec::new(), 0);
        while let Some(input) = &mut self.input
            && rows < ROWS_AT_ONCE
        {
            match input.try_next().await? {
                Some(batch) => {
                    rows += batch.num_rows();
                    batches.push(batch);
                }
                None => self.input = None,
            }
        }
        let schema: SchemaRef = self.join.stream.schema();
        if rows == 0 { Ok(None) } else { Ok(Some(concat_batches(&schema, &batches)?)) }
    }
}
