//! The number and the checksum of records, in whatever order they come.

use std::fmt;
use twox_hash::XxHash3_64;

/// The number of records, their bytes, and the sum of a hash of each, so that their order does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checksum {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    pub(crate) sum: u64,
}

impl Checksum {
    /// Adds a record.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        // The value is hashed with the hash of the key, and the length of the key is in that: a byte that moves from
        // one to the other changes the sum.
        let of_key = XxHash3_64::oneshot_with_seed(key.len() as u64, key);
        self.records += 1;
        self.bytes += (key.len() + value.len()) as u64;
        self.sum = self.sum.wrapping_add(XxHash3_64::oneshot_with_seed(of_key, value));
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_records_does_not_matter_and_everything_else_does() {
        let of = |records: &[(&str, &str)]| {
            let mut checksum = Checksum::default();
            records.iter().for_each(|(key, value)| checksum.add(key.as_bytes(), value.as_bytes()));
            checksum
        };
        let checksum = of(&[("a", "b"), ("c", "d")]);
        assert_eq!(checksum, of(&[("c", "d"), ("a", "b")]));
        for other in [
            &[("a", "d"), ("c", "b")][..],
            &[("ab", ""), ("c", "d")],
            &[("", "ab"), ("c", "d")],
            &[("a", "b")],
            &[("a", "b"), ("c", "d"), ("c", "d")],
        ] {
            assert_ne!(checksum.sum, of(other).sum, "{other:?}");
        }
        assert_eq!((checksum.records, checksum.bytes), (2, 4));
    }
}
