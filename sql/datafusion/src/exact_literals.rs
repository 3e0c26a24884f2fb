//! Exact comparisons with literals that are finer than the type of the column.
//!
//! DataFusion 55 compares a column and a literal of another type as values of a type for both, in which neither may be
//! exact: text becomes a timestamp of the unit of the column, a decimal number a float, and so does an integer of the
//! column that is compared with a fraction. A row is then missed, or one too many found. A comparison with a literal
//! that the type of the column cannot represent equals one with the next lower value: `t < 1.5` is `t <= 1` for
//! integers.
//!
//! The setting `parse_float_as_decimal` would make every fraction of a statement a decimal number: `1e300` is then an
//! error, `select 1.5` has another type, and columns of floats that are compared with a fraction are cast to decimal
//! numbers, which have no NaN. So fractions stay floats, whose shortest digits are those of the statement, up to
//! fifteen.

use crate::exact_numbers::FLOAT_DIGITS_MAX;
use crate::exact_text::is_finer;
use arrow_schema::DataType;
use datafusion::arrow::datatypes::{DECIMAL256_MAX_PRECISION, i256};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ExprSchema, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Between, Cast, InList};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, binary_expr, cast, lit};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use std::sync::Arc;

/// Compares with literals as values of the type of what they are compared with. To be applied before types are coerced.
#[derive(Debug)]
pub(crate) struct CompareLiteralsExactly;

impl AnalyzerRule for CompareLiteralsExactly {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            let mut schema = merge_schema(&plan.inputs());
            if let LogicalPlan::TableScan(scan) = &plan {
                schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
            }
            let names = NamePreserver::new(&plan);
            let compared = |expr| Ok(compared(expr, &schema, config));
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(expr.transform_up(compared)?.update_data(|expr| name.restore(expr)))
            })
        });
        Ok(changed?.data)
    }

    fn name(&self) -> &str {
        "compare_literals_exactly"
    }
}

/// A literal among the values of a type.
enum Floor {
    /// It is this value.
    Same(ScalarValue),
    /// It is greater than this value, and less than the next one.
    Above(ScalarValue),
    /// It is less than all values.
    BelowAll,
    /// It is greater than all values.
    AboveAll,
}

/// What compares with literals, and with which schema.
struct Comparison<'a> {
    schema: &'a dyn ExprSchema,
    config: &'a ConfigOptions,
}

fn compared(expr: Expr, schema: &DFSchema, config: &ConfigOptions) -> Transformed<Expr> {
    let comparison = Comparison { schema, config };
    let changed = match &expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            comparison.binary(left, *op, right).or_else(|| comparison.binary(right, op.swap()?, left))
        }
        Expr::InList(list) => comparison.in_list(list),
        Expr::Between(between) => comparison.between(between),
        _ => None,
    };
    match changed {
        Some(changed) => Transformed::yes(changed),
        None => Transformed::no(expr),
    }
}

