//! The index nested loop join of the paper (Section 5.3): each outer row is looked up in an index of the inner relation, the window that it
//! names is read unless it is in the buffer, and searched.
//!
//! One window is in memory at a time (Section 5.2). Both of the paper's optimisations (Section 4.1) have a switch: the leaf iterator is
//! the index's, the window that only moves forward is [`Probes::forward_window`].

use super::buffer::Buffer;
use super::last_mile::lower_bound;
use super::load::Loaded;
use super::window::{BlockIndex, Finger};
use crate::error::Result;
use crate::join::merge::Sink;
use crate::join::options::{JoinKind, Side};
use crate::join::rows::{RowStream, RowsView};
use crate::join::task::{Share, Task};
use crate::table::Table;
use std::ops::Range;
use std::sync::Arc;

/// Pairs that are given to the sink at a time.
const PAIRS_AT_ONCE: usize = 1024;

/// What a probe loop works with.
pub(crate) struct Probes<'a> {
    pub(crate) task: &'a Arc<Task>,
    pub(crate) inner: &'a Table,
    pub(crate) index: &'a Loaded,
    /// Which relation the inner one is.
    pub(crate) inner_side: Side,
    /// Whether a window never begins before the place of the last key: the paper's optimisation 2.
    pub(crate) forward_window: bool,
    /// For the window.
    pub(crate) memory: Share,
}

/// Joins by probes. `done` is told of every outer chunk how many rows it has.
///
/// # Errors
/// What the relations and the sink report; [`crate::Error::Interrupted`].
pub(crate) fn probe(
    probes: &Probes<'_>,
    outer: &mut dyn RowStream,
    sink: &mut dyn Sink,
    done: &mut dyn FnMut(u64),
) -> Result<()> {
    let buffer = Buffer::new(probes.inner, probes.task, probes.memory.bytes());
    let index = &*probes.index.index;
    let mut walk = Walk { probes, index, finger: Finger::default(), buffer, floor: 0, row: 0, pairs: Vec::new() };
    let mut last_key = Vec::new();
    while outer.advance(None)? {
        probes.task.check()?;
        done(outer.rows().len() as u64);
        match probes.task.kind == JoinKind::Semi && probes.inner_side == Side::Left {
            true => walk.inner_rows_of(&outer.rows(), &mut last_key, sink)?,
            false => walk.chunk(outer, sink)?,
        }
    }
    Ok(())
}

struct Walk<'a> {
    probes: &'a Probes<'a>,
    index: &'a dyn BlockIndex,
    finger: Finger,
    buffer: Buffer<'a>,
    /// The block of the first row not below the last key.
    floor: u64,
    /// That row, in the block that is looked at.
    row: usize,
    /// Outer rows, and rows of the block that is looked at.
    pairs: Vec<(u32, u32)>,
}

