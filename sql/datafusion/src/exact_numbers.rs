//! Numbers of many digits in the text of statements.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, ExactNumberInfo, Expr, UnaryOperator, Value, ValueWithSpan, VisitMut,
    visit_expressions_mut,
};
use std::ops::ControlFlow;

/// Most digits of a number that is the same after it was a float.
pub(crate) const FLOAT_DIGITS_MAX: usize = 15;
/// Most digits of a decimal number of SQL.
const DECIMAL_DIGITS_MAX: usize = 76;

/// Makes numbers that are compared, and have more digits than a float keeps, casts of their text to a decimal number:
/// the parser of DataFusion 55 makes floats of fractions, and of whole numbers beyond 64 bits, and what they are
/// compared with may have all digits.
pub(crate) fn keep_digits(parsed: &mut impl VisitMut) {
    _ = visit_expressions_mut(parsed, |expr| {
        match expr {
            Expr::BinaryOp { left, op, right } if is_comparison(op) => {
                [left, right].into_iter().for_each(|it| keep(it))
            }
            Expr::Between { expr, low, high, .. } => [expr, low, high].into_iter().for_each(|it| keep(it)),
            Expr::InList { expr, list, .. } => {
                keep(expr);
                list.iter_mut().for_each(keep);
            }
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
}

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

fn keep(operand: &mut Expr) {
    let (sign, number) = match &*operand {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => ("-", expr.as_ref()),
        other => ("", other),
    };
    let Expr::Value(ValueWithSpan { value: Value::Number(number, _), .. }) = number else { return };
    let (whole, fraction) = match number.split_once('.') {
        Some(parts) => parts,
        // The parser makes integers of these, with their sign.
        None if sign.is_empty() && number.parse::<u64>().is_ok() => return,
        None if format!("{sign}{number}").parse::<i64>().is_ok() => return,
        None => (number.as_str(), ""),
    };
    let whole = whole.trim_start_matches('0');
    let digits = whole.len() + fraction.len();
    let is_plain = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !is_plain || digits <= FLOAT_DIGITS_MAX || digits > DECIMAL_DIGITS_MAX {
        return;
    }
    let info = ExactNumberInfo::PrecisionAndScale(digits as u64, fraction.len() as i64);
    *operand = Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::value(Value::SingleQuotedString(format!("{sign}{number}")))),
        data_type: DataType::Decimal(info),
        array: false,
        format: None,
    };
}
