//! The reference model of a store: ordered maps that keep every version that a snapshot can read.

use ogive_testkit::Random;
use std::collections::BTreeMap;
use std::ops::Bound;

/// A value as the seed and the length of its bytes, so that large values cost the model nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    seed: u32,
    length: u32,
}

impl Value {
    /// Mostly short, some long enough to be separated, few of many blocks.
    pub(crate) fn random(random: &mut Random) -> Self {
        let length = match random.below(1_000) {
            0 => random.below(50_000),
            1..20 => 1_000 + random.below(2_000),
            20..150 => 100 + random.below(200),
            _ => random.below(40),
        };
        Self { seed: random.next_u64() as u32, length: length as u32 }
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        let mut word = self.seed;
        let bytes = std::iter::repeat_with(|| {
            // A run of equal bytes now and then, for compression.
            if word & 7 != 0 {
                word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            } else {
                word = word.wrapping_add(0x0100_0008);
            }
            (word >> 24) as u8
        });
        bytes.take(self.length as usize).collect()
    }

    pub(crate) fn is(self, bytes: &[u8]) -> bool {
        bytes.len() == self.length as usize && self.bytes() == bytes
    }
}

/// One of about `count` keys of many shapes.
pub(crate) fn key(random: &mut Random, count: u64) -> Vec<u8> {
    let number = random.below(count);
    match number % 8 {
        0 => number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec(),
        1 | 2 => format!("user{number:012}").into_bytes(),
        3 => (number as u32).to_be_bytes()[1..].to_vec(),
        4 => [&[0xff; 9][..], &number.to_le_bytes()[..3]].concat(),
        5 => [&[0; 12][..], &number.to_be_bytes()[5..], &[0; 3][..number as usize % 3]].concat(),
        _ => number.to_be_bytes().to_vec(),
    }
}

/// Two bounds in any order; near each other if requested.
pub(crate) fn bounds(random: &mut Random, count: u64) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let bound = |random: &mut Random| match random.below(8) {
        0 => Bound::Unbounded,
        1..4 => Bound::Excluded(key(random, count)),
        _ => Bound::Included(key(random, count)),
    };
    (bound(random), bound(random))
}

/// All versions of a key: the time and the value, or `None` for a removal.
type Versions = Vec<(u64, Option<Value>)>;

/// The keys of one keyspace.
#[derive(Debug, Default)]
pub(crate) struct Space {
    keys: BTreeMap<Vec<u8>, Versions>,
    live: usize,
}

impl Space {
    /// Number of keys with a value.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    pub(crate) fn get(&self, key: &[u8], at: u64) -> Option<Value> {
        value_at(self.keys.get(key)?, at)
    }

    pub(crate) fn put(&mut self, key: &[u8], value: Option<Value>, now: u64, keeps_versions: bool) {
        let versions = match self.keys.get_mut(key) {
            Some(versions) => versions,
            None if value.is_none() => return,
            None => self.keys.entry(key.to_vec()).or_default(),
        };
        let had_value = versions.last().is_some_and(|version| version.1.is_some());
        self.live = self.live + usize::from(value.is_some()) - usize::from(had_value);
        if !keeps_versions {
            versions.clear();
        }
        versions.push((now, value));
        if value.is_none() && versions.len() == 1 {
            self.keys.remove(key);
        }
    }

    pub(crate) fn remove_range(&mut self, bounds: &(Bound<Vec<u8>>, Bound<Vec<u8>>), now: u64, keeps_versions: bool) {
        let keys: Vec<Vec<u8>> = self.range(bounds, u64::MAX).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.put(&key, None, now, keeps_versions);
        }
    }

    /// The records within bounds; none if these are reversed.
    pub(crate) fn range<'a>(
        &'a self,
        bounds: &(Bound<Vec<u8>>, Bound<Vec<u8>>),
        at: u64,
    ) -> impl DoubleEndedIterator<Item = (&'a Vec<u8>, Value)> + use<'a> {
        let is_empty = match bounds {
            (Bound::Included(start), Bound::Included(end)) => start > end,
            (Bound::Included(start) | Bound::Excluded(start), Bound::Included(end) | Bound::Excluded(end)) => {
                start >= end
            }
            _ => false,
        };
        let bounds = if is_empty { (Bound::Included(Vec::new()), Bound::Excluded(Vec::new())) } else { bounds.clone() };
        self.keys.range(bounds).filter_map(move |(key, versions)| Some((key, value_at(versions, at)?)))
    }

    /// Forgets versions that no snapshot can read.
    pub(crate) fn forget(&mut self) {
        self.keys.retain(|_, versions| {
            versions.drain(..versions.len() - 1);
            versions[0].1.is_some()
        });
    }
}

fn value_at(versions: &Versions, at: u64) -> Option<Value> {
    versions.iter().rev().find(|(written, _)| *written <= at)?.1
}