impl Comparison<'_> {
    /// A comparison of a value with a literal of another type; `None` if it stays as it is.
    fn binary(&self, value: &Expr, op: Operator, literal: &Expr) -> Option<Expr> {
        use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
        if !matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom) {
            return None;
        }
        if self.is_float(value) {
            return Some(binary_expr(value.clone(), op, self.as_float(literal)?));
        }
        let (floor, value) = (self.floor(value, literal)?, value.clone());
        Some(match (op, floor) {
            (op, Floor::Same(same)) => binary_expr(value, op, lit(same)),
            (IsDistinctFrom | IsNotDistinctFrom, _) => lit(op == IsDistinctFrom),
            (Eq, _) | (Lt | LtEq, Floor::BelowAll) | (Gt | GtEq, Floor::AboveAll) => self.never(value),
            (Lt | LtEq, Floor::Above(floor)) => value.lt_eq(lit(floor)),
            (Gt | GtEq, Floor::Above(floor)) => value.gt(lit(floor)),
            _ => !self.never(value),
        })
    }

    fn in_list(&self, list: &InList) -> Option<Expr> {
        if self.is_float(&list.expr) {
            let items = list.list.iter().map(|item| self.as_float(item).unwrap_or_else(|| item.clone()));
            let floats = InList { list: items.collect(), ..list.clone() };
            return with_both_zeros(&floats).or_else(|| (floats != *list).then_some(Expr::InList(floats)));
        }
        let floors: Vec<Option<Floor>> = list.list.iter().map(|item| self.floor(&list.expr, item)).collect();
        if floors.iter().all(Option::is_none) {
            return None;
        }
        let items = list.list.iter().zip(floors).filter_map(|(item, floor)| match floor {
            Some(Floor::Same(same)) => Some(lit(same)),
            Some(_) => None,
            None => Some(item.clone()),
        });
        let items: Vec<Expr> = items.collect();
        let value = list.expr.as_ref().clone();
        Some(match (items.is_empty(), list.negated) {
            (true, false) => self.never(value),
            (true, true) => !self.never(value),
            (false, negated) => value.in_list(items, negated),
        })
    }

    fn between(&self, Between { expr, negated, low, high }: &Between) -> Option<Expr> {
        let (first, last) = (self.binary(expr, Operator::GtEq, low), self.binary(expr, Operator::LtEq, high));
        if first.is_none() && last.is_none() || expr.is_volatile() {
            return None;
        }
        let first = first.unwrap_or_else(|| expr.as_ref().clone().gt_eq(low.as_ref().clone()));
        let last = last.unwrap_or_else(|| expr.as_ref().clone().lt_eq(high.as_ref().clone()));
        Some(if *negated { !(first.and(last)) } else { first.and(last) })
    }

    /// A decimal number that is compared with floats as the float that is nearest to it. DataFusion would make decimal
    /// numbers of the floats, of which some are too large, and others have more digits.
    fn as_float(&self, value: &Expr) -> Option<Expr> {
        let is_decimal = || value.get_type(self.schema).is_ok_and(|it| it.is_decimal());
        float(value).map(lit).or_else(|| is_decimal().then(|| cast(value.clone(), DataType::Float64)))
    }

    fn is_float(&self, value: &Expr) -> bool {
        value.get_type(self.schema).is_ok_and(|it| it.is_floating())
    }

    /// A literal among the values of the type of an expression; `None` if DataFusion compares the two exactly.
    fn floor(&self, value: &Expr, literal: &Expr) -> Option<Floor> {
        if matches!(value, Expr::Literal(..)) {
            return None;
        }
        let to = value.get_type(self.schema).ok()?;
        match to {
            DataType::Date32 | DataType::Timestamp(..) | DataType::Time32(_) | DataType::Time64(_) => {
                self.time(&to, literal)
            }
            _ if to.is_decimal() || to.is_integer() => number(&to, literal),
            _ => None,
        }
    }

    /// A condition that is false, or null for a null.
    fn never(&self, value: Expr) -> Expr {
        match value.nullable(self.schema) {
            Ok(false) => lit(false),
            _ => value.is_null().and(lit(ScalarValue::Boolean(None))),
        }
    }

    fn time(&self, to: &DataType, literal: &Expr) -> Option<Floor> {
        let folded;
        let said = match literal {
            Expr::Literal(said, _) => said,
            Expr::Cast(Cast { expr, field })
                if matches!(field.data_type(), DataType::Timestamp(..) | DataType::Date32) =>
            {
                let Expr::Literal(said, _) = expr.as_ref() else { return None };
                match said.cast_to(field.data_type()) {
                    // A text is what its type has of it.
                    Ok(value) => {
                        folded = value;
                        &folded
                    }
                    // Nanoseconds, of which the timestamps of statements are, end in 2262.
                    Err(_) => said,
                }
            }
            Expr::ScalarFunction(_) if !literal.any_column_refs() && !literal.is_volatile() => {
                let context = SimplifyContext::builder().with_config_options(Arc::new(self.config.clone())).build();
                let Ok(Expr::Literal(said, _)) = ExprSimplifier::new(context).simplify(literal.clone()) else {
                    return None;
                };
                folded = said;
                &folded
            }
            _ => return None,
        };
        let is_time = match (said.data_type(), to) {
            (DataType::Timestamp(..), DataType::Timestamp(..)) => true,
            // DataFusion would make nanoseconds of the dates, which end in 2262.
            (DataType::Timestamp(_, None), DataType::Date32) | (DataType::Date32, DataType::Timestamp(_, None)) => true,
            _ => false,
        };
        if let Some(Some(text)) = said.try_as_str() {
            // DataFusion would make nanoseconds of it.
            let value = said.cast_to(to).ok().filter(|value| !value.is_null())?;
            return Some(if is_finer(text, to) { Floor::Above(value) } else { Floor::Same(value) });
        }
        if !is_time || said.is_null() {
            return None;
        }
        // What does not come back the same is finer; casts round towards zero.
        let value = said.cast_to(to).ok()?;
        let back = value.cast_to(&said.data_type()).ok()?;
        if back == *said {
            // In a list, one of nanoseconds makes nanoseconds of all.
            let is_other = match (said.data_type(), to) {
                (DataType::Timestamp(unit, zone), DataType::Timestamp(of, other)) => unit != *of && zone == *other,
                _ => true,
            };
            return is_other.then_some(Floor::Same(value));
        }
        Some(Floor::Above(if back > *said { before(&value)? } else { value }))
    }
}

