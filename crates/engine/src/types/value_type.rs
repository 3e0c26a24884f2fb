//! The type of the values of a table, an index or a keyspace.

use super::escape::escape;
use super::key_type::KeyType;
use super::row::{Row, RowBuilder};
use super::row_type::{Field, RowType};
use super::value::Value;
use crate::block::varint::{put_varint, take_varint};
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// The type of values: a scalar, by default bytes, or a row.
///
/// Unlike keys, values are not compared, but a scalar has the same bytes as a key of its type, except that floats keep
/// all their bits. Shown and parsed as the name of a scalar type, or as a row such as `{name: text, price:
/// decimal(8,2)?}`.
///
/// ```
/// use ogive::types::{Value, ValueType};
///
/// let fruit: ValueType = "{name: text, price: decimal(8,2)?}".parse()?;
/// let fig = fruit.parse("fig,0.25")?;
/// assert_eq!(fruit.row(&fig)?.get("price")?, Value::Signed(25));
///
/// // A field that is added at the end is null in rows that were written before.
/// let later: ValueType = "{name: text, price: decimal(8,2)?, origin: text?}".parse()?;
/// assert!(later.extends(&fruit));
/// assert_eq!(later.display(&fig), "fig,0.25,");
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// One value of a scalar type, not a tuple.
    Scalar(KeyType),
    /// Named fields.
    Row(RowType),
}

impl Default for ValueType {
    fn default() -> Self {
        Self::Scalar(KeyType::Bytes)
    }
}

impl ValueType {
    /// The width in bytes of values of a fixed width.
    #[must_use]
    pub fn width(&self) -> Option<usize> {
        match self {
            Self::Scalar(key_type) => key_type.width(),
            Self::Row(row_type) => row_type.width(),
        }
    }

    /// Whether values are bytes without a structure.
    #[must_use]
    pub fn is_bytes(&self) -> bool {
        *self == Self::default()
    }

