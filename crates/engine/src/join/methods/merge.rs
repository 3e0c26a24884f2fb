//! The merge kernel, the last step of every method: turns two row streams in key order into the rows of a join.
//!
//! ```text
//! left    | 3 5 5 | 9 12 ...        chunks, as the streams give them
//! right   | 1 2 5 | 5 7 | 12 ...
//! inner     (5, 5) (5, 5) (5, 5) (5, 5) (12, 12)
//! ```
//!
//! The kernel processes one chunk of each stream at a time; the side with the lesser key gallops. Pairs of rows are
//! collected by row number and passed to the [`RowSink`] in bulk, which builds the rows, since it knows the widths. If
//! a run of equal keys reaches the end of a chunk on either side, [`super::group`] takes over until the run ends.
//!
//! Guarantees: each pair once; rows in key order, rows of one key in any order; left rows in their own order in the
//! kinds of join that return left rows alone. Memory does not depend on the size of the relations.

use super::cursor::StreamCursor;
use super::group::KeyGroup;
use crate::error::Result;
use crate::join::rows::options::{JoinKind, JoinSide};
use crate::join::rows::sink::{PAIR_BATCH_MAX, RowSink};
use crate::join::rows::stream::{RowStream, RowsView};
use crate::join::rows::task::Task;
use crate::types::NullTest;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Both scans of a merge together get 1/2 of its memory.
const SCANS_DIVISOR: u64 = 2;
/// The scan of the smaller relation gets at least 1/8 of the memory of both scans: its requests must not be too short
/// either.
const SCAN_MIN_DIVISOR: u64 = 8;

/// Memory of the scans of a merge out of `memory_bytes`, for relations of these sizes: the larger one gets longer
/// requests.
pub(in crate::join) fn scan_bytes(memory_bytes: u64, relations: [f64; 2]) -> [u64; 2] {
    let [left, right] = relations;
    let both_bytes = memory_bytes / SCANS_DIVISOR;
    let least = both_bytes / SCAN_MIN_DIVISOR;
    let share = (both_bytes as f64 * (left / (left + right).max(1.0))) as u64;
    let left_bytes = share.clamp(least, both_bytes - least);
    [left_bytes, both_bytes - left_bytes]
}

/// Joins two streams in key order and passes the rows to a sink. Calls `done` with the number of rows of each left
/// chunk.
///
/// # Errors
/// Errors of the streams and the sink; [`crate::Cause::Interrupted`]; [`crate::Cause::JoinMemory`] if a run of
/// equal keys exceeds memory and cannot be spilled.
pub(crate) fn join(
    task: &Arc<Task>,
    left: &mut dyn RowStream,
    right: &mut dyn RowStream,
    sink: &mut dyn RowSink,
    group: &mut KeyGroup,
    done: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut pairs = Vec::with_capacity(PAIR_BATCH_MAX);
    let (mut l, mut r) = (StreamCursor::default(), StreamCursor::default());
    let keeps_right = task.kind.keeps_unmatched_right();
    if !l.advance(left, None)? {
        return if keeps_right { emit_rest(task, right, r, sink) } else { Ok(()) };
    }
    let mut right_is_there = r.advance(right, (!keeps_right).then(|| left.rows().key(0)))?;
    done(left.rows().len() as u64);
    loop {
        task.check()?;
        if right_is_there {
            let end = round((task, group), (left, &mut l), (right, &mut r), sink, &mut pairs)?;
            if end == RoundEnd::Run {
                let (left_is_there, right_goes_on) = group.join(task, (left, &mut l), (right, &mut r), sink, done)?;
                right_is_there = right_goes_on;
                if !left_is_there {
                    return if keeps_right && right_goes_on { emit_rest(task, right, r, sink) } else { Ok(()) };
                }
                continue;
            }
        } else if task.kind.keeps_unmatched() {
            let end = left.rows().len();
            emit_unpaired(JoinSide::Left, left, l.at..end, sink)?;
            l.at = end;
        } else {
            return Ok(());
        }
        if right_is_there && r.at >= right.rows().len() {
            let from = (l.at < left.rows().len() && !keeps_right).then(|| left.rows().key(l.at));
            right_is_there = r.advance(right, from)?;
        }
        if l.at >= left.rows().len() {
            let wanted = right_is_there && !task.kind.keeps_unmatched();
            if !l.advance(left, wanted.then(|| right.rows().key(r.at)))? {
                return if keeps_right && right_is_there { emit_rest(task, right, r, sink) } else { Ok(()) };
            }
            done(left.rows().len() as u64);
        }
    }
}

