//! The in-memory sort of rows of one width.
//!
//! It moves the rows themselves, not references to them: for these widths that causes fewer cache misses. It sorts by a
//! *key prefix*: the eight bytes after the common prefix of all keys, as an integer. Three steps:
//!
//! 1. input larger than the cache is partitioned in place by the highest eight bits in which key prefixes differ (an
//!    American flag sort), repeatedly;
//! 2. a part that fits the cache is sorted by the highest bits that distinguish its rows, about five more than the
//!    logarithm of their number, from the lowest digit to the highest (a radix sort);
//! 3. neighbours that these bits do not distinguish are put in order by insertion sort, or, where keys cluster and that
//!    would take long, by a comparison sort.
//!
//! Source: McIlroy, Bostic, McIlroy, "Engineering radix sort" (1993) for the first; the idea that few bits suffice for
//! evenly spread keys, such as those of a learned partition, is that of Kristo et al., "The case for a learned sorting
//! algorithm" (SIGMOD 2020).

use std::cmp::Ordering;

/// Most bits of a radix digit: the counters fit the first-level cache.
const DIGIT_BITS_MAX: u32 = 11;
/// Bits beyond the logarithm of the number of rows: they distinguish nearly all evenly spread rows.
const EXTRA_BITS: u32 = 5;
/// Most moves of an insertion sort, per row, before it gives way to a comparison sort.
const INSERTION_MOVES_MAX: usize = 8;
/// Up to this many rows, a comparison sort is the fastest.
const COMPARISON_SORT_ROWS_MAX: usize = 96;
/// Parts of an American flag sort, as bits and as a number.
const FLAG_BITS: u32 = 8;
const FLAG_PARTS: usize = 1 << FLAG_BITS;

/// The layout of sort keys in rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SortKey {
    /// Bytes of a key.
    key: usize,
    /// Length of the common prefix of all keys, at most all but eight bytes.
    skip: usize,
    /// Mask of the key's bits in the eight bytes after the prefix.
    mask: u64,
}

impl SortKey {
    /// Keys of `key` bytes, without a known common prefix.
    pub(crate) fn new(key: usize) -> Self {
        let mask = if key >= 8 { u64::MAX } else { !(u64::MAX.checked_shr(8 * key as u32).unwrap_or(0)) };
        Self { key, skip: 0, mask }
    }

    /// The same keys, with the common prefix of these rows.
    fn narrowed<const N: usize>(self, rows: &[[u8; N]]) -> Self {
        let Some(first) = rows.first() else { return self };
        let mut differs = [0; N];
        for row in rows {
            for (difference, (a, b)) in differs.iter_mut().zip(row.iter().zip(first)) {
                *difference |= a ^ b;
            }
        }
        let common = differs.iter().take(self.key).position(|&byte| byte != 0).unwrap_or(self.key);
        Self { skip: common.min(self.key.saturating_sub(8)), ..self }
    }

    /// The key prefix of a row as an integer, its primary sort key.
    #[inline]
    pub(crate) fn key_prefix<const N: usize>(&self, row: &[u8; N]) -> u64 {
        match row.get(self.skip..).and_then(|rest| rest.first_chunk::<8>()) {
            Some(word) => u64::from_be_bytes(*word) & self.mask,
            None => {
                let mut word = [0; 8];
                for (target, byte) in word.iter_mut().zip(row) {
                    *target = *byte;
                }
                u64::from_be_bytes(word) & self.mask
            }
        }
    }

    /// The order of two rows.
    #[inline]
    pub(crate) fn compare<const N: usize>(&self, a: &[u8; N], b: &[u8; N]) -> Ordering {
        let by_prefix = self.key_prefix(a).cmp(&self.key_prefix(b));
        if self.skip + 8 >= self.key {
            return by_prefix;
        }
        let behind = self.skip + 8..self.key;
        by_prefix.then_with(|| a.get(behind.clone()).cmp(&b.get(behind.clone())))
    }
}

/// Sorts rows by key. `scratch` is working memory, ideally for as many rows as fit a core's cache.
pub(crate) fn sort_rows<const N: usize>(rows: &mut [[u8; N]], key: usize, scratch: &mut Vec<[u8; N]>) {
    if rows.is_sorted_by(|a, b| SortKey::new(key).compare(a, b).is_le()) {
        return;
    }
    let sort_key = SortKey::new(key).narrowed(rows);
    sort_part(rows, sort_key, scratch);
}

