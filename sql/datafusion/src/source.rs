//! The source of a scan: which keys of a table are read, and which columns.

use crate::key_set::KeySet;
use crate::scan::TableScan;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::config::ConfigOptions;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener, FileScanConfig, FileSource};
use datafusion::datasource::projection::{ProjectionOpener, SplitProjection};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, PhysicalExpr};
use futures::StreamExt;
use ogive::Table;
use std::fmt;
use std::sync::Arc;

/// Rows of a batch, unless the engine says otherwise.
const BATCH_ROWS: usize = 8192;

/// The keys of a partition.
#[derive(Clone, Debug)]
pub(crate) struct PartitionKeys(pub(crate) KeySet);

/// The source of the rows of a table.
#[derive(Clone)]
pub struct OgiveSource {
    table: Table,
    table_schema: TableSchema,
    projection: SplitProjection,
    batch_rows: usize,
    /// Conditions that were pushed down, for `EXPLAIN`.
    conditions: Vec<String>,
    metrics: ExecutionPlanMetricsSet,
}

impl OgiveSource {
    pub(crate) fn new(table: Table, table_schema: TableSchema, conditions: Vec<String>) -> Self {
        let projection = SplitProjection::unprojected(&table_schema);
        let metrics = ExecutionPlanMetricsSet::new();
        Self { table, table_schema, projection, batch_rows: BATCH_ROWS, conditions, metrics }
    }
}

impl FileSource for OgiveSource {
    fn create_file_opener(
        &self,
        _: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        _: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let opener = TableOpener {
            table: self.table.clone(),
            columns: self.projection.file_indices.clone(),
            batch_rows: self.batch_rows,
            limit: config.limit,
        };
        ProjectionOpener::try_new(self.projection.clone(), Arc::new(opener), self.table_schema.file_schema())
    }

    fn table_schema(&self) -> &TableSchema {
        &self.table_schema
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        Arc::new(Self { batch_rows: batch_size, ..self.clone() })
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection.source)
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        "ogive"
    }

    fn fmt_extra(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.conditions[..] {
            [] => Ok(()),
            conditions => write!(formatter, ", keys=[{}]", conditions.join(" AND ")),
        }
    }

    /// Partitions are ranges of keys, not of bytes.
    fn supports_repartitioning(&self) -> bool {
        false
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        Ok(FilterPushdownPropagation::with_parent_pushdown_result(vec![PushedDown::No; filters.len()]))
    }

    fn try_pushdown_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn FileSource>>> {
        let merged = self.projection.source.try_merge(projection)?;
        let projection = SplitProjection::new(self.table_schema.file_schema(), &merged);
        Ok(Some(Arc::new(Self { projection, ..self.clone() })))
    }

    fn apply_expressions(
        &self,
        apply: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        datafusion::physical_plan::apply_expression_roots(self.projection.source.iter(), apply)
    }
}

struct TableOpener {
    table: Table,
    columns: Vec<usize>,
    batch_rows: usize,
    limit: Option<usize>,
}

impl FileOpener for TableOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let keys = file
            .extension::<PartitionKeys>()
            .ok_or_else(|| DataFusionError::Internal("a partition of an Ogive table has no keys".to_owned()))?;
        let scan = TableScan::new(self.table.clone(), &keys.0, &self.columns, self.batch_rows, self.limit);
        // The engine waits for storage, which must not hold up the other tasks of a thread.
        let mut builder = datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder::new(scan.schema(), 2);
        let sender = builder.tx();
        builder.spawn_blocking(move || {
            for batch in scan {
                let is_last = batch.is_err();
                // The receiver is gone when the query ends.
                if sender.blocking_send(batch).is_err() || is_last {
                    break;
                }
            }
            Ok(())
        });
        let stream = builder.build();
        Ok(Box::pin(async move { Ok(stream.boxed()) }))
    }
}
