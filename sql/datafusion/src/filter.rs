//! Conditions of a query as exact sets of keys: a condition that became a set need not be checked again.

use crate::in_list::unpacked;
use crate::key_columns::{KeyColumns, KeyPart};
use crate::key_set::KeySet;
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::expr::{InList, Like, ScalarFunction};
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};

/// What conditions tell of the columns of a key.
pub(crate) struct KnownKeys {
    /// The keys for which those conditions are true that were taken into account.
    pub(crate) keys: KeySet,
    /// For each condition, whether it was.
    pub(crate) is_used: Vec<bool>,
    /// The values of each of the first columns, as far as the keys are chosen by them.
    pub(crate) values: Vec<KeySet>,
}

/// The keys for which conditions are true, and for each condition whether it was taken into account.
pub(crate) fn keys_of(key: &KeyColumns, conditions: &[&Expr]) -> (KeySet, Vec<bool>) {
    let KnownKeys { keys, is_used, .. } = known_keys(key, conditions);
    (keys, is_used)
}

/// As [`keys_of`], with what is known of each column.
pub(crate) fn known_keys(key: &KeyColumns, conditions: &[&Expr]) -> KnownKeys {
    let mut columns: Vec<Option<KeySet>> = vec![None; key.columns().len()];
    let places: Vec<Option<usize>> = conditions
        .iter()
        .map(|condition| {
            let (at, set) = column_set(key, condition)?;
            let known = columns[at].take();
            columns[at] = Some(known.map_or_else(|| set.clone(), |known| known.intersection(&set)));
            Some(at)
        })
        .collect();
    let (mut keys, used) = key.keys_of(&columns);
    let is_used = places.iter().zip(conditions).map(|(place, condition)| match place {
        Some(at) => *at < used,
        None => match whole_keys(key, condition) {
            Some(others) => {
                keys = std::mem::replace(&mut keys, KeySet::none()).intersection(&others);
                true
            }
            None => false,
        },
    });
    let is_used = is_used.collect();
    KnownKeys { keys, is_used, values: columns.into_iter().take(used).flatten().collect() }
}

/// Whether a condition is about one of the columns.
pub(crate) fn is_about(key: &KeyColumns, condition: &Expr) -> bool {
    column_set(key, condition).is_some()
}

/// The keys of a condition on several columns: alternatives, each a conjunction.
fn whole_keys(key: &KeyColumns, condition: &Expr) -> Option<KeySet> {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            Some(whole_keys(key, left)?.union(whole_keys(key, right)?))
        }
        Expr::Literal(ScalarValue::Boolean(Some(true)), _) => Some(KeySet::all()),
        Expr::Literal(ScalarValue::Boolean(_), _) => Some(KeySet::none()),
        condition => {
            let (at_once, parts) = (column_set(key, condition), conjuncts(condition));
            // What is neither about one column nor has parts is about something else.
            if at_once.is_none() && parts.len() == 1 {
                return None;
            }
            let (keys, is_used) = keys_of(key, &parts);
            is_used.iter().all(|used| *used).then_some(keys)
        }
    }
}

fn conjuncts(condition: &Expr) -> Vec<&Expr> {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => [conjuncts(left), conjuncts(right)].concat(),
        condition => vec![condition],
    }
}

/// The components of one column of the key for which a condition is true: exactly these, or `None` if the condition is
/// about something else.
fn column_set(key: &KeyColumns, condition: &Expr) -> Option<(usize, KeySet)> {
    let of = |column: &Expr, set: &dyn Fn(&KeyPart) -> Option<KeySet>| {
        let Expr::Column(Column { name, .. }) = column else { return None };
        let at = key.position_of(name)?;
        Some((at, set(&key.columns()[at])?))
    };
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let ((at, one), (other, two)) = (column_set(key, left)?, column_set(key, right)?);
            (at == other).then(|| (at, one.intersection(&two)))
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let ((at, one), (other, two)) = (column_set(key, left)?, column_set(key, right)?);
            (at == other).then(|| (at, one.union(two)))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (&**left, &**right) {
            (column, Expr::Literal(literal, _)) => of(column, &|part| part.compared(*op, literal)),
            (Expr::Literal(literal, _), column) => of(column, &|part| part.compared(op.swap()?, literal)),
            _ => None,
        },
        Expr::Between(Between { expr, negated: false, low, high }) => {
            let (Expr::Literal(low, _), Expr::Literal(high, _)) = (&**low, &**high) else { return None };
            of(expr, &|part| {
                Some(part.compared(Operator::GtEq, low)?.intersection(&part.compared(Operator::LtEq, high)?))
            })
        }
        Expr::InList(InList { expr, list, negated: false }) => {
            let literals = list.iter().map(|item| match item {
                Expr::Literal(literal, _) => Some(literal),
                _ => None,
            });
            let literals = literals.collect::<Option<Vec<_>>>()?;
            of(expr, &|part| part.in_values(literals.iter().copied()))
        }
        Expr::Like(Like { negated: false, expr, pattern, escape_char: None, case_insensitive: false }) => {
            of(expr, &|part| part.with_text(prefix_of(pattern)?))
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == "starts_with" => match &args[..] {
            [column, Expr::Literal(prefix, _)] => of(column, &|part| part.with_text(text_of(prefix)?)),
            _ => None,
        },
        Expr::ScalarFunction(function) => {
            let (column, values) = unpacked(function)?;
            of(column, &|part| part.in_values(values.iter()))
        }
        Expr::IsNull(column) => of(column, &|part| Some(part.null())),
        Expr::IsNotNull(column) => of(column, &|part| Some(part.not_null())),
        // A column of truth values by itself.
        column @ Expr::Column(_) => of(column, &|part| part.compared(Operator::Eq, &ScalarValue::Boolean(Some(true)))),
        Expr::Not(column) => of(column, &|part| part.compared(Operator::Eq, &ScalarValue::Boolean(Some(false)))),
        _ => None,
    }
}

/// Text that begins with what stands before a `%` at the end, the only wildcard.
fn prefix_of(pattern: &Expr) -> Option<&str> {
    let Expr::Literal(pattern, _) = pattern else { return None };
    let prefix = text_of(pattern)?.strip_suffix('%')?;
    (!prefix.contains(['%', '_', '\\'])).then_some(prefix)
}

fn text_of(literal: &ScalarValue) -> Option<&str> {
    literal.try_as_str().flatten()
}
