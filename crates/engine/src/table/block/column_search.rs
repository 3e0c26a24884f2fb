//! The fast path to a record in a columnar block with keys of one length, driven by a note stored with the cached
//! block.
//!
//! Keys are compared eight bytes at a time, outwards from a predicted position: a good prediction costs one or two
//! cache lines, a bad one as much as a bisection.

use super::coded::CodedNote;
use super::columns::HEAD_BYTES;
use super::parts::VersionTag;
use super::view::BlockView;
use crate::block::cache::BlockNote;
use crate::block::key_prefix_at;
use std::cmp::Ordering;
use std::ops::Range;

/// Flag in the first word of a note: the block is columnar with keys of one length. Notes of other blocks are zeros.
const FIXED_KEYS_FLAG: u32 = 1 << 31;
/// Flag in the first word of a note: the block is coded. Without a number of records, its head says the rest.
const CODED_NOTE_FLAG: u32 = 1 << 30;
/// Bits of the number of records in the note of a coded block; an alphabet follows.
const CODED_COUNT_BITS: u32 = 24;
const CODED_ALPHABET_MASK: u8 = 7;
/// Flags in the last word of a note: records have different kinds; values have ends, of two bytes or of four.
const MIXED_KINDS_FLAG: u32 = 1 << 16;
const VALUE_ENDS_FLAG: u32 = 1 << 17;
const WIDE_ENDS_FLAG: u32 = 1 << 18;
/// LevelDB's distance between restart points.
const RESTART_INTERVAL: usize = 16;

/// The layout of a columnar block whose keys have one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) struct FixedKeyColumns {
    count: usize,
    prefix: usize,
    /// Length of a key without the prefix.
    rest: usize,
    /// Length of a value; meaningless if values have ends.
    value: usize,
    keys_at: usize,
    /// The common kind, size of a sequence number, and flags.
    more: u32,
}

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

/// The result of a search for a version of a present key in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) enum VersionHit {
    Found(usize, VersionTag),
    Absent,
}

/// The first record not less than a key: its index, and whether it has that key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) struct KeyHit {
    pub(in crate::table) index: usize,
    pub(in crate::table) is_key: bool,
}

/// The note of a block.
pub(in crate::table) fn note_of(view: &BlockView<'_>) -> BlockNote {
    if let Some(coded) = view.coded() {
        return coded.note().and_then(pack_coded).unwrap_or([CODED_NOTE_FLAG, 0, 0, 0, 0]);
    }
    let note = || {
        let columns = view.columns().filter(|columns| columns.count > 0 && !view.may_have_long_values())?;
        let flag = |on: bool, flag: u32| if on { flag } else { 0 };
        let more = u32::from(columns.kind.unwrap_or(0))
            | (columns.sequence_bytes as u32) << 8
            | flag(columns.kind.is_none(), MIXED_KINDS_FLAG)
            | flag(columns.value.is_none(), VALUE_ENDS_FLAG)
            | flag(columns.end_bytes > 2, WIDE_ENDS_FLAG);
        let shape = u32::from(u16::try_from(columns.prefix).ok()?) << 16 | u32::from(u16::try_from(columns.key?).ok()?);
        let count = u32::try_from(columns.count).ok().filter(|&count| count < CODED_NOTE_FLAG)?;
        let value = u32::try_from(columns.value.unwrap_or(0)).ok()?;
        Some([FIXED_KEYS_FLAG | count, shape, value, u32::try_from(columns.keys_at).ok()?, more])
    };
    note().unwrap_or_default()
}

fn pack_coded(note: CodedNote) -> Option<BlockNote> {
    let pair = |low: usize| u32::from(note.offsets[low]) | u32::from(note.offsets[low + 1]) << 16;
    let head = CODED_NOTE_FLAG | u32::from(note.alphabet) << CODED_COUNT_BITS | note.count;
    let keys = u32::from(note.prefix) | u32::from(note.window) << 16 | u32::from(note.first_bytes) << 24;
    (note.count < 1 << CODED_COUNT_BITS).then_some([head, keys, pair(0), pair(2), pair(4)])
}

/// Whether a note is that of a coded block.
#[inline]
pub(in crate::table) fn is_coded(note: &BlockNote) -> bool {
    note[0] & (FIXED_KEYS_FLAG | CODED_NOTE_FLAG) == CODED_NOTE_FLAG
}

/// What the note of a coded block says; `None` if its head must be decoded.
#[inline]
pub(in crate::table) fn coded_note(note: &BlockNote) -> Option<CodedNote> {
    let [head, keys, columns @ ..] = *note;
    let count = head & ((1 << CODED_COUNT_BITS) - 1);
    let [one, two, three] = columns.map(|pair| [pair as u16, (pair >> 16) as u16]);
    (count > 0).then_some(CodedNote {
        count,
        alphabet: (head >> CODED_COUNT_BITS) as u8 & CODED_ALPHABET_MASK,
        first_bytes: (keys >> 24) as u8,
        window: (keys >> 16) as u8,
        prefix: keys as u16,
        offsets: [one[0], one[1], two[0], two[1], three[0], three[1]],
    })
}

