//! Resident separators: the exact separators of a table, decoded into a flat array that leads from a key to its block
//! within a few cache lines.
//!
//! ```text
//! separator of a block:  | prefix of all | eight bytes, as a number | rest |
//! buckets:               equal ranges of numbers; for each, how many separators lie before it
//! ```
//!
//! Only the numbers are kept. A shift of a key's number chooses a bucket, and the few separators in the bucket are
//! bisected. If a number ties with a separator that it does not represent completely, the stored index is searched
//! instead.

use crate::block::key_prefix_after;
use crate::table::format::meta::{NodeKind, TableMeta};
use ogive_model::coded::{Separator, common_prefix, visit_separators};
use std::cmp::Ordering;

/// The predicted place of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::table) struct PredictedRecord {
    pub(in crate::table) block: u64,
    /// Position in the block, from 0 to 1, if keys are spread evenly between its separators.
    pub(in crate::table) share: f32,
}

/// The separators of blocks 1, 2, ...
#[derive(Debug)]
pub(in crate::table) struct ResidentSeparators {
    prefix: Vec<u8>,
    numbers: Vec<u64>,
    /// `buckets[i]`: number of separators whose bucket is less than `i`.
    buckets: Vec<u32>,
    shift: u32,
    /// Whether every separator consists of the prefix and one number.
    whole: bool,
    /// Length of the longest separator that is compared in full.
    longest: usize,
}

/// The bytes of a separator, in two parts; `word` holds the second. A separator by eight bytes compares them padded
/// with zeros, so zeros at their end carry no information.
pub(crate) fn parts<'a>(separator: &Separator<'a>, word: &'a mut [u8; 8]) -> (&'a [u8], &'a [u8]) {
    match *separator {
        Separator::Whole(bytes) => (bytes, &[]),
        Separator::Window { prefix, word: number } => {
            *word = number.to_be_bytes();
            let zeros = (number.trailing_zeros() / 8).min(8) as usize;
            (prefix, &word[..8 - zeros])
        }
    }
}

/// Whether the separators of a root of coded strings ascend. A repeated key may repeat its separator, and only the
/// first child begins with the empty string. A root that cannot be decoded is handled elsewhere.
fn ascend(root: &[u8], groups: usize) -> bool {
    let (mut before, mut ascends) = (Vec::new(), true);
    visit_separators(root, groups, |child, separator| {
        let mut word = [0; 8];
        let (head, tail) = parts(&separator, &mut word);
        let order = before.iter().cmp(head.iter().chain(tail));
        ascends &= child == 0 || (order != Ordering::Greater && head.len() + tail.len() > 0);
        before.clear();
        before.extend_from_slice(head);
        before.extend_from_slice(tail);
    });
    ascends
}

/// Decodes the separators of a root for lookups, where they lead to blocks without a further layer. `None` if they do
/// not ascend.
pub(super) fn resident_separators(meta: &TableMeta, root: &[u8]) -> Option<Option<ResidentSeparators>> {
    let Some(top) = meta.layers.last().filter(|top| top.kind == NodeKind::CodedStrings) else { return Some(None) };
    let nodes = usize::try_from(top.nodes).unwrap_or(0);
    let is_whole = meta.layers.len() == 1;
    ascend(root, nodes).then(|| is_whole.then(|| ResidentSeparators::decode(root, nodes, meta.blocks)).flatten())
}

impl ResidentSeparators {
    /// Decodes a root of coded strings over `blocks` blocks; `None` if it is malformed or not suited.
    pub(in crate::table) fn decode(root: &[u8], groups: usize, blocks: u64) -> Option<Self> {
        let count = usize::try_from(blocks.checked_sub(1)?).ok()?;
        let mut prefix: Option<Vec<u8>> = None;
        visit_separators(root, groups, |child, separator| {
            if child == 0 {
                return;
            }
            let mut word = [0; 8];
            let (head, tail) = parts(&separator, &mut word);
            match &mut prefix {
                None => prefix = Some([head, tail].concat()),
                Some(prefix) => {
                    let mut shared = common_prefix(prefix, head);
                    if shared == head.len() {
                        shared += common_prefix(&prefix[shared..], tail);
                    }
                    prefix.truncate(shared);
                }
            }
        })?;
        let mut found = Self {
            prefix: prefix.unwrap_or_default(),
            numbers: Vec::with_capacity(count),
            buckets: Vec::new(),
            shift: 0,
            whole: true,
            longest: 0,
        };
        visit_separators(root, groups, |child, separator| {
            if child > 0 {
                found.push(&separator);
            }
        })?;
        let rises = found.numbers.is_sorted();
        (found.numbers.len() == count && rises).then(|| found.with_buckets())
    }

