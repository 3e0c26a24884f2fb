//! Key types: order-preserving encodings of keys as bytes, and their text form.

use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// Width of the longest keys of [`KeyType::FixedBytes`].
const FIXED_BYTES_MAX: u8 = 16;

/// The type of the keys of a table, an index, or an input of a join. Tables and indexes store it, so that keys are
/// printed in the form in which they were given.
///
/// Tables take keys of all types; indexes those of a fixed width except [`Self::F64`]. The engine always compares keys
/// bytewise. [`KeyType::parse`] and [`KeyType::display`] convert between text and order-preserving bytes. The names of
/// the types, as shown and parsed, are `u32`, `u64`, `u128`, `i64`, `i128`, `f64`, `text`, `bytes`, and `bytes1` to
/// `bytes16`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyType {
    /// Unsigned 32-bit integers as 4 big-endian bytes.
    U32,
    /// Unsigned 64-bit integers as 8 big-endian bytes.
    U64,
    /// Unsigned 128-bit integers as 16 big-endian bytes.
    U128,
    /// Signed 64-bit integers: as `U64` with the sign bit flipped.
    I64,
    /// Signed 128-bit integers: as `U128` with the sign bit flipped.
    I128,
    /// 64-bit floats: IEEE bits, with all bits flipped if negative, else only the sign bit. NaN is rejected.
    F64,
    /// UTF-8 text.
    Text,
    /// Bytes of any length.
    #[default]
    Bytes,
    /// Bytes of this length, from 1 to 16.
    FixedBytes(u8),
}

impl KeyType {
    const NAMES: [(Self, &'static str); 8] = [
        (Self::U32, "u32"),
        (Self::U64, "u64"),
        (Self::U128, "u128"),
        (Self::I64, "i64"),
        (Self::I128, "i128"),
        (Self::F64, "f64"),
        (Self::Text, "text"),
        (Self::Bytes, "bytes"),
    ];

    /// The width in bytes of key types with a fixed width.
    #[must_use]
    pub fn width(self) -> Option<usize> {
        match self {
            Self::U32 => Some(4),
            Self::U64 | Self::I64 | Self::F64 => Some(8),
            Self::U128 | Self::I128 => Some(16),
            Self::FixedBytes(width) => Some(usize::from(width)),
            Self::Text | Self::Bytes => None,
        }
    }

    /// Whether keys are 8 bytes long, so that models in tables take each as one big-endian `u64`.
    #[must_use]
    pub fn is_numeric(self) -> bool {
        self.width() == Some(8)
    }

    /// Rejects fixed widths out of bounds.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`].
    pub(crate) fn check(self) -> Result<()> {
        match self {
            Self::FixedBytes(width) if !(1..=FIXED_BYTES_MAX).contains(&width) => Err(Error::InvalidArgument(format!(
                "keys of fixed width have 1 to {FIXED_BYTES_MAX} bytes, not {width}; \
                 keys of type bytes have any length"
            ))),
            _ => Ok(()),
        }
    }

    /// Converts text to an order-preserving key: a number in decimal, text as it is, or bytes with the escapes `\xNN`
    /// and `\\`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the text is not a key of this type.
    pub fn parse(self, text: &str) -> Result<Vec<u8>> {
        let key = match self {
            Self::U32 => text.parse::<u32>().ok().map(|key| key.to_be_bytes().to_vec()),
            Self::U64 => text.parse::<u64>().ok().map(|key| key.to_be_bytes().to_vec()),
            Self::U128 => text.parse::<u128>().ok().map(|key| key.to_be_bytes().to_vec()),
            Self::I64 => text.parse().ok().map(|key| encode_i64(key).to_vec()),
            Self::I128 => text.parse().ok().map(|key| encode_i128(key).to_vec()),
            Self::F64 => text.parse().ok().and_then(encode_f64).map(|key| key.to_vec()),
            Self::Text => Some(text.as_bytes().to_vec()),
            Self::Bytes => unescape(text),
            Self::FixedBytes(width) => unescape(text).filter(|key| key.len() == usize::from(width)),
        };
        key.ok_or_else(|| Error::InvalidArgument(format!("{text:?} is not a key of type {self}")))
    }

    /// Converts a key to text that [`Self::parse`] accepts. Text with control characters and keys that are not of this
    /// type are shown with escapes that it does not accept.
    #[must_use]
    pub fn display(self, key: &[u8]) -> String {
        let plain = match self {
            Self::U32 => key.try_into().ok().map(|key| u32::from_be_bytes(key).to_string()),
            Self::U64 => key.try_into().ok().map(|key| u64::from_be_bytes(key).to_string()),
            Self::U128 => key.try_into().ok().map(|key| u128::from_be_bytes(key).to_string()),
            Self::I64 => key.try_into().ok().map(|key| decode_i64(key).to_string()),
            Self::I128 => key.try_into().ok().map(|key| decode_i128(key).to_string()),
            Self::F64 => key.try_into().ok().map(|key| decode_f64(key).to_string()),
            Self::Text => {
                std::str::from_utf8(key).ok().filter(|text| !text.chars().any(char::is_control)).map(str::to_owned)
            }
            Self::Bytes | Self::FixedBytes(_) => None,
        };
        plain.unwrap_or_else(|| escape(key))
    }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FixedBytes(width) => write!(f, "bytes{width}"),
            _ => f.write_str(Self::NAMES.iter().find(|(kind, _)| kind == self).map_or("unknown", |&(_, name)| name)),
        }
    }
}

