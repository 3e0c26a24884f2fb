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

use super::emit::RowForm;
use super::group::Group;
use super::options::JoinKind;
use super::rows::{RowStream, RowsView};
use super::task::Task;
use crate::error::{Error, Result};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Pairs that are given to a sink at a time: their rows stay in the first-level cache.
pub(crate) const PAIRS_AT_ONCE: usize = 1024;

/// Takes the rows of a join.
pub(crate) trait Sink {
    /// Rows of a left and a right chunk, by number, that belong together.
    ///
    /// # Errors
    /// What the output reports; nothing more is given then. So in the other methods.
    fn pairs(&mut self, left: RowsView<'_>, right: RowsView<'_>, pairs: &[(u32, u32)]) -> Result<()>;

    /// Left rows that are given alone: those without partner, or, of a semi join, those with one.
    fn lefts(&mut self, left: RowsView<'_>, rows: Range<usize>) -> Result<()>;

    /// One row; without right value as in [`Self::lefts`].
    fn row(&mut self, key: &[u8], left: &[u8], right: Option<&[u8]>) -> Result<()>;

    /// Rows taken so far.
    fn rows(&self) -> u64;

    /// What rows look like that [`Self::dense`] takes; `None` where it takes none.
    fn dense_form(&self) -> Option<RowForm> {
        None
    }

    /// Rows that an [`Emitter`](super::emit::Emitter) of the form has made.
    fn dense(&mut self, rows: &[u8]) -> Result<()> {
        let _ = rows;
        Err(Error::InvalidArgument("this output takes rows one by one".into()))
    }

    /// Completes the output, and makes it durable; an output that is dropped instead leaves nothing behind.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Joins two streams in key order, and gives the rows to a sink. `done` is told of every left chunk how many rows it has.
///
/// # Errors
/// What the streams and the sink report; [`crate::Error::Interrupted`]; [`crate::Error::InvalidArgument`] where a run of equal keys needs more memory
/// than there is, and there is nowhere to spill it.
pub(crate) fn join(
    task: &Arc<Task>,
    left: &mut dyn RowStream,
    right: &mut dyn RowStream,
    sink: &mut dyn Sink,
    group: &mut Group,
    done: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut pairs = Vec::with_capacity(PAIRS_AT_ONCE);
    let (mut l, mut r) = (Side::default(), Side::default());
    if !l.advance(left, None)? {
        return Ok(());
    }
    let mut right_is_there = r.advance(right, Some(left.rows().key(0)))?;
    done(left.rows().len() as u64);
    loop {
        task.check()?;
        if right_is_there {
            let end = round(task.kind, (left, &mut l), (right, &mut r), sink, &mut pairs)?;
            if end == End::Run {
                let (left_is_there, right_goes_on) = group.join(task, (left, &mut l), (right, &mut r), sink, done)?;
                right_is_there = right_goes_on;
                if !left_is_there {
                    return Ok(());
                }
                continue;
            }
        } else if task.kind.keeps_unmatched() {
            let end = left.rows().len();
            give_alone(left, l.at..end, sink)?;
            l.at = end;
        } else {
            return Ok(());
        }
        if right_is_there && r.at >= right.rows().len() {
            let from = (l.at < left.rows().len()).then(|| left.rows().key(l.at));
            right_is_there = r.advance(right, from)?;
        }
        if l.at >= left.rows().len() {
            let wanted = right_is_there && !task.kind.keeps_unmatched();
            if !l.advance(left, wanted.then(|| right.rows().key(r.at)))? {
                return Ok(());
            }
            done(left.rows().len() as u64);
        }
    }
}

/// Where one stream stands: at a row of its chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Side {
    pub(super) at: usize,
}

impl Side {
    pub(super) fn advance(&mut self, stream: &mut dyn RowStream, from: Option<&[u8]>) -> Result<bool> {
        self.at = 0;
        stream.advance(from)
    }
}

/// Why a round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// One of the chunks is at its end.
    Chunk,
    /// Both stand at rows of one key, and one run of it or both reach the end of their chunks.
    Run,
}

