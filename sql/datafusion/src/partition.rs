//! Partitions: parts of a set of keys with equal numbers of rows.

use crate::key_set::{KeyRange, KeySet, single};
use ogive::{Result, Table};
use std::ops::Bound;

/// Fewest rows of a partition: fewer are read faster by one thread than they are handed to another.
const PARTITION_ROWS_MIN: u64 = 16 << 10;

/// The rows of a set of keys, if they are known without reading more than two blocks; else about.
pub(crate) fn count(table: &Table, keys: &KeySet) -> Result<(u64, bool)> {
    match keys.ranges() {
        [] => Ok((0, true)),
        [all] if *all == (Bound::Unbounded, Bound::Unbounded) => Ok((table.len(), true)),
        [range] => Ok((table.count::<Vec<u8>>(range.clone())?, true)),
        ranges => Ok(((ranges.len() as u64).min(table.len()), false)),
    }
}

/// Cuts a set of keys into at most `most` parts.
///
/// One range is cut at the keys of equally distant positions, so that parts differ by one row, unless records of one
/// key lie across a cut: they stay together. Several ranges are dealt out in equal numbers.
pub(crate) fn cut(table: &Table, keys: &KeySet, most: usize) -> Result<Vec<KeySet>> {
    let ranges = keys.ranges();
    if ranges.is_empty() {
        // A scan has a partition, even if it has no rows.
        return Ok(vec![keys.clone()]);
    }
    if let [range] = ranges
        && single(range).is_none()
    {
        return cut_range(table, range, most);
    }
    let parts = most.min(ranges.len().div_ceil(POINTS_MIN)).max(1);
    let size = ranges.len().div_ceil(parts).max(1);
    Ok(ranges.chunks(size).map(|part| KeySet::of(part.to_vec())).collect())
}

/// Fewest ranges of a partition of several.
const POINTS_MIN: usize = 4 << 10;

fn cut_range(table: &Table, range: &KeyRange, most: usize) -> Result<Vec<KeySet>> {
    let rows = match range {
        (Bound::Unbounded, Bound::Unbounded) => table.len(),
        range => table.count::<Vec<u8>>(range.clone())?,
    };
    let parts = (rows / PARTITION_ROWS_MIN).clamp(1, most.max(1) as u64);
    let first = match &range.0 {
        Bound::Unbounded => 0,
        Bound::Included(key) => table.rank(key)?,
        Bound::Excluded(key) => table.count::<Vec<u8>>((Bound::Unbounded, Bound::Included(key.clone())))?,
    };
    let mut found = Vec::new();
    let mut start = range.0.clone();
    for part in 1..parts {
        let Some((key, _)) = table.nth(first + rows * part / parts)? else { break };
        let cut = KeySet::of(vec![(start.clone(), Bound::Excluded(key.clone()))]);
        // Records of one key may reach over several cuts.
        if !cut.ranges().is_empty() && start != Bound::Included(key.clone()) {
            found.push(cut);
        }
        start = Bound::Included(key);
    }
    found.push(KeySet::of(vec![(start, range.1.clone())]));
    Ok(found)
}
