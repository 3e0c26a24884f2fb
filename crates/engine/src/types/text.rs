//! Text form of keys: what commands print and accept.

use super::calendar;
use super::escape::{display_text, escape, read_text, unescape};
use super::float_text;
use super::key_type::KeyType;
use super::value::Value;
use crate::error::{Error, Result};

impl KeyType {
    /// Converts text to a key: a number in decimal (with a point or an exponent the nearest float, else one that the
    /// type holds exactly), bytes with the escapes `\xNN`, `\n`, `\r`, `\t` and `\\`, text with
    /// the same escapes or, if one of its backslashes begins none, as it is, a UUID in hexadecimal, dates and times as
    /// in ISO 8601, and a tuple as a record of CSV, whose empty fields are nulls.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if the text is not a key of this type.
    pub fn parse(self, text: &str) -> Result<Vec<u8>> {
        self.parse_key(text)
            .and_then(|value| self.encode(&value).ok())
            .ok_or_else(|| Error::input(format!("{text:?} is not a key of type {self}")))
    }

    /// The bytes that all keys begin with that begin with this text: with these characters, with these bytes, or with
    /// these components of a tuple.
    ///
    /// # Errors
    /// `Cause::Input` if the text is not the start of a key, and for types whose keys are not prefixes of
    /// each other, such as numbers.
    pub fn parse_prefix(self, text: &str) -> Result<Vec<u8>> {
        let prefix = match self {
            Self::Text => Some(read_text(text).into_bytes()),
            Self::Bytes => unescape(text),
            Self::FixedBytes(width) => unescape(text).filter(|prefix| prefix.len() <= width.into()),
            // Of components that may be null, nothing is the text of a null.
            Self::Tuple(tuple) if text.is_empty() && !tuple.begins_nullable() => Some(Vec::new()),
            Self::Tuple(tuple) => tuple.parse_prefix(text).and_then(|values| tuple.prefix_of_text(&values)),
            _ => {
                let detail = format!("keys of type {self} have no prefixes; those of text, bytes and tuples have");
                return Err(Error::input(detail));
            }
        };
        prefix.ok_or_else(|| Error::input(format!("{text:?} does not begin a key of type {self}")))
    }

    /// Converts a key to text that [`Self::parse`] reads as this key. A key that is not of this type is shown as bytes.
    #[must_use]
    pub fn display(self, key: &[u8]) -> String {
        let value = match self {
            Self::Tuple(tuple) => tuple.decode(key),
            _ => self.decode_scalar(key),
        };
        value.and_then(|value| self.display_value(&value)).unwrap_or_else(|| escape(key))
    }

    /// The value that a text stands for in keys; `None` if it is not one of this type.
    pub(super) fn parse_key(self, text: &str) -> Option<Value> {
        match self {
            Self::F32 | Self::F64 => float_text::parse_key(self, text).map(Value::Float),
            _ => self.parse_value(text),
        }
    }

    /// The value that a text stands for in values; `None` if it is not one of this type.
    pub(super) fn parse_value(self, text: &str) -> Option<Value> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        Some(match self {
            Self::Bool => Value::Bool(text.parse().ok()?),
            Self::F32 | Self::F64 => Value::Float(float_text::parse(self, text)?),
            Self::Text => Value::Text(read_text(text)),
            Self::Bytes | Self::FixedBytes(_) => Value::Bytes(unescape(text)?),
            Self::Uuid => Value::Bytes(parse_uuid(text)?),
            Self::Date => Value::Signed(calendar::parse_date(text)?),
            Self::Time(unit) => Value::Unsigned(calendar::parse_time(text, unit)? as u128),
            Self::Timestamp(unit) => Value::Signed(calendar::parse_timestamp(text, unit)?),
            Self::Decimal { scale, .. } => Value::Signed(parse_decimal(text, digits, scale.into())?),
            Self::Tuple(tuple) => tuple.parse_value(text)?,
            _ if self.unsigned_max().is_some() => Value::Unsigned(text.parse().ok()?),
            _ => Value::Signed(text.parse().ok()?),
        })
    }

    /// Text of a value; `None` for a value that is not of this type.
    pub(super) fn display_value(self, value: &Value) -> Option<String> {
        Some(match (self, value) {
            (Self::Tuple(tuple), _) => tuple.display_value(value)?,
            (_, Value::Bool(value)) => value.to_string(),
            (_, Value::Float(value)) => float_text::display(self, *value),
            (_, Value::Text(text)) => display_text(text),
            (Self::Uuid, Value::Bytes(bytes)) => display_uuid(bytes),
            (_, Value::Bytes(bytes)) => escape(bytes),
            (Self::Date, Value::Signed(days)) => calendar::display_date(*days),
            (Self::Time(unit), Value::Unsigned(units)) => calendar::display_time(*units as i128, unit),
            (Self::Timestamp(unit), Value::Signed(units)) => calendar::display_timestamp(*units, unit),
            (Self::Decimal { scale, .. }, Value::Signed(units)) => display_decimal(*units, scale.into()),
            (_, Value::Unsigned(value)) => value.to_string(),
            (_, Value::Signed(value)) => value.to_string(),
            (_, Value::Null | Value::Tuple(_)) => return None,
        })
    }
}

/// Reads 32 hexadecimal digits, with or without the hyphens of a UUID.
fn parse_uuid(text: &str) -> Option<Vec<u8>> {
    let has_hyphens = text.len() == 36 && [8, 13, 18, 23].iter().all(|&at| text.as_bytes()[at] == b'-');
    let digits: Vec<u32> = match has_hyphens {
        true => text.split('-').flat_map(str::chars).map(|c| c.to_digit(16)).collect::<Option<_>>()?,
        false => text.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?,
    };
    (digits.len() == 32).then(|| digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

fn display_uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&at) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// Reads a decimal of at most `scale` digits after the point; `digits` is its text without a minus sign.
fn parse_decimal(text: &str, digits: &str, scale: usize) -> Option<i128> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let fraction = if fraction.len() > scale { fraction.trim_end_matches('0') } else { fraction };
    if whole.is_empty() && fraction.is_empty() || !is_plain(whole) || !is_plain(fraction) || fraction.len() > scale {
        return None;
    }
    let units: i128 = format!("0{whole}{fraction:0<scale$}").parse().ok()?;
    Some(if text.len() > digits.len() { -units } else { units })
}

/// A decimal with all its digits after the point.
fn display_decimal(units: i128, scale: usize) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let digits = format!("{:0width$}", units.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let point = if scale > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{fraction}")
}
