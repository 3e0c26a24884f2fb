//! The external sort of rows of any length, by the sorter of the tables.

use super::input::{SortInput, input_bytes};
use super::relation::sorted_facts;
use crate::error::Result;
use crate::io::local::sync::Mutex;
use crate::join::rows::relation::{KeyRange, Relation, RelationFacts};
use crate::join::rows::sort_progress::SortProgress;
use crate::join::rows::spill::{Spill, SpillName};
use crate::join::rows::stream::{RowChunk, RowStream, RowsView};
use crate::join::rows::task::{MemoryGrant, Task};
use crate::table::sort::{SORT_MEMORY_BYTES_MIN, Sorted, Sorter};
use std::sync::Arc;

/// Largest chunk of sorted rows, in bytes.
pub(crate) const SORTED_CHUNK_BYTES_MAX: usize = 64 << 10;

/// A relation that is sorted for its first reader, and again for every further one.
#[derive(Debug)]
pub(super) struct GeneralRelation {
    facts: RelationFacts,
    source: Arc<dyn Relation>,
    spill: Arc<Spill>,
    sorted: Mutex<Option<PendingSort>>,
}

/// A finished sort, for its only reader.
#[derive(Debug)]
struct PendingSort {
    sorted: Sorted,
    name: SpillName,
    memory: MemoryGrant,
}

/// The rows of a finished sort, chunk by chunk.
#[derive(Debug)]
pub(crate) struct SortedChunks {
    // Declared before the name: run files must be dropped before their name is released.
    sorted: Sorted,
    _name: SpillName,
    chunk: RowChunk,
    chunk_bytes: usize,
}

impl SortedChunks {
    /// Chunks of about `chunk_bytes`, which take twice that at most. `name` is that of the run files.
    pub(crate) fn new(sorted: Sorted, name: SpillName, facts: &RelationFacts, chunk_bytes: usize) -> Self {
        let (reads, bytes) = sorted.reads();
        name.count_reads(reads, bytes);
        let chunk = RowChunk::new(facts.key_bytes, facts.value_bytes, 2 * chunk_bytes);
        Self { sorted, _name: name, chunk, chunk_bytes }
    }

    /// Goes to the next chunk, of rows within `range` and from `from` on; `false` at the end.
    pub(crate) fn fill(&mut self, range: &KeyRange, from: Option<&[u8]>) -> Result<bool> {
        self.chunk.clear();
        while self.chunk.taken_bytes() < self.chunk_bytes {
            let Some((key, value)) = self.sorted.next_record()? else { break };
            if range.holds(key) && from.is_none_or(|from| key >= from) {
                self.chunk.push(key, value);
            }
        }
        Ok(!self.chunk.is_empty())
    }

    pub(crate) fn rows(&self) -> RowsView<'_> {
        self.chunk.rows()
    }
}

impl GeneralRelation {
    /// Sorts a relation within `memory`.
    pub(super) fn sort(
        source: Arc<dyn Relation>,
        spill: &Arc<Spill>,
        memory: MemoryGrant,
        progress: &mut SortProgress,
    ) -> Result<Self> {
        let ready = sort(&*source, spill, memory, progress)?;
        let (facts, spill) = (sorted_facts(source.facts()), Arc::clone(spill));
        Ok(Self { facts, source, spill, sorted: Mutex::new(Some(ready)) })
    }
}

fn sort(
    source: &dyn Relation,
    spill: &Arc<Spill>,
    mut memory: MemoryGrant,
    progress: &mut SortProgress,
) -> Result<PendingSort> {
    let task = spill.task();
    let input_bytes = input_bytes(memory.bytes());
    memory.shrink_to(memory.bytes().saturating_sub(input_bytes));
    let name = spill.name()?;
    // Out-of-line values are fetched into separate memory.
    let sort_bytes = (memory.bytes() / 4 * 3).max(SORT_MEMORY_BYTES_MIN);
    let mut sorter = Sorter::new(Arc::clone(spill.storage()), sort_bytes, name.as_str())?;
    let mut input =
        SortInput::open(source, &KeyRange::all(), task, task.budget.take(input_bytes, "reading")?, progress)?;
    let mut long = Vec::new();
    while input.advance()? {
        let sorted = |error| task.budget.sort_error(error);
        input.visit(&mut long, |key, value| sorter.push(key, value).map_err(sorted))?;
    }
    drop((input, long));
    Ok(PendingSort { sorted: sorter.finish()?, name, memory })
}

impl Relation for GeneralRelation {
    fn facts(&self) -> &RelationFacts {
        &self.facts
    }

    /// The sorted rows are read from their beginning, and sorted again for another scan.
    fn scans_ranges(&self) -> bool {
        false
    }

    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: MemoryGrant) -> Result<Box<dyn RowStream>> {
        let ready = self.sorted.lock().take();
        let (ready, chunk_memory) = match ready {
            Some(ready) => (ready, memory),
            None => {
                // A sorted copy is read more than once only to join a part of it at a time.
                let chunk_memory = task.budget.take(memory.bytes() / 8, "a sorted copy")?;
                let mut memory = memory;
                memory.shrink_to(memory.bytes() - memory.bytes() / 8);
                let mut progress = SortProgress::new(task, self.facts.rows);
                (sort(&*self.source, &self.spill, memory, &mut progress)?, chunk_memory)
            }
        };
        let chunk_bytes = (chunk_memory.bytes() as usize / 4).min(SORTED_CHUNK_BYTES_MAX);
        let PendingSort { sorted, name, memory } = ready;
        Ok(Box::new(SortedRows {
            chunks: SortedChunks::new(sorted, name, &self.facts, chunk_bytes),
            range: range.clone(),
            task: Arc::clone(task),
            _memory: [memory, chunk_memory],
        }))
    }
}

struct SortedRows {
    chunks: SortedChunks,
    range: KeyRange,
    task: Arc<Task>,
    /// Memory of the sort, and of the chunk.
    _memory: [MemoryGrant; 2],
}

impl RowStream for SortedRows {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        self.task.check()?;
        self.chunks.fill(&self.range, from)
    }

    fn rows(&self) -> RowsView<'_> {
        self.chunks.rows()
    }
}