/// Emits the right rows from a position on, none of which has a partner.
fn emit_rest(task: &Task, right: &mut dyn RowStream, mut r: StreamCursor, sink: &mut dyn RowSink) -> Result<()> {
    loop {
        task.check()?;
        let rows = r.at..right.rows().len();
        emit_unpaired(JoinSide::Right, right, rows, sink)?;
        if !r.advance(right, None)? {
            return Ok(());
        }
    }
}

/// The reason why a round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoundEnd {
    /// One of the chunks is exhausted.
    Chunk,
    /// Both are at rows of one key, and at least one of the runs reaches the end of its chunk.
    Run,
}

/// Merges two chunks until one of them ends.
fn round(
    (task, group): (&Task, &KeyGroup),
    (left, l): (&mut dyn RowStream, &mut StreamCursor),
    (right, r): (&mut dyn RowStream, &mut StreamCursor),
    sink: &mut dyn RowSink,
    pairs: &mut Vec<(u32, u32)>,
) -> Result<RoundEnd> {
    if group.needs_values() || l.has_long || (task.kind.pairs() && r.has_long) {
        return round_by_runs((task, group), (left, l), (right, r), sink);
    }
    merge_any_width(task, left.rows(), l, right.rows(), r, sink, pairs)
}

/// As [`round`], for chunks with out-of-line values and for joins with a condition: leaves every pair of runs to the
/// group, unless the values do not matter.
fn round_by_runs(
    (task, group): (&Task, &KeyGroup),
    (left, l): (&mut dyn RowStream, &mut StreamCursor),
    (right, r): (&mut dyn RowStream, &mut StreamCursor),
    sink: &mut dyn RowSink,
) -> Result<RoundEnd> {
    let (kind, needs_values) = (task.kind, group.needs_values());
    loop {
        let (left_keys, right_keys) = (left.rows(), right.rows());
        if l.at >= left_keys.len() || r.at >= right_keys.len() {
            return Ok(RoundEnd::Chunk);
        }
        let (a, b) = (left_keys.key(l.at), right_keys.key(r.at));
        match a.cmp(b) {
            // Rows without partner, too, are those of a key with a null.
            order if order.is_lt() || (order.is_eq() && task.has_null(a)) => {
                let next = first_not_below(&left_keys, l.at, left_keys.len(), b);
                if kind.keeps_unmatched() {
                    emit_unpaired(JoinSide::Left, left, l.at..next, sink)?;
                }
                l.at = next;
            }
            Ordering::Greater => {
                let next = first_not_below(&right_keys, r.at, right_keys.len(), a);
                if kind.keeps_unmatched_right() {
                    emit_unpaired(JoinSide::Right, right, r.at..next, sink)?;
                }
                r.at = next;
            }
            Ordering::Equal if needs_values || kind.pairs() => return Ok(RoundEnd::Run),
            _ => {
                let next = run_end(&left_keys, l.at, left_keys.len());
                if kind == JoinKind::Semi {
                    emit_unpaired(JoinSide::Left, left, l.at..next, sink)?;
                }
                l.at = next;
            }
        }
    }
}

