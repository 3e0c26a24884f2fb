//! The type of a key: its name, its width and its code in files.

use super::tuple::{COMPONENTS_MAX, Component, NullTest, TupleType};
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// Width of the longest keys of [`KeyType::FixedBytes`].
const FIXED_BYTES_MAX: u8 = 255;

/// Most digits of a decimal: 38 fit 128 bits.
pub(super) const DECIMAL_DIGITS_MAX: u8 = 38;

/// The type of the keys of a table, an index, or an input of a join; and that of a component of a tuple.
///
/// Tables take keys of all types; indexes integers of 32 to 128 bits and bytes of a fixed width. The names of the
/// types, as shown and parsed, are `bool`, `u8` to `u128`, `i8` to `i128`, `f32`, `f64`, `text`, `bytes`, `bytes1` to
/// `bytes255`, `uuid`, `date`, `time(UNIT)` and `timestamp(UNIT)` with the units `s`, `ms`, `us` (if omitted) and `ns`,
/// `decimal(PRECISION,SCALE)`, and for tuples `(text, date desc, f64? asc nulls first)`; see [`TupleType`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyType {
    /// False before true: 1 byte.
    Bool,
    /// Unsigned 8-bit integers.
    U8,
    /// Unsigned 16-bit integers, big-endian.
    U16,
    /// Unsigned 32-bit integers as 4 big-endian bytes.
    U32,
    /// Unsigned 64-bit integers as 8 big-endian bytes.
    U64,
    /// Unsigned 128-bit integers as 16 big-endian bytes.
    U128,
    /// Signed 8-bit integers: as `U8` with the sign bit flipped.
    I8,
    /// Signed 16-bit integers: as `U16` with the sign bit flipped.
    I16,
    /// Signed 32-bit integers: as `U32` with the sign bit flipped.
    I32,
    /// Signed 64-bit integers: as `U64` with the sign bit flipped.
    I64,
    /// Signed 128-bit integers: as `U128` with the sign bit flipped.
    I128,
    /// 32-bit floats, ordered as [`Self::F64`].
    F32,
    /// 64-bit floats: IEEE bits, with all bits flipped if negative, else only the sign bit. As in SQL, -0 equals 0, and
    /// all NaNs are one value greater than infinity.
    F64,
    /// UTF-8 text, ordered by code points.
    Text,
    /// Bytes of any length.
    #[default]
    Bytes,
    /// Bytes of this length, from 1 to 255; in an index up to 16.
    FixedBytes(u8),
    /// UUIDs (RFC 9562) as 16 bytes.
    Uuid,
    /// Days since 1970-01-01 as a signed 32-bit integer.
    Date,
    /// Time of day: units since midnight in 8 bytes.
    Time(TimeUnit),
    /// Units since 1970-01-01 00:00 as a signed 64-bit integer, without leap seconds. The time zone is not stored.
    Timestamp(TimeUnit),
    /// Decimals of up to `precision` digits, `scale` of them after the point: signed integers of 4 bytes up to 9
    /// digits, 8 up to 18, else 16.
    Decimal {
        /// Digits in all, from 1 to 38.
        precision: u8,
        /// Digits after the point, at most the precision.
        scale: u8,
    },
    /// Several components, compared one after the other.
    Tuple(TupleType),
}

/// The unit of a time of day or a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// 1 s.
    Second,
    /// 10^-3 s.
    Millisecond,
    /// 10^-6 s.
    Microsecond,
    /// 10^-9 s.
    Nanosecond,
}

