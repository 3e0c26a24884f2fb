//! Keys of two types that are compared: integers, decimals and floats are equal as numbers, times as times. A key is
//! converted to the other type where that has exactly this value; it never becomes its neighbour.

use super::key_type::KeyType;
use super::tuple::{Component, NullOrder, TupleType};
use super::value::Value;
use crate::error::Result;

/// Decimals that hold the integers of 64 bits of both signs: other programs have no longer integers.
const LONG_INTEGERS: KeyType = KeyType::Decimal { precision: 20, scale: 0 };
/// Digits of decimals: those that 8 bytes hold, and those that 16 bytes do.
const DECIMAL_DIGITS: [u8; 2] = [18, 38];
/// Most digits behind the point of a float with 128 bits in all.
const FRACTION_DIGITS_MAX: u32 = 55;

impl KeyType {
    /// Its components; one of a type that is no tuple.
    fn parts(self) -> Vec<Component> {
        match self {
            Self::Tuple(tuple) => tuple.components().collect(),
            scalar => vec![Component::new(scalar)],
        }
    }

    fn is_exact_number(self) -> bool {
        use KeyType::{Decimal, I8, I16, I32, I64, I128, U8, U16, U32, U64, U128};
        matches!(self, U8 | U16 | U32 | U64 | U128 | I8 | I16 | I32 | I64 | I128 | Decimal { .. })
    }

    fn is_number(self) -> bool {
        self.is_exact_number() || matches!(self, Self::F32 | Self::F64)
    }

    /// Whether keys of this type and of another one can be equal: they are numbers, times of day or timestamps, or of
    /// one type, component by component, whatever the order of the components and their nulls.
    ///
    /// ```
    /// use ogive::KeyType;
    ///
    /// let (ids, days): (KeyType, KeyType) = ("(i32, text)".parse()?, "(u64?, text)".parse()?);
    /// assert!(ids.is_comparable(days) && KeyType::F64.is_comparable(KeyType::I64));
    /// assert!(!KeyType::Text.is_comparable(KeyType::I64));
    /// # Ok::<(), ogive::Error>(())
    /// ```
    #[must_use]
    pub fn is_comparable(self, other: Self) -> bool {
        let is_alike = |(one, other): (&Component, &Component)| match (one.key_type, other.key_type) {
            (Self::Timestamp(_), Self::Timestamp(_)) | (Self::Time(_), Self::Time(_)) => true,
            (one, other) => one == other || one.is_number() && other.is_number(),
        };
        let (parts, others) = (self.parts(), other.parts());
        parts.len() == others.len() && parts.iter().zip(&others).all(is_alike)
    }

    /// Whether each key of another type is one of this type.
    pub(crate) fn holds_keys(self, other: Self) -> bool {
        let holds = |(this, other): (&Component, &Component)| {
            let may_be_null = this.nulls != NullOrder::Never || other.nulls == NullOrder::Never;
            may_be_null && this.key_type.holds(other.key_type)
        };
        let (parts, others) = (self.parts(), other.parts());
        parts.len() == others.len() && parts.iter().zip(&others).all(holds)
    }

    /// Whether keys of another type that become keys of this one stay in their order.
    pub(crate) fn keeps_order_of(self, other: Self) -> bool {
        let is_same = |(this, other): (&Component, &Component)| {
            let have_nulls = [this, other].iter().all(|part| part.nulls != NullOrder::Never);
            this.descending == other.descending && (!have_nulls || this.nulls == other.nulls)
        };
        self.parts().iter().zip(&other.parts()).all(is_same)
    }

