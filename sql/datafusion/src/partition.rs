//! Partitions: parts of a set of keys with about equal numbers of rows.

use crate::key_set::{KeyRange, KeySet, single};
use crate::relation::{Relation, RowCount};
use datafusion::error::Result;
use std::ops::Bound;

/// Fewest rows of a partition: fewer are read faster by one thread than they are handed to another.
const PARTITION_ROWS_MIN: u64 = 16 << 10;
/// Fewest ranges of a partition of several.
const PARTITION_RANGES_MIN: usize = 4 << 10;

/// The rows of a set of keys; of one range, by reading its two ends.
pub(crate) fn count(relation: &dyn Relation, keys: &KeySet) -> Result<RowCount> {
    match keys.ranges() {
        [] => Ok(RowCount::exact(0)),
        _ if keys.is_all() => Ok(relation.rows()),
        // One block is read when the key is looked up, and not another one before.
        [range] if single(range).is_some() => Ok(RowCount::about(1)),
        [range] => relation.count(range),
        ranges => {
            let points = ranges.iter().filter(|range| single(range).is_some()).count() as u64;
            let rows = if points == ranges.len() as u64 { points } else { relation.rows().rows };
            Ok(RowCount::about(rows.min(relation.rows().rows)))
        }
    }
}

/// Cuts a set of keys into at most `most` parts, ascending.
///
/// One range is cut at the keys of equally distant positions, so that parts differ by one row, unless records of one
/// key lie across a cut: they stay together. Several ranges are dealt out in equal numbers.
pub(crate) fn cut(relation: &dyn Relation, keys: &KeySet, rows: u64, most: usize) -> Result<Vec<KeySet>> {
    let ranges = keys.ranges();
    match ranges {
        // A scan has a partition, even if it has no rows.
        [] => Ok(vec![keys.clone()]),
        [range] if single(range).is_none() => {
            let parts = (rows / PARTITION_ROWS_MIN).clamp(1, most.max(1) as u64);
            let cuts = if parts > 1 { relation.cuts(range, parts)? } else { Vec::new() };
            Ok(cut_at(range, cuts))
        }
        ranges => {
            let parts = most.min(ranges.len().div_ceil(PARTITION_RANGES_MIN)).max(1);
            let size = ranges.len().div_ceil(parts).max(1);
            Ok(ranges.chunks(size).map(|part| KeySet::of(part.to_vec())).collect())
        }
    }
}

/// The parts of a range that begin at these keys, which ascend. Rows of one key stay together, and no part is empty by
/// its bounds.
pub(crate) fn cut_at(range: &KeyRange, cuts: Vec<Vec<u8>>) -> Vec<KeySet> {
    let mut parts = Vec::new();
    let mut start = range.0.clone();
    for cut in cuts {
        let part = KeySet::of(vec![(start.clone(), Bound::Excluded(cut.clone()))]);
        // Rows of one key may reach over several cuts.
        if !part.ranges().is_empty() && start != Bound::Included(cut.clone()) {
            parts.push(part);
            start = Bound::Included(cut);
        }
    }
    parts.push(KeySet::of(vec![(start, range.1.clone())]));
    parts
}

/// The parts of a set of keys that begin at these keys, which ascend; one more than there are keys, some perhaps empty.
pub(crate) fn cut_exactly(keys: &KeySet, starts: &[Vec<u8>]) -> Vec<KeySet> {
    let first = std::iter::once(Bound::Unbounded).chain(starts.iter().cloned().map(Bound::Included));
    let last = starts.iter().cloned().map(Bound::Excluded).chain([Bound::Unbounded]);
    first.zip(last).map(|range| KeySet::of(vec![range]).intersection(keys)).collect()
}

/// The part of a set of keys that a range of the bytes of a file stands for, of `bytes` in all, so that each row is in
/// the part of exactly one of any disjoint ranges.
pub(crate) fn split(relation: &dyn Relation, keys: &KeySet, (from, to): (u64, u64), bytes: u64) -> Result<KeySet> {
    if from >= to {
        return Ok(KeySet::none());
    }
    let ranges = keys.ranges();
    if let [range] = ranges
        && single(range).is_none()
    {
        // Behind the last row there is no key; where rows are not counted, all are in the range of the first byte.
        let start = match (from, relation.key_at(range, from, bytes)?) {
            (0, _) => range.0.clone(),
            (_, Some(key)) => Bound::Included(key),
            (_, None) => return Ok(KeySet::none()),
        };
        let end = relation.key_at(range, to, bytes)?.filter(|_| to < bytes).map_or(range.1.clone(), Bound::Excluded);
        return Ok(KeySet::of(vec![(start, end)]).intersection(keys));
    }
    let count = ranges.len() as u128;
    let place = |at: usize| at as u128 * u128::from(bytes) / count.max(1);
    let held = ranges.iter().enumerate().filter(|(at, _)| (u128::from(from)..u128::from(to)).contains(&place(*at)));
    Ok(KeySet::of(held.map(|(_, range)| range.clone()).collect()))
}
