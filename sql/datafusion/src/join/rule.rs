//! The rule that marks joins with rows in the order of a key.

use super::fence::needs_fence;
use super::node::KeyJoinNode;
use crate::table::OgiveTable;
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, Extension, Join, LogicalPlan};
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
        match plan {
            LogicalPlan::Join(join) if is_by_key(&join) || may_merge && is_fenced_merge(&join) => {
                let node = Arc::new(KeyJoinNode::new(join));
                Ok(Transformed::yes(LogicalPlan::Extension(Extension { node })))
            }
            plan => Ok(Transformed::no(plan)),
        }
    }
}

/// Whether columns are joined, and one side is a scan of an Ogive table.
fn is_by_key(join: &Join) -> bool {
    let is_columns = |(left, right): &(Expr, Expr)| matches!((left, right), (Expr::Column(_), Expr::Column(_)));
    !join.on.is_empty()
        && join.on.iter().all(is_columns)
        && !join.null_aware
        && (is_keyed(&join.left) || is_keyed(&join.right))
}

/// Whether a join that may become a merge has a condition on both sides, or leaves rows of a side out. DataFusion 55
/// gives wrong rows there, see [`FenceExec`](super::FenceExec), and fails if a merge with a condition adds nulls.
fn is_fenced_merge(join: &Join) -> bool {
    !join.on.is_empty() && !join.null_aware && needs_fence(join.join_type, join.filter.is_some())
}

fn is_keyed(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(scan) => {
            source_as_provider(&scan.source).is_ok_and(|provider| provider.downcast_ref::<OgiveTable>().is_some())
        }
        LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::SubqueryAlias(_) => {
            plan.inputs().first().is_some_and(|input| is_keyed(input))
        }
        _ => false,
    }
}
