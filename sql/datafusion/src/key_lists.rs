//! Long lists of keys as one value each.
//!
//! DataFusion 55 plans `k in (1, 2, ...)` as an expression for each value, which each of its rules visits: planning
//! a thousand look-ups took as long as their reads. So a list of values for a key is one literal while its query is
//! optimised.

use crate::table::OgiveTable;
use arrow_schema::{DataType, Field, Schema};
use datafusion::arrow::array::RecordBatch;
use datafusion::common::cast::as_list_array;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Column, Result, ScalarValue, internal_err};
use datafusion::config::ConfigOptions;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, Filter, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, TableScan, Volatility, lit,
};
use datafusion::logical_expr_common::casts::try_cast_literal_to_type;
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::optimizer::{OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{self, InListExpr};
use std::sync::{Arc, LazyLock};

/// The name of the function that stands for `IN`.
const NAME: &str = "ogive_in";
/// Fewest values of a list that is packed: shorter ones take no time to speak of.
const VALUES_MIN: usize = 16;
/// Values of a packed list that `EXPLAIN` shows.
const VALUES_SHOWN: usize = 3;

/// The function `ogive_in(column, list)`, which is true where the column has one of the values of the list.
pub(crate) static KEY_LIST: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::new_from_impl(KeyList { signature: Signature::any(2, Volatility::Immutable) }))
});

#[derive(Debug, PartialEq, Eq, Hash)]
struct KeyList {
    signature: Signature,
}

impl ScalarUDFImpl for KeyList {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    /// A short one: DataFusion asks for it several times while it plans a query.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        match words(args) {
            Some(words) => Ok(words),
            None => internal_err!("{NAME} has a column and a list"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [column, ColumnarValue::Scalar(ScalarValue::List(list))] = &args.args[..] else {
            return internal_err!("{NAME} has a column and a list");
        };
        let column = column.to_array(args.number_rows)?;
        let schema = Schema::new(vec![Field::new("column", column.data_type().clone(), true)]);
        let value = expressions::col("column", &schema)?;
        let in_list = InListExpr::try_new_from_array(value, list.value(0), false, &schema)?;
        in_list.evaluate(&RecordBatch::try_new(Arc::new(schema), vec![column])?)
    }
}

/// The column and the values of a packed list.
pub(crate) fn unpacked(function: &ScalarFunction) -> Option<(&Expr, Vec<ScalarValue>)> {
    match &function.args[..] {
        [column, Expr::Literal(ScalarValue::List(list), _)] if function.func.name() == NAME => {
            let values = as_list_array(list.as_ref()).ok()?.value(0);
            let values = (0..values.len()).map(|at| ScalarValue::try_from_array(&values, at));
            Some((column, values.collect::<Result<_>>().ok()?))
        }
        _ => None,
    }
}

/// A condition in words, with the first values of a list that is packed.
pub(crate) fn in_words(condition: &Expr) -> String {
    let packed = match condition {
        Expr::ScalarFunction(function) if function.func.name() == NAME => words(&function.args),
        _ => None,
    };
    packed.unwrap_or_else(|| condition.to_string())
}

/// A packed list in words, by the arguments of the function.
fn words(args: &[Expr]) -> Option<String> {
    let [column, Expr::Literal(ScalarValue::List(list), _)] = args else { return None };
    let values = as_list_array(list.as_ref()).ok()?.value(0);
    let first = (0..values.len().min(VALUES_SHOWN)).map(|at| ScalarValue::try_from_array(&values, at));
    let first: Vec<String> = first.map(|value| value.map(|value| value.to_string())).collect::<Result<_>>().ok()?;
    Some(format!("{column} IN ({}, ... {} values)", first.join(", "), values.len()))
}

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