impl TimeUnit {
    /// All units with their names, by code.
    const ALL: [(Self, &'static str); 4] =
        [(Self::Second, "s"), (Self::Millisecond, "ms"), (Self::Microsecond, "us"), (Self::Nanosecond, "ns")];

    fn code(self) -> u16 {
        self as u16
    }

    fn from_code(code: u16) -> Option<Self> {
        Self::ALL.get(usize::from(code)).map(|&(unit, _)| unit)
    }

    fn name(self) -> &'static str {
        Self::ALL[usize::from(self.code())].1
    }

    /// Digits of a fraction of a second.
    pub(super) fn digits(self) -> usize {
        usize::from(self.code()) * 3
    }

    /// Units in a second.
    pub(super) fn per_second(self) -> i128 {
        10_i128.pow(self.digits() as u32)
    }
}

/// Names and codes in files of the types without a parameter. Codes stay; see `docs/format/types.md`.
const SIMPLE: [(KeyType, &str, u16); 17] = [
    (KeyType::U64, "u64", 1),
    (KeyType::U128, "u128", 2),
    (KeyType::I64, "i64", 3),
    (KeyType::F64, "f64", 4),
    (KeyType::Text, "text", 5),
    (KeyType::Bytes, "bytes", 6),
    (KeyType::U32, "u32", 7),
    (KeyType::I128, "i128", 8),
    (KeyType::Bool, "bool", 9),
    (KeyType::U8, "u8", 10),
    (KeyType::U16, "u16", 11),
    (KeyType::I8, "i8", 12),
    (KeyType::I16, "i16", 13),
    (KeyType::I32, "i32", 14),
    (KeyType::F32, "f32", 15),
    (KeyType::Uuid, "uuid", 16),
    (KeyType::Date, "date", 17),
];
/// Added to the code of the unit.
const TIME_CODE: u16 = 20;
const TIMESTAMP_CODE: u16 = 24;
/// Added to the width of keys of fixed width.
const FIXED_BYTES_CODE: u16 = 256;
/// Added to 64 times the precision plus the scale.
const DECIMAL_CODE: u16 = 4096;
/// Added to the number of components of a tuple, whose codes follow.
const TUPLE_CODE: u64 = 1 << 16;

impl KeyType {
    /// The test for nulls in keys of this type; `None` if there are none.
    pub(crate) fn null_test(self) -> Option<NullTest> {
        match self {
            Self::Tuple(tuple) => tuple.null_test(),
            _ => None,
        }
    }

    /// The type of keys of this type or with a null in any component: a tuple of one component if the type is none.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a type that is no component of a tuple.
    #[doc(hidden)]
    pub fn with_nulls(self) -> Result<Self> {
        let tuple = match self {
            Self::Tuple(tuple) => tuple,
            scalar => TupleType::new(&[Component::new(scalar)])?,
        };
        Ok(Self::Tuple(tuple.with_nulls()?))
    }

    /// The width in bytes of key types with a fixed width.
    #[must_use]
    pub fn width(self) -> Option<usize> {
        match self {
            Self::Bool | Self::U8 | Self::I8 => Some(1),
            Self::U16 | Self::I16 => Some(2),
            Self::U32 | Self::I32 | Self::F32 | Self::Date => Some(4),
            Self::U64 | Self::I64 | Self::F64 | Self::Time(_) | Self::Timestamp(_) => Some(8),
            Self::U128 | Self::I128 | Self::Uuid => Some(16),
            Self::Decimal { precision: 0..=9, .. } => Some(4),
            Self::Decimal { precision: 10..=18, .. } => Some(8),
            Self::Decimal { .. } => Some(16),
            Self::FixedBytes(width) => Some(usize::from(width)),
            Self::Text | Self::Bytes => None,
            Self::Tuple(tuple) => tuple.width(),
        }
    }

    /// Whether keys are 8 bytes long, so that models in tables take each as one big-endian `u64`.
    #[must_use]
    pub fn is_numeric(self) -> bool {
        self.width() == Some(8)
    }

    /// Rejects parameters out of bounds.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input).
    pub(crate) fn check(self) -> Result<()> {
        match self {
            Self::FixedBytes(width) if !(1..=FIXED_BYTES_MAX).contains(&width) => Err(Error::input(format!(
                "keys of fixed width have 1 to {FIXED_BYTES_MAX} bytes, not {width}; \
                 keys of type bytes have any length"
            ))),
            Self::Decimal { precision, scale }
                if !(1..=DECIMAL_DIGITS_MAX).contains(&precision) || scale > precision =>
            {
                Err(Error::input(format!(
                    "decimals have 1 to {DECIMAL_DIGITS_MAX} digits, not {precision}, and at most all of them after \
                     the point, not {scale}"
                )))
            }
            _ => Ok(()),
        }
    }

    /// The code in files of a type other than a tuple.
    pub(crate) fn code(self) -> u16 {
        match self {
            Self::Time(unit) => TIME_CODE + unit.code(),
            Self::Timestamp(unit) => TIMESTAMP_CODE + unit.code(),
            Self::FixedBytes(width) => FIXED_BYTES_CODE + u16::from(width),
            Self::Decimal { precision, scale } => DECIMAL_CODE + u16::from(precision) * 64 + u16::from(scale),
            _ => SIMPLE.iter().find(|&&(known, ..)| known == self).map_or(0, |&(.., code)| code),
        }
    }