    /// A type that holds the keys of both, in the order of the components of this one; `None` if there is none.
    pub(crate) fn common(self, other: Self) -> Option<Self> {
        if self.holds_keys(other) {
            return Some(self);
        }
        let common = |(one, other): (Component, Component)| {
            let key_type = common(one.key_type, other.key_type)?;
            let nulls = if one.nulls == NullOrder::Never { other.nulls } else { one.nulls };
            Some(Component { key_type, nulls, ..one })
        };
        let parts: Option<Vec<Component>> = self.parts().into_iter().zip(other.parts()).map(common).collect();
        match &parts?[..] {
            [Component { key_type, nulls: NullOrder::Never, descending: false }] => Some(*key_type),
            parts => TupleType::new(parts).ok().map(Self::Tuple),
        }
    }
}

/// The narrowest type that holds both.
fn common(one: KeyType, other: KeyType) -> Option<KeyType> {
    let scale = |key_type| if let KeyType::Decimal { scale, .. } = key_type { scale } else { 0 };
    let types = match scale(one).max(scale(other)) {
        _ if !(one.is_exact_number() && other.is_exact_number()) => vec![KeyType::F32, KeyType::F64],
        0 => vec![KeyType::I16, KeyType::I32, KeyType::I64, LONG_INTEGERS, KeyType::I128],
        scale => {
            let digits = DECIMAL_DIGITS.into_iter().filter(|precision| *precision >= scale);
            digits.map(|precision| KeyType::Decimal { precision, scale }).collect()
        }
    };
    let types = [one, other].into_iter().chain(types);
    types.into_iter().find(|holding| holding.holds(one) && holding.holds(other))
}

/// How keys of one type become keys of a type to which they are comparable.
#[derive(Clone, Debug)]
pub(crate) struct KeyConversion {
    from: KeyType,
    to: KeyType,
    /// Whether the numbers of one side are text, in which `0.1` means the float that is written so.
    is_written: bool,
    /// Of a conversion that is not one of tuples, the types themselves.
    is_scalar: bool,
    parts: Vec<(KeyType, Component)>,
}

impl KeyConversion {
    pub(crate) fn new(from: KeyType, to: KeyType, is_written: bool) -> Self {
        let is_scalar = ![from, to].iter().any(|key_type| matches!(key_type, KeyType::Tuple(_)));
        let parts = from.parts().into_iter().map(|part| part.key_type).zip(to.parts()).collect();
        Self { from, to, is_written, is_scalar, parts }
    }

    pub(crate) fn from(&self) -> KeyType {
        self.from
    }

    pub(crate) fn to(&self) -> KeyType {
        self.to
    }

    pub(crate) fn is_written(&self) -> bool {
        self.is_written
    }

    /// The conversion back.
    pub(crate) fn inverse(&self) -> Self {
        Self::new(self.to, self.from, self.is_written)
    }

    /// Appends a key as one of the other type; `false`, having appended nothing, if that has no such key.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for bytes that are no key.
    pub(crate) fn append(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        if self.from == self.to {
            out.extend_from_slice(key);
            return Ok(true);
        }
        let at = out.len();
        let is_held = match (self.from.decode(key)?, &self.parts[..]) {
            (value, [(from, to)]) if self.is_scalar => {
                let found = self.converted(&value, *from, to.key_type);
                found.is_some_and(|value| to.key_type.append_scalar(&value, out).is_ok())
            }
            (value, parts) => {
                let values = if let Value::Tuple(values) = value { values } else { vec![value] };
                let converted = values.iter().zip(parts).map(|(value, (from, to))| match value {
                    Value::Null => Some(Value::Null),
                    value => self.converted(value, *from, to.key_type),
                });
                let value = converted.collect::<Option<Vec<Value>>>();
                let value = value.map(|mut values| match self.to {
                    KeyType::Tuple(_) => Value::Tuple(values),
                    _ => values.pop().unwrap_or(Value::Null),
                });
                // A component without nulls refuses one.
                let encoded = value.and_then(|value| self.to.encode(&value).ok());
                encoded.is_some_and(|key| {
                    out.extend_from_slice(&key);
                    true
                })
            }
        };
        if !is_held {
            out.truncate(at);
        }
        Ok(is_held)
    }

