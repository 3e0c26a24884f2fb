//! Keys of indexes: their order-preserving conversion to native keys, and the codes of their types in the file.

use super::word::Word;
use crate::error::{Error, Result};
use crate::index::kinds::kind::FactoryWord;
use crate::types::KeyType;
use std::fmt::Debug;

/// Bytes of the longest key whose word has 8 bytes.
const SHORT_KEY_BYTES_MAX: usize = 8;

/// A type of keys of one width: integers and byte arrays of up to 16 bytes.
///
/// An index stores each key as a native key, a [`Word`] of 8 or 16 bytes, in the same order: signed integers have their
/// sign bit flipped, and byte arrays are read as big-endian numbers. Byte strings of varying length can be keys of a
/// [`Table`](crate::table::Table), not of an index.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of keys of an index",
    label = "an index cannot have keys of type `{Self}`",
    note = "keys of an index are integers and byte arrays of up to 16 bytes",
    note = "keys of other types, such as strings, are those of a `Table` or a `Db`"
)]
pub trait Key: Copy + Ord + Debug + Send + Sync + 'static {
    /// The native key type.
    type Word: FactoryWord;
    /// The key type stored in the file; `None` if any type with the same word is accepted, as for [`RawKey`].
    const TYPE: Option<KeyType>;

    /// The word of this key.
    fn to_word(self) -> Self::Word;

    /// The key of a word from [`Self::to_word`].
    fn from_word(word: Self::Word) -> Self;
}

/// Bytes of the [`Word`] of a key of a type that an index takes: 8 or 16.
pub(in crate::index) fn word_bytes(key_type: KeyType) -> usize {
    if key_type.width().is_some_and(|width| width <= SHORT_KEY_BYTES_MAX) { u64::BYTES } else { u128::BYTES }
}

/// Width of the longest keys.
const KEY_BYTES_MAX: usize = u128::BYTES;

/// Rejects types that the keys of an index cannot have.
///
/// # Errors
/// [`Cause::Input`](crate::Cause::Input).
pub(in crate::index) fn check(key_type: KeyType) -> Result<()> {
    key_type.check()?;
    match key_type.width() {
        Some(..=KEY_BYTES_MAX) => Ok(()),
        _ => Err(Error::input(format!(
            "the keys of an index cannot be of type {key_type}; they have a fixed width of up to {KEY_BYTES_MAX} \
             bytes, such as u64, date, uuid, bytes1 to bytes16, or (u32, date)"
        ))),
    }
}

/// A key as its word, whatever its type: for tools that open any index. A `RawKey<u64>` stands for keys of up to 8
/// bytes, a `RawKey<u128>` for longer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RawKey<W>(pub W);

impl<W: FactoryWord> Key for RawKey<W> {
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
    u8, u64, KeyType::U8;
    u16, u64, KeyType::U16;
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
                <$word>::from(self.cast_unsigned() ^ (1 << (Self::BITS - 1)))
            }

            fn from_word(word: $word) -> Self {
                (word as Self) ^ (1 << (Self::BITS - 1))
            }
        }
    )*};
}

signed! {
    i8, u64, KeyType::I8;
    i16, u64, KeyType::I16;
    i32, u64, KeyType::I32;
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
        words_order_as_keys_do(vec![0_u8, 1, 127, 128, u8::MAX]);
        words_order_as_keys_do(vec![0_u16, 1, 255, 256, u16::MAX]);
        words_order_as_keys_do(vec![0_u32, 1, 1 << 31, u32::MAX]);
        words_order_as_keys_do(vec![i8::MIN, -1, 0, 1, i8::MAX]);
        words_order_as_keys_do(vec![i16::MIN, -1, 0, 1, i16::MAX]);
        words_order_as_keys_do(vec![i32::MIN, -1, 0, 1, i32::MAX]);
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
    fn keys_of_some_types_are_words() {
        for wrong in ["text", "bytes", "(u8, text)", "(u64, u64, u8)"] {
            let message = check(wrong.parse().unwrap()).unwrap_err().to_string();
            assert!(message.contains("bytes1 to bytes16"), "{message}");
        }
        assert!(check("(u64, u32, date desc)".parse().unwrap()).is_ok());
        assert!(check(KeyType::FixedBytes(0)).is_err() && check(KeyType::FixedBytes(17)).is_err());
    }
}
