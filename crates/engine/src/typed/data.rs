//! Rust types as keys and values: their bytes, and how they are read back.

use crate::error::Result;
use crate::types::{KeyType, RecordType, ValueType};
use std::borrow::Cow;

/// A Rust type with a form in bytes.
///
/// Records are written from [`Self::Arg`] and read as [`Self::Read`], which borrows from the record where it can. Both
/// are the type itself for numbers and rows; for `str` they are `&str`, and for `String` `&str` and `String`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of typed data",
    label = "`{Self}` is neither a key nor a value",
    note = "keys are scalars and tuples of these; values are scalars, and structs that `ogive::row!` makes rows"
)]
pub trait TypedData: 'static {
    /// Records are written from this.
    type Arg<'a>;
    /// Records are read as this.
    type Read<'a>;
    /// The bytes: an array for a fixed width, a borrowed slice, or a vector.
    type Bytes<'a>: AsRef<[u8]>;

    /// The bytes of a value.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a value that has none, such as a leap second.
    fn encode<'a>(value: &'a Self::Arg<'_>) -> Result<Self::Bytes<'a>>;

    /// The value of bytes; `None` if no value has them.
    fn decode(bytes: &[u8]) -> Option<Self::Read<'_>>;
}

/// A Rust type for keys: a scalar, or a tuple of 2 to 6 components. Its bytes are those of [`KeyType::encode`].
///
/// | Rust | key type |
/// |---|---|
/// | `bool`, `u8` to `u128`, `i8` to `i128`, `f32`, `f64` | of the same name |
/// | `str`, `&str`, `String` | `text` |
/// | `[u8]`, `&[u8]`, `Vec<u8>` | `bytes` |
/// | `[u8; N]` | `bytesN` |
/// | `uuid::Uuid` (feature `uuid`) | `uuid` |
/// | `chrono::NaiveDate` (`chrono`), `jiff::civil::Date` (`jiff`) | `date` |
/// | `NaiveTime`, `civil::Time` | `time(us)` |
/// | `NaiveDateTime`, `DateTime<Utc>`, `civil::DateTime`, `Timestamp` | `timestamp(us)` |
/// | tuples of these; in them `Option<T>` and [`Desc<T>`](super::Desc) | tuples, nulls last; descending |
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of keys in a typed keyspace or table",
    label = "`{Self}` has no order-preserving bytes",
    note = "keys are integers, floats, `bool`, `str`, `[u8]`, dates, UUIDs, and tuples of these"
)]
pub trait TypedKey: TypedData {
    /// The type that keyspaces and tables state.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a type that no keys can have.
    fn key_type() -> Result<KeyType>;
}

/// A Rust type for values: a scalar, a row made by [`row!`](crate::row!), `()` for none, or `Postcard<T>` (feature
/// `postcard`) for what `serde` can serialise.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of values in a typed keyspace or table",
    label = "`{Self}` cannot be a value",
    note = "values are scalars, rows and `()`",
    note = "for several fields, as a tuple has them, make a struct a row by `ogive::row!`"
)]
pub trait TypedValue: TypedData {
    /// The type that keyspaces and tables state.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a type that no values can have.
    fn value_type() -> Result<ValueType>;

    /// The types of records with such values: keys alone for `()`.
    ///
    /// # Errors
    /// As [`Self::value_type`] and [`TypedKey::key_type`].
    fn record_type<K: TypedKey + ?Sized>() -> Result<RecordType> {
        Ok(RecordType::new(K::key_type()?, Self::value_type()?))
    }

    /// The bytes of a value: those of [`TypedData::encode`], but for floats, which keep all their bits.
    ///
    /// # Errors
    /// As [`TypedData::encode`].
    #[inline]
    fn encode_value<'a>(value: &'a Self::Arg<'_>) -> Result<Self::Bytes<'a>> {
        Self::encode(value)
    }
}

