//! Native keys: the unsigned integers of 8 or 16 bytes that structures store and compare.

use std::fmt::{Debug, Display};
use std::hash::Hash;

/// A native key, `u64` or `u128`: public keys map to one of the two in order.
pub trait Word: Copy + Ord + Hash + Debug + Display + Default + Send + Sync + 'static {
    /// Stored bytes.
    const BYTES: usize;
    /// The least key.
    const MIN: Self;
    /// The greatest key.
    const MAX: Self;

    /// Reads a key from the first [`Self::BYTES`] bytes, little-endian; 0 if there are fewer.
    fn load(bytes: &[u8]) -> Self;

    /// Writes a key into the first [`Self::BYTES`] bytes, little-endian.
    fn store(self, bytes: &mut [u8]);

    /// The key as an integer.
    fn to_u128(self) -> u128;

    /// The key of an integer of at most [`Self::MAX`]; higher bits are truncated.
    fn from_u128(value: u128) -> Self;

    /// `self - low`, computed in integers, then as a float: the input of models. 0 if `low` is greater.
    fn distance(self, low: Self) -> f64;
}

macro_rules! word {
    ($type:ty, $bytes:literal) => {
        impl Word for $type {
            const BYTES: usize = $bytes;
            const MIN: Self = 0;
            const MAX: Self = Self::MAX;

            #[inline]
            fn load(bytes: &[u8]) -> Self {
                bytes.first_chunk::<$bytes>().map_or(0, |bytes| Self::from_le_bytes(*bytes))
            }

            #[inline]
            fn store(self, bytes: &mut [u8]) {
                if let Some(target) = bytes.first_chunk_mut::<$bytes>() {
                    *target = self.to_le_bytes();
                }
            }

            #[inline]
            fn to_u128(self) -> u128 {
                u128::from(self)
            }

            #[inline]
            fn from_u128(value: u128) -> Self {
                value as Self
            }

            #[inline]
            fn distance(self, low: Self) -> f64 {
                self.saturating_sub(low) as f64
            }
        }
    };
}

word!(u64, 8);
word!(u128, 16);
