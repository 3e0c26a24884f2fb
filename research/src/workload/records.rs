//! Records of a store: keys and values as bytes.

use std::str::FromStr;

use crate::error::{Error, Result};
use crate::keys::KeySet;
use crate::random::{Random, mix};

/// Encoding of an integer as a key. All forms keep the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyForm {
    /// 8 bytes, big-endian.
    Bytes8,
    /// 16 bytes, big-endian: eight zeros ahead of the integer.
    #[default]
    Bytes16,
    /// 16 hexadecimal digits.
    Hex,
    /// 16 hexadecimal digits and zeros up to 100 bytes, as RocksDB's and LevelDB's `db_bench` pads long keys.
    Hex100,
}

impl KeyForm {
    /// The name in records and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes8 => "bytes8",
            Self::Bytes16 => "bytes16",
            Self::Hex => "hex",
            Self::Hex100 => "hex100",
        }
    }

    /// Bytes of each key.
    pub fn bytes(self) -> usize {
        match self {
            Self::Bytes8 => 8,
            Self::Bytes16 | Self::Hex => 16,
            Self::Hex100 => 100,
        }
    }

    /// Appends the key of an integer.
    pub fn write(self, integer: u64, out: &mut Vec<u8>) {
        match self {
            Self::Bytes8 => out.extend_from_slice(&integer.to_be_bytes()),
            Self::Bytes16 => out.extend_from_slice(&u128::from(integer).to_be_bytes()),
            Self::Hex | Self::Hex100 => {
                const DIGITS: [u8; 16] = *b"0123456789abcdef";
                out.extend((0..16).rev().map(|digit| DIGITS[(integer >> (4 * digit) & 15) as usize]));
                out.extend(std::iter::repeat_n(b'0', self.bytes() - 16));
            }
        }
    }
}

impl FromStr for KeyForm {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        [Self::Bytes8, Self::Bytes16, Self::Hex, Self::Hex100]
            .into_iter()
            .find(|form| form.name() == text)
            .ok_or_else(|| Error::spec(text, "integers become keys as bytes8, bytes16, hex or hex100"))
    }
}

impl std::fmt::Display for KeyForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The records of a key set, known by their places in ascending order. Values are made from place and version, so that
/// they need not be held, and can be checked.
#[derive(Debug)]
pub struct Records {
    name: String,
    keys: RecordKeys,
    value_bytes: usize,
}

#[derive(Debug)]
enum RecordKeys {
    Integers { keys: Vec<u64>, form: KeyForm },
    Strings { bytes: Vec<u8>, ends: Vec<usize> },
}

impl Records {
    /// The distinct keys of a set: integers in one of the forms, strings as they are. Memory: 8 bytes an integer, a
    /// string and 8 bytes a string.
    ///
    /// # Errors
    /// Those of reading the set; [`Error::NoLookups`] for an empty one.
    pub fn of(set: &KeySet, form: KeyForm, value_bytes: usize) -> Result<Self> {
        let keys = if set.is_text() { RecordKeys::strings(set)? } else { RecordKeys::integers(set, form)? };
        let records = Self { name: set.name().into(), keys, value_bytes };
        if records.is_empty() {
            let detail = "an empty key set has no records; take one with keys".into();
            return Err(Error::NoLookups { name: records.name, detail });
        }
        Ok(records)
    }

    /// The name of the key set.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        match &self.keys {
            RecordKeys::Integers { keys, .. } => keys.len(),
            RecordKeys::Strings { ends, .. } => ends.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of each value.
    pub fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// Bytes of all keys and values.
    pub fn raw_bytes(&self) -> u64 {
        let keys = match &self.keys {
            RecordKeys::Integers { keys, form } => keys.len() * form.bytes(),
            RecordKeys::Strings { bytes, .. } => bytes.len(),
        };
        (keys + self.len() * self.value_bytes) as u64
    }

    /// The integers behind the keys, ascending; none of strings.
    pub fn integers(&self) -> Option<&[u64]> {
        match &self.keys {
            RecordKeys::Integers { keys, .. } => Some(keys),
            RecordKeys::Strings { .. } => None,
        }
    }

    /// Puts the key at a place into `out`; nothing beyond the last.
    pub fn key(&self, place: u64, out: &mut Vec<u8>) {
        out.clear();
        match &self.keys {
            RecordKeys::Integers { keys, form } => {
                keys.get(place as usize).copied().into_iter().for_each(|key| form.write(key, out));
            }
            RecordKeys::Strings { .. } => out.extend_from_slice(self.keys.string(place as usize)),
        }
    }

    /// Puts a key into `out` that is not there: from the gap behind the one at a place, or from the next gap; behind
    /// all keys where no gap follows.
    pub fn absent_key(&self, place: u64, random: &mut Random, out: &mut Vec<u8>) {
        out.clear();
        match &self.keys {
            RecordKeys::Integers { keys, form } => form.write(absent_integer(keys, place as usize, random), out),
            RecordKeys::Strings { ends, .. } => {
                let mut place = place as usize;
                loop {
                    out.clear();
                    out.extend_from_slice(self.keys.string(place));
                    out.push(0);
                    place += 1;
                    if place >= ends.len() || self.keys.string(place) != out.as_slice() {
                        return;
                    }
                }
            }
        }
    }

    /// Puts a value into `out`: the `version`-th of the record at a place. Its bytes are random, so that they do not
    /// compress.
    pub fn value(&self, place: u64, version: u64, out: &mut Vec<u8>) {
        out.clear();
        let start = mix(place.wrapping_mul(2).wrapping_add(1)) ^ mix(version.wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mut word = start;
        while out.len() < self.value_bytes {
            word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let bytes = mix(word).to_le_bytes();
            let wanted = (self.value_bytes - out.len()).min(bytes.len());
            out.extend_from_slice(&bytes[..wanted]);
        }
    }
}

impl RecordKeys {
    fn integers(set: &KeySet, form: KeyForm) -> Result<Self> {
        let mut keys = set.load()?;
        keys.dedup();
        Ok(Self::Integers { keys, form })
    }

