//! Conditions of a join in addition to the equality of keys.

use super::form::RowForm;
use super::sink::{PAIR_BATCH_MAX, RowSink};
use super::stream::RowsView;
use crate::error::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// A pair of rows with equal keys, as a condition sees it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct JoinPair<'a> {
    /// The key of both.
    pub key: &'a [u8],
    /// The left value.
    pub left: &'a [u8],
    /// The right value.
    pub right: &'a [u8],
}

/// A condition on pairs of rows with equal keys; see [`JoinOptions::condition`](crate::join::JoinOptions::condition).
pub type JoinCondition = Arc<dyn Fn(JoinPair<'_>) -> Result<bool> + Send + Sync>;

/// One bit per row.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowBits(Vec<u64>);

impl RowBits {
    /// Bits of this many rows, none of them set.
    pub(crate) fn new(rows: usize) -> Self {
        Self(vec![0; rows.div_ceil(64)])
    }

    /// Their memory, in bytes.
    pub(crate) fn memory_bytes(rows: u64) -> u64 {
        rows.div_ceil(64) * 8
    }

    #[inline]
    pub(crate) fn set(&mut self, row: usize) {
        if let Some(word) = self.0.get_mut(row / 64) {
            *word |= 1 << (row % 64);
        }
    }

    #[inline]
    pub(crate) fn has(&self, row: usize) -> bool {
        self.0.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 > 0)
    }

    /// The ranges of rows within `rows` whose bit is `set`.
    pub(crate) fn ranges(&self, rows: Range<usize>, set: bool) -> impl Iterator<Item = Range<usize>> {
        let mut next = rows.start;
        std::iter::from_fn(move || {
            let start = (next..rows.end).find(|&row| self.has(row) == set)?;
            next = (start..rows.end).find(|&row| self.has(row) != set).unwrap_or(rows.end);
            Some(start..next)
        })
    }
}

/// A sink that passes on only those pairs for which a condition holds: all that an inner join needs.
pub(crate) struct ConditionSink<'a> {
    pub(crate) condition: &'a JoinCondition,
    pub(crate) sink: &'a mut dyn RowSink,
}

impl RowSink for ConditionSink<'_> {
    fn pairs(&mut self, left: RowsView<'_>, right: RowsView<'_>, pairs: &[(u32, u32)]) -> Result<()> {
        let mut passed = Vec::with_capacity(pairs.len().min(PAIR_BATCH_MAX));
        for &(i, j) in pairs {
            let (i, j) = (i as usize, j as usize);
            let pair = JoinPair { key: left.key(i), left: left.value(i), right: right.value(j) };
            if (self.condition)(pair)? {
                passed.push((i as u32, j as u32));
            }
        }
        if passed.is_empty() { Ok(()) } else { self.sink.pairs(left, right, &passed) }
    }

    fn row(&mut self, key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>) -> Result<()> {
        let (Some(ours), Some(theirs)) = (left, right) else {
            return Err(Error::input("an inner join has rows of one side"));
        };
        if (self.condition)(JoinPair { key, left: ours, right: theirs })? {
            return self.sink.row(key, left, right);
        }
        Ok(())
    }

    fn rows(&self) -> u64 {
        self.sink.rows()
    }

    fn dense_form(&self) -> Option<RowForm> {
        None
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
