//! The key window of a partition: the eight bytes that distinguish most of its keys.

use crate::block::KeyPrefixes;

/// The window after the common prefix of `low` and `high`, the smallest and the largest sampled key.
pub(super) fn key_window(low: &[u8], high: &[u8]) -> KeyPrefixes {
    let common = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    // If a short key were entirely within the prefix, no bytes would distinguish keys; the window always keeps eight.
    let common = if low.len().max(high.len()) <= 8 { 0 } else { common };
    KeyPrefixes::after(low.get(..common).unwrap_or_default())
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
                let window = key_window(low, high);
                assert!(keys.is_sorted_by_key(|key| window.of(key)), "{low:?} {high:?}");
            }
        }
        let window = key_window(b"user0017....", b"user1999....");
        assert!(window.of(b"user0018") < window.of(b"user0019"));
    }
}