impl FromStr for KeyType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = || Self::NAMES.iter().find(|&&(_, name)| name == text).map(|&(kind, _)| kind);
        let fixed = || {
            let digits = text.strip_prefix("bytes")?;
            let width = digits.parse::<u8>().ok()?;
            // `parse` also takes signs and leading zeros.
            ((1..=FIXED_BYTES_MAX).contains(&width) && width.to_string() == digits).then_some(Self::FixedBytes(width))
        };
        named().or_else(fixed).ok_or_else(|| {
            let names: Vec<_> = Self::NAMES.iter().map(|&(_, name)| name).collect();
            Error::InvalidArgument(format!(
                "unknown key type {text:?}; the key types are {}, and bytes1 to bytes{FIXED_BYTES_MAX}",
                names.join(", ")
            ))
        })
    }
}

const SIGN: u64 = 1 << 63;
const WIDE_SIGN: u128 = 1 << 127;

/// The order-preserving bytes of a signed integer.
#[must_use]
pub fn encode_i64(value: i64) -> [u8; 8] {
    (value as u64 ^ SIGN).to_be_bytes()
}

fn decode_i64(key: [u8; 8]) -> i64 {
    (u64::from_be_bytes(key) ^ SIGN) as i64
}

fn encode_i128(value: i128) -> [u8; 16] {
    (value as u128 ^ WIDE_SIGN).to_be_bytes()
}

fn decode_i128(key: [u8; 16]) -> i128 {
    (u128::from_be_bytes(key) ^ WIDE_SIGN) as i128
}

/// The order-preserving bytes of a float; `None` for NaN. Minus zero orders before zero.
#[must_use]
pub fn encode_f64(value: f64) -> Option<[u8; 8]> {
    let bits = value.to_bits();
    (!value.is_nan()).then(|| (if bits & SIGN == 0 { bits | SIGN } else { !bits }).to_be_bytes())
}

fn decode_f64(key: [u8; 8]) -> f64 {
    let word = u64::from_be_bytes(key);
    f64::from_bits(if word & SIGN == 0 { !word } else { word & !SIGN })
}

