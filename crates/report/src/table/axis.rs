//! The key axis: keys as numbers, so that they have a place on it.

/// Bytes of the window of a byte string that the axis of a page shows.
const WINDOW_BYTES: usize = 24;

/// A place on the axis: the window of a key, padded with zeros.
pub(super) type KeyWindow = [u8; WINDOW_BYTES];

/// A place on the axis as a number of eight bytes, for the lines of `ogive_model`.
pub(super) fn word(window: KeyWindow) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&window[..8]);
    u64::from_be_bytes(word)
}

/// How keys become numbers: 8-byte keys are one; of byte strings, the bytes after the prefix that all share.
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

    /// The window of a place, in hexadecimal digits.
    pub(super) fn text(&self, window: KeyWindow) -> String {
        let length = match self.is_numeric {
            true => 8,
            false => window.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1),
        };
        super::picture::bytes_text(&window[..length])
    }

    /// The place of a key. Keys outside the range of the axis are at its ends.
    pub(super) fn at(&self, key: &[u8]) -> KeyWindow {
        let length = self.prefix.len();
        let head = key.get(..length).unwrap_or(key);
        match head.cmp(&self.prefix) {
            std::cmp::Ordering::Less => [0; WINDOW_BYTES],
            std::cmp::Ordering::Greater => [u8::MAX; WINDOW_BYTES],
            std::cmp::Ordering::Equal => {
                let mut window = [0; WINDOW_BYTES];
                let rest = &key[length.min(key.len())..];
                let taken = rest.len().min(WINDOW_BYTES);
                window[..taken].copy_from_slice(&rest[..taken]);
                window
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
        let places: Vec<KeyWindow> = keys.iter().map(|key| axis.at(key)).collect();
        assert!(places.is_sorted() && word(places[1]) == 0 && word(places[6]) == u64::MAX, "{places:?}");
        let numbers = KeyAxis::new(true, &[0; 8], &[0, 0, 0, 0, 0, 0, 0, 9]);
        let place = numbers.at(&256_u64.to_be_bytes());
        assert_eq!((word(place), numbers.text(place).as_str()), (256, "0000000000000100"));
        assert_eq!(axis.text(axis.at(b"user:0001")), "30303031");
    }
}
