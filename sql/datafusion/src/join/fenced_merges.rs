//! Fences above merges.

use super::fence::{FenceExec, Hidden};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::SortMergeJoinExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;

/// Puts a [`FenceExec`] above each merge, and one that hides the order between a merge and a sort by another order.
///
/// DataFusion 55 moves a sort by further columns below a merge, to the right side, whose rows a merge repeats for each
/// row of the left one: they are then not in order. And it finds the order of a merge sufficient where that of a
/// projection above it is not: a column that may be null equals one that may not, so that the place of nulls does not
/// matter, until the other column is left out. It then hands a limit through the merge to the sides, which lack rows,
/// and refuses its own plan. To be applied before the rules of DataFusion.
#[derive(Debug)]
pub(crate) struct FenceMerges;

impl PhysicalOptimizerRule for FenceMerges {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let fenced = plan.transform_up(|plan| {
            let inputs = plan.children().into_iter().map(|input| match input.is::<SortMergeJoinExec>() {
                true if !plan.is::<FenceExec>() => Arc::new(FenceExec::new(input.clone(), Hidden::Nothing)) as _,
                _ => input.clone(),
            });
            let inputs = inputs.collect();
            let plan = replace_children_if_necessary(plan, inputs)?;
            let Some(sort) = plan.downcast_ref::<SortExec>() else { return Ok(Transformed::yes(plan)) };
            let input = sort.input();
            if input.equivalence_properties().ordering_satisfy(sort.expr().clone())? {
                return Ok(Transformed::yes(plan));
            }
            match with_hidden_order(input)? {
                Some(input) => Ok(Transformed::yes(replace_children_if_necessary(plan, vec![input])?)),
                None => Ok(Transformed::yes(plan)),
            }
        });
        Ok(fenced?.data)
    }

    fn name(&self) -> &str {
        "fence_merges"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A chain of plans of one input whose fence hides the order of the merge at its end; `None` if there is no merge.
fn with_hidden_order(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    match &plan.children()[..] {
        [merge] if plan.is::<FenceExec>() => {
            Ok(merge.is::<SortMergeJoinExec>().then(|| Arc::new(FenceExec::new((*merge).clone(), Hidden::Order)) as _))
        }
        [input] => match with_hidden_order(input)? {
            Some(input) => replace_children_if_necessary(plan.clone(), vec![input]).map(Some),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}