fn escape(key: &[u8]) -> String {
    let mut text = String::with_capacity(key.len());
    for part in key.utf8_chunks() {
        for c in part.valid().chars() {
            match c {
                '\\' => text.push_str("\\\\"),
                c if c.is_control() => c.to_string().bytes().for_each(|byte| text.push_str(&format!("\\x{byte:02x}"))),
                c => text.push(c),
            }
        }
        part.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        if let Some(tail) = rest.strip_prefix(b"\\") {
            bytes.push(b'\\');
            rest = tail;
        } else {
            // `from_str_radix` would accept a sign.
            let digits = rest.strip_prefix(b"x")?.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = &rest[3..];
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_keep_the_order_and_print_what_was_parsed() {
        let cases: [(KeyType, &[&str]); 10] = [
            (KeyType::U32, &["0", "1", "255", "256", "4294967295"]),
            (KeyType::U64, &["0", "1", "255", "256", "18446744073709551615"]),
            (KeyType::U128, &["0", "18446744073709551616", "340282366920938463463374607431768211455"]),
            (KeyType::I64, &["-9223372036854775808", "-1", "0", "1", "9223372036854775807"]),
            (
                KeyType::I128,
                &[
                    "-170141183460469231731687303715884105728",
                    "-9223372036854775809",
                    "-1",
                    "0",
                    "1",
                    "170141183460469231731687303715884105727",
                ],
            ),
            (KeyType::F64, &["-inf", "-1.5", "-0", "0", "0.000001", "2", "inf"]),
            (KeyType::Text, &["", "a", "b", "c:\\x41", "ä"]),
            (KeyType::Bytes, &["", "\\x00", "a", "a\\\\b", "ä", "\\xff"]),
            (KeyType::FixedBytes(1), &["\\x00", "\\\\", "a", "\\xff"]),
            (KeyType::FixedBytes(3), &["\\x00\\x00\\x00", "a\\x00b", "abc", "ab\\xff"]),
        ];
        for (kind, texts) in cases {
            let keys: Vec<_> = texts.iter().map(|text| kind.parse(text).unwrap()).collect();
            assert!(keys.is_sorted_by(|a, b| a < b), "{kind}: {keys:?}");
            for (text, key) in texts.iter().zip(&keys) {
                assert_eq!(kind.display(key), *text);
                assert_eq!(kind.to_string().parse::<KeyType>().unwrap(), kind);
                assert!(kind.width().is_none_or(|width| width == key.len()), "{kind}");
            }
        }
        for (kind, text) in [
            (KeyType::F64, "NaN"),
            (KeyType::U64, "-1"),
            (KeyType::U32, "4294967296"),
            (KeyType::I128, "170141183460469231731687303715884105728"),
            (KeyType::FixedBytes(3), "ab"),
            (KeyType::FixedBytes(3), "abcd"),
        ] {
            assert!(kind.parse(text).is_err(), "{kind}: {text}");
        }
        for text in ["\\q", "\\x", "\\x4", "\\x4g", "\\x+4"] {
            assert!(KeyType::Bytes.parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_round_trip_and_an_unknown_one_lists_them_all() {
        let named = KeyType::NAMES.iter().map(|&(key_type, _)| key_type);
        for key_type in named.chain((1..=16).map(KeyType::FixedBytes)) {
            assert_eq!(key_type.to_string().parse::<KeyType>().unwrap(), key_type);
            assert!(key_type.check().is_ok());
        }
        for wrong in ["", "u16", "Bytes", "bytes0", "bytes17", "bytes-1", "bytes999"] {
            let message = wrong.parse::<KeyType>().unwrap_err().to_string();
            let names = "u32, u64, u128, i64, i128, f64, text, bytes, and bytes1 to bytes16";
            assert!(message.contains(names), "{message}");
        }
        assert!(KeyType::FixedBytes(0).check().is_err());
        assert!(KeyType::FixedBytes(17).check().is_err());
    }

    #[test]
    fn keys_of_another_width_are_shown_with_escapes() {
        for key_type in [KeyType::U32, KeyType::U64, KeyType::U128, KeyType::I64, KeyType::I128, KeyType::F64] {
            assert_eq!(key_type.display(b"abc\xff\0"), "abc\\xff\\x00", "{key_type}");
        }
    }
}
