//! The logical node of rows that are sampled or written, and its planner.

use super::sample::SAMPLE;
use super::tables::WRITTEN;
use super::{KeyRangesExec, SampleKeysExec, TablesPlace, WriteTablesExec};
use crate::relation::key_names;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, DFSchemaRef, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use ogive::types::RecordType;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// What is done with rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PartsStep {
    /// Their keys are sampled.
    Sample,
    /// They are written.
    Write {
        /// The keys at which all ranges but the first begin, in ascending order.
        cuts: Vec<Vec<u8>>,
        /// Where.
        place: TablesPlace,
    },
}

/// Rows that are sampled, or written as tables of ranges of keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartsNode {
    input: LogicalPlan,
    types: RecordType,
    step: PartsStep,
    schema: DFSchemaRef,
}

impl PartsNode {
    /// A step with the rows of a plan, which are records of these types.
    ///
    /// # Errors
    /// None that is known.
    pub fn try_new(input: LogicalPlan, types: RecordType, step: PartsStep) -> Result<Self> {
        let schema = match &step {
            PartsStep::Sample => SAMPLE.clone(),
            PartsStep::Write { .. } => WRITTEN.clone(),
        };
        let schema = Arc::new(DFSchema::try_from(schema)?);
        Ok(Self { input, types, step, schema })
    }

    /// The types of the records.
    #[must_use]
    pub fn types(&self) -> &RecordType {
        &self.types
    }

    /// What is done.
    #[must_use]
    pub fn step(&self) -> &PartsStep {
        &self.step
    }
}

/// Nodes have no order.
impl PartialOrd for PartsNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for PartsNode {
    fn name(&self) -> &str {
        match self.step {
            PartsStep::Sample => "SampleKeys",
            PartsStep::Write { .. } => "WriteTables",
        }
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = key_names(&self.types).join(", ");
        write!(formatter, "{}: key=[{key}]", UserDefinedLogicalNodeCore::name(self))
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match (inputs.pop(), inputs.pop()) {
            (Some(input), None) => Self::try_new(input, self.types.clone(), self.step.clone()),
            _ => internal_err!("rows that are written come from one plan"),
        }
    }
}

/// Plans [`PartsNode`]s.
#[derive(Debug, Default)]
pub struct PartsPlanner;

#[async_trait]
impl ExtensionPlanner for PartsPlanner {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(node) = node.as_any().downcast_ref::<PartsNode>() else { return Ok(None) };
        let [input] = inputs else { return internal_err!("rows that are written come from one plan") };
        let (input, types) = (input.clone(), node.types.clone());
        Ok(Some(match &node.step {
            PartsStep::Sample => Arc::new(SampleKeysExec::try_new(input, types)?),
            PartsStep::Write { cuts, place } => {
                let partitions = session.config().target_partitions();
                let ranges = KeyRangesExec::try_new(input, types.clone(), cuts.clone(), partitions)?;
                Arc::new(WriteTablesExec::try_new(Arc::new(ranges), &types, place.clone())?)
            }
        }))
    }
}
