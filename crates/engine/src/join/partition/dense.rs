//! The partition of rows of one width into buckets.

use super::plan::BucketBorders;
use super::scatter::{Bucket, BucketQueue, Buckets, Scatter};
use crate::error::Result;
use crate::join::rows::{RowStream, RowsView};
use crate::join::sorted::{
    RunMerge, RunSorter, SortInput, SortOutcome, SortProgress, merge_runs, sort_rows, sorted_facts,
};
use crate::join::source::{KeyRange, Relation, RelationFacts};
use crate::join::spill::Spill;
use crate::join::task::{MemoryGrant, Task};
use std::ops::Range;
use std::sync::Arc;

/// Working memory of an in-cache sort, in bytes.
const SCRATCH_BYTES: usize = 512 << 10;
/// Rows whose buckets are computed together, to overlap cache misses.
const SCATTER_BATCH_ROWS: usize = 64;
/// Memory overhead of reading a chunk, in bytes.
const REQUEST_BYTES: usize = 64;

/// A relation of rows of `N` bytes, partitioned into buckets.
#[derive(Debug)]
pub(super) struct DensePartition<const N: usize> {
    shared: Arc<DenseBuckets<N>>,
}

#[derive(Debug)]
struct DenseBuckets<const N: usize> {
    facts: RelationFacts,
    key: usize,
    borders: Arc<BucketBorders>,
    buckets: Buckets,
    spill: Arc<Spill>,
}

impl<const N: usize> DensePartition<N> {
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
        let facts = relation.facts();
        let key = facts.key_bytes.unwrap_or(N);
        let memory = task.budget.take(input_bytes, "reading")?;
        let mut input = SortInput::open(relation, &KeyRange::all(), task, memory, progress)?;
        let mut copies = Vec::new();
        while input.advance()? {
            for rows in input.arrays::<N>(key, &mut copies)?.chunks(SCATTER_BATCH_ROWS) {
                let mut found = [0; SCATTER_BATCH_ROWS];
                for (bucket, row) in found.iter_mut().zip(rows) {
                    *bucket = borders.bucket(&row[..key]);
                }
                for (bucket, row) in found.iter().zip(rows) {
                    scatter.put(*bucket, row)?;
                }
            }
        }
        drop((input, copies));
        let buckets = scatter.finish(Some(N))?;
        let rows = buckets.buckets.iter().map(|bucket| bucket.rows).sum();
        let facts = RelationFacts { rows, is_exact: true, ..sorted_facts(facts) };
        let shared = DenseBuckets { facts, key, borders: Arc::clone(borders), buckets, spill: Arc::clone(spill) };
        Ok(Self { shared: Arc::new(shared) })
    }
}

impl<const N: usize> Relation for DensePartition<N> {
    fn facts(&self) -> &RelationFacts {
        &self.shared.facts
    }

    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: MemoryGrant) -> Result<Box<dyn RowStream>> {
        let DenseBuckets { borders, buckets, .. } = &*self.shared;
        Ok(Box::new(DenseBucketRows {
            shared: Arc::clone(&self.shared),
            task: Arc::clone(task),
            range: range.clone(),
            queue: BucketQueue::of_range(range, borders, buckets.buckets.len()),
            rows: Vec::new(),
            scratch: Vec::new(),
            large: None,
            chunk: 0..0,
            memory,
        }))
    }
}

/// A stream of the rows, bucket by bucket, each sorted when it is loaded.
struct DenseBucketRows<const N: usize> {
    shared: Arc<DenseBuckets<N>>,
    task: Arc<Task>,
    range: KeyRange,
    queue: BucketQueue,
    rows: Vec<[u8; N]>,
    scratch: Vec<[u8; N]>,
    /// The merge of a bucket that exceeds memory.
    large: Option<RunMerge<N>>,
    /// The rows of the current chunk, in `rows` or in the merge.
    chunk: Range<usize>,
    memory: MemoryGrant,
}

impl<const N: usize> DenseBucketRows<N> {
    fn current(&self) -> &[[u8; N]] {
        self.large.as_ref().map_or(&self.rows, |merge| merge.rows())
    }

