//! Conversions of values from one type to another that holds them exactly, as an alteration of a keyspace needs them.
//!
//! Fields of variable width keep their type, so the heap of a row stays as it is, but for fields at its end that the
//! other type lacks. Only what is in front of the heap is written anew, and the longest value can be converted as a
//! stream.

use super::key_type::KeyType;
use super::record_type::RecordType;
use super::row::{Row, append_row_head};
use super::row_type::{Field, RowType};
use super::value::Value;
use super::value_type::ValueType;
use crate::error::{Error, Result};

/// Bits of the fraction of an `f32`, and of an `f64`.
const F32_FRACTION_BITS: u32 = 23;
const F64_FRACTION_BITS: u32 = 52;

/// The part of a value that follows its head unchanged: it begins at `at`, and has `bytes` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueRest {
    pub(crate) at: usize,
    pub(crate) bytes: usize,
}

impl KeyType {
    /// Whether values of this type hold all values of `older` exactly, with the same meaning: integers and times of day
    /// in a finer unit, decimals with no fewer digits on either side of the point, and `f64` for `f32`.
    ///
    /// ```
    /// use ogive::types::KeyType;
    ///
    /// let (amount, price): (KeyType, KeyType) = ("u32".parse()?, "decimal(8,2)".parse()?);
    /// assert!(KeyType::I64.holds(amount) && !KeyType::I32.holds(amount));
    /// assert!("decimal(10,4)".parse::<KeyType>()?.holds(price) && !"decimal(9,4)".parse::<KeyType>()?.holds(price));
    /// assert!(!"timestamp(ns)".parse::<KeyType>()?.holds("timestamp(s)".parse()?), "it ends in the year 2262");
    /// # Ok::<(), ogive::Error>(())
    /// ```
    #[must_use]
    pub fn holds(self, older: Self) -> bool {
        match (self, older) {
            (this, older) if this == older => true,
            (Self::F64, Self::F32) => true,
            (Self::Time(unit), Self::Time(older)) => unit.digits() > older.digits(),
            (Self::Decimal { precision, scale }, Self::Decimal { precision: digits, scale: behind }) => {
                scale >= behind && precision - scale >= digits - behind
            }
            (Self::Decimal { precision, scale }, older) => {
                older.is_integer()
                    && older.ends().is_some_and(|(min, max)| {
                        let most = 10_i128.pow((precision - scale).into()).unsigned_abs() - 1;
                        min.unsigned_abs() <= most && max <= most
                    })
            }
            (this, older) => match (this.ends(), older.ends()) {
                (Some((min, max)), Some((least, most))) => {
                    this.is_integer() && older.is_integer() && min <= least && max >= most
                }
                _ => false,
            },
        }
    }

    fn is_integer(self) -> bool {
        use KeyType::{I8, I16, I32, I64, I128, U8, U16, U32, U64, U128};
        matches!(self, U8 | U16 | U32 | U64 | U128 | I8 | I16 | I32 | I64 | I128)
    }

    /// The least and the greatest number.
    fn ends(self) -> Option<(i128, u128)> {
        match (self.unsigned_max(), self.signed_range()) {
            (Some(max), _) => Some((0, max)),
            (_, Some((min, max))) => Some((min, max.unsigned_abs())),
            _ => None,
        }
    }

    /// The power of ten by which a number of `older` is multiplied to be one of this type.
    fn factor_digits(self, older: Self) -> usize {
        match (self, older) {
            (Self::Decimal { scale, .. }, Self::Decimal { scale: before, .. }) => usize::from(scale - before),
            (Self::Decimal { scale, .. }, _) => scale.into(),
            (Self::Time(unit), Self::Time(before)) => unit.digits() - before.digits(),
            _ => 0,
        }
    }

    /// Appends a value of a type that this one [holds](Self::holds).
    fn append_converted(self, older: Self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if self == older {
            out.extend_from_slice(bytes);
            return Ok(());
        }
        let wrong = || Error::input(format!("{} bytes are no value of type {older}", bytes.len()));
        let value = match (older.decode_scalar(bytes).ok_or_else(wrong)?, self) {
            (Value::Float(float), _) => {
                Value::Float(if float.is_nan() { widened_nan(bytes).ok_or_else(wrong)? } else { float })
            }
            (number, _) => {
                let factor = 10_i128.pow(self.factor_digits(older) as u32);
                let signed = match number {
                    Value::Unsigned(number) => i128::try_from(number).ok(),
                    Value::Signed(number) => Some(number),
                    _ => None,
                };
                match (signed.and_then(|number| number.checked_mul(factor)), self.unsigned_max()) {
                    (Some(number), Some(_)) => Value::Unsigned(u128::try_from(number).map_err(|_| wrong())?),
                    (Some(number), None) => Value::Signed(number),
                    _ => return Err(wrong()),
                }
            }
        };
        self.append_value(&value, out)
    }
}

