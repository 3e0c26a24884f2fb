//! The scalars of Rust as keys, values, components and fields.

use super::data::{TypedData, TypedKey, TypedScalar, TypedValue, take_fixed, take_variable};
use crate::error::Result;
use crate::types::{
    KeyType, RecordType, ValueType, decode_f32, decode_f64, encode_f32, encode_f32_value, encode_f64, encode_f64_value,
};
use std::borrow::Cow;

/// Implements the traits for a type of fixed width that is read as itself.
///
/// `as_value`, if given, has the bytes of a value or a field where they are not those of a key.
macro_rules! fixed {
    (
        $type:ty, $width:expr, $key_type:expr, |$value:ident| $encode:expr, |$bytes:ident| $decode:expr
        $(, as_value: |$field:ident| $encode_field:expr)?
    ) => {
        impl $crate::typed::TypedData for $type {
            type Arg<'a> = $type;
            type Read<'a> = $type;
            type Bytes<'a> = [u8; $width];

            #[inline]
            fn encode($value: &$type) -> $crate::Result<[u8; $width]> {
                $encode
            }

            #[inline]
            fn decode(bytes: &[u8]) -> Option<$type> {
                let $bytes: [u8; $width] = bytes.try_into().ok()?;
                $decode
            }
        }

        impl $crate::typed::TypedScalar for $type {
            type Part<'a> = $type;

            #[inline]
            fn scalar_type() -> $crate::types::KeyType {
                $key_type
            }

            fn to_bytes(&self) -> $crate::Result<[u8; $width]> {
                <$type as $crate::typed::TypedData>::encode(self)
            }

            $(
                #[inline]
                fn to_field(&self) -> $crate::Result<[u8; $width]> {
                    <$type as $crate::typed::TypedScalar>::encode_scalar(self)
                }

                #[inline]
                fn encode_scalar($field: &$type) -> $crate::Result<[u8; $width]> {
                    $encode_field
                }
            )?

            #[inline]
            fn take(key: &mut &[u8], descending: bool) -> Option<$type> {
                let bytes = $crate::typed::take_fixed::<{ $width }>(key, descending)?;
                <$type as $crate::typed::TypedData>::decode(&bytes)
            }
        }
    };
}
#[cfg(any(feature = "chrono", feature = "jiff", feature = "uuid"))]
pub(super) use fixed;

macro_rules! integers {
    ($($unsigned:ident $signed:ident $unsigned_type:ident $signed_type:ident),+) => {$(
        fixed!($unsigned, size_of::<$unsigned>(), KeyType::$unsigned_type, |value| Ok(value.to_be_bytes()), |bytes| {
            Some($unsigned::from_be_bytes(bytes))
        });
        fixed!(
            $signed,
            size_of::<$signed>(),
            KeyType::$signed_type,
            |value| Ok((value ^ $signed::MIN).to_be_bytes()),
            |bytes| Some($signed::from_be_bytes(bytes) ^ $signed::MIN)
        );
    )+};
}
integers!(u8 i8 U8 I8, u16 i16 U16 I16, u32 i32 U32 I32, u64 i64 U64 I64, u128 i128 U128 I128);

fixed!(bool, 1, KeyType::Bool, |value| Ok([u8::from(*value)]), |bytes| match bytes {
    [0] => Some(false),
    [1] => Some(true),
    _ => None,
});
fixed!(f32, 4, KeyType::F32, |value| Ok(encode_f32(*value)), |bytes| Some(decode_f32(bytes)), as_value: |value| {
    Ok(encode_f32_value(*value))
});
fixed!(f64, 8, KeyType::F64, |value| Ok(encode_f64(*value)), |bytes| Some(decode_f64(bytes)), as_value: |value| {
    Ok(encode_f64_value(*value))
});

impl<const N: usize> TypedData for [u8; N] {
    type Arg<'a> = [u8; N];
    type Read<'a> = [u8; N];
    type Bytes<'a> = [u8; N];

