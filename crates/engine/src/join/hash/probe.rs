//! The probe phase: looks each row of the probe side up in the hash table.

use super::table::HashTable;
use crate::error::Result;
use crate::join::merge::{PAIR_BATCH_MAX, RowSink};
use crate::join::options::{JoinKind, Side};
use crate::join::rows::{RowStream, RowsView};
use crate::join::task::Task;

/// Chains computed ahead, to overlap cache misses.
const PROBE_BATCH_ROWS: usize = 64;

/// Emits the rows of a join whose build side is in a hash table.
pub(super) struct HashProbe<'a> {
    kind: JoinKind,
    table: &'a HashTable,
    /// The side in the hash table.
    build: Side,
    pairs: Vec<(u32, u32)>,
    long: Vec<u8>,
}

impl<'a> HashProbe<'a> {
    pub(super) fn new(kind: JoinKind, table: &'a HashTable, build: Side) -> Self {
        Self { kind, table, build, pairs: Vec::with_capacity(PAIR_BATCH_MAX), long: Vec::new() }
    }

    /// Probes with all rows of a stream. Calls `done` with the number of rows of each chunk.
    pub(super) fn run(
        &mut self,
        task: &Task,
        stream: &mut dyn RowStream,
        sink: &mut dyn RowSink,
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

    fn chunk(&mut self, rows: RowsView<'_>, sink: &mut dyn RowSink) -> Result<()> {
        // Rows from here up to the current one are unpaired and not emitted yet.
        let mut unpaired_from = 0;
        let mut chains = [0; PROBE_BATCH_ROWS];
        for start in (0..rows.len()).step_by(PROBE_BATCH_ROWS) {
            let end = rows.len().min(start + PROBE_BATCH_ROWS);
            for (chain, row) in chains.iter_mut().zip(start..end) {
                *chain = self.table.chain(rows.key(row));
            }
            for (&chain, row) in chains.iter().zip(start..end) {
                let found = self.table.find(chain, rows.key(row));
                let is_unpaired = match self.kind {
                    JoinKind::Inner => false,
                    JoinKind::Semi => found.is_some(),
                    JoinKind::Left | JoinKind::Anti => found.is_none(),
                };
                if is_unpaired {
                    // Pairs of earlier rows come first.
                    self.flush(rows, sink)?;
                    continue;
                }
                if unpaired_from < row && self.kind != JoinKind::Inner {
                    sink.lefts(rows, unpaired_from..row)?;
                }
                unpaired_from = row + 1;
                if self.kind.pairs() {
                    self.pair(rows, row, found, sink)?;
                }
            }
        }
        self.flush(rows, sink)?;
        if unpaired_from < rows.len() && self.kind != JoinKind::Inner {
            sink.lefts(rows, unpaired_from..rows.len())
        } else {
            Ok(())
        }
    }

    fn pair(&mut self, rows: RowsView<'_>, row: usize, mut found: Option<u32>, sink: &mut dyn RowSink) -> Result<()> {
        while let Some(partner) = found {
            self.pairs.push(match self.build {
                Side::Left => (partner, row as u32),
                Side::Right => (row as u32, partner),
            });
            if self.pairs.len() >= PAIR_BATCH_MAX {
                self.flush(rows, sink)?;
            }
            found = self.table.next_of_key(partner);
        }
        Ok(())
    }

    fn flush(&mut self, rows: RowsView<'_>, sink: &mut dyn RowSink) -> Result<()> {
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
    fn long_chunk(&mut self, stream: &mut dyn RowStream, sink: &mut dyn RowSink) -> Result<()> {
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
