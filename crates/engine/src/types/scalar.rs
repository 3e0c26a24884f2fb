//! Order-preserving bytes of values of one type.

use super::calendar::SECONDS_PER_DAY;
use super::key_type::KeyType;
use super::value::Value;
use crate::error::{Error, Result};

const SIGN: u64 = 1 << 63;
const SIGN_32: u32 = 1 << 31;

/// The order-preserving bytes of a signed integer.
#[must_use]
pub fn encode_i64(value: i64) -> [u8; 8] {
    (value as u64 ^ SIGN).to_be_bytes()
}

/// The order-preserving bytes of a float in a key. -0 becomes 0, and every NaN one that orders after infinity.
#[must_use]
pub fn encode_f64(value: f64) -> [u8; 8] {
    encode_f64_value(match value {
        0.0 => 0.0,
        value if value.is_nan() => f64::from_bits(f64::NAN.to_bits() & !SIGN),
        value => value,
    })
}

/// The bytes of a float in a value, which keeps all its bits; those of [`encode_f64`] unless it is -0 or NaN.
#[must_use]
pub(crate) fn encode_f64_value(value: f64) -> [u8; 8] {
    let bits = value.to_bits();
    (if bits & SIGN == 0 { bits | SIGN } else { !bits }).to_be_bytes()
}

pub(crate) fn encode_f32(value: f32) -> [u8; 4] {
    encode_f32_value(match value {
        0.0 => 0.0,
        value if value.is_nan() => f32::from_bits(f32::NAN.to_bits() & !SIGN_32),
        value => value,
    })
}

pub(crate) fn encode_f32_value(value: f32) -> [u8; 4] {
    let bits = value.to_bits();
    (if bits & SIGN_32 == 0 { bits | SIGN_32 } else { !bits }).to_be_bytes()
}

/// The float of the bytes of [`encode_f64`], or of those of a value.
#[must_use]
pub fn decode_f64(bytes: [u8; 8]) -> f64 {
    let word = u64::from_be_bytes(bytes);
    f64::from_bits(if word & SIGN == 0 { !word } else { word & !SIGN })
}

/// The float of the bytes of a key of type [`KeyType::F32`].
#[must_use]
pub fn decode_f32(bytes: [u8; 4]) -> f32 {
    let word = u32::from_be_bytes(bytes);
    f32::from_bits(if word & SIGN_32 == 0 { !word } else { word & !SIGN_32 })
}