    /// The value that equals one of another type; its range is not checked.
    fn converted(&self, value: &Value, from: KeyType, to: KeyType) -> Option<Value> {
        if from == to {
            return Some(value.clone());
        }
        let number = match (value, to) {
            (Value::Float(float), KeyType::F32 | KeyType::F64) if self.is_written && float.fract() != 0.0 => {
                return same_written(*float, from, to).map(Value::Float);
            }
            (Value::Float(float), KeyType::F32 | KeyType::F64) => return Some(Value::Float(*float)),
            (Value::Float(float), _) => {
                // What is written with a point means the float that is nearest to it.
                let meant = if self.is_written { Number::of_text(&shortest(from, *float)) } else { None };
                let meant = meant.filter(|_| float.fract() != 0.0).and_then(|number| number.of_type(to));
                return meant.or_else(|| Number::of_float(*float)?.of_type(to));
            }
            _ => Number::of(value, from)?,
        };
        if !matches!(to, KeyType::F32 | KeyType::F64) {
            return number.of_type(to);
        }
        let exact = number.float().filter(|float| to == KeyType::F64 || f64::from(*float as f32) == *float);
        let float = exact.or_else(|| number.meant_float(to).filter(|_| self.is_written));
        float.map(Value::Float)
    }
}

/// The float of another type that is written as this one, which has digits behind the point or is no number.
fn same_written(float: f64, from: KeyType, to: KeyType) -> Option<f64> {
    let shown = shortest(from, float);
    let same = if to == KeyType::F32 { shown.parse::<f32>().ok()?.into() } else { shown.parse().ok()? };
    (shortest(to, same) == shown).then_some(same)
}

/// The shortest decimal that leads back to a float, without an exponent.
fn shortest(key_type: KeyType, float: f64) -> String {
    if key_type == KeyType::F32 { (float as f32).to_string() } else { float.to_string() }
}

/// A number of `units` of 10 to the power of minus `scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number {
    is_negative: bool,
    units: u128,
    scale: u32,
}

impl Number {
    fn new(is_negative: bool, units: u128, scale: u32) -> Self {
        Self { is_negative: is_negative && units > 0, units, scale }
    }

    fn of(value: &Value, key_type: KeyType) -> Option<Self> {
        let scale = scale(key_type);
        match value {
            Value::Unsigned(units) => Some(Self::new(false, *units, scale)),
            Value::Signed(units) => Some(Self::new(*units < 0, units.unsigned_abs(), scale)),
            _ => None,
        }
    }

    /// The number that a float is, if it has few enough digits.
    fn of_float(float: f64) -> Option<Self> {
        if !float.is_finite() {
            return None;
        }
        // Halves are fives with one more digit behind the point.
        let (mut whole, mut scale) = (float.abs(), 0_u32);
        while whole.fract() != 0.0 && scale < FRACTION_DIGITS_MAX {
            whole *= 2.0;
            scale += 1;
        }
        if whole.fract() != 0.0 {
            return None;
        }
        // Every float below 2^128 that is whole is an integer of 128 bits.
        let units = Some(whole).filter(|whole| *whole < 2_f64.powi(128))? as u128;
        Some(Self::new(float < 0.0, units.checked_mul(5_u128.checked_pow(scale)?)?, scale))
    }

    /// A number without an exponent.
    fn of_text(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let units = format!("{whole}{fraction}").parse().ok()?;
        Some(Self::new(digits.len() < text.len(), units, u32::try_from(fraction.len()).ok()?))
    }

    /// The units with this number of digits behind the point; `None` if that needs more.
    fn rescaled(self, scale: u32) -> Option<u128> {
        match scale.checked_sub(self.scale) {
            _ if self.units == 0 => Some(0),
            Some(more) => self.units.checked_mul(10_u128.checked_pow(more)?),
            None => {
                let divisor = 10_u128.checked_pow(self.scale - scale)?;
                self.units.is_multiple_of(divisor).then(|| self.units / divisor)
            }
        }
    }

