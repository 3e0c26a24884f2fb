//! Keys and values between what people write and the order-preserving bytes that a table holds.

use crate::failure::{Failure, Result};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt::Write;

/// What the keys of a table are. Integers and floats are held as bytes that compare as the numbers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum KeyType {
    /// Unsigned integers of 64 bits.
    U64,
    /// Unsigned integers of 128 bits.
    U128,
    /// Signed integers of 64 bits.
    I64,
    /// Floating-point numbers of 64 bits, in their total order.
    F64,
    /// Text, compared bytewise.
    Text,
    /// Any bytes, compared bytewise.
    Bytes,
}

const SIGN: u64 = 1 << 63;

/// The bytes that stand for the written key `text`, or nothing if it is no key of this type.
pub(crate) fn encode(key_type: KeyType, text: &[u8]) -> Option<Vec<u8>> {
    let number = || std::str::from_utf8(text).ok();
    Some(match key_type {
        KeyType::Text | KeyType::Bytes => text.to_vec(),
        KeyType::U64 => number()?.parse::<u64>().ok()?.to_be_bytes().to_vec(),
        KeyType::U128 => number()?.parse::<u128>().ok()?.to_be_bytes().to_vec(),
        KeyType::I64 => (number()?.parse::<i64>().ok()? as u64 ^ SIGN).to_be_bytes().to_vec(),
        KeyType::F64 => ordered_from_f64(number()?.parse().ok()?).to_be_bytes().to_vec(),
    })
}

/// Like [`encode`], for a key given as an argument.
///
/// # Errors
/// [`Failure::Usage`] when it is no key of the table's type.
pub(crate) fn encode_argument(key_type: KeyType, text: &[u8]) -> Result<Vec<u8>> {
    encode(key_type, text).ok_or_else(|| {
        Failure::usage(
            format!("'{}' is no key of this table", escaped(text)),
            format!("its keys are {}", describe(key_type)),
        )
    })
}

/// What keys of a type are, for messages.
pub(crate) fn describe(key_type: KeyType) -> &'static str {
    match key_type {
        KeyType::U64 => "whole numbers from 0 to 18446744073709551615",
        KeyType::U128 => "whole numbers from 0 to 2^128 - 1",
        KeyType::I64 => "whole numbers from -9223372036854775808 to 9223372036854775807",
        KeyType::F64 => "floating-point numbers",
        KeyType::Text => "text",
        KeyType::Bytes => "byte strings",
    }
}

/// The name of a type, as `--key-type` takes it.
pub(crate) fn name(key_type: KeyType) -> &'static str {
    match key_type {
        KeyType::U64 => "u64",
        KeyType::U128 => "u128",
        KeyType::I64 => "i64",
        KeyType::F64 => "f64",
        KeyType::Text => "text",
        KeyType::Bytes => "bytes",
    }
}

/// A key as it was given: numbers in decimal, text as it is, other bytes escaped.
pub(crate) fn shown(key_type: KeyType, key: &[u8]) -> Cow<'_, str> {
    decoded(key_type, key).map_or_else(|| escaped(key), |number| Cow::Owned(number.to_string()))
}

/// A key in JSON: a number where JSON's readers take it for one, text as a string, other bytes as `{"hex": ...}`.
pub(crate) fn to_json(key_type: KeyType, key: &[u8]) -> Value {
    match decoded(key_type, key) {
        Some(Number::Unsigned(number)) => {
            u64::try_from(number).map_or_else(|_| json!(number.to_string()), |n| json!(n))
        }
        Some(Number::Signed(number)) => json!(number),
        Some(Number::Float(number)) if number.is_finite() => json!(number),
        Some(Number::Float(number)) => json!(number.to_string()),
        None => bytes_to_json(key),
    }
}

/// Bytes in JSON: text as a string, anything else as `{"hex": ...}`, so that nothing is lost.
pub(crate) fn bytes_to_json(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({ "hex": hex(bytes) }),
    }
}

/// Text that can stand on one line of a terminal is left as it is; else control characters, backslashes and what is no
/// UTF-8 become `\n`, `\\` or `\x9f`.
pub(crate) fn escaped(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => Cow::Borrowed(text),
        _ => Cow::Owned(escape(bytes)),
    }
}

/// Undoes [`escaped`]. Nothing when a backslash starts no known escape.
pub(crate) fn unescaped(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'\\' => b'\\',
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'x' => hex_digit(rest.next()?)? << 4 | hex_digit(rest.next()?)?,
            _ => return None,
        });
    }
    Some(bytes)
}

