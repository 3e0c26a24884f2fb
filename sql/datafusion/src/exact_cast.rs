//! Exact casts of inserted and updated rows to the types of their columns.
//!
//! DataFusion casts the rows of an `INSERT` or `UPDATE` as `CAST` does, which cuts off digits that the type cannot
//! represent: 6.7 became 6 in a column of integers.

use crate::exact_text::is_finer;
use crate::table::OgiveTable;
use crate::write::check_keys_stay;
use arrow_schema::DataType;
use datafusion::arrow::array::types::{Float32Type, Float64Type};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use datafusion::arrow::compute::kernels::cmp::not_distinct;
use datafusion::arrow::compute::{CastOptions, can_cast_types, cast, cast_with_options};
use datafusion::arrow::util::display::FormatOptions;
use datafusion::common::format::DEFAULT_CAST_OPTIONS;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue, exec_err, internal_err};
use datafusion::config::ConfigOptions;
use datafusion::datasource::source_as_provider;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr::{Alias, Cast};
use datafusion::logical_expr::{
    ColumnarValue, DmlStatement, EmptyRelation, Expr, ExprSchemable, LogicalPlan, Projection, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Values, Volatility, WriteOp, lit,
};
use datafusion::optimizer::AnalyzerRule;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// The name of [`ExactCast`] in plans.
const NAME: &str = "ogive_exact_cast";

/// The function `ogive_exact_cast(value, null, column)`, which casts a value to the type of the null, for a column.
pub(crate) static EXACT_CAST: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::new_from_impl(ExactCast { signature: Signature::any(3, Volatility::Immutable) }))
});

/// The scalar function of a name, if it is one of ours: for codecs of plans.
#[must_use]
pub fn scalar_function(name: &str) -> Option<Arc<ScalarUDF>> {
    (name == NAME).then(|| EXACT_CAST.clone())
}

/// Has the casts of `INSERT` into a relation of ours, and of `UPDATE`, fail for values that they would change.
#[derive(Debug)]
pub(crate) struct CastWrittenExactly;

impl AnalyzerRule for CastWrittenExactly {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up(|plan| match plan {
            LogicalPlan::Dml(statement) => with_exact_casts(statement),
            plan => Ok(Transformed::no(plan)),
        });
        Ok(changed?.data)
    }

    fn name(&self) -> &str {
        "cast_written_exactly"
    }
}

fn with_exact_casts(statement: DmlStatement) -> Result<Transformed<LogicalPlan>> {
    let is_ours = source_as_provider(&statement.target)?.downcast_ref::<OgiveTable>().is_some();
    let LogicalPlan::Projection(Projection { expr, input, .. }) = statement.input.as_ref() else {
        return Ok(Transformed::no(LogicalPlan::Dml(statement)));
    };
    if !is_ours || !matches!(statement.op, WriteOp::Insert(_) | WriteOp::Update) {
        return Ok(Transformed::no(LogicalPlan::Dml(statement)));
    }
    check_keys_stay(&statement)?;
    let given = expr.iter().filter_map(|expr| {
        let Expr::Alias(Alias { expr, name, .. }) = expr else { return None };
        let given = match expr.as_ref() {
            Expr::Cast(Cast { expr, .. }) => expr.as_ref(),
            other => other,
        };
        given.try_as_col().map(|column| (column.name.clone(), name.clone()))
    });
    let rows = match statement.op {
        WriteOp::Update => input.as_ref().clone(),
        _ => with_exact_values(input.as_ref().clone(), &given.collect())?,
    };
    let columns = expr.iter().map(|expr| match expr {
        Expr::Alias(Alias { expr, name, .. }) => Ok(exact(expr, name, &rows)?.alias(name)),
        other => Ok(other.clone()),
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let input = Arc::new(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(rows))?));
    Ok(Transformed::yes(LogicalPlan::Dml(DmlStatement { input, ..statement })))
}

/// Constants of an `INSERT`, which DataFusion casts to the columns of the table wherever they stand. Those of the
/// statement itself are named by the columns that take them.
fn with_exact_values(plan: LogicalPlan, names: &HashMap<String, String>) -> Result<LogicalPlan> {
    let changed = plan.transform_up_with_subqueries(|plan| {
        let LogicalPlan::Values(Values { schema, values }) = plan else { return Ok(Transformed::no(plan)) };
        let column = |at: usize| {
            let given = schema.field(at).name();
            names.get(given).unwrap_or(given).clone()
        };
        let nothing =
            LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: true, schema: Arc::new(DFSchema::empty()) });
        let row = |row: Vec<Expr>| {
            let cells = row.iter().enumerate().map(|(at, cell)| exact(cell, &column(at), &nothing));
            cells.collect::<Result<Vec<_>>>()
        };
        let values = values.into_iter().map(row).collect::<Result<Vec<_>>>()?;
        // A null is refused by the writer, which knows the name of its column.
        let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(DFSchema::from_unqualified_fields(fields.collect(), HashMap::new())?);
        Ok(Transformed::yes(LogicalPlan::Values(Values { schema, values })))
    });
    Ok(changed?.data)
}

