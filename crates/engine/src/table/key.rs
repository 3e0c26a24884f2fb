//! Key types: order-preserving encodings, and the key prefix as u64 that models work on.

use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// Longest key in bytes: 64 KiB.
pub const MAX_KEY_BYTES: usize = 64 << 10;

/// What the keys of a table are. It is stored in the table, so that keys print as they were given.
///
/// The engine compares keys bytewise whatever their type; [`KeyType::parse`] and [`KeyType::display`] turn text into
/// order-preserving bytes and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyType {
    /// Unsigned 64-bit integers as 8 big-endian bytes.
    U64,
    /// Unsigned 128-bit integers as 16 big-endian bytes.
    U128,
    /// Signed 64-bit integers: as `U64` with the sign bit flipped.
    I64,
    /// 64-bit floats: IEEE bits, all flipped where negative, else the sign bit alone. NaN is refused.
    F64,
    /// UTF-8 text.
    Text,
    /// Any bytes.
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

    /// Width in bytes of keys that all have the same.
    #[must_use]
    pub fn width(self) -> Option<usize> {
        match self {
            Self::U64 | Self::I64 | Self::F64 => Some(8),
            Self::U128 => Some(16),
            Self::Text | Self::Bytes => None,
        }
    }

    /// Whether a key is its own coordinate: fixed width of at most 8 bytes.
    #[must_use]
    pub fn is_numeric(self) -> bool {
        self.width() == Some(8)
    }

    /// The order-preserving bytes of a key written as text: a number in decimal; text as it is; bytes with `\xNN` and
    /// `\\` as escapes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the text is no key of this type.
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

    /// The text that [`Self::parse`] reads as `key`. Only text with control characters, and what is no key of this type, is
    /// shown with escapes that it does not read.
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
            Error::InvalidArgument(format!("{text:?} is no key type; there are {}", names.join(", ")))
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
            // `from_str_radix` would take a sign, too.
            let digits = rest.strip_prefix(b"x")?.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = &rest[3..];
        }
    }
    Some(bytes)
}

/// A place among the keys of a table: just before the records of `key`, or just behind them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe<'a> {
    pub(super) key: &'a [u8],
    pub(super) behind: bool,
}

impl Probe<'_> {
    /// Whether a record with key `other` lies before this place.
    pub(super) fn passes(&self, other: &super::block::Key<'_>) -> bool {
        match other.compare(self.key) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => self.behind,
            std::cmp::Ordering::Greater => false,
        }
    }

    /// The coordinate of the place in a table of numeric keys: the first that a record at or behind it can have. `None` where
    /// none can. A key of another width lies between two numbers, or on a longer one's prefix.
    pub(super) fn coordinate(&self) -> Option<u64> {
        let mut word = [0; 8];
        let length = self.key.len().min(8);
        word[..length].copy_from_slice(&self.key[..length]);
        let x = u64::from_be_bytes(word);
        if self.key.len() > 8 || (self.key.len() == 8 && self.behind) { x.checked_add(1) } else { Some(x) }
    }
}

/// The coordinate of a key in a table of numeric keys.
pub(super) fn coordinate(key: &[u8]) -> u64 {
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
        assert_eq!(Probe { key: &top, behind: false }.coordinate(), Some(u64::MAX));
        assert_eq!(Probe { key: &top, behind: true }.coordinate(), None);
        assert_eq!(Probe { key: &[1], behind: true }.coordinate(), Some(1 << 56));
        assert_eq!(Probe { key: &[0, 0, 0, 0, 0, 0, 0, 7, 9], behind: false }.coordinate(), Some(8));
    }
}