/// The number behind an ordered key.
enum Number {
    Unsigned(u128),
    Signed(i64),
    Float(f64),
}

impl std::fmt::Display for Number {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unsigned(number) => number.fmt(formatter),
            Self::Signed(number) => number.fmt(formatter),
            Self::Float(number) => number.fmt(formatter),
        }
    }
}

fn decoded(key_type: KeyType, key: &[u8]) -> Option<Number> {
    let word = || key.try_into().ok().map(u64::from_be_bytes);
    match key_type {
        KeyType::U64 => Some(Number::Unsigned(word()?.into())),
        KeyType::I64 => Some(Number::Signed((word()? ^ SIGN) as i64)),
        KeyType::F64 => Some(Number::Float(f64_from_ordered(word()?))),
        KeyType::U128 => Some(Number::Unsigned(u128::from_be_bytes(key.try_into().ok()?))),
        KeyType::Text | KeyType::Bytes => None,
    }
}

fn ordered_from_f64(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits & SIGN == 0 { bits ^ SIGN } else { !bits }
}

fn f64_from_ordered(word: u64) -> f64 {
    f64::from_bits(if word & SIGN == 0 { !word } else { word ^ SIGN })
}

fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                _ if character.is_control() => escape_bytes(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes()),
                _ => text.push(character),
            }
        }
        escape_bytes(&mut text, chunk.invalid());
    }
    text
}

fn escape_bytes(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "\\x{byte:02x}");
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn hex_digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_they_were_given_and_keep_their_order() {
        let cases: [(KeyType, &[&str]); 4] = [
            (KeyType::U64, &["0", "1", "9", "10", "255", "256", "9007199254740993", "18446744073709551615"]),
            (KeyType::U128, &["0", "18446744073709551616", "340282366920938463463374607431768211455"]),
            (KeyType::I64, &["-9223372036854775808", "-10", "-9", "0", "7", "9223372036854775807"]),
            (KeyType::F64, &["-inf", "-1.5", "-0", "0", "0.1", "3", "inf"]),
        ];
        for (key_type, numbers) in cases {
            let keys: Vec<_> = numbers.iter().map(|number| encode(key_type, number.as_bytes()).unwrap()).collect();
            assert!(keys.is_sorted_by(|a, b| a < b), "{key_type:?}");
            for (key, number) in keys.iter().zip(numbers) {
                assert_eq!(shown(key_type, key), *number);
            }
        }
    }

    #[test]
    fn what_is_no_number_of_the_type_is_wrong_usage() {
        for (key_type, text) in [
            (KeyType::U64, "-1"),
            (KeyType::U64, "18446744073709551616"),
            (KeyType::U64, ""),
            (KeyType::U64, "1.0"),
            (KeyType::I64, "9223372036854775808"),
            (KeyType::F64, "one"),
        ] {
            assert_eq!(encode_argument(key_type, text.as_bytes()).unwrap_err().exit_code(), 2, "{text}");
        }
    }

    #[test]
    fn any_bytes_survive_escaping() {
        for bytes in
            [&b""[..], b"/usr/bin", "größer".as_bytes(), b"a\tb\n\\c\r", b"\xff\x00x\\", b"\xe2\x82", b"\x1b[31m"]
        {
            let text = escaped(bytes);
            assert!(!text.chars().any(char::is_control));
            assert_eq!(unescaped(text.as_bytes()).as_deref(), Some(bytes), "{text}");
        }
        assert_eq!(escaped(b"C:\\dir"), "C:\\dir");
        assert_eq!(unescaped(b"\\x4"), None);
        assert_eq!(unescaped(b"\\q"), None);
    }

    #[test]
    fn json_loses_nothing() {
        assert_eq!(to_json(KeyType::U64, &u64::MAX.to_be_bytes()).to_string(), "18446744073709551615");
        assert_eq!(to_json(KeyType::U128, &u128::MAX.to_be_bytes()), json!(u128::MAX.to_string()));
        assert_eq!(to_json(KeyType::F64, &encode(KeyType::F64, b"inf").unwrap()), json!("inf"));
        assert_eq!(to_json(KeyType::Text, b"a\tb"), json!("a\tb"));
        assert_eq!(to_json(KeyType::Bytes, b"\xff\x01"), json!({ "hex": "ff01" }));
    }

    #[test]
    fn a_key_of_a_wrong_width_in_a_damaged_table_is_shown_as_bytes() {
        assert_eq!(shown(KeyType::U64, b"abc\xff"), "abc\\xff");
    }
}
