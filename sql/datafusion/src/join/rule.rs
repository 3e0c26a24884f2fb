//! The rule that marks joins with rows in the order of a key.

use super::column_keys::{ColumnJoin, KeyedRows};
use super::fence::needs_fence;
use super::node::KeyJoinNode;
use crate::table::OgiveTable;
use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, ExprSchemable, Extension, Join, LogicalPlan};
use datafusion::optimizer::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Marks joins by columns of which one side has its rows in the order of a key: see [`KeyJoinNode`]. Where merges are
/// preferred to hash joins, as in clusters, joins with a condition are marked, too.
///
/// To be applied after all rules of DataFusion, which do not look into the node.
#[derive(Debug, Default)]
pub struct MarkKeyJoins;

impl OptimizerRule for MarkKeyJoins {
    fn name(&self) -> &str {
        "mark_key_joins"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let may_merge = !config.options().optimizer.prefer_hash_join;
        let LogicalPlan::Join(mut join) = plan else { return Ok(Transformed::no(plan)) };
        let keyed = KeyedRows { left: keyed_rows(&join.left), right: keyed_rows(&join.right) };
        let mark = |join| LogicalPlan::Extension(Extension { node: Arc::new(KeyJoinNode::new(join)) });
        if !join.on.is_empty() && !join.null_aware && (keyed.left.is_some() || keyed.right.is_some()) {
            match ColumnJoin::of(join, keyed)? {
                ColumnJoin::By(join) => return join.into_plan(mark).map(Transformed::yes),
                ColumnJoin::Other(other) => join = other,
            }
        }
        Ok(match may_merge && (is_fenced_merge(&join) || has_floats(&join) && !join.null_aware) {
            true => Transformed::yes(mark(join)),
            false => Transformed::no(LogicalPlan::Join(join)),
        })
    }
}

/// Whether a join that may become a merge has a condition on both sides, or leaves rows of a side out. DataFusion 55
/// gives wrong rows there, see [`FenceExec`](super::FenceExec), and fails if a merge with a condition adds nulls.
fn is_fenced_merge(join: &Join) -> bool {
    !join.on.is_empty() && !join.null_aware && needs_fence(join.join_type, join.filter.is_some())
}

/// Whether floats are joined: [`KeyJoinPlanner`](super::KeyJoinPlanner) merges none.
pub(super) fn has_floats(join: &Join) -> bool {
    let is_float = |expr: &Expr| expr.get_type(join.left.schema()).is_ok_and(|data_type| data_type.is_floating());
    join.on.iter().any(|(left, _)| is_float(left))
}

/// The rows of the table that a plan reads, if it is one of ours: 0 if they are not known.
fn keyed_rows(plan: &LogicalPlan) -> Option<usize> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let provider = source_as_provider(&scan.source).ok()?;
            let rows = provider.downcast_ref::<OgiveTable>()?.statistics()?.num_rows;
            Some(rows.get_value().copied().unwrap_or(0))
        }
        LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::SubqueryAlias(_) => {
            plan.inputs().first().and_then(|input| keyed_rows(input))
        }
        _ => None,
    }
}
