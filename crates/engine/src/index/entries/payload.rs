//! Payload types of the public API.

use crate::types::KeyType;
use std::fmt::Debug;

/// A payload type; all payloads of an index have one size.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of payloads of an index",
    label = "an index cannot have payloads of type `{Self}`",
    note = "payloads of an index have one size: integers, byte arrays, and `Vec<u8>` of `IndexOptions::payload_bytes`"
)]
pub trait Payload: Debug + Sized + Send + 'static {
    /// Bytes of every payload; `None` if the index determines the size, as for `Vec<u8>`.
    const BYTES: Option<usize>;

    /// The type that the index states for its values; `None` for payloads without a type of their own, such as bytes.
    const TYPE: Option<KeyType> = None;

    /// Bytes of this payload.
    fn size_bytes(&self) -> usize {
        Self::BYTES.unwrap_or(0)
    }

    /// Writes the payload into `target`, which has [`Self::size_bytes`] bytes.
    fn store(&self, target: &mut [u8]);

    /// Reads a payload from all of `bytes`.
    fn load(bytes: &[u8]) -> Self;
}

/// No payload: the index is a set of keys.
impl Payload for () {
    const BYTES: Option<usize> = Some(0);

    fn store(&self, _target: &mut [u8]) {}

    fn load(_bytes: &[u8]) -> Self {}
}

macro_rules! integers {
    ($($type:ty, $key_type:ident;)*) => {$(
        /// Stored little-endian.
        impl Payload for $type {
            const BYTES: Option<usize> = Some(size_of::<$type>());
            const TYPE: Option<KeyType> = Some(KeyType::$key_type);

            fn store(&self, target: &mut [u8]) {
                if let Some(target) = target.first_chunk_mut() {
                    *target = self.to_le_bytes();
                }
            }

            fn load(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0, |bytes| Self::from_le_bytes(*bytes))
            }
        }
    )*};
}

integers! {
    u8, U8;
    u16, U16;
    u32, U32;
    u64, U64;
    u128, U128;
    i8, I8;
    i16, I16;
    i32, I32;
    i64, I64;
    i128, I128;
}

/// The bytes unchanged.
impl<const N: usize> Payload for [u8; N] {
    const BYTES: Option<usize> = Some(N);

    fn store(&self, target: &mut [u8]) {
        if let Some(target) = target.first_chunk_mut() {
            *target = *self;
        }
    }

    fn load(bytes: &[u8]) -> Self {
        bytes.first_chunk().copied().unwrap_or([0; N])
    }
}

/// Payloads of the size that the index has: for tools that open any index.
impl Payload for Vec<u8> {
    const BYTES: Option<usize> = None;

    fn size_bytes(&self) -> usize {
        self.len()
    }

    fn store(&self, target: &mut [u8]) {
        if target.len() == self.len() {
            target.copy_from_slice(self);
        }
    }

    fn load(bytes: &[u8]) -> Self {
        bytes.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_round_trip<V: Payload + PartialEq>(payload: V) {
        let mut bytes = vec![7; payload.size_bytes()];
        payload.store(&mut bytes);
        assert_eq!(V::load(&bytes), payload);
    }

    #[test]
    fn payloads_round_trip() {
        assert_round_trip(());
        assert_round_trip(9_u8);
        assert_round_trip(0x1234_u16);
        assert_round_trip(u32::MAX - 1);
        assert_round_trip(u64::MAX - 1);
        assert_round_trip(u128::MAX - 1);
        assert_round_trip(-5_i32);
        assert_round_trip(i64::MIN);
        assert_round_trip(*b"a payload of 24 bytes...");
        assert_round_trip(vec![1_u8, 2, 3]);
    }
}