/// Walks two chunks until one of them ends.
fn round(
    kind: JoinKind,
    (left, l): (&mut dyn RowStream, &mut Side),
    (right, r): (&mut dyn RowStream, &mut Side),
    sink: &mut dyn Sink,
    pairs: &mut Vec<(u32, u32)>,
) -> Result<End> {
    if has_long(&left.rows()) || (kind.pairs() && has_long(&right.rows())) {
        return careful_round(kind, (left, l), (right, r), sink);
    }
    walk_any(kind, left.rows(), l, right.rows(), r, sink, pairs)
}

/// As [`round`], for chunks with values that must be fetched: every pair of runs is left to the group.
fn careful_round(
    kind: JoinKind,
    (left, l): (&mut dyn RowStream, &mut Side),
    (right, r): (&mut dyn RowStream, &mut Side),
    sink: &mut dyn Sink,
) -> Result<End> {
    loop {
        let (ours, theirs) = (left.rows(), right.rows());
        if l.at >= ours.len() || r.at >= theirs.len() {
            return Ok(End::Chunk);
        }
        let (a, b) = (ours.key(l.at), theirs.key(r.at));
        match a.cmp(b) {
            Ordering::Less => {
                let next = first_not_below(&ours, l.at, ours.len(), b);
                if kind.keeps_unmatched() {
                    give_alone(left, l.at..next, sink)?;
                }
                l.at = next;
            }
            Ordering::Greater => r.at = first_not_below(&theirs, r.at, theirs.len(), a),
            Ordering::Equal if kind.pairs() => return Ok(End::Run),
            Ordering::Equal => {
                let next = run_end(&ours, l.at, ours.len());
                if kind == JoinKind::Semi {
                    give_alone(left, l.at..next, sink)?;
                }
                l.at = next;
            }
        }
    }
}

/// Whether some value of a chunk lies elsewhere.
pub(in crate::join) fn has_long(rows: &RowsView<'_>) -> bool {
    match rows {
        RowsView::Dense { .. } => false,
        RowsView::Spans { spans, .. } => spans.iter().any(|span| span.is_long),
    }
}

fn walk_any(
    kind: JoinKind,
    left: RowsView<'_>,
    l: &mut Side,
    right: RowsView<'_>,
    r: &mut Side,
    sink: &mut dyn Sink,
    pairs: &mut Vec<(u32, u32)>,
) -> Result<End> {
    let (l, r) = ((left, l), (right, r));
    match (left, right) {
        (
            RowsView::Dense { bytes: ours, key: 8, value: one },
            RowsView::Dense { bytes: theirs, key: 8, value: other },
        ) => {
            let (ours, theirs) =
                (Numbers::<8> { bytes: ours, width: 8 + one }, Numbers::<8> { bytes: theirs, width: 8 + other });
            walk(kind, (ours, l), (theirs, r), sink, pairs)
        }
        (
            RowsView::Dense { bytes: ours, key: 16, value: one },
            RowsView::Dense { bytes: theirs, key: 16, value: other },
        ) => {
            let ours = Numbers::<16> { bytes: ours, width: 16 + one };
            walk(kind, (ours, l), (Numbers::<16> { bytes: theirs, width: 16 + other }, r), sink, pairs)
        }
        _ => walk(kind, (left, l), (right, r), sink, pairs),
    }
}

/// Keys of a chunk, by the number of their row.
trait Keys: Copy {
    type Key: Ord + Copy;

    fn at(&self, row: usize) -> Self::Key;
}

/// Keys of `N` bytes in dense rows, as numbers.
#[derive(Clone, Copy)]
struct Numbers<'a, const N: usize> {
    bytes: &'a [u8],
    width: usize,
}

