//! The planned scan as two row streams: the outer relation whole, and those blocks of the inner one that the outer keys
//! need.

use super::decoded::Decoded;
use super::fetch::Fetch;
use super::load::Loaded;
use super::queue::Queue;
use super::sides::{InnerRows, Link, OuterRows};
use super::sizes::{BATCHES, PIECES, read_sizes, scan_bytes};
use crate::error::Result;
use crate::io::Worker;
use crate::join::source::{KeyRange, Relation};
use crate::join::task::{Share, Task};
use crate::table::Table;
use std::sync::Arc;

/// Both sides of a planned scan.
pub(crate) struct Planned {
    /// All rows of the outer relation.
    pub(crate) outer: OuterRows,
    /// Of the inner relation, at least the rows whose keys the outer one has.
    pub(crate) inner: InnerRows,
}

impl Planned {
    /// Begins to read the rows of `outer` within a range of keys, and of `inner` the blocks where `index` leads their keys. All memory that
    /// this takes comes out of `memory`, of which it can use [`super::wanted_bytes`].
    ///
    /// # Errors
    /// [`crate::Error::JoinMemoryShort`] where the memory is too little; [`crate::Error::Io`] where there is no further thread.
    pub(crate) fn start(
        outer: &Arc<dyn Relation>,
        range: &KeyRange,
        inner: &Table,
        index: &Loaded,
        task: &Arc<Task>,
        mut memory: Share,
    ) -> Result<Self> {
        let sizes = read_sizes(inner, task, &memory)?;
        let scan_bytes = scan_bytes(memory.bytes());
        memory.shrink_to(memory.bytes() - scan_bytes);
        let scan_memory = task.budget.take(scan_bytes, "reading the outer relation")?;
        let queue = Arc::new(Queue::new(BATCHES as usize, PIECES as usize));
        let fetch = Fetch {
            queue: queue.clone(),
            task: task.clone(),
            outer: outer.clone(),
            range: range.clone(),
            inner: inner.clone(),
            index: index.index.clone(),
            sizes,
        };
        let worker = Worker::spawn("ogive-join-read", inner.path(), move || fetch.run(scan_memory))?;
        let link = Arc::new(Link { queue, task: task.clone(), worker: Some(worker), _memory: memory });
        let decoded = Decoded::new(sizes.laid_out_bytes as usize);
        let inner = InnerRows { link: link.clone(), table: inner.clone(), part: None, decoded, rest: None };
        Ok(Self { outer: OuterRows { link, batch: None }, inner })
    }
}
