//! Conditions of a join on columns of both sides: `--where 'left.price < right."upper limit"'`.

use super::compare::{DIGITS_MAX, Measure, compare};
use crate::failure::{Failure, Result};
use ogive::KeyType;
use ogive::join::{JoinPair, JoinSource};
use ogive::types::{ColumnPlace, RecordColumn, RecordType, Row, Value, ValueType};
use std::cmp::Ordering;

/// Whether a comparison holds for an order of its operands.
type Holds = fn(Ordering) -> bool;

/// Operators, longer ones before those that they begin with.
const OPERATORS: [(&str, Holds); 7] = [
    ("!=", Ordering::is_ne),
    ("<>", Ordering::is_ne),
    ("<=", Ordering::is_le),
    (">=", Ordering::is_ge),
    ("=", Ordering::is_eq),
    ("<", Ordering::is_lt),
    (">", Ordering::is_gt),
];

/// One comparison.
#[derive(Clone, Debug)]
struct Comparison {
    first: (Operand, Measure),
    holds: Holds,
    second: (Operand, Measure),
}

/// What is compared.
#[derive(Clone, Debug)]
enum Operand {
    /// A column of a side: a component of the key, a field of the value, or the value if that is not a row.
    Column {
        is_right: bool,
        types: RecordType,
        place: ColumnPlace,
    },
    Constant(Value),
}

/// An operand as it is written.
#[derive(Clone, Debug)]
enum WrittenOperand<'a> {
    /// The name of a column, after that of its side if that is given.
    Column(Option<bool>, String),
    /// The name of a column, or else a constant.
    Word(&'a str),
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
            let ((first, measure), (second, other)) = (first, second);
            let (Some(first), Some(second)) = (first.value(&pair)?, second.value(&pair)?) else { return Ok(false) };
            if !compare((&first, *measure), (&second, *other)).is_some_and(holds) {
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
            "write one such as 'left.price < right.\"upper limit\"' or \"right.kind = 'a'\"",
        )
    };
    let (first, (_, holds), second) =
        split(text).ok_or_else(|| wrong("it has none of =, !=, <, <=, > and >=".into()))?;
    let column = |written: &WrittenOperand<'_>| match written {
        WrittenOperand::Column(side, name) => column(*side, name, types).map(Some),
        WrittenOperand::Word(word) if is_column(word, types) => self::column(None, word, types).map(Some),
        WrittenOperand::Word(_) => Ok(None),
    };
    let operands = [WrittenOperand::new(first), WrittenOperand::new(second)];
    let columns = [column(&operands[0]).map_err(&wrong)?, column(&operands[1]).map_err(&wrong)?];
    let written_constant = |written: &str, key_type: KeyType| {
        let quoted = written.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
        if quoted.is_none() && key_type == KeyType::Text && written.parse::<f64>().is_ok() {
            return Err(wrong(format!("text and numbers are not compared; write '{written}' in quotes for text")));
        }
        let text = quoted.map_or_else(|| written.to_owned(), |quoted| quoted.replace("''", "'"));
        constant(&text, key_type).ok_or_else(|| wrong(format!("'{text}' is not of type {key_type}")))
    };
    let (first, second) = match columns {
        [Some((one, this)), Some((other, that))] => {
            let (measure, others) = (Measure::of(this), Measure::of(that));
            if this != that && !measure.meets(others) {
                return Err(wrong(format!("values of type {this} and {that} are not compared")));
            }
            ((one, measure), (other, others))
        }
        [Some((one, this)), None] => ((one, Measure::of(this)), written_constant(second, this)?),
        [None, Some((other, that))] => (written_constant(first, that)?, (other, Measure::of(that))),
        [None, None] => return Err(wrong(format!("it names no column; {}", both_columns(types)))),
    };
    Ok(Comparison { first, holds: *holds, second })
}

/// A constant that is compared with values of a type: one of that type, or another number.
fn constant(text: &str, key_type: KeyType) -> Option<(Operand, Measure)> {
    let scale = text.split_once('.').and_then(|(_, fraction)| u8::try_from(fraction.len()).ok()).unwrap_or_default();
    let decimal = KeyType::Decimal { precision: DIGITS_MAX, scale: scale.min(DIGITS_MAX) };
    let numbers = [KeyType::I128, KeyType::U128, decimal, KeyType::F64];
    let others = numbers.into_iter().filter(|_| matches!(Measure::of(key_type), Measure::Number(_)));
    std::iter::once(key_type).chain(others).find_map(|of_type| {
        let value = of_type.parse(text).and_then(|bytes| of_type.decode(&bytes)).ok()?;
        Some((Operand::Constant(value), Measure::of(of_type)))
    })
}

