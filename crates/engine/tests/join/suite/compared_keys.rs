//! Goal: keys of different types of numbers are equal exactly if the numbers are, in every kind and by every method,
//! and a null equals nothing. Method: sides of drawn types, forms and numbers at the ends of types, compared with a
//! model that knows numbers by their decimal text, and which types have them by the parsers and formats of the standard
//! library.

use crate::methods;
use crate::support::{DENSE, Row, Shape, collect, index_of, options, table, unsorted};
use ogive::KeyType;
use ogive::join::{JoinKind, JoinMethod, JoinSource, JoinedRecords, RecordReader};
use ogive::types::{Component, NullOrder, TupleType, Value};
use ogive::{Cause, Error};
use ogive_testkit::Random;

const NUMBERS: [&str; 32] = [
    "0",
    "1",
    "-1",
    "7",
    "0.5",
    "-0.5",
    "0.25",
    "0.1",
    "0.10000000000000000555",
    "127",
    "128",
    "255",
    "-128",
    "65535",
    "16777216",
    "16777217",
    "2147483647",
    "-2147483648",
    "4294967295",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-18446744073709551616",
    "170141183460469231731687303715884105727",
    "340282366920938463463374607431768211455",
    "100000000000000000000",
];
const TYPES: [&str; 14] = [
    "u8",
    "i16",
    "u32",
    "i32",
    "u64",
    "i64",
    "u128",
    "i128",
    "f32",
    "f64",
    "decimal(10,2)",
    "decimal(18,1)",
    "decimal(38,2)",
    "decimal(38,20)",
];
/// More digits behind the point than any of these numbers has.
const DIGITS: usize = 80;

/// A number by its text, or a null; and the value of its row.
type Numbered = (Option<&'static str>, Vec<u8>);

/// A number as a value of a type; `None` if the type does not have it.
fn value(key_type: KeyType, number: &str, random: &mut Random) -> Option<Value> {
    let exact = |float: f64| {
        let shown = format!("{float:.DIGITS$}");
        shown.trim_end_matches('0').trim_end_matches('.') == number
    };
    let zero = if random.one_in(2) { -0.0 } else { 0.0 };
    let unsigned = |number: Option<u128>| number.map(Value::Unsigned);
    let signed = |number: Option<i128>| number.map(Value::Signed);
    match key_type {
        KeyType::U8 => unsigned(number.parse::<u8>().ok().map(Into::into)),
        KeyType::U32 => unsigned(number.parse::<u32>().ok().map(Into::into)),
        KeyType::U64 => unsigned(number.parse::<u64>().ok().map(Into::into)),
        KeyType::U128 => unsigned(number.parse().ok()),
        KeyType::I16 => signed(number.parse::<i16>().ok().map(Into::into)),
        KeyType::I32 => signed(number.parse::<i32>().ok().map(Into::into)),
        KeyType::I64 => signed(number.parse::<i64>().ok().map(Into::into)),
        KeyType::I128 => signed(number.parse().ok()),
        KeyType::F32 | KeyType::F64 if number == "0" => Some(Value::Float(zero)),
        KeyType::F32 => Some(f64::from(number.parse::<f32>().unwrap())).filter(|float| exact(*float)).map(Value::Float),
        KeyType::F64 => Some(number.parse().unwrap()).filter(|float| exact(*float)).map(Value::Float),
        KeyType::Decimal { precision, scale } => {
            let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
            let digits = whole.trim_start_matches(['-', '0']).len();
            let has_room = fraction.len() <= scale.into() && digits + usize::from(scale) <= precision.into();
            signed(has_room.then(|| format!("{whole}{fraction:0<width$}", width = scale.into()).parse().unwrap()))
        }
        other => panic!("{other}"),
    }
}

/// The text of a value of a type.
fn text(key_type: KeyType, value: &Value) -> Option<String> {
    let shown = match (key_type, value) {
        (_, Value::Null) => return None,
        (KeyType::Tuple(tuple), Value::Tuple(values)) => {
            return text(tuple.components().next().unwrap().key_type, &values[0]);
        }
        (_, Value::Float(float)) => format!("{float:.DIGITS$}"),
        (KeyType::Decimal { scale, .. }, Value::Signed(units)) => {
            let (sign, digits) = (if *units < 0 { "-" } else { "" }, format!("{:0>DIGITS$}", units.unsigned_abs()));
            let (whole, fraction) = digits.split_at(DIGITS - usize::from(scale));
            let whole = whole.trim_start_matches('0');
            format!("{sign}{}.{fraction}", if whole.is_empty() { "0" } else { whole })
        }
        (_, Value::Unsigned(number)) => format!("{number}."),
        (_, Value::Signed(number)) => format!("{number}."),
        other => panic!("{other:?}"),
    };
    Some(shown.trim_end_matches('0').trim_end_matches('.').to_owned())
}

/// A side of a join: its numbers, and how the engine has them.
struct Side {
    what: String,
    rows: Vec<Numbered>,
    source: JoinSource,
}

struct Nulls(std::vec::IntoIter<Row>, Row);

impl RecordReader for Nulls {
    fn next(&mut self) -> ogive::Result<Option<(&[u8], &[u8])>> {
        let Some(row) = self.0.next() else { return Ok(None) };
        self.1 = row;
        Ok(Some((&self.1.0, &self.1.1)))
    }
}

impl Side {
    fn draw(random: &mut Random, mark: u64) -> Self {
        let scalar: KeyType = random.pick(&TYPES).parse().unwrap();
        let nulls = *random.pick(&[NullOrder::Never, NullOrder::Never, NullOrder::First, NullOrder::Last]);
        let component = Component { descending: random.one_in(4), nulls, ..Component::new(scalar) };
        let has_own_nulls = nulls != NullOrder::Never;
        let key_type = match has_own_nulls || random.one_in(4) {
            true => KeyType::Tuple(TupleType::new(&[component]).unwrap()),
            false => scalar,
        };
        let count = *random.pick(&[0, 3, 40, 40]);
        let (mut rows, mut keyed, mut null_rows) = (Vec::new(), Vec::new(), Vec::new());
        let form = random.below(3);
        for at in 0..count {
            let bytes = (mark << 32 | at).to_le_bytes().to_vec();
            let number = *random.pick(&NUMBERS);
            let drawn = if random.one_in(6) { Some(Value::Null) } else { value(scalar, number, random) };
            let Some(found) = drawn else { continue };
            let is_null = found == Value::Null;
            let encode = |key_type: KeyType| match key_type {
                KeyType::Tuple(_) => key_type.encode(&Value::Tuple(vec![found.clone()])),
                _ => key_type.encode(&found),
            };
            match (is_null, has_own_nulls) {
                (true, false) if form != 0 => continue,
                (true, false) => null_rows.push((encode(key_type.with_nulls().unwrap()).unwrap(), bytes.clone())),
                _ => keyed.push((encode(key_type).unwrap(), bytes.clone())),
            }
            rows.push((Some(number).filter(|_| !is_null), bytes));
        }
        keyed.sort();
        let source = match form {
            0 => {
                let source = unsorted(&keyed, key_type, Some(8));
                let reader =
                    move || -> Box<dyn RecordReader> { Box::new(Nulls(null_rows.clone().into_iter(), Row::default())) };
                if has_own_nulls { source } else { source.with_null_rows(reader).unwrap() }
            }
            1 if key_type == KeyType::U64 => index_of(&keyed, |key| u64::from_be_bytes(key.try_into().unwrap())),
            _ => table(&keyed, Shape { key_type, value_width: *random.pick(&[Some(8), None]), ..DENSE }),
        };
        Self { what: format!("{key_type} {form}"), rows, source }
    }
}

type Expected = (Option<String>, Option<Vec<u8>>, Option<Vec<u8>>);

/// The rows of a join by nested loops.
fn expected(kind: JoinKind, left: &[Numbered], right: &[Numbered]) -> Vec<Expected> {
    let own = |number: Option<&str>| number.map(str::to_owned);
    let mut rows = Vec::new();
    for (number, value) in left {
        let partners: Vec<&Numbered> = right.iter().filter(|row| number.is_some() && row.0 == *number).collect();
        let is_kept = match kind {
            JoinKind::Inner => false,
            JoinKind::Semi => !partners.is_empty(),
            JoinKind::Left | JoinKind::Full | JoinKind::Anti => partners.is_empty(),
        };
        if is_kept {
            rows.push((own(*number), Some(value.clone()), None));
        }
        if matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Full) {
            rows.extend(partners.iter().map(|row| (own(*number), Some(value.clone()), Some(row.1.clone()))));
        }
    }
    if kind == JoinKind::Full {
        let alone = right.iter().filter(|row| row.0.is_none() || left.iter().all(|other| other.0 != row.0));
        rows.extend(alone.map(|row| (own(row.0), None, Some(row.1.clone()))));
    }
    rows.sort();
    rows
}