impl KeyType {
    /// The key of a value.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if the value is not of this type.
    pub fn encode(self, value: &Value) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        match self {
            Self::Tuple(tuple) => tuple.append(value, &mut key)?,
            _ => self.append_scalar(value, &mut key)?,
        }
        Ok(key)
    }

    /// The bytes that all keys begin with whose first components are these: for a tuple any number of them, else none
    /// or one.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if a component is not of its type, or if there are too many.
    pub fn encode_prefix(self, components: &[Value]) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        match (self, components) {
            (Self::Tuple(tuple), _) => tuple.append_prefix(components, &mut key)?,
            (_, []) => {}
            (_, [value]) => self.append_scalar(value, &mut key)?,
            _ => return Err(Error::input(format!("keys of type {self} have one component"))),
        }
        Ok(key)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if no value of this type has these bytes.
    pub fn decode(self, key: &[u8]) -> Result<Value> {
        let value = match self {
            Self::Tuple(tuple) => tuple.decode(key),
            _ => self.decode_scalar(key),
        };
        value.ok_or_else(|| Error::input(format!("a key of {} bytes is not of type {self}", key.len())))
    }

    /// Appends the bytes of a value, or of a field of a row: those of a key, but for floats, which keep all their bits.
    pub(super) fn append_value(self, value: &Value, bytes: &mut Vec<u8>) -> Result<()> {
        match (self, value) {
            (Self::F64, Value::Float(float)) => bytes.extend_from_slice(&encode_f64_value(*float)),
            (Self::F32, Value::Float(float)) if float.is_nan() || f64::from(*float as f32) == *float => {
                bytes.extend_from_slice(&encode_f32_value(*float as f32));
            }
            _ => return self.append_scalar(value, bytes),
        }
        Ok(())
    }

    /// Appends the bytes of a value of a type other than a tuple.
    pub(super) fn append_scalar(self, value: &Value, key: &mut Vec<u8>) -> Result<()> {
        let is_of_type = match (self, value) {
            (Self::Bool, Value::Bool(value)) => {
                key.push(u8::from(*value));
                true
            }
            (Self::F32, Value::Float(value)) => {
                let narrow = *value as f32;
                key.extend_from_slice(&encode_f32(narrow));
                f64::from(narrow) == *value || value.is_nan()
            }
            (Self::F64, Value::Float(value)) => {
                key.extend_from_slice(&encode_f64(*value));
                true
            }
            (Self::Text, Value::Text(value)) => {
                key.extend_from_slice(value.as_bytes());
                true
            }
            (Self::Bytes, Value::Bytes(value)) => {
                key.extend_from_slice(value);
                true
            }
            (Self::FixedBytes(_) | Self::Uuid, Value::Bytes(value)) => {
                key.extend_from_slice(value);
                Some(value.len()) == self.width()
            }
            (_, Value::Unsigned(value)) => match self.unsigned_max() {
                Some(max) => {
                    key.extend_from_slice(&value.to_be_bytes()[16 - self.width().unwrap_or(16)..]);
                    *value <= max
                }
                None => false,
            },
            (_, Value::Signed(value)) => match self.signed_range() {
                Some((min, max)) => {
                    append_signed(*value, self.width().unwrap_or(16), key);
                    (min..=max).contains(value)
                }
                None => false,
            },
            _ => false,
        };
        if is_of_type { Ok(()) } else { Err(Error::input(format!("{value:?} is not of type {self}"))) }
    }

    /// The value of the bytes of a type other than a tuple; `None` if there is none.
    pub(super) fn decode_scalar(self, key: &[u8]) -> Option<Value> {
        if self.width().is_some_and(|width| width != key.len()) {
            return None;
        }
        Some(match self {
            Self::Bool => Value::Bool(match key {
                [0] => false,
                [1] => true,
                _ => return None,
            }),
            // A key that was written before -0 and NaN had one form each is shown as what it is.
            Self::F32 => Value::Float(decode_f32(key.try_into().ok()?).into()),
            Self::F64 => Value::Float(decode_f64(key.try_into().ok()?)),
            Self::Text => Value::Text(std::str::from_utf8(key).ok()?.to_owned()),
            Self::Bytes | Self::FixedBytes(_) | Self::Uuid => Value::Bytes(key.to_vec()),
            _ => {
                let mut wide = [0; 16];
                wide[16 - key.len()..].copy_from_slice(key);
                let number = u128::from_be_bytes(wide);
                match (self.unsigned_max(), self.signed_range()) {
                    (Some(max), _) => Value::Unsigned(Some(number).filter(|&number| number <= max)?),
                    (_, Some((min, max))) => {
                        let shift = 128 - key.len() * 8;
                        let value = ((number << shift) ^ (1 << 127)) as i128 >> shift;
                        Value::Signed(Some(value).filter(|value| (min..=max).contains(value))?)
                    }
                    _ => return None,
                }
            }
        })
    }

    /// Whether bytes are those of a value of a type other than a tuple.
    pub(super) fn has_value_of(self, bytes: &[u8]) -> bool {
        match self {
            Self::Text => std::str::from_utf8(bytes).is_ok(),
            Self::Bytes => true,
            Self::FixedBytes(_) | Self::Uuid => self.width() == Some(bytes.len()),
            // All bytes of this width are a value.
            Self::U8 | Self::U16 | Self::U32 | Self::U64 | Self::U128 => self.width() == Some(bytes.len()),
            Self::I8 | Self::I16 | Self::I32 | Self::I64 | Self::I128 => self.width() == Some(bytes.len()),
            Self::F32 | Self::F64 | Self::Date | Self::Timestamp(_) => self.width() == Some(bytes.len()),
            _ => self.decode_scalar(bytes).is_some(),
        }
    }

    /// The greatest value of a type of unsigned integers.
    pub(super) fn unsigned_max(self) -> Option<u128> {
        Some(match self {
            Self::U8 => u8::MAX.into(),
            Self::U16 => u16::MAX.into(),
            Self::U32 => u32::MAX.into(),
            Self::U64 => u64::MAX.into(),
            Self::U128 => u128::MAX,
            Self::Time(unit) => (SECONDS_PER_DAY * unit.per_second() - 1) as u128,
            _ => return None,
        })
    }

    /// The least and the greatest value of a type of signed integers.
    pub(super) fn signed_range(self) -> Option<(i128, i128)> {
        Some(match self {
            Self::I8 => (i8::MIN.into(), i8::MAX.into()),
            Self::I16 => (i16::MIN.into(), i16::MAX.into()),
            Self::I32 | Self::Date => (i32::MIN.into(), i32::MAX.into()),
            Self::I64 | Self::Timestamp(_) => (i64::MIN.into(), i64::MAX.into()),
            Self::I128 => (i128::MIN, i128::MAX),
            Self::Decimal { precision, .. } => {
                let end = 10_i128.checked_pow(precision.into())?;
                (1 - end, end - 1)
            }
            _ => return None,
        })
    }
}

/// Appends the low bytes of a signed integer, with the sign bit flipped.
fn append_signed(value: i128, width: usize, key: &mut Vec<u8>) {
    let at = key.len();
    key.extend_from_slice(&value.to_be_bytes()[16 - width..]);
    key[at] ^= 0x80;
}
