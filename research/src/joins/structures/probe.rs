//! The index nested loop join of the paper (Section 5.3): looks each outer row up in an index of the inner relation,
//! reads the resulting window unless it is buffered, and searches it.
//!
//! One window is in memory at a time (Section 5.2). Each of the paper's two optimisations (Section 4.1) has a switch:
//! the leaf iterator belongs to the index, the forward-only window is [`ProbeJoin::forward_window`].

use super::buffer::ProbeBuffer;
use super::last_mile::seek_row;
use ogive::Result;
use ogive::join::extend::{
    BlockFinger, BlockIndex, JoinProbe, JoinProbeJob, JoinProbeSink, MemoryGrant, RowStream, RowsView,
};
use ogive::join::{JoinKind, JoinSide};
use std::ops::Range;
use std::sync::Arc;

/// Most pairs passed to the sink at once.
const PAIR_BATCH_MAX: usize = 1024;

/// A prepared join by probes.
#[derive(Debug)]
pub(super) struct ProbeJoin {
    pub(super) index: Arc<dyn BlockIndex>,
    /// Whether windows never begin before the position of the last key: the paper's optimisation 2.
    pub(super) forward_window: bool,
    /// The memory of the index.
    pub(super) _memory: MemoryGrant,
}

impl JoinProbe for ProbeJoin {
    fn run(&self, job: &mut JoinProbeJob<'_>) -> Result<()> {
        let mut probe_loop = ProbeLoop {
            kind: job.kind(),
            inner_side: job.inner_side(),
            forward_window: self.forward_window,
            index: &*self.index,
            finger: BlockFinger::default(),
            buffer: ProbeBuffer::new(job.reader()),
            floor: 0,
            row: 0,
            pairs: Vec::new(),
        };
        let mut last_key = None;
        while job.advance()? {
            let (outer, sink) = job.parts();
            match probe_loop.kind == JoinKind::Semi && probe_loop.inner_side == JoinSide::Left {
                true => probe_loop.inner_rows_of(&outer.rows(), &mut last_key, sink)?,
                false => probe_loop.chunk(outer, sink)?,
            }
        }
        Ok(())
    }
}

struct ProbeLoop<'a> {
    kind: JoinKind,
    inner_side: JoinSide,
    forward_window: bool,
    index: &'a dyn BlockIndex,
    finger: BlockFinger,
    buffer: ProbeBuffer<'a>,
    /// The block of the first row not below the last key.
    floor: u64,
    /// That row, in the current block.
    row: usize,
    /// Pairs of outer rows and rows of the current block.
    pairs: Vec<(u32, u32)>,
}

