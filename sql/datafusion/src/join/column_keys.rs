//! Join keys as columns, so that joins with casts of a key or expressions of the other side still read by key.

use arrow_schema::DataType;
use datafusion::common::{Column, DFSchema, DFSchemaRef, ExprSchema, JoinType, NullEquality, Result};
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, Join, LogicalPlan, LogicalPlanBuilder, Projection, TryCast};
use std::sync::Arc;

/// The rows of each side that come in the order of a key, as far as they are known; `None` for another side.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyedRows {
    pub(super) left: Option<usize>,
    pub(super) right: Option<usize>,
}

/// A join of which a side has its rows in the order of a key.
#[derive(Debug)]
pub(super) enum ColumnJoin {
    /// Its keys are columns.
    By(ByColumns),
    /// They are others, or nulls equal each other.
    Other(Join),
}

/// A join whose keys are columns.
#[derive(Debug)]
pub(super) struct ByColumns {
    join: Join,
    /// The columns of the join before, if others were added.
    output: Option<DFSchemaRef>,
}

impl ByColumns {
    /// The plan that `node` makes of the join, with the columns of the join before.
    pub(super) fn into_plan(self, node: impl FnOnce(Join) -> LogicalPlan) -> Result<LogicalPlan> {
        let plan = node(self.join);
        let Some(schema) = self.output else { return Ok(plan) };
        let columns = schema.columns().into_iter().map(Expr::Column).collect();
        Projection::try_new_with_schema(columns, Arc::new(plan), schema).map(LogicalPlan::Projection)
    }
}

impl ColumnJoin {
    /// The join as it is, if its keys are columns; else the same join over inputs that have its expressions as columns.
    ///
    /// SQL compares columns of different types as a third one, such as `u64` and `i64` as decimals. Where a cast keeps
    /// all values of a key apart, the other side is cast to the type of the key instead. A value that the type does not
    /// have becomes a null, which equals no key, as that value does. Of two keys of different types, that of the side
    /// with more rows stays.
    pub(super) fn of(join: Join, keyed: KeyedRows) -> Result<Self> {
        let is_columns = |(left, right): &(Expr, Expr)| left.try_as_col().is_some() && right.try_as_col().is_some();
        if join.on.iter().all(is_columns) {
            return Ok(Self::By(ByColumns { join, output: None }));
        }
        // The column of a mark has the table of its side, if all columns of that side have one.
        let has_mark = matches!(join.join_type, JoinType::LeftMark | JoinType::RightMark);
        if has_mark || join.null_equality != NullEquality::NullEqualsNothing {
            return Ok(Self::Other(join));
        }
        let (left_schema, right_schema) = (join.left.schema(), join.right.schema());
        let (mut left_keys, mut right_keys, mut has_key) = (Vec::new(), Vec::new(), false);
        let left_first = keyed.left >= keyed.right;
        for (left, right) in &join.on {
            let of_left = || keyed.left.and_then(|_| by_key(left, left_schema, right, right_schema));
            let of_right = || {
                let (key, other) = keyed.right.and_then(|_| by_key(right, right_schema, left, left_schema))?;
                Some((other, key))
            };
            let found = if left_first { of_left().or_else(of_right) } else { of_right().or_else(of_left) };
            has_key |= found.is_some();
            let (left, right) = found.unwrap_or_else(|| (left.clone(), right.clone()));
            left_keys.push(left);
            right_keys.push(right);
        }
        if !has_key {
            return Ok(Self::Other(join));
        }
        let mut names = Names::of(&join);
        let (left, left_keys) = with_columns(&join.left, left_keys, &mut names)?;
        let (right, right_keys) = with_columns(&join.right, right_keys, &mut names)?;
        let on = left_keys.into_iter().zip(right_keys).collect();
        let Join { filter, join_type, join_constraint, schema, null_equality, null_aware, .. } = join;
        let join = Join::try_new(left, right, on, filter, join_type, join_constraint, null_equality, null_aware)?;
        Ok(Self::By(ByColumns { join, output: Some(schema) }))
    }
}

/// A key as a column of its own type, and the other side as a value of that type; `None` if the key is none.
fn by_key(key: &Expr, schema: &DFSchema, other: &Expr, other_schema: &DFSchema) -> Option<(Expr, Expr)> {
    if key.try_as_col().is_some() {
        return Some((key.clone(), other.clone()));
    }
    let Expr::Cast(Cast { expr: column, field }) = key else { return None };
    let key_type = schema.field_from_column(column.try_as_col()?).ok()?.data_type();
    let compared = field.data_type();
    if !keeps_apart(key_type, compared) {
        return None;
    }
    // A cast that keeps values apart is as little needed there.
    let bare = match other {
        Expr::Cast(Cast { expr, .. }) if keeps_apart(&expr.get_type(other_schema).ok()?, compared) => expr,
        other => other,
    };
    let value = match bare.get_type(other_schema).ok()? == *key_type {
        true => bare.clone(),
        false => Expr::TryCast(TryCast::new(Box::new(bare.clone()), key_type.clone())),
    };
    Some(((**column).clone(), value))
}

