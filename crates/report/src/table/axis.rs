//! The key axis: keys as numbers, so that they have a place on it.

/// How keys become numbers: 8-byte keys are one; of byte strings, the eight bytes after the prefix that all share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyAxis {
    is_numeric: bool,
    prefix: Vec<u8>,
}

impl KeyAxis {
    /// The axis for keys from `first` to `last`.
    pub(super) fn new(is_numeric: bool, first: &[u8], last: &[u8]) -> Self {
        let shared =
            if is_numeric { 0 } else { first.iter().zip(last).take_while(|(one, other)| one == other).count() };
        Self { is_numeric, prefix: first[..shared].to_vec() }
    }

    /// The prefix that all keys share.
    pub(super) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// The place of a key. Keys outside the range of the axis are at its ends.
    pub(super) fn at(&self, key: &[u8]) -> u64 {
        let length = self.prefix.len();
        let head = key.get(..length).unwrap_or(key);
        match head.cmp(&self.prefix) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Greater => u64::MAX,
            std::cmp::Ordering::Equal => {
                let mut word = [0; 8];
                let rest = &key[length.min(key.len())..];
                let taken = rest.len().min(8);
                word[..taken].copy_from_slice(&rest[..taken]);
                u64::from_be_bytes(word)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_keep_the_order_of_keys() {
        let axis = KeyAxis::new(false, b"user:0001", b"user:9");
        assert_eq!(axis.prefix(), b"user:");
        let keys: [&[u8]; 7] = [b"", b"use", b"user:", b"user:0001", b"user:0001abcdefgh", b"user:9", b"v"];
        let places: Vec<u64> = keys.iter().map(|key| axis.at(key)).collect();
        assert!(places.is_sorted() && places[1] == 0 && places[6] == u64::MAX, "{places:?}");
        assert_eq!(KeyAxis::new(true, &[0; 8], &[0, 0, 0, 0, 0, 0, 0, 9]).at(&[0, 0, 0, 0, 0, 0, 1, 0]), 256);
    }
}