/// Whether a word is the name of a column, and no number.
fn is_column(word: &str, types: [&RecordType; 2]) -> bool {
    let is_number = word.parse::<f64>().is_ok();
    !is_number && types.iter().any(|types| types.columns().iter().any(|column| column.name == word))
}

/// The operands, and the operator between them: the first that is not in quotes.
fn split(text: &str) -> Option<(&str, &'static (&'static str, Holds), &str)> {
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match quote {
            Some(open) if open == character => quote = None,
            Some(_) => {}
            None if matches!(character, '"' | '\'') => quote = Some(character),
            None => {
                let rest = &text[at..];
                if let Some(operator) = OPERATORS.iter().find(|(name, _)| rest.starts_with(name)) {
                    return Some((text[..at].trim(), operator, rest[operator.0.len()..].trim()));
                }
            }
        }
    }
    None
}

impl<'a> WrittenOperand<'a> {
    fn new(text: &'a str) -> Self {
        let side = |name: &str| text.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with('.'));
        let name = |rest: &str| unquoted(rest.strip_prefix('.').unwrap_or_default().trim());
        match (side("left"), side("right")) {
            (Some(rest), _) => Self::Column(Some(false), name(rest)),
            (_, Some(rest)) => Self::Column(Some(true), name(rest)),
            _ if text.starts_with('"') => Self::Column(None, unquoted(text)),
            _ => Self::Word(text),
        }
    }
}

/// A name without its quotes; doubled quotes belong to it.
pub(super) fn unquoted(name: &str) -> String {
    let quoted = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
    quoted.map_or_else(|| name.to_owned(), |quoted| quoted.replace("\"\"", "\""))
}

/// The column of this name, of one side or of the only side that has one, with its type. No name stands for a value
/// that is not a row.
fn column(side: Option<bool>, name: &str, types: [&RecordType; 2]) -> Result<(Operand, KeyType), String> {
    let find = |is_right: bool| {
        let types = types[usize::from(is_right)];
        let is_value = |column: &RecordColumn| {
            name.is_empty() && matches!((&types.values, column.place), (ValueType::Scalar(_), ColumnPlace::Value(_)))
        };
        let found = types.columns().into_iter().find(|column| column.name == name || is_value(column))?;
        let (place, key_type) = (found.place, found.key_type);
        Some((Operand::Column { is_right, types: types.clone(), place }, key_type))
    };
    match side {
        Some(is_right) => find(is_right).ok_or_else(|| {
            let word = if is_right { "right" } else { "left" };
            format!("there is no {word}.{name}; the columns of that side are {}", names(types[usize::from(is_right)]))
        }),
        None => match (find(false), find(true)) {
            (Some((one, _)), Some((other, _))) if !one.is_same_part_of_the_key(&other) => {
                Err(format!("both sides have a column {name}; put left. or right. in front"))
            }
            (Some(found), _) | (None, Some(found)) => Ok(found),
            (None, None) => Err(format!("there is no column {name}; {}", both_columns(types))),
        },
    }
}

fn names(types: &RecordType) -> String {
    let name = |column: RecordColumn| match column.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        true => column.name,
        false => format!("\"{}\"", column.name.replace('"', "\"\"")),
    };
    types.columns().into_iter().map(name).collect::<Vec<_>>().join(", ")
}

fn both_columns([left, right]: [&RecordType; 2]) -> String {
    format!("the left columns are {}, the right ones {}", names(left), names(right))
}

impl Operand {
    /// Whether both are one component of the key, which is equal on both sides.
    fn is_same_part_of_the_key(&self, other: &Self) -> bool {
        let component = |operand: &Self| match operand {
            Self::Column { place: ColumnPlace::Key(index), .. } => Some(*index),
            _ => None,
        };
        component(self).is_some() && component(self) == component(other)
    }