/// A cast to a column of a table as one that changes no value; all else as it is.
fn exact(expr: &Expr, column: &str, rows: &LogicalPlan) -> Result<Expr> {
    let Expr::Cast(Cast { expr: value, field }) = expr else { return Ok(expr.clone()) };
    let from = value.get_type(rows.schema())?;
    let is_left = match value.as_ref() {
        // A fraction in a statement stands for the float that is nearest to it.
        Expr::Literal(value, _) => {
            value.is_null() || field.data_type().is_floating() && (from.is_floating() || from.is_decimal())
        }
        _ => false,
    };
    if is_left || is_always_exact(&from, field.data_type()) {
        return Ok(expr.clone());
    }
    let null = lit(ScalarValue::try_new_null(field.data_type())?);
    Ok(EXACT_CAST.call(vec![value.as_ref().clone(), null, lit(column)]))
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Whether a cast changes no value of a type, or fails.
fn is_always_exact(from: &DataType, to: &DataType) -> bool {
    let is_integer = |it: &DataType| it.is_integer();
    from == to || *from == DataType::Null || is_text(to) || is_integer(from) && is_integer(to)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactCast {
    signature: Signature,
}

impl ScalarUDFImpl for ExactCast {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [_, to, _] => Ok(to.clone()),
            _ => internal_err!("{NAME} has three arguments"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value, null, ColumnarValue::Scalar(column)] = &args.args[..] else {
            return internal_err!("{NAME} has three arguments");
        };
        let to = null.data_type();
        let is_scalar = matches!(value, ColumnarValue::Scalar(_));
        let values = value.to_array(if is_scalar { 1 } else { args.number_rows })?;
        let found = exactly_cast(&values, &to, column.try_as_str().flatten().unwrap_or_default())?;
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?),
            false => ColumnarValue::Array(found),
        })
    }
}

/// Values of another type for a column, if they are the same there.
///
/// # Errors
/// For a value that is another one then, or none.
fn exactly_cast(values: &ArrayRef, to: &DataType, column: &str) -> Result<ArrayRef> {
    if let DataType::Dictionary(_, of) = values.data_type() {
        return exactly_cast(&cast(values, of)?, to, column);
    }
    let found = cast_with_options(values, to, &DEFAULT_CAST_OPTIONS).map_err(|error| {
        DataFusionError::Execution(format!("column '{column}' is of the type {to}, which has no such value: {error}"))
    })?;
    let Some(changed) = first_changed(values, &found)? else { return Ok(found) };
    // Floats of other widths are told by the digits of the given one.
    let is_float = values.data_type().is_floating() && to.is_floating();
    let back = if is_float { cast(&found, values.data_type())? } else { found.clone() };
    let [given, stored] = [values, &back].map(|array| shown(array, changed));
    exec_err!(
        "column '{column}' is of the type {}, in which {given} would be {stored}; round it, or CAST it in a SELECT, or \
         choose another type for the column",
        found.data_type()
    )
}

fn shown(array: &ArrayRef, at: usize) -> String {
    let options = FormatOptions::default().with_null("null");
    datafusion::arrow::util::display::ArrayFormatter::try_new(array.as_ref(), &options)
        .map_or_else(|error| error.to_string(), |values| values.value(at).to_string())
}

/// The first value that a cast has changed.
fn first_changed(given: &ArrayRef, found: &ArrayRef) -> Result<Option<usize>> {
    let (from, to) = (given.data_type(), found.data_type());
    if is_always_exact(from, to) {
        return Ok(None);
    }
    let is_same = if is_text(from) {
        match same_as_text(given, found)? {
            Some(is_same) => is_same,
            // Numbers of other kinds are parsed, or refused.
            None => return Ok(None),
        }
    } else if can_cast_types(to, from) {
        // What does not come back is null.
        let lenient = CastOptions { safe: true, ..DEFAULT_CAST_OPTIONS };
        same(given, &cast_with_options(found, from, &lenient)?)?
    } else {
        BooleanArray::from_iter((0..given.len()).map(|at| Some(given.is_null(at))))
    };
    Ok((0..is_same.len()).find(|&at| given.is_valid(at) && !(is_same.is_valid(at) && is_same.value(at))))
}

/// Whether values are the same: floats, as numbers.
fn same(one: &ArrayRef, other: &ArrayRef) -> Result<BooleanArray> {
    fn floats<T: Into<f64>>(pairs: impl Iterator<Item = (Option<T>, Option<T>)>) -> BooleanArray {
        let is_same = |one: f64, other: f64| one == other || one.is_nan() && other.is_nan();
        pairs
            .map(|(one, other)| Some(one.zip(other).is_some_and(|(one, other)| is_same(one.into(), other.into()))))
            .collect()
    }
    Ok(match one.data_type() {
        DataType::Float32 => {
            floats(one.as_primitive::<Float32Type>().iter().zip(other.as_primitive::<Float32Type>().iter()))
        }
        DataType::Float64 => {
            floats(one.as_primitive::<Float64Type>().iter().zip(other.as_primitive::<Float64Type>().iter()))
        }
        DataType::Float16 => return same(&cast(one, &DataType::Float32)?, &cast(other, &DataType::Float32)?),
        _ => not_distinct(one, other)?,
    })
}

/// Whether values are what texts say; `None` for types whose values are parsed, or refused.
fn same_as_text(texts: &ArrayRef, found: &ArrayRef) -> Result<Option<BooleanArray>> {
    let to = found.data_type();
    match to {
        DataType::Date32 | DataType::Timestamp(..) | DataType::Time32(_) | DataType::Time64(_) => {
            let texts = cast(texts, &DataType::Utf8)?;
            let texts = texts.as_string::<i32>().iter();
            Ok(Some(texts.map(|text| text.map(|text| !is_finer(text, to))).collect()))
        }
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            let widest = DataType::Decimal256(datafusion::arrow::datatypes::DECIMAL256_MAX_PRECISION, 38);
            let lenient = CastOptions { safe: true, ..DEFAULT_CAST_OPTIONS };
            let [said, stored] = [texts, found].map(|array| cast_with_options(array, &widest, &lenient));
            Ok(Some(not_distinct(&said?, &stored?)?))
        }
        _ => Ok(None),
    }
}