    #[inline]
    fn encode(value: &[u8; N]) -> Result<[u8; N]> {
        Ok(*value)
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Option<[u8; N]> {
        bytes.try_into().ok()
    }
}

impl<const N: usize> TypedScalar for [u8; N] {
    type Part<'a> = [u8; N];

    fn scalar_type() -> KeyType {
        const { assert!(N > 0 && N < 256, "keys and values of fixed width have 1 to 255 bytes") };
        KeyType::FixedBytes(N as u8)
    }

    fn to_bytes(&self) -> Result<[u8; N]> {
        Ok(*self)
    }

    #[inline]
    fn take(key: &mut &[u8], descending: bool) -> Option<[u8; N]> {
        take_fixed(key, descending)
    }
}

fn text(bytes: Cow<'_, [u8]>) -> Option<Cow<'_, str>> {
    Some(match bytes {
        Cow::Borrowed(bytes) => Cow::Borrowed(std::str::from_utf8(bytes).ok()?),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8(bytes).ok()?),
    })
}

/// Implements the traits for a type of variable width: its plain form, what it is read as, and how.
macro_rules! variable {
    ($type:ty, $plain:ty, $key_type:ident, $read:ty, |$bytes:ident| $get:expr, $part:ty, |$cow:ident| $take:expr) => {
        impl TypedData for $type {
            type Arg<'a> = &'a $plain;
            type Read<'a> = $read;
            type Bytes<'a> = &'a [u8];

            #[inline]
            fn encode<'a>(value: &'a &$plain) -> Result<&'a [u8]> {
                Ok(<$plain as AsRef<[u8]>>::as_ref(value))
            }

            #[inline]
            fn decode($bytes: &[u8]) -> Option<Self::Read<'_>> {
                $get
            }
        }

        impl TypedScalar for $type {
            type Part<'a> = $part;

            #[inline]
            fn scalar_type() -> KeyType {
                KeyType::$key_type
            }

            fn to_bytes(&self) -> Result<&[u8]> {
                let plain: &$plain = self;
                Ok(plain.as_ref())
            }

            fn take<'a>(key: &mut &'a [u8], descending: bool) -> Option<Self::Part<'a>> {
                let $cow = take_variable(key, descending)?;
                $take
            }
        }
    };
}

variable!(str, str, Text, &'a str, |bytes| std::str::from_utf8(bytes).ok(), Cow<'a, str>, |bytes| text(bytes));
variable!(&'static str, str, Text, &'a str, |bytes| str::decode(bytes), Cow<'a, str>, |bytes| text(bytes));
variable!(String, str, Text, String, |bytes| Some(std::str::from_utf8(bytes).ok()?.to_owned()), String, |bytes| text(
    bytes
)
.map(Cow::into_owned));
variable!([u8], [u8], Bytes, &'a [u8], |bytes| Some(bytes), Cow<'a, [u8]>, |bytes| Some(bytes));
variable!(&'static [u8], [u8], Bytes, &'a [u8], |bytes| Some(bytes), Cow<'a, [u8]>, |bytes| Some(bytes));
variable!(Vec<u8>, [u8], Bytes, Vec<u8>, |bytes| Some(bytes.to_vec()), Vec<u8>, |bytes| Some(bytes.into_owned()));

impl TypedData for () {
    type Arg<'a> = ();
    type Read<'a> = ();
    type Bytes<'a> = [u8; 0];

    fn encode((): &()) -> Result<[u8; 0]> {
        Ok([])
    }

    fn decode(bytes: &[u8]) -> Option<()> {
        bytes.is_empty().then_some(())
    }
}

impl TypedValue for () {
    fn value_type() -> Result<ValueType> {
        Ok(ValueType::default())
    }

    fn record_type<K: TypedKey + ?Sized>() -> Result<RecordType> {
        Ok(RecordType::new(K::key_type()?, Self::value_type()?).keys_only())
    }
}
