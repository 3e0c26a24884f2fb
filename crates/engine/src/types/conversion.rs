//! Conversions of values from one type to another that holds them exactly, as an alteration of a keyspace needs them.
//!
//! Fields of variable width keep their type, so the heap of a row stays as it is, but for fields at its end that the
//! other type lacks. Only what is in front of the heap is written anew, and the longest value can be converted as a
//! stream.

use super::calendar::SECONDS_PER_DAY;
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
    /// Whether values of this type hold all values of `older` exactly, with the same meaning and in no fewer bytes:
    /// integers and decimals with no fewer digits on either side of the point, floats of integers that they hold
    /// exactly, times of day in a finer unit, and timestamps at the beginning of a day.
    ///
    /// ```
    /// use ogive::types::KeyType;
    ///
    /// let (amount, price): (KeyType, KeyType) = ("u32".parse()?, "decimal(8,2)".parse()?);
    /// assert!(KeyType::I64.holds(amount) && KeyType::F64.holds(amount) && !KeyType::I32.holds(amount));
    /// assert!("decimal(10,4)".parse::<KeyType>()?.holds(price) && !"decimal(9,4)".parse::<KeyType>()?.holds(price));
    /// assert!(!"timestamp(ns)".parse::<KeyType>()?.holds("timestamp(s)".parse()?), "it ends in the year 2262");
    /// # Ok::<(), ogive::Error>(())
    /// ```
    #[must_use]
    pub fn holds(self, older: Self) -> bool {
        let exact_max = match self {
            Self::F64 if older == Self::F32 => return true,
            Self::F64 => 1 << f64::MANTISSA_DIGITS,
            Self::F32 => 1 << f32::MANTISSA_DIGITS,
            _ => return self == older || self.has_room_for(older),
        };
        let is_whole = older.digits_behind_point() == Some(0);
        let are_exact = || older.ends().is_some_and(|(min, max)| min.unsigned_abs() <= exact_max && max <= exact_max);
        self == older || is_whole && are_exact()
    }

    /// Whether the numbers of another type, each multiplied by the same factor, are numbers of this type. A value of
    /// fewer bytes could be taken for one of the other type.
    fn has_room_for(self, older: Self) -> bool {
        let room = || {
            let factor = self.factor(older)?;
            let ((min, max), (least, most)) = (self.ends()?, older.ends()?);
            Some(min <= least.checked_mul(factor)? && max >= most.checked_mul(factor.unsigned_abs())?)
        };
        self.width() >= older.width() && room() == Some(true)
    }

    /// Digits behind the point of integers and decimals.
    fn digits_behind_point(self) -> Option<u8> {
        use KeyType::{I8, I16, I32, I64, I128, U8, U16, U32, U64, U128};
        match self {
            U8 | U16 | U32 | U64 | U128 | I8 | I16 | I32 | I64 | I128 => Some(0),
            Self::Decimal { scale, .. } => Some(scale),
            _ => None,
        }
    }

    /// The least and the greatest number.
    fn ends(self) -> Option<(i128, u128)> {
        match (self.unsigned_max(), self.signed_range()) {
            (Some(max), _) => Some((0, max)),
            (_, Some((min, max))) => Some((min, max.unsigned_abs())),
            _ => None,
        }
    }

    /// What a number of `older` is multiplied by to be one of this type; `None` if it means something else.
    fn factor(self, older: Self) -> Option<i128> {
        let digits = match (self, older) {
            (Self::Timestamp(unit), Self::Date) => return Some(SECONDS_PER_DAY * unit.per_second()),
            (Self::Time(unit), Self::Time(before)) => unit.digits().checked_sub(before.digits())?,
            _ => self.digits_behind_point()?.checked_sub(older.digits_behind_point()?)?.into(),
        };
        Some(10_i128.pow(digits as u32))
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
            (Value::Unsigned(number), Self::F32 | Self::F64) => Value::Float(number as f64),
            (Value::Signed(number), Self::F32 | Self::F64) => Value::Float(number as f64),
            (number, _) => {
                let signed = match number {
                    Value::Unsigned(number) => i128::try_from(number).ok(),
                    Value::Signed(number) => Some(number),
                    _ => None,
                };
                let product = signed.zip(self.factor(older)).and_then(|(number, factor)| number.checked_mul(factor));
                match (product, self.unsigned_max()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: &str = "u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 decimal(2,0) decimal(4,0) decimal(7,0) \
        decimal(8,0) decimal(9,0) decimal(10,0) decimal(15,0) decimal(16,0) decimal(18,0) decimal(20,0) decimal(38,0) \
        decimal(3,3) decimal(8,2) decimal(10,2) decimal(12,4) decimal(38,2) decimal(38,20) date timestamp(s) \
        timestamp(ms) timestamp(us) timestamp(ns) time(s) time(ms) time(us) time(ns) bool uuid text bytes bytes4";

    /// The number that a value means, in units of 10^-20, and of a nanosecond for times and 1970 for dates; `None` for
    /// other values and those out of reach.
    fn meaning(key_type: KeyType, value: &Value) -> Option<(u8, i128)> {
        let unit = |digits: usize| 10_i128.pow(9 - digits as u32);
        let (kind, factor) = match key_type {
            KeyType::Date => (1, SECONDS_PER_DAY * unit(0)),
            KeyType::Timestamp(of) => (1, unit(of.digits())),
            KeyType::Time(of) => (2, unit(of.digits())),
            KeyType::Decimal { scale, .. } => (0, 10_i128.pow(20 - u32::from(scale))),
            _ => (0, 10_i128.pow(20)),
        };
        let number = match value {
            Value::Unsigned(number) => i128::try_from(*number).ok()?,
            Value::Signed(number) => *number,
            Value::Float(number) => Some(*number as i128).filter(|whole| *whole as f64 == *number)?,
            _ => return None,
        };
        number.checked_mul(factor).map(|number| (kind, number))
    }

    /// Values of a type: its ends, their neighbours, small numbers and drawn ones.
    fn values(key_type: KeyType) -> Vec<Value> {
        let Some((min, max)) = key_type.ends() else { return Vec::new() };
        let mut state = 1_u64;
        let drawn = (0..40).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i128::from(state as i64 >> (state % 60))
        });
        let max = i128::try_from(max).unwrap_or(i128::MAX);
        let near = [min, min + 1, -2, -1, 0, 1, 2, 99, max - 1, max];
        let mut numbers: Vec<i128> = near.into_iter().chain(drawn).filter(|it| (min..=max).contains(it)).collect();
        numbers.sort_unstable();
        let is_unsigned = key_type.unsigned_max().is_some();
        numbers
            .into_iter()
            .map(|it| if is_unsigned { Value::Unsigned(it as u128) } else { Value::Signed(it) })
            .collect()
    }

    #[test]
    fn a_type_that_holds_another_has_each_of_its_values_in_their_order() {
        let types: Vec<KeyType> = TYPES.split_whitespace().map(|name| name.parse().unwrap()).collect();
        let mut allowed = 0;
        for (this, older) in types.iter().flat_map(|this| types.iter().map(move |older| (*this, *older))) {
            if !this.holds(older) || this == older {
                continue;
            }
            allowed += 1;
            assert!(this.width() >= older.width(), "{older} as {this}");
            let mut before = Vec::new();
            for value in values(older) {
                let (mut bytes, mut converted) = (Vec::new(), Vec::new());
                older.append_value(&value, &mut bytes).unwrap();
                this.append_converted(older, &bytes, &mut converted).unwrap();
                assert!(before <= converted, "{value:?} of {older} as {this} is out of order");
                let found = this.decode_scalar(&converted).unwrap();
                let (old, new) = (meaning(older, &value), meaning(this, &found));
                assert!(old.is_none() || old == new, "{value:?} of {older} is {found:?} of {this}");
                before = converted;
            }
        }
        assert!(allowed > 150, "{allowed}");
    }

    #[test]
    fn all_that_loses_nothing_is_allowed_and_nothing_else() {
        for (older, wider, others) in [
            ("u8", "u16 u32 u64 u128 i16 i32 i64 i128 f32 f64 decimal(4,0) decimal(8,2)", "i8 decimal(3,3) text date"),
            ("u32", "u64 i64 i128 f64 decimal(10,0) decimal(12,2)", "i32 f32 u16 decimal(9,0) timestamp(s)"),
            ("u64", "u128 i128 decimal(20,0) decimal(22,2)", "i64 f64 decimal(19,0)"),
            ("i32", "i64 i128 f64 decimal(10,0)", "u64 f32 date"),
            ("i64", "i128 decimal(19,0)", "u64 u128 f64 decimal(18,0) timestamp(s)"),
            ("u128", "", "i128 f64 decimal(38,0)"),
            ("decimal(7,0)", "i32 i64 f32 f64 decimal(9,2)", "u32 u64 decimal(7,1)"),
            ("decimal(4,0)", "i32 f32", "i16"),
            ("decimal(18,0)", "i64 i128 decimal(38,20)", "f64 u64"),
            ("decimal(15,0)", "f64 i64", "f32"),
            ("decimal(8,2)", "decimal(9,2) decimal(10,4) decimal(38,20)", "decimal(8,3) decimal(8,1) f64 i64"),
            ("f32", "f64", "decimal(38,20) i64"),
            ("date", "timestamp(s) timestamp(ms)", "timestamp(us) timestamp(ns) i32 i64 f64 text"),
            ("time(s)", "time(ms) time(us) time(ns)", "timestamp(s) u64"),
            ("timestamp(s)", "", "timestamp(ms) timestamp(us) timestamp(ns) i64 date"),
            ("text", "", "bytes u64"),
        ] {
            let older: KeyType = older.parse().unwrap();
            for (names, expected) in [(wider, true), (others, false)] {
                for name in names.split_whitespace() {
                    assert_eq!(name.parse::<KeyType>().unwrap().holds(older), expected, "{older} as {name}");
                }
            }
        }
    }
}