    /// A value of a type that is not one of floats; its range is not checked.
    fn of_type(self, key_type: KeyType) -> Option<Value> {
        let units = self.rescaled(scale(key_type))?;
        if key_type.unsigned_max().is_some() {
            return (!self.is_negative).then_some(Value::Unsigned(units));
        }
        let signed = if self.is_negative { 0_i128.checked_sub_unsigned(units) } else { i128::try_from(units).ok() };
        signed.map(Value::Signed)
    }

    /// The float that is this number, if there is one.
    fn float(self) -> Option<f64> {
        let fives = 5_u128.checked_pow(self.scale)?;
        if !self.units.is_multiple_of(fives) {
            return None;
        }
        let halves = self.units / fives;
        let zeros = if halves == 0 { 0 } else { halves.trailing_zeros() };
        let digits = Some(halves >> zeros).filter(|digits| *digits < 1 << f64::MANTISSA_DIGITS)?;
        let float = digits as f64 * 2_f64.powi(zeros.cast_signed() - self.scale.cast_signed());
        Some(if self.is_negative { -float } else { float })
    }

    /// The float of a type that is written as this number, which has digits behind the point: the nearest one, if no
    /// shorter number means it. Integers mean themselves.
    fn meant_float(self, key_type: KeyType) -> Option<f64> {
        let shown = self.to_string();
        let float = if key_type == KeyType::F32 { shown.parse::<f32>().ok()?.into() } else { shown.parse().ok()? };
        let written = Self::of_text(&shortest(key_type, float))?;
        let is_meant = self.rescaled(0).is_none() && written.rescaled(self.scale) == Some(self.units);
        is_meant.then_some(float)
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}e-{}", if self.is_negative { "-" } else { "" }, self.units, self.scale)
    }
}