    /// The type of a code; `None` for an unknown one.
    pub(crate) fn from_code(code: u16) -> Option<Self> {
        let simple = || SIMPLE.iter().find(|&&(.., known)| known == code).map(|&(key_type, ..)| key_type);
        let time = || code.checked_sub(TIME_CODE).and_then(TimeUnit::from_code).map(Self::Time);
        let timestamp = || code.checked_sub(TIMESTAMP_CODE).and_then(TimeUnit::from_code).map(Self::Timestamp);
        let fixed = || Some(Self::FixedBytes(u8::try_from(code.checked_sub(FIXED_BYTES_CODE)?).ok()?));
        let decimal = || {
            let code = code.checked_sub(DECIMAL_CODE)?;
            Some(Self::Decimal { precision: u8::try_from(code / 64).ok()?, scale: (code % 64) as u8 })
        };
        let found = simple().or_else(time).or_else(timestamp).or_else(fixed).or_else(decimal)?;
        found.check().is_ok().then_some(found)
    }

    /// The codes in files of any type: one, and for a tuple those of its components.
    pub(crate) fn codes(self) -> Vec<u64> {
        match self {
            Self::Tuple(tuple) => {
                let components = tuple.components();
                [TUPLE_CODE + components.len() as u64]
                    .into_iter()
                    .chain(components.map(|it| it.code().into()))
                    .collect()
            }
            _ => vec![self.code().into()],
        }
    }

    /// The type of codes, each taken from `next`; `None` for an unknown code.
    pub(crate) fn from_codes(mut next: impl FnMut() -> Option<u64>) -> Option<Self> {
        let first = next()?;
        let Some(count) = first.checked_sub(TUPLE_CODE) else { return Self::from_code(u16::try_from(first).ok()?) };
        let mut component = || Component::from_code(u16::try_from(next()?).ok()?);
        let count = usize::try_from(count).ok().filter(|&count| count <= COMPONENTS_MAX)?;
        let components = (0..count).map(|_| component()).collect::<Option<Vec<_>>>()?;
        TupleType::new(&components).ok().map(Self::Tuple)
    }

    /// A scalar type by its name.
    pub(super) fn scalar(name: &str) -> Option<Self> {
        // `parse` also takes signs and leading zeros.
        let number = |digits: &str| digits.parse::<u8>().ok().filter(|number| number.to_string() == digits);
        let argument = |function: &str| name.strip_prefix(function)?.strip_prefix('(')?.strip_suffix(')');
        let unit = |function: &str| {
            let unit = if name == function { Some("us") } else { argument(function) }?;
            TimeUnit::ALL.iter().find(|&&(_, known)| known == unit.trim()).map(|&(unit, _)| unit)
        };
        let decimal = || {
            let (precision, scale) = argument("decimal")?.split_once(',')?;
            Some(Self::Decimal { precision: number(precision.trim())?, scale: number(scale.trim())? })
        };
        let found = SIMPLE.iter().find(|&&(_, known, _)| known == name).map(|&(key_type, ..)| key_type);
        let found = found.or_else(|| Some(Self::FixedBytes(number(name.strip_prefix("bytes")?)?)));
        let found = found.or_else(|| unit("time").map(Self::Time)).or_else(|| unit("timestamp").map(Self::Timestamp));
        found.or_else(decimal).filter(|found| found.check().is_ok())
    }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FixedBytes(width) => write!(f, "bytes{width}"),
            Self::Time(unit) => write!(f, "time({})", unit.name()),
            Self::Timestamp(unit) => write!(f, "timestamp({})", unit.name()),
            Self::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            Self::Tuple(tuple) => tuple.fmt(f),
            _ => f.write_str(SIMPLE.iter().find(|(known, ..)| known == self).map_or("unknown", |&(_, name, _)| name)),
        }
    }
}

impl FromStr for KeyType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        if text.starts_with('(') {
            return TupleType::parse(text).map(Self::Tuple);
        }
        Self::scalar(text).ok_or_else(|| unknown(text))
    }
}

/// The error for a name that no type has.
pub(super) fn unknown(name: &str) -> Error {
    Error::input(format!(
        "unknown key type {name:?}; the key types are bool, u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, \
         f64, text, bytes, bytes1 to bytes{FIXED_BYTES_MAX}, uuid, date, time(UNIT), timestamp(UNIT) with s, ms, us \
         or ns, decimal(PRECISION,SCALE), and tuples such as (text, date desc)"
    ))
}
