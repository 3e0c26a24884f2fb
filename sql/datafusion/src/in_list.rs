//! The function `ogive_in`: `IN` with its values packed into one literal.

use arrow_schema::{DataType, Field, Schema};
use datafusion::arrow::array::RecordBatch;
use datafusion::common::cast::as_list_array;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{self, InListExpr};
use std::sync::{Arc, LazyLock};

/// The name of the function that stands for `IN`.
const NAME: &str = "ogive_in";
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