/// Whether a cast gives each value another one, and a cast back gives a value only if it came from it.
fn keeps_apart(from: &DataType, to: &DataType) -> bool {
    use DataType::{Binary, BinaryView, Decimal128, Decimal256, LargeBinary, LargeUtf8, Utf8, Utf8View};
    let is_text = |it: &DataType| matches!(it, Utf8 | LargeUtf8 | Utf8View);
    let is_bytes = |it: &DataType| matches!(it, Binary | LargeBinary | BinaryView);
    match (integer(from), integer(to)) {
        (Some(from), Some(to)) => {
            to.bits >= from.bits + u8::from(to.is_signed && !from.is_signed) && (to.is_signed || !from.is_signed)
        }
        (Some(from), None) => match to {
            Decimal128(precision, 0) | Decimal256(precision, 0) => *precision >= from.digits(),
            _ => false,
        },
        _ => is_text(from) && is_text(to) || is_bytes(from) && is_bytes(to),
    }
}

/// An integer type.
struct Integer {
    bits: u8,
    is_signed: bool,
}

impl Integer {
    /// Digits of the greatest value.
    fn digits(&self) -> u8 {
        match (self.bits, self.is_signed) {
            (8, _) => 3,
            (16, _) => 5,
            (32, _) => 10,
            (_, true) => 19,
            (_, false) => 20,
        }
    }
}

fn integer(data_type: &DataType) -> Option<Integer> {
    use DataType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    let (bits, is_signed) = match data_type {
        Int8 => (8, true),
        Int16 => (16, true),
        Int32 => (32, true),
        Int64 => (64, true),
        UInt8 => (8, false),
        UInt16 => (16, false),
        UInt32 => (32, false),
        UInt64 => (64, false),
        _ => return None,
    };
    Some(Integer { bits, is_signed })
}

/// An input with expressions as further columns, and these columns.
fn with_columns(input: &Arc<LogicalPlan>, keys: Vec<Expr>, names: &mut Names) -> Result<(Arc<LogicalPlan>, Vec<Expr>)> {
    if keys.iter().all(|key| key.try_as_col().is_some()) {
        return Ok((input.clone(), keys));
    }
    let mut columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    let keys = keys.into_iter().map(|key| match key {
        Expr::Column(_) => key,
        key => {
            let name = names.next();
            columns.push(key.alias(&name));
            Expr::Column(Column::new_unqualified(name))
        }
    });
    let keys = keys.collect();
    let plan = LogicalPlanBuilder::from(input.clone()).project(columns)?.build()?;
    Ok((Arc::new(plan), keys))
}

/// Names that no column of a join has.
struct Names {
    taken: Vec<String>,
    number: usize,
}

impl Names {
    fn of(join: &Join) -> Self {
        let fields = join.left.schema().fields().iter().chain(join.right.schema().fields());
        Self { taken: fields.map(|field| field.name().clone()).collect(), number: 0 }
    }

    fn next(&mut self) -> String {
        loop {
            let name = format!("join_key_{}", self.number);
            self.number += 1;
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The greatest and least values of integer types are told apart by each type that is said to do so.
    #[test]
    fn integers_are_kept_apart_by_types_that_have_them_all() {
        let all = [("Int8", 8, true), ("UInt8", 8, false), ("Int32", 32, true), ("UInt32", 32, false)];
        let all = [&all[..], &[("Int64", 64, true), ("UInt64", 64, false)]].concat();
        for (from_name, from_bits, from_signed) in &all {
            for (to_name, to_bits, to_signed) in &all {
                let range = |bits: u32, is_signed: bool| match is_signed {
                    true => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
                    false => (0, (1_i128 << bits) - 1),
                };
                let (from, to) = (range(*from_bits, *from_signed), range(*to_bits, *to_signed));
                let is_within = to.0 <= from.0 && from.1 <= to.1;
                let parse = |name: &str| name.parse::<DataType>().unwrap();
                assert_eq!(keeps_apart(&parse(from_name), &parse(to_name)), is_within, "{from_name} as {to_name}");
            }
        }
        let decimal = |precision| DataType::Decimal128(precision, 0);
        assert!(keeps_apart(&DataType::UInt64, &decimal(20)) && !keeps_apart(&DataType::UInt64, &decimal(19)));
        assert!(!keeps_apart(&DataType::Int64, &DataType::Float64));
        assert!(!keeps_apart(&DataType::Int64, &DataType::Decimal128(38, 2)));
        assert!(keeps_apart(&DataType::Utf8, &DataType::Utf8View) && !keeps_apart(&DataType::Utf8, &DataType::Binary));
    }
}
