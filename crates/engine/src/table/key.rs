//! Keys of a table: the codes of their types in its metadata, bounds among them, and numeric keys as u64.

use crate::types::{COMPONENTS_MAX, Component, KeyType, TupleType};

/// Longest key in bytes: 64 KiB.
pub const KEY_BYTES_MAX: usize = 64 << 10;

/// Added to the number of components of a tuple, whose codes follow. Layout: `docs/format/table.md`.
const TUPLE_CODE: u64 = 1 << 16;

/// Whether tables of version 2 could have such keys.
pub(super) fn is_of_version_2(key_type: KeyType) -> bool {
    matches!(key_type, KeyType::FixedBytes(_)) || (1..=8).contains(&key_type.code())
}

/// The codes of a key type in the metadata: one, and for a tuple those of its components.
pub(super) fn codes(key_type: KeyType) -> Vec<u64> {
    match key_type {
        KeyType::Tuple(tuple) => {
            let components = tuple.components();
            [TUPLE_CODE + components.len() as u64].into_iter().chain(components.map(|it| it.code().into())).collect()
        }
        _ => vec![key_type.code().into()],
    }
}

/// The key type of codes, each taken from `next`; `None` for an unknown code.
pub(super) fn from_codes(mut next: impl FnMut() -> Option<u64>) -> Option<KeyType> {
    let first = next()?;
    let Some(count) = first.checked_sub(TUPLE_CODE) else { return KeyType::from_code(u16::try_from(first).ok()?) };
    let mut component = || Component::from_code(u16::try_from(next()?).ok()?);
    let count = usize::try_from(count).ok().filter(|&count| count <= COMPONENTS_MAX)?;
    let components = (0..count).map(|_| component()).collect::<Option<Vec<_>>>()?;
    TupleType::new(&components).ok().map(KeyType::Tuple)
}

/// A bound among the keys of a table: just before or just after the records of `key`.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyBound<'a> {
    pub(super) key: &'a [u8],
    pub(super) after: bool,
}

impl KeyBound<'_> {
    /// Whether a record with key `other` lies before this bound.
    pub(super) fn passes(&self, other: &super::block::SplitKey<'_>) -> bool {
        match other.compare(self.key) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => self.after,
            std::cmp::Ordering::Greater => false,
        }
    }

    /// The least u64 key at or after the bound, in a table of numeric keys; `None` if there is none. A key of another
    /// width lies between two numbers, or on the prefix of a longer one.
    pub(super) fn key_as_u64(&self) -> Option<u64> {
        let mut word = [0; 8];
        let length = self.key.len().min(8);
        word[..length].copy_from_slice(&self.key[..length]);
        let x = u64::from_be_bytes(word);
        if self.key.len() > 8 || (self.key.len() == 8 && self.after) { x.checked_add(1) } else { Some(x) }
    }
}

/// A key of a table of numeric keys as a u64.
pub(super) fn key_as_u64(key: &[u8]) -> u64 {
    key.try_into().map_or(0, u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip_and_stay() {
        for (name, stored) in [
            ("u64", &[1][..]),
            ("u128", &[2]),
            ("i64", &[3]),
            ("f64", &[4]),
            ("text", &[5]),
            ("bytes", &[6]),
            ("u32", &[7]),
            ("i128", &[8]),
            ("bytes1", &[257]),
            ("bytes16", &[272]),
            ("bool", &[9]),
            ("uuid", &[16]),
            ("date", &[17]),
            ("time(s)", &[20]),
            ("timestamp(ns)", &[27]),
            ("decimal(10,2)", &[4738]),
            ("(text, date desc)", &[65_538, 5, 8_192 + 17]),
            ("(u8?)", &[65_537, 0xc000 + 10]),
        ] {
            let key_type: KeyType = name.parse().unwrap();
            assert_eq!(codes(key_type), stored, "{name}");
            let mut next = stored.iter().copied();
            assert_eq!(from_codes(|| next.next()), Some(key_type), "{name}");
            assert_eq!(is_of_version_2(key_type), stored[0] < 9 || (257..273).contains(&stored[0]), "{name}");
        }
        for unknown in [
            &[][..],
            &[0],
            &[18],
            &[28],
            &[256],
            &[273],
            &[512],
            &[4096],
            &[u64::MAX],
            &[65_536],
            &[65_537],
            &[65_537, 0],
            &[65_537, 0x8005],
            &[65_553, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
        ] {
            let mut next = unknown.iter().copied();
            assert_eq!(from_codes(|| next.next()), None, "{unknown:?}");
        }
    }

    #[test]
    fn a_place_behind_the_largest_number_has_no_prefix() {
        let top = u64::MAX.to_be_bytes();
        assert_eq!(KeyBound { key: &top, after: false }.key_as_u64(), Some(u64::MAX));
        assert_eq!(KeyBound { key: &top, after: true }.key_as_u64(), None);
        assert_eq!(KeyBound { key: &[1], after: true }.key_as_u64(), Some(1 << 56));
        assert_eq!(KeyBound { key: &[0, 0, 0, 0, 0, 0, 0, 7, 9], after: false }.key_as_u64(), Some(8));
    }
}
