//! Conditions of a join on fields of both sides: `--where 'left.price < right.limit'`.

use crate::failure::{Failure, Result};
use ogive::KeyType;
use ogive::join::{JoinPair, JoinSource};
use ogive::types::{RecordType, Row, Value, ValueType};
use std::cmp::Ordering;

/// Whether a comparison holds for an order of its operands.
type Holds = fn(Ordering) -> bool;

/// Operators, longer ones before those that they begin with.
const OPERATORS: [(&str, Holds); 6] = [
    ("!=", Ordering::is_ne),
    ("<=", Ordering::is_le),
    (">=", Ordering::is_ge),
    ("=", Ordering::is_eq),
    ("<", Ordering::is_lt),
    (">", Ordering::is_gt),
];

/// One comparison.
#[derive(Clone, Debug)]
struct Comparison {
    first: Operand,
    holds: Holds,
    second: Operand,
}

/// What is compared.
#[derive(Clone, Debug)]
enum Operand {
    /// A field of a side, or its value if that is not a row.
    Field {
        is_right: bool,
        types: ValueType,
        index: usize,
        key_type: KeyType,
    },
    Constant(Value),
}

/// The condition that all comparisons hold.
///
/// # Errors
/// [`Failure::Usage`] for a comparison that cannot be read, or whose operands cannot be compared.
pub(super) fn parse(
    texts: &[String],
    left: &JoinSource,
    right: &JoinSource,
) -> Result<impl Fn(JoinPair<'_>) -> ogive::Result<bool> + Send + Sync + 'static> {
    let types = [left.record_type(), right.record_type()];
    let comparisons = texts.iter().map(|text| parse_one(text, types)).collect::<Result<Vec<_>>>()?;
    Ok(move |pair: JoinPair<'_>| {
        for Comparison { first, holds, second } in &comparisons {
            let (Some(first), Some(second)) = (first.value(&pair)?, second.value(&pair)?) else { return Ok(false) };
            if !compare(&first, &second).is_some_and(holds) {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

fn parse_one(text: &str, types: [&RecordType; 2]) -> Result<Comparison> {
    let wrong = |reason: String| {
        Failure::usage(
            format!("'{text}' is not a condition: {reason}"),
            "write one such as 'left.price < right.limit' or \"right.kind = 'a'\"",
        )
    };
    let found = (0..text.len()).filter(|&at| text.is_char_boundary(at)).find_map(|at| {
        let rest = &text[at..];
        OPERATORS.iter().find(|(name, _)| rest.starts_with(name)).map(|operator| (at, operator))
    });
    let (at, (name, holds)) = found.ok_or_else(|| wrong("it has none of =, !=, <, <=, > and >=".into()))?;
    let (first, second) = (text[..at].trim(), text[at + name.len()..].trim());
    let fields = [field(first, types).map_err(&wrong)?, field(second, types).map_err(&wrong)?];
    let key_type = |field: &Option<Operand>| match field {
        Some(Operand::Field { key_type, .. }) => Some(*key_type),
        _ => None,
    };
    let constant = |text: &str, key_type: KeyType| {
        let text = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap_or(text);
        let value = key_type.parse(text).and_then(|bytes| key_type.decode(&bytes));
        value.map(Operand::Constant).map_err(|_| wrong(format!("'{text}' is not of type {key_type}")))
    };
    let types = [key_type(&fields[0]), key_type(&fields[1])];
    let [one, other] = fields;
    let (first, second) = match (one, other, types) {
        (Some(one), Some(other), [Some(this), Some(that)]) => {
            if !is_comparable(this, that) {
                return Err(wrong(format!("values of type {this} and {that} are not compared")));
            }
            (one, other)
        }
        (Some(one), None, [Some(this), _]) => (one, constant(second, this)?),
        (None, Some(other), [_, Some(that)]) => (constant(first, that)?, other),
        _ => return Err(wrong("it names no field, such as left.price".into())),
    };
    Ok(Comparison { first, holds: *holds, second })
}

/// The field that a text names; `None` if it does not begin with the name of a side.
fn field(text: &str, types: [&RecordType; 2]) -> Result<Option<Operand>, String> {
    let side = |name: &str| text.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with('.'));
    let (is_right, rest) = match (side("left"), side("right")) {
        (Some(rest), _) => (false, rest),
        (_, Some(rest)) => (true, rest),
        _ => return Ok(None),
    };
    let (values, name) = (&types[usize::from(is_right)].values, rest.strip_prefix('.').unwrap_or_default());
    let (index, key_type) = match values {
        ValueType::Scalar(key_type) if name.is_empty() || name == "value" => (0, *key_type),
        ValueType::Row(row_type) if row_type.position(name).is_some() => {
            let index = row_type.position(name).unwrap_or_default();
            (index, row_type.fields()[index].key_type)
        }
        _ => {
            let names: Vec<&str> = values.fields().iter().map(|field| field.name.as_str()).collect();
            let names = if names.is_empty() { "value".to_owned() } else { names.join(", ") };
            return Err(format!("there is no {text}; the fields of that side are {names}"));
        }
    };
    Ok(Some(Operand::Field { is_right, types: values.clone(), index, key_type }))
}

/// Whether values of two types are compared: those of one type, and numbers.
fn is_comparable(one: KeyType, other: KeyType) -> bool {
    let is_number = |key_type: KeyType| {
        use KeyType::{F32, F64, I8, I16, I32, I64, I128, U8, U16, U32, U64, U128};
        matches!(key_type, U8 | U16 | U32 | U64 | U128 | I8 | I16 | I32 | I64 | I128 | F32 | F64)
    };
    one == other || (is_number(one) && is_number(other))
}

impl Operand {
    /// Its value for a pair; `None` for a null.
    fn value(&self, pair: &JoinPair<'_>) -> ogive::Result<Option<Value>> {
        let (bytes, types, index) = match self {
            Self::Constant(value) => return Ok(Some(value.clone())),
            Self::Field { is_right, types, index, .. } => {
                (if *is_right { pair.right } else { pair.left }, types, *index)
            }
        };
        let value = match types {
            ValueType::Scalar(key_type) => key_type.decode(bytes)?,
            ValueType::Row(row_type) => Row::new(row_type, bytes)?.value(index)?,
        };
        Ok(Some(value).filter(|value| *value != Value::Null))
    }
}

/// Compares values as SQL does: -0 equals 0, and NaN is greater than all other numbers.
fn compare(first: &Value, second: &Value) -> Option<Ordering> {
    let float = |value: &Value| match value {
        Value::Float(value) => Some(*value),
        Value::Unsigned(value) => Some(*value as f64),
        Value::Signed(value) => Some(*value as f64),
        _ => None,
    };
    Some(match (first, second) {
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Text(one), Value::Text(other)) => one.cmp(other),
        (Value::Bytes(one), Value::Bytes(other)) => one.cmp(other),
        (Value::Unsigned(one), Value::Unsigned(other)) => one.cmp(other),
        (Value::Signed(one), Value::Signed(other)) => one.cmp(other),
        (Value::Unsigned(one), Value::Signed(other)) => {
            u128::try_from(*other).map_or(Ordering::Greater, |it| one.cmp(&it))
        }
        (Value::Signed(one), Value::Unsigned(other)) => u128::try_from(*one).map_or(Ordering::Less, |it| it.cmp(other)),
        (one, other) => {
            let (one, other) = (float(one)?, float(other)?);
            one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::join::RecordShape;

    fn side(values: &str) -> JoinSource {
        let shape = RecordShape { name: "rows".into(), key_type: KeyType::U64, value_bytes: None, rows: 0, bytes: 0 };
        let types = RecordType::new(KeyType::U64, values.parse::<ValueType>().unwrap());
        JoinSource::unsorted(shape, || Box::new(std::iter::empty())).with_types(types)
    }

    fn parsed(text: &str) -> Result<()> {
        let (left, right) = (side("{price: u8, kind: text?}"), side("{limit: f64, kind: text, n: i64}"));
        parse(&[text.to_owned()], &left, &right).map(drop)
    }

    #[test]
    fn comparisons_are_of_fields_and_constants_of_their_type() {
        for text in ["left.price<right.limit", "left.price = 7", "'a' != right.kind", "right.n >= left.price"] {
            assert!(parsed(text).is_ok(), "{text}");
        }
        for (text, part) in [
            ("left.price", "none of"),
            ("1 < 2", "names no field"),
            ("left.colour = 'red'", "price, kind"),
            ("left.price = red", "not of type u8"),
            ("left.price < right.kind", "not compared"),
        ] {
            let message = parsed(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn numbers_of_different_types_are_compared_by_value() {
        let less = [
            (Value::Signed(-1), Value::Unsigned(0)),
            (Value::Unsigned(1), Value::Float(1.5)),
            (Value::Float(f64::INFINITY), Value::Float(f64::NAN)),
            (Value::Signed(3), Value::Unsigned(u128::MAX)),
        ];
        for (one, other) in less {
            assert_eq!(compare(&one, &other), Some(Ordering::Less), "{one:?} {other:?}");
            assert_eq!(compare(&other, &one), Some(Ordering::Greater), "{one:?} {other:?}");
        }
        assert_eq!(compare(&Value::Float(-0.0), &Value::Unsigned(0)), Some(Ordering::Equal));
    }
}
