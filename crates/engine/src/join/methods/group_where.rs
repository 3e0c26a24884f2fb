//! The join of two runs of equal keys under a condition, for every kind of join.
//!
//! One run is retained and the other streams past, as in [`super::group`]. A streamed row meets all retained ones at
//! once, so its fate is known then; a retained row has a bit for whether some row was its partner. If neither run fits
//! memory, the rows of the spilled run, which stream past several times, have bits as well, if the kind of join needs
//! them: one per row.

use super::group::{GroupCursor, KeyGroup};
use super::merge::emit_side;
use crate::error::Result;
use crate::join::rows::condition::{JoinCondition, JoinPair, RowBits};
use crate::join::rows::options::{JoinKind, JoinSide};
use crate::join::rows::sink::RowSink;
use crate::join::rows::stream::{RowStream, RowsView};
use crate::join::rows::task::Task;
use std::ops::Range;

/// Rows in memory: a range of each of these views.
struct RetainedRows<'a> {
    views: Vec<RowsView<'a>>,
    range: Range<usize>,
    side: JoinSide,
}

impl RetainedRows<'_> {
    /// Each view, its rows, and the number of its first row among all.
    fn parts(&self) -> impl Iterator<Item = (RowsView<'_>, Range<usize>, usize)> {
        let mut first = 0;
        self.views.iter().map(move |view| {
            let rows = self.range.start..self.range.end.min(view.len());
            let number = first;
            first += rows.len();
            (*view, rows, number)
        })
    }

    fn bits(&self) -> RowBits {
        RowBits::new(self.parts().map(|(_, rows, _)| rows.len()).sum())
    }
}

/// The condition of a join, and the rows that its kind returns.
#[derive(Clone, Copy)]
struct PairFilter<'a> {
    condition: &'a JoinCondition,
    task: &'a Task,
}

