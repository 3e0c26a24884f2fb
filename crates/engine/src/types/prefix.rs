//! Ranges of keys with a common prefix.

use super::KeyType;
use std::ops::Bound;

impl KeyType {
    /// The range of the keys that begin with `prefix`: bytes, or what [`KeyType::encode_prefix`] returns. Bounds of
    /// keys of one width have this width.
    #[must_use]
    pub fn prefix_range(self, prefix: &[u8]) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        let (start, end) = range_of_prefix(prefix.to_vec());
        let Some(width) = self.width() else { return (start, end) };
        if prefix.len() > width {
            // No key is that long.
            return (Bound::Included(vec![0; width]), Bound::Excluded(vec![0; width]));
        }
        let padded = |mut bound: Vec<u8>| {
            bound.resize(width, 0);
            bound
        };
        (start.map(padded), end.map(padded))
    }
}

/// The range of the keys with `prefix`.
pub(crate) fn range_of_prefix(prefix: Vec<u8>) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let end = end_of_prefix(&prefix).map_or(Bound::Unbounded, Bound::Excluded);
    (Bound::Included(prefix), end)
}

/// The first key behind all keys with `prefix`; `None` if there is none.
pub(crate) fn end_of_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let kept = prefix.iter().rposition(|&byte| byte < u8::MAX)?;
    let mut end = prefix[..=kept].to_vec();
    end[kept] += 1;
    Some(end)
}