    /// Selects the requested part of the current rows; `false` if there is none.
    fn select(&mut self, from: Option<&[u8]>) -> bool {
        let key = self.shared.key;
        let rows = self.current();
        let low = from.max(self.range.from.as_deref());
        let start = match (low, rows.first()) {
            (Some(low), Some(first)) if &first[..key] < low => rows.partition_point(|row| &row[..key] < low),
            _ => 0,
        };
        let end = match (self.range.to.as_deref(), rows.last()) {
            (Some(to), Some(last)) if &last[..key] >= to => rows.partition_point(|row| &row[..key] < to),
            _ => rows.len(),
        };
        self.chunk = start..end.max(start);
        !self.chunk.is_empty()
    }

    /// Memory to load a bucket, without sort memory.
    fn needed_bytes(bucket: &Bucket) -> usize {
        bucket.stored_bytes() as usize + N + bucket.chunks.len() * REQUEST_BYTES
    }

    fn load(&mut self, number: usize) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let Some(bucket) = shared.buckets.buckets.get(number) else { return Ok(()) };
        let needed = Self::needed_bytes(bucket);
        let scratch = (bucket.rows as usize).min(SCRATCH_BYTES / N);
        self.rows.clear();
        if self.rows.capacity() * N < needed || self.scratch.capacity() < scratch {
            // Frees the old content before loading the new.
            (self.rows, self.scratch) = (Vec::new(), Vec::new());
            let wanted = (needed + scratch * N) as u64;
            if wanted > self.memory.bytes() && !self.memory.try_grow(wanted - self.memory.bytes()) {
                return self.sort_large(bucket);
            }
            self.rows.reserve_exact(needed.div_ceil(N));
            self.scratch.reserve_exact(scratch);
        }
        self.read(bucket)?;
        sort_rows(&mut self.rows, shared.key, &mut self.scratch);
        Ok(())
    }

    /// Reads all chunks of a bucket, and closes the gaps left by their checksums.
    fn read(&mut self, bucket: &Bucket) -> Result<()> {
        self.rows.resize((bucket.stored_bytes() as usize).div_ceil(N), [0; N]);
        let bytes = self.rows.as_flattened_mut();
        self.shared.buckets.read(bucket, bytes)?;
        let (mut from, mut to) = (0, 0);
        for place in &bucket.chunks {
            bytes.copy_within(from..from + place.payload_bytes(), to);
            from += place.stored_bytes as usize;
            to += place.payload_bytes();
        }
        self.rows.truncate(bucket.rows as usize);
        Ok(())
    }

    /// Sorts a bucket externally.
    fn sort_large(&mut self, bucket: &Bucket) -> Result<()> {
        let DenseBuckets { key, buckets, spill, .. } = &*self.shared;
        let memory_bytes = self.memory.bytes() as usize;
        let sort_bytes = memory_bytes.saturating_sub(bucket.chunk_bytes_max());
        let mut sorter = RunSorter::<N>::new(spill, *key, sort_bytes, Some(bucket.rows));
        buckets.visit_chunks(bucket, |rows| sorter.push(rows.as_chunks().0))?;
        match sorter.finish()? {
            SortOutcome::Memory(rows) => self.rows = rows,
            SortOutcome::Runs(runs) => {
                self.large = Some(merge_runs(runs, *key, spill, memory_bytes)?);
            }
        }
        Ok(())
    }
}

impl<const N: usize> RowStream for DenseBucketRows<N> {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        self.task.check()?;
        loop {
            if let Some(merge) = &mut self.large {
                if merge.fill()? {
                    if self.select(from) {
                        return Ok(true);
                    }
                    continue;
                }
                self.large = None;
            }
            let Some(bucket) = self.queue.take(&self.shared.borders, from) else {
                self.chunk = 0..0;
                return Ok(false);
            };
            self.load(bucket)?;
            if self.large.is_none() && self.select(from) {
                return Ok(true);
            }
        }
    }

    fn rows(&self) -> RowsView<'_> {
        let rows = self.current().get(self.chunk.clone()).unwrap_or_default();
        RowsView::Dense { bytes: rows.as_flattened(), key: self.shared.key, value: N - self.shared.key }
    }
}
