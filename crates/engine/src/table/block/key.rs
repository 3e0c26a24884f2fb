//! Keys of a table: bounds among them, and numeric keys as u64.

/// Longest key in bytes: 64 KiB.
pub(crate) const KEY_BYTES_MAX: usize = 64 << 10;

/// A bound among the keys of a table: just before or just after the records of `key`.
#[derive(Clone, Copy, Debug)]
pub(in crate::table) struct KeyBound<'a> {
    pub(in crate::table) key: &'a [u8],
    pub(in crate::table) after: bool,
}

impl KeyBound<'_> {
    /// Whether a record with key `other` lies before this bound.
    pub(in crate::table) fn passes(&self, other: &super::parts::SplitKey<'_>) -> bool {
        match other.compare(self.key) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => self.after,
            std::cmp::Ordering::Greater => false,
        }
    }

    /// The least u64 key at or after the bound, in a table of numeric keys; `None` if there is none. A key of another
    /// width lies between two numbers, or on the prefix of a longer one.
    pub(in crate::table) fn key_as_u64(&self) -> Option<u64> {
        let mut word = [0; 8];
        let length = self.key.len().min(8);
        word[..length].copy_from_slice(&self.key[..length]);
        let x = u64::from_be_bytes(word);
        if self.key.len() > 8 || (self.key.len() == 8 && self.after) { x.checked_add(1) } else { Some(x) }
    }
}

/// A key of a table of numeric keys as a u64.
pub(in crate::table) fn key_as_u64(key: &[u8]) -> u64 {
    key.try_into().map_or(0, u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_behind_the_largest_number_has_no_prefix() {
        let top = u64::MAX.to_be_bytes();
        assert_eq!(KeyBound { key: &top, after: false }.key_as_u64(), Some(u64::MAX));
        assert_eq!(KeyBound { key: &top, after: true }.key_as_u64(), None);
        assert_eq!(KeyBound { key: &[1], after: true }.key_as_u64(), Some(1 << 56));
        assert_eq!(KeyBound { key: &[0, 0, 0, 0, 0, 0, 0, 7, 9], after: false }.key_as_u64(), Some(8));
    }
}
