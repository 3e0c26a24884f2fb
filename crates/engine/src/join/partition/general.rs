//! The partition of rows of any length into buckets.

use super::plan::BucketBorders;
use super::scatter::{Bucket, Buckets, Scatter};
use crate::error::{Error, Result};
use crate::join::rows::{RowChunk, RowStream, RowsView, Span};
use crate::join::sorted::{SortInput, SortProgress, sorted_facts};
use crate::join::source::{KeyRange, Relation, RelationFacts};
use crate::join::spill::{Spill, SpillName};
use crate::join::task::{MemoryGrant, Task};
use crate::table::sort::{SORT_BUDGET_BYTES_MIN, Sorted, Sorter};
use std::ops::Range;
use std::sync::Arc;

/// Header of each row: lengths of key and value, u32 little-endian.
pub(crate) const FRAME_BYTES: usize = 8;
/// Memory overhead of reading a chunk, in bytes.
const REQUEST_BYTES: usize = 64;
/// Largest chunk of rows from a merged bucket, in bytes.
const CHUNK_BYTES_MAX: usize = 64 << 10;

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
        let next = range.from.as_deref().map_or(0, |from| borders.bucket(from));
        let end = range.to.as_deref().map_or(buckets.buckets.len(), |to| borders.bucket(to) + 1);
        Ok(Box::new(GeneralBucketRows {
            shared: Arc::clone(&self.shared),
            task: Arc::clone(task),
            range: range.clone(),
            next,
            end: end.min(buckets.buckets.len()),
            bytes: Vec::new(),
            spans: Vec::new(),
            large: None,
            chosen: 0..0,
            memory,
        }))
    }
}

/// The merge of a bucket that exceeds memory.
struct MergedBucket {
    // Declared before the name: run files must be dropped before their name is released.
    sorted: Sorted,
    chunk: RowChunk,
    chunk_bytes: usize,
    _name: SpillName,
}

/// A stream of the rows, bucket by bucket, each sorted when it is loaded.
struct GeneralBucketRows {
    shared: Arc<GeneralBuckets>,
    task: Arc<Task>,
    range: KeyRange,
    next: usize,
    end: usize,
    bytes: Vec<u8>,
    spans: Vec<Span>,
    large: Option<MergedBucket>,
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
        let mut rest = &mut self.bytes[..];
        let mut chunks = Vec::with_capacity(bucket.chunks.len());
        for place in &bucket.chunks {
            let (chunk, later) = rest.split_at_mut(place.stored_bytes as usize);
            chunks.push((place.offset, chunk));
            rest = later;
        }
        self.shared.buckets.file.read_chunks(chunks)?;
        let mut start = 0;
        for place in &bucket.chunks {
            let mut at = start;
            let end = start + place.payload_bytes();
            while at < end {
                let Some((key, value)) = framed(&self.bytes[at..end]) else { return Err(malformed()) };
                let key_at = at + FRAME_BYTES;
                self.spans.push(Span {
                    key_at: key_at as u32,
                    key_bytes: key.len() as u32,
                    value_at: (key_at + key.len()) as u32,
                    value_bytes: value.len() as u32,
                    is_long: false,
                });
                at = key_at + key.len() + value.len();
            }
            start += place.stored_bytes as usize;
        }
        Ok(())
    }

    /// Sorts a bucket externally.
    fn sort_large(&mut self, bucket: &Bucket) -> Result<()> {
        let GeneralBuckets { facts, buckets, spill, .. } = &*self.shared;
        let largest = bucket.chunks.iter().map(|place| place.stored_bytes as usize).max().unwrap_or(0);
        let memory_bytes = self.memory.bytes() as usize;
        let chunk_bytes = (memory_bytes / 16).min(CHUNK_BYTES_MAX);
        let budget_bytes = memory_bytes.saturating_sub(largest.max(4 * chunk_bytes)) as u64;
        let name = spill.name()?;
        let storage = Arc::clone(spill.storage());
        let mut sorter = Sorter::new(storage, budget_bytes.max(SORT_BUDGET_BYTES_MIN), name.as_str())?;
        let mut chunk = Vec::with_capacity(largest);
        for place in &bucket.chunks {
            chunk.resize(place.stored_bytes as usize, 0);
            buckets.file.read_chunks(vec![(place.offset, &mut chunk[..])])?;
            let mut rest = &chunk[..place.payload_bytes()];
            while !rest.is_empty() {
                let Some((key, value)) = framed(rest) else { return Err(malformed()) };
                sorter.push(key, value)?;
                rest = &rest[FRAME_BYTES + key.len() + value.len()..];
            }
        }
        drop(chunk);
        let chunk = RowChunk::new(facts.key_bytes, facts.value_bytes, 2 * chunk_bytes);
        self.large = Some(MergedBucket { sorted: sorter.finish()?, chunk, chunk_bytes, _name: name });
        Ok(())
    }

    /// Fills a chunk from a merged bucket; `false` at its end.
    fn merge(&mut self, from: Option<&[u8]>) -> Result<bool> {
        let Some(large) = &mut self.large else { return Ok(false) };
        large.chunk.clear();
        while large.chunk.taken_bytes() < large.chunk_bytes {
            let Some((key, value)) = large.sorted.next_record()? else { break };
            if self.range.holds(key) && from.is_none_or(|from| key >= from) {
                large.chunk.push(key, value);
            }
        }
        Ok(!large.chunk.is_empty())
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
            if self.large.is_some() {
                if self.merge(from)? {
                    return Ok(true);
                }
                self.large = None;
            }
            if let Some(from) = from {
                self.next = self.next.max(self.shared.borders.bucket(from));
            }
            if self.next >= self.end {
                self.chosen = 0..0;
                return Ok(false);
            }
            self.next += 1;
            self.load(self.next - 1)?;
            if self.large.is_none() && self.select(from) {
                return Ok(true);
            }
        }
    }

    fn rows(&self) -> RowsView<'_> {
        match &self.large {
            Some(large) => large.chunk.rows(),
            None => {
                RowsView::Spans { bytes: &self.bytes, spans: self.spans.get(self.chosen.clone()).unwrap_or_default() }
            }
        }
    }
}