fn merge_any_width(
    task: &Task,
    left: RowsView<'_>,
    l: &mut StreamCursor,
    right: RowsView<'_>,
    r: &mut StreamCursor,
    sink: &mut dyn RowSink,
    pairs: &mut Vec<(u32, u32)>,
) -> Result<RoundEnd> {
    let (kind, l, r) = (task.kind, (left, l), (right, r));
    if let Some(test) = &task.null_test {
        return merge_chunks(kind, (NullableKeys { rows: left, test }, l), (right, r), sink, pairs);
    }
    match (left, right) {
        (
            RowsView::Dense { bytes: left_keys, key: 8, value: one },
            RowsView::Dense { bytes: right_keys, key: 8, value: other },
        ) => {
            let (left_keys, right_keys) = (
                IntegerKeys::<8> { bytes: left_keys, width: 8 + one },
                IntegerKeys::<8> { bytes: right_keys, width: 8 + other },
            );
            merge_chunks(kind, (left_keys, l), (right_keys, r), sink, pairs)
        }
        (
            RowsView::Dense { bytes: left_keys, key: 16, value: one },
            RowsView::Dense { bytes: right_keys, key: 16, value: other },
        ) => {
            let left_keys = IntegerKeys::<16> { bytes: left_keys, width: 16 + one };
            merge_chunks(
                kind,
                (left_keys, l),
                (IntegerKeys::<16> { bytes: right_keys, width: 16 + other }, r),
                sink,
                pairs,
            )
        }
        _ => merge_chunks(kind, (left, l), (right, r), sink, pairs),
    }
}

/// Access to the keys of a chunk by row number.
trait KeyAccess: Copy {
    type Key: Ord + Copy;

    fn at(&self, row: usize) -> Self::Key;

    /// Whether the key of the row has a null, so that it equals no key.
    #[inline]
    fn has_null(&self, row: usize) -> bool {
        let _ = row;
        false
    }
}

/// Keys of `N` bytes in dense rows, as integers.
#[derive(Clone, Copy)]
struct IntegerKeys<'a, const N: usize> {
    bytes: &'a [u8],
    width: usize,
}

impl KeyAccess for IntegerKeys<'_, 8> {
    type Key = u64;

    #[inline]
    fn at(&self, row: usize) -> u64 {
        let at = row * self.width;
        self.bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |key| u64::from_be_bytes(*key))
    }
}

impl KeyAccess for IntegerKeys<'_, 16> {
    type Key = u128;

    #[inline]
    fn at(&self, row: usize) -> u128 {
        let at = row * self.width;
        self.bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |key| u128::from_be_bytes(*key))
    }
}

impl<'a> KeyAccess for RowsView<'a> {
    type Key = &'a [u8];

    #[inline]
    fn at(&self, row: usize) -> &'a [u8] {
        self.key(row)
    }
}

/// Keys that may have nulls.
#[derive(Clone, Copy)]
struct NullableKeys<'a> {
    rows: RowsView<'a>,
    test: &'a NullTest,
}

impl<'a> KeyAccess for NullableKeys<'a> {
    type Key = &'a [u8];

    #[inline]
    fn at(&self, row: usize) -> &'a [u8] {
        self.rows.key(row)
    }

    #[inline]
    fn has_null(&self, row: usize) -> bool {
        self.test.has_null(self.rows.key(row))
    }
}

