//! The partition of rows of any length into buckets.

use super::plan::BucketBorders;
use super::scatter::{Bucket, BucketQueue, Buckets, Scatter};
use crate::error::{Error, Result};
use crate::join::rows::{RowStream, RowsView, Span};
use crate::join::sorted::{SORTED_CHUNK_BYTES_MAX, SortInput, SortProgress, SortedChunks, sorted_facts};
use crate::join::source::{KeyRange, Relation, RelationFacts};
use crate::join::spill::Spill;
use crate::join::task::{MemoryGrant, Task};
use crate::table::sort::{SORT_BUDGET_BYTES_MIN, Sorter};
use std::ops::Range;
use std::sync::Arc;

/// Header of each row: lengths of key and value, u32 little-endian.
pub(crate) const FRAME_BYTES: usize = 8;
/// Memory overhead of reading a chunk, in bytes.
const REQUEST_BYTES: usize = 64;

/// A relation of rows of any length, partitioned into buckets.
#[derive(Debug)]
pub(super) struct GeneralPartition {
    shared: Arc<GeneralBuckets>,
}

#[derive(Debug)]
struct GeneralBuckets {
    facts: RelationFacts,
    borders: Arc<BucketBorders>,
    buckets: Buckets,
    spill: Arc<Spill>,
}

impl GeneralPartition {
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
        let mut input = SortInput::open(relation, &KeyRange::all(), task, memory, progress)?;
        let mut long = Vec::new();
        while input.advance()? {
            input.visit(&mut long, |key, value| {
                let mut frame = [0; FRAME_BYTES];
                frame[..4].copy_from_slice(&(key.len() as u32).to_le_bytes());
                frame[4..].copy_from_slice(&(value.len() as u32).to_le_bytes());
                scatter.put_parts(borders.bucket(key), [&frame, key, value])
            })?;
        }
        drop((input, long));
        let buckets = scatter.finish(None)?;
        let rows = buckets.buckets.iter().map(|bucket| bucket.rows).sum();
        let facts = RelationFacts { rows, is_exact: true, ..sorted_facts(relation.facts()) };
        let shared = GeneralBuckets { facts, borders: Arc::clone(borders), buckets, spill: Arc::clone(spill) };
        Ok(Self { shared: Arc::new(shared) })
    }
}

impl Relation for GeneralPartition {
    fn facts(&self) -> &RelationFacts {
        &self.shared.facts
    }

    fn scan(&self, range: &KeyRange, task: &Arc<Task>, memory: MemoryGrant) -> Result<Box<dyn RowStream>> {
        let GeneralBuckets { borders, buckets, .. } = &*self.shared;
        Ok(Box::new(GeneralBucketRows {
            shared: Arc::clone(&self.shared),
            task: Arc::clone(task),
            range: range.clone(),
            queue: BucketQueue::of_range(range, borders, buckets.buckets.len()),
            bytes: Vec::new(),
            spans: Vec::new(),
            large: None,
            chosen: 0..0,
            memory,
        }))
    }
}

/// A stream of the rows, bucket by bucket, each sorted when it is loaded.
struct GeneralBucketRows {
    shared: Arc<GeneralBuckets>,
    task: Arc<Task>,
    range: KeyRange,
    queue: BucketQueue,
    bytes: Vec<u8>,
    spans: Vec<Span>,
    /// The merge of a bucket that exceeds memory.
    large: Option<SortedChunks>,
    /// The rows of the current chunk.
    chosen: Range<usize>,
    memory: MemoryGrant,
}

