//! The type in which equal numbers of two columns are equal, however they are written: `10` and `10.0`, or `1.5` and
//! `1.50`.

use crate::infer::ColumnGuess;
use ogive::KeyType;

/// Types of integers without and with a sign, and the digits that all of their numbers may have.
const UNSIGNED: [(usize, KeyType); 2] = [(19, KeyType::U64), (38, KeyType::U128)];
const SIGNED: [(usize, KeyType); 2] = [(18, KeyType::I64), (38, KeyType::I128)];
/// Digits of decimals: those that 8 bytes hold, and those that 16 bytes do.
const DECIMAL_DIGITS: [u8; 2] = [18, 38];
/// Digits that all floats of 32 and of 64 bits keep.
const F32_DIGITS: usize = 6;
const F64_DIGITS: usize = 15;

/// How the numbers of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberForms {
    /// Whether all are digits, with or without a point and a sign: none has an exponent, or a sign before zero.
    is_plain: bool,
    /// Most digits before the point, and after it.
    whole: usize,
    fraction: usize,
    is_signed: bool,
    /// Whether all of them are integers, as `10.0` is.
    are_whole: bool,
}

impl NumberForms {
    /// Those of no number.
    pub(crate) const NONE: Self = Self { is_plain: true, whole: 0, fraction: 0, is_signed: false, are_whole: true };
    /// Those of what is no plain number.
    pub(crate) const OTHER: Self = Self { is_plain: false, ..Self::NONE };

    /// That of one value.
    pub(crate) fn of(text: &str) -> Self {
        let Some((whole, fraction)) = parts(text) else { return Self::OTHER };
        Self {
            is_plain: true,
            whole: whole.len(),
            fraction: fraction.len(),
            is_signed: text.starts_with('-'),
            are_whole: fraction.bytes().all(|byte| byte == b'0'),
        }
    }

    /// Those of the numbers of both.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            is_plain: self.is_plain && other.is_plain,
            whole: self.whole.max(other.whole),
            fraction: self.fraction.max(other.fraction),
            is_signed: self.is_signed || other.is_signed,
            are_whole: self.are_whole && other.are_whole,
        }
    }

    /// The narrowest type in which equal numbers are equal, if there is one that loses none.
    pub(crate) fn key_type(self) -> Option<KeyType> {
        if !self.is_plain {
            return None;
        }
        if self.are_whole {
            let types = if self.is_signed { SIGNED } else { UNSIGNED };
            return types.into_iter().find(|(digits, _)| self.whole <= *digits).map(|(_, key_type)| key_type);
        }
        let digits = self.whole + self.fraction;
        let precision = DECIMAL_DIGITS.into_iter().find(|precision| digits <= usize::from(*precision))?;
        Some(KeyType::Decimal { precision, scale: u8::try_from(self.fraction).ok()? })
    }
}

/// The digits before the point of a plain number, and those after it.
fn parts(text: &str) -> Option<(&str, &str)> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let has_leading_zero = whole.len() > 1 && whole.starts_with('0');
    let is_signed_zero = digits.len() < text.len() && digits.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let is_number = !whole.is_empty() && is_plain(whole) && is_plain(fraction) && !text.ends_with('.');
    (is_number && !has_leading_zero && !is_signed_zero).then_some((whole, fraction))
}

impl ColumnGuess {
    /// The type of the numbers of two columns in which equal ones are equal, where both together are text although they
    /// are numbers, or floats although all are integers.
    #[must_use]
    pub fn united_with(&self, other: &Self) -> Option<KeyType> {
        let are_numbers = |guess: &Self| guess.has_values() && guess.are_numbers();
        let together = self.with(other).guessed(true).key_type;
        let forms = self.forms.with(other.forms);
        let is_lost = together == KeyType::Text || (together == KeyType::F64 && forms.are_whole);
        forms.key_type().filter(|_| is_lost && are_numbers(self) && are_numbers(other))
    }
}

/// Whether a number that is read as a float means that: it is the float, if it is whole, and else the shortest number
/// that means it, with any zeros behind. What is written with an exponent was a float before.
pub(crate) fn means_float(key_type: KeyType, text: &str) -> bool {
    let always = if key_type == KeyType::F32 { F32_DIGITS } else { F64_DIGITS };
    let Some((whole, fraction)) = parts(text) else { return true };
    let fraction = fraction.trim_end_matches('0');
    if whole.len() + fraction.len() <= always {
        return true;
    }
    let float = match key_type {
        KeyType::F32 => text.parse::<f32>().map(|float| (f64::from(float), float.to_string())),
        _ => text.parse::<f64>().map(|float| (float, float.to_string())),
    };
    let Ok((float, shortest)) = float else { return true };
    match fraction.is_empty() {
        true => format!("{:.0}", float.abs()) == whole,
        false => parts(&shortest) == Some((whole, fraction)),
    }
}

