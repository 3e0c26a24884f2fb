//! Constant rows, without a table, in the plans of a cluster.

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;

/// Makes the row of a `select` without a table, and relations without rows, the memory sources that they are in tasks
/// of which no partition is theirs. A scheduler of Ballista 55 puts a memory source there itself, which has metrics
/// where these nodes have none; it then throws away what other tasks of the stage report, and their query has no end.
///
/// A limit on rows in memory is cut off as well, since the scheduler forgets it where it takes partitions apart.
#[derive(Debug)]
pub(crate) struct ConstantsInMemory;

impl PhysicalOptimizerRule for ConstantsInMemory {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let optimized = plan.transform_up(|plan| {
            let partitions = plan.output_partitioning().partition_count();
            if plan.is::<EmptyExec>() {
                let none = vec![Vec::new(); partitions];
                return Ok(Transformed::yes(MemorySourceConfig::try_new_exec(&none, plan.schema(), None)?));
            }
            // The planner of SQL makes no others than those without columns.
            if plan.is::<PlaceholderRowExec>() && plan.schema().fields().is_empty() {
                let row = vec![vec![row_without_columns(plan.schema())?]; partitions];
                return Ok(Transformed::yes(MemorySourceConfig::try_new_exec(&row, plan.schema(), None)?));
            }
            match limited_rows(&plan) {
                Some(source) => Ok(Transformed::yes(DataSourceExec::from_data_source(source?) as _)),
                None => Ok(Transformed::no(plan)),
            }
        });
        Ok(optimized?.data)
    }

    fn name(&self) -> &str {
        "constants_in_memory"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn row_without_columns(schema: SchemaRef) -> Result<RecordBatch> {
    let one = RecordBatchOptions::new().with_row_count(Some(1));
    Ok(RecordBatch::try_new_with_options(schema, Vec::new(), &one)?)
}

/// Rows in memory without those behind the limit; `None` if the plan is not a source of such rows with a limit.
fn limited_rows(plan: &Arc<dyn ExecutionPlan>) -> Option<Result<MemorySourceConfig>> {
    let source = plan.downcast_ref::<DataSourceExec>()?.data_source();
    let rows_max = source.fetch()?;
    let source = source.downcast_ref::<MemorySourceConfig>()?;
    let partitions: Vec<Vec<RecordBatch>> = source.partitions().iter().map(|all| first_rows(all, rows_max)).collect();
    let is_in_order = !source.sort_information().is_empty();
    let limited = MemorySourceConfig::try_new(&partitions, source.original_schema(), source.projection().clone());
    (!is_in_order).then_some(limited)
}

/// The first rows of a partition.
fn first_rows(batches: &[RecordBatch], mut left: usize) -> Vec<RecordBatch> {
    let mut first = Vec::new();
    for batch in batches {
        let rows = batch.num_rows().min(left);
        if rows == 0 {
            break;
        }
        first.push(batch.slice(0, rows));
        left -= rows;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Int32Array;
    use datafusion::arrow::datatypes::Schema;
    use datafusion::physical_plan::collect;
    use datafusion::prelude::SessionContext;

    async fn optimized(plan: Arc<dyn ExecutionPlan>) -> (Arc<dyn ExecutionPlan>, usize) {
        let plan = ConstantsInMemory.optimize(plan, &ConfigOptions::new()).unwrap();
        let batches = collect(plan.clone(), SessionContext::new().task_ctx()).await.unwrap();
        (plan, batches.iter().map(RecordBatch::num_rows).sum())
    }

    #[tokio::test]
    async fn nodes_without_metrics_become_sources_with_the_same_rows() {
        let none: SchemaRef = Arc::new(Schema::empty());
        let (row, rows) = optimized(Arc::new(PlaceholderRowExec::new(none.clone()).with_partitions(2))).await;
        assert!(row.metrics().is_some() && row.output_partitioning().partition_count() == 2 && rows == 2);
        let (empty, rows) = optimized(Arc::new(EmptyExec::new(none).with_partitions(3))).await;
        assert!(empty.metrics().is_some() && empty.output_partitioning().partition_count() == 3 && rows == 0);
    }

    #[tokio::test]
    async fn a_limit_on_rows_in_memory_is_cut_off() {
        let numbers = |range: std::ops::Range<i32>| {
            RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from_iter_values(range)) as _)]).unwrap()
        };
        let source = |limit| {
            let partitions = [vec![numbers(0..2), numbers(2..5)], vec![numbers(5..6)]];
            let source = MemorySourceConfig::try_new(&partitions, numbers(0..1).schema(), None).unwrap();
            DataSourceExec::from_data_source(source.with_limit(limit))
        };
        let (cut, rows) = optimized(source(Some(3))).await;
        assert_eq!((cut.fetch(), rows), (None, 4));
        assert_eq!(optimized(source(None)).await.1, 6);
    }
}
