//! Values as payloads: values have a type, and may vary in length; the payloads of an index have one size.

use crate::error::{Error, Result};
use crate::types::{KeyType, ValueType};
use std::borrow::Cow;

/// Bytes of the length in front of a value of variable width, little-endian.
pub(in crate::index) const LENGTH_BYTES: usize = 2;

/// The form of values in payloads. Layout: `docs/format/index.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueForm {
    /// The payload is the value: bytes without a type, or a value of a fixed width.
    Plain,
    /// An integer in little-endian two's complement, as [`Payload`](crate::index::Payload) stores it.
    Integer {
        /// Whether it has a sign.
        signed: bool,
    },
    /// The length, the value, and zeros.
    Counted,
}

impl ValueForm {
    /// The form of values of this type.
    pub(crate) fn of(values: &ValueType) -> Self {
        use KeyType as T;
        match values {
            ValueType::Scalar(T::U8 | T::U16 | T::U32 | T::U64 | T::U128) => Self::Integer { signed: false },
            ValueType::Scalar(T::I8 | T::I16 | T::I32 | T::I64 | T::I128) => Self::Integer { signed: true },
            values if values.is_bytes() || values.width().is_some() => Self::Plain,
            _ => Self::Counted,
        }
    }

    /// Whether payloads of this size hold values of this type.
    pub(in crate::index) fn fits(self, values: &ValueType, payload_bytes: usize) -> bool {
        match values.width() {
            Some(width) => width == payload_bytes,
            None => {
                self == Self::Plain || (LENGTH_BYTES..=LENGTH_BYTES + usize::from(u16::MAX)).contains(&payload_bytes)
            }
        }
    }

    /// Bytes of every value, if they have one width, for payloads of this size.
    pub(crate) fn width(self, payload_bytes: usize) -> Option<usize> {
        (self != Self::Counted).then_some(payload_bytes)
    }

    /// The payload of a value.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a value that does not fit.
    pub(in crate::index) fn payload(self, value: &[u8], payload_bytes: usize) -> Result<Vec<u8>> {
        let mut payload = match self {
            Self::Plain => value.to_vec(),
            Self::Integer { signed } => {
                let mut payload = value.to_vec();
                flip_sign(&mut payload, signed);
                payload.reverse();
                payload
            }
            Self::Counted => [&(value.len() as u16).to_le_bytes()[..], value].concat(),
        };
        let (fits, most) = match self.width(payload_bytes) {
            Some(width) => (payload.len() == width, width),
            None => (payload.len() <= payload_bytes, payload_bytes - LENGTH_BYTES),
        };
        if !fits {
            let of = if self == Self::Counted { "at most " } else { "" };
            let detail =
                format!("a value of {} bytes does not fit an index of values of {of}{most} bytes", value.len());
            return Err(Error::input(detail));
        }
        payload.resize(payload_bytes, 0);
        Ok(payload)
    }

    /// The bytes of the value of a payload; `None` if it holds none. They may still be none of the type.
    pub(in crate::index) fn value(self, payload: &[u8]) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Integer { .. } => {
                let mut value = payload.to_vec();
                self.value_in_place(&mut value)?;
                Some(value.into())
            }
            Self::Plain | Self::Counted => self.part(payload).map(Cow::Borrowed),
        }
    }

    /// As [`Self::value`], in the buffer of the payload, so that rows of joins allocate nothing.
    pub(crate) fn value_in_place(self, payload: &mut [u8]) -> Option<&[u8]> {
        if let Self::Integer { signed } = self {
            payload.reverse();
            flip_sign(payload, signed);
        }
        self.part(payload)
    }

    /// The part of a payload that is the value.
    fn part(self, payload: &[u8]) -> Option<&[u8]> {
        if self != Self::Counted {
            return Some(payload);
        }
        let (length, rest) = payload.split_first_chunk::<LENGTH_BYTES>()?;
        let (value, zeros) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        zeros.iter().all(|&byte| byte == 0).then_some(value)
    }
}

/// Flips the sign bit of a big-endian integer, if it has one.
fn flip_sign(bytes: &mut [u8], signed: bool) {
    if let Some(first) = bytes.first_mut().filter(|_| signed) {
        *first ^= 0x80;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Payload;

    fn is_stored<V: Payload>(value: V, bytes: &[u8]) {
        let values = ValueType::Scalar(V::TYPE.unwrap());
        let form = ValueForm::of(&values);
        let mut payload = vec![0; value.size_bytes()];
        value.store(&mut payload);
        assert!(form.fits(&values, payload.len()) && !form.fits(&values, payload.len() + 1));
        assert_eq!(form.payload(bytes, payload.len()).unwrap(), payload);
        assert_eq!(&form.value(&payload).unwrap()[..], bytes);
        assert!(form.payload(&bytes[1..], payload.len()).is_err());
    }

    #[test]
    fn integers_of_rust_have_the_bytes_of_their_type() {
        let encode = |key_type: KeyType, text: &str| key_type.parse(text).unwrap();
        is_stored(7_u8, &[7]);
        is_stored(0x1234_u16, &[0x12, 0x34]);
        is_stored(u128::MAX - 1, &encode(KeyType::U128, &(u128::MAX - 1).to_string()));
        for number in [i64::MIN, -2, -1, 0, 1, 258, i64::MAX] {
            is_stored(number, &encode(KeyType::I64, &number.to_string()));
        }
        is_stored(-5_i32, &encode(KeyType::I32, "-5"));
    }

    #[test]
    fn values_of_variable_width_come_back_whole() {
        let values: ValueType = "{a: text, b: bytes?}".parse().unwrap();
        let form = ValueForm::of(&values);
        assert_eq!(form, ValueForm::Counted);
        assert!(form.fits(&values, 2) && !form.fits(&values, 1) && !form.fits(&values, 65_538));
        for value in [&b""[..], b"a", b"a\0", b"0123456789"] {
            let payload = form.payload(value, 12).unwrap();
            assert_eq!(payload.len(), 12);
            assert_eq!(form.value(&payload).unwrap(), value);
        }
        assert!(form.payload(b"0123456789a", 12).unwrap_err().to_string().contains("at most 10 bytes"));
        for damaged in [&b""[..], b"\x01", b"\x01\0", b"\xff\xff\0", b"\x01\0ab"] {
            assert_eq!(form.value(damaged), None, "{damaged:?}");
        }
    }

    #[test]
    fn bytes_and_values_of_fixed_width_are_their_payloads() {
        for (values, payload_bytes) in [("bytes", 5), ("date", 4), ("{a: u8, b: u8?}", 4)] {
            let values: ValueType = values.parse().unwrap();
            let form = ValueForm::of(&values);
            assert_eq!(form, ValueForm::Plain);
            assert!(form.fits(&values, payload_bytes));
            assert_eq!(form.payload(&vec![1; payload_bytes], payload_bytes).unwrap(), vec![1; payload_bytes]);
            assert!(form.payload(&[1], payload_bytes).is_err());
        }
    }
}
