//! Key types of the public API, and their order-preserving conversion to native keys.

use super::word::Word;
use std::fmt::{self, Debug, Display};
use std::str::FromStr;

/// Bytes of the longest key.
const KEY_BYTES_MAX: u8 = 16;
/// Bytes of the longest key whose word has 8 bytes.
const SHORT_KEY_BYTES_MAX: u8 = 8;

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

/// The type of the keys of an index, stored in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyType {
    /// `u32`.
    U32,
    /// `u64`.
    U64,
    /// `u128`.
    U128,
    /// `i64`.
    I64,
    /// `i128`.
    I128,
    /// `[u8; N]` with N from 1 to 16.
    Bytes(u8),
}

impl KeyType {
    /// Bytes of a key of this type.
    pub fn key_bytes(self) -> usize {
        match self {
            Self::U32 => 4,
            Self::U64 | Self::I64 => 8,
            Self::U128 | Self::I128 => 16,
            Self::Bytes(count) => usize::from(count),
        }
    }

    /// Bytes of the [`Word`] of such a key: 8 or 16.
    pub fn word_bytes(self) -> usize {
        if self.key_bytes() <= usize::from(SHORT_KEY_BYTES_MAX) { u64::BYTES } else { u128::BYTES }
    }

    /// The code in the file header: family and number of bytes.
    pub(super) fn code(self) -> [u8; 2] {
        let family = match self {
            Self::U32 | Self::U64 | Self::U128 => 1,
            Self::I64 | Self::I128 => 2,
            Self::Bytes(_) => 3,
        };
        [family, self.key_bytes() as u8]
    }

    /// The type of a code; `None` for an unknown code.
    pub(super) fn from_code(code: [u8; 2]) -> Option<Self> {
        match code {
            [1, 4] => Some(Self::U32),
            [1, 8] => Some(Self::U64),
            [1, 16] => Some(Self::U128),
            [2, 8] => Some(Self::I64),
            [2, 16] => Some(Self::I128),
            [3, count @ 1..=KEY_BYTES_MAX] => Some(Self::Bytes(count)),
            _ => None,
        }
    }
}

impl Display for KeyType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::U32 => formatter.write_str("u32"),
            Self::U64 => formatter.write_str("u64"),
            Self::U128 => formatter.write_str("u128"),
            Self::I64 => formatter.write_str("i64"),
            Self::I128 => formatter.write_str("i128"),
            Self::Bytes(count) => write!(formatter, "bytes{count}"),
        }
    }
}

impl FromStr for KeyType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bytes = || {
            let count = text.strip_prefix("bytes")?.parse::<u8>().ok()?;
            (1..=KEY_BYTES_MAX).contains(&count).then_some(Self::Bytes(count))
        };
        match text {
            "u32" => Ok(Self::U32),
            "u64" => Ok(Self::U64),
            "u128" => Ok(Self::U128),
            "i64" => Ok(Self::I64),
            "i128" => Ok(Self::I128),
            _ => bytes().ok_or_else(|| {
                format!("'{text}' is no type of index keys; there are u32, u64, u128, i64, i128, and bytes1 to bytes16")
            }),
        }
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
            const TYPE: Option<KeyType> = Some(KeyType::Bytes($count));

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
    fn names_and_codes_of_types_round_trip() {
        let bytes = (1..=16).map(KeyType::Bytes);
        let integers = [KeyType::U32, KeyType::U64, KeyType::U128, KeyType::I64, KeyType::I128];
        for key_type in integers.into_iter().chain(bytes) {
            assert_eq!(key_type.to_string().parse(), Ok(key_type));
            assert_eq!(KeyType::from_code(key_type.code()), Some(key_type));
        }
        for wrong in ["", "u16", "bytes", "bytes0", "bytes17", "bytes-1", "bytes999"] {
            assert!(wrong.parse::<KeyType>().is_err(), "{wrong}");
        }
        assert_eq!(KeyType::from_code([0, 8]), None);
        assert_eq!(KeyType::from_code([3, 17]), None);
    }
}
