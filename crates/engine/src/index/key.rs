//! Keys of indexes: their order-preserving conversion to native keys, and the codes of their types in the file.

use super::word::Word;
use crate::error::{Error, Result};
use crate::key_type::KeyType;
use std::fmt::Debug;

/// Bytes of the longest key.
const KEY_BYTES_MAX: u8 = 16;
/// Bytes of the longest key whose word has 8 bytes.
const SHORT_KEY_BYTES_MAX: usize = 8;

/// A type of keys of one width: integers and byte arrays of up to 16 bytes.
///
/// An index stores each key as a native key, a [`Word`] of 8 or 16 bytes, in the same order: signed integers have their
/// sign bit flipped, and byte arrays are read as big-endian numbers. Byte strings of varying length can be keys of a
/// [`Table`](crate::table::Table), not of an index.
pub trait Key: Copy + Ord + Debug + Send + Sync + 'static {
    /// The native key type.
    type Word: Word;
    /// The key type stored in the file; `None` if any type with the same word is accepted, as for [`Raw`].
    const TYPE: Option<KeyType>;

    /// The word of this key.
    fn to_word(self) -> Self::Word;

    /// The key of a word from [`Self::to_word`].
    fn from_word(word: Self::Word) -> Self;
}

/// Bytes of the [`Word`] of a key of a type that an index takes: 8 or 16.
pub(super) fn word_bytes(key_type: KeyType) -> usize {
    if key_type.width().is_some_and(|width| width <= SHORT_KEY_BYTES_MAX) { u64::BYTES } else { u128::BYTES }
}

/// The code in the file header: family and number of bytes.
///
/// # Errors
/// [`Error::InvalidArgument`] for a type that an index cannot have.
pub(super) fn code(key_type: KeyType) -> Result<[u8; 2]> {
    match key_type {
        KeyType::U32 => Ok([1, 4]),
        KeyType::U64 => Ok([1, 8]),
        KeyType::U128 => Ok([1, 16]),
        KeyType::I64 => Ok([2, 8]),
        KeyType::I128 => Ok([2, 16]),
        KeyType::FixedBytes(count @ 1..=KEY_BYTES_MAX) => Ok([3, count]),
        _ => Err(Error::InvalidArgument(format!(
            "the keys of an index cannot be of type {key_type}; \
             they are u32, u64, u128, i64, i128, or bytes1 to bytes16"
        ))),
    }
}

/// The type of a code; `None` for an unknown code.
pub(super) fn from_code(code: [u8; 2]) -> Option<KeyType> {
    match code {
        [1, 4] => Some(KeyType::U32),
        [1, 8] => Some(KeyType::U64),
        [1, 16] => Some(KeyType::U128),
        [2, 8] => Some(KeyType::I64),
        [2, 16] => Some(KeyType::I128),
        [3, count @ 1..=KEY_BYTES_MAX] => Some(KeyType::FixedBytes(count)),
        _ => None,
    }
}

/// A key as its word, whatever its type: for tools that open any index. A `Raw<u64>` stands for keys of up to 8 bytes,
/// a `Raw<u128>` for longer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Raw<W>(pub W);

impl<W: Word> Key for Raw<W> {
    type Word = W;
    const TYPE: Option<KeyType> = None;

    fn to_word(self) -> W {
        self.0
    }

    fn from_word(word: W) -> Self {
        Self(word)
    }
}

macro_rules! unsigned {
    ($($key:ty, $word:ty, $type:expr;)*) => {$(
        impl Key for $key {
            type Word = $word;
            const TYPE: Option<KeyType> = Some($type);

            fn to_word(self) -> $word {
                <$word>::from(self)
            }

            fn from_word(word: $word) -> Self {
                word as Self
            }
        }
    )*};
}

unsigned! {
    u32, u64, KeyType::U32;
    u64, u64, KeyType::U64;
    u128, u128, KeyType::U128;
}

macro_rules! signed {
    ($($key:ty, $word:ty, $type:expr;)*) => {$(
        impl Key for $key {
            type Word = $word;
            const TYPE: Option<KeyType> = Some($type);

            fn to_word(self) -> $word {
                self.cast_unsigned() ^ (1 << (<$word>::BITS - 1))
            }

            fn from_word(word: $word) -> Self {
                (word ^ (1 << (<$word>::BITS - 1))).cast_signed()
            }
        }
    )*};
}

signed! {
    i64, u64, KeyType::I64;
    i128, u128, KeyType::I128;
}

macro_rules! bytes {
    ($word:ty: $($count:literal)*) => {$(
        impl Key for [u8; $count] {
            type Word = $word;
            const TYPE: Option<KeyType> = Some(KeyType::FixedBytes($count));

            fn to_word(self) -> $word {
                let mut padded = [0; <$word>::BYTES];
                padded[<$word>::BYTES - $count..].copy_from_slice(&self);
                <$word>::from_be_bytes(padded)
            }

            fn from_word(word: $word) -> Self {
                let mut key = [0; $count];
                key.copy_from_slice(&word.to_be_bytes()[<$word>::BYTES - $count..]);
                key
            }
        }
    )*};
}

bytes!(u64: 1 2 3 4 5 6 7 8);
bytes!(u128: 9 10 11 12 13 14 15 16);

#[cfg(test)]
mod tests {
    use super::*;

    fn words_order_as_keys_do<K: Key>(mut keys: Vec<K>) {
        keys.sort_unstable();
        let words: Vec<K::Word> = keys.iter().map(|key| key.to_word()).collect();
        assert!(words.is_sorted(), "{keys:?}");
        let back: Vec<K> = words.into_iter().map(K::from_word).collect();
        assert_eq!(back, keys);
    }

    #[test]
    fn words_have_the_order_of_keys_and_round_trip() {
        words_order_as_keys_do(vec![0_u32, 1, 1 << 31, u32::MAX]);
        words_order_as_keys_do(vec![0_u64, 1, 1 << 63, u64::MAX]);
        words_order_as_keys_do(vec![0_u128, 1, 1 << 64, u128::MAX]);
        words_order_as_keys_do(vec![i64::MIN, -1, 0, 1, i64::MAX]);
        words_order_as_keys_do(vec![i128::MIN, -1, 0, 1, i128::MAX]);
        words_order_as_keys_do(vec![[0], [1], [255]]);
        words_order_as_keys_do(vec![*b"abc", *b"abd", *b"b\0\0", [255; 3]]);
        words_order_as_keys_do(vec![[0; 8], *b"12345678", [255; 8]]);
        words_order_as_keys_do(vec![[0; 9], *b"123456789", *b"123456788", [255; 9]]);
        words_order_as_keys_do(vec![[0; 16], *b"0123456789abcdef", [255; 16]]);
    }

    #[test]
    fn codes_of_types_round_trip() {
        let bytes = (1..=16).map(KeyType::FixedBytes);
        let integers = [KeyType::U32, KeyType::U64, KeyType::U128, KeyType::I64, KeyType::I128];
        for key_type in integers.into_iter().chain(bytes) {
            assert_eq!(from_code(code(key_type).unwrap()), Some(key_type));
        }
        assert_eq!(from_code([0, 8]), None);
        assert_eq!(from_code([3, 17]), None);
        for wrong in [KeyType::F64, KeyType::Text, KeyType::Bytes, KeyType::FixedBytes(0), KeyType::FixedBytes(17)] {
            let message = code(wrong).unwrap_err().to_string();
            assert!(message.contains("u32, u64, u128, i64, i128, or bytes1 to bytes16"), "{message}");
        }
    }
}
