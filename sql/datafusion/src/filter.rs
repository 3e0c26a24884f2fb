//! Conditions on the key as sets of keys.

use crate::key_set::{KeyRange, KeySet, point};
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::expr::{InList, Like, ScalarFunction};
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use ogive::types::{KeyType, Value};
use ogive_arrow::value_of;
use std::ops::Bound;

/// The column of a key of one component, in whose order its keys are.
#[derive(Clone, Debug)]
pub(crate) struct KeyColumn {
    pub(crate) name: String,
    pub(crate) key_type: KeyType,
    pub(crate) data_type: arrow_schema::DataType,
}

impl KeyColumn {
    /// Whether the values of the column have the order of the keys: integers of 128 bits are text in Arrow.
    pub(crate) fn is_ordered(key_type: KeyType) -> bool {
        !matches!(key_type, KeyType::U128 | KeyType::I128 | KeyType::Tuple(_))
    }

    /// The keys for which a condition is true: exactly these, or `None` if the condition is about something else.
    pub(crate) fn keys_of(&self, condition: &Expr) -> Option<KeySet> {
        match condition {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                Some(self.keys_of(left)?.intersection(&self.keys_of(right)?))
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
                Some(self.keys_of(left)?.union(self.keys_of(right)?))
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (&**left, &**right) {
                (column, Expr::Literal(literal, _)) if self.is(column) => self.compared(*op, literal),
                (Expr::Literal(literal, _), column) if self.is(column) => self.compared(op.swap()?, literal),
                _ => None,
            },
            Expr::Between(Between { expr, negated: false, low, high }) if self.is(expr) => {
                let (Expr::Literal(low, _), Expr::Literal(high, _)) = (&**low, &**high) else { return None };
                Some(self.compared(Operator::GtEq, low)?.intersection(&self.compared(Operator::LtEq, high)?))
            }
            Expr::InList(InList { expr, list, negated: false }) if self.is(expr) => {
                let keys = list.iter().map(|item| match item {
                    Expr::Literal(literal, _) => self.points(literal),
                    _ => None,
                });
                Some(KeySet::of(keys.collect::<Option<Vec<_>>>()?.concat()))
            }
            Expr::Like(Like { negated: false, expr, pattern, escape_char: None, case_insensitive: false })
                if self.is(expr) =>
            {
                self.like(pattern)
            }
            Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == "starts_with" => match &args[..] {
                [column, Expr::Literal(prefix, _)] if self.is(column) => self.prefix(text_of(prefix)?),
                _ => None,
            },
            // Keys of one component are never null.
            Expr::IsNull(column) if self.is(column) => Some(KeySet::of(Vec::new())),
            Expr::IsNotNull(column) if self.is(column) => Some(KeySet::all()),
            _ => None,
        }
    }

    fn is(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Column(Column { name, .. }) if *name == self.name)
    }

    fn compared(&self, operator: Operator, literal: &ScalarValue) -> Option<KeySet> {
        if literal.is_null() {
            return matches!(operator, Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq)
                .then(|| KeySet::of(Vec::new()));
        }
        let key = self.key(literal)?;
        Some(KeySet::of(vec![match operator {
            Operator::Eq => point(key),
            Operator::Lt => (Bound::Unbounded, Bound::Excluded(key)),
            Operator::LtEq => (Bound::Unbounded, Bound::Included(key)),
            Operator::Gt => (Bound::Excluded(key), Bound::Unbounded),
            Operator::GtEq => (Bound::Included(key), Bound::Unbounded),
            _ => return None,
        }]))
    }

    /// The key that a literal of a list is equal to; none if it is null.
    fn points(&self, literal: &ScalarValue) -> Option<Vec<KeyRange>> {
        match literal.is_null() {
            true => Some(Vec::new()),
            false => Some(vec![point(self.key(literal)?)]),
        }
    }

    /// The key of a literal; `None` unless the literal has the type of the column, and compares as keys do.
    fn key(&self, literal: &ScalarValue) -> Option<Vec<u8>> {
        let array = literal.to_array().ok()?;
        if *array.data_type() != self.data_type {
            return None;
        }
        let value = value_of(&array, self.key_type, 0);
        // Arrow orders zeros and NaNs by their bits; a key has one zero and one NaN.
        if matches!(value, Value::Float(number) if number.is_nan() || number == 0.0 && number.is_sign_negative()) {
            return None;
        }
        self.key_type.encode(&value).ok()
    }

    /// Text that begins with what stands before a `%` at the end, the only wildcard.
    fn like(&self, pattern: &Expr) -> Option<KeySet> {
        let Expr::Literal(pattern, _) = pattern else { return None };
        let prefix = text_of(pattern)?.strip_suffix('%')?;
        if prefix.contains(['%', '_', '\\']) { None } else { self.prefix(prefix) }
    }

    fn prefix(&self, prefix: &str) -> Option<KeySet> {
        (self.key_type == KeyType::Text).then(|| KeySet::of(vec![self.key_type.prefix_range(prefix.as_bytes())]))
    }
}

fn text_of(literal: &ScalarValue) -> Option<&str> {
    literal.try_as_str().flatten()
}
