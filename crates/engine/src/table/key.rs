//! Key types: order-preserving encodings, and the key prefix as u64 that models work on.

use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// Longest key in bytes: 64 KiB.
pub const KEY_BYTES_MAX: usize = 64 << 10;

/// The type of a table's keys. It is stored in the table, so that keys are printed in the form in which they were
/// given.
///
/// The engine always compares keys bytewise. [`KeyType::parse`] and [`KeyType::display`] convert between text and
/// order-preserving bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyType {
    /// Unsigned 64-bit integers as 8 big-endian bytes.
    U64,
    /// Unsigned 128-bit integers as 16 big-endian bytes.
    U128,
    /// Signed 64-bit integers: as `U64` with the sign bit flipped.
    I64,
    /// 64-bit floats: IEEE bits, with all bits flipped if negative, else only the sign bit. NaN is rejected.
    F64,
    /// UTF-8 text.
    Text,
    /// Arbitrary bytes.
    #[default]
    Bytes,
}

impl KeyType {
    const ALL: [(Self, &'static str, u64); 6] = [
        (Self::U64, "u64", 1),
        (Self::U128, "u128", 2),
        (Self::I64, "i64", 3),
        (Self::F64, "f64", 4),
        (Self::Text, "text", 5),
        (Self::Bytes, "bytes", 6),
    ];

    /// The width in bytes of key types with a fixed width.
    #[must_use]
    pub fn width(self) -> Option<usize> {
        match self {
            Self::U64 | Self::I64 | Self::F64 => Some(8),
            Self::U128 => Some(16),
            Self::Text | Self::Bytes => None,
        }
    }

    /// Whether a key is represented exactly by a u64: fixed width of at most 8 bytes.
    #[must_use]
    pub fn is_numeric(self) -> bool {
        self.width() == Some(8)
    }

    /// Converts text to an order-preserving key: a number in decimal, text as it is, or bytes with the escapes `\xNN`
    /// and `\\`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the text is not a key of this type.
    pub fn parse(self, text: &str) -> Result<Vec<u8>> {
        let refuse = || Error::InvalidArgument(format!("{text:?} is not a key of type {self}"));
        match self {
            Self::U64 => Ok(text.parse::<u64>().map_err(|_| refuse())?.to_be_bytes().to_vec()),
            Self::U128 => Ok(text.parse::<u128>().map_err(|_| refuse())?.to_be_bytes().to_vec()),
            Self::I64 => Ok(encode_i64(text.parse().map_err(|_| refuse())?).to_vec()),
            Self::F64 => encode_f64(text.parse().map_err(|_| refuse())?).map(|key| key.to_vec()).ok_or_else(refuse),
            Self::Text => Ok(text.as_bytes().to_vec()),
            Self::Bytes => unescape(text).ok_or_else(refuse),
        }
    }

    /// Converts a key to text that [`Self::parse`] accepts. Text with control characters and keys that are not of this
    /// type are shown with escapes that it does not accept.
    #[must_use]
    pub fn display(self, key: &[u8]) -> String {
        let word = || key.try_into().ok().map(u64::from_be_bytes);
        match (self, word()) {
            (Self::U64, Some(word)) => word.to_string(),
            (Self::I64, Some(word)) => ((word ^ SIGN) as i64).to_string(),
            (Self::F64, Some(word)) => decode_f64(word).to_string(),
            (Self::U128, _) => match key.try_into() {
                Ok(wide) => u128::from_be_bytes(wide).to_string(),
                Err(_) => escape(key),
            },
            (Self::Text, _) => match std::str::from_utf8(key) {
                Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
                _ => escape(key),
            },
            _ => escape(key),
        }
    }

    pub(super) fn code(self) -> u64 {
        Self::ALL.iter().find(|(kind, ..)| *kind == self).map_or(0, |&(.., code)| code)
    }

    pub(super) fn from_code(code: u64) -> Option<Self> {
        Self::ALL.iter().find(|&&(.., known)| known == code).map(|&(kind, ..)| kind)
    }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(kind, ..)| kind == self).map_or("unknown", |&(_, name, _)| name))
    }
}

