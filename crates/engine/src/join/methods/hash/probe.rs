//! The probe phase: looks each row of the probe side up in the hash table.

use super::table::HashTable;
use crate::error::Result;
use crate::join::rows::condition::{JoinCondition, JoinPair, RowBits};
use crate::join::rows::options::{JoinKind, JoinSide};
use crate::join::rows::sink::{PAIR_BATCH_MAX, RowSink};
use crate::join::rows::stream::{RowStream, RowsView};
use crate::join::rows::task::{MemoryGrant, Task};
use crate::types::NullTest;

/// Chains computed ahead, to overlap cache misses.
const PROBE_BATCH_ROWS: usize = 64;

/// Emits the rows of a join whose build side is in a hash table.
pub(super) struct HashProbe<'a> {
    kind: JoinKind,
    condition: Option<&'a JoinCondition>,
    null_test: Option<&'a NullTest>,
    table: &'a HashTable,
    /// The side in the hash table.
    build: JoinSide,
    /// The rows of the table that have a partner, and the memory of their bits, if those without are returned.
    matched: Option<(RowBits, MemoryGrant)>,
    pairs: Vec<(u32, u32)>,
    long: Vec<u8>,
}

impl<'a> HashProbe<'a> {
    /// # Errors
    /// [`crate::Cause::JoinMemory`] if memory is short.
    pub(super) fn new(
        (task, condition): (&'a Task, Option<&'a JoinCondition>),
        table: &'a HashTable,
        build: JoinSide,
    ) -> Result<Self> {
        let matched = match task.kind.keeps_unmatched_right() {
            true => {
                let rows = table.rows().len();
                let memory = task.budget.take(RowBits::memory_bytes(rows as u64), "telling the partners of rows")?;
                Some((RowBits::new(rows), memory))
            }
            false => None,
        };
        let (kind, null_test) = (task.kind, task.null_test.as_ref());
        let pairs = Vec::with_capacity(PAIR_BATCH_MAX);
        Ok(Self { kind, condition, null_test, table, build, matched, pairs, long: Vec::new() })
    }

    /// Probes with all rows of a stream, and returns rows of the table without partner last. Calls `done` with the
    /// number of rows of each chunk.
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
            if self.condition.is_some() || (0..count).any(|row| rows.is_long(row)) {
                self.row_by_row(stream, sink)?;
            } else {
                self.chunk(rows, sink)?;
            }
            done(count as u64);
        }
        let Some((matched, _)) = &self.matched else { return Ok(()) };
        let rows = self.table.rows();
        matched.ranges(0..rows.len(), false).try_for_each(|range| sink.rights(rows, range))
    }

    /// The first row of the table with this key; none for a key with a null.
    #[inline]
    fn find(&self, chain: usize, key: &[u8]) -> Option<u32> {
        if self.null_test.is_some_and(|test| test.has_null(key)) { None } else { self.table.find(chain, key) }
    }

    /// Whether a row of the probe side with this key may be one of the output, with or without a partner.
    pub(super) fn uses(&self, key: &[u8]) -> bool {
        match self.kind {
            JoinKind::Left | JoinKind::Full => true,
            // A condition may leave a row without any of its partners.
            JoinKind::Anti => self.condition.is_some() || self.find(self.table.chain(key), key).is_none(),
            JoinKind::Inner | JoinKind::Semi => self.find(self.table.chain(key), key).is_some(),
        }
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
                let found = self.find(chain, rows.key(row));
                let is_unpaired = match self.kind {
                    JoinKind::Inner => false,
                    JoinKind::Semi => found.is_some(),
                    JoinKind::Left | JoinKind::Full | JoinKind::Anti => found.is_none(),
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
            if let Some((matched, _)) = &mut self.matched {
                matched.set(partner as usize);
            }
            self.pairs.push(match self.build {
                JoinSide::Left => (partner, row as u32),
                JoinSide::Right => (row as u32, partner),
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
            JoinSide::Left => sink.pairs(self.table.rows(), rows, &self.pairs)?,
            JoinSide::Right => sink.pairs(rows, self.table.rows(), &self.pairs)?,
        }
        self.pairs.clear();
        Ok(())
    }

    /// As [`Self::chunk`], for values that lie elsewhere and must be fetched, and for joins with a condition.
    fn row_by_row(&mut self, stream: &mut dyn RowStream, sink: &mut dyn RowSink) -> Result<()> {
        for row in 0..stream.rows().len() {
            let key = stream.rows().key(row);
            let found = self.find(self.table.chain(key), key);
            let needs_value = match self.kind {
                JoinKind::Left | JoinKind::Full => true,
                JoinKind::Anti => self.condition.is_some() || found.is_none(),
                JoinKind::Inner | JoinKind::Semi => found.is_some(),
            };
            if !needs_value {
                continue;
            }
            let is_long = stream.rows().is_long(row);
            let mut long = std::mem::take(&mut self.long);
            if is_long {
                stream.long_value(row, &mut long)?;
            }
            let rows = stream.rows();
            let (key, value) = (rows.key(row), if is_long { &long[..] } else { rows.value(row) });
            let is_matched = self.partners(key, value, found, sink)?;
            // Semi joins return rows with a partner, the others those without.
            if self.build == JoinSide::Right
                && is_matched == (self.kind == JoinKind::Semi)
                && self.kind != JoinKind::Inner
            {
                sink.row(key, Some(value), None)?;
            }
            self.long = long;
        }
        Ok(())
    }

    /// Joins a row with its partners in the table, the first of which is given; returns whether it has any.
    fn partners(&mut self, key: &[u8], value: &[u8], mut found: Option<u32>, sink: &mut dyn RowSink) -> Result<bool> {
        let mut is_matched = false;
        while let Some(partner) = found {
            found = self.table.next_of_key(partner);
            let other = self.table.rows().value(partner as usize);
            let (left, right) = match self.build {
                JoinSide::Left => (other, value),
                JoinSide::Right => (value, other),
            };
            if let Some(condition) = self.condition
                && !condition(JoinPair { key, left, right })?
            {
                continue;
            }
            is_matched = true;
            if !self.kind.pairs() {
                return Ok(true);
            }
            if let Some((matched, _)) = &mut self.matched {
                matched.set(partner as usize);
            }
            sink.row(key, Some(left), Some(right))?;
        }
        Ok(is_matched)
    }
}
