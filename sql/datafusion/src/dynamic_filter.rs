//! Conditions that become known while a query runs, such as the keys of the other side of a join, as sets of keys.
//!
//! These sets may contain more keys than the conditions accept: the caller checks every row again.

use crate::key_columns::{KeyColumns, KeyPart};
use crate::key_set::KeySet;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, Column, InListExpr, IsNullExpr, Literal};
use datafusion::physical_plan::PhysicalExpr;
use std::sync::Arc;

/// A set that has all keys for which a condition is true.
pub(crate) fn keys_within(key: &KeyColumns, condition: &Arc<dyn PhysicalExpr>) -> KeySet {
    let sets: Vec<Option<KeySet>> = key.columns().iter().map(|part| column_set(part, condition)).collect();
    key.keys_of(&sets).0
}

/// A set that has the components of a column for which a condition is true; `None` if nothing is known.
fn column_set(part: &KeyPart, condition: &Arc<dyn PhysicalExpr>) -> Option<KeySet> {
    if let Some(binary) = condition.downcast_ref::<BinaryExpr>() {
        return match binary.op() {
            Operator::And => match (column_set(part, binary.left()), column_set(part, binary.right())) {
                (Some(one), Some(other)) => Some(one.intersection(&other)),
                (one, other) => one.or(other),
            },
            Operator::Or => Some(column_set(part, binary.left())?.union(column_set(part, binary.right())?)),
            operator => match (literal(binary.left()), literal(binary.right())) {
                (None, Some(value)) if is_column(part, binary.left()) => part.compared(*operator, value),
                (Some(value), None) if is_column(part, binary.right()) => part.compared(operator.swap()?, value),
                _ => None,
            },
        };
    }
    if let Some(list) = condition.downcast_ref::<InListExpr>() {
        if list.negated() || !is_column(part, list.expr()) {
            return None;
        }
        let values = list.list().iter().map(literal).collect::<Option<Vec<_>>>()?;
        return part.in_values(values.into_iter());
    }
    if let Some(null) = condition.downcast_ref::<IsNullExpr>() {
        return is_column(part, null.arg()).then(|| part.null());
    }
    if let Some(case) = condition.downcast_ref::<CaseExpr>() {
        // The build side of a join has several partitions, and each its condition: a row has to fulfil one of them.
        let branches = case.when_then_expr().iter().map(|(_, then)| then).chain(case.else_expr());
        let sets = branches.map(|branch| column_set(part, branch)).collect::<Option<Vec<_>>>()?;
        return Some(sets.into_iter().fold(KeySet::none(), KeySet::union));
    }
    match literal(condition)? {
        ScalarValue::Boolean(Some(false) | None) => Some(KeySet::none()),
        _ => None,
    }
}

fn is_column(part: &KeyPart, expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<Column>().is_some_and(|column| column.index() == part.position)
}

fn literal(expr: &Arc<dyn PhysicalExpr>) -> Option<&ScalarValue> {
    expr.downcast_ref::<Literal>().map(Literal::value)
}
