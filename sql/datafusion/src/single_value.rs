//! Subqueries that stand for one value.

use datafusion::arrow::array::types::UInt64Type;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{ScalarValue, exec_err, internal_err};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, LogicalPlan, LogicalPlanBuilder, Signature, Subquery, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::{Arc, LazyLock};

/// The name of [`SingleValue`] in plans.
const NAME: &str = "ogive_single_value";

/// The function `ogive_single_value(column)`, which returns the value of the only row.
pub(crate) static SINGLE_VALUE: LazyLock<Arc<AggregateUDF>> =
    LazyLock::new(|| Arc::new(AggregateUDF::from(SingleValue::new())));

/// The aggregate function of a name, if it is one of ours: for codecs of plans.
#[must_use]
pub fn aggregate_function(name: &str) -> Option<Arc<AggregateUDF>> {
    (name == NAME).then(|| SINGLE_VALUE.clone())
}

/// Aggregates the rows of each scalar subquery that may have another number of them than one to the only one.
///
/// Scalar subqueries travel to a cluster as joins, and a join with several rows repeats those of the other side, where
/// DataFusion in one process fails. Without a row, their value is null, also if their column has no nulls: there,
/// DataFusion 55 takes `(select key from t where key < 0) is null` for false.
#[derive(Debug)]
pub(crate) struct AggregateScalarSubqueries;

impl AnalyzerRule for AggregateScalarSubqueries {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let aggregated = plan.transform_up_with_subqueries(|plan| {
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(expr.transform_up(aggregated)?.update_data(|expr| name.restore(expr)))
            })
        });
        Ok(aggregated?.data)
    }

    fn name(&self) -> &str {
        "aggregate_scalar_subqueries"
    }
}

fn aggregated(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::ScalarSubquery(Subquery { subquery, outer_ref_columns, spans }) = expr else {
        return Ok(Transformed::no(expr));
    };
    let [(qualifier, field)] = &subquery.schema().iter().collect::<Vec<_>>()[..] else {
        return internal_err!("a scalar subquery of {} columns", subquery.schema().fields().len());
    };
    let has_one_at_most = subquery.max_rows().is_some_and(|rows| rows <= 1);
    let is_known = has_one_row(&subquery) || has_one_at_most && field.is_nullable();
    // DataFusion itself refuses those about outer columns that may have several rows.
    if is_known || !outer_ref_columns.is_empty() {
        return Ok(Transformed::no(Expr::ScalarSubquery(Subquery { subquery, outer_ref_columns, spans })));
    }
    let only = SINGLE_VALUE.call(vec![Expr::from((*qualifier, *field))]).alias(field.name());
    let rows = LogicalPlanBuilder::new_from_arc(subquery.clone());
    let subquery = Arc::new(rows.aggregate(Vec::<Expr>::new(), [only])?.build()?);
    Ok(Transformed::yes(Expr::ScalarSubquery(Subquery { subquery, outer_ref_columns, spans })))
}

/// Whether a plan has one row in any case.
fn has_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(relation) => relation.produce_one_row,
        LogicalPlan::Projection(projection) => has_one_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => has_one_row(&alias.input),
        _ => false,
    }
}

/// The aggregate function that returns the value of the only row: null if there is none, and an error for several.
#[derive(Debug, PartialEq, Eq, Hash)]
struct SingleValue {
    signature: Signature,
}

impl SingleValue {
    fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for SingleValue {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [of] => Ok(of.clone()),
            _ => internal_err!("{NAME} has one argument"),
        }
    }

    fn accumulator(&self, arguments: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let value = ScalarValue::try_new_null(arguments.return_field.data_type())?;
        Ok(Box::new(SingleAccumulator { value, rows: 0 }))
    }

    fn state_fields(&self, arguments: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let value = Field::new(format!("{}[value]", arguments.name), arguments.return_field.data_type().clone(), true);
        let rows = Field::new(format!("{}[rows]", arguments.name), DataType::UInt64, false);
        Ok(vec![Arc::new(value), Arc::new(rows)])
    }
}

#[derive(Debug)]
struct SingleAccumulator {
    value: ScalarValue,
    rows: u64,
}

impl SingleAccumulator {
    fn add(&mut self, values: &ArrayRef, at: usize, rows: u64) -> Result<()> {
        self.rows += rows;
        if self.rows > 1 {
            return exec_err!("Scalar subquery returned more than one row; aggregate them, or add LIMIT 1");
        }
        if rows == 1 {
            self.value = ScalarValue::try_from_array(values, at)?;
        }
        Ok(())
    }
}

impl Accumulator for SingleAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(values) = values.first() else { return internal_err!("{NAME} has one argument") };
        self.add(values, 0, values.len() as u64)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.value.clone())
    }

    fn size(&self) -> usize {
        size_of_val(self) - size_of_val(&self.value) + self.value.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.value.clone(), ScalarValue::from(self.rows)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [values, rows] = states else { return internal_err!("{NAME} has a state of two columns") };
        let rows = rows.as_primitive::<UInt64Type>();
        rows.values().iter().enumerate().try_for_each(|(at, rows)| self.add(values, at, *rows))
    }
}
