//! Conversion of keys and values between text and the order-preserving bytes in a table.

use super::size::counted;
use crate::failure::{Failure, Result};
use crate::reading::bounds::Bounds;
use ogive::KeyType;
use ogive::types::{self, Component};
use ogive_text::escaped;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write;

/// The bytes of a key given as an argument, as [`shown`] writes it. Bytes that are not UTF-8 are taken as they are.
///
/// # Errors
/// [`Failure::Usage`] when it is not a key of the table's type.
pub(crate) fn from_argument(key_type: KeyType, argument: &OsStr) -> Result<Vec<u8>> {
    let bytes = argument.as_encoded_bytes();
    match (key_type, argument.to_str()) {
        (KeyType::Text | KeyType::Bytes, None) => Ok(bytes.to_vec()),
        (KeyType::FixedBytes(width), None) if bytes.len() == usize::from(width) => Ok(bytes.to_vec()),
        (_, text) => text.and_then(|text| key_type.parse(text).ok()).ok_or_else(|| {
            Failure::usage(
                format!("'{}' is not a valid key of type {key_type}", escaped(bytes)),
                format!("its keys are {}", describe(key_type)),
            )
        }),
    }
}

/// The range of keys that begin with an argument.
///
/// # Errors
/// [`Failure::Usage`] when no key of the table's type begins so, and for types without prefixes.
pub(crate) fn prefix_range(key_type: KeyType, argument: &OsStr) -> Result<Bounds<Vec<u8>>> {
    let first = match argument.to_str() {
        None if matches!(key_type, KeyType::Text | KeyType::Bytes) => argument.as_encoded_bytes().to_vec(),
        text => key_type
            .parse_prefix(text.unwrap_or_default())
            .map_err(|error| Failure::usage(error.message(), "use --from and --to for a range of keys"))?,
    };
    Ok(key_type.prefix_range(&first))
}

/// Description of the keys of a type, for messages.
pub(crate) fn describe(key_type: KeyType) -> String {
    match key_type {
        KeyType::U32 => "whole numbers from 0 to 4294967295".into(),
        KeyType::U64 => "whole numbers from 0 to 18446744073709551615".into(),
        KeyType::U128 => "whole numbers from 0 to 2^128 - 1".into(),
        KeyType::I64 => "whole numbers from -9223372036854775808 to 9223372036854775807".into(),
        KeyType::I128 => "whole numbers from -2^127 to 2^127 - 1".into(),
        KeyType::F32 | KeyType::F64 => {
            "floating-point numbers; an integer without a point must be one that the type holds".into()
        }
        KeyType::Text => "text; \\n, \\r, \\t, \\xNN and \\\\ are escapes".into(),
        KeyType::Bool => "true and false".into(),
        KeyType::U8 => "whole numbers from 0 to 255".into(),
        KeyType::U16 => "whole numbers from 0 to 65535".into(),
        KeyType::I8 => "whole numbers from -128 to 127".into(),
        KeyType::I16 => "whole numbers from -32768 to 32767".into(),
        KeyType::I32 => "whole numbers from -2147483648 to 2147483647".into(),
        KeyType::Uuid => "UUIDs, such as 01890a5d-ac96-774b-bcce-b302099a8057".into(),
        KeyType::Date => "dates, such as 2024-02-29".into(),
        KeyType::Time(_) => "times of day, such as 23:59:59".into(),
        KeyType::Timestamp(_) => "timestamps, such as 2024-02-29T23:59:59".into(),
        KeyType::Decimal { precision, scale } => {
            format!("decimals of up to {precision} digits, {scale} of them after the point")
        }
        KeyType::Tuple(tuple) => {
            let count = tuple.components().len();
            format!(
                "{}, separated by commas; an empty one is a null, \"\" is empty text",
                counted(count as u64, "component")
            )
        }
        KeyType::FixedBytes(width) => {
            format!("{width} bytes each; write a backslash as \\\\ and any byte as \\xNN")
        }
        _ => "bytes; write a backslash as \\\\ and any byte as \\xNN".into(),
    }
}

/// A key as [`from_argument`] reads it.
pub(crate) fn shown(key_type: KeyType, key: &[u8]) -> Cow<'_, str> {
    Cow::Owned(key_type.display(key))
}