impl Keys for Numbers<'_, 8> {
    type Key = u64;

    #[inline]
    fn at(&self, row: usize) -> u64 {
        let at = row * self.width;
        self.bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |key| u64::from_be_bytes(*key))
    }
}

impl Keys for Numbers<'_, 16> {
    type Key = u128;

    #[inline]
    fn at(&self, row: usize) -> u128 {
        let at = row * self.width;
        self.bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |key| u128::from_be_bytes(*key))
    }
}

impl<'a> Keys for RowsView<'a> {
    type Key = &'a [u8];

    #[inline]
    fn at(&self, row: usize) -> &'a [u8] {
        self.key(row)
    }
}

fn walk<K: Keys, O: Keys<Key = K::Key>>(
    kind: JoinKind,
    (ours, (left, l)): (K, (RowsView<'_>, &mut Side)),
    (theirs, (right, r)): (O, (RowsView<'_>, &mut Side)),
    sink: &mut dyn Sink,
    pairs: &mut Vec<(u32, u32)>,
) -> Result<End> {
    let mut chunks = Chunks { ours, left, theirs, right, left_len: left.len(), right_len: right.len() };
    match kind {
        JoinKind::Inner => chunks.pairs::<false>(&mut l.at, &mut r.at, sink, pairs),
        JoinKind::Left => chunks.pairs::<true>(&mut l.at, &mut r.at, sink, pairs),
        JoinKind::Semi => chunks.exists::<true>(&mut l.at, &mut r.at, sink),
        JoinKind::Anti => chunks.exists::<false>(&mut l.at, &mut r.at, sink),
    }
}

/// Two chunks side by side.
struct Chunks<'a, K, O> {
    ours: K,
    left: RowsView<'a>,
    theirs: O,
    right: RowsView<'a>,
    left_len: usize,
    right_len: usize,
}

impl<K: Keys, O: Keys<Key = K::Key>> Chunks<'_, K, O> {
    /// Gives the pairs of an inner join, and, where `KEEPS`, left rows without partner.
    fn pairs<const KEEPS: bool>(
        &mut self,
        l: &mut usize,
        r: &mut usize,
        sink: &mut dyn Sink,
        pairs: &mut Vec<(u32, u32)>,
    ) -> Result<End> {
        let (mut i, mut j) = (*l, *r);
        let mut end = End::Chunk;
        while i < self.left_len && j < self.right_len {
            let (a, b) = (self.ours.at(i), self.theirs.at(j));
            match a.cmp(&b) {
                Ordering::Less => {
                    let next = first_not_below(&self.ours, i, self.left_len, b);
                    if KEEPS {
                        self.flush(sink, pairs)?;
                        sink.lefts(self.left, i..next)?;
                    }
                    i = next;
                }
                Ordering::Greater => j = first_not_below(&self.theirs, j, self.right_len, a),
                Ordering::Equal => {
                    self.single_pairs(&mut i, &mut j, a, pairs);
                    if pairs.len() >= PAIRS_AT_ONCE {
                        self.flush(sink, pairs)?;
                    }
                    if self.ours.at(i) != self.theirs.at(j) {
                        continue;
                    }
                    let next_i = run_end(&self.ours, i, self.left_len);
                    let next_j = run_end(&self.theirs, j, self.right_len);
                    if next_i == self.left_len || next_j == self.right_len {
                        end = End::Run;
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

    /// Notes pairs for as long as one left and one right row have the same key, and others follow on both sides; ends with `pairs` about full
    /// at the latest. `key` is that of both rows to begin with.
    #[inline]
    fn single_pairs(&self, i: &mut usize, j: &mut usize, key: K::Key, pairs: &mut Vec<(u32, u32)>) {
        let (mut a, mut b) = (key, key);
        while a == b && *i + 1 < self.left_len && *j + 1 < self.right_len && pairs.len() < PAIRS_AT_ONCE {
            let (next_a, next_b) = (self.ours.at(*i + 1), self.theirs.at(*j + 1));
            if next_a == a || next_b == b {
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
        sink: &mut dyn Sink,
        pairs: &mut Vec<(u32, u32)>,
    ) -> Result<()> {
        for i in left {
            for j in right.clone() {
                pairs.push((i as u32, j as u32));
                if pairs.len() >= PAIRS_AT_ONCE {
                    self.flush(sink, pairs)?;
                }
            }
        }
        Ok(())
    }

    fn flush(&self, sink: &mut dyn Sink, pairs: &mut Vec<(u32, u32)>) -> Result<()> {
        if !pairs.is_empty() {
            sink.pairs(self.left, self.right, pairs)?;
            pairs.clear();
        }
        Ok(())
    }

    /// Gives left rows that have a partner, or, without `WANTED`, those that have none.
    fn exists<const WANTED: bool>(&mut self, l: &mut usize, r: &mut usize, sink: &mut dyn Sink) -> Result<End> {
        let (mut i, mut j) = (*l, *r);
        // Left rows from here to `i` are to be given.
        let mut given = i;
        while i < self.left_len && j < self.right_len {
            let (a, b) = (self.ours.at(i), self.theirs.at(j));
            match a.cmp(&b) {
                Ordering::Less => {
                    let next = first_not_below(&self.ours, i, self.left_len, b);
                    if WANTED {
                        give(self.left, given..i, sink)?;
                        given = next;
                    }
                    i = next;
                }
                Ordering::Greater => j = first_not_below(&self.theirs, j, self.right_len, a),
                // The right row stays: further left rows of its key may follow, in the next chunk, too.
                Ordering::Equal => {
                    if !WANTED {
                        give(self.left, given..i, sink)?;
                        given = i + 1;
                    }
                    i += 1;
                }
            }
        }
        give(self.left, given..i, sink)?;
        (*l, *r) = (i, j);
        Ok(End::Chunk)
    }
}

fn give(left: RowsView<'_>, rows: Range<usize>, sink: &mut dyn Sink) -> Result<()> {
    if rows.is_empty() { Ok(()) } else { sink.lefts(left, rows) }
}

/// The first row from `at` on whose key is not below `key`, where that of `at` is; looked for in steps that double.
#[inline]
fn first_not_below<K: Keys>(keys: &K, at: usize, end: usize, key: K::Key) -> usize {
    let (mut low, mut step) = (at, 1);
    while low + step < end && keys.at(low + step) < key {
        low += step;
        step *= 2;
    }
    // Row `low` is below, and `high` is not, or is the end.
    let mut high = (low + step).min(end);
    low += 1;
    while low < high {
        let middle = low + (high - low) / 2;
        if keys.at(middle) < key { low = middle + 1 } else { high = middle }
    }
    low
}

/// The first row behind `at` with another key, or the end of the chunk.
#[inline]
fn run_end<K: Keys>(keys: &K, at: usize, end: usize) -> usize {
    let key = keys.at(at);
    let mut next = at + 1;
    while next < end && keys.at(next) == key {
        next += 1;
    }
    next
}

/// The first row from `at` on whose key is another than `key`.
pub(super) fn run_end_of(rows: &RowsView<'_>, at: usize, key: &[u8]) -> usize {
    let end = rows.len();
    let mut next = at;
    while next < end && rows.key(next) == key {
        next += 1;
    }
    next
}

/// Gives all left rows of a range alone.
pub(super) fn give_alone(left: &mut dyn RowStream, rows: Range<usize>, sink: &mut dyn Sink) -> Result<()> {
    if !has_long(&left.rows()) {
        return give(left.rows(), rows, sink);
    }
    let mut value = Vec::new();
    for row in rows {
        if left.rows().is_long(row) {
            left.long_value(row, &mut value)?;
            sink.row(left.rows().key(row), &value, None)?;
        } else {
            sink.lefts(left.rows(), row..row + 1)?;
        }
    }
    Ok(())
}
