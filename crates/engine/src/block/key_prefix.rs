//! Key prefixes: the first eight bytes of keys, or of what follows a common prefix, as integers. Where two of them
//! differ, the keys compare the same way, in one instruction.
//!
//! ```text
//! common prefix "user"     user0018  ->  the number of "0018...."     admin -> 0     zoe -> u64::MAX
//! ```

use std::cmp::Ordering;

/// The first eight bytes of a key as a big-endian integer, padded with zeros.
///
/// Shorter keys are read as two halves that may overlap, without a loop or a call: many keys are short behind their
/// common prefix.
#[inline]
pub(crate) fn key_prefix(key: &[u8]) -> u64 {
    if let Some(&head) = key.first_chunk() {
        return u64::from_be_bytes(head);
    }
    let shift = 8 * (8 - key.len());
    if let (Some(&head), Some(&tail)) = (key.first_chunk(), key.last_chunk()) {
        return u64::from(u32::from_be_bytes(head)) << 32 | u64::from(u32::from_be_bytes(tail)) << shift;
    }
    if let (Some(&head), Some(&tail)) = (key.first_chunk(), key.last_chunk()) {
        return u64::from(u16::from_be_bytes(head)) << 48 | u64::from(u16::from_be_bytes(tail)) << shift;
    }
    key.first().map_or(0, |&byte| u64::from(byte) << 56)
}

/// The key prefix of the part of a key from `from` on.
#[inline]
pub(crate) fn key_prefix_at(key: &[u8], from: usize) -> u64 {
    key_prefix(key.get(from..).unwrap_or_default())
}

/// The key prefix of what follows `common`; for other keys, how they compare with all that begin with `common`.
#[inline]
pub(crate) fn key_prefix_after(common: &[u8], key: &[u8]) -> Result<u64, Ordering> {
    match key.strip_prefix(common) {
        Some(rest) => Ok(key_prefix(rest)),
        None => Err(key.cmp(common)),
    }
}

/// A monotone map from keys to integers: the key prefix after a common prefix. Keys without it map to 0 or the maximum.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyPrefixes {
    common: Box<[u8]>,
}

impl KeyPrefixes {
    /// The map for keys that mostly begin with `common`.
    pub(crate) fn after(common: &[u8]) -> Self {
        Self { common: common.into() }
    }

    #[cfg(test)]
    pub(crate) fn common(&self) -> &[u8] {
        &self.common
    }

    /// The integer of a key.
    #[inline]
    pub(crate) fn of(&self, key: &[u8]) -> u64 {
        if self.common.is_empty() {
            return key_prefix(key);
        }
        match key_prefix_after(&self.common, key) {
            Ok(number) => number,
            Err(Ordering::Less) => 0,
            Err(_) => u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_keep_the_order_of_keys(
            common in proptest::collection::vec(0..3_u8, 0..4),
            one in proptest::collection::vec(0..3_u8, 0..14),
            other in proptest::collection::vec(0..3_u8, 0..14),
        ) {
            let key_prefixes = KeyPrefixes::after(&common);
            let (low, high) = (one.clone().min(other.clone()), one.max(other));
            prop_assert!(key_prefixes.of(&low) <= key_prefixes.of(&high));
            prop_assert!(key_prefix_at(&low, 0) <= key_prefix(&high));
            prop_assert_eq!(key_prefix_after(&common, &low).is_ok(), low.starts_with(&common));
        }
    }

    #[test]
    fn short_keys_are_padded_with_zeros() {
        let key: Vec<u8> = (1..=12).map(|byte| byte * 19).collect();
        for length in 0..=key.len() {
            let mut padded = [0; 8];
            let head = &key[..length.min(8)];
            padded[..head.len()].copy_from_slice(head);
            assert_eq!(key_prefix(&key[..length]), u64::from_be_bytes(padded));
        }
    }

    #[test]
    fn keys_of_one_prefix_are_told_apart_by_what_follows() {
        let key_prefixes = KeyPrefixes::after(b"user");
        assert!(key_prefixes.of(b"user0001") < key_prefixes.of(b"user0002"));
        assert_eq!(key_prefixes.of(b"use"), 0);
        assert_eq!(key_prefixes.of(b"users\0"), key_prefixes.of(b"users"));
        assert_eq!(key_prefixes.of(b"v"), u64::MAX);
        assert_eq!((key_prefix(b""), key_prefix(b"a"), key_prefix_at(b"ab", 3)), (0, u64::from(b'a') << 56, 0));
    }
}