/// The smallest and the largest key prefix.
fn prefix_range<const N: usize>(rows: &[[u8; N]], sort_key: SortKey) -> (u64, u64) {
    rows.iter().fold((u64::MAX, 0), |(low, high), row| {
        let key_prefix = sort_key.key_prefix(row);
        (low.min(key_prefix), high.max(key_prefix))
    })
}

fn bits_of(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

fn sort_part<const N: usize>(rows: &mut [[u8; N]], sort_key: SortKey, scratch: &mut Vec<[u8; N]>) {
    if rows.len() <= COMPARISON_SORT_ROWS_MAX {
        return rows.sort_unstable_by(|a, b| sort_key.compare(a, b));
    }
    let (low, high) = prefix_range(rows, sort_key);
    if rows.len() <= scratch.capacity() {
        sort_in_cache(rows, sort_key, low, bits_of(high - low), scratch);
    } else if low == high {
        rows.sort_unstable_by(|a, b| sort_key.compare(a, b));
    } else {
        let ends = partition_by_flags(rows, sort_key, low, bits_of(high - low).saturating_sub(FLAG_BITS));
        let mut start = 0;
        for end in ends {
            sort_part(&mut rows[start..end], sort_key, scratch);
            start = end;
        }
    }
}

/// Partitions rows in place by `(prefix - low) >> shift`, which is below [`FLAG_PARTS`]; returns the end of each part.
fn partition_by_flags<const N: usize>(
    rows: &mut [[u8; N]],
    sort_key: SortKey,
    low: u64,
    shift: u32,
) -> [usize; FLAG_PARTS] {
    let flag = |row: &[u8; N]| ((sort_key.key_prefix(row) - low) >> shift) as usize % FLAG_PARTS;
    let mut counts = [0; FLAG_PARTS];
    rows.iter().for_each(|row| counts[flag(row)] += 1);
    let (mut next, mut ends) = ([0; FLAG_PARTS], [0; FLAG_PARTS]);
    let mut total = 0;
    for ((next, end), count) in next.iter_mut().zip(&mut ends).zip(counts) {
        *next = total;
        total += count;
        *end = total;
    }
    for part in 0..FLAG_PARTS {
        while next[part] < ends[part] {
            let at = next[part];
            let mut row = rows[at];
            let mut belongs = flag(&row);
            // Each row moves to its part and displaces another, which moves on, until the cycle closes.
            while belongs != part {
                std::mem::swap(&mut row, &mut rows[next[belongs]]);
                next[belongs] += 1;
                belongs = flag(&row);
            }
            rows[at] = row;
            next[part] += 1;
        }
    }
    ends
}

/// Radix sort of rows whose key prefixes lie within `2^bits` of `low`.
fn sort_in_cache<const N: usize>(
    rows: &mut [[u8; N]],
    sort_key: SortKey,
    low: u64,
    bits: u32,
    scratch: &mut Vec<[u8; N]>,
) {
    let wanted = bits.min(bits_of(rows.len() as u64) + EXTRA_BITS);
    if wanted > 0 {
        let passes = wanted.div_ceil(DIGIT_BITS_MAX);
        let digit_bits = wanted.div_ceil(passes);
        let shift = bits - wanted;
        scratch.clear();
        scratch.extend_from_slice(rows);
        let mut in_scratch = true;
        for pass in 0..passes {
            let digit = RadixDigit { low, shift: shift + pass * digit_bits, mask: (1 << digit_bits) - 1 };
            if in_scratch {
                scatter(scratch, rows, sort_key, digit);
            } else {
                scatter(rows, scratch, sort_key, digit);
            }
            in_scratch = !in_scratch;
        }
        if in_scratch {
            rows.copy_from_slice(scratch);
        }
    }
    if !insertion_sort(rows, sort_key) {
        rows.sort_unstable_by(|a, b| sort_key.compare(a, b));
    }
}

#[derive(Clone, Copy)]
struct RadixDigit {
    low: u64,
    shift: u32,
    mask: u64,
}

/// Copies rows in the order of one digit; stable.
fn scatter<const N: usize>(from: &[[u8; N]], to: &mut [[u8; N]], sort_key: SortKey, digit: RadixDigit) {
    let value = |row: &[u8; N]| (((sort_key.key_prefix(row) - digit.low) >> digit.shift) & digit.mask) as usize;
    let mut next = [0_u32; 1 << DIGIT_BITS_MAX];
    from.iter().for_each(|row| next[value(row)] += 1);
    let mut total = 0;
    for slot in next.iter_mut().take(digit.mask as usize + 1) {
        total += std::mem::replace(slot, total);
    }
    for row in from {
        let slot = &mut next[value(row)];
        to[*slot as usize] = *row;
        *slot += 1;
    }
}

/// Insertion sort; `false` if it gave up, with all rows still present.
fn insertion_sort<const N: usize>(rows: &mut [[u8; N]], sort_key: SortKey) -> bool {
    let mut moves_left = rows.len().saturating_mul(INSERTION_MOVES_MAX);
    for at in 1..rows.len() {
        let row = rows[at];
        let mut to = at;
        while to > 0 && sort_key.compare(&rows[to - 1], &row).is_gt() {
            rows[to] = rows[to - 1];
            to -= 1;
        }
        if to < at {
            rows[to] = row;
            let moves = at - to;
            if moves > moves_left {
                return false;
            }
            moves_left -= moves;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const N: usize>(keys: impl Iterator<Item = [u8; N]>, key: usize, scratch_rows: usize, what: &str) {
        let rows: Vec<[u8; N]> = keys.collect();
        let mut sorted = rows.clone();
        sort_rows(&mut sorted, key, &mut Vec::with_capacity(scratch_rows));
        assert!(sorted.is_sorted_by(|a, b| a[..key] <= b[..key]), "{what}: {N} {key} {scratch_rows}");
        let (mut all, mut found) = (rows, sorted);
        all.sort();
        found.sort();
        assert!(all == found, "{what}: other rows came out");
    }

    fn row<const N: usize>(number: u64, arrival: u64) -> [u8; N] {
        let mut row = [0; N];
        for (i, byte) in row.iter_mut().enumerate() {
            *byte = (arrival >> (8 * (i % 8))) as u8;
        }
        row[..8].copy_from_slice(&number.to_be_bytes());
        row
    }

    #[test]
    fn rows_of_any_distribution_are_sorted_by_key() {
        let noise = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        type Distribution = (&'static str, fn(u64, u64) -> u64);
        let distributions: [Distribution; 8] = [
            ("uniform", |noise, _| noise),
            ("equal", |_, _| 7),
            ("two", |noise, _| (noise & 1) * u64::MAX),
            ("log-uniform", |noise, _| noise >> (noise % 64)),
            ("crowded", |noise, i| if i % 1000 == 0 { noise } else { (1 << 40) + noise % 5000 }),
            ("ascending", |_, i| i),
            ("descending", |_, i| u64::MAX - i),
            ("ends", |noise, _| if noise % 2 == 0 { noise % 7 } else { u64::MAX - noise % 7 }),
        ];
        for (what, key_of) in distributions {
            for count in [0, 1, 2, 97, 500, 30_000] {
                for scratch_rows in [0, 200, 100_000] {
                    let keys = || (0..count).map(|i| (i, key_of(noise(i), i)));
                    check::<16>(keys().map(|(i, key)| row(key, i)), 8, scratch_rows, what);
                    check::<8>(keys().map(|(i, key)| row(key, i)), 8, scratch_rows, what);
                    check::<24>(keys().map(|(i, key)| row(key, i)), 16, scratch_rows, what);
                    check::<16>(keys().map(|(i, key)| row(key, i)), 3, scratch_rows, what);
                }
            }
        }
    }

    #[test]
    fn long_keys_that_begin_alike_are_told_apart_behind() {
        for differing in [0, 7, 8, 15, 23] {
            let keys = (0..5000_u64).map(|i| {
                let mut row = [b'x'; 32];
                row[differing] = (i * 37 % 251) as u8;
                row[24..].copy_from_slice(&i.to_le_bytes());
                row
            });
            check::<32>(keys, 24, 100_000, "alike");
        }
    }
}
