//! Lists of `IN` that contain nulls.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, lit};
use datafusion::optimizer::AnalyzerRule;

/// Takes nulls out of lists: `x in (1, null)` becomes `x in (1) or null`, and `x not in (1, null)` becomes
/// `x not in (1) and null`.
///
/// The optimiser of DataFusion 55 forgets a null where it makes one list of `x not in (1, null) and x in (2, 3)`, and
/// where it takes `x not in (1) or x not in (2)` for true. The latter gets a condition that is null for a null.
#[derive(Debug)]
pub(crate) struct SeparateNullsOfLists;

impl AnalyzerRule for SeparateNullsOfLists {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let separated = plan.transform_up_with_subqueries(|plan| {
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                // Most lists have none, and may be long.
                if !expr.exists(|expr| Ok(has_null(expr) || twice_excluded(expr).is_some()))? {
                    return Ok(Transformed::no(expr));
                }
                let name = names.save(&expr);
                Ok(expr.transform_up(separated)?.update_data(|expr| name.restore(expr)))
            })
        });
        Ok(separated?.data)
    }

    fn name(&self) -> &str {
        "separate_nulls_of_lists"
    }
}

/// What two lists exclude, in `x not in (1) or x not in (2)`.
fn twice_excluded(expr: &Expr) -> Option<&Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) = expr else { return None };
    match (&**left, &**right) {
        (Expr::InList(left), Expr::InList(right)) if left.negated && right.negated && left.expr == right.expr => {
            Some(&*left.expr)
        }
        _ => None,
    }
}

fn separated(expr: Expr) -> Result<Transformed<Expr>> {
    if let Some(excluded) = twice_excluded(&expr) {
        let is_known = excluded.clone().is_not_null().or(lit(ScalarValue::Boolean(None)));
        return Ok(Transformed::yes(expr.and(is_known)));
    }
    let Expr::InList(InList { expr, list, negated }) = expr else { return Ok(Transformed::no(expr)) };
    let before = list.len();
    let list: Vec<Expr> = list.into_iter().filter(|item| !is_null(item)).collect();
    if list.len() == before {
        return Ok(Transformed::no(Expr::InList(InList { expr, list, negated })));
    }
    let null = lit(ScalarValue::Boolean(None));
    Ok(Transformed::yes(match (list.is_empty(), negated) {
        (true, _) => null,
        (false, false) => expr.in_list(list, false).or(null),
        (false, true) => expr.in_list(list, true).and(null),
    }))
}

fn has_null(expr: &Expr) -> bool {
    matches!(expr, Expr::InList(list) if list.list.iter().any(is_null))
}

fn is_null(item: &Expr) -> bool {
    match item {
        Expr::Literal(value, _) => value.is_null(),
        Expr::Cast(cast) => is_null(&cast.expr),
        _ => false,
    }
}
