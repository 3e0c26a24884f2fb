//! Keys of a table: the codes of their types in its metadata, bounds among them, and numeric keys as u64.

use crate::key_type::KeyType;

/// Longest key in bytes: 64 KiB.
pub const KEY_BYTES_MAX: usize = 64 << 10;

/// Codes of the types without a parameter. Layout: `docs/format/table.md`.
const CODES: [(KeyType, u64); 8] = [
    (KeyType::U64, 1),
    (KeyType::U128, 2),
    (KeyType::I64, 3),
    (KeyType::F64, 4),
    (KeyType::Text, 5),
    (KeyType::Bytes, 6),
    (KeyType::U32, 7),
    (KeyType::I128, 8),
];
/// Added to the width of keys of fixed width.
const FIXED_BYTES_CODE: u64 = 256;

/// The code of a key type in the metadata.
pub(super) fn code(key_type: KeyType) -> u64 {
    match key_type {
        KeyType::FixedBytes(width) => FIXED_BYTES_CODE + u64::from(width),
        _ => CODES.iter().find(|(known, _)| *known == key_type).map_or(0, |&(_, code)| code),
    }
}

/// The key type of a code; `None` for an unknown code.
pub(super) fn from_code(code: u64) -> Option<KeyType> {
    let fixed = || {
        let width = u8::try_from(code.checked_sub(FIXED_BYTES_CODE)?).ok()?;
        Some(KeyType::FixedBytes(width)).filter(|key_type| key_type.check().is_ok())
    };
    CODES.iter().find(|&&(_, known)| known == code).map(|&(key_type, _)| key_type).or_else(fixed)
}

/// A bound among the keys of a table: just before or just after the records of `key`.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyBound<'a> {
    pub(super) key: &'a [u8],
    pub(super) after: bool,
}

impl KeyBound<'_> {
    /// Whether a record with key `other` lies before this bound.
    pub(super) fn passes(&self, other: &super::block::SplitKey<'_>) -> bool {
        match other.compare(self.key) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => self.after,
            std::cmp::Ordering::Greater => false,
        }
    }

    /// The least u64 key at or after the bound, in a table of numeric keys; `None` if there is none. A key of another
    /// width lies between two numbers, or on the prefix of a longer one.
    pub(super) fn key_as_u64(&self) -> Option<u64> {
        let mut word = [0; 8];
        let length = self.key.len().min(8);
        word[..length].copy_from_slice(&self.key[..length]);
        let x = u64::from_be_bytes(word);
        if self.key.len() > 8 || (self.key.len() == 8 && self.after) { x.checked_add(1) } else { Some(x) }
    }
}

/// A key of a table of numeric keys as a u64.
pub(super) fn key_as_u64(key: &[u8]) -> u64 {
    key.try_into().map_or(0, u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip_and_stay() {
        let fixed = (1..=16).map(KeyType::FixedBytes).zip(257..=272);
        for (key_type, stored) in CODES.into_iter().chain(fixed) {
            assert_eq!(code(key_type), stored);
            assert_eq!(from_code(stored), Some(key_type));
        }
        for unknown in [0, 9, 255, 256, 273, 512, u64::MAX] {
            assert_eq!(from_code(unknown), None);
        }
    }

    #[test]
    fn a_place_behind_the_largest_number_has_no_prefix() {
        let top = u64::MAX.to_be_bytes();
        assert_eq!(KeyBound { key: &top, after: false }.key_as_u64(), Some(u64::MAX));
        assert_eq!(KeyBound { key: &top, after: true }.key_as_u64(), None);
        assert_eq!(KeyBound { key: &[1], after: true }.key_as_u64(), Some(1 << 56));
        assert_eq!(KeyBound { key: &[0, 0, 0, 0, 0, 0, 0, 7, 9], after: false }.key_as_u64(), Some(8));
    }
}
