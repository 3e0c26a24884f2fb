//! The order of rows after exchanges and joins, and limits on ordered rows.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
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

/// Sorts the rows of hash joins whose order is needed, instead of those of a side: the scheduler of Ballista 55 swaps
/// the sides of a join when it knows how many rows they have, and forgets that one had an order.
#[derive(Debug)]
pub(crate) struct SortBehindJoins;

impl PhysicalOptimizerRule for SortBehindJoins {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        // The order of a query is not told from one that its plan has by chance.
        let is_needed = plan.output_ordering().is_some();
        sorted_joins(plan, is_needed)
    }

    fn name(&self) -> &str {
        "sort_behind_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The same plan, with its joins sorted where their order is needed.
fn sorted_joins(plan: Arc<dyn ExecutionPlan>, is_needed: bool) -> Result<Arc<dyn ExecutionPlan>> {
    let swapped = plan.downcast_ref::<HashJoinExec>().is_some_and(|join| join.join_type().supports_swap());
    let order = plan.output_ordering().filter(|_| swapped && is_needed).cloned();
    let needs = needed_orders(&*plan, is_needed && order.is_none());
    let inputs = plan.children().into_iter().zip(needs).map(|(input, is_needed)| {
        let sort = input.downcast_ref::<SortExec>().filter(|sort| order.is_some() && sort.fetch().is_none());
        sorted_joins(sort.map_or(input, SortExec::input).clone(), is_needed)
    });
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    let plan = replace_children_if_necessary(plan, inputs)?;
    let Some(order) = order else { return Ok(plan) };
    let is_parted = plan.output_partitioning().partition_count() > 1;
    Ok(Arc::new(SortExec::new(order, plan).with_preserve_partitioning(is_parted)))
}

/// Whether the order of each input is needed: by the plan itself, or for its own order, where that is needed.
fn needed_orders(plan: &dyn ExecutionPlan, is_needed: bool) -> Vec<bool> {
    let inputs = plan.required_input_ordering().into_iter().zip(plan.maintains_input_order());
    inputs.map(|(required, is_maintained)| required.is_some() || is_needed && is_maintained).collect()
}

/// Has a sort do what merges with a limit do, where no order is needed above them: when the scheduler of Ballista 55
/// plans a stage, DataFusion 55 takes such a merge for superfluous, and its limit goes with it. Sorts with a limit
/// stay.
#[derive(Debug)]
pub(crate) struct SortForLimits;

impl PhysicalOptimizerRule for SortForLimits {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let is_needed = plan.output_ordering().is_some();
        without_limited_merges(plan, is_needed)
    }

    fn name(&self) -> &str {
        "sort_for_limits"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The same plan, with sorts for its merges with a limit whose order is not needed.
fn without_limited_merges(plan: Arc<dyn ExecutionPlan>, is_needed: bool) -> Result<Arc<dyn ExecutionPlan>> {
    let inputs = plan.children().into_iter().zip(needed_orders(&*plan, is_needed));
    let inputs = inputs.map(|(input, is_needed)| without_limited_merges(input.clone(), is_needed));
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    let plan = replace_children_if_necessary(plan, inputs)?;
    match plan.downcast_ref::<SortPreservingMergeExec>() {
        Some(merge) if merge.fetch().is_some() && !is_needed => {
            let rows = Arc::new(CoalescePartitionsExec::new(merge.input().clone()));
            Ok(Arc::new(SortExec::new(merge.expr().clone(), rows).with_fetch(merge.fetch())))
        }
        _ => Ok(plan),
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