fn merge_chunks<K: KeyAccess, O: KeyAccess<Key = K::Key>>(
    kind: JoinKind,
    (left_keys, (left, l)): (K, (RowsView<'_>, &mut StreamCursor)),
    (right_keys, (right, r)): (O, (RowsView<'_>, &mut StreamCursor)),
    sink: &mut dyn RowSink,
    pairs: &mut Vec<(u32, u32)>,
) -> Result<RoundEnd> {
    let mut chunks = ChunkPair { left_keys, left, right_keys, right, left_len: left.len(), right_len: right.len() };
    match kind {
        JoinKind::Inner => chunks.pairs::<false, false>(&mut l.at, &mut r.at, sink, pairs),
        JoinKind::Left => chunks.pairs::<true, false>(&mut l.at, &mut r.at, sink, pairs),
        JoinKind::Full => chunks.pairs::<true, true>(&mut l.at, &mut r.at, sink, pairs),
        JoinKind::Semi => chunks.exists::<true>(&mut l.at, &mut r.at, sink),
        JoinKind::Anti => chunks.exists::<false>(&mut l.at, &mut r.at, sink),
    }
}

/// Two chunks to be merged.
struct ChunkPair<'a, K, O> {
    left_keys: K,
    left: RowsView<'a>,
    right_keys: O,
    right: RowsView<'a>,
    left_len: usize,
    right_len: usize,
}

impl<K: KeyAccess, O: KeyAccess<Key = K::Key>> ChunkPair<'_, K, O> {
    /// The order of a left and a right row. A left row whose key has a null comes before right rows of the same key, so
    /// that it has no partner, nor have they.
    #[inline]
    fn order(&self, i: usize, a: K::Key, b: K::Key) -> Ordering {
        match a.cmp(&b) {
            Ordering::Equal if self.left_keys.has_null(i) => Ordering::Less,
            order => order,
        }
    }

    /// Emits the pairs of an inner join, and, if `LEFT` or `RIGHT`, the rows of that side without partner.
    fn pairs<const LEFT: bool, const RIGHT: bool>(
        &mut self,
        l: &mut usize,
        r: &mut usize,
        sink: &mut dyn RowSink,
        pairs: &mut Vec<(u32, u32)>,
    ) -> Result<RoundEnd> {
        let (mut i, mut j) = (*l, *r);
        let mut end = RoundEnd::Chunk;
        while i < self.left_len && j < self.right_len {
            let (a, b) = (self.left_keys.at(i), self.right_keys.at(j));
            match self.order(i, a, b) {
                Ordering::Less => {
                    let next = first_not_below(&self.left_keys, i, self.left_len, b);
                    if LEFT {
                        self.flush(sink, pairs)?;
                        sink.lefts(self.left, i..next)?;
                    }
                    i = next;
                }
                Ordering::Greater => {
                    let next = first_not_below(&self.right_keys, j, self.right_len, a);
                    if RIGHT {
                        self.flush(sink, pairs)?;
                        sink.rights(self.right, j..next)?;
                    }
                    j = next;
                }
                Ordering::Equal => {
                    self.single_pairs(&mut i, &mut j, a, pairs);
                    if pairs.len() >= PAIR_BATCH_MAX {
                        self.flush(sink, pairs)?;
                    }
                    if self.order(i, self.left_keys.at(i), self.right_keys.at(j)).is_ne() {
                        continue;
                    }
                    let next_i = run_end(&self.left_keys, i, self.left_len);
                    let next_j = run_end(&self.right_keys, j, self.right_len);
                    if next_i == self.left_len || next_j == self.right_len {
                        end = RoundEnd::Run;
                        break;
                    }
                    self.cross(i..next_i, j..next_j, sink, pairs)?;
                    (i, j) = (next_i, next_j);
                }
            }
        }
        self.flush(sink, pairs)?;
        (*l, *r) = (i, j);
        Ok(end)
    }

    /// Collects pairs while one left and one right row have the same key and more rows follow on both sides; stops at
    /// the latest when `pairs` is full. `key` is the key of both first rows.
    #[inline]
    fn single_pairs(&self, i: &mut usize, j: &mut usize, key: K::Key, pairs: &mut Vec<(u32, u32)>) {
        let (mut a, mut b) = (key, key);
        while a == b && *i + 1 < self.left_len && *j + 1 < self.right_len && pairs.len() < PAIR_BATCH_MAX {
            let (next_a, next_b) = (self.left_keys.at(*i + 1), self.right_keys.at(*j + 1));
            if next_a == a || next_b == b {
                return;
            }
            if self.left_keys.has_null(*i) {
                return;
            }
            pairs.push((*i as u32, *j as u32));
            (*i, *j, a, b) = (*i + 1, *j + 1, next_a, next_b);
        }
    }

    fn cross(
        &self,
        left: Range<usize>,
        right: Range<usize>,
        sink: &mut dyn RowSink,
        pairs: &mut Vec<(u32, u32)>,
    ) -> Result<()> {
        for i in left {
            for j in right.clone() {
                pairs.push((i as u32, j as u32));
                if pairs.len() >= PAIR_BATCH_MAX {
                    self.flush(sink, pairs)?;
                }
            }
        }
        Ok(())
    }

    fn flush(&self, sink: &mut dyn RowSink, pairs: &mut Vec<(u32, u32)>) -> Result<()> {
        if !pairs.is_empty() {
            sink.pairs(self.left, self.right, pairs)?;
            pairs.clear();
        }
        Ok(())
    }

    /// Emits left rows that have a partner, or, without `MATCHED`, those that have none.
    fn exists<const MATCHED: bool>(
        &mut self,
        l: &mut usize,
        r: &mut usize,
        sink: &mut dyn RowSink,
    ) -> Result<RoundEnd> {
        let (mut i, mut j) = (*l, *r);
        // Left rows from here to `i` are not emitted yet.
        let mut emitted = i;
        while i < self.left_len && j < self.right_len {
            let (a, b) = (self.left_keys.at(i), self.right_keys.at(j));
            match self.order(i, a, b) {
                Ordering::Less => {
                    let next = first_not_below(&self.left_keys, i, self.left_len, b);
                    if MATCHED {
                        emit_left_rows(self.left, emitted..i, sink)?;
                        emitted = next;
                    }
                    i = next;
                }
                Ordering::Greater => j = first_not_below(&self.right_keys, j, self.right_len, a),
                // The right row is kept: further left rows with its key may follow, even in the next chunk.
                Ordering::Equal => {
                    if !MATCHED {
                        emit_left_rows(self.left, emitted..i, sink)?;
                        emitted = i + 1;
                    }
                    i += 1;
                }
            }
        }
        emit_left_rows(self.left, emitted..i, sink)?;
        (*l, *r) = (i, j);
        Ok(RoundEnd::Chunk)
    }
}

fn emit_left_rows(left: RowsView<'_>, rows: Range<usize>, sink: &mut dyn RowSink) -> Result<()> {
    if rows.is_empty() { Ok(()) } else { sink.lefts(left, rows) }
}

/// Finds the first row behind `at` whose key is not below `key`, by galloping; the key at `at` is not above.
#[inline]
fn first_not_below<K: KeyAccess>(keys: &K, at: usize, end: usize, key: K::Key) -> usize {
    let (mut low, mut step) = (at, 1);
    while low + step < end && keys.at(low + step) < key {
        low += step;
        step *= 2;
    }
    // Invariant: row `low` is below `key`; row `high` is not, or is the end.
    let mut high = (low + step).min(end);
    low += 1;
    while low < high {
        let middle = low + (high - low) / 2;
        if keys.at(middle) < key { low = middle + 1 } else { high = middle }
    }
    low
}

/// The first row after `at` with another key, or the end of the chunk.
#[inline]
fn run_end<K: KeyAccess>(keys: &K, at: usize, end: usize) -> usize {
    let key = keys.at(at);
    let mut next = at + 1;
    while next < end && keys.at(next) == key {
        next += 1;
    }
    next
}

/// Emits rows of one side without values of the other.
pub(in crate::join) fn emit_unpaired(
    side: JoinSide,
    stream: &mut dyn RowStream,
    rows: Range<usize>,
    sink: &mut dyn RowSink,
) -> Result<()> {
    if !rows.clone().any(|row| stream.rows().is_long(row)) {
        return emit_side(side, stream.rows(), rows, sink);
    }
    let mut value = Vec::new();
    for row in rows {
        if stream.rows().is_long(row) {
            stream.long_value(row, &mut value)?;
            let values = if side == JoinSide::Left { (Some(&value[..]), None) } else { (None, Some(&value[..])) };
            sink.row(stream.rows().key(row), values.0, values.1)?;
        } else {
            emit_side(side, stream.rows(), row..row + 1, sink)?;
        }
    }
    Ok(())
}

/// Emits in-line rows of one side without values of the other.
pub(in crate::join) fn emit_side(
    side: JoinSide,
    rows: RowsView<'_>,
    range: Range<usize>,
    sink: &mut dyn RowSink,
) -> Result<()> {
    match side {
        _ if range.is_empty() => Ok(()),
        JoinSide::Left => sink.lefts(rows, range),
        JoinSide::Right => sink.rights(rows, range),
    }
}
