//! The common prefix after which the key prefixes of a memtable begin.

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
    #[test]
    fn the_prefix_leaves_room_for_keys_to_come() {
        let prefix = |keys: [&'static [u8]; 3]| distinguishing_prefix(keys[0], keys[1..].iter().copied());
        assert_eq!(prefix([b"user000017", b"user000123", b"user000999"]), b"user00");
        assert_eq!(prefix([b"user0000000017", b"user0000100123", b"user0000000999"]), b"user0000");
        assert_eq!(prefix([b"abcdefgh", b"abcd", b"abcdefgh"]), b"");
        assert_eq!(prefix([b"", b"a", b"b"]), b"");
    }
}