    /// The fields of rows; none for scalars.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        match self {
            Self::Scalar(_) => &[],
            Self::Row(row_type) => row_type.fields(),
        }
    }

    /// Whether values of `older` are values of this type.
    #[must_use]
    pub fn extends(&self, older: &Self) -> bool {
        match (self, older) {
            (Self::Row(this), Self::Row(older)) => this.extends(older),
            _ => self == older,
        }
    }

    /// The bytes of a value; of a row, [`Value::Tuple`] with a value for each field.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if the value is not of this type.
    pub fn encode(&self, value: &Value) -> Result<Vec<u8>> {
        match (self, value) {
            (Self::Scalar(KeyType::Tuple(_)), _) => Err(Error::input(format!("{value:?} is not of type {self}"))),
            // Not as a key, in which floats do not keep all their bits.
            (Self::Scalar(key_type), _) => {
                let mut bytes = Vec::new();
                key_type.append_value(value, &mut bytes)?;
                Ok(bytes)
            }
            (Self::Row(row_type), Value::Tuple(values)) => {
                let mut builder = RowBuilder::new(row_type.clone());
                values.iter().try_for_each(|value| builder.push(value))?;
                let mut bytes = Vec::new();
                builder.finish(&mut bytes)?;
                Ok(bytes)
            }
            _ => Err(Error::input(format!("{value:?} is not a row of type {self}"))),
        }
    }

    /// The value of bytes.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if no value of this type has these bytes.
    pub fn decode(&self, bytes: &[u8]) -> Result<Value> {
        match self {
            Self::Scalar(key_type) => key_type.decode(bytes),
            Self::Row(_) => self.row(bytes)?.values().map(Value::Tuple),
        }
    }

    /// The bytes by which two values of this type are compared: equal for a row written before fields were added and
    /// the same row with nulls in them, and for all NaNs. `None` if no value of this type has these bytes.
    #[must_use]
    pub fn comparable(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Scalar(key_type) => comparable_scalar(*key_type, bytes).map(Cow::into_owned),
            Self::Row(row_type) => {
                let (row, mut builder) = (Row::find(row_type, bytes)?, RowBuilder::new(row_type.clone()));
                for (index, field) in row_type.fields().iter().enumerate() {
                    let found = row.field(index).ok()?;
                    let found = found.map(|bytes| comparable_scalar(field.key_type, bytes));
                    builder.push_bytes(found.map_or(Some(None), |bytes| bytes.map(Some))?.as_deref()).ok()?;
                }
                let mut comparable = Vec::new();
                builder.finish(&mut comparable).ok()?;
                Some(comparable)
            }
        }
    }

    /// The row of these bytes.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if they are not those of a row of this type, or if values are scalars.
    pub fn row<'a>(&'a self, bytes: &'a [u8]) -> Result<Row<'a>> {
        match self {
            Self::Row(row_type) => Row::new(row_type, bytes),
            Self::Scalar(key_type) => {
                Err(Error::input(format!("the values are of type {key_type}; they have no fields")))
            }
        }
    }

    /// Converts text to a value: for scalars as [`KeyType::parse`], and a row as a record of CSV, whose empty fields
    /// are nulls.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if the text is not a value of this type.
    pub fn parse(&self, text: &str) -> Result<Vec<u8>> {
        let value = match self {
            Self::Scalar(key_type) => key_type.parse_value(text),
            Self::Row(row_type) => row_type.parse_value(text),
        };
        let bytes = value.and_then(|value| self.encode(&value).ok());
        bytes.ok_or_else(|| Error::input(format!("{text:?} is not a value of type {self}")))
    }

    /// Converts a value to text that [`Self::parse`] reads as this value. A value that is not of this type is shown as
    /// bytes.
    #[must_use]
    pub fn display(&self, bytes: &[u8]) -> String {
        match self {
            Self::Scalar(key_type) => key_type.display(bytes),
            Self::Row(row_type) => {
                let values = Row::find(row_type, bytes).and_then(|row| row.values().ok());
                values.and_then(|values| row_type.display_value(&values)).unwrap_or_else(|| escape(bytes))
            }
        }
    }

    /// Whether bytes may be a value of this type. Of a row, only its length is checked.
    pub(crate) fn accepts(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Scalar(key_type) => key_type.has_value_of(bytes),
            Self::Row(row_type) => Row::find(row_type, bytes).is_some(),
        }
    }

    /// The code in files: 0 and the code of a scalar, or that of a row.
    pub(crate) fn code(&self) -> Vec<u8> {
        let mut code = Vec::new();
        match self {
            Self::Scalar(key_type) => {
                put_varint(&mut code, 0);
                put_varint(&mut code, key_type.code().into());
            }
            Self::Row(row_type) => row_type.append_code(&mut code),
        }
        code
    }

    /// The type of a code; `None` for an unknown one.
    pub(crate) fn from_code(code: &[u8]) -> Option<Self> {
        let mut at = 0;
        let found = match take_varint(code, &mut at)? {
            0 => Self::Scalar(KeyType::from_code(u16::try_from(take_varint(code, &mut at)?).ok()?)?),
            count => Self::Row(RowType::take_code(count, code, &mut at)?),
        };
        (at == code.len()).then_some(found)
    }

    /// Rejects scalars that are tuples, and parameters out of bounds.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input).
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Scalar(KeyType::Tuple(_)) => Err(Error::input("values cannot be tuples; rows have several fields")),
            Self::Scalar(key_type) => key_type.check(),
            Self::Row(_) => Ok(()),
        }
    }
}

impl From<KeyType> for ValueType {
    fn from(key_type: KeyType) -> Self {
        Self::Scalar(key_type)
    }
}

impl From<RowType> for ValueType {
    fn from(row_type: RowType) -> Self {
        Self::Row(row_type)
    }
}

/// The bytes of a scalar, with one form of NaN; `None` if they are no scalar of the type.
fn comparable_scalar(key_type: KeyType, bytes: &[u8]) -> Option<Cow<'_, [u8]>> {
    let nan = match key_type.decode_scalar(bytes)? {
        Value::Float(float) if float.is_nan() => f64::NAN,
        _ => return Some(Cow::Borrowed(bytes)),
    };
    key_type.encode(&Value::Float(nan)).ok().map(Cow::Owned)
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(key_type) => key_type.fmt(f),
            Self::Row(row_type) => row_type.fmt(f),
        }
    }
}

impl FromStr for ValueType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let found = match text.starts_with('{') {
            true => Self::Row(RowType::parse(text)?),
            false => Self::Scalar(text.parse()?),
        };
        found.check()?;
        Ok(found)
    }
}