impl Walk<'_> {
    /// Probes for the rows of the outer chunk.
    fn chunk(&mut self, outer: &mut dyn RowStream, sink: &mut dyn Sink) -> Result<()> {
        let kind = self.probes.task.kind;
        let count = outer.rows().len();
        // Rows from here on are to be given alone.
        let mut alone = None;
        for row in 0..count {
            let is_found = self.find(row, &outer.rows(), sink)?;
            let is_alone = match kind {
                JoinKind::Inner => false,
                JoinKind::Left | JoinKind::Anti => !is_found,
                JoinKind::Semi => is_found,
            };
            if is_alone {
                alone.get_or_insert(row);
            } else if let Some(begin) = alone.take() {
                self.flush(&outer.rows(), sink)?;
                give_alone(outer, begin..row, sink)?;
            }
            if is_found && kind.pairs() {
                self.give_run(outer, row, sink)?;
            }
        }
        self.flush(&outer.rows(), sink)?;
        alone.map_or(Ok(()), |begin| give_alone(outer, begin..count, sink))
    }

    /// A semi join whose left relation is the inner one: its rows for each outer key, once.
    fn inner_rows_of(&mut self, outer: &RowsView<'_>, last_key: &mut Vec<u8>, sink: &mut dyn Sink) -> Result<()> {
        for row in 0..outer.len() {
            let key = outer.key(row);
            if (row > 0 && outer.key(row - 1) == key) || (row == 0 && last_key == key) {
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
                self.buffer.give_alone(begin..end, sink)?;
                if is_complete || !self.buffer.next_block(key)? {
                    break;
                }
                begin = 0;
            }
            if self.buffer.number() != start {
                self.row = 0;
            }
        }
        last_key.clear();
        last_key.extend_from_slice(outer.key(outer.len() - 1));
        Ok(())
    }

    /// Goes to the first inner row at or behind the key of an outer row; whether it has that key.
    fn find(&mut self, row: usize, outer: &RowsView<'_>, sink: &mut dyn Sink) -> Result<bool> {
        if self.probes.inner.blocks() == 0 {
            return Ok(false);
        }
        let key = outer.key(row);
        let mut window = self.index.look_up(key, &mut self.finger)?;
        let forward = self.probes.forward_window;
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
        if !self.buffer.is_in_present_block(key) {
            self.flush(outer, sink)?;
            if !self.buffer.seek(key)? {
                return Ok(false);
            }
        }
        if !forward || !is_held || self.buffer.number() != before {
            self.row = 0;
        }
        self.floor = self.buffer.number();
        let rows = self.buffer.rows();
        self.row = lower_bound(&rows, self.row, key);
        Ok(self.row < rows.len() && rows.key(self.row) == key)
    }

    /// Gives the pairs of an outer row with the run of inner rows that begins where the walk stands.
    fn give_run(&mut self, outer: &mut dyn RowStream, row: usize, sink: &mut dyn Sink) -> Result<()> {
        let start = self.buffer.number();
        let mut at = self.row;
        loop {
            let (ours, rows) = (outer.rows(), self.buffer.rows());
            let key = ours.key(row);
            let careful = ours.is_long(row) || self.buffer.has_long();
            let mut end = at;
            while end < rows.len() && rows.key(end) == key {
                if !careful {
                    self.pairs.push((row as u32, end as u32));
                }
                end += 1;
            }
            let is_complete = end < rows.len();
            if careful {
                self.flush(&outer.rows(), sink)?;
                self.give_long(outer, row, at..end, sink)?;
            } else if self.pairs.len() >= PAIRS_AT_ONCE {
                self.flush(&outer.rows(), sink)?;
            }
            if is_complete || !self.buffer.may_go_on() {
                break;
            }
            self.flush(&outer.rows(), sink)?;
            if !self.buffer.next_block(outer.rows().key(row))? {
                break;
            }
            at = 0;
        }
        if self.buffer.number() != start {
            self.flush(&outer.rows(), sink)?;
            // The same key may come again.
            if !self.buffer.go_to(start)? {
                self.row = 0;
            }
        }
        Ok(())
    }

    /// The same where values must be fetched.
    fn give_long(
        &mut self,
        outer: &mut dyn RowStream,
        row: usize,
        run: Range<usize>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        match outer.rows().is_long(row) {
            true => outer.long_value(row, &mut ours)?,
            false => ours.extend_from_slice(outer.rows().value(row)),
        }
        for other in run {
            self.buffer.value(other, &mut theirs)?;
            let (left, right) = match self.probes.inner_side {
                Side::Right => (&ours, &theirs),
                Side::Left => (&theirs, &ours),
            };
            sink.row(outer.rows().key(row), left, Some(right))?;
        }
        Ok(())
    }

    /// Gives the pairs to the sink.
    fn flush(&mut self, outer: &RowsView<'_>, sink: &mut dyn Sink) -> Result<()> {
        if self.pairs.is_empty() {
            return Ok(());
        }
        let rows = self.buffer.rows();
        match self.probes.inner_side {
            Side::Right => sink.pairs(*outer, rows, &self.pairs)?,
            Side::Left => {
                self.pairs.iter_mut().for_each(|pair| *pair = (pair.1, pair.0));
                sink.pairs(rows, *outer, &self.pairs)?;
            }
        }
        self.pairs.clear();
        Ok(())
    }
}

/// Gives rows of the outer chunk alone.
fn give_alone(outer: &mut dyn RowStream, rows: Range<usize>, sink: &mut dyn Sink) -> Result<()> {
    if rows.clone().any(|row| outer.rows().is_long(row)) {
        let mut value = Vec::new();
        for row in rows {
            match outer.rows().is_long(row) {
                true => outer.long_value(row, &mut value)?,
                false => {
                    value.clear();
                    value.extend_from_slice(outer.rows().value(row));
                }
            }
            sink.row(outer.rows().key(row), &value, None)?;
        }
        return Ok(());
    }
    sink.lefts(outer.rows(), rows)
}
