//! The index nested loop join of the paper (Section 5.3): looks each outer row up in an index of the inner relation,
//! reads the resulting window unless it is buffered, and searches it.
//!
//! One window is in memory at a time (Section 5.2). Each of the paper's two optimisations (Section 4.1) has a switch:
//! the leaf iterator belongs to the index, the forward-only window is [`ProbeJoin::forward_window`].

use super::buffer::Buffer;
use super::last_mile::seek_row;
use super::load::Loaded;
use super::window::{BlockIndex, Finger};
use crate::error::Result;
use crate::join::merge::{Sink, has_long};
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
    let mut last_key = None;
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
        if !has_long(&outer.rows()) {
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
            if self.is_alone(is_found) {
                sink.row(rows.key(row), &value, None)?;
            } else if is_found && self.probes.task.kind.pairs() {
                self.give_run(&rows, row, Some(&value), sink)?;
            }
        }
        Ok(())
    }

    /// The same for rows whose values are all there.
    fn rows(&mut self, outer: &RowsView<'_>, sink: &mut dyn Sink) -> Result<()> {
        let pairs = self.probes.task.kind.pairs();
        // Rows from here on are to be given alone.
        let mut alone = None;
        for row in 0..outer.len() {
            let is_found = self.find(row, outer, sink)?;
            if self.is_alone(is_found) {
                alone.get_or_insert(row);
            } else if let Some(begin) = alone.take() {
                self.flush(outer, sink)?;
                sink.lefts(*outer, begin..row)?;
            }
            if is_found && pairs {
                self.give_run(outer, row, None, sink)?;
            }
        }
        self.flush(outer, sink)?;
        alone.map_or(Ok(()), |begin| sink.lefts(*outer, begin..outer.len()))
    }

    /// Whether an outer row is given without a partner.
    fn is_alone(&self, is_found: bool) -> bool {
        match self.probes.task.kind {
            JoinKind::Inner => false,
            JoinKind::Left | JoinKind::Anti => !is_found,
            JoinKind::Semi => is_found,
        }
    }

    /// A semi join whose left relation is the inner one: its rows for each outer key, once. `last_key` is that of the last outer row before
    /// these; the empty key is one like any other.
    fn inner_rows_of(
        &mut self,
        outer: &RowsView<'_>,
        last_key: &mut Option<Vec<u8>>,
        sink: &mut dyn Sink,
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
        let last_key = last_key.get_or_insert_default();
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
        let (row, is_found) = seek_row(&self.buffer.rows(), self.row, key);
        self.row = row;
        Ok(is_found)
    }

    /// Gives the pairs of an outer row with the run of inner rows that begins where the walk stands; `value` is that of the outer row where some
    /// are long.
    fn give_run(&mut self, outer: &RowsView<'_>, row: usize, value: Option<&[u8]>, sink: &mut dyn Sink) -> Result<()> {
        let (key, start) = (outer.key(row), self.buffer.number());
        let mut at = self.row;
        loop {
            let rows = self.buffer.rows();
            // The first row of the run is known to be there, or the last look at a block said so.
            let mut end = at + 1;
            while end < rows.len() && rows.key(end) == key {
                end += 1;
            }
            let is_complete = end < rows.len();
            if value.is_some() || self.buffer.has_long() {
                self.flush(outer, sink)?;
                self.give_long((key, value.unwrap_or_else(|| outer.value(row))), at..end, sink)?;
            } else {
                self.pairs.extend((at..end).map(|other| (row as u32, other as u32)));
                if self.pairs.len() >= PAIRS_AT_ONCE {
                    self.flush(outer, sink)?;
                }
            }
            if is_complete || !self.buffer.may_go_on() {
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

    /// The same where values must be fetched.
    fn give_long(&mut self, (key, ours): (&[u8], &[u8]), run: Range<usize>, sink: &mut dyn Sink) -> Result<()> {
        let mut theirs = Vec::new();
        for other in run {
            self.buffer.value(other, &mut theirs)?;
            let (left, right) = match self.probes.inner_side {
                Side::Right => (ours, &theirs[..]),
                Side::Left => (&theirs[..], ours),
            };
            sink.row(key, left, Some(right))?;
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
