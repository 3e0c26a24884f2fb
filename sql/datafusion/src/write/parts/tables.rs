//! The tables that tasks write.

use super::super::records::{KEYSPACE_VALUE_BYTES_MAX, check_nulls, nullable_columns, write_all};
use super::super::sink::{check_distinct, finished, sort_memory, writer};
use super::super::staging::StagedNames;
use crate::error::{external, external_record};
use crate::relation::key_names;
use crate::unary::unary_plan;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties, InputDistributionRequirements,
    Partitioning, PhysicalExpr, PlanProperties,
};
use futures::{StreamExt, stream};
use ogive::io::{LocatedFile, locate_folder};
use ogive::types::RecordType;
use ogive_arrow::RecordEncoder;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// What is said of a table: its name, how many rows it has, and their range. Of tables of one range, which a task wrote
/// that was run twice, one is meant.
pub(super) static WRITTEN: LazyLock<SchemaRef> = LazyLock::new(|| {
    let fields = [("name", DataType::Utf8), ("rows", DataType::UInt64), ("range", DataType::UInt64)];
    Arc::new(Schema::new(fields.map(|(name, data_type)| Field::new(name, data_type, false)).to_vec()))
});

/// Where tables are written, and which.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TablesPlace {
    /// The folder, by its path or URL.
    pub folder: String,
    /// The names of the tables.
    pub names: StagedNames,
    /// Whether all rows become one table, even if there are none. Otherwise, those of each partition do, and each key
    /// has one row.
    pub is_single: bool,
}

/// Writes the rows of each partition, whose last column is their range, as a table; returns the names of the tables.
#[derive(Clone, Debug)]
pub struct WriteTablesExec {
    input: Arc<dyn ExecutionPlan>,
    place: TablesPlace,
    encoder: RecordEncoder,
    /// For each column, whether the records may have nulls there; what rows come from may say otherwise.
    nullable: Vec<bool>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl WriteTablesExec {
    /// Writes the rows of a [`KeyRangesExec`](super::KeyRangesExec) as records of these types.
    ///
    /// # Errors
    /// Columns that the records do not have, or cannot be without.
    pub fn try_new(input: Arc<dyn ExecutionPlan>, types: &RecordType, place: TablesPlace) -> Result<Self> {
        let schema = input.schema();
        let Some((_, columns)) = schema.fields().split_last() else {
            return internal_err!("rows that are written have no range");
        };
        let schema = Schema::new(columns.to_vec());
        let encoder = RecordEncoder::of_types(&schema, types).map_err(external_record)?;
        let nullable = nullable_columns(&schema, types, true);
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(WRITTEN.clone()),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Final,
            Boundedness::Bounded,
        ));
        Ok(Self { input, place, encoder, nullable, properties, metrics: ExecutionPlanMetricsSet::new() })
    }

    /// The types of the records.
    #[must_use]
    pub fn types(&self) -> &RecordType {
        self.encoder.types()
    }

    /// Where the tables are written.
    #[must_use]
    pub fn place(&self) -> &TablesPlace {
        &self.place
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Self::try_new(input, self.types(), self.place.clone())
    }

    /// A batch, if it has no null where the records have none, and the least of its ranges.
    fn checked(batch: RecordBatch, nullable: &[bool], least: &AtomicU64) -> Result<RecordBatch> {
        check_nulls(&batch, batch.schema_ref(), nullable)?;
        let ranges = batch.columns().last().and_then(|column| column.as_primitive_opt::<UInt64Type>());
        let first = ranges.and_then(datafusion::arrow::compute::min).unwrap_or_default();
        least.fetch_min(first, Ordering::Relaxed);
        Ok(batch)
    }

    /// Writes the rows of a partition; returns the name of their table, their number and their range, if there is one.
    async fn write(
        self,
        mut rows: SendableRecordBatchStream,
        context: Arc<TaskContext>,
    ) -> Result<Option<(String, u64, u64)>> {
        let first = loop {
            match rows.next().await.transpose()? {
                Some(batch) if batch.num_rows() == 0 => {}
                first => break first,
            }
        };
        let TablesPlace { folder, names, is_single } = self.place;
        let nullable = self.nullable;
        if first.is_none() && !is_single {
            return Ok(None);
        }
        let (memory, bytes) =
            (MemoryConsumer::new("OgiveTable").register(context.memory_pool()), sort_memory(&context));
        memory.try_grow(bytes)?;
        let place = LocatedFile { storage: locate_folder(&folder).map_err(external)?, name: names.take() };
        let (name, types) = (place.name.clone(), self.encoder.types().clone());
        let is_final = matches!(names, StagedNames::Final(_));
        let create = {
            let place = place.clone();
            move || writer(place, &types, is_final, bytes)
        };
        let finish = move |writer| {
            let rows = finished(writer)?;
            if !is_single {
                check_distinct(&place, &folder)?;
            }
            Ok(rows)
        };
        let schema = rows.schema();
        let value_bytes_max = if is_single { u64::MAX } else { KEYSPACE_VALUE_BYTES_MAX };
        let least = Arc::new(AtomicU64::new(u64::MAX));
        let rows = {
            let least = least.clone();
            stream::iter(first.map(Ok)).chain(rows).map(move |batch| Self::checked(batch?, &nullable, &least))
        };
        let rows = Box::pin(RecordBatchStreamAdapter::new(schema, rows));
        let rows = write_all(rows, self.encoder, value_bytes_max, create, finish).await?;
        Ok(Some((name, rows, least.load(Ordering::Relaxed))))
    }
}

impl DisplayAs for WriteTablesExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "WriteTablesExec: folder={}, key=[{}]", self.place.folder, key_names(self.types()).join(", "))
    }
}

impl ExecutionPlan for WriteTablesExec {
    unary_plan!("WriteTablesExec");

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let schema = self.input.schema();
        let last = schema.fields().len().saturating_sub(1);
        let range: Arc<dyn PhysicalExpr> = Arc::new(Column::new(schema.field(last).name(), last));
        InputDistributionRequirements::new(vec![match self.place.is_single {
            true => Distribution::SinglePartition,
            false => Distribution::KeyPartitioned(vec![range]),
        }])
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context.clone())?;
        let measured = BaselineMetrics::new(&self.metrics, partition);
        let plan = self.clone();
        let written = stream::once(async move {
            let written = plan.write(rows, context).await?;
            measured.record_output(usize::from(written.is_some()));
            let columns: Vec<arrow_array::ArrayRef> = vec![
                Arc::new(StringArray::from_iter_values(written.iter().map(|(name, ..)| name))),
                Arc::new(UInt64Array::from_iter_values(written.iter().map(|(_, rows, _)| *rows))),
                Arc::new(UInt64Array::from_iter_values(written.iter().map(|(.., range)| *range))),
            ];
            Ok(RecordBatch::try_new(WRITTEN.clone(), columns)?)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(WRITTEN.clone(), written)))
    }
}
