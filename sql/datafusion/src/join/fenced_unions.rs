//! Fences above unions.

use super::fence::{FenceExec, Hidden, is_known};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchemaRef, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A plan whose unions are planned with a [`FenceExec`] above each of which a column is constant in each input, and not
/// known to be the same in all. To be applied to the plan that is optimised.
///
/// DataFusion 55 leaves such a column out of a sort, as one that has a single value: rows of a union in the order of a
/// key were not in the order of the constants that tell its sides apart. That begins when a sort is planned, and a copy
/// takes over its order.
pub(crate) fn with_fenced_unions(plan: LogicalPlan) -> Result<LogicalPlan> {
    let fenced = plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Union(_) => {
            let node = Arc::new(FencedUnion { input: plan });
            Ok(Transformed::yes(LogicalPlan::Extension(Extension { node })))
        }
        plan => Ok(Transformed::no(plan)),
    });
    Ok(fenced?.data)
}

/// A union, and perhaps a fence above it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FencedUnion {
    input: LogicalPlan,
}

/// Nodes have no order.
impl PartialOrd for FencedUnion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for FencedUnion {
    fn name(&self) -> &str {
        "FencedUnion"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("FencedUnion")
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match (inputs.pop(), inputs.pop()) {
            (Some(input), None) => Ok(Self { input }),
            _ => internal_err!("there is a fence above one union"),
        }
    }
}

/// Plans the unions of [`with_fenced_unions`].
#[derive(Debug)]
pub(crate) struct FencePlanner;

#[async_trait]
impl ExtensionPlanner for FencePlanner {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if !node.as_any().is::<FencedUnion>() {
            return Ok(None);
        }
        let [union] = inputs else { return internal_err!("there is a fence above one union") };
        let is_known = union.equivalence_properties().constants().iter().all(is_known);
        Ok(Some(match is_known {
            true => union.clone(),
            false => Arc::new(FenceExec::new(union.clone(), Hidden::Constants)),
        }))
    }
}
