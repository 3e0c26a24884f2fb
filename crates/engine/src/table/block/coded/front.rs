//! Front-coded keys of a coded block: keys of any length, each as the number of bytes that it shares with the one
//! before, and a suffix.
//!
//! ```text
//! start of suffixes u64 | ends of prefixes | prefixes | lead-in | columns: shared bytes, ends of suffixes
//! ... further columns | suffixes | values
//! ```
//!
//! All keys of a group begin with its *prefix*. Each 16th record of a group is a *restart*: its key is the prefix and
//! the suffix, so that a search bisects the restarts and reads the records after one of them. A block may begin between
//! restarts: the *lead-in* is what its first key shares with the key before it, without the prefix. Ends of prefixes
//! count from the first prefix, and the last one is that of the lead-in; ends of suffixes count from the stored start.

use super::{CodedBlock, CodedParts, KEY_WINDOW_BYTES_MAX};
use crate::table::block::columns::ColumnRows;
use crate::table::block::parts::SplitKey;
use ogive_model::coded::common_prefix;
use ogive_model::column::{self, Column, ColumnGroup, GROUP_NUMBERS};
use std::cmp::Ordering;
use std::ops::Range;

/// Records from one restart to the next, as in LevelDB: a search reads 8 of them on average, and a restart costs the
/// bytes that its key shares with the one before.
pub(in crate::table) const FRONT_RESTART_RECORDS: usize = 16;
/// Longest prefix of a group, which limits what a decoded group takes; then a group spends 16 bytes a key on it.
pub(in crate::table) const FRONT_PREFIX_BYTES_MAX: usize = 1024;
/// Most bytes beyond the prefix that a key shares with the one before: the window of a key that is put together.
pub(in crate::table) const FRONT_SHARED_BYTES_MAX: usize = KEY_WINDOW_BYTES_MAX;
/// Bytes of a copy of fixed length, which takes no call: most keys of text share fewer bytes, and add fewer.
const COPIED_BYTES: usize = 16;
/// Bytes before the ends of prefixes.
const FRONT_HEAD_BYTES: usize = 8;

/// The fitted columns of front-coded keys.
#[derive(Clone, Debug)]
pub(in crate::table) struct FrontParts<'a> {
    /// Length of the prefix of each group.
    pub(in crate::table) prefixes: Vec<usize>,
    pub(in crate::table) shared: &'a [ColumnGroup],
    pub(in crate::table) suffix_ends: &'a [ColumnGroup],
    /// The end of each suffix, and of the one before the first.
    pub(in crate::table) ends: &'a [u64],
    pub(in crate::table) from: u64,
}

impl FrontParts<'_> {
    /// Bytes of the suffix of a record.
    fn suffix_bytes(&self, row: usize) -> usize {
        (self.ends[row] - row.checked_sub(1).map_or(self.from, |before| self.ends[before])) as usize
    }
}

/// Bytes of front-coded keys before the columns, without the prefixes of the groups and the lead-in.
pub(in crate::table) fn front_head_bytes(groups: usize, start_bytes: usize) -> usize {
    FRONT_HEAD_BYTES + (groups + 1) * start_bytes
}