    /// Its value for a pair; `None` for a null.
    fn value(&self, pair: &JoinPair<'_>) -> ogive::Result<Option<Value>> {
        let (is_right, types, place) = match self {
            Self::Constant(value) => return Ok(Some(value.clone())),
            Self::Column { is_right, types, place, .. } => (*is_right, types, *place),
        };
        let bytes = if is_right { pair.right } else { pair.left };
        let value = match (place, &types.values) {
            (ColumnPlace::Key(index), _) => match types.keys.decode(pair.key)? {
                Value::Tuple(components) => components.into_iter().nth(index).unwrap_or(Value::Null),
                key => key,
            },
            (ColumnPlace::Value(_), ValueType::Scalar(key_type)) => key_type.decode(bytes)?,
            (ColumnPlace::Value(index), ValueType::Row(row_type)) => Row::new(row_type, bytes)?.value(index)?,
        };
        Ok(Some(value).filter(|value| *value != Value::Null))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::join::RecordShape;
    use ogive::types::KeyColumn;

    /// A side whose keys have the columns `id`, in the second place, and `day`.
    fn side(values: &str) -> JoinSource {
        let keys: KeyType = "(u64, text?)".parse().unwrap();
        let shape = RecordShape { name: "rows".into(), key_type: keys, value_bytes: None, rows: 0, bytes: 0 };
        let column = |name: &str, position| KeyColumn { name: name.into(), position };
        let types = RecordType::new(keys, values.parse::<ValueType>().unwrap())
            .key_columns(vec![column("id", 1), column("day", 0)]);
        JoinSource::unsorted(shape, || Box::new(std::iter::empty())).with_types(types)
    }

    fn sides() -> [JoinSource; 2] {
        [
            side("{price: u8, kind: text?, \"unit price\": u8}"),
            side("{limit: f64, kind: text, n: i64, \"a = \"\"b\": u8}"),
        ]
    }

    fn parsed(text: &str) -> Result<()> {
        let [left, right] = sides();
        parse(&[text.to_owned()], &left, &right).map(drop)
    }

    #[test]
    fn comparisons_are_of_columns_and_constants_of_their_type() {
        for text in [
            "left.price<right.limit",
            "left.price = 7",
            "'a' != right.kind",
            "right.n >= left.price",
            "left.id > 3",
            "right.day = 'mon'",
            "\"unit price\" > 3",
            "3 < left.\"unit price\"",
            "right.\"a = \"\"b\" = left.\"unit price\"",
            "\"id\" = 7",
            "price < limit",
            "n != 4",
            "n <> 4",
            "left.price < limit",
            "price = right.n",
            "price < \"limit\"",
        ] {
            assert!(parsed(text).is_ok(), "{text}: {:?}", parsed(text));
        }
        for (text, part) in [
            ("left.price", "none of"),
            ("\"left.price < 3\"", "none of"),
            (
                "1 < 2",
                "names no column; the left columns are day, id, price, kind, \"unit price\", the right ones day,",
            ),
            ("left.colour = 'red'", "there is no left.colour; the columns of that side are day, id, price, kind"),
            ("right.price = 3", "day, id, limit, kind, n, \"a = \"\"b\""),
            ("\"colour\" = 'red'", "there is no column colour; the left columns are"),
            ("\"kind\" = 'red'", "both sides have a column kind"),
            ("left.price = red", "not of type u8"),
            ("left.price = kind", "both sides have a column kind"),
            ("limit = 'price'", "not of type f64"),
            ("left.kind > 9", "text and numbers are not compared"),
            ("left.price < right.kind", "not compared"),
            ("left = 3", "there is no left."),
        ] {
            let message = parsed(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn values_of_different_types_are_compared_where_they_mean_the_same() {
        let sides =
            [side("{price: u8, cost: decimal(18,2), at: timestamp(ms)}"), side("{limit: f64, due: date, x: text}")];
        let parsed = |text: &str| parse(&[text.to_owned()], &sides[0], &sides[1]).map(drop);
        for text in ["price < 9.25", "price >= -1", "limit < cost", "cost > 7.125", "cost = price", "at >= due"] {
            assert!(parsed(text).is_ok(), "{text}: {:?}", parsed(text));
        }
        for text in ["cost < due", "x = price", "at = 7.5", "due = 1", "price = 1.x"] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
