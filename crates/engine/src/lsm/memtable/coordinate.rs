//! Keys as numbers, for quick comparison.

/// A map from keys to numbers that keeps their order, though not strictly: the eight bytes behind a prefix. Keys that do not have the
/// prefix are at either end.
#[derive(Debug, Default)]
pub(super) struct Coordinates {
    prefix: Box<[u8]>,
}

impl Coordinates {
    pub(super) fn behind(prefix: &[u8]) -> Self {
        Self { prefix: prefix.into() }
    }

    pub(super) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    pub(super) fn of(&self, key: &[u8]) -> u64 {
        match key.strip_prefix(&*self.prefix) {
            Some(rest) => number_of(rest),
            None if *key < *self.prefix => 0,
            None => u64::MAX,
        }
    }
}

/// The first eight bytes of a key, as if zeros followed it.
pub(crate) fn number_of(key: &[u8]) -> u64 {
    if let Some(head) = key.first_chunk::<8>() {
        return u64::from_be_bytes(*head);
    }
    key.iter().enumerate().fold(0, |number, (index, &byte)| number | u64::from(byte) << (56 - 8 * index))
}

/// How many bytes two keys have in common at their front.
pub(super) fn shared_bytes(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
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
            let coordinates = Coordinates::behind(&prefix);
            let (low, high) = (one.clone().min(other.clone()), one.max(other));
            prop_assert!(coordinates.of(&low) <= coordinates.of(&high));
        }
    }

    #[test]
    fn keys_of_one_prefix_are_told_apart_by_what_follows() {
        let coordinates = Coordinates::behind(b"user");
        assert!(coordinates.of(b"user0001") < coordinates.of(b"user0002"));
        assert_eq!(coordinates.of(b"use"), 0);
        assert_eq!(coordinates.of(b"users\0"), coordinates.of(b"users"));
        assert_eq!(coordinates.of(b"v"), u64::MAX);
        assert_eq!(shared_bytes(b"user0001", b"user0102"), 5);
    }
}