impl ProbeLoop<'_> {
    /// Probes with the rows of an outer chunk.
    fn chunk(&mut self, outer: &mut dyn RowStream, sink: &mut JoinProbeSink<'_>) -> Result<()> {
        if !outer.rows().has_long() {
            return self.rows(&outer.rows(), sink);
        }
        let mut value = Vec::new();
        for row in 0..outer.rows().len() {
            match outer.rows().is_long(row) {
                true => outer.long_value(row, &mut value)?,
                false => {
                    value.clear();
                    value.extend_from_slice(outer.rows().value(row));
                }
            }
            let rows = outer.rows();
            let is_found = self.find(row, &rows, sink)?;
            if self.is_unpaired(is_found) {
                sink.row(rows.key(row), &value, None)?;
            } else if is_found && self.kind.pairs() {
                self.emit_run(&rows, row, Some(&value), sink)?;
            }
        }
        Ok(())
    }

    /// As [`Self::chunk`], for rows without out-of-line values.
    fn rows(&mut self, outer: &RowsView<'_>, sink: &mut JoinProbeSink<'_>) -> Result<()> {
        let pairs = self.kind.pairs();
        // Rows from here on are unpaired and not emitted yet.
        let mut unpaired_from = None;
        for row in 0..outer.len() {
            let is_found = self.find(row, outer, sink)?;
            if self.is_unpaired(is_found) {
                unpaired_from.get_or_insert(row);
            } else if let Some(begin) = unpaired_from.take() {
                self.flush(outer, sink)?;
                sink.lefts(*outer, begin..row)?;
            }
            if is_found && pairs {
                self.emit_run(outer, row, None, sink)?;
            }
        }
        self.flush(outer, sink)?;
        unpaired_from.map_or(Ok(()), |begin| sink.lefts(*outer, begin..outer.len()))
    }

    /// Whether an outer row is emitted without a partner.
    fn is_unpaired(&self, is_found: bool) -> bool {
        match self.kind {
            JoinKind::Inner => false,
            // The planner offers no full joins to methods that look keys up.
            JoinKind::Left | JoinKind::Full | JoinKind::Anti => !is_found,
            JoinKind::Semi => is_found,
        }
    }

    /// A semi join whose left relation is the inner one: emits its rows for each distinct outer key. `last_key` is the
    /// key of the last outer row of the previous chunk; the empty key is a key like any other.
    fn inner_rows_of(
        &mut self,
        outer: &RowsView<'_>,
        last_key: &mut Option<Vec<u8>>,
        sink: &mut JoinProbeSink<'_>,
    ) -> Result<()> {
        for row in 0..outer.len() {
            let key = outer.key(row);
            if (row > 0 && outer.key(row - 1) == key) || (row == 0 && last_key.as_deref() == Some(key)) {
                continue;
            }
            if !self.find(row, outer, sink)? {
                continue;
            }
            let (mut begin, start) = (self.row, self.buffer.number());
            loop {
                let rows = self.buffer.rows();
                let end = (begin..rows.len()).find(|&row| rows.key(row) != key).unwrap_or(rows.len());
                let is_complete = end < rows.len();
                self.buffer.emit_unpaired(begin..end, sink)?;
                if is_complete || !self.buffer.next_block(key)? {
                    break;
                }
                begin = 0;
            }
            if self.buffer.number() != start {
                self.row = 0;
            }
        }
        let last_key = last_key.get_or_insert_default();
        last_key.clear();
        last_key.extend_from_slice(outer.key(outer.len() - 1));
        Ok(())
    }

    /// Moves to the first inner row not below the key of an outer row; returns whether it has that key.
    fn find(&mut self, row: usize, outer: &RowsView<'_>, sink: &mut JoinProbeSink<'_>) -> Result<bool> {
        if self.buffer.blocks() == 0 {
            return Ok(false);
        }
        let key = outer.key(row);
        let mut window = self.index.look_up(key, &mut self.finger)?;
        let forward = self.forward_window;
        if forward {
            window.first = window.first.max(self.floor);
            window.last = window.last.max(window.first);
        }
        let is_held = self.buffer.holds(key, &window);
        let before = self.buffer.number();
        if !is_held {
            self.flush(outer, sink)?;
            self.buffer.load(key, &window)?;
        }
        if !self.buffer.is_in_current_block(key) {
            self.flush(outer, sink)?;
            if !self.buffer.seek(key)? {
                return Ok(false);
            }
        }
        if !forward || !is_held || self.buffer.number() != before {
            self.row = 0;
        }
        self.floor = self.buffer.number();
        let (row, is_found) = seek_row(&self.buffer.rows(), self.row, key);
        self.row = row;
        Ok(is_found)
    }

    /// Emits the pairs of an outer row with the run of inner rows at the current position. `value` is the value of the
    /// outer row if some outer values are out of line.
    fn emit_run(
        &mut self,
        outer: &RowsView<'_>,
        row: usize,
        value: Option<&[u8]>,
        sink: &mut JoinProbeSink<'_>,
    ) -> Result<()> {
        let (key, start) = (outer.key(row), self.buffer.number());
        let mut at = self.row;
        loop {
            let rows = self.buffer.rows();
            // The first row of the run is known to match.
            let mut end = at + 1;
            while end < rows.len() && rows.key(end) == key {
                end += 1;
            }
            let is_complete = end < rows.len();
            if value.is_some() || self.buffer.has_long() {
                self.flush(outer, sink)?;
                self.emit_long_run((key, value.unwrap_or_else(|| outer.value(row))), at..end, sink)?;
            } else {
                self.pairs.extend((at..end).map(|other| (row as u32, other as u32)));
                if self.pairs.len() >= PAIR_BATCH_MAX {
                    self.flush(outer, sink)?;
                }
            }
            if is_complete || !self.buffer.run_may_continue() {
                break;
            }
            self.flush(outer, sink)?;
            if !self.buffer.next_block(key)? {
                break;
            }
            at = 0;
        }
        if self.buffer.number() != start {
            self.flush(outer, sink)?;
            // The same key may come again.
            if !self.buffer.go_to(start)? {
                self.row = 0;
            }
        }
        Ok(())
    }

    /// Emits the pairs of an outer row if values must be fetched.
    fn emit_long_run(
        &mut self,
        (key, outer_value): (&[u8], &[u8]),
        run: Range<usize>,
        sink: &mut JoinProbeSink<'_>,
    ) -> Result<()> {
        let mut inner_value = Vec::new();
        for other in run {
            self.buffer.value(other, &mut inner_value)?;
            let (left, right) = match self.inner_side {
                JoinSide::Right => (outer_value, &inner_value[..]),
                JoinSide::Left => (&inner_value[..], outer_value),
            };
            sink.row(key, left, Some(right))?;
        }
        Ok(())
    }

    /// Passes the collected pairs to the sink.
    fn flush(&mut self, outer: &RowsView<'_>, sink: &mut JoinProbeSink<'_>) -> Result<()> {
        if self.pairs.is_empty() {
            return Ok(());
        }
        let rows = self.buffer.rows();
        match self.inner_side {
            JoinSide::Right => sink.pairs(*outer, rows, &self.pairs)?,
            JoinSide::Left => {
                self.pairs.iter_mut().for_each(|pair| *pair = (pair.1, pair.0));
                sink.pairs(rows, *outer, &self.pairs)?;
            }
        }
        self.pairs.clear();
        Ok(())
    }
}
