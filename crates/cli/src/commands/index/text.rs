//! Conversion of keys and payloads of indexes between text and bytes.

use crate::failure::Result;
use crate::reading::bounds::Bounds;
use crate::values::key;
use ogive::KeyType;
use ogive::index::{AnyIndex, Key};
use serde_json::{Value, json};
use std::ffi::OsStr;

/// Longest payload that is a number, in bytes.
const NUMBER_BYTES_MAX: usize = 16;

/// Text form of payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Form {
    /// Text, padded with zero bytes; other bytes as \xNN
    #[default]
    Text,
    /// Unsigned integer, stored little-endian, of up to 16 bytes
    Number,
    /// Hexadecimal digits, two per byte
    Hex,
}

/// A key given as an argument, as an integer widened to 16 bytes.
///
/// # Errors
/// [`Failure::Usage`] when it is not a key of the type.
pub(super) fn key_from_argument(key_type: KeyType, argument: &OsStr) -> Result<u128> {
    key::from_argument(key_type, argument).map(|key| AnyIndex::word_of(&key))
}

/// A key as written in an input: a number, for example, or bytes.
pub(super) fn key_from_written(key_type: KeyType, written: &[u8]) -> Option<u128> {
    match key_type {
        KeyType::FixedBytes(width) => (written.len() == usize::from(width)).then(|| AnyIndex::word_of(written)),
        _ => key_type.parse(std::str::from_utf8(written).ok()?).ok().map(|key| AnyIndex::word_of(&key)),
    }
}

/// The range of keys that begin with an argument.
///
/// # Errors
/// [`Failure::Usage`] for keys without prefixes.
pub(super) fn prefix_range(key_type: KeyType, argument: &OsStr) -> Result<Bounds<u128>> {
    let padded = |prefix: Vec<u8>| {
        let mut key = prefix;
        key.resize(key_type.width().unwrap_or(0), 0);
        AnyIndex::word_of(&key)
    };
    let (from, to) = key::prefix_range(key_type, argument)?;
    Ok((from.map(padded), to.map(padded)))
}

/// A key of an input with typed keys; `None` if it is not a key of the index.
pub(super) fn key_from_record(key_type: KeyType, record_type: KeyType, key: &[u8]) -> Option<u128> {
    let unsigned = matches!(record_type, KeyType::U32 | KeyType::U64 | KeyType::U128);
    let word = AnyIndex::word_of(key);
    match key_type {
        _ if record_type == key_type => Some(word),
        KeyType::U32 if unsigned => u32::try_from(word).ok().map(u128::from),
        KeyType::U64 if unsigned => u64::try_from(word).ok().map(u128::from),
        KeyType::U128 if unsigned => Some(word),
        KeyType::I64 if unsigned => i64::try_from(word).ok().map(|key| u128::from(key.to_word())),
        KeyType::I128 if unsigned => i128::try_from(word).ok().map(Key::to_word),
        _ if matches!(record_type, KeyType::Text | KeyType::Bytes | KeyType::FixedBytes(_)) => {
            key_from_written(key_type, key)
        }
        _ => None,
    }
}

/// A key as it was given.
pub(super) fn key_shown(key_type: KeyType, word: u128) -> String {
    key::shown(key_type, &AnyIndex::key_bytes(key_type, word)).into_owned()
}

/// A key in JSON: a number if JSON parsers keep its precision.
pub(super) fn key_to_json(key_type: KeyType, word: u128) -> Value {
    key::to_json(key_type, &AnyIndex::key_bytes(key_type, word))
}

impl Form {
    /// Parses a payload of this size.
    ///
    /// # Errors
    /// A message for the user.
    pub(super) fn parse(self, written: &[u8], payload_bytes: usize) -> Result<Vec<u8>, String> {
        let mut payload = match self {
            Self::Text => written.to_vec(),
            Self::Number => number_bytes(written)?,
            Self::Hex => hex_bytes(written)?,
        };
        let significant = match self {
            Self::Number => payload.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1),
            _ => payload.len(),
        };
        if significant > payload_bytes {
            return Err(format!(
                "'{}' takes {significant} bytes, but payloads of this index have {payload_bytes}",
                ogive_text::escaped(written)
            ));
        }
        payload.resize(payload_bytes, 0);
        Ok(payload)
    }

    /// A payload in text output.
    pub(super) fn shown(self, payload: &[u8]) -> String {
        match self {
            Self::Number if payload.len() <= NUMBER_BYTES_MAX => little_endian(payload).to_string(),
            Self::Text => ogive_text::escaped(unpadded(payload)).into_owned(),
            _ => payload.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }

    /// A payload in JSON.
    pub(super) fn to_json(self, payload: &[u8]) -> Value {
        match self {
            Self::Number => match u64::try_from(little_endian(payload)) {
                Ok(number) if payload.len() <= NUMBER_BYTES_MAX => json!(number),
                _ => json!(self.shown(payload)),
            },
            Self::Text => key::bytes_to_json(unpadded(payload)),
            Self::Hex => json!({ "hex": self.shown(payload) }),
        }
    }
}

