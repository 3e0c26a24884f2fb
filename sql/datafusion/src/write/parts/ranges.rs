//! The range of keys that each row belongs to.

use super::encoder::KeyEncoder;
use crate::relation::key_names;
use crate::unary::unary_plan;
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use datafusion::common::hash_utils::create_hashes;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::repartition::REPARTITION_RANDOM_STATE;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PhysicalExpr, PlanProperties,
};
use futures::StreamExt;
use ogive::types::RecordType;
use std::fmt;
use std::sync::Arc;

/// The name of the column that tells the range of a row.
const RANGE: &str = "range";
/// Labels that are tried for a range: one in as many as there are partitions fits.
const TRIES_PER_PARTITION: u64 = 64;

/// Adds to each row the range that its key belongs to, as a last column, by which an exchange hands it on.
///
/// Engines exchange rows by the hash of a column. So a range has a number whose hash leads to a partition of its own.
#[derive(Clone, Debug)]
pub struct KeyRangesExec {
    input: Arc<dyn ExecutionPlan>,
    types: RecordType,
    cuts: Arc<[Vec<u8>]>,
    partitions: usize,
    encoder: KeyEncoder,
    /// The numbers of the ranges.
    labels: Arc<[u64]>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl KeyRangesExec {
    /// Tells the ranges of rows that are records of these types. `cuts` are the keys, in ascending order, at which all
    /// ranges but the first begin; rows are exchanged to `partitions`.
    ///
    /// # Errors
    /// Columns that are not there, or of types that no key has.
    pub fn try_new(
        input: Arc<dyn ExecutionPlan>,
        types: RecordType,
        cuts: Vec<Vec<u8>>,
        partitions: usize,
    ) -> Result<Self> {
        let encoder = KeyEncoder::new(&input.schema(), &types)?;
        let labels = labels(cuts.len() + 1, partitions)?.into();
        let mut fields = input.schema().fields().to_vec();
        fields.push(Arc::new(Field::new(RANGE, DataType::UInt64, false)));
        let schema = Arc::new(Schema::new_with_metadata(fields, input.schema().metadata().clone()));
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Self { input, types, cuts: cuts.into(), partitions, encoder, labels, properties, metrics })
    }

    /// The types of the records.
    #[must_use]
    pub fn types(&self) -> &RecordType {
        &self.types
    }

    /// The keys at which all ranges but the first begin.
    #[must_use]
    pub fn cuts(&self) -> &[Vec<u8>] {
        &self.cuts
    }

    /// The partitions that rows are exchanged to.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.partitions
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Self::try_new(input, self.types.clone(), self.cuts.to_vec(), self.partitions)
    }

    /// The rows of a batch, with their ranges.
    fn with_ranges(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut ranges = Vec::with_capacity(batch.num_rows());
        self.encoder
            .visit(batch, |key| ranges.push(self.labels[self.cuts.partition_point(|cut| cut.as_slice() <= key)]))?;
        let mut columns = batch.columns().to_vec();
        columns.push(Arc::new(UInt64Array::from(ranges)));
        Ok(RecordBatch::try_new(self.schema(), columns)?)
    }
}

/// For each range, a number whose hash leads to another partition than those of as many ranges as there are partitions.
fn labels(ranges: usize, partitions: usize) -> Result<Vec<u64>> {
    let partitions = partitions.max(1) as u64;
    let candidates: Vec<u64> = (0..partitions * TRIES_PER_PARTITION).collect();
    let array: ArrayRef = Arc::new(UInt64Array::from(candidates));
    let mut hashes = vec![0; array.len()];
    create_hashes([&array], REPARTITION_RANDOM_STATE.random_state(), &mut hashes)?;
    let label = |range: u64| {
        let found = hashes.iter().position(|hash| hash % partitions == range % partitions);
        // Ranges of one partition share a number: they become one table.
        found.map_or(range, |at| at as u64)
    };
    Ok((0..ranges as u64).map(label).collect())
}

impl DisplayAs for KeyRangesExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "KeyRangesExec: key=[{}], ranges={}", key_names(&self.types).join(", "), self.labels.len())
    }
}

impl ExecutionPlan for KeyRangesExec {
    unary_plan!("KeyRangesExec");

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context)?;
        let (plan, measured) = (self.clone(), BaselineMetrics::new(&self.metrics, partition));
        let labelled = rows.map(move |batch| {
            let batch = plan.with_ranges(&batch?)?;
            measured.record_output(batch.num_rows());
            Ok(batch)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), labelled)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::physical_plan::repartition::RepartitionExec;
    use datafusion::prelude::SessionContext;
    use ogive_arrow::RecordEncoder;

    /// As many ranges as partitions: the exchange of the engine gives each partition one range.
    #[tokio::test]
    async fn each_partition_gets_one_range() {
        let keys: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..1_000));
        let batch = RecordBatch::try_from_iter([("k", keys)]).unwrap();
        let types = RecordEncoder::new(&batch.schema(), &["k".to_owned()], None).unwrap().types().clone();
        for partitions in [1, 2, 3, 7, 16, 50] {
            let source = MemorySourceConfig::try_new_exec(&[vec![batch.clone()]], batch.schema(), None).unwrap();
            let cut = |range: usize| (1_000 * range / partitions) as u64;
            let cuts = (1..partitions).map(|range| cut(range).to_be_bytes().to_vec()).collect();
            let ranges = KeyRangesExec::try_new(source, types.clone(), cuts, partitions).unwrap();
            let last = datafusion::physical_expr::expressions::col(RANGE, &ranges.schema()).unwrap();
            let exchange = RepartitionExec::try_new(Arc::new(ranges), Partitioning::Hash(vec![last], partitions));
            let exchange: Arc<dyn ExecutionPlan> = Arc::new(exchange.unwrap());
            for partition in 0..partitions {
                let context = SessionContext::new().task_ctx();
                let rows: Vec<_> = exchange.execute(partition, context).unwrap().collect().await;
                let count: usize = rows.iter().map(|batch| batch.as_ref().unwrap().num_rows()).sum();
                assert_eq!(count as u64, cut(partition + 1) - cut(partition), "{partition} of {partitions}");
            }
        }
    }
}
