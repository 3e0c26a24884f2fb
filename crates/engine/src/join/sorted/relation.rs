//! A sorted copy of a relation, in memory or in spill files.

use super::input::Progress;
use super::merge::RunMerge;
use super::runs::{self, Sorted};
use crate::error::Result;
use crate::join::rows::{RowStream, RowsView};
use crate::join::source::{Facts, KeyRange, Relation};
use crate::join::spill::{Bytes, Spill};
use crate::join::task::{Share, Task};
use std::sync::Arc;

/// A relation of rows of `N` bytes, in key order: in memory, or in runs that each scan merges.
#[derive(Debug)]
pub(super) struct DenseRelation<const N: usize> {
    facts: Facts,
    key: usize,
    spill: Arc<Spill>,
    body: Body<N>,
}

#[derive(Debug)]
enum Body<const N: usize> {
    Memory(Arc<Held<N>>),
    Runs(Vec<Bytes>),
}

/// Rows in memory that is set aside.
#[derive(Debug)]
pub(crate) struct Held<const N: usize> {
    pub(crate) rows: Vec<[u8; N]>,
    pub(crate) _memory: Share,
}

impl<const N: usize> DenseRelation<N> {
    /// Sorts a relation within `memory`. Scans of what comes out take about `scan_bytes` each.
    pub(super) fn sort(
        relation: &dyn Relation,
        key: usize,
        spill: &Arc<Spill>,
        mut memory: Share,
        scan_bytes: u64,
        progress: &mut Progress,
    ) -> Result<Self> {
        let sorted = runs::sort::<N>(relation, key, spill, &mut memory, progress)?;
        let body = match sorted {
            Sorted::Memory(rows) => Body::Memory(Arc::new(Held { rows, _memory: memory })),
            Sorted::Runs(found) => {
                // Passes before the last merge may use all of the memory that sorting had, the last one only what a scan gets.
                let fan_in = RunMerge::<N>::fan_in(&found, scan_bytes as usize);
                Body::Runs(runs::reduce::<N>(found, fan_in, key, spill, memory.bytes() as usize)?)
            }
        };
        Ok(Self { facts: sorted_facts(relation.facts()), key, spill: Arc::clone(spill), body })
    }
}

/// What is known of a relation once it is sorted.
pub(crate) fn sorted_facts(facts: &Facts) -> Facts {
    Facts { is_sorted: true, ..facts.clone() }
}

impl<const N: usize> Relation for DenseRelation<N> {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn scan(&self, range: &KeyRange, _task: &Arc<Task>, memory: Share) -> Result<Box<dyn RowStream>> {
        match &self.body {
            Body::Memory(held) => Ok(Box::new(HeldRows::new(Arc::clone(held), self.key, range, memory))),
            Body::Runs(found) => {
                let memory_bytes = memory.bytes() as usize;
                let merge = runs::merge_runs::<N>(found.clone(), self.key, &self.spill, memory_bytes)?;
                Ok(Box::new(Merged { merge, key: self.key, range: range.clone(), kept: 0..0, _memory: memory }))
            }
        }
    }
}

/// A stretch of sorted rows in memory, as one chunk.
pub(crate) struct HeldRows<const N: usize> {
    held: Arc<Held<N>>,
    key: usize,
    rest: std::ops::Range<usize>,
    chunk: std::ops::Range<usize>,
    _memory: Share,
}

impl<const N: usize> HeldRows<N> {
    pub(crate) fn new(held: Arc<Held<N>>, key: usize, range: &KeyRange, mut memory: Share) -> Self {
        memory.shrink_to(0);
        let first = |bound: &Option<Vec<u8>>, otherwise| {
            bound.as_ref().map_or(otherwise, |bound| held.rows.partition_point(|row| row[..key] < bound[..]))
        };
        let rest = first(&range.from, 0)..first(&range.to, held.rows.len());
        Self { held, key, rest, chunk: 0..0, _memory: memory }
    }
}

impl<const N: usize> RowStream for HeldRows<N> {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        let rows = self.held.rows.get(self.rest.clone()).unwrap_or_default();
        let skipped = from.map_or(0, |from| rows.partition_point(|row| &row[..self.key] < from));
        self.chunk = self.rest.start + skipped..self.rest.end.max(self.rest.start + skipped);
        self.rest = self.chunk.end..self.chunk.end;
        Ok(!self.chunk.is_empty())
    }

    fn rows(&self) -> RowsView<'_> {
        let rows = self.held.rows.get(self.chunk.clone()).unwrap_or_default();
        RowsView::Dense { bytes: rows.as_flattened(), key: self.key, value: N - self.key }
    }
}

/// Runs as they are merged.
struct Merged<const N: usize> {
    merge: RunMerge<N>,
    key: usize,
    range: KeyRange,
    /// What of the chunk lies within the range.
    kept: std::ops::Range<usize>,
    _memory: Share,
}

impl<const N: usize> RowStream for Merged<N> {
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
