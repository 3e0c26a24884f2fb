//! A sink that passes rows on until the join is stopped: few rows may have very many pairs.

use super::form::RowForm;
use super::sink::RowSink;
use super::stream::RowsView;
use super::task::Task;
use crate::error::Result;
use std::ops::Range;

/// A sink that fails once the join is stopped.
pub(in crate::join) struct StoppableSink<'a> {
    pub(in crate::join) task: &'a Task,
    pub(in crate::join) sink: &'a mut dyn RowSink,
}

impl RowSink for StoppableSink<'_> {
    fn pairs(&mut self, left: RowsView<'_>, right: RowsView<'_>, pairs: &[(u32, u32)]) -> Result<()> {
        self.task.check()?;
        self.sink.pairs(left, right, pairs)
    }

    fn lefts(&mut self, left: RowsView<'_>, rows: Range<usize>) -> Result<()> {
        self.sink.lefts(left, rows)
    }

    fn rights(&mut self, right: RowsView<'_>, rows: Range<usize>) -> Result<()> {
        self.sink.rights(right, rows)
    }

    fn row(&mut self, key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>) -> Result<()> {
        self.task.check()?;
        self.sink.row(key, left, right)
    }

    fn rows(&self) -> u64 {
        self.sink.rows()
    }

    fn dense_form(&self) -> Option<RowForm> {
        self.sink.dense_form()
    }

    fn dense(&mut self, rows: &[u8]) -> Result<()> {
        self.sink.dense(rows)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
