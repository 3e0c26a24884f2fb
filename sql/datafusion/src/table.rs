//! A table as a table of DataFusion.

use crate::error::external;
use crate::filter::KeyColumn;
use crate::key_set::KeySet;
use crate::partition::{count, cut};
use crate::source::{OgiveSource, PartitionKeys};
use arrow_schema::{SchemaRef, SortOptions};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use ogive::types::ColumnPlace;
use ogive::{Error, Table};
use std::sync::Arc;

/// A table file as a table of DataFusion: the columns of the key, and the value or its fields.
#[derive(Debug)]
pub struct OgiveTable {
    table: Table,
    schema: SchemaRef,
    /// The column of the key, unless the key is a tuple, or the column has another order.
    key: Option<KeyColumn>,
    /// The position of that column.
    key_at: usize,
}

impl OgiveTable {
    /// Takes an open table.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a file of a store, whose records may be of several versions.
    pub fn new(table: Table) -> ogive::Result<Self> {
        if table.is_versioned() {
            let message = format!("{} is a file of a store; register the store", table.path().display());
            return Err(Error::InvalidArgument(message));
        }
        let schema = ogive_arrow::schema_of(table.record_type(), false);
        let columns = table.record_type().columns();
        let key_at = columns.iter().position(|column| matches!(column.place, ColumnPlace::Key(_))).unwrap_or(0);
        let key = KeyColumn::is_ordered(table.key_type()).then(|| KeyColumn {
            name: schema.field(key_at).name().clone(),
            key_type: table.key_type(),
            data_type: schema.field(key_at).data_type().clone(),
        });
        Ok(Self { table, schema, key, key_at })
    }

    fn keys_of(&self, filter: &Expr) -> Option<KeySet> {
        self.key.as_ref()?.keys_of(filter)
    }

    fn statistics_of(&self, rows: u64, is_exact: bool) -> Statistics {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let num_rows = if is_exact { Precision::Exact(rows) } else { Precision::Inexact(rows) };
        let mut column_statistics = vec![ColumnStatistics::new_unknown(); self.schema.fields().len()];
        if let Some(column) = column_statistics.get_mut(self.key_at) {
            column.null_count = Precision::Exact(0);
        }
        Statistics { num_rows, total_byte_size: Precision::Absent, column_statistics }
    }
}

#[async_trait]
impl TableProvider for OgiveTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn statistics(&self) -> Option<Statistics> {
        Some(self.statistics_of(self.table.len(), true))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let pushdown = |filter: &&Expr| match self.keys_of(filter) {
            Some(_) => TableProviderFilterPushDown::Exact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(pushdown).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let conditions = filters.iter().map(Expr::to_string).collect();
        let keys = filters.iter().filter_map(|filter| self.keys_of(filter));
        let keys = keys.fold(KeySet::all(), |keys, other| keys.intersection(&other));
        let most = if limit.is_some() { 1 } else { state.config().target_partitions() };
        let table = self.table.clone();
        let read = move || Ok((count(&table, &keys)?, cut(&table, &keys, most)?));
        let planned = tokio::task::spawn_blocking(read).await;
        let ((rows, is_exact), parts) =
            planned.map_err(|error| external(Error::InvalidArgument(error.to_string())))?.map_err(external)?;

        let path = self.table.path().display().to_string();
        let group = |keys: KeySet| {
            let file = PartitionedFile::new(path.clone(), self.table.explain().file_bytes);
            FileGroup::new(vec![file.with_extension(PartitionKeys(keys))])
        };
        let source = OgiveSource::new(self.table.clone(), TableSchema::from(self.schema()), conditions);
        let mut builder = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), Arc::new(source))
            .with_file_groups(parts.into_iter().map(group).collect())
            .with_statistics(self.statistics_of(rows, is_exact))
            .with_limit(limit);
        if let Some(key) = &self.key {
            let options = SortOptions { descending: false, nulls_first: false };
            let by_key = PhysicalSortExpr::new(Arc::new(Column::new(&key.name, self.key_at)), options);
            builder = builder.with_output_ordering(LexOrdering::new(vec![by_key]).into_iter().collect());
        }
        let config = builder.with_projection_indices(projection.cloned())?.build();
        Ok(DataSourceExec::from_data_source(config))
    }
}