impl FixedKeyColumns {
    pub(in crate::table) fn of(note: &BlockNote) -> Option<Self> {
        let [head, shape, value, keys_at, more] = *note;
        (head & FIXED_KEYS_FLAG != 0).then_some(Self {
            count: (head & !FIXED_KEYS_FLAG) as usize,
            prefix: (shape >> 16) as usize,
            rest: (shape & 0xFFFF) as usize,
            value: value as usize,
            keys_at: keys_at as usize,
            more,
        })
    }

    /// Kind and sequence number of a record.
    #[inline]
    pub(in crate::table) fn tag(&self, raw: &[u8], index: usize) -> Option<VersionTag> {
        let sequence_bytes = (self.more >> 8 & 0xFF) as usize;
        let kinds_at = self.keys_at - if self.more & MIXED_KINDS_FLAG != 0 { self.count } else { 0 };
        let kind = if self.more & MIXED_KINDS_FLAG != 0 { *raw.get(kinds_at + index)? } else { self.more as u8 };
        let least = u64::from_le_bytes(*raw.get(16..)?.first_chunk()?);
        if sequence_bytes == 0 {
            return Some(VersionTag { kind, sequence: least });
        }
        let at = kinds_at - (self.count - index) * sequence_bytes;
        let mut beyond = [0; 8];
        beyond.get_mut(..sequence_bytes)?.copy_from_slice(raw.get(at..at + sequence_bytes)?);
        Some(VersionTag { kind, sequence: least.checked_add(u64::from_le_bytes(beyond))? })
    }

    /// The range of a value in the block.
    #[inline]
    pub(in crate::table) fn value(&self, raw: &[u8], index: usize) -> Option<Range<usize>> {
        let values_at = self.keys_at + self.count * self.rest;
        if self.more & VALUE_ENDS_FLAG == 0 {
            let at = values_at + index * self.value;
            return Some(at..at + self.value);
        }
        let ends_at = HEAD_BYTES + self.prefix;
        let end = |index: usize| match self.more & WIDE_ENDS_FLAG {
            0 => raw.get(ends_at + 2 * index..)?.first_chunk().map(|end| usize::from(u16::from_le_bytes(*end))),
            _ => raw.get(ends_at + 4 * index..)?.first_chunk().map(|end| u32::from_le_bytes(*end) as usize),
        };
        let begin = if index == 0 { 0 } else { end(index - 1)? };
        Some(values_at + begin..values_at + end(index)?)
    }

    /// The first record at or after `index`, a record of `key`, that has the same key and a sequence number of at most
    /// `sequence`; `None` if this block has none but the next may.
    pub(in crate::table) fn version(
        &self,
        raw: &[u8],
        key: &[u8],
        mut index: usize,
        sequence: u64,
    ) -> Option<VersionHit> {
        loop {
            let tag = self.tag(raw, index)?;
            if tag.sequence <= sequence {
                return Some(VersionHit::Found(index, tag));
            }
            index += 1;
            if index == self.count {
                return None;
            }
            let at = self.keys_at + index * self.rest;
            if raw.get(at..at + self.rest)? != key.get(self.prefix..)? {
                return Some(VersionHit::Absent);
            }
        }
    }

    /// Number of records.
    pub(in crate::table) fn count(&self) -> usize {
        self.count
    }

    /// The first record whose key is not less than `key`; `None` if the block is not what the note says.
    #[inline]
    pub(in crate::table) fn search(&self, raw: &[u8], key: &[u8], hint: SearchHint) -> Option<KeyHit> {
        let prefix = raw.get(HEAD_BYTES..HEAD_BYTES + self.prefix)?;
        match key.get(..self.prefix).unwrap_or(key).cmp(prefix) {
            Ordering::Less => return Some(KeyHit { index: 0, is_key: false }),
            Ordering::Greater => return Some(KeyHit { index: self.count, is_key: false }),
            Ordering::Equal => {}
        }
        let keys = FixedKeys {
            bytes: raw.get(self.keys_at..self.keys_at + self.count * self.rest)?,
            length: self.rest,
            rest: key.get(self.prefix..)?,
            number: key_prefix_at(key, self.prefix),
        };
        let index = match hint {
            SearchHint::Share(share) => keys.outwards((share * self.count as f32) as usize, 0, self.count)?,
            SearchHint::Between(first, last) => keys.between(first, last, self.count)?,
            SearchHint::Restarts => keys.by_restarts(self.count)?,
        };
        let is_key = index < self.count && keys.compare(index)? == Ordering::Equal;
        Some(KeyHit { index, is_key })
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
        let (mut low, mut high) = (0, count.div_ceil(RESTART_INTERVAL) - 1);
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
