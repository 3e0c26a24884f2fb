//! Buckets of rows of one width.

use super::borders::BucketBorders;
use super::relation::{BucketRows, Partition, REQUEST_BYTES};
use super::scatter::{Bucket, Scatter};
use crate::error::Result;
use crate::join::input::sorted::{RowRunMerge, RunSorter, SortInput, SortOutcome, merge_runs, sort_rows};
use crate::join::rows::relation::{KeyRange, RelationFacts};
use crate::join::rows::stream::RowsView;
use crate::join::rows::task::MemoryGrant;
use std::ops::Range;
use std::sync::Arc;

/// Working memory of an in-cache sort, in bytes.
const SCRATCH_BYTES: usize = 512 << 10;
/// Rows whose buckets are computed together, to overlap cache misses.
const SCATTER_BATCH_ROWS: usize = 64;

/// The bytes of a key, of rows of `N` bytes.
fn key_bytes<const N: usize>(facts: &RelationFacts) -> usize {
    facts.key_bytes.unwrap_or(N)
}

/// The rows of a bucket, of `N` bytes each.
#[derive(Debug)]
pub(super) struct DenseBucketRows<const N: usize> {
    partition: Arc<Partition>,
    key: usize,
    rows: Vec<[u8; N]>,
    scratch: Vec<[u8; N]>,
    /// The merge of a bucket that exceeds memory.
    large: Option<RowRunMerge<N>>,
    /// The selected rows, in `rows` or in the merge.
    chunk: Range<usize>,
    memory: MemoryGrant,
}

impl<const N: usize> DenseBucketRows<N> {
    fn current(&self) -> &[[u8; N]] {
        self.large.as_ref().map_or(&self.rows, |merge| merge.rows())
    }

    /// Memory to load a bucket, without sort memory.
    fn needed_bytes(bucket: &Bucket) -> usize {
        bucket.stored_bytes() as usize + N + bucket.chunks.len() * REQUEST_BYTES
    }

    /// Reads all chunks of a bucket, and closes the gaps left by their checksums.
    fn read(&mut self, bucket: &Bucket) -> Result<()> {
        self.rows.resize((bucket.stored_bytes() as usize).div_ceil(N), [0; N]);
        let bytes = self.rows.as_flattened_mut();
        self.partition.buckets.read(bucket, bytes)?;
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
        let Partition { buckets, spill, .. } = &*self.partition;
        let memory_bytes = self.memory.bytes() as usize;
        let sort_bytes = memory_bytes.saturating_sub(bucket.chunk_bytes_max());
        let mut sorter = RunSorter::<N>::new(spill, self.key, sort_bytes, Some(bucket.rows));
        buckets.visit_chunks(bucket, |rows| sorter.push(rows.as_chunks().0))?;
        match sorter.finish()? {
            SortOutcome::Memory(rows) => self.rows = rows,
            SortOutcome::Runs(runs) => {
                self.large = Some(merge_runs(runs, self.key, spill, memory_bytes)?);
            }
        }
        Ok(())
    }
}

impl<const N: usize> BucketRows for DenseBucketRows<N> {
    const ROW_BYTES: Option<usize> = Some(N);

    fn scatter(
        mut input: SortInput<'_>,
        facts: &RelationFacts,
        borders: &BucketBorders,
        scatter: &mut Scatter,
    ) -> Result<()> {
        let key = key_bytes::<N>(facts);
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
        Ok(())
    }

    fn new(partition: Arc<Partition>, memory: MemoryGrant) -> Self {
        let key = key_bytes::<N>(&partition.facts);
        Self { partition, key, rows: Vec::new(), scratch: Vec::new(), large: None, chunk: 0..0, memory }
    }

    fn load(&mut self, bucket: &Bucket) -> Result<bool> {
        let needed = Self::needed_bytes(bucket);
        let scratch = (bucket.rows as usize).min(SCRATCH_BYTES / N);
        self.rows.clear();
        if self.rows.capacity() * N < needed || self.scratch.capacity() < scratch {
            // Frees the old content before loading the new.
            (self.rows, self.scratch) = (Vec::new(), Vec::new());
            let wanted = (needed + scratch * N) as u64;
            if wanted > self.memory.bytes() && !self.memory.try_grow(wanted - self.memory.bytes()) {
                self.sort_large(bucket)?;
                return Ok(self.large.is_none());
            }
            self.rows.reserve_exact(needed.div_ceil(N));
            self.scratch.reserve_exact(scratch);
        }
        self.read(bucket)?;
        sort_rows(&mut self.rows, self.key, &mut self.scratch);
        Ok(true)
    }

    fn select(&mut self, range: &KeyRange, from: Option<&[u8]>) -> bool {
        let key = self.key;
        let rows = self.current();
        let low = from.max(range.from.as_deref());
        let start = match (low, rows.first()) {
            (Some(low), Some(first)) if &first[..key] < low => rows.partition_point(|row| &row[..key] < low),
            _ => 0,
        };
        let end = match (range.to.as_deref(), rows.last()) {
            (Some(to), Some(last)) if &last[..key] >= to => rows.partition_point(|row| &row[..key] < to),
            _ => rows.len(),
        };
        self.chunk = start..end.max(start);
        !self.chunk.is_empty()
    }

    fn merge_next(&mut self, range: &KeyRange, from: Option<&[u8]>) -> Result<bool> {
        while let Some(merge) = &mut self.large {
            if !merge.fill()? {
                self.large = None;
            } else if self.select(range, from) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn select_none(&mut self) {
        self.chunk = 0..0;
    }

    fn selected(&self) -> RowsView<'_> {
        let rows = self.current().get(self.chunk.clone()).unwrap_or_default();
        RowsView::Dense { bytes: rows.as_flattened(), key: self.key, value: N - self.key }
    }
}
