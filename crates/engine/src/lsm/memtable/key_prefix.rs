//! Key prefixes as `u64`, for fast comparison.

/// An order-preserving map from keys to `u64`: the eight bytes behind a shared prefix. The order is not strict. Keys
/// without the shared prefix map to 0 or the maximum.
#[derive(Debug)]
pub(super) struct KeyPrefixes {
    prefix: Box<[u8]>,
}

impl KeyPrefixes {
    pub(super) fn after(prefix: &[u8]) -> Self {
        Self { prefix: prefix.into() }
    }

    #[cfg(test)]
    pub(super) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    pub(super) fn of(&self, key: &[u8]) -> u64 {
        match key.strip_prefix(&*self.prefix) {
            Some(rest) => prefix_u64(rest),
            None if *key < *self.prefix => 0,
            None => u64::MAX,
        }
    }
}

/// The first eight bytes of a key as a big-endian integer, padded with zeros.
pub(crate) fn prefix_u64(key: &[u8]) -> u64 {
    if let Some(head) = key.first_chunk::<8>() {
        return u64::from_be_bytes(*head);
    }
    key.iter().enumerate().fold(0, |number, (index, &byte)| number | u64::from(byte) << (56 - 8 * index))
}

/// Bytes of the shortest key that stay behind the shared prefix, since later keys may differ from the first ones
/// earlier.
const SUFFIX_BYTES_MIN: usize = 4;

/// The shared prefix that lets key prefixes distinguish keys like these.
pub(super) fn distinguishing_prefix<'a, 'b>(first: &'a [u8], others: impl Iterator<Item = &'b [u8]>) -> &'a [u8] {
    let shared = others.fold(first.len().saturating_sub(SUFFIX_BYTES_MIN), |shared, other| {
        let limit = shared.min(other.len().saturating_sub(SUFFIX_BYTES_MIN));
        first[..limit].iter().zip(other).take_while(|(one, other)| one == other).count()
    });
    &first[..shared]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn coordinates_keep_the_order_of_keys(
            prefix in proptest::collection::vec(0..3_u8, 0..4),
            one in proptest::collection::vec(0..3_u8, 0..14),
            other in proptest::collection::vec(0..3_u8, 0..14),
        ) {
            let key_prefixes = KeyPrefixes::after(&prefix);
            let (low, high) = (one.clone().min(other.clone()), one.max(other));
            prop_assert!(key_prefixes.of(&low) <= key_prefixes.of(&high));
        }
    }

    #[test]
    fn keys_of_one_prefix_are_told_apart_by_what_follows() {
        let key_prefixes = KeyPrefixes::after(b"user");
        assert!(key_prefixes.of(b"user0001") < key_prefixes.of(b"user0002"));
        assert_eq!(key_prefixes.of(b"use"), 0);
        assert_eq!(key_prefixes.of(b"users\0"), key_prefixes.of(b"users"));
        assert_eq!(key_prefixes.of(b"v"), u64::MAX);
    }

    #[test]
    fn the_prefix_leaves_room_for_keys_to_come() {
        let prefix = |keys: [&'static [u8]; 3]| distinguishing_prefix(keys[0], keys[1..].iter().copied());
        assert_eq!(prefix([b"user000017", b"user000123", b"user000999"]), b"user00");
        assert_eq!(prefix([b"user0000000017", b"user0000100123", b"user0000000999"]), b"user0000");
        assert_eq!(prefix([b"abcdefgh", b"abcd", b"abcdefgh"]), b"");
        assert_eq!(prefix([b"", b"a", b"b"]), b"");
    }
}