impl GeneralBucketRows {
    fn load(&mut self, number: usize) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let Some(bucket) = shared.buckets.buckets.get(number) else { return Ok(()) };
        let (stored, rows) = (bucket.stored_bytes() as usize, bucket.rows as usize);
        self.spans.clear();
        if self.bytes.capacity() < stored || self.spans.capacity() < rows {
            // Frees the old content before loading the new.
            (self.bytes, self.spans) = (Vec::new(), Vec::new());
            let wanted = (stored + rows * size_of::<Span>() + bucket.chunks.len() * REQUEST_BYTES) as u64;
            let fits = stored < u32::MAX as usize
                && (wanted <= self.memory.bytes() || self.memory.try_grow(wanted - self.memory.bytes()));
            if !fits {
                return self.sort_large(bucket);
            }
            self.bytes.reserve_exact(stored);
            self.spans.reserve_exact(rows);
        }
        self.read(bucket)?;
        let (bytes, spans) = (&self.bytes, &mut self.spans);
        let key = |span: &Span| bytes.get(span.key_at as usize..(span.key_at + span.key_bytes) as usize);
        spans.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        Ok(())
    }

    /// Reads all chunks of a bucket, and records the positions of its rows.
    fn read(&mut self, bucket: &Bucket) -> Result<()> {
        self.bytes.resize(bucket.stored_bytes() as usize, 0);
        self.shared.buckets.read(bucket, &mut self.bytes)?;
        let mut start = 0;
        for place in &bucket.chunks {
            let mut at = start;
            let end = start + place.payload_bytes();
            while at < end {
                let Some((key, value)) = framed(&self.bytes[at..end]) else { return Err(malformed()) };
                let key_at = at + FRAME_BYTES;
                self.spans.push(Span::of_row(key_at, key, value));
                at = key_at + key.len() + value.len();
            }
            start += place.stored_bytes as usize;
        }
        Ok(())
    }

    /// Sorts a bucket externally.
    fn sort_large(&mut self, bucket: &Bucket) -> Result<()> {
        let GeneralBuckets { facts, buckets, spill, .. } = &*self.shared;
        let memory_bytes = self.memory.bytes() as usize;
        let chunk_bytes = (memory_bytes / 16).min(SORTED_CHUNK_BYTES_MAX);
        let budget_bytes = memory_bytes.saturating_sub(bucket.chunk_bytes_max().max(4 * chunk_bytes)) as u64;
        let name = spill.name()?;
        let storage = Arc::clone(spill.storage());
        let mut sorter = Sorter::new(storage, budget_bytes.max(SORT_BUDGET_BYTES_MIN), name.as_str())?;
        buckets.visit_chunks(bucket, |mut rest| {
            while !rest.is_empty() {
                let Some((key, value)) = framed(rest) else { return Err(malformed()) };
                sorter.push(key, value)?;
                rest = &rest[FRAME_BYTES + key.len() + value.len()..];
            }
            Ok(())
        })?;
        self.large = Some(SortedChunks::new(sorter.finish()?, name, facts, chunk_bytes));
        Ok(())
    }

    /// Selects the requested part of the bucket; `false` if there is none.
    fn select(&mut self, from: Option<&[u8]>) -> bool {
        let low = from.max(self.range.from.as_deref());
        let key = |span: &Span| {
            let end = span.key_at + span.key_bytes;
            self.bytes.get(span.key_at as usize..end as usize).unwrap_or_default()
        };
        let start = low.map_or(0, |low| self.spans.partition_point(|span| key(span) < low));
        let to = self.range.to.as_deref();
        let end = to.map_or(self.spans.len(), |to| self.spans.partition_point(|span| key(span) < to));
        self.chosen = start..end.max(start);
        !self.chosen.is_empty()
    }
}

/// Key and value of the first framed row.
pub(crate) fn framed(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (frame, rest) = bytes.split_first_chunk::<FRAME_BYTES>()?;
    let (key, value) = frame.split_first_chunk::<4>()?;
    let (key, value) = (u32::from_le_bytes(*key) as usize, u32::from_le_bytes(*value.first_chunk()?) as usize);
    let (key, rest) = rest.split_at_checked(key)?;
    Some((key, rest.get(..value)?))
}

/// The error for chunks with a valid checksum but malformed content.
fn malformed() -> Error {
    Error::InvalidArgument("a chunk of a spill file does not consist of whole rows; run the join again".into())
}

impl RowStream for GeneralBucketRows {
    fn advance(&mut self, from: Option<&[u8]>) -> Result<bool> {
        self.task.check()?;
        loop {
            if let Some(large) = &mut self.large {
                if large.fill(&self.range, from)? {
                    return Ok(true);
                }
                self.large = None;
            }
            let Some(bucket) = self.queue.take(&self.shared.borders, from) else {
                self.chosen = 0..0;
                return Ok(false);
            };
            self.load(bucket)?;
            if self.large.is_none() && self.select(from) {
                return Ok(true);
            }
        }
    }

    fn rows(&self) -> RowsView<'_> {
        match &self.large {
            Some(large) => large.rows(),
            None => {
                RowsView::Spans { bytes: &self.bytes, spans: self.spans.get(self.chosen.clone()).unwrap_or_default() }
            }
        }
    }
}