/// A Rust type of one component: for keys, values, components of tuples and fields of rows.
pub trait TypedScalar: TypedData {
    /// A component of a tuple is read as this. Text and bytes are copied only if they have zero bytes or are
    /// descending.
    type Part<'a>;

    /// The key type; not a tuple.
    fn scalar_type() -> KeyType;

    /// The bytes of this value.
    ///
    /// # Errors
    /// As [`TypedData::encode`].
    fn to_bytes(&self) -> Result<Self::Bytes<'_>>;

    /// The bytes of this value as a field of a row: those of [`Self::to_bytes`], but for floats.
    ///
    /// # Errors
    /// As [`TypedData::encode`].
    #[inline]
    fn to_field(&self) -> Result<Self::Bytes<'_>> {
        self.to_bytes()
    }

    /// As [`TypedValue::encode_value`].
    ///
    /// # Errors
    /// As [`TypedData::encode`].
    #[inline]
    fn encode_scalar<'a>(value: &'a Self::Arg<'_>) -> Result<Self::Bytes<'a>> {
        Self::encode(value)
    }

    /// The component at the start of `key`, which is advanced; `None` if there is none.
    fn take<'a>(key: &mut &'a [u8], descending: bool) -> Option<Self::Part<'a>>;
}

impl<T: TypedScalar + ?Sized> TypedKey for T {
    fn key_type() -> Result<KeyType> {
        Ok(T::scalar_type())
    }
}

impl<T: TypedScalar + ?Sized> TypedValue for T {
    fn value_type() -> Result<ValueType> {
        Ok(T::scalar_type().into())
    }

    #[inline]
    fn encode_value<'a>(value: &'a Self::Arg<'_>) -> Result<Self::Bytes<'a>> {
        T::encode_scalar(value)
    }
}

/// Takes a component of a fixed width off a key of a tuple.
#[inline]
pub(crate) fn take_fixed<const WIDTH: usize>(key: &mut &[u8], descending: bool) -> Option<[u8; WIDTH]> {
    let (taken, rest) = key.split_first_chunk::<WIDTH>()?;
    *key = rest;
    Some(if descending { taken.map(|byte| !byte) } else { *taken })
}

/// A zero byte within a component of variable width is followed by `ESCAPED`, the end of the component by `END`.
const ESCAPED: u8 = 0xff;
const END: u8 = 0;

/// Takes a component of a variable width off a key of a tuple.
#[must_use]
pub(crate) fn take_variable<'a>(key: &mut &'a [u8], descending: bool) -> Option<Cow<'a, [u8]>> {
    let flip = if descending { 0xff } else { 0 };
    let all = *key;
    let zero_from = |at: usize| Some(at + all.get(at..)?.iter().position(|&byte| byte == flip)?);
    let mut zero = zero_from(0)?;
    let mut escaped = Vec::new();
    let mut copied = 0;
    loop {
        match *all.get(zero + 1)? ^ flip {
            END => break,
            ESCAPED => {
                escaped.extend(all[copied..=zero].iter().map(|byte| byte ^ flip));
                copied = zero + 2;
                zero = zero_from(copied)?;
            }
            _ => return None,
        }
    }
    *key = &all[zero + 2..];
    if copied == 0 && !descending {
        return Some(Cow::Borrowed(&all[..zero]));
    }
    escaped.extend(all[copied..zero].iter().map(|byte| byte ^ flip));
    Some(Cow::Owned(escaped))
}

/// Appends a component to a key of a tuple.
pub(super) fn append_component(bytes: &[u8], fixed: bool, descending: bool, key: &mut Vec<u8>) {
    let at = key.len();
    if fixed {
        key.extend_from_slice(bytes);
    } else {
        for &byte in bytes {
            key.push(byte);
            if byte == 0 {
                key.push(ESCAPED);
            }
        }
        key.extend_from_slice(&[0, END]);
    }
    if descending {
        key[at..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}