    fn strings(set: &KeySet) -> Result<Self> {
        let (mut bytes, mut ends, mut last) = (Vec::new(), Vec::new(), None);
        for line in set.lines()? {
            let line = line?;
            // Some stores have no empty key.
            if line.is_empty() || last.as_ref() == Some(&line) {
                continue;
            }
            bytes.extend_from_slice(&line);
            ends.push(bytes.len());
            last = Some(line);
        }
        Ok(Self::Strings { bytes, ends })
    }

    /// The string at a place; empty beyond the last.
    fn string(&self, place: usize) -> &[u8] {
        let Self::Strings { bytes, ends } = self else { return &[] };
        let start = place.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
        ends.get(place).map_or(&[], |end| &bytes[start..*end])
    }
}

/// Requested keys in order, contiguous in memory, so that fetching the next one costs little compared with a lookup.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Asked {
    /// The keys of records at places, or absent keys behind them.
    pub fn of(records: &Records, places: impl IntoIterator<Item = u64>, present: bool, seed: u64) -> Self {
        let mut random = Random::new(seed, "absent keys");
        let (mut asked, mut key) = (Self::default(), Vec::new());
        for place in places {
            if present {
                records.key(place, &mut key);
            } else {
                records.absent_key(place, &mut random, &mut key);
            }
            asked.bytes.extend_from_slice(&key);
            asked.ends.push(asked.bytes.len());
        }
        asked
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The keys in turn.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

/// An integer that is not among the keys; the largest of all where every integer from the place on is.
fn absent_integer(keys: &[u64], place: usize, random: &mut Random) -> u64 {
    let behind = keys.get(place..).unwrap_or_default();
    for pair in behind.windows(2) {
        let free = pair[1] - pair[0] - 1;
        if free > 0 {
            return pair[0] + 1 + random.below(free);
        }
    }
    let last = keys.last().copied().unwrap_or(0);
    last.saturating_add(1).saturating_add(random.below((u64::MAX - last).min(keys.len() as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::open;

    #[test]
    fn every_form_keeps_the_order_of_the_integers() -> Result<()> {
        for form in ["bytes8", "bytes16", "hex"] {
            let form: KeyForm = form.parse()?;
            let records = Records::of(&open("log-uniform:2k:seed=1")?, form, 8)?;
            let keys: Vec<Vec<u8>> = (0..records.len() as u64)
                .map(|place| {
                    let mut key = Vec::new();
                    records.key(place, &mut key);
                    key
                })
                .collect();
            assert!(keys.is_sorted_by(|a, b| a < b) && keys.iter().all(|key| key.len() == form.bytes()), "{form}");
            assert_eq!(records.raw_bytes(), (keys.len() * (form.bytes() + 8)) as u64);
        }
        assert!("decimal".parse::<KeyForm>().is_err());
        Ok(())
    }

    #[test]
    fn absent_keys_are_absent_and_near_their_place() -> Result<()> {
        for spec in ["uniform:1k", "linear:1k", "seg10:1k"] {
            let records = Records::of(&open(spec)?, KeyForm::Bytes8, 0)?;
            let mut random = Random::new(1, "absent test");
            for place in 0..records.len() as u64 {
                let (mut key, mut at) = (Vec::new(), Vec::new());
                records.absent_key(place, &mut random, &mut key);
                records.key(place, &mut at);
                let integer = u64::from_be_bytes(key[..].try_into().unwrap_or_default());
                assert!(key > at && records.integers().unwrap_or_default().binary_search(&integer).is_err(), "{spec}");
            }
        }
        Ok(())
    }

    #[test]
    fn strings_are_taken_once_and_have_absent_neighbours() -> Result<()> {
        let file = tempfile::NamedTempFile::new().map_err(|error| Error::io("create", "a file", error))?;
        std::fs::write(file.path(), "\na\na\na\u{0}\nb\n").map_err(|error| Error::io("write", file.path(), error))?;
        let records = Records::of(&open(&file.path().to_string_lossy())?, KeyForm::Bytes16, 0)?;
        assert_eq!((records.len(), records.raw_bytes()), (3, 4));
        let mut random = Random::new(1, "absent test");
        let absent = |place, random: &mut Random| {
            let mut key = Vec::new();
            records.absent_key(place, random, &mut key);
            key
        };
        assert_eq!([0, 1, 2].map(|place| absent(place, &mut random)), [&b"a\0\0"[..], b"a\0\0", b"b\0"]);
        Ok(())
    }

    #[test]
    fn keys_are_asked_for_in_the_order_of_their_places() -> Result<()> {
        let records = Records::of(&open("linear:10")?, KeyForm::Bytes8, 0)?;
        let asked = Asked::of(&records, [3, 1], true, 1);
        assert_eq!(asked.len(), 2);
        assert_eq!(asked.iter().collect::<Vec<_>>(), [3_u64.to_be_bytes(), 1_u64.to_be_bytes()]);
        Ok(())
    }

    #[test]
    fn values_differ_by_place_and_by_version() -> Result<()> {
        let records = Records::of(&open("linear:10")?, KeyForm::Bytes16, 13)?;
        let mut values = Vec::new();
        for (place, version) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mut value = Vec::new();
            records.value(place, version, &mut value);
            assert_eq!(value.len(), 13);
            values.push(value);
        }
        values.sort();
        values.dedup();
        assert_eq!(values.len(), 4);
        Ok(())
    }
}
