//! Partitions: parts of a set of keys with about equal numbers of rows.

use crate::key_set::{KeyRange, KeySet};
use crate::relation::{Relation, RowCount};
use datafusion::error::Result;
use std::ops::Bound;

/// Fewest rows of a partition: fewer are read faster by one thread than they are handed to another.
const PARTITION_ROWS_MIN: u64 = 16 << 10;
/// Fewest ranges of a partition of several: those that take another thread several times as long as it is handed them.
const PARTITION_RANGES_MIN: usize = 256;

/// The rows of a set of keys; of one range, by reading its two ends.
pub(crate) fn count(relation: &dyn Relation, keys: &KeySet) -> Result<RowCount> {
    match (keys.points(), keys.only_range()) {
        (Some(keys), _) if keys.len() == 0 => Ok(RowCount::exact(0)),
        // One block is read when a key is looked up, and not another one before.
        (Some(keys), _) => Ok(RowCount::about((keys.len() as u64).min(relation.rows().rows))),
        _ if keys.is_all() => Ok(relation.rows()),
        (_, Some(range)) => relation.count(range),
        _ => Ok(RowCount::about(relation.rows().rows)),
    }
}

/// Cuts a set of keys into at most `most` parts, ascending.
///
/// One range is cut at the keys of equally distant positions, so that parts differ by one row, unless records of one
/// key lie across a cut: they stay together. Several ranges are dealt out in equal numbers.
pub(crate) fn cut(relation: &dyn Relation, keys: &KeySet, rows: u64, most: usize) -> Result<Vec<KeySet>> {
    match keys.only_range() {
        Some(range) => {
            let parts = (rows / PARTITION_ROWS_MIN).clamp(1, most.max(1) as u64);
            let cuts = if parts > 1 { relation.cuts(range, parts)? } else { Vec::new() };
            Ok(cut_at(range, cuts))
        }
        // A scan has a partition, even if it has no rows.
        None => Ok(keys.parts(most, PARTITION_RANGES_MIN)),
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
        if part.len() > 0 && start != Bound::Included(cut.clone()) {
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
    if let Some(range) = keys.only_range() {
        // Behind the last row there is no key; where rows are not counted, all are in the range of the first byte.
        let start = match (from, relation.key_at(range, from, bytes)?) {
            (0, _) => range.0.clone(),
            (_, Some(key)) => Bound::Included(key),
            (_, None) => return Ok(KeySet::none()),
        };
        let end = relation.key_at(range, to, bytes)?.filter(|_| to < bytes).map_or(range.1.clone(), Bound::Excluded);
        return Ok(KeySet::of(vec![(start, end)]).intersection(keys));
    }
    // A range is in the part that has the byte at its place, and places ascend.
    let first_from = |byte: u64| (u128::from(byte) * keys.len() as u128).div_ceil(u128::from(bytes.max(1))) as usize;
    Ok(keys.part(first_from(from)..first_from(to).min(keys.len())))
}