impl FromStr for KeyType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.iter().find(|&&(_, name, _)| name == text).map(|&(kind, ..)| kind).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|&(_, name, _)| name).collect();
            Error::InvalidArgument(format!("unknown key type {text:?}; the key types are {}", names.join(", ")))
        })
    }
}

const SIGN: u64 = 1 << 63;

/// The order-preserving bytes of a signed integer.
#[must_use]
pub fn encode_i64(value: i64) -> [u8; 8] {
    (value as u64 ^ SIGN).to_be_bytes()
}

/// The order-preserving bytes of a float; `None` for NaN. Minus zero orders before zero.
#[must_use]
pub fn encode_f64(value: f64) -> Option<[u8; 8]> {
    let bits = value.to_bits();
    (!value.is_nan()).then(|| (if bits & SIGN == 0 { bits | SIGN } else { !bits }).to_be_bytes())
}

fn decode_f64(word: u64) -> f64 {
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

/// A bound among the keys of a table: just before or just after the records of `key`.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyBound<'a> {
    pub(super) key: &'a [u8],
    pub(super) behind: bool,
}

impl KeyBound<'_> {
    /// Whether a record with key `other` lies before this bound.
    pub(super) fn passes(&self, other: &super::block::SplitKey<'_>) -> bool {
        match other.compare(self.key) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => self.behind,
            std::cmp::Ordering::Greater => false,
        }
    }

    /// The least u64 key at or after the bound, in a table of numeric keys; `None` if there is none. A key of another
    /// width lies between two numbers, or on the prefix of a longer one.
    pub(super) fn key_as_u64(&self) -> Option<u64> {
        let mut word = [0; 8];
        let length = self.key.len().min(8);
        word[..length].copy_from_slice(&self.key[..length]);
        let x = u64::from_be_bytes(word);
        if self.key.len() > 8 || (self.key.len() == 8 && self.behind) { x.checked_add(1) } else { Some(x) }
    }
}

/// A key of a table of numeric keys as a u64.
pub(super) fn key_as_u64(key: &[u8]) -> u64 {
    key.try_into().map_or(0, u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_keep_the_order_and_print_what_was_parsed() {
        let cases: [(KeyType, &[&str]); 6] = [
            (KeyType::U64, &["0", "1", "255", "256", "18446744073709551615"]),
            (KeyType::U128, &["0", "18446744073709551616", "340282366920938463463374607431768211455"]),
            (KeyType::I64, &["-9223372036854775808", "-1", "0", "1", "9223372036854775807"]),
            (KeyType::F64, &["-inf", "-1.5", "-0", "0", "0.000001", "2", "inf"]),
            (KeyType::Text, &["", "a", "b", "c:\\x41", "ä"]),
            (KeyType::Bytes, &["", "\\x00", "a", "a\\\\b", "ä", "\\xff"]),
        ];
        for (kind, texts) in cases {
            let keys: Vec<_> = texts.iter().map(|text| kind.parse(text).unwrap()).collect();
            assert!(keys.is_sorted_by(|a, b| a < b), "{kind}: {keys:?}");
            for (text, key) in texts.iter().zip(&keys) {
                assert_eq!(kind.display(key), *text);
                assert_eq!(kind.to_string().parse::<KeyType>().unwrap(), kind);
            }
        }
        assert!(KeyType::F64.parse("NaN").is_err());
        assert!(KeyType::U64.parse("-1").is_err());
        for text in ["\\q", "\\x", "\\x4", "\\x4g", "\\x+4"] {
            assert!(KeyType::Bytes.parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_place_behind_the_largest_number_has_no_coordinate() {
        let top = u64::MAX.to_be_bytes();
        assert_eq!(KeyBound { key: &top, behind: false }.key_as_u64(), Some(u64::MAX));
        assert_eq!(KeyBound { key: &top, behind: true }.key_as_u64(), None);
        assert_eq!(KeyBound { key: &[1], behind: true }.key_as_u64(), Some(1 << 56));
        assert_eq!(KeyBound { key: &[0, 0, 0, 0, 0, 0, 0, 7, 9], behind: false }.key_as_u64(), Some(8));
    }
}
