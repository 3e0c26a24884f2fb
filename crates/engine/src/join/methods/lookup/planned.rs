//! The planned scan as two row streams: the outer relation whole, and those blocks of the inner one that the outer keys
//! need.

use super::blocks::decoded::DecodedRows;
use super::blocks::fetch::PlannedFetch;
use super::blocks::load::LoadedIndex;
use super::queue::PlannedQueue;
use super::sides::{InnerRows, OuterRows, PlannedScanLink};
use super::sizes::{BLOCK_BATCHES, OUTER_BATCHES, read_sizes, scan_bytes};
use crate::error::Result;
use crate::io::Worker;
use crate::join::rows::relation::{KeyRange, Relation};
use crate::join::rows::task::{MemoryGrant, Task};
use crate::table::Table;
use std::sync::Arc;

/// Both sides of a planned scan.
pub(crate) struct PlannedScan {
    /// All rows of the outer relation.
    pub(crate) outer: OuterRows,
    /// The inner rows: at least those with keys of the outer relation.
    pub(crate) inner: InnerRows,
}

impl PlannedScan {
    /// Starts reading the rows of `outer` within a range of keys, and the blocks of `inner` to which `index` leads
    /// their keys. Takes all memory from `memory`, of which it can use [`super::wanted_bytes`].
    ///
    /// # Errors
    /// [`crate::Cause::JoinMemory`] if memory is short; [`crate::Cause::Io`] if no thread can be started.
    pub(crate) fn start(
        outer: &Arc<dyn Relation>,
        range: &KeyRange,
        inner: &Table,
        index: &LoadedIndex,
        task: &Arc<Task>,
        mut memory: MemoryGrant,
    ) -> Result<Self> {
        let mut sizes = read_sizes(inner, task, &memory)?;
        if !index.is_in_memory() {
            // Planning ahead would read the stored layers twice.
            sizes.batches_ahead = 0;
        }
        let scan_bytes = scan_bytes(memory.bytes());
        memory.shrink_to(memory.bytes() - scan_bytes);
        let scan_memory = task.budget.take(scan_bytes, "reading the outer relation")?;
        let queue = Arc::new(PlannedQueue::new(OUTER_BATCHES as usize, BLOCK_BATCHES as usize + sizes.batches_ahead));
        let fetch = PlannedFetch {
            queue: queue.clone(),
            task: task.clone(),
            outer: outer.clone(),
            range: range.clone(),
            inner: inner.clone(),
            index: index.index.clone(),
            sizes,
        };
        let worker = Worker::spawn("ogive-join-read", inner.path(), move || fetch.run(scan_memory))?;
        let link = Arc::new(PlannedScanLink { queue, task: task.clone(), worker: Some(worker), _memory: memory });
        let decoded = DecodedRows::new(sizes.laid_out_bytes as usize, &task.budget);
        let inner = InnerRows { link: link.clone(), table: inner.clone(), part: None, decoded, rest: None };
        Ok(Self { outer: OuterRows { link, batch: None }, inner })
    }
}
