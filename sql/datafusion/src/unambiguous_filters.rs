//! Conditions that become known at run time, without pushdown where columns have the same name.

use crate::unary::one_input;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// The rule of DataFusion that hands conditions down, to plans whose columns all have different names.
///
/// In version 55, operators between joins find the columns of such a condition by their names. Of a join with two
/// columns of one name, as every join of a table with itself has, a condition on one was applied to the other, and rows
/// were lost. Conditions are not handed down into such plans, and those that arise within them are.
#[derive(Debug)]
pub(crate) struct UnambiguousFilters {
    pub(crate) rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>,
}

impl PhysicalOptimizerRule for UnambiguousFilters {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let barred = plan.transform_up(|plan| match is_ambiguous(&plan) {
            true => Ok(Transformed::yes(Arc::new(BarrierExec { input: plan }) as Arc<dyn ExecutionPlan>)),
            false => Ok(Transformed::no(plan)),
        })?;
        let optimized = self.rule.optimize(barred.data, config)?;
        let freed = optimized.transform_up(|plan| match plan.downcast_ref::<BarrierExec>() {
            Some(barrier) => Ok(Transformed::yes(barrier.input.clone())),
            None => Ok(Transformed::no(plan)),
        });
        Ok(freed?.data)
    }

    fn name(&self) -> &str {
        self.rule.name()
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}

/// Whether several columns of a plan have one name.
fn is_ambiguous(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let schema = plan.schema();
    let mut names = HashSet::with_capacity(schema.fields().len());
    !schema.fields().iter().all(|field| names.insert(field.name()))
}

/// Lets no condition pass; there is none in a plan that runs.
#[derive(Clone, Debug)]
struct BarrierExec {
    input: Arc<dyn ExecutionPlan>,
}

impl BarrierExec {
    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Ok(Self { input })
    }
}

impl DisplayAs for BarrierExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BarrierExec")
    }
}

impl ExecutionPlan for BarrierExec {
    one_input!("BarrierExec", input);

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