/// Appends what precedes the columns.
pub(super) fn encode_head(
    (front, lead): (&FrontParts<'_>, usize),
    rows: &impl ColumnRows,
    start_bytes: usize,
    raw: &mut Vec<u8>,
) {
    raw.extend_from_slice(&front.from.to_le_bytes());
    let mut prefixes = Vec::new();
    for (group, &prefix) in front.prefixes.iter().enumerate() {
        prefixes.extend_from_slice(&rows.key((group * GROUP_NUMBERS).saturating_sub(lead))[..prefix]);
        raw.extend_from_slice(&(prefixes.len() as u32).to_le_bytes()[..start_bytes]);
    }
    let first = rows.key(0);
    let shared = first.len() - front.suffix_bytes(0);
    prefixes.extend_from_slice(&first[front.prefixes.first().map_or(0, |&prefix| prefix)..shared]);
    raw.extend_from_slice(&(prefixes.len() as u32).to_le_bytes()[..start_bytes]);
    raw.extend_from_slice(&prefixes);
}

/// Appends the columns.
pub(super) fn encode_columns(
    (front, parts): (&FrontParts<'_>, &CodedParts<'_>),
    rows: &impl ColumnRows,
    start_bytes: usize,
    raw: &mut Vec<u8>,
) {
    let shared = |row: usize| (rows.key(row).len() - front.suffix_bytes(row)) as u64;
    column::encode(front.shared, parts.lead, parts.count, start_bytes, shared, raw);
    column::encode(front.suffix_ends, parts.lead, parts.count, start_bytes, |row| front.ends[row], raw);
}

/// Appends the suffixes.
pub(super) fn encode_suffixes(front: &FrontParts<'_>, rows: &impl ColumnRows, raw: &mut Vec<u8>) {
    for row in 0..front.ends.len() {
        let key = rows.key(row);
        raw.extend_from_slice(&key[key.len() - front.suffix_bytes(row)..]);
    }
}

/// The end of what precedes the columns of a block of `groups` groups.
pub(super) fn head_end(body: &[u8], at: usize, groups: usize, start_bytes: usize) -> Option<usize> {
    let prefixes_at = at.checked_add(front_head_bytes(groups, start_bytes))?;
    let last = stored_end(body, prefixes_at.checked_sub(start_bytes)?, start_bytes)?;
    prefixes_at.checked_add(last).filter(|&end| end <= body.len())
}

/// A stored end of `bytes` bytes.
#[inline]
fn stored_end(raw: &[u8], at: usize, bytes: usize) -> Option<usize> {
    let mut word = [0; 4];
    word.get_mut(..bytes)?.copy_from_slice(raw.get(at..at + bytes)?);
    Some(u32::from_le_bytes(word) as usize)
}

/// The order of the key that consists of `parts` relative to `key`, and the number of bytes that they share.
fn against(parts: [&[u8]; 3], key: &[u8]) -> (Ordering, usize) {
    let mut shared = 0;
    for part in parts {
        let rest = key.get(shared..).unwrap_or_default();
        let common = common_prefix(part, rest);
        shared += common;
        if common < part.len() {
            return (part.get(common).cmp(&rest.get(common)), shared);
        }
    }
    (shared.cmp(&key.len()), shared)
}

/// The columns of front-coded keys.
struct FrontColumns {
    shared: Column,
    ends: Column,
    from: u64,
}

/// Decoded keys of one group, one after another.
#[derive(Debug, Default)]
pub(crate) struct FrontKeys {
    rows: Range<usize>,
    keys: Vec<u8>,
    /// Where each key begins, and where the last one ends.
    borders: Vec<usize>,
    shared: Vec<u64>,
    ends: Vec<u64>,
}

impl FrontKeys {
    /// Forgets what is decoded, so that keys of another block can follow.
    pub(in crate::table) fn clear(&mut self) {
        self.rows = 0..0;
    }

    /// The key of a record whose group is decoded.
    #[inline]
    pub(in crate::table) fn key(&self, row: usize) -> Option<&[u8]> {
        let &[begin, end] = self.borders.get(row.checked_sub(self.rows.start)?..)?.first_chunk()?;
        self.keys.get(begin..end)
    }

    /// Decodes the group of a record unless that has been done; `None` if it is malformed.
    pub(in crate::table) fn load(&mut self, block: &CodedBlock, raw: &[u8], row: usize) -> Option<()> {
        if self.rows.contains(&row) {
            return Some(());
        }
        let rows = block.rows_with(row)?;
        self.clear();
        let columns = block.front_columns(raw)?;
        let prefix = block.front_prefix(raw, block.group_of(row))?;
        [&mut self.shared, &mut self.ends].iter_mut().for_each(|numbers| numbers.clear());
        columns.shared.decode(raw, rows.clone(), &mut self.shared)?;
        columns.ends.decode(raw, rows.clone(), &mut self.ends)?;
        let mut begin = block.suffix_begin(raw, &columns, rows.start)?;
        // Before the first key comes what it shares.
        let before = [prefix, block.lead_in(raw, rows.start)?].concat();
        let suffixes = block.suffix_at(&columns, *self.ends.last()?)?.checked_sub(begin)?;
        let shared_max = (prefix.len() + FRONT_SHARED_BYTES_MAX) as u64;
        let shared =
            self.shared.iter().try_fold(0, |bytes, &shared| Some(bytes + shared).filter(|_| shared <= shared_max));
        self.keys.clear();
        self.keys.resize(before.len() + suffixes + shared? as usize + COPIED_BYTES, 0);
        self.keys.get_mut(..before.len())?.copy_from_slice(&before);
        self.borders.clear();
        let (mut from, mut place) = (0, before.len());
        for (&shared, &end) in self.shared.iter().zip(&self.ends) {
            let (shared, end) = (shared as usize, block.suffix_at(&columns, end)?);
            let suffix = end.checked_sub(begin)?;
            (from + shared <= place).then_some(())?;
            self.borders.push(place);
            match self.keys.get(from..)?.first_chunk::<COPIED_BYTES>() {
                Some(&bytes) if shared <= COPIED_BYTES => *self.keys.get_mut(place..)?.first_chunk_mut()? = bytes,
                _ => self.keys.copy_within(from..from + shared, place),
            }
            from = place;
            place += shared;
            match raw.get(begin..)?.first_chunk::<COPIED_BYTES>() {
                Some(bytes) if suffix <= COPIED_BYTES => *self.keys.get_mut(place..)?.first_chunk_mut()? = *bytes,
                _ => self.keys.get_mut(place..place + suffix)?.copy_from_slice(raw.get(begin..end)?),
            }
            place += suffix;
            begin = end;
        }
        self.borders.push(place);
        self.rows = rows;
        Some(())
    }
}

impl CodedBlock {
    /// Whether keys are front-coded.
    #[inline]
    pub(in crate::table) fn is_front(&self) -> bool {
        self.suffixes_at > 0
    }

    fn group_of(&self, row: usize) -> usize {
        (usize::from(self.lead) + row) / GROUP_NUMBERS
    }

    /// Number of groups.
    pub(super) fn groups(&self) -> usize {
        (usize::from(self.lead) + self.count()).div_ceil(GROUP_NUMBERS)
    }

    fn front_columns(&self, raw: &[u8]) -> Option<FrontColumns> {
        let shared = self.column(raw, self.words_at)?;
        let ends = self.column(raw, shared.end() as u32)?;
        let from = u64::from_le_bytes(*raw.get(self.literals_at as usize..)?.first_chunk()?);
        Some(FrontColumns { shared, ends, from })
    }

    /// The prefix of a group; after those of all groups, the lead-in.
    #[inline]
    fn front_prefix<'a>(&self, raw: &'a [u8], group: usize) -> Option<&'a [u8]> {
        let width = usize::from(self.start_bytes);
        let ends_at = self.literals_at as usize + FRONT_HEAD_BYTES;
        let prefixes_at = ends_at + (self.groups() + 1) * width;
        let end = stored_end(raw, ends_at + group * width, width)?;
        let begin = group.checked_sub(1).map_or(Some(0), |before| stored_end(raw, ends_at + before * width, width))?;
        raw.get(prefixes_at + begin..prefixes_at + end).filter(|prefix| prefix.len() <= FRONT_PREFIX_BYTES_MAX)
    }

    /// What the first key of the block has between prefix and suffix; nothing for other keys.
    #[inline]
    fn lead_in<'a>(&self, raw: &'a [u8], row: usize) -> Option<&'a [u8]> {
        if row > 0 { Some(&[]) } else { self.front_prefix(raw, self.groups()) }
    }

    /// The offset of a place among the suffixes.
    #[inline]
    fn suffix_at(&self, columns: &FrontColumns, end: u64) -> Option<usize> {
        let at = (self.suffixes_at as usize).checked_add(usize::try_from(end.checked_sub(columns.from)?).ok()?)?;
        (at <= self.values_at as usize).then_some(at)
    }

    #[inline]
    fn suffix_begin(&self, raw: &[u8], columns: &FrontColumns, row: usize) -> Option<usize> {
        match row.checked_sub(1) {
            Some(before) => self.suffix_at(columns, columns.ends.get(raw, before)?),
            None => Some(self.suffixes_at as usize),
        }
    }

    #[inline]
    fn suffix<'a>(&self, raw: &'a [u8], columns: &FrontColumns, row: usize) -> Option<&'a [u8]> {
        raw.get(self.suffix_begin(raw, columns, row)?..self.suffix_at(columns, columns.ends.get(raw, row)?)?)
    }

    /// Bytes of all suffixes.
    pub(super) fn suffix_bytes(&self, raw: &[u8]) -> Option<u32> {
        let columns = self.front_columns(raw)?;
        let last = columns.ends.get(raw, self.count().checked_sub(1)?)?;
        u32::try_from(last.checked_sub(columns.from)?).ok()
    }

    /// The restart that a record follows, or the first record of the block.
    fn restart_of(&self, row: usize) -> usize {
        let lead = usize::from(self.lead);
        let at = lead + row;
        (at - at % FRONT_RESTART_RECORDS).saturating_sub(lead)
    }

    /// A key, put together from the records since the last restart.
    pub(super) fn front_key<'a>(&self, raw: &'a [u8], row: usize) -> Option<SplitKey<'a>> {
        if row >= self.count() {
            return None;
        }
        let columns = self.front_columns(raw)?;
        let prefix = self.front_prefix(raw, self.group_of(row))?;
        let shared = columns.shared.run(raw, row)?;
        let beyond_prefix = |row: usize| {
            let shared = usize::try_from(shared.get((usize::from(self.lead) + row) % GROUP_NUMBERS)?).ok()?;
            shared.checked_sub(prefix.len())
        };
        let mut key = SplitKey::with_window(prefix, beyond_prefix(row)?)?.followed_by(self.suffix(raw, &columns, row)?);
        let window = key.window_mut();
        let mut put = |at: usize, bytes: &[u8]| {
            if let Some(place) = window.get_mut(at..) {
                let length = place.len().min(bytes.len());
                place[..length].copy_from_slice(&bytes[..length]);
            }
        };
        let restart = self.restart_of(row);
        put(0, self.lead_in(raw, restart)?);
        for before in restart..row {
            put(beyond_prefix(before)?, self.suffix(raw, &columns, before)?);
        }
        Some(key)
    }

    /// As [`Self::search`], for front-coded keys.
    pub(super) fn front_search(&self, raw: &[u8], key: &[u8]) -> Option<(usize, bool)> {
        let columns = self.front_columns(raw)?;
        let compare = |row: usize| {
            let prefix = self.front_prefix(raw, self.group_of(row))?;
            Some(against([prefix, self.lead_in(raw, row)?, self.suffix(raw, &columns, row)?], key))
        };
        // Restarts, counted as if the first group were whole: the first of them is the first record.
        let lead = usize::from(self.lead);
        let row_of = |restart: usize| (restart * FRONT_RESTART_RECORDS).saturating_sub(lead);
        let first = lead / FRONT_RESTART_RECORDS;
        let end = (lead + self.count()).div_ceil(FRONT_RESTART_RECORDS);
        let (mut low, mut high, mut shared, mut is_key_after) = (first, end, 0, false);
        while low < high {
            let middle = low + (high - low) / 2;
            match compare(row_of(middle))? {
                (Ordering::Less, common) => (low, shared) = (middle + 1, common),
                (order, _) => (high, is_key_after) = (middle, order == Ordering::Equal),
            }
        }
        if low == first {
            return Some((0, is_key_after));
        }
        // `shared` bytes of the key are those of the record before, which is less.
        let (limit, before) = (if high == end { self.count() } else { row_of(high) }, row_of(low - 1));
        // The records between two restarts are in one group.
        let (shared_run, ends) = (columns.shared.run(raw, before)?, columns.ends.run(raw, before)?);
        for row in before + 1..limit {
            let position = (lead + row) % GROUP_NUMBERS;
            let kept = usize::try_from(shared_run.get(position)?).ok()?;
            if kept > shared {
                continue;
            }
            let begin = self.suffix_at(&columns, ends.get(position - 1)?)?;
            let suffix = raw.get(begin..self.suffix_at(&columns, ends.get(position)?)?)?;
            let rest = key.get(kept..)?;
            let common = common_prefix(suffix, rest);
            match suffix.get(common).cmp(&rest.get(common)) {
                Ordering::Less => shared = kept + common,
                Ordering::Equal => return Some((row, true)),
                Ordering::Greater => return Some((row, false)),
            }
        }
        Some((limit, is_key_after))
    }

    /// Whether every key can be put together.
    pub(super) fn front_is_canonical(&self, raw: &[u8]) -> bool {
        let (mut keys, mut row) = (FrontKeys::default(), 0);
        while row < self.count() {
            let Some(rows) = self.rows_with(row).filter(|_| keys.load(self, raw, row).is_some()) else { return false };
            row = rows.end;
        }
        true
    }
}