impl PairFilter<'_> {
    /// Which rows of a side the join returns without a partner's value, by whether they have a partner.
    fn returned(self, side: JoinSide) -> Option<bool> {
        let kind = self.task.kind;
        match side {
            JoinSide::Left if kind == JoinKind::Semi => Some(true),
            JoinSide::Left => kind.keeps_unmatched().then_some(false),
            JoinSide::Right => kind.keeps_unmatched_right().then_some(false),
        }
    }

    /// Joins a streamed row with the retained ones; returns whether it has a partner.
    fn meet(
        self,
        retained: &RetainedRows<'_>,
        bits: &mut RowBits,
        (key, value): (&[u8], &[u8]),
        sink: &mut dyn RowSink,
    ) -> Result<bool> {
        self.task.check()?;
        let pairs = self.task.kind.pairs();
        let mut is_matched = false;
        for (view, rows, first) in retained.parts() {
            for (number, row) in (first..).zip(rows) {
                let (left, right) = match retained.side {
                    JoinSide::Left => (view.value(row), value),
                    JoinSide::Right => (value, view.value(row)),
                };
                // Where pairs are not returned, one partner of a left row is enough.
                let is_known = if retained.side == JoinSide::Left { bits.has(number) } else { is_matched };
                if (!pairs && is_known) || !(self.condition)(JoinPair { key, left, right })? {
                    continue;
                }
                bits.set(number);
                is_matched = true;
                if pairs {
                    sink.row(key, Some(left), Some(right))?;
                }
            }
        }
        Ok(is_matched)
    }

    /// Joins rows of a stream with the retained ones, and returns those that the kind of join returns alone.
    fn stream(
        self,
        retained: &RetainedRows<'_>,
        bits: &mut RowBits,
        (stream, rows): (&mut dyn RowStream, Range<usize>),
        sink: &mut dyn RowSink,
    ) -> Result<()> {
        let mut long = Vec::new();
        for row in rows {
            let is_long = stream.rows().is_long(row);
            if is_long {
                stream.long_value(row, &mut long)?;
            }
            let view = stream.rows();
            let (key, value) = (view.key(row), if is_long { &long } else { view.value(row) });
            self.stream_row(retained, bits, (key, value), sink)?;
        }
        Ok(())
    }

    fn stream_row(
        self,
        retained: &RetainedRows<'_>,
        bits: &mut RowBits,
        (key, value): (&[u8], &[u8]),
        sink: &mut dyn RowSink,
    ) -> Result<()> {
        let is_matched = self.meet(retained, bits, (key, value), sink)?;
        let side = retained.side.other();
        if self.returned(side) != Some(is_matched) {
            return Ok(());
        }
        match side {
            JoinSide::Left => sink.row(key, Some(value), None),
            JoinSide::Right => sink.row(key, None, Some(value)),
        }
    }

    /// Returns the retained rows that the kind of join returns alone, once all others have streamed past.
    fn settle(self, retained: &RetainedRows<'_>, bits: &RowBits, sink: &mut dyn RowSink) -> Result<()> {
        let Some(returned) = self.returned(retained.side) else { return Ok(()) };
        for (view, rows, first) in retained.parts() {
            for range in bits.ranges(first..first + rows.len(), returned) {
                let row = |number: usize| number - first + rows.start;
                emit_side(retained.side, view, row(range.start)..row(range.end), sink)?;
            }
        }
        Ok(())
    }

    /// Joins a run that lies within a chunk, in `rows`, with the run of the other stream; returns whether the other
    /// stream has more rows.
    fn join_chunk(
        self,
        side: JoinSide,
        (view, range): (RowsView<'_>, Range<usize>),
        other: &mut GroupCursor<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<bool> {
        let retained = RetainedRows { views: vec![view], range, side };
        self.join_retained(&retained, &mut retained.bits(), other, sink)
    }

    /// Joins a retained run with the rest of the other one, and settles it.
    fn join_retained(
        self,
        retained: &RetainedRows<'_>,
        bits: &mut RowBits,
        other: &mut GroupCursor<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<bool> {
        let more = other.visit_run(|stream, rows| self.stream(retained, bits, (stream, rows), sink))?;
        self.settle(retained, bits, sink)?;
        Ok(more)
    }
}

impl KeyGroup {
    /// As [`Self::join_runs`], under a condition.
    pub(super) fn join_runs_where(
        &mut self,
        condition: &JoinCondition,
        left: &mut GroupCursor<'_>,
        right: &mut GroupCursor<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<(bool, bool)> {
        let filter = PairFilter { condition, task: left.task };
        if let Some(range) = left.lies_in_chunk() {
            let more = filter.join_chunk(JoinSide::Left, (left.stream.rows(), range.clone()), right, sink)?;
            left.side.at = range.end;
            return Ok((true, more));
        }
        if let Some(range) = right.lies_in_chunk() {
            let more = filter.join_chunk(JoinSide::Right, (right.stream.rows(), range.clone()), left, sink)?;
            right.side.at = range.end;
            return Ok((more, true));
        }
        if let Some(left_more) = self.left.collect(left)? {
            let retained = RetainedRows { views: self.left.views(), range: 0..usize::MAX, side: JoinSide::Left };
            let more = filter.join_retained(&retained, &mut retained.bits(), right, sink)?;
            return Ok((left_more, more));
        }
        if let Some(right_more) = self.right.collect(right)? {
            let retained = RetainedRows { views: self.right.views(), range: 0..usize::MAX, side: JoinSide::Right };
            let mut bits = retained.bits();
            for view in self.left.views() {
                (0..view.len()).try_for_each(|row| {
                    filter.stream_row(&retained, &mut bits, (view.key(row), view.value(row)), sink)
                })?;
            }
            self.left.clear();
            let more = filter.join_retained(&retained, &mut bits, left, sink)?;
            return Ok((more, right_more));
        }
        self.join_spilled_where(filter, left, right, sink)
    }

    /// As [`Self::join_spilled`], under a condition.
    fn join_spilled_where(
        &mut self,
        filter: PairFilter<'_>,
        left: &mut GroupCursor<'_>,
        right: &mut GroupCursor<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<(bool, bool)> {
        let (right_more, right_rows) = self.spill_right(right)?;
        let returned = filter.returned(JoinSide::Right);
        let bits_bytes = if returned.is_some() { RowBits::memory_bytes(right_rows) } else { 0 };
        let _bits_memory = filter.task.budget.take(bits_bytes, "telling the partners of one key's rows")?;
        let mut right_bits = RowBits::new(if returned.is_some() { right_rows as usize } else { 0 });
        let mut left_more = None;
        while let Some(overflow) = &mut self.overflow {
            let retained = RetainedRows { views: self.left.views(), range: 0..usize::MAX, side: JoinSide::Left };
            let mut bits = retained.bits();
            let mut first = 0;
            overflow.visit(&mut |rows| {
                for row in 0..rows.len() {
                    if filter.meet(&retained, &mut bits, (rows.key(row), rows.value(row)), sink)? {
                        right_bits.set(first + row);
                    }
                }
                first += rows.len();
                Ok(())
            })?;
            filter.settle(&retained, &bits, sink)?;
            self.left.clear();
            if left_more.is_some() {
                break;
            }
            left_more = self.left.collect(left)?;
        }
        if let (Some(returned), Some(overflow)) = (returned, &mut self.overflow) {
            let mut first = 0;
            overflow.visit(&mut |rows| {
                for range in right_bits.ranges(first..first + rows.len(), returned) {
                    emit_side(JoinSide::Right, rows, range.start - first..range.end - first, sink)?;
                }
                first += rows.len();
                Ok(())
            })?;
        }
        if let Some(overflow) = &mut self.overflow {
            overflow.clear()?;
        }
        Ok((left_more.unwrap_or(false), right_more))
    }
}
