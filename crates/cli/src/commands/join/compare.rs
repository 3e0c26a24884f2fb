//! Comparisons of values of different types: numbers of all types, dates and timestamps, and times of day.

use ogive::KeyType;
use ogive::types::{TimeUnit, Value};
use std::cmp::Ordering;

/// Most digits of a decimal.
pub(super) const DIGITS_MAX: u8 = 38;
/// Seconds of a day.
const DAY: u128 = 24 * 60 * 60;
/// The least float that no integer of 128 bits reaches.
const BEYOND_INTEGERS: f64 = (1_u128 << 127) as f64 * 2.0;

/// What values count, so that those of two types can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// Numbers with these digits after the point; floats have none.
    Number(u32),
    /// Points in time, in seconds with these digits after the point.
    Instant(u32),
    /// Days, which are points in time.
    Day,
    /// Times of day, in seconds with these digits after the point.
    Time(u32),
    /// Values that are compared with those of their type only.
    Other,
}

impl Measure {
    /// That of the values of a type.
    pub(super) fn of(key_type: KeyType) -> Self {
        use KeyType::{F32, F64, I8, I16, I32, I64, I128, U8, U16, U32, U64, U128};
        match key_type {
            U8 | U16 | U32 | U64 | U128 | I8 | I16 | I32 | I64 | I128 | F32 | F64 => Self::Number(0),
            KeyType::Decimal { scale, .. } => Self::Number(u32::from(scale)),
            KeyType::Timestamp(unit) => Self::Instant(digits(unit)),
            KeyType::Time(unit) => Self::Time(digits(unit)),
            KeyType::Date => Self::Day,
            _ => Self::Other,
        }
    }

    /// Whether values of both are compared, if their types differ.
    pub(super) fn meets(self, other: Self) -> bool {
        use Measure::{Day, Instant, Number, Time};
        matches!((self, other), (Number(_), Number(_)) | (Time(_), Time(_)) | (Instant(_) | Day, Instant(_) | Day))
    }

    /// Digits after the point, and what a unit before it counts.
    fn parts(self) -> (u32, u128) {
        match self {
            Self::Number(digits) | Self::Instant(digits) | Self::Time(digits) => (digits, 1),
            Self::Day => (0, DAY),
            Self::Other => (0, 1),
        }
    }
}

fn digits(unit: TimeUnit) -> u32 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// A number without rounding.
#[derive(Clone, Copy, Debug)]
struct Exact {
    is_negative: bool,
    /// Its amount as an integer of the last digit.
    amount: u128,
    /// Digits after the point.
    digits: u32,
}

impl Exact {
    fn of(value: &Value, measure: Measure) -> Option<Self> {
        let (digits, factor) = measure.parts();
        let (is_negative, amount) = match *value {
            Value::Unsigned(value) => (false, value),
            Value::Signed(value) => (value < 0, value.unsigned_abs()),
            _ => return None,
        };
        Some(Self { is_negative, amount: amount.checked_mul(factor)?, digits: digits.min(u32::from(DIGITS_MAX)) })
    }

    fn cmp(self, other: Self) -> Ordering {
        let parts = |number: Self| {
            let unit = 10_u128.pow(number.digits);
            (number.amount / unit, number.amount % unit * 10_u128.pow(u32::from(DIGITS_MAX) - number.digits))
        };
        match (self.is_negative, other.is_negative) {
            (false, false) => parts(self).cmp(&parts(other)),
            (true, true) => parts(other).cmp(&parts(self)),
            (is_negative, _) => {
                if is_negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        }
    }

    /// Compares an integer exactly, and a decimal as the float closest to it, as `0.1` means the same in both.
    fn cmp_float(self, float: f64) -> Ordering {
        if self.digits > 0 {
            let amount = self.amount as f64 / 10_f64.powi(self.digits as i32);
            return cmp_floats(if self.is_negative { -amount } else { amount }, float);
        }
        let is_below = float < 0.0;
        if float.is_nan() || self.is_negative != is_below {
            let is_less = float.is_nan() || self.is_negative;
            return if is_less { Ordering::Less } else { Ordering::Greater };
        }
        let size = float.abs();
        let by_size = match size < BEYOND_INTEGERS {
            true => {
                self.amount.cmp(&(size as u128)).then(if size.fract() > 0.0 { Ordering::Less } else { Ordering::Equal })
            }
            false => Ordering::Less,
        };
        if is_below { by_size.reverse() } else { by_size }
    }
}

/// NaN is greater than all other numbers, and -0 equals 0.
fn cmp_floats(one: f64, other: f64) -> Ordering {
    one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
}

/// Compares values of types with these measures, as SQL does; `None` for those that are not compared.
pub(super) fn compare(first: (&Value, Measure), second: (&Value, Measure)) -> Option<Ordering> {
    Some(match (first.0, second.0) {
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Text(one), Value::Text(other)) => one.cmp(other),
        (Value::Bytes(one), Value::Bytes(other)) => one.cmp(other),
        (Value::Float(one), Value::Float(other)) => cmp_floats(*one, *other),
        (Value::Float(one), other) => Exact::of(other, second.1)?.cmp_float(*one).reverse(),
        (one, Value::Float(other)) => Exact::of(one, first.1)?.cmp_float(*other),
        (one, other) => Exact::of(one, first.1)?.cmp(Exact::of(other, second.1)?),
    })
}

#[cfg(test)]
mod tests {
    use super::Measure::{Day, Instant, Number};
    use super::*;

    #[test]
    fn values_of_different_types_are_compared_by_what_they_mean() {
        let (signed, unsigned, float) = (Value::Signed, Value::Unsigned, Value::Float);
        let none = Number(0);
        for (one, other) in [
            ((signed(-1), none), (unsigned(0), none)),
            ((unsigned(1), none), (float(1.5), none)),
            ((float(f64::INFINITY), none), (float(f64::NAN), none)),
            ((unsigned(u128::MAX), none), (float(f64::INFINITY), none)),
            ((unsigned(u128::MAX), none), (float(BEYOND_INTEGERS), none)),
            ((signed(3), none), (unsigned(u128::MAX), none)),
            ((float(9_007_199_254_740_992.0), none), (signed(9_007_199_254_740_993), none)),
            ((signed(-9_007_199_254_740_993), none), (float(-9_007_199_254_740_992.0), none)),
            ((float(-0.5), none), (signed(0), none)),
            ((signed(925), Number(2)), (signed(105), Number(1))),
            ((signed(-1), Number(38)), (signed(0), Number(1))),
            ((unsigned(9), none), (signed(91), Number(1))),
            ((signed(1), Day), (signed(86_400_001), Instant(3))),
            ((signed(-1), Instant(9)), (signed(0), Day)),
        ] {
            let (one, other) = ((&one.0, one.1), (&other.0, other.1));
            assert_eq!(compare(one, other), Some(Ordering::Less), "{one:?} {other:?}");
            assert_eq!(compare(other, one), Some(Ordering::Greater), "{one:?} {other:?}");
        }
        for (one, other) in [
            ((float(-0.0), none), (unsigned(0), none)),
            ((signed(1050), Number(2)), (signed(105), Number(1))),
            ((signed(10), Number(2)), (float(0.1), none)),
            ((signed(-700), Number(2)), (signed(-7), none)),
            ((signed(2), Day), (signed(172_800_000), Instant(3))),
        ] {
            assert_eq!(compare((&one.0, one.1), (&other.0, other.1)), Some(Ordering::Equal), "{one:?} {other:?}");
        }
        assert!(!Number(0).meets(Day) && !Measure::Other.meets(Measure::Other));
    }
}
