//! Rules that pack a long list of keys into one literal during optimisation.
//!
//! DataFusion 55 plans `k in (1, 2, ...)` as an expression for each value, and each of its rules visits all of them:
//! planning a thousand look-ups took as long as their reads.

use crate::in_list::{KEY_LIST, unpacked};
use crate::table::OgiveTable;
use arrow_schema::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, LogicalPlan, Operator, TableScan, lit};
use datafusion::logical_expr_common::casts::try_cast_literal_to_type;
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::optimizer::{OptimizerConfig, OptimizerRule};

/// Fewest values of a list that is packed: shorter ones take no time to speak of.
const VALUES_MIN: usize = 16;

/// Packs long lists of values of the first column of a key, in filters above scans of Ogive tables. To be applied
/// before all other rules.
#[derive(Debug)]
pub(crate) struct PackKeyLists;

impl AnalyzerRule for PackKeyLists {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let packed = plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Filter(Filter { predicate, input, .. }) => {
                let packed = packed(predicate, &input);
                let filter = Filter::try_new(packed.data, input)?;
                Ok(Transformed::new(LogicalPlan::Filter(filter), packed.transformed, packed.tnr))
            }
            plan => Ok(Transformed::no(plan)),
        });
        Ok(packed?.data)
    }

    fn name(&self) -> &str {
        "pack_key_lists"
    }
}

/// A condition on the rows of a plan, with its lists packed.
fn packed(condition: Expr, plan: &LogicalPlan) -> Transformed<Expr> {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let (left, right) = (packed(*left, plan), packed(*right, plan));
            let is_packed = left.transformed || right.transformed;
            Transformed::new(left.data.and(right.data), is_packed, left.tnr)
        }
        Expr::InList(list) => match literal_of(&list, plan) {
            Some(literal) => Transformed::yes(KEY_LIST.call(vec![*list.expr, lit(literal)])),
            None => Transformed::no(Expr::InList(list)),
        },
        condition => Transformed::no(condition),
    }
}

/// The values of a long list for a key, as values of the type of its column.
fn literal_of(list: &InList, plan: &LogicalPlan) -> Option<ScalarValue> {
    let Expr::Column(column) = &*list.expr else { return None };
    if list.negated || list.list.len() < VALUES_MIN {
        return None;
    }
    let data_type = key_type_of(plan, column)?;
    let is_text = |it: &DataType| matches!(it, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let values = list.list.iter().map(|value| match value {
        Expr::Literal(value, _) if value.is_null() => None,
        Expr::Literal(value, _) if value.data_type() == data_type => Some(value.clone()),
        Expr::Literal(value, _) => {
            let from = value.data_type();
            let is_same = from.is_integer() && data_type.is_integer() || is_text(&from) && is_text(&data_type);
            try_cast_literal_to_type(value, &data_type).filter(|value| is_same && !value.is_null())
        }
        _ => None,
    });
    let values = ScalarValue::iter_to_array(values.collect::<Option<Vec<_>>>()?).ok()?;
    Some(SingleRowListArrayBuilder::new(values).build_list_scalar())
}

/// The type of a column, if it is the first one of the key of an Ogive table whose rows a plan has.
fn key_type_of(plan: &LogicalPlan, column: &Column) -> Option<DataType> {
    if !plan.schema().has_column(column) {
        return None;
    }
    match plan {
        LogicalPlan::TableScan(TableScan { source, .. }) => {
            let provider = source_as_provider(source).ok()?;
            provider.downcast_ref::<OgiveTable>()?.first_key_type(&column.name)
        }
        LogicalPlan::SubqueryAlias(alias) => key_type_of(&alias.input, &Column::from_name(&column.name)),
        LogicalPlan::Filter(filter) => key_type_of(&filter.input, column),
        LogicalPlan::Join(join) => key_type_of(&join.left, column).or_else(|| key_type_of(&join.right, column)),
        _ => None,
    }
}

/// Makes a packed list an `IN` again where it is not a condition of the scan of an Ogive table: there, DataFusion knows
/// what to do with it. To be applied after the rules that push conditions down.
#[derive(Debug)]
pub(crate) struct UnpackKeyLists;

impl OptimizerRule for UnpackKeyLists {
    fn name(&self) -> &str {
        "unpack_key_lists"
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        plan.transform_up_with_subqueries(|plan| {
            if let LogicalPlan::TableScan(scan) = &plan
                && source_as_provider(&scan.source).is_ok_and(|it| it.downcast_ref::<OgiveTable>().is_some())
            {
                return Ok(Transformed::no(plan));
            }
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(expr.transform_up(in_list)?.update_data(|expr| name.restore(expr)))
            })
        })
    }
}

fn in_list(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::ScalarFunction(function) = &expr else { return Ok(Transformed::no(expr)) };
    Ok(match unpacked(function) {
        Some((column, values)) => {
            Transformed::yes(column.clone().in_list(values.into_iter().map(lit).collect(), false))
        }
        None => Transformed::no(expr),
    })
}