#[test]
fn numbers_of_any_types_are_equal_exactly_if_they_are() {
    let mut random = Random::new(11);
    let (mut done, mut refused, mut pairs) = (0, 0, 0);
    for _ in 0..400 {
        let (left, right) = (Side::draw(&mut random, 1), Side::draw(&mut random, 2));
        let kind = random.pick(&JoinKind::ALL).0;
        let methods = if random.one_in(2) { methods() } else { vec![JoinMethod::Auto, JoinMethod::Merge] };
        let method = *random.pick(&methods);
        let what = format!("{} and {}, {kind} by {method}", left.what, right.what);
        let mut options = options(kind, method, 16 << 20);
        options.threads = *random.pick(&[1, 3]);
        let rows = match collect(&left.source, &right.source, &options) {
            Ok((rows, _)) => rows,
            Err(error @ Error { cause: Cause::Input, .. }) if error.detail().contains("no type holds all keys") => {
                assert_eq!(kind, JoinKind::Full, "{what}");
                refused += 1;
                continue;
            }
            Err(error @ Error { cause: Cause::Input, .. })
                if error.detail().contains("cannot join these") || error.detail().contains("no way to be") =>
            {
                continue;
            }
            Err(error) => panic!("{what}: {error}"),
        };
        assert!(rows.is_sorted_by(|one, other| one.0 <= other.0), "{what}: not in key order");
        let keys = JoinedRecords::of(&left.source, &right.source, kind).unwrap().record_type().keys;
        let named = |(key, left, right): (Vec<u8>, _, _)| (text(keys, &keys.decode(&key).unwrap()), left, right);
        let mut rows: Vec<Expected> = rows.into_iter().map(named).collect();
        rows.sort();
        assert_eq!(rows, expected(kind, &left.rows, &right.rows), "{what}: keys of type {keys}");
        done += 1;
        pairs += rows.iter().filter(|row| row.1.is_some() && row.2.is_some()).count();
    }
    assert!(done > 150 && refused > 0 && pairs > 300, "{done} {refused} {pairs}");
}
