//! Payloads as callers have them.

use std::fmt::Debug;

/// A type of payloads, all of one size within an index.
pub trait Payload: Debug + Sized + Send + 'static {
    /// Bytes of every payload; `None` where the index says how many, as for `Vec<u8>`.
    const BYTES: Option<usize>;

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
    ($($type:ty)*) => {$(
        /// Stored little-endian.
        impl Payload for $type {
            const BYTES: Option<usize> = Some(size_of::<$type>());

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

integers!(u8 u16 u32 u64 u128 i32 i64);

/// The bytes as they are.
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

/// As many bytes as the payloads of the index have: for tools that open any index.
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

    fn comes_back<V: Payload + PartialEq>(payload: V) {
        let mut bytes = vec![7; payload.size_bytes()];
        payload.store(&mut bytes);
        assert_eq!(V::load(&bytes), payload);
    }

    #[test]
    fn a_payload_comes_back_as_it_was_stored() {
        comes_back(());
        comes_back(9_u8);
        comes_back(0x1234_u16);
        comes_back(u32::MAX - 1);
        comes_back(u64::MAX - 1);
        comes_back(u128::MAX - 1);
        comes_back(-5_i32);
        comes_back(i64::MIN);
        comes_back(*b"a payload of 24 bytes...");
        comes_back(vec![1_u8, 2, 3]);
    }
}