    fn push(&mut self, separator: &Separator<'_>) {
        let mut word = [0; 8];
        let (head, tail) = parts(separator, &mut word);
        if let Separator::Whole(bytes) = separator {
            self.longest = self.longest.max(bytes.len());
        }
        self.whole &= head.len() + tail.len() <= self.prefix.len() + 8;
        let mut number = [0; 8];
        let behind = head.iter().chain(tail).skip(self.prefix.len());
        number.iter_mut().zip(behind).for_each(|(to, from)| *to = *from);
        self.numbers.push(u64::from_be_bytes(number));
    }

    fn with_buckets(mut self) -> Self {
        let (Some(&first), Some(&last)) = (self.numbers.first(), self.numbers.last()) else { return self };
        let bits = self.numbers.len().next_power_of_two().trailing_zeros();
        self.shift = (u64::BITS - (last - first).leading_zeros()).saturating_sub(bits);
        let buckets = ((last - first) >> self.shift) as usize + 1;
        self.buckets = vec![0; buckets + 1];
        for &number in &self.numbers {
            self.buckets[((number - first) >> self.shift) as usize + 1] += 1;
        }
        let mut sum = 0;
        for bucket in &mut self.buckets {
            sum += *bucket;
            *bucket = sum;
        }
        self
    }

    /// Memory use in bytes.
    pub(in crate::table) fn bytes(&self) -> u64 {
        (self.numbers.len() * 8 + self.buckets.len() * 4 + self.prefix.len()) as u64
    }

    /// The block that holds a key if it is present; `None` if the stored separators must be searched.
    #[inline]
    pub(in crate::table) fn find(&self, key: &[u8]) -> Option<PredictedRecord> {
        let last = self.numbers.len() as u64;
        let x = match key_prefix_after(&self.prefix, key) {
            Ok(x) => x,
            Err(Ordering::Less) => return Some(PredictedRecord { block: 0, share: 1.0 }),
            Err(_) => return Some(PredictedRecord { block: last, share: 1.0 }),
        };
        let Some(&first) = self.numbers.first() else { return Some(PredictedRecord { block: 0, share: 0.5 }) };
        if x < first {
            return Some(PredictedRecord { block: 0, share: 0.5 });
        }
        let bucket = (((x - first) >> self.shift) as usize).min(self.buckets.len() - 2);
        let (begin, end) = (self.buckets[bucket] as usize, self.buckets[bucket + 1] as usize);
        let block = begin + self.numbers[begin..end].partition_point(|&number| number <= x);
        let low = *self.numbers.get(block.wrapping_sub(1))?;
        if low == x && !(self.whole && key.len() >= self.longest) {
            return None;
        }
        let share = match self.numbers.get(block) {
            Some(&high) => (x - low) as f32 / (high - low) as f32,
            None => 0.5,
        };
        Some(PredictedRecord { block: block as u64, share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive_model::coded::{StringLayer, search_strings};
    use proptest::prelude::*;

    fn check(separators: &[Vec<u8>], keys: &[Vec<u8>]) {
        let layer = StringLayer::from_separators(separators);
        let mut root = Vec::new();
        layer.encode(0..layer.groups(), &mut root);
        let flat = ResidentSeparators::decode(&root, layer.groups(), separators.len() as u64).unwrap();
        for key in keys {
            if let Some(spot) = flat.find(key) {
                assert_eq!(Some(spot.block), search_strings(&root, layer.groups(), key), "{key:?} in {separators:?}");
                assert!((0.0..=1.0).contains(&spot.share));
            }
        }
    }

    proptest! {
        #[test]
        fn the_flat_form_says_what_the_stored_one_says(
            mut separators in proptest::collection::vec(proptest::collection::vec(0_u8..3, 1..13), 1..60),
            mut keys in proptest::collection::vec(proptest::collection::vec(0_u8..3, 0..13), 0..60),
            prefix in proptest::collection::vec(any::<u8>(), 0..4),
        ) {
            separators.iter_mut().chain(&mut keys).for_each(|key| *key = [&prefix[..], key].concat());
            keys.extend_from_slice(&separators);
            separators.sort();
            separators.dedup();
            separators.insert(0, Vec::new());
            check(&separators, &keys);
        }

        #[test]
        fn a_forged_root_is_refused_or_answers(root: Vec<u8>, groups in 0_usize..5, blocks in 0_u64..9, key: Vec<u8>) {
            if let Some(flat) = ResidentSeparators::decode(&root, groups, blocks) {
                prop_assert!(flat.find(&key).is_none_or(|spot| spot.block < blocks));
            }
        }
    }
}
