//! Consumers of the rows of a join.

use super::form::RowForm;
use super::stream::RowsView;
use crate::error::{Error, Result};
use std::ops::Range;

/// Most pairs passed to a sink at once: their rows stay in the first-level cache.
pub(crate) const PAIR_BATCH_MAX: usize = 1024;

/// A consumer of the rows of a join.
pub(crate) trait RowSink {
    /// Takes pairs of rows of a left and a right chunk, by row number.
    ///
    /// # Errors
    /// Errors of the output, after which no more rows may be passed; the same applies to the other methods.
    fn pairs(&mut self, left: RowsView<'_>, right: RowsView<'_>, pairs: &[(u32, u32)]) -> Result<()> {
        pairs.iter().try_for_each(|&(i, j)| {
            let (i, j) = (i as usize, j as usize);
            self.row(left.key(i), Some(left.value(i)), Some(right.value(j)))
        })
    }

    /// Takes left rows without right values: unmatched rows, or, in a semi join, matched ones.
    fn lefts(&mut self, left: RowsView<'_>, mut rows: Range<usize>) -> Result<()> {
        rows.try_for_each(|i| self.row(left.key(i), Some(left.value(i)), None))
    }

    /// Takes right rows without left values: unmatched ones.
    fn rights(&mut self, right: RowsView<'_>, mut rows: Range<usize>) -> Result<()> {
        rows.try_for_each(|j| self.row(right.key(j), None, Some(right.value(j))))
    }

    /// Takes one row; without a right or left value as in [`Self::lefts`] and [`Self::rights`].
    fn row(&mut self, key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>) -> Result<()>;

    /// Number of rows taken so far.
    fn rows(&self) -> u64;

    /// The layout of the rows that [`Self::dense`] takes; `None` if it takes none.
    fn dense_form(&self) -> Option<RowForm> {
        None
    }

    /// Takes rows built by an [`Emitter`](crate::join::methods::emit::Emitter) of that layout.
    fn dense(&mut self, rows: &[u8]) -> Result<()> {
        let _ = rows;
        Err(Error::input("this output does not take dense rows"))
    }

    /// Completes and syncs the output. An output that is dropped instead leaves nothing behind.
    fn finish(self: Box<Self>) -> Result<()>;
}
