//! Merges below a sort with a limit.

use super::fence::FenceExec;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::SortMergeJoinExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;

/// Puts a [`FenceExec`] between a sort with a limit and a merge whose rows are not in the order of the sort.
///
/// DataFusion 55 finds the order of a merge sufficient where that of a projection above it is not: a column that may be
/// null equals one that may not, so that the place of nulls does not matter, until the other column is left out. It
/// then hands the limit through the merge to the sides, which lack rows, and refuses its own plan. To be applied before
/// the rules of DataFusion.
#[derive(Debug)]
pub(crate) struct FenceLimitedMerges;

impl PhysicalOptimizerRule for FenceLimitedMerges {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let fenced = plan.transform_up(|plan| {
            let Some(sort) = plan.downcast_ref::<SortExec>().filter(|sort| sort.fetch().is_some()) else {
                return Ok(Transformed::no(plan));
            };
            let input = sort.input();
            if input.equivalence_properties().ordering_satisfy(sort.expr().clone())? {
                return Ok(Transformed::no(plan));
            }
            match fenced_merge(input)? {
                Some(input) => Ok(Transformed::yes(replace_children_if_necessary(plan, vec![input])?)),
                None => Ok(Transformed::no(plan)),
            }
        });
        Ok(fenced?.data)
    }

    fn name(&self) -> &str {
        "fence_limited_merges"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A chain of plans of one input with a fence above the merge at its end; `None` if there is no merge.
fn fenced_merge(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if plan.is::<SortMergeJoinExec>() {
        return Ok(Some(Arc::new(FenceExec::hiding_order(plan.clone()))));
    }
    match &plan.children()[..] {
        [input] if !plan.is::<FenceExec>() => match fenced_merge(input)? {
            Some(input) => replace_children_if_necessary(plan.clone(), vec![input]).map(Some),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}