/// A list of floats that has zeros of both signs if it has one: DataFusion 55 tells them apart in lists of more than
/// three values, and nowhere else. `None` for a list that stays as it is.
fn with_both_zeros(list: &InList) -> Option<Expr> {
    let zero = |item: &Expr| match item {
        Expr::Literal(ScalarValue::Float64(Some(float)), _) if *float == 0.0 => Some(float.is_sign_negative()),
        Expr::Literal(ScalarValue::Float32(Some(float)), _) if *float == 0.0 => Some(float.is_sign_negative()),
        Expr::Literal(ScalarValue::Int64(Some(0)), _) => Some(false),
        _ => None,
    };
    let signs: Vec<bool> = list.list.iter().filter_map(zero).collect();
    let missing = match (signs.contains(&false), signs.contains(&true)) {
        (true, false) => -0.0_f64,
        (false, true) => 0.0,
        _ => return None,
    };
    let mut items = list.list.clone();
    items.push(lit(missing));
    Some(list.expr.as_ref().clone().in_list(items, list.negated))
}

/// The timestamp or date before another one.
fn before(value: &ScalarValue) -> Option<ScalarValue> {
    Some(match value {
        ScalarValue::Date32(Some(day)) => ScalarValue::Date32(Some(day.checked_sub(1)?)),
        ScalarValue::TimestampSecond(Some(time), zone) => {
            ScalarValue::TimestampSecond(Some(time.checked_sub(1)?), zone.clone())
        }
        ScalarValue::TimestampMillisecond(Some(time), zone) => {
            ScalarValue::TimestampMillisecond(Some(time.checked_sub(1)?), zone.clone())
        }
        ScalarValue::TimestampMicrosecond(Some(time), zone) => {
            ScalarValue::TimestampMicrosecond(Some(time.checked_sub(1)?), zone.clone())
        }
        _ => return None,
    })
}

/// A decimal number of a statement as the float that is nearest to it; DataFusion makes decimal numbers of the floats
/// that it is compared with.
fn float(literal: &Expr) -> Option<f64> {
    let decimal = match literal {
        Expr::Literal(said, _) if said.data_type().is_decimal() => said.clone(),
        Expr::Cast(Cast { expr, field }) if field.data_type().is_decimal() => match expr.as_ref() {
            Expr::Literal(text, _) if text.try_as_str().is_some() => text.cast_to(field.data_type()).ok()?,
            _ => return None,
        },
        _ => return None,
    };
    let Number { digits, exponent } = Number::of(&decimal)?;
    format!("{digits}e{exponent}").parse().ok()
}

/// A number of a statement as an integer or a decimal number; `None` for integers beside integers, which DataFusion
/// compares exactly.
fn number(to: &DataType, literal: &Expr) -> Option<Floor> {
    let said = match literal {
        Expr::Literal(said, _) if to.is_integer() && said.data_type().is_integer() => return None,
        Expr::Literal(said, _) => Number::of(said)?,
        Expr::Cast(Cast { expr, field }) if field.data_type().is_decimal() => {
            let Expr::Literal(text, _) = expr.as_ref() else { return None };
            let (text, decimal) = (text.try_as_str().flatten()?, text.cast_to(field.data_type()).ok()?);
            // The digits of the text, unless the cast rounds them.
            Number::parse(text).filter(|number| Number::of(&decimal).is_some_and(|it| it.is_same(number)))?
        }
        _ => return None,
    };
    let scale = match to {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => *scale,
        _ => 0,
    };
    let beyond = || if said.digits.is_negative() { Floor::BelowAll } else { Floor::AboveAll };
    let Some((units, is_exact)) = said.floor(scale) else { return Some(beyond()) };
    // Integers are decimal numbers without a scale.
    let units = ScalarValue::Decimal256(Some(units), DECIMAL256_MAX_PRECISION, scale);
    Some(match units.cast_to(to) {
        Ok(value) if is_exact => Floor::Same(value),
        Ok(value) => Floor::Above(value),
        Err(_) => beyond(),
    })
}

/// A number as it is written: `digits * 10 ^ exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number {
    digits: i256,
    exponent: i32,
}

