//! The probe rows of a hash join in key order: those that the output will have, sorted before they find their partners.
//!
//! Pairs are never sorted: a key with many rows on both sides has more pairs than any sort could take in, and the first
//! of them come as soon as the rows are sorted.

use super::probe::HashProbe;
use crate::error::Result;
use crate::join::input::sorted::{SORTED_CHUNK_BYTES_MAX, SortInput, SortedChunks};
use crate::join::rows::relation::{KeyRange, Relation};
use crate::join::rows::sort_progress::SortProgress;
use crate::join::rows::spill::Spill;
use crate::join::rows::stream::{RowStream, RowsView};
use crate::join::rows::task::{MemoryGrant, Task};
use crate::table::sort::{SORT_MEMORY_BYTES_MIN, Sorter};
use std::sync::Arc;

/// A chunk of sorted rows gets this fraction (1/N) of the memory of the sort, and takes up to twice its size.
const CHUNK_DIVISOR: usize = 16;

/// Probe rows in key order.
pub(super) struct SortedProbe {
    chunks: SortedChunks,
    task: Arc<Task>,
    _memory: MemoryGrant,
}

impl SortedProbe {
    /// Sorts the rows of a relation that a probe has a use for, within `memory_bytes` of the budget, of which reading
    /// takes `scan_bytes` beside.
    ///
    /// # Errors
    /// Errors of the relation and the spill storage; [`crate::Cause::JoinMemory`] if memory is short;
    /// [`crate::Cause::Interrupted`].
    pub(super) fn sort(
        (relation, range): (&dyn Relation, &KeyRange),
        probe: &HashProbe<'_>,
        spill: &Arc<Spill>,
        (memory_bytes, scan_bytes): (u64, u64),
        progress: &mut SortProgress,
    ) -> Result<Self> {
        let task = spill.task();
        let memory = task.budget.take(memory_bytes.max(SORT_MEMORY_BYTES_MIN), "sorting the probe rows")?;
        let chunk_bytes = (memory.bytes() as usize / CHUNK_DIVISOR).min(SORTED_CHUNK_BYTES_MAX);
        let sort_bytes = memory.bytes().saturating_sub(2 * chunk_bytes as u64).max(SORT_MEMORY_BYTES_MIN);
        let name = spill.name()?;
        let mut sorter = Sorter::new(Arc::clone(spill.storage()), sort_bytes, name.as_str())?;
        let scan = task.budget.take(scan_bytes, "reading")?;
        let mut input = SortInput::open(relation, range, task, scan, progress)?;
        let mut long = Vec::new();
        while input.advance()? {
            input.visit(&mut long, |key, value| match probe.uses(key) {
                true => sorter.push(key, value).map_err(|error| task.budget.sort_error(error)),
                false => Ok(()),
            })?;
        }
        drop(input);
        let chunks = SortedChunks::new(sorter.finish()?, name, relation.facts(), chunk_bytes);
        Ok(Self { chunks, task: Arc::clone(task), _memory: memory })
    }
}

impl RowStream for SortedProbe {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        self.task.check()?;
        self.chunks.fill(&KeyRange::all(), from)
    }

    fn rows(&self) -> RowsView<'_> {
        self.chunks.rows()
    }
}
