//! Rows in order behind exchanges.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning};
use std::sync::Arc;

/// Sorts the rows behind exchanges that would keep their order in one process. Those of Ballista 55 do not, unless it
/// adapts the plan, and merges above them would lose rows.
#[derive(Debug)]
pub(crate) struct SortBehindExchanges;

impl PhysicalOptimizerRule for SortBehindExchanges {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let sorted = plan.transform_up(|plan| {
            let (Some(exchange), Some(order)) = (plan.downcast_ref::<RepartitionExec>(), plan.output_ordering()) else {
                return Ok(Transformed::no(plan));
            };
            if !matches!(exchange.partitioning(), Partitioning::Hash(..)) {
                return Ok(Transformed::no(plan));
            }
            let order = order.clone();
            let exchange = RepartitionExec::try_new(exchange.input().clone(), exchange.partitioning().clone())?;
            let sort = SortExec::new(order, Arc::new(exchange)).with_preserve_partitioning(true);
            Ok(Transformed::yes(Arc::new(sort) as Arc<dyn ExecutionPlan>))
        });
        Ok(sorted?.data)
    }

    fn name(&self) -> &str {
        "sort_behind_exchanges"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Int32Array, RecordBatch};
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::datasource::source::DataSourceExec;
    use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
    use datafusion::physical_plan::displayable;
    use datafusion::physical_plan::expressions::col;

    #[test]
    fn rows_that_an_exchange_would_keep_in_order_are_sorted_behind_it() {
        let numbers = Int32Array::from(vec![1, 2, 3]);
        let batch = RecordBatch::try_from_iter([("n", Arc::new(numbers) as _)]).unwrap();
        let column = col("n", &batch.schema()).unwrap();
        let order = LexOrdering::new([PhysicalSortExpr::new_default(column.clone())]).unwrap();
        let source = MemorySourceConfig::try_new(&[vec![batch.clone()], vec![batch.clone()]], batch.schema(), None);
        let source = source.unwrap().try_with_sort_information(vec![order]).unwrap();
        let source = DataSourceExec::from_data_source(source);
        let exchange = |source| RepartitionExec::try_new(source, Partitioning::Hash(vec![column.clone()], 3)).unwrap();
        let optimized = |plan: RepartitionExec| {
            let plan = SortBehindExchanges.optimize(Arc::new(plan), &ConfigOptions::new()).unwrap();
            let shown = displayable(plan.as_ref()).indent(false).to_string();
            (shown, plan.output_ordering().is_some())
        };
        let (shown, is_in_order) = optimized(exchange(source.clone()).with_preserve_order());
        assert!(
            shown.starts_with("SortExec: expr=[n@0 ASC], preserve_partitioning=[true]\n  RepartitionExec"),
            "{shown}"
        );
        assert!(is_in_order && !shown.contains("preserve_order=true"), "{shown}");
        let (shown, is_in_order) = optimized(exchange(source));
        assert!(shown.starts_with("RepartitionExec") && !is_in_order, "{shown}");
    }
}
