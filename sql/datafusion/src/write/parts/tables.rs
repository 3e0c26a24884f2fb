//! The tables that tasks write.

use super::super::records::write_all;
use super::super::sink::{check_distinct, finished, sort_memory, writer};
use super::super::staging::StagedNames;
use super::encoder::encoder_of;
use super::unary::unary_plan;
use crate::error::external;
use arrow_array::{RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties, InputDistributionRequirements,
    Partitioning, PhysicalExpr, PlanProperties,
};
use futures::{StreamExt, stream};
use ogive::io::{Place, locate_folder};
use ogive_arrow::RecordEncoder;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// What is said of a table: its name, and how many rows it has.
static WRITTEN: LazyLock<SchemaRef> = LazyLock::new(|| {
    let fields = [Field::new("name", DataType::Utf8, false), Field::new("rows", DataType::UInt64, false)];
    Arc::new(Schema::new(fields.to_vec()))
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
    key: Vec<String>,
    place: TablesPlace,
    encoder: RecordEncoder,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl WriteTablesExec {
    /// Writes the rows of a [`KeyRangesExec`](super::KeyRangesExec), whose keys are these columns.
    ///
    /// # Errors
    /// Columns that are not there, or of types that no record has.
    pub fn try_new(input: Arc<dyn ExecutionPlan>, key: Vec<String>, place: TablesPlace) -> Result<Self> {
        let schema = input.schema();
        let Some(range) = schema.fields().len().checked_sub(1) else {
            return internal_err!("rows that are written have no range");
        };
        let encoder = encoder_of(&schema.project(&(0..range).collect::<Vec<_>>())?, &key)?;
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(WRITTEN.clone()),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Final,
            Boundedness::Bounded,
        ));
        Ok(Self { input, key, place, encoder, properties, metrics: ExecutionPlanMetricsSet::new() })
    }

    /// The columns of the key.
    #[must_use]
    pub fn key(&self) -> &[String] {
        &self.key
    }

    /// Where the tables are written.
    #[must_use]
    pub fn place(&self) -> &TablesPlace {
        &self.place
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Self::try_new(input, self.key.clone(), self.place.clone())
    }

    /// Writes the rows of a partition; returns the name of their table and their number, if there is one.
    async fn write(
        self,
        mut rows: SendableRecordBatchStream,
        context: Arc<TaskContext>,
    ) -> Result<Option<(String, u64)>> {
        let first = loop {
            match rows.next().await.transpose()? {
                Some(batch) if batch.num_rows() == 0 => {}
                first => break first,
            }
        };
        let TablesPlace { folder, names, is_single } = self.place;
        if first.is_none() && !is_single {
            return Ok(None);
        }
        let (memory, bytes) =
            (MemoryConsumer::new("OgiveTable").register(context.memory_pool()), sort_memory(&context));
        memory.try_grow(bytes)?;
        let place = Place { storage: locate_folder(&folder).map_err(external)?, name: names.take() };
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
        let rows = stream::iter(first.map(Ok)).chain(rows);
        let rows = Box::pin(RecordBatchStreamAdapter::new(schema, rows));
        let rows = write_all(rows, self.encoder, create, finish).await?;
        Ok(Some((name, rows)))
    }
}

impl DisplayAs for WriteTablesExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "WriteTablesExec: folder={}, key=[{}]", self.place.folder, self.key.join(", "))
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
            let (names, rows): (Vec<_>, Vec<_>) = plan.write(rows, context).await?.into_iter().unzip();
            measured.record_output(names.len());
            let columns: Vec<arrow_array::ArrayRef> =
                vec![Arc::new(StringArray::from(names)), Arc::new(UInt64Array::from(rows))];
            Ok(RecordBatch::try_new(WRITTEN.clone(), columns)?)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(WRITTEN.clone(), written)))
    }
}
