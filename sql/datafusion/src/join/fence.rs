//! A fence between a join with a condition and projections above it.

use crate::unary::one_input;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{JoinType, internal_err};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties, Statistics,
};
use std::fmt;
use std::sync::Arc;

/// Hands the rows of a join on.
///
/// A projection that the optimiser of DataFusion 55 moves below a `SortMergeJoinExec` leaves its condition with the
/// places that columns had before: it then reads others. None is moved through a fence, and no sort: one with a limit
/// is moved to the sides of a semi join, which then lacks rows.
#[derive(Clone, Debug)]
pub struct FenceExec {
    input: Arc<dyn ExecutionPlan>,
    /// That of the input, perhaps without its order.
    properties: Arc<PlanProperties>,
    hides_order: bool,
}

impl FenceExec {
    /// A fence above a plan.
    #[must_use]
    pub fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        Self { properties: input.properties().clone(), input, hides_order: false }
    }

    /// A fence that does not tell the order of its rows, so that a sort above it stays.
    #[must_use]
    pub fn hiding_order(input: Arc<dyn ExecutionPlan>) -> Self {
        let of_input = input.properties();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            of_input.output_partitioning().clone(),
            of_input.emission_type,
            of_input.boundedness,
        );
        Self { input, properties: Arc::new(properties), hides_order: true }
    }

    /// Whether it does not tell the order of its rows.
    #[must_use]
    pub fn hides_order(&self) -> bool {
        self.hides_order
    }

    /// A fence above another plan.
    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Ok(if self.hides_order { Self::hiding_order(input) } else { Self::new(input) })
    }
}

/// Whether a merge needs a fence above it: if it has a condition on both sides, or leaves rows of a side out.
pub(super) fn needs_fence(join_type: JoinType, has_condition: bool) -> bool {
    let keeps_rows = matches!(join_type, JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full);
    has_condition || !keeps_rows
}

impl DisplayAs for FenceExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.hides_order { "FenceExec: order hidden" } else { "FenceExec" })
    }
}

impl ExecutionPlan for FenceExec {
    one_input!("FenceExec", input);

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    /// The rows stay in order, but no sort may be moved below: one with a limit would be applied to a side of the join.
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
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

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [input] => Ok(input.clone()),
            _ => internal_err!("a fence has one input"),
        }
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}