/// An `f32` that is a NaN as an `f64`, with its sign and its bits on every machine.
fn widened_nan(bytes: &[u8]) -> Option<f64> {
    let bits = u64::from(super::scalar::decode_f32(bytes.try_into().ok()?).to_bits());
    let sign = (bits >> 31) << 63;
    let fraction = (bits & ((1 << F32_FRACTION_BITS) - 1)) << (F64_FRACTION_BITS - F32_FRACTION_BITS);
    Some(f64::from_bits(sign | f64::INFINITY.to_bits() | fraction))
}

impl RowType {
    /// Whether rows of one of the two types can be shown as rows of the other, whatever their nulls: the fields that
    /// both have are of the same names and types, and the others may be null.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&Field, &Field)| one.name == other.name && one.key_type == other.key_type;
        let common = self.fields().len().min(other.fields().len());
        let further = self.fields()[common..].iter().chain(&other.fields()[common..]);
        self.fields().iter().zip(other.fields()).all(is_same) && further.into_iter().all(|field| field.nullable)
    }

    /// Appends the head of a row of `older` as one of this type.
    fn append_converted(&self, older: &Self, head: &[u8], out: &mut Vec<u8>) -> Result<ValueRest> {
        let row = Row::of_head(older, head)?;
        let mut ends = Vec::new();
        let mut nulls = vec![0; (self.before(self.fields().len()).nullable as usize).div_ceil(8)];
        let mut fixed = Vec::new();
        for (index, field) in self.fields().iter().enumerate() {
            let found = row.in_head(index)?;
            if found.is_null && !field.nullable {
                return Err(Error::input(format!("a row has a null in the field {field}, which has none")));
            }
            if field.nullable {
                let number = self.before(index).nullable as usize;
                nulls[number / 8] |= u8::from(found.is_null) << (number % 8);
            }
            match (field.key_type.width(), older.fields().get(index)) {
                (None, _) => ends.push(found.end),
                (Some(_), Some(before)) if !found.is_null => {
                    field.key_type.append_converted(before.key_type, found.fixed, &mut fixed)?;
                }
                (Some(width), _) => fixed.resize(fixed.len() + width, 0),
            }
        }
        let heap_bytes = ends.last().copied().unwrap_or(0);
        append_row_head(self.fields().len(), &nulls, &fixed, &ends, out)?;
        Ok(ValueRest { at: row.heap_at(), bytes: heap_bytes })
    }

    /// Most bytes in front of the heap of a row.
    fn head_bytes_max(&self) -> usize {
        let all = self.before(self.fields().len());
        let (nullable, variable) = (all.nullable as usize, all.variable as usize);
        super::row::header_bytes(self.fields().len()) + nullable.div_ceil(8) + all.fixed_bytes as usize + variable * 4
    }
}

impl ValueType {
    /// Whether values of one of the two types can be shown as values of the other, but for nulls that it has none for.
    #[doc(hidden)]
    #[must_use]
    pub fn is_alike(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Row(this), Self::Row(other)) => this.is_alike(other),
            _ => self == other,
        }
    }

    /// Most bytes of a value that [`Self::append_converted`] looks at.
    pub(crate) fn head_bytes_max(&self) -> usize {
        match self {
            Self::Row(row_type) => row_type.head_bytes_max(),
            Self::Scalar(key_type) => key_type.width().unwrap_or(0),
        }
    }

    /// Appends the head of a value of `older` as one of this type, and returns what follows it unchanged. `head` has at
    /// least the first [`Self::head_bytes_max`] bytes of the value, or all of it.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for bytes that are no value of `older`, and for a null where this type has
    /// none.
    pub(crate) fn append_converted(&self, older: &Self, head: &[u8], out: &mut Vec<u8>) -> Result<ValueRest> {
        match (self, older) {
            (Self::Row(this), Self::Row(older)) => this.append_converted(older, head, out),
            (Self::Scalar(this), Self::Scalar(older)) => {
                this.append_converted(*older, head, out)?;
                Ok(ValueRest { at: head.len(), bytes: 0 })
            }
            _ => Err(Error::input(format!("a value of type {older} is none of type {self}"))),
        }
    }

    /// A whole value of `older` as one of this type, behind `out`.
    ///
    /// # Errors
    /// As [`Self::append_converted`].
    pub(crate) fn append_whole(&self, older: &Self, value: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let rest = self.append_converted(older, value, out)?;
        let no_value = || Error::input(format!("a value of {} bytes is none of type {older}", value.len()));
        let found = rest.at.checked_add(rest.bytes).and_then(|end| value.get(rest.at..end));
        out.extend_from_slice(found.filter(|_| older.accepts(value)).ok_or_else(no_value)?);
        Ok(())
    }
}

impl RecordType {
    /// Whether who knows records by these types can go on where they are `other` now, or the other way round: as
    /// [`Self::extends`], but fields may be null in one of the two alone.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        let has_same_keys = self.keys == other.keys && !self.moves_key_columns(other);
        has_same_keys && self.is_keys_only() == other.is_keys_only() && self.values.is_alike(&other.values)
    }
}
