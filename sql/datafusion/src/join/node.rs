//! The logical node of a join with rows in the order of a key.

use datafusion::common::{DFSchemaRef, JoinSide, Result};
use datafusion::logical_expr::{Expr, Join, JoinType, LogicalPlan, UserDefinedLogicalNodeCore};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

/// A join with a side whose rows come in the order of a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyJoinNode {
    join: Join,
}

impl KeyJoinNode {
    /// The node of a join.
    #[must_use]
    pub fn new(join: Join) -> Self {
        Self { join }
    }

    /// The join.
    #[must_use]
    pub fn join(&self) -> &Join {
        &self.join
    }

    /// The sides that the columns of the output come from, with their positions there; `None` for the mark of a mark
    /// join.
    fn origins(&self) -> Vec<Option<(JoinSide, usize)>> {
        let columns = |side, plan: &LogicalPlan| (0..plan.schema().fields().len()).map(move |at| Some((side, at)));
        let left = columns(JoinSide::Left, &self.join.left);
        let right = columns(JoinSide::Right, &self.join.right);
        match self.join.join_type {
            JoinType::LeftSemi | JoinType::LeftAnti => left.collect(),
            JoinType::RightSemi | JoinType::RightAnti => right.collect(),
            JoinType::LeftMark => left.chain([None]).collect(),
            JoinType::RightMark => right.chain([None]).collect(),
            _ => left.chain(right).collect(),
        }
    }
}

/// Nodes have no order.
impl PartialOrd for KeyJoinNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for KeyJoinNode {
    fn name(&self) -> &str {
        "KeyJoin"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.join.left, &self.join.right]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.join.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        LogicalPlan::Join(self.join.clone()).expressions()
    }

    fn fmt_for_explain(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on: Vec<String> = self.join.on.iter().map(|(left, right)| format!("{left} = {right}")).collect();
        write!(formatter, "KeyJoin: {} on {}", self.join.join_type, on.join(" AND "))?;
        match &self.join.filter {
            Some(filter) => write!(formatter, " filter {filter}"),
            None => Ok(()),
        }
    }

    fn with_exprs_and_inputs(&self, expressions: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match LogicalPlan::Join(self.join.clone()).with_new_exprs(expressions, inputs)? {
            LogicalPlan::Join(join) => Ok(Self { join }),
            other => datafusion::common::internal_err!("a join became {}", other.display()),
        }
    }

    fn necessary_children_exprs(&self, output: &[usize]) -> Option<Vec<Vec<usize>>> {
        let (mut left, mut right) = (BTreeSet::new(), BTreeSet::new());
        let origins = self.origins();
        for at in output {
            match origins.get(*at)? {
                Some((JoinSide::Left, at)) => _ = left.insert(*at),
                Some((_, at)) => _ = right.insert(*at),
                None => {}
            }
        }
        for expression in self.expressions() {
            for column in expression.column_refs() {
                left.extend(self.join.left.schema().maybe_index_of_column(column));
                right.extend(self.join.right.schema().maybe_index_of_column(column));
            }
        }
        Some(vec![left.into_iter().collect(), right.into_iter().collect()])
    }
}
