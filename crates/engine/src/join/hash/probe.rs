//! The probe phase: looks each row of the probe side up in the hash table.

use super::table::HashTable;
use crate::error::Result;
use crate::join::merge::{PAIRS_AT_ONCE, Sink};
use crate::join::options::{JoinKind, Side};
use crate::join::rows::{RowStream, RowsView};
use crate::join::task::Task;

/// Chains that are looked up ahead, so that waiting for memory overlaps.
const ROWS_AT_ONCE: usize = 64;

/// Gives the rows of a join whose build side is in a table.
pub(super) struct Probe<'a> {
    kind: JoinKind,
    table: &'a HashTable,
    /// The side in the table.
    build: Side,
    pairs: Vec<(u32, u32)>,
    long: Vec<u8>,
}

impl<'a> Probe<'a> {
    pub(super) fn new(kind: JoinKind, table: &'a HashTable, build: Side) -> Self {
        Self { kind, table, build, pairs: Vec::with_capacity(PAIRS_AT_ONCE), long: Vec::new() }
    }

    /// Deals with all rows of a stream; `done` is told of every chunk how many it has.
    pub(super) fn run(
        &mut self,
        task: &Task,
        stream: &mut dyn RowStream,
        sink: &mut dyn Sink,
        done: &mut dyn FnMut(u64),
    ) -> Result<()> {
        while stream.advance(None)? {
            task.check()?;
            let rows = stream.rows();
            let count = rows.len();
            if (0..count).any(|row| rows.is_long(row)) {
                self.long_chunk(stream, sink)?;
            } else {
                self.chunk(rows, sink)?;
            }
            done(count as u64);
        }
        Ok(())
    }

    fn chunk(&mut self, rows: RowsView<'_>, sink: &mut dyn Sink) -> Result<()> {
        // Rows from here on, up to the one at hand, are to be given alone.
        let mut alone = 0;
        let mut chains = [0; ROWS_AT_ONCE];
        for start in (0..rows.len()).step_by(ROWS_AT_ONCE) {
            let end = rows.len().min(start + ROWS_AT_ONCE);
            for (chain, row) in chains.iter_mut().zip(start..end) {
                *chain = self.table.chain(rows.key(row));
            }
            for (&chain, row) in chains.iter().zip(start..end) {
                let found = self.table.find(chain, rows.key(row));
                let is_alone = match self.kind {
                    JoinKind::Inner => false,
                    JoinKind::Semi => found.is_some(),
                    JoinKind::Left | JoinKind::Anti => found.is_none(),
                };
                if is_alone {
                    // Pairs of the rows before come first.
                    self.flush(rows, sink)?;
                    continue;
                }
                if alone < row && self.kind != JoinKind::Inner {
                    sink.lefts(rows, alone..row)?;
                }
                alone = row + 1;
                if self.kind.pairs() {
                    self.pair(rows, row, found, sink)?;
                }
            }
        }
        self.flush(rows, sink)?;
        if alone < rows.len() && self.kind != JoinKind::Inner { sink.lefts(rows, alone..rows.len()) } else { Ok(()) }
    }

    fn pair(&mut self, rows: RowsView<'_>, row: usize, mut found: Option<u32>, sink: &mut dyn Sink) -> Result<()> {
        while let Some(partner) = found {
            self.pairs.push(match self.build {
                Side::Left => (partner, row as u32),
                Side::Right => (row as u32, partner),
            });
            if self.pairs.len() >= PAIRS_AT_ONCE {
                self.flush(rows, sink)?;
            }
            found = self.table.next_of_key(partner);
        }
        Ok(())
    }

    fn flush(&mut self, rows: RowsView<'_>, sink: &mut dyn Sink) -> Result<()> {
        if self.pairs.is_empty() {
            return Ok(());
        }
        match self.build {
            Side::Left => sink.pairs(self.table.rows(), rows, &self.pairs)?,
            Side::Right => sink.pairs(rows, self.table.rows(), &self.pairs)?,
        }
        self.pairs.clear();
        Ok(())
    }

    /// As [`Self::chunk`], where values lie elsewhere and must be fetched.
    fn long_chunk(&mut self, stream: &mut dyn RowStream, sink: &mut dyn Sink) -> Result<()> {
        for row in 0..stream.rows().len() {
            let key = stream.rows().key(row);
            let mut found = self.table.find(self.table.chain(key), key);
            let is_given = match self.kind {
                JoinKind::Inner | JoinKind::Semi => found.is_some(),
                JoinKind::Left => true,
                JoinKind::Anti => found.is_none(),
            };
            if !is_given {
                continue;
            }
            let is_long = stream.rows().is_long(row);
            let mut long = std::mem::take(&mut self.long);
            if is_long {
                stream.long_value(row, &mut long)?;
            }
            let rows = stream.rows();
            let (key, value) = (rows.key(row), if is_long { &long[..] } else { rows.value(row) });
            if found.is_none() || !self.kind.pairs() {
                sink.row(key, value, None)?;
            } else {
                while let Some(partner) = found {
                    let other = self.table.rows().value(partner as usize);
                    match self.build {
                        Side::Left => sink.row(key, other, Some(value))?,
                        Side::Right => sink.row(key, value, Some(other))?,
                    }
                    found = self.table.next_of_key(partner);
                }
            }
            self.long = long;
        }
        Ok(())
    }
}
