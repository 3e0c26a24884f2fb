//! The search in columns of keys of one length: from a hint, eight bytes at a time.
//!
//! Keys are compared outwards from a predicted position: a good prediction costs one or two cache lines, a bad one as
//! much as a bisection.

use super::columns::Columns;
use crate::block::key_prefix_at;
use std::cmp::Ordering;

/// LevelDB's distance between restart points.
const RESTART_INTERVAL: usize = 16;

/// Where to search in a block. Every hint leads to the same record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchHint {
    /// Outwards from the position at this fraction of the block, from 0 to 1.
    Share(f32),
    /// Between two records, both included, and outside only if the record is not there.
    Between(usize, usize),
    /// By restart points as in LevelDB, and then record by record: a baseline for comparisons.
    Restarts,
}

impl SearchHint {
    /// All records alike.
    pub(in crate::table) const NONE: Self = Self::Between(0, usize::MAX);
}

impl Columns {
    /// The first record whose key is not less than `key`, and whether it has that key, where keys have the length
    /// `rest` without the prefix; `None` if the block does not have these keys.
    #[inline]
    pub(super) fn search_fixed(&self, raw: &[u8], rest: usize, key: &[u8], hint: SearchHint) -> Option<(usize, bool)> {
        let prefix = self.prefix(raw)?;
        match key.get(..self.prefix).unwrap_or(key).cmp(prefix) {
            Ordering::Less => return Some((0, false)),
            Ordering::Greater => return Some((self.count, false)),
            Ordering::Equal => {}
        }
        let keys = FixedKeys {
            bytes: raw.get(self.keys_at..self.keys_at + self.count * rest)?,
            length: rest,
            rest: key.get(self.prefix..)?,
            number: key_prefix_at(key, self.prefix),
        };
        let index = match hint {
            SearchHint::Share(share) => keys.outwards((share * self.count as f32) as usize, 0, self.count)?,
            SearchHint::Between(first, last) => keys.between(first, last, self.count)?,
            SearchHint::Restarts => keys.by_restarts(self.count)?,
        };
        let is_key = index < self.count && keys.compare(index)? == Ordering::Equal;
        Some((index, is_key))
    }
}

/// The first step of a search outwards among this number of records: random keys deviate from the line through them by
/// up to half the root of their number (standard deviation). A shorter step only adds comparisons.
fn first_step(records: usize) -> usize {
    1 << (records.max(1).ilog2() / 2).saturating_sub(1)
}

/// A column of keys without their prefix, and the key that is searched for.
struct FixedKeys<'a> {
    bytes: &'a [u8],
    length: usize,
    rest: &'a [u8],
    number: u64,
}

impl FixedKeys<'_> {
    /// Compares a record's key with the key that is searched for.
    #[inline]
    fn compare(&self, index: usize) -> Option<Ordering> {
        let at = index * self.length;
        let stored = self.bytes.get(at..at + self.length)?;
        let numbers = key_prefix_at(stored, 0).cmp(&self.number);
        Some(if numbers == Ordering::Equal { stored.cmp(self.rest) } else { numbers })
    }

    #[inline]
    fn is_less(&self, index: usize) -> Option<bool> {
        Some(self.compare(index)? == Ordering::Less)
    }

    fn bisect(&self, mut low: usize, mut high: usize) -> Option<usize> {
        while low < high {
            let middle = low + (high - low) / 2;
            if self.is_less(middle)? { low = middle + 1 } else { high = middle }
        }
        Some(low)
    }

    /// The first record of `low..high` that is not less, or `high`; an exponential search outwards from `guess`.
    #[inline]
    fn outwards(&self, guess: usize, low: usize, high: usize) -> Option<usize> {
        let Some(top) = high.checked_sub(1).filter(|&top| top >= low) else { return Some(low) };
        let guess = guess.clamp(low, top);
        let mut step = first_step(high - low);
        if self.is_less(guess)? {
            let mut below = guess + 1;
            loop {
                let next = below + step - 1;
                if next >= high {
                    return self.bisect(below, high);
                }
                if !self.is_less(next)? {
                    return self.bisect(below, next);
                }
                below = next + 1;
                step *= 2;
            }
        }
        let mut above = guess;
        loop {
            let Some(next) = above.checked_sub(step).filter(|&next| next >= low) else {
                return self.bisect(low, above);
            };
            if self.is_less(next)? {
                return self.bisect(next + 1, above);
            }
            above = next;
            step *= 2;
        }
    }

    /// Bisects between two records first, and searches outside if the result lies at the end of that window.
    fn between(&self, first: usize, last: usize, count: usize) -> Option<usize> {
        let (low, high) = (first.min(count), last.saturating_add(1).min(count));
        if low >= high {
            return self.outwards(low, 0, count);
        }
        let found = self.bisect(low, high)?;
        // A result at the end of the window does not exclude records beyond it.
        if found == low && low > 0 {
            return self.outwards(low - 1, 0, low);
        }
        if found == high && high < count {
            return self.outwards(high, high, count);
        }
        Some(found)
    }

    fn by_restarts(&self, count: usize) -> Option<usize> {
        // The last restart point whose key is less.
        let (mut low, mut high) = (0, count.div_ceil(RESTART_INTERVAL).saturating_sub(1));
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.is_less(middle * RESTART_INTERVAL)? { low = middle } else { high = middle - 1 }
        }
        (low * RESTART_INTERVAL..count)
            .try_fold(None, |found, index| match found {
                Some(_) => Some(found),
                None => Some((!self.is_less(index)?).then_some(index)),
            })
            .map(|found| found.unwrap_or(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_way_finds_the_same_place(
            mut stored in proptest::collection::vec(proptest::collection::vec(0_u8..4, 10), 1..90),
            rest in proptest::collection::vec(0_u8..4, 0..12),
            share in 0.0_f32..=1.0,
            first in 0_usize..100,
            last in 0_usize..100,
        ) {
            stored.sort();
            let bytes = stored.concat();
            let keys = FixedKeys { bytes: &bytes, length: 10, rest: &rest, number: key_prefix_at(&rest, 0) };
            let expected = stored.partition_point(|key| key < &rest);
            let count = stored.len();
            prop_assert_eq!(keys.outwards((share * count as f32) as usize, 0, count), Some(expected));
            prop_assert_eq!(keys.between(first, last, count), Some(expected));
            prop_assert_eq!(keys.by_restarts(count), Some(expected));
        }
    }
}