/// A key in JSON: a number where JSON allows it and readers keep its digits, an array for a tuple, bytes other than
/// text as `{"hex": ...}`, and anything else as a string.
pub(crate) fn to_json(key_type: KeyType, key: &[u8]) -> Value {
    match key_type {
        KeyType::Text | KeyType::Bytes | KeyType::FixedBytes(_) => return bytes_to_json(key),
        KeyType::Tuple(tuple) => {
            if let Ok(types::Value::Tuple(values)) = key_type.decode(key) {
                let component = |(component, value): (Component, _)| match component.key_type.encode(&value) {
                    Ok(key) => to_json(component.key_type, &key),
                    Err(_) => Value::Null,
                };
                return tuple.components().zip(values).map(component).collect();
            }
        }
        _ => {}
    }
    let shown = key_type.display(key);
    let is_plain = key_type.width().is_some_and(|width| width <= 8) && !matches!(key_type, KeyType::Decimal { .. });
    // Neither NaN nor an infinity is a number of JSON, nor is a date.
    let plain = is_plain.then(|| serde_json::from_str(&shown).ok()).flatten();
    plain.unwrap_or(Value::String(match shown.as_str() {
        "inf" if is_plain => "Infinity".to_owned(),
        "-inf" if is_plain => "-Infinity".to_owned(),
        _ => shown,
    }))
}

/// Bytes in JSON without loss: text as a string, anything else as `{"hex": ...}`.
pub(crate) fn bytes_to_json(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => hex_to_json(bytes),
    }
}

