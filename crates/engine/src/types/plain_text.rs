//! The bytes of values that are written in the usual form of their type, without the steps that other forms take.
//!
//! Most fields of most text files are integers, decimals, dates and timestamps in the form in which they are shown.
//! They are read digit by digit here; for other forms, [`KeyType::parse`] decides.

use super::calendar::days_of_date;
use super::key_type::{KeyType, TimeUnit};
use super::scalar::encode_i64;

/// Digits of numbers that surely fit 64 bits with a sign.
const DIGITS_MAX: usize = 18;
/// Bytes of a date, and of a timestamp without a fraction.
const DATE_BYTES: usize = 10;
const TIMESTAMP_BYTES: usize = 19;
const SECONDS_PER_DAY: i64 = 86_400;

impl KeyType {
    /// Appends the bytes of a value that is written in the usual form: an integer or decimal as it is shown, a date, or
    /// a timestamp without a zone, also with a space in the place of its `T`. `false`, and nothing, for other types and
    /// forms, and for what is no value.
    #[doc(hidden)]
    #[must_use]
    pub fn append_plain(self, text: &[u8], target: &mut Vec<u8>) -> bool {
        let number = match self {
            Self::U64 => {
                let number = digits(text).filter(|_| is_shortest(text));
                number.into_iter().for_each(|number| target.extend_from_slice(&(number as u64).to_be_bytes()));
                return number.is_some();
            }
            Self::I64 => signed(text, |digits| is_shortest(digits).then(|| self::digits(digits)).flatten()),
            Self::Decimal { precision, scale } => signed(text, |digits| decimal(digits, precision, scale)),
            Self::Date => days(text),
            Self::Timestamp(unit) => timestamp(text, unit),
            _ => None,
        };
        let Some(number) = number else { return false };
        let bytes = encode_i64(number);
        match self.width() {
            Some(8) => target.extend_from_slice(&bytes),
            // Dates have 4 bytes: the sign bit is the first one of those.
            Some(4) => target.extend_from_slice(&((number as i32 as u32) ^ (1 << 31)).to_be_bytes()),
            // Decimals of more digits: the bytes in front continue the sign.
            Some(16) => target.extend_from_slice(&((i128::from(number) as u128) ^ (1 << 127)).to_be_bytes()),
            _ => return false,
        }
        true
    }
}

/// The number of digits alone, of at most 18.
fn digits(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > DIGITS_MAX {
        return None;
    }
    text.iter().try_fold(0, |number: i64, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| number * 10 + i64::from(digit))
    })
}

/// Whether digits are those of a number in its shortest form.
fn is_shortest(digits: &[u8]) -> bool {
    digits.len() == 1 || digits.first() != Some(&b'0')
}

/// A number with or without a minus sign, which zero does not have.
fn signed(text: &[u8], number: impl Fn(&[u8]) -> Option<i64>) -> Option<i64> {
    match text.strip_prefix(b"-") {
        Some(text) => number(text).filter(|number| *number != 0).map(|number| -number),
        None => number(text),
    }
}

/// The units of a decimal with all its digits behind the point.
fn decimal(text: &[u8], precision: u8, scale: u8) -> Option<i64> {
    let at = text.len().checked_sub(usize::from(scale) + 1).filter(|at| *at > 0)?;
    let (whole, fraction) = (text.get(..at)?, text.get(at..)?.strip_prefix(b".")?);
    let whole_digits = if whole == b"0" { 0 } else { whole.len() };
    if scale == 0 || !is_shortest(whole) || whole_digits + fraction.len() > usize::from(precision).min(DIGITS_MAX) {
        return None;
    }
    Some(digits(whole)? * 10_i64.pow(scale.into()) + digits(fraction)?)
}

/// The days since 1970-01-01 of a date with a year of four digits.
fn days(text: &[u8]) -> Option<i64> {
    let &[ref year @ .., b'-', m, n, b'-', d, e] = <&[u8; DATE_BYTES]>::try_from(text).ok()? else { return None };
    let (month, day) = (digits(&[m, n])? as u32, digits(&[d, e])? as u32);
    days_of_date(digits(year)?, month, day)
}

/// The units since 1970-01-01 of a date and a time of day with seconds.
fn timestamp(text: &[u8], unit: TimeUnit) -> Option<i64> {
    let (whole, fraction) = text.split_at_checked(TIMESTAMP_BYTES)?;
    let (date, time) = whole.split_at_checked(DATE_BYTES)?;
    let &[b'T' | b't' | b' ', h, i, b':', m, n, b':', s, t] = time else { return None };
    let part = |tens: u8, ones: u8, end: i64| digits(&[tens, ones]).filter(|part| *part < end);
    let seconds = part(h, i, 24)? * 3600 + part(m, n, 60)? * 60 + part(s, t, 60)?;
    let units = match fraction.split_first() {
        None => 0,
        Some((b'.', fraction)) if fraction.len() <= unit.digits() => {
            digits(fraction)? * 10_i64.pow((unit.digits() - fraction.len()) as u32)
        }
        Some(_) => return None,
    };
    let seconds = days(date)? * SECONDS_PER_DAY + seconds;
    seconds.checked_mul(i64::try_from(unit.per_second()).ok()?)?.checked_add(units)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ValueType;

    /// Texts of many types, and of none.
    const TEXTS: &str = "0|-0|7|-7|07|+7||-|123456789012345678|-123456789012345678|1234567890123456789|\
         18446744073709551615|1.50|-1.50|-0.00|0.00|0.05|-0.05|01.50|1.5|1.500|.50|1.|1|123456.78|\
         1234567.89|-999999.99|2024-02-29|2023-02-29|0000-01-01|9999-12-31|2024-13-01|2024-1-01|\
         +2024-01-01|2024-02-29T23:59:59|2024-02-29 23:59:59|2024-02-29t00:00:00|\
         2024-02-29T24:00:00|2024-02-29T23:59:60|2024-02-29T23:59:59.5|2024-02-29T23:59:59.500|\
         2024-02-29T23:59:59.1234567|2024-02-29T23:59:59.|2024-02-29T23:59:59Z|\
         2024-02-29T23:59:59+01:00|9999-12-31T23:59:59|1969-12-31T23:59:59.999|0000-01-01T00:00:00|\
         2024-02-29T23:59|2024-02-29x23:59:59|x|1e5|\u{661}";

    #[test]
    fn what_is_read_digit_by_digit_has_the_bytes_that_parsing_gives() {
        let types = "u64 i64 decimal(8,2) decimal(38,2) decimal(18,2) date timestamp(s) timestamp(ms) timestamp(us) \
                     timestamp(ns) text u8";
        let mut plain = 0;
        for key_type in types.split(' ').map(|name| name.parse::<KeyType>().unwrap()) {
            for text in TEXTS.split('|') {
                let mut bytes = vec![9];
                if key_type.append_plain(text.as_bytes(), &mut bytes) {
                    let parsed = ValueType::Scalar(key_type).parse(text);
                    assert_eq!(parsed.ok().as_deref(), Some(&bytes[1..]), "{text} as {key_type}");
                    plain += 1;
                } else {
                    assert_eq!(bytes, [9], "{text} as {key_type}");
                }
            }
        }
        assert!(plain > 40, "{plain}");
    }
}
