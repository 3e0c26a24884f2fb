//! A fence above an operator, across which the optimiser moves or removes nothing.

use crate::unary::one_input;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{JoinType, internal_err};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{AcrossPartitions, ConstExpr, EquivalenceProperties};
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PhysicalExpr, PlanProperties, Statistics,
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
    /// That of the input, without what is hidden.
    properties: Arc<PlanProperties>,
    hidden: Hidden,
}

/// What a fence does not tell of its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hidden {
    /// It tells all.
    #[default]
    Nothing,
    /// Their order, so that a sort above stays.
    Order,
    /// Columns that have one value in a partition and another one in another, so that a sort by them stays.
    Constants,
}

impl FenceExec {
    /// A fence above a plan.
    #[must_use]
    pub fn new(input: Arc<dyn ExecutionPlan>, hidden: Hidden) -> Self {
        let of_input = input.properties();
        let equivalences = match hidden {
            Hidden::Nothing => return Self { properties: of_input.clone(), input, hidden },
            Hidden::Order => EquivalenceProperties::new(input.schema()),
            Hidden::Constants => without_constants(&input),
        };
        let properties = PlanProperties::new(
            equivalences,
            of_input.output_partitioning().clone(),
            of_input.emission_type,
            of_input.boundedness,
        );
        Self { input, properties: Arc::new(properties), hidden }
    }

    /// What it does not tell of its rows.
    #[must_use]
    pub fn hidden(&self) -> Hidden {
        self.hidden
    }

    /// A fence above another plan.
    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        Ok(Self::new(input, self.hidden))
    }
}

/// Whether a column has one value in all partitions, which is known.
pub(super) fn is_known(constant: &ConstExpr) -> bool {
    matches!(constant.across_partitions, AcrossPartitions::Uniform(Some(_)))
}

/// The orders of the rows of a plan, and its constants that have one value in all partitions.
fn without_constants(plan: &Arc<dyn ExecutionPlan>) -> EquivalenceProperties {
    let of_plan = plan.equivalence_properties();
    let mut equivalences =
        EquivalenceProperties::new_with_orderings(plan.schema(), of_plan.oeq_class().iter().cloned());
    // Fails for columns that are not there.
    _ = equivalences.add_constants(of_plan.constants().into_iter().filter(is_known));
    equivalences
}

/// Whether a merge needs a fence above it: if it has a condition on both sides, or leaves rows of a side out.
pub(super) fn needs_fence(join_type: JoinType, has_condition: bool) -> bool {
    let keeps_rows = matches!(join_type, JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full);
    has_condition || !keeps_rows
}

impl DisplayAs for FenceExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.hidden {
            Hidden::Nothing => "FenceExec",
            Hidden::Order => "FenceExec: order hidden",
            Hidden::Constants => "FenceExec: constants hidden",
        })
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

    /// A limit above a union is one of each of its inputs; one above a semi join is none of its sides.
    fn supports_limit_pushdown(&self) -> bool {
        self.hidden == Hidden::Constants
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