/// Bytes in JSON as `{"hex": ...}`.
pub(crate) fn hex_to_json(bytes: &[u8]) -> Value {
    json!({ "hex": hex(bytes) })
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::ops::Bound;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn numbers_print_as_they_were_given_and_keep_their_order() {
        let cases: [(KeyType, &[&str]); 6] = [
            (KeyType::U32, &["0", "9", "10", "4294967295"]),
            (KeyType::I128, &["-170141183460469231731687303715884105728", "-1", "0", "1"]),
            (KeyType::U64, &["0", "1", "9", "10", "255", "256", "9007199254740993", "18446744073709551615"]),
            (KeyType::U128, &["0", "18446744073709551616", "340282366920938463463374607431768211455"]),
            (KeyType::I64, &["-9223372036854775808", "-10", "-9", "0", "7", "9223372036854775807"]),
            (KeyType::F64, &["-inf", "-1.5", "0", "0.1", "3", "inf", "NaN"]),
        ];
        for (key_type, numbers) in cases {
            let keys: Vec<_> = numbers.iter().map(|number| key_type.parse(number).unwrap()).collect();
            assert!(keys.is_sorted_by(|a, b| a < b), "{key_type:?}");
            for (key, number) in keys.iter().zip(numbers) {
                assert_eq!(shown(key_type, key), *number);
            }
        }
    }

    #[test]
    fn a_prefix_is_the_range_up_to_the_next_one() {
        let range = |name: &str, prefix: &str| prefix_range(name.parse().unwrap(), OsStr::new(prefix));
        let (from, to) = (Bound::Included, Bound::Excluded);
        assert_eq!(range("text", "ab").unwrap(), (from(b"ab".to_vec()), to(b"ac".to_vec())));
        assert_eq!(range("bytes", "a\\xff").unwrap(), (from(b"a\xff".to_vec()), to(b"b".to_vec())));
        assert_eq!(range("bytes", "\\xff").unwrap(), (from(b"\xff".to_vec()), Bound::Unbounded));
        assert_eq!(range("text", "").unwrap(), (from(Vec::new()), Bound::Unbounded));
        assert_eq!(range("(u8, u8)", "7").unwrap(), (from(vec![7, 0]), to(vec![8, 0])));
        assert_eq!(range("u64", "7").unwrap_err().exit_code(), 2);
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
            (KeyType::U32, "4294967296"),
            (KeyType::FixedBytes(3), "ab"),
            (KeyType::FixedBytes(3), "ab\\x00d"),
        ] {
            assert_eq!(from_argument(key_type, OsStr::new(text)).unwrap_err().exit_code(), 2, "{text}");
        }
    }

    #[test]
    fn what_is_shown_fits_a_line_and_plain_text_is_left_alone() {
        for bytes in [&b"a\tb\n\\c\r"[..], b"\xff\x00x\\", b"\xe2\x82", b"\x1b[31m", "\u{85}".as_bytes()] {
            let text = escaped(bytes);
            assert!(text.contains('\\') && !text.chars().any(char::is_control), "{text}");
        }
        for text in ["", "/usr/bin", "größer", "C:\\dir"] {
            assert_eq!(escaped(text.as_bytes()), text);
        }
    }

    #[test]
    fn a_key_of_bytes_can_be_asked_for_as_it_is_shown() {
        for key in [&b""[..], b"plain", b"\xff\x00\\", b"a\tb"] {
            let shown = shown(KeyType::Bytes, key);
            assert_eq!(from_argument(KeyType::Bytes, OsStr::new(shown.as_ref())).unwrap(), key);
        }
        assert_eq!(from_argument(KeyType::Bytes, OsStr::from_bytes(b"\xff")).unwrap(), b"\xff");
        assert_eq!(from_argument(KeyType::FixedBytes(1), OsStr::from_bytes(b"\xff")).unwrap(), b"\xff");
        assert_eq!(from_argument(KeyType::FixedBytes(2), OsStr::new("\\x00a")).unwrap(), b"\0a");
    }

    #[test]
    fn a_key_of_text_can_be_asked_for_as_it_is_shown() {
        for (key, expected) in [
            ("plain", "plain"),
            ("a\tb\nc\rd\u{1}", "a\\tb\\nc\\rd\\x01"),
            ("\u{85}", "\\xc2\\x85"),
            ("C:\\dir", "C:\\dir"),
            ("C:\\new", "C:\\\\new"),
            ("a\\x41", "a\\\\x41"),
            ("\\\\server", "\\\\\\\\server"),
            ("\\\\server\\share", "\\\\server\\share"),
            ("\\", "\\"),
            ("\\\\", "\\\\\\\\"),
            ("a\t\\", "a\\t\\\\"),
        ] {
            let shown = shown(KeyType::Text, key.as_bytes());
            assert_eq!(shown, expected, "{key:?}");
            assert_eq!(from_argument(KeyType::Text, OsStr::new(shown.as_ref())).unwrap(), key.as_bytes());
            let prefix = prefix_range(KeyType::Text, OsStr::new(shown.as_ref())).unwrap();
            assert_eq!(prefix.0, Bound::Included(key.as_bytes().to_vec()));
        }
        assert_eq!(from_argument(KeyType::Text, OsStr::from_bytes(b"\xff")).unwrap(), b"\xff");
        let tuple: KeyType = "(text, u8)".parse().unwrap();
        let key =
            tuple.encode(&types::Value::Tuple(vec![types::Value::Text("a\nb,".into()), types::Value::Unsigned(7)]));
        let shown = shown(tuple, key.as_ref().unwrap());
        assert_eq!(shown, "\"a\\nb,\",7");
        assert_eq!(from_argument(tuple, OsStr::new(shown.as_ref())).unwrap(), key.unwrap());
    }

    #[test]
    fn json_loses_nothing() {
        assert_eq!(to_json(KeyType::U64, &u64::MAX.to_be_bytes()).to_string(), "18446744073709551615");
        assert_eq!(to_json(KeyType::U128, &u128::MAX.to_be_bytes()), json!(u128::MAX.to_string()));
        assert_eq!(to_json(KeyType::F64, &KeyType::F64.parse("inf").unwrap()), json!("Infinity"));
        assert_eq!(to_json(KeyType::F32, &KeyType::F32.parse("-inf").unwrap()), json!("-Infinity"));
        assert_eq!(to_json(KeyType::F64, &KeyType::F64.parse("NaN").unwrap()), json!("NaN"));
        assert_eq!(to_json(KeyType::Text, b"a\tb"), json!("a\tb"));
        assert_eq!(to_json(KeyType::U32, &[0, 0, 1, 0]), json!(256));
        assert_eq!(to_json(KeyType::I128, &[0; 16]), json!(i128::MIN.to_string()));
        assert_eq!(to_json(KeyType::FixedBytes(2), b"ab"), json!("ab"));
        let of = |name: &str, text: &str| {
            let key_type: KeyType = name.parse().unwrap();
            to_json(key_type, &key_type.parse(text).unwrap())
        };
        assert_eq!(of("bool", "true"), json!(true));
        assert_eq!(of("date", "2024-02-29"), json!("2024-02-29"));
        assert_eq!(of("decimal(4,2)", "1.5"), json!("1.50"));
        assert_eq!(of("(text?, i8, bytes, f32)", ",-3,\\xff,0.1"), json!([null, -3, { "hex": "ff" }, 0.1]));
        assert_eq!(to_json(KeyType::Bytes, b"\xff\x01"), json!({ "hex": "ff01" }));
    }

    #[test]
    fn a_key_of_a_wrong_width_in_a_damaged_table_is_shown_as_bytes() {
        assert_eq!(shown(KeyType::U64, b"abc\xff"), "abc\\xff");
    }
}
