//! Key windows: byte-string keys as order-preserving integers.

/// Maps keys to integers, monotonically: the eight bytes after the common prefix of all sampled keys.
///
/// A key with another prefix sorts before or after all sampled ones, and maps to 0 or the largest integer:
///
/// ```text
/// sampled keys   user0017  user0023  user1999        common: "user"
/// user0018  ->  the number "0018...."   admin -> 0   zoe -> u64::MAX
/// ```
#[derive(Clone, Debug, Default)]
pub(super) struct KeyWindow {
    common: Vec<u8>,
}

impl KeyWindow {
    /// The window after the common prefix of `low` and `high`, the smallest and the largest key.
    pub(super) fn between(low: &[u8], high: &[u8]) -> Self {
        let common = low.iter().zip(high).take_while(|(a, b)| a == b).count();
        // If a short key were entirely within the prefix, no bytes would distinguish keys; the window always keeps
        // eight.
        let common = if low.len().max(high.len()) <= 8 { 0 } else { common };
        Self { common: low.get(..common).unwrap_or_default().to_vec() }
    }

    /// The integer of a key.
    #[inline]
    pub(super) fn key_prefix(&self, key: &[u8]) -> u64 {
        if self.common.is_empty() {
            return word(key);
        }
        let length = self.common.len();
        let begins = key.get(..length).unwrap_or(key);
        match begins.cmp(&self.common) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => word(&key[length..]),
            std::cmp::Ordering::Greater => u64::MAX,
        }
    }
}

/// The first eight bytes as an integer, zero-padded.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(word) => u64::from_be_bytes(*word),
        None => {
            let mut word = [0; 8];
            for (target, byte) in word.iter_mut().zip(bytes) {
                *target = *byte;
            }
            u64::from_be_bytes(word)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_order_as_keys_do() {
        let mut keys: Vec<Vec<u8>> =
            ["", "a", "ab", "user", "user\0", "user0017", "user00170000", "user1999", "userz", "use", "usf", "zoe"]
                .map(|key| key.as_bytes().to_vec())
                .to_vec();
        keys.extend([vec![0], vec![0; 9], vec![255; 3], vec![255; 20]]);
        keys.sort();
        for low in &keys {
            for high in keys.iter().filter(|high| *high >= low) {
                let window = KeyWindow::between(low, high);
                assert!(keys.is_sorted_by_key(|key| window.key_prefix(key)), "{low:?} {high:?}");
            }
        }
        let window = KeyWindow::between(b"user0017....", b"user1999....");
        assert!(window.key_prefix(b"user0018") < window.key_prefix(b"user0019"));
    }
}
