//! Partitioned relations: buckets are read in order, and each is sorted when it is loaded.

use super::borders::BucketBorders;
use super::scatter::{Bucket, BucketQueue, Buckets, Scatter};
use crate::error::Result;
use crate::join::input::sorted::{SortInput, sorted_facts};
use crate::join::rows::relation::{KeyRange, Relation, RelationFacts};
use crate::join::rows::sort_progress::SortProgress;
use crate::join::rows::spill::Spill;
use crate::join::rows::stream::{RowStream, RowsView};
use crate::join::rows::task::{MemoryGrant, Task};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

/// Memory overhead of reading a chunk, in bytes.
pub(super) const REQUEST_BYTES: usize = 64;

/// A relation in buckets.
#[derive(Debug)]
pub(super) struct Partition {
    pub(super) facts: RelationFacts,
    pub(super) buckets: Buckets,
    pub(super) spill: Arc<Spill>,
    borders: Arc<BucketBorders>,
}

/// The rows of the bucket that a stream has loaded: all of them in memory, or, if they exceed it, chunks of a merge.
pub(super) trait BucketRows: Debug + Sized + 'static {
    /// The width of rows in buckets, if they have one.
    const ROW_BYTES: Option<usize>;

    /// Writes all rows of a relation to the buckets of their keys.
    fn scatter(
        input: SortInput<'_>,
        facts: &RelationFacts,
        borders: &BucketBorders,
        scatter: &mut Scatter,
    ) -> Result<()>;

    /// No rows yet, of a partition, within `memory`.
    fn new(partition: Arc<Partition>, memory: MemoryGrant) -> Self;

    /// Reads and sorts a bucket: `true` if it is in memory, `false` if it is to be merged.
    fn load(&mut self, bucket: &Bucket) -> Result<bool>;

    /// Selects the rows in memory that are within `range` and not below `from`; `false` if there are none.
    fn select(&mut self, range: &KeyRange, from: Option<&[u8]>) -> bool;

    /// Moves to the next rows of the merge that are within `range` and not below `from`; `false` if there are none, or
    /// no merge.
    fn merge_next(&mut self, range: &KeyRange, from: Option<&[u8]>) -> Result<bool>;

    /// Selects no rows.
    fn select_none(&mut self);

    /// The selected rows.
    fn selected(&self) -> RowsView<'_>;
}

/// A relation in buckets of rows of the form `B`, as a relation in key order.
#[derive(Debug)]
pub(super) struct PartitionedRelation<B> {
    partition: Arc<Partition>,
    _rows: PhantomData<fn() -> B>,
}

impl<B: BucketRows> PartitionedRelation<B> {
    /// Reads a relation within `input_bytes` of memory, and scatters it.
    pub(super) fn fill(
        relation: &dyn Relation,
        borders: &Arc<BucketBorders>,
        mut scatter: Scatter,
        spill: &Arc<Spill>,
        input_bytes: u64,
        progress: &mut SortProgress,
    ) -> Result<Self> {
        let task = spill.task();
        let memory = task.budget.take(input_bytes, "reading")?;
        let input = SortInput::open(relation, &KeyRange::all(), task, memory, progress)?;
        B::scatter(input, relation.facts(), borders, &mut scatter)?;
        let buckets = scatter.finish(B::ROW_BYTES)?;
        let rows = buckets.buckets.iter().map(|bucket| bucket.rows).sum();
        let facts = RelationFacts { rows, is_exact: true, ..sorted_facts(relation.facts()) };
        let partition = Partition { facts, buckets, spill: Arc::clone(spill), borders: Arc::clone(borders) };
        Ok(Self { partition: Arc::new(partition), _rows: PhantomData })
    }
}

impl<B: BucketRows> Relation for PartitionedRelation<B> {
    fn facts(&self) -> &RelationFacts {
        &self.partition.facts
    }

    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: MemoryGrant) -> Result<Box<dyn RowStream>> {
        let Partition { borders, buckets, .. } = &*self.partition;
        Ok(Box::new(PartitionStream {
            partition: Arc::clone(&self.partition),
            task: Arc::clone(task),
            range: range.clone(),
            queue: BucketQueue::of_range(range, borders, buckets.buckets.len()),
            rows: B::new(Arc::clone(&self.partition), memory),
        }))
    }
}

/// A stream of the rows of a partition, bucket by bucket.
struct PartitionStream<B> {
    partition: Arc<Partition>,
    task: Arc<Task>,
    range: KeyRange,
    queue: BucketQueue,
    rows: B,
}

impl<B: BucketRows> RowStream for PartitionStream<B> {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        self.task.check()?;
        loop {
            if self.rows.merge_next(&self.range, from)? {
                return Ok(true);
            }
            let Partition { borders, buckets, .. } = &*self.partition;
            let Some(number) = self.queue.take(borders, from) else {
                self.rows.select_none();
                return Ok(false);
            };
            let Some(bucket) = buckets.buckets.get(number) else { continue };
            if self.rows.load(bucket)? && self.rows.select(&self.range, from) {
                return Ok(true);
            }
        }
    }

    fn rows(&self) -> RowsView<'_> {
        self.rows.selected()
    }
}