impl Number {
    /// The number that a literal stands for; `None` for a float that more digits may have been written for.
    fn of(literal: &ScalarValue) -> Option<Self> {
        match literal {
            ScalarValue::Float64(Some(float)) if float.is_finite() => {
                let text = format!("{float:e}");
                let digits = text.split('e').next().unwrap_or_default().bytes().filter(u8::is_ascii_digit).count();
                (digits <= FLOAT_DIGITS_MAX).then(|| Self::parse(&text))?
            }
            ScalarValue::Decimal32(Some(digits), _, scale) => Some(Self::new((*digits).into(), -i32::from(*scale))),
            ScalarValue::Decimal64(Some(digits), _, scale) => Some(Self::new((*digits).into(), -i32::from(*scale))),
            ScalarValue::Decimal128(Some(digits), _, scale) => Some(Self::new(*digits, -i32::from(*scale))),
            ScalarValue::Decimal256(Some(digits), _, scale) => {
                Some(Self { digits: *digits, exponent: -i32::from(*scale) })
            }
            ScalarValue::Int64(Some(number)) => Some(Self::new((*number).into(), 0)),
            ScalarValue::UInt64(Some(number)) => Some(Self::new((*number).into(), 0)),
            _ => None,
        }
    }

    fn new(digits: i128, exponent: i32) -> Self {
        Self { digits: i256::from_i128(digits), exponent }
    }

    /// The number of a text such as `-1.50` or `1.5e-3`.
    fn parse(text: &str) -> Option<Self> {
        let (text, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let exponent = exponent.parse::<i32>().ok()?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        Some(Self { digits: i256::from_string(&format!("{whole}{fraction}"))?, exponent })
    }

    fn is_same(&self, other: &Self) -> bool {
        let least = i8::try_from(-self.exponent.min(other.exponent));
        least.is_ok_and(|scale| self.floor(scale).is_some_and(|one| other.floor(scale) == Some(one)))
    }

    /// The whole number of units of `10 ^ -scale` that is not greater, and whether it is the same; `None` for one of
    /// more than 76 digits.
    fn floor(&self, scale: i8) -> Option<(i256, bool)> {
        let places = self.exponent.checked_add(scale.into())?;
        if self.digits == i256::ZERO {
            return Some((i256::ZERO, true));
        }
        let below_zero = if self.digits.is_negative() { i256::MINUS_ONE } else { i256::ZERO };
        match i256::from_i128(10).checked_pow(places.unsigned_abs()) {
            Some(factor) if places >= 0 => Some((self.digits.checked_mul(factor)?, true)),
            Some(factor) => match self.digits.checked_rem(factor)? {
                i256::ZERO => Some((self.digits.checked_div(factor)?, true)),
                // Divisions round towards zero.
                _ => Some((self.digits.checked_div(factor)?.checked_add(below_zero)?, false)),
            },
            None if places >= 0 => None,
            // All of it is behind the unit.
            None => Some((below_zero, false)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_parsed_and_rounded_down_exactly() {
        let of_units = |(units, is_exact): (i256, bool)| (units.to_i128().unwrap(), is_exact);
        let floor = |text: &str, scale| Number::parse(text).unwrap().floor(scale).map(of_units);
        assert_eq!(floor("1.239", 2), Some((123, false)));
        assert_eq!(floor("-1.239", 2), Some((-124, false)));
        assert_eq!(floor("1.230", 2), Some((123, true)));
        assert_eq!(floor("-6.5", 0), Some((-7, false)));
        assert_eq!(floor("1e3", 0), Some((1_000, true)));
        assert_eq!(floor("1e300", 0), None);
        assert_eq!(floor("1e-300", 0), Some((0, false)));
        assert_eq!(floor("-1e-300", 0), Some((-1, false)));
        assert_eq!(floor("0e300", 2), Some((0, true)));
        assert_eq!(
            floor("123456789012345678901234567890.12", 2),
            Some((12_345_678_901_234_567_890_123_456_789_012, true))
        );
        let of = |float| Number::of(&ScalarValue::Float64(Some(float)));
        assert_eq!(of(999_999_999.999).unwrap().floor(3).map(of_units), Some((999_999_999_999, true)));
        assert_eq!(of(0.1), Some(Number::new(1, -1)));
        let wide = "340282366920938463463374607431768211455";
        assert_eq!(Number::parse(wide).unwrap().floor(0), Some((i256::from_string(wide).unwrap(), true)));
        assert_eq!(floor(&format!("-{wide}.5"), -9), Some((-340_282_366_920_938_463_463_374_607_432, false)));
        assert_eq!(of(0.1 + 0.2), None);
        assert_eq!(of(f64::NAN), None);
    }
}
