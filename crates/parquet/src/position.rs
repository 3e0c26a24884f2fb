//! Positions in key order: the row at one of them.

use crate::data::{GroupRows, Projection};
use crate::error::Result;
use crate::index::{Inner, OpenRun, ParquetIndex, row_number};
use crate::trace::Trace;
use arrow_array::RecordBatch;
use ogive::table::ReadTrace;
use std::ops::Range;

impl ParquetIndex {
    /// The row at a position in key order, counted from 0; `None` behind the last. Of all columns without `columns`.
    ///
    /// Files that are not sorted, and sorted ones without overlaps, take one lookup. Runs of files whose keys overlap
    /// take a round of reads for each halving of the rows.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn nth(&self, position: u64, columns: Option<&[&str]>) -> Result<Option<RecordBatch>> {
        self.nth_traced(position, columns, None)
    }

    /// As [`Self::nth`], with its requests added to a trace.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn nth_traced(
        &self,
        position: u64,
        columns: Option<&[&str]>,
        mut trace: Option<&mut Trace>,
    ) -> Result<Option<RecordBatch>> {
        if position >= self.rows() {
            return Ok(None);
        }
        let inner = &self.inner;
        let projection = inner.data.project(columns)?;
        let Some(runs) = &inner.runs else {
            let mut reads = ReadTrace::new();
            let record = inner.table.traced(&mut reads).nth(position)?;
            if let Some(trace) = trace.as_deref_mut() {
                trace.add_index_reads(inner.table.path(), &reads.reads, false);
            }
            return record.map(|(_, value)| inner.rows(&[row_number(&value)], &projection, trace)).transpose();
        };
        let (run, row) = inner.row_at(runs, position, trace.as_deref_mut())?;
        inner.row_of_run(&runs[run], row, &projection, trace)
    }
}

impl Inner {
    /// The run and its row that are at a position among the rows of all runs.
    fn row_at(&self, runs: &[OpenRun], position: u64, mut trace: Option<&mut Trace>) -> Result<(usize, u64)> {
        // The rows of each run among which it may be. All rows before are before it.
        let mut windows: Vec<Range<u64>> = runs.iter().map(|run| 0..run.rows()).collect();
        loop {
            let before: u64 = windows.iter().map(|rows| rows.start).sum();
            let mut left = (0..windows.len()).filter(|&run| !windows[run].is_empty());
            let widest = left.clone().max_by_key(|&run| windows[run].end - windows[run].start).unwrap_or(0);
            if left.nth(1).is_none() {
                return Ok((widest, windows[widest].start + position - before));
            }
            let middle = windows[widest].start + (windows[widest].end - windows[widest].start) / 2;
            let Some(found) = self.row_of_run(&runs[widest], middle, &self.data.key, trace.as_deref_mut())? else {
                return Err(self.data.malformed(format!("there is no row {middle}")));
            };
            let key = self.data.keys(&found)?.key(0)?;
            let ranks = self.ranks_in_runs(runs, &[(&key, false), (&key, true)], trace.as_deref_mut())?;
            let (below, through): (u64, u64) =
                ranks.iter().fold((0, 0), |(below, through), ranks| (below + ranks[0], through + ranks[1]));
            if position < below {
                windows.iter_mut().zip(&ranks).for_each(|(rows, ranks)| rows.end = rows.end.min(ranks[0]));
                // Even if the file is not sorted as it was, so that this ends.
                windows[widest].end = windows[widest].end.min(middle);
            } else if position >= through {
                windows.iter_mut().zip(&ranks).for_each(|(rows, ranks)| rows.start = rows.start.max(ranks[1]));
                windows[widest].start = windows[widest].start.max(middle + 1);
            } else {
                let mut rest = position - below;
                for (run, ranks) in ranks.iter().enumerate() {
                    match ranks[1] - ranks[0] {
                        equal if rest < equal => return Ok((run, ranks[0] + rest)),
                        equal => rest -= equal,
                    }
                }
            }
        }
    }

    /// A row of a run.
    fn row_of_run(
        &self,
        run: &OpenRun,
        row: u64,
        projection: &Projection,
        trace: Option<&mut Trace>,
    ) -> Result<Option<RecordBatch>> {
        let Some((group, rows)) = run.group_rows(row..row + 1).next() else { return Ok(None) };
        let part = GroupRows { group, ranges: std::iter::once(rows).collect() };
        let fetched = self.data.fetch(std::slice::from_ref(&part), &projection.columns, trace)?;
        self.data.decode(&part, projection, &fetched).map(Some)
    }
}
