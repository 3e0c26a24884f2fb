//! The job of a registered method that probes a table: its outer rows, inner blocks, and output rows.

use super::blocks::inner_table::BlockReader;
use crate::error::Result;
use crate::join::rows::options::{JoinKind, JoinSide};
use crate::join::rows::probe_method::{JoinProbeJob, JoinProbeSink};
use crate::join::rows::stream::{RowStream, RowsView};
use std::ops::Range;

impl<'a> JoinProbeJob<'a> {
    /// The kind of the join.
    #[must_use]
    pub fn kind(&self) -> JoinKind {
        self.kind
    }

    /// The side of the inner relation.
    #[must_use]
    pub fn inner_side(&self) -> JoinSide {
        self.inner_side
    }

    /// A reader of the blocks of the inner table, within the memory of this thread.
    #[must_use]
    pub fn reader(&self) -> BlockReader<'a> {
        self.inner.reader(self.memory_bytes)
    }

    /// Moves to the next chunk of outer rows; `false` at the end. Reports progress, and ends an interrupted join.
    ///
    /// # Errors
    /// Errors of the outer relation; [`Cause::Interrupted`](crate::Cause::Interrupted).
    pub fn advance(&mut self) -> Result<bool> {
        if !self.outer.advance(None)? {
            return Ok(false);
        }
        self.inner.task.check()?;
        (self.done)(self.outer.rows().len() as u64);
        Ok(true)
    }

    /// The outer rows of the chunk, in key order, and the sink of the output rows.
    #[inline]
    pub fn parts(&mut self) -> (&mut dyn RowStream, &mut JoinProbeSink<'a>) {
        (&mut *self.outer, &mut self.sink)
    }
}

impl JoinProbeSink<'_> {
    /// Takes pairs of rows of a left and a right chunk, by row number.
    ///
    /// # Errors
    /// Errors of the output, after which no more rows may be passed; the same applies to the other methods.
    #[inline]
    pub fn pairs(&mut self, left: RowsView<'_>, right: RowsView<'_>, pairs: &[(u32, u32)]) -> Result<()> {
        self.0.pairs(left, right, pairs)
    }

    /// Takes left rows without right values: unmatched rows, or, in a semi join, matched ones.
    ///
    /// # Errors
    /// As [`Self::pairs`].
    #[inline]
    pub fn lefts(&mut self, left: RowsView<'_>, rows: Range<usize>) -> Result<()> {
        self.0.lefts(left, rows)
    }

    /// Takes one row; without a right value as in [`Self::lefts`].
    ///
    /// # Errors
    /// As [`Self::pairs`].
    #[inline]
    pub fn row(&mut self, key: &[u8], left: &[u8], right: Option<&[u8]>) -> Result<()> {
        self.0.row(key, Some(left), right)
    }
}