fn unpadded(payload: &[u8]) -> &[u8] {
    let end = payload.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &payload[..end]
}

fn little_endian(payload: &[u8]) -> u128 {
    payload.iter().rev().fold(0, |number, &byte| number << 8 | u128::from(byte))
}

fn number_bytes(written: &[u8]) -> Result<Vec<u8>, String> {
    let number = std::str::from_utf8(written).ok().and_then(|text| text.parse::<u128>().ok());
    let number =
        number.ok_or_else(|| format!("'{}' is not an integer from 0 to 2^128 - 1", ogive_text::escaped(written)))?;
    Ok(number.to_le_bytes().to_vec())
}

fn hex_bytes(written: &[u8]) -> Result<Vec<u8>, String> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = written.chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    let bytes: Option<Vec<u8>> = pairs.collect();
    bytes.ok_or_else(|| {
        format!("'{}' is not a sequence of hexadecimal digits, two per byte", ogive_text::escaped(written))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_print_as_they_were_given_and_keep_their_order() {
        let cases: [(KeyType, &[&str]); 7] = [
            (KeyType::U32, &["0", "9", "10", "4294967295"]),
            (KeyType::U64, &["0", "9", "10", "18446744073709551615"]),
            (KeyType::U128, &["0", "18446744073709551616", "340282366920938463463374607431768211455"]),
            (KeyType::I64, &["-9223372036854775808", "-10", "-9", "0", "7", "9223372036854775807"]),
            (KeyType::I128, &["-170141183460469231731687303715884105728", "-1", "0", "1"]),
            (KeyType::FixedBytes(3), &["abc", "abd", "b\\x00\\\\"]),
            (KeyType::FixedBytes(16), &["0123456789abcdef", "0123456789abcdeg"]),
        ];
        for (key_type, written) in cases {
            let words: Vec<u128> =
                written.iter().map(|text| key_from_argument(key_type, OsStr::new(text)).unwrap()).collect();
            assert!(words.is_sorted_by(|left, right| left < right), "{key_type}");
            let shown: Vec<String> = words.iter().map(|&word| key_shown(key_type, word)).collect();
            assert_eq!(shown, written, "{key_type}");
        }
    }

    #[test]
    fn what_is_no_key_of_the_type_is_wrong_usage() {
        for (key_type, text) in [
            (KeyType::U32, "4294967296"),
            (KeyType::U64, "-1"),
            (KeyType::U64, "18446744073709551616"),
            (KeyType::I64, "9223372036854775808"),
            (KeyType::FixedBytes(3), "ab"),
            (KeyType::FixedBytes(3), "abcd"),
        ] {
            assert_eq!(key_from_argument(key_type, OsStr::new(text)).unwrap_err().exit_code(), 2, "{text}");
        }
    }

    #[test]
    fn keys_of_inputs_widen_but_never_wrap() {
        let big = |number: u64| number.to_be_bytes();
        let from = |key_type, number| key_from_record(key_type, KeyType::U64, &big(number));
        assert_eq!(from(KeyType::U64, u64::MAX), Some(u128::from(u64::MAX)));
        assert_eq!(from(KeyType::U32, 1 << 32), None);
        assert_eq!(from(KeyType::U128, 7), Some(7));
        assert_eq!(from(KeyType::I64, 7).map(|word| key_shown(KeyType::I64, word)).as_deref(), Some("7"));
        assert_eq!(from(KeyType::I64, 1 << 63), None);
        assert_eq!(key_from_record(KeyType::U64, KeyType::F64, &big(1)), None);
        assert_eq!(key_from_record(KeyType::U64, KeyType::Text, b"12"), Some(12));
    }

    #[test]
    fn payloads_come_back_as_they_were_written() {
        for (form, text, bytes) in
            [(Form::Text, "hi", 4), (Form::Text, "", 0), (Form::Number, "65536", 4), (Form::Hex, "00ff10", 3)]
        {
            let payload = form.parse(text.as_bytes(), bytes).unwrap();
            assert_eq!(payload.len(), bytes);
            assert_eq!(form.shown(&payload), text);
        }
        assert!(Form::Text.parse(b"hello", 4).is_err());
        assert!(Form::Number.parse(b"65536", 2).is_err());
        assert!(Form::Number.parse(b"-1", 2).is_err());
        assert!(Form::Hex.parse(b"0", 2).is_err());
        assert!(Form::Hex.parse(b"zz", 2).is_err());
    }
}
