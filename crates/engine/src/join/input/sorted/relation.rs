//! A sorted copy of a relation, in memory or in spill files.

use super::merge::RowRunMerge;
use super::runs::{self, SortOutcome};
use crate::error::Result;
use crate::join::rows::relation::{KeyRange, Relation, RelationFacts};
use crate::join::rows::sort_progress::SortProgress;
use crate::join::rows::spill::{Spill, SpilledBytes};
use crate::join::rows::stream::{RowStream, RowsView};
use crate::join::rows::task::{MemoryGrant, Task};
use std::sync::Arc;

/// A relation of rows of `N` bytes, in key order: in memory, or in runs that each scan merges.
#[derive(Debug)]
pub(super) struct DenseRelation<const N: usize> {
    facts: RelationFacts,
    key: usize,
    spill: Arc<Spill>,
    body: CopyStorage<N>,
}

#[derive(Debug)]
enum CopyStorage<const N: usize> {
    Memory(Arc<HeldRows<N>>),
    Runs(Vec<SpilledBytes>),
}

/// Rows in memory that is set aside.
#[derive(Debug)]
pub(crate) struct HeldRows<const N: usize> {
    pub(crate) rows: Vec<[u8; N]>,
    pub(crate) _memory: MemoryGrant,
}

impl<const N: usize> DenseRelation<N> {
    /// Sorts a relation within `memory`. Scans of what comes out take about `scan_bytes` each.
    pub(super) fn sort(
        relation: &dyn Relation,
        key: usize,
        spill: &Arc<Spill>,
        mut memory: MemoryGrant,
        scan_bytes: u64,
        progress: &mut SortProgress,
    ) -> Result<Self> {
        let sorted = runs::sort::<N>(relation, key, spill, &mut memory, progress)?;
        let body = match sorted {
            SortOutcome::Memory(rows) => CopyStorage::Memory(Arc::new(HeldRows { rows, _memory: memory })),
            SortOutcome::Runs(found) => {
                // Passes before the last merge may use all of the memory that sorting had, the last one only what a
                // scan gets.
                let fan_in = RowRunMerge::<N>::fan_in(&found, scan_bytes as usize);
                CopyStorage::Runs(runs::reduce::<N>(found, fan_in, key, spill, memory.bytes() as usize)?)
            }
        };
        Ok(Self { facts: sorted_facts(relation.facts()), key, spill: Arc::clone(spill), body })
    }
}

/// The facts of the sorted copy of a relation.
pub(crate) fn sorted_facts(facts: &RelationFacts) -> RelationFacts {
    RelationFacts { is_sorted: true, ..facts.clone() }
}

impl<const N: usize> Relation for DenseRelation<N> {
    fn facts(&self) -> &RelationFacts {
        &self.facts
    }

    /// Runs are merged from their beginning.
    fn scans_ranges(&self) -> bool {
        matches!(self.body, CopyStorage::Memory(_))
    }

    fn scan(&self, range: &KeyRange, _task: &Arc<Task>, memory: MemoryGrant) -> Result<Box<dyn RowStream>> {
        match &self.body {
            CopyStorage::Memory(held) => Ok(Box::new(MemoryRows::new(Arc::clone(held), self.key, range, memory))),
            CopyStorage::Runs(found) => {
                let memory_bytes = memory.bytes() as usize;
                let merge = runs::merge_runs::<N>(found.clone(), self.key, &self.spill, memory_bytes)?;
                Ok(Box::new(MergedRows { merge, key: self.key, range: range.clone(), kept: 0..0, _memory: memory }))
            }
        }
    }
}

/// Rows of a chunk of a relation in memory: few enough that their numbers have 32 bits, and that the join is seen to go
/// on.
const CHUNK_ROWS_MAX: usize = 1 << 20;

/// A range of sorted rows in memory.
pub(crate) struct MemoryRows<const N: usize> {
    held: Arc<HeldRows<N>>,
    key: usize,
    rest: std::ops::Range<usize>,
    chunk: std::ops::Range<usize>,
    _memory: MemoryGrant,
}

impl<const N: usize> MemoryRows<N> {
    pub(crate) fn new(held: Arc<HeldRows<N>>, key: usize, range: &KeyRange, mut memory: MemoryGrant) -> Self {
        memory.shrink_to(0);
        let first = |bound: &Option<Vec<u8>>, otherwise| {
            bound.as_ref().map_or(otherwise, |bound| held.rows.partition_point(|row| row[..key] < bound[..]))
        };
        let rest = first(&range.from, 0)..first(&range.to, held.rows.len());
        Self { held, key, rest, chunk: 0..0, _memory: memory }
    }
}

impl<const N: usize> RowStream for MemoryRows<N> {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        let rows = self.held.rows.get(self.rest.clone()).unwrap_or_default();
        let skipped = from.map_or(0, |from| rows.partition_point(|row| &row[..self.key] < from));
        let start = self.rest.start + skipped;
        self.chunk = start..self.rest.end.clamp(start, start.saturating_add(CHUNK_ROWS_MAX));
        self.rest = self.chunk.end..self.rest.end.max(self.chunk.end);
        Ok(!self.chunk.is_empty())
    }

    fn rows(&self) -> RowsView<'_> {
        let rows = self.held.rows.get(self.chunk.clone()).unwrap_or_default();
        RowsView::Dense { bytes: rows.as_flattened(), key: self.key, value: N - self.key }
    }
}

/// Runs as they are merged.
struct MergedRows<const N: usize> {
    merge: RowRunMerge<N>,
    key: usize,
    range: KeyRange,
    /// The part of the chunk within the range.
    kept: std::ops::Range<usize>,
    _memory: MemoryGrant,
}

impl<const N: usize> RowStream for MergedRows<N> {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        let low = from.max(self.range.from.as_deref());
        while self.merge.fill()? {
            let rows = self.merge.rows();
            let start = low.map_or(0, |low| rows.partition_point(|row| &row[..self.key] < low));
            let end =
                self.range.to.as_deref().map_or(rows.len(), |to| rows.partition_point(|row| &row[..self.key] < to));
            if start < end {
                self.kept = start..end;
                return Ok(true);
            }
            if end < rows.len() {
                break;
            }
        }
        self.kept = 0..0;
        Ok(false)
    }

    fn rows(&self) -> RowsView<'_> {
        let rows = self.merge.rows().get(self.kept.clone()).unwrap_or_default();
        RowsView::Dense { bytes: rows.as_flattened(), key: self.key, value: N - self.key }
    }
}
