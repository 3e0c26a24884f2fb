//! Values: what a key stands for, independent of its encoding.

use std::fmt;

/// A value of a [`KeyType`](super::KeyType), or a row. Each type has one form of value:
///
/// | type | value |
/// |---|---|
/// | `bool` | [`Self::Bool`] |
/// | `u8` to `u128` | [`Self::Unsigned`] |
/// | `i8` to `i128` | [`Self::Signed`] |
/// | `f32`, `f64` | [`Self::Float`] |
/// | `text` | [`Self::Text`] |
/// | `bytes`, `bytesN`, `uuid` | [`Self::Bytes`] |
/// | `date` | [`Self::Signed`]: days since 1970-01-01 |
/// | `time(UNIT)` | [`Self::Unsigned`]: units since midnight |
/// | `timestamp(UNIT)` | [`Self::Signed`]: units since 1970-01-01 00:00 |
/// | `decimal(P,S)` | [`Self::Signed`]: units of 10^-S |
/// | tuples, and rows | [`Self::Tuple`] |
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// No value, of a component that may lack one.
    Null,
    /// A truth value.
    Bool(bool),
    /// An unsigned integer, or a time of day.
    Unsigned(u128),
    /// A signed integer, a date, a timestamp or a decimal.
    Signed(i128),
    /// A float.
    Float(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// The components of a tuple or the fields of a row, in order.
    Tuple(Vec<Self>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Unsigned(value.into())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Signed(value.into())
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Unsigned(value) => write!(f, "{value}"),
            Self::Signed(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(value) => write!(f, "{value:?}"),
            Self::Bytes(value) => write!(f, "b\"{}\"", value.escape_ascii()),
            Self::Tuple(values) => f.debug_list().entries(values).finish(),
        }
    }
}