/// Digits behind the point, of units of a time in a second.
fn scale(key_type: KeyType) -> u32 {
    match key_type {
        KeyType::Decimal { scale, .. } => scale.into(),
        KeyType::Time(unit) | KeyType::Timestamp(unit) => unit.digits() as u32,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(from: &str, text: &str, to: &str, is_written: bool) -> Option<String> {
        let [from, to]: [KeyType; 2] = [from, to].map(|name| name.parse().unwrap());
        assert!(from.is_comparable(to) && to.is_comparable(from));
        let conversion = KeyConversion::new(from, to, is_written);
        let (key, mut out) = (from.parse(text).unwrap(), vec![7]);
        let is_held = conversion.append(&key, &mut out).unwrap();
        assert!(is_held || out == [7]);
        let shown = is_held.then(|| to.display(&out[1..]));
        if is_held {
            let mut back = Vec::new();
            assert!(conversion.inverse().append(&out[1..], &mut back).unwrap(), "{text} of {from} as {to}");
            assert_eq!(back, key, "{text} of {from} as {to}");
        }
        shown
    }

    #[test]
    fn a_key_is_what_it_equals_of_another_type_or_nothing() {
        for (from, text, to, shown) in [
            ("i64", "-1", "u64", None),
            ("u64", "18446744073709551615", "i64", None),
            ("u64", "18446744073709551615", "i128", Some("18446744073709551615")),
            ("u128", "340282366920938463463374607431768211455", "i128", None),
            ("u128", "340282366920938463463374607431768211455", "f64", None),
            ("i64", "-9223372036854775808", "f64", Some("-9.223372036854776e18")),
            ("i64", "9223372036854775807", "f64", None),
            ("i64", "9007199254740993", "f64", None),
            ("f64", "9007199254740992", "i64", Some("9007199254740992")),
            ("f64", "1e300", "u128", None),
            ("f64", "NaN", "i64", None),
            ("f64", "NaN", "f32", Some("NaN")),
            ("f64", "inf", "i64", None),
            ("f64", "-0.0", "i64", Some("0")),
            ("f64", "0.5", "i64", None),
            ("f64", "0.5", "decimal(18,2)", Some("0.50")),
            ("f64", "0.1", "decimal(38,20)", None),
            ("f64", "0.1", "f32", None),
            ("f32", "0.5", "f64", Some("0.5")),
            ("f64", "1e-320", "decimal(38,20)", None),
            ("decimal(18,2)", "0.10", "f64", None),
            ("decimal(18,2)", "-0.75", "f64", Some("-0.75")),
            ("decimal(18,2)", "7.00", "u8", Some("7")),
            ("decimal(18,2)", "7.50", "u8", None),
            ("u8", "7", "decimal(3,2)", Some("7.00")),
            ("u8", "70", "decimal(3,2)", None),
            ("decimal(38,0)", "99999999999999999999999999999999999999", "decimal(38,2)", None),
            ("timestamp(s)", "2024-05-01T12:00:00", "timestamp(us)", Some("2024-05-01T12:00:00")),
            ("timestamp(us)", "2024-05-01T12:00:00.5", "timestamp(s)", None),
            ("(u64?)", "7", "i8", Some("7")),
            ("(u64?)", "", "i8", None),
            ("i32", "7", "(u64? desc)", Some("7")),
            ("(i32, text)", "7,fig", "(f64, text? nulls first)", Some("7,fig")),
            ("(i32?, text)", ",fig", "(i64?, text)", Some(",fig")),
        ] {
            assert_eq!(converted(from, text, to, false).as_deref(), shown, "{text} of {from} as {to}");
        }
    }

    #[test]
    fn what_is_written_with_a_point_means_a_float() {
        for (from, text, to, shown) in [
            ("decimal(18,2)", "0.10", "f64", Some("0.1")),
            ("decimal(18,2)", "0.10", "f32", Some("0.1")),
            ("decimal(38,2)", "9007199254740993.00", "f64", None),
            ("decimal(38,2)", "9007199254740992.00", "f64", Some("9007199254740992")),
            ("decimal(38,20)", "0.12345678901234567890", "f64", None),
            ("f64", "0.1", "decimal(18,2)", Some("0.10")),
            ("f64", "1152921504606846976", "decimal(38,2)", Some("1152921504606846976.00")),
            ("i64", "1152921504606847000", "f64", None),
            ("f64", "0.1", "f32", Some("0.1")),
            ("f32", "0.1", "f64", Some("0.1")),
            ("f64", "0.10000000149011612", "f32", None),
            ("f64", "16777217", "f32", None),
            ("f64", "NaN", "f32", Some("NaN")),
            ("f32", "-inf", "f64", Some("-inf")),
        ] {
            assert_eq!(converted(from, text, to, true).as_deref(), shown, "{text} of {from} as {to}");
        }
    }

    #[test]
    fn a_common_type_holds_both() {
        for (one, other, name) in [
            ("i32", "i64", Some("i64")),
            ("u32", "i32", Some("i64")),
            ("u64", "i64", Some("decimal(20,0)")),
            ("u128", "i8", None),
            ("i64", "decimal(18,2)", Some("decimal(38,2)")),
            ("decimal(10,2)", "decimal(12,5)", Some("decimal(18,5)")),
            ("decimal(38,2)", "decimal(38,3)", None),
            ("f32", "i32", Some("f64")),
            ("f64", "i64", None),
            ("(u64?)", "u64", Some("(u64? asc nulls last)")),
            ("u32", "(i64?)", Some("(i64? asc nulls last)")),
            ("(i32, text)", "(u32, text?)", Some("(i64, text? asc nulls last)")),
            ("timestamp(s)", "timestamp(us)", None),
        ] {
            let [left, right]: [KeyType; 2] = [one, other].map(|name| name.parse().unwrap());
            let found = left.common(right);
            assert_eq!(found, name.map(|name| name.parse().unwrap()), "{one} {other} {found:?}");
        }
    }
}
