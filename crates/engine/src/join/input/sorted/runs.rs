//! The external sort of rows of one width: runs as long as memory allows, merged.

use super::dense::{SortKey, sort_rows};
use super::input::{SortInput, input_bytes};
use super::merge::RowRunMerge;
use crate::error::Result;
use crate::join::rows::relation::{KeyRange, Relation};
use crate::join::rows::sort_progress::SortProgress;
use crate::join::rows::spill::{ByteWriter, Spill, SpilledBytes};
use crate::join::rows::task::MemoryGrant;
use crate::table::sort::StreamRange;
use std::sync::Arc;

/// Approximate size of the parts in which rows are sorted, in bytes, with as much working memory: both fit a core's
/// second-level cache.
const SCRATCH_BYTES: usize = 512 << 10;
/// Smallest and largest chunk of a run, in bytes; otherwise 1/64 of the memory.
const CHUNK_BYTES_MIN: usize = 4 << 10;
const CHUNK_BYTES_MAX: usize = 256 << 10;

/// The outcome of a sort: rows in memory, or runs to be merged.
#[derive(Debug)]
pub(crate) enum SortOutcome<const N: usize> {
    /// All of them, in memory.
    Memory(Vec<[u8; N]>),
    /// Sorted sequences that are still to be merged.
    Runs(Vec<SpilledBytes>),
}

/// Takes rows of `N` bytes in any order.
pub(crate) struct RunSorter<const N: usize> {
    spill: Arc<Spill>,
    key: usize,
    chunk_bytes: usize,
    rows: Vec<[u8; N]>,
    rows_max: usize,
    scratch: Vec<[u8; N]>,
    writer: Option<ByteWriter>,
    sections: Vec<StreamRange>,
}

impl<const N: usize> RunSorter<N> {
    /// A sorter within `memory_bytes`, for about `expected` rows.
    pub(crate) fn new(spill: &Arc<Spill>, key: usize, memory_bytes: usize, expected: Option<u64>) -> Self {
        let chunk_bytes = chunk_bytes::<N>(memory_bytes);
        let scratch = (memory_bytes / 8).min(SCRATCH_BYTES) / N;
        let left = memory_bytes.saturating_sub(scratch * N + ByteWriter::memory_bytes(chunk_bytes));
        let expected = expected.and_then(|rows| usize::try_from(rows).ok()).unwrap_or(usize::MAX);
        let rows_max = (left / N).min(expected.max(1)).max(1);
        Self {
            spill: Arc::clone(spill),
            key,
            chunk_bytes,
            rows: Vec::new(),
            rows_max,
            scratch: Vec::with_capacity(scratch.min(rows_max)),
            writer: None,
            sections: Vec::new(),
        }
    }

    /// Takes rows.
    pub(crate) fn push(&mut self, mut rows: &[[u8; N]]) -> Result<()> {
        if self.rows.capacity() == 0 {
            self.rows.reserve_exact(self.rows_max);
        }
        while !rows.is_empty() {
            if self.rows.len() == self.rows_max {
                self.write_run()?;
            }
            let (now, later) = rows.split_at(rows.len().min(self.rows_max - self.rows.len()));
            self.rows.extend_from_slice(now);
            rows = later;
        }
        Ok(())
    }

    fn write_run(&mut self) -> Result<()> {
        sort_rows(&mut self.rows, self.key, &mut self.scratch);
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(ByteWriter::create(self.spill.name()?, self.chunk_bytes)?),
        };
        // Interruption is noticed at every chunk.
        writer.write(self.rows.as_flattened())?;
        self.sections.push(writer.cut()?);
        self.rows.clear();
        Ok(())
    }

    /// Ends the input.
    pub(crate) fn finish(mut self) -> Result<SortOutcome<N>> {
        if self.writer.is_none() {
            sort_rows(&mut self.rows, self.key, &mut self.scratch);
            return Ok(SortOutcome::Memory(self.rows));
        }
        if !self.rows.is_empty() {
            self.write_run()?;
        }
        let Self { writer, sections, .. } = self;
        let runs = writer.map(|writer| writer.finish_with(sections)).transpose()?;
        Ok(SortOutcome::Runs(runs.unwrap_or_default()))
    }
}

fn chunk_bytes<const N: usize>(memory_bytes: usize) -> usize {
    (memory_bytes / 64).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX) / N * N
}

/// Sorts all rows of a relation, which are `N` bytes wide; `memory` shrinks to what the result takes.
pub(crate) fn sort<const N: usize>(
    relation: &dyn Relation,
    key: usize,
    spill: &Arc<Spill>,
    memory: &mut MemoryGrant,
    progress: &mut SortProgress,
) -> Result<SortOutcome<N>> {
    let task = spill.task();
    let input_bytes = input_bytes(memory.bytes());
    memory.shrink_to(memory.bytes() - input_bytes);
    let facts = relation.facts();
    let expected = facts.is_exact.then_some(facts.rows);
    let mut sorter = RunSorter::<N>::new(spill, key, memory.bytes() as usize, expected);
    let mut input =
        SortInput::open(relation, &KeyRange::all(), task, task.budget.take(input_bytes, "reading")?, progress)?;
    let mut copies = Vec::new();
    while input.advance()? {
        sorter.push(input.arrays(key, &mut copies)?)?;
    }
    drop((input, copies));
    let sorted = sorter.finish()?;
    match &sorted {
        SortOutcome::Memory(rows) => memory.shrink_to((rows.capacity() * N) as u64),
        SortOutcome::Runs(_) => {}
    }
    Ok(sorted)
}

/// Merges runs until there are at most `runs_max`, 2 at least, within `memory_bytes`.
pub(crate) fn reduce<const N: usize>(
    mut runs: Vec<SpilledBytes>,
    runs_max: usize,
    key: usize,
    spill: &Arc<Spill>,
    memory_bytes: usize,
) -> Result<Vec<SpilledBytes>> {
    let runs_max = runs_max.max(2);
    let chunk_bytes = runs.first().map_or(CHUNK_BYTES_MIN, SpilledBytes::chunk_bytes);
    let memory_bytes = memory_bytes.saturating_sub(ByteWriter::memory_bytes(chunk_bytes));
    while runs.len() > runs_max {
        let fan_in = RowRunMerge::<N>::fan_in(&runs, memory_bytes);
        // As few runs as suffice are merged: nothing is written that need not be.
        let excess = runs.len() - runs_max;
        let merged = if excess < fan_in { excess + 1 } else { runs.len() };
        let mut writer = ByteWriter::create(spill.name()?, chunk_bytes)?;
        let mut sections = Vec::new();
        for group in runs[..merged].chunks(fan_in) {
            let mut merge = RowRunMerge::<N>::open(group, SortKey::new(key), memory_bytes)?;
            while merge.fill()? {
                writer.write(merge.rows().as_flattened())?;
            }
            sections.push(writer.cut()?);
        }
        let rest = runs.split_off(merged);
        runs = writer.finish_with(sections)?;
        runs.extend(rest);
    }
    Ok(runs)
}

/// Merges runs within `memory_bytes`, some of them ahead of the others where there are too many.
pub(crate) fn merge_runs<const N: usize>(
    runs: Vec<SpilledBytes>,
    key: usize,
    spill: &Arc<Spill>,
    memory_bytes: usize,
) -> Result<RowRunMerge<N>> {
    let fan_in = RowRunMerge::<N>::fan_in(&runs, memory_bytes);
    let runs = reduce::<N>(runs, fan_in, key, spill, memory_bytes)?;
    RowRunMerge::open(&runs, SortKey::new(key), memory_bytes)
}