/// Appends the bytes of a number that is written in another way than those of its type; `false` if it is none.
pub(crate) fn append_united(key_type: KeyType, text: &str, target: &mut Vec<u8>) -> bool {
    let Some((whole, fraction)) = parts(text) else { return false };
    let fraction = fraction.trim_end_matches('0');
    let sign = if text.starts_with('-') { "-" } else { "" };
    let written = match key_type {
        KeyType::Decimal { scale: 0, .. } | KeyType::F32 | KeyType::F64 => return false,
        KeyType::Decimal { scale, .. } if fraction.len() <= usize::from(scale) => {
            format!("{sign}{whole}.{fraction:0<width$}", width = usize::from(scale))
        }
        KeyType::U8 | KeyType::U16 | KeyType::U32 | KeyType::U64 | KeyType::U128 if fraction.is_empty() => {
            format!("{sign}{whole}")
        }
        KeyType::I8 | KeyType::I16 | KeyType::I32 | KeyType::I64 | KeyType::I128 if fraction.is_empty() => {
            format!("{sign}{whole}")
        }
        _ => return false,
    };
    key_type.parse(&written).is_ok_and(|bytes| {
        target.extend_from_slice(&bytes);
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Written;

    fn united(left: &[&str], right: &[&str]) -> Option<String> {
        let guess = |values: &[&str]| {
            let mut guess = ColumnGuess::new();
            values.iter().for_each(|value| guess.see(1, Written::Text(value.as_bytes())));
            guess
        };
        guess(left).united_with(&guess(right)).map(|key_type| key_type.to_string())
    }

    #[test]
    fn equal_numbers_are_equal_however_they_are_written() {
        for (left, right, name) in [
            (&["10", "7"][..], &["10.0", "8.00"][..], Some("u64")),
            (&["10"], &["-10.0"], Some("i64")),
            (&["18446744073709551615"], &["1.0"], Some("u128")),
            (&["1234567890123456.78"], &["1.5"], Some("decimal(18,2)")),
            (&["12345678901234567.89"], &["1.5"], Some("decimal(38,2)")),
            (&["9007199254740993"], &["1.5"], Some("decimal(18,1)")),
            // As floats they are equal.
            (&["10"], &["10.5"], None),
            (&["10"], &["7"], None),
            (&["10"], &["1e1"], None),
            (&["10"], &["x"], None),
            (&["10"], &["-0.0"], None),
            (&["12345678901234567890123456789012345678.5"], &["1.55"], None),
        ] {
            assert_eq!(united(left, right).as_deref(), name, "{left:?} {right:?}");
        }
        for (key_type, text, means) in [
            (KeyType::F64, "0.10", true),
            (KeyType::F64, "9007199254740992.00", true),
            (KeyType::F64, "9007199254740993.00", false),
            (KeyType::F64, "-0.12345678901234568", true),
            (KeyType::F64, "0.12345678901234567890", false),
            (KeyType::F32, "16777217.0", false),
            (KeyType::F32, "0.3", true),
            (KeyType::F32, "0.300000001", false),
            (KeyType::F64, "1e400", true),
        ] {
            assert_eq!(means_float(key_type, text), means, "{key_type} {text}");
        }
        let read = |key_type: &str, text: &str| {
            let (key_type, mut bytes): (KeyType, _) = (key_type.parse().unwrap(), Vec::new());
            append_united(key_type, text, &mut bytes).then(|| key_type.display(&bytes))
        };
        for (key_type, text, shown) in [
            ("u64", "10.0", Some("10")),
            ("u64", "10.5", None),
            ("u64", "-1.0", None),
            ("i64", "-1.00", Some("-1")),
            ("decimal(18,2)", "1.5", Some("1.50")),
            ("decimal(18,2)", "-0.5", Some("-0.50")),
            ("decimal(18,2)", "7", Some("7.00")),
            ("decimal(18,2)", "1.500", Some("1.50")),
            ("decimal(18,2)", "1.505", None),
        ] {
            assert_eq!(read(key_type, text).as_deref(), shown, "{key_type} {text}");
        }
    }
}
