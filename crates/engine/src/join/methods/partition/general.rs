//! Buckets of rows of any length.

use super::borders::BucketBorders;
use super::relation::{BucketRows, Partition, REQUEST_BYTES};
use super::scatter::{Bucket, Scatter};
use crate::error::{Error, Result};
use crate::join::input::sorted::{SORTED_CHUNK_BYTES_MAX, SortInput, SortedChunks};
use crate::join::rows::relation::{KeyRange, RelationFacts};
use crate::join::rows::stream::{RowSpan, RowsView};
use crate::join::rows::task::MemoryGrant;
use crate::table::sort::{SORT_MEMORY_BYTES_MIN, Sorter};
use std::ops::Range;
use std::sync::Arc;

/// Header of each row: lengths of key and value, u32 little-endian.
pub(crate) const FRAME_BYTES: usize = 8;

/// The rows of a bucket, of any length.
#[derive(Debug)]
pub(super) struct GeneralBucketRows {
    partition: Arc<Partition>,
    bytes: Vec<u8>,
    spans: Vec<RowSpan>,
    /// The merge of a bucket that exceeds memory.
    large: Option<SortedChunks>,
    /// The selected rows, unless there is a merge.
    chosen: Range<usize>,
    memory: MemoryGrant,
}

impl GeneralBucketRows {
    /// Reads all chunks of a bucket, and records the positions of its rows.
    fn read(&mut self, bucket: &Bucket) -> Result<()> {
        self.bytes.resize(bucket.stored_bytes() as usize, 0);
        self.partition.buckets.read(bucket, &mut self.bytes)?;
        let mut start = 0;
        for place in &bucket.chunks {
            let mut at = start;
            let end = start + place.payload_bytes();
            while at < end {
                let Some((key, value)) = framed(&self.bytes[at..end]) else { return Err(malformed()) };
                let key_at = at + FRAME_BYTES;
                self.spans.push(RowSpan::of_row(key_at, key, value));
                at = key_at + key.len() + value.len();
            }
            start += place.stored_bytes as usize;
        }
        Ok(())
    }

    /// Sorts a bucket externally.
    fn sort_large(&mut self, bucket: &Bucket) -> Result<()> {
        let Partition { facts, buckets, spill, .. } = &*self.partition;
        let memory_bytes = self.memory.bytes() as usize;
        let chunk_bytes = (memory_bytes / 16).min(SORTED_CHUNK_BYTES_MAX);
        let sort_bytes = memory_bytes.saturating_sub(bucket.chunk_bytes_max().max(4 * chunk_bytes)) as u64;
        let name = spill.name()?;
        let storage = Arc::clone(spill.storage());
        let mut sorter = Sorter::new(storage, sort_bytes.max(SORT_MEMORY_BYTES_MIN), name.as_str())?;
        buckets.visit_chunks(bucket, |mut rest| {
            while !rest.is_empty() {
                let Some((key, value)) = framed(rest) else { return Err(malformed()) };
                sorter.push(key, value).map_err(|error| spill.task().budget.sort_error(error))?;
                rest = &rest[FRAME_BYTES + key.len() + value.len()..];
            }
            Ok(())
        })?;
        self.large = Some(SortedChunks::new(sorter.finish()?, name, facts, chunk_bytes));
        Ok(())
    }
}

/// The header of a framed row.
pub(crate) fn frame(key: &[u8], value: &[u8]) -> [u8; FRAME_BYTES] {
    let mut frame = [0; FRAME_BYTES];
    frame[..4].copy_from_slice(&(key.len() as u32).to_le_bytes());
    frame[4..].copy_from_slice(&(value.len() as u32).to_le_bytes());
    frame
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
    Error::input("a chunk of a spill file does not consist of whole rows; run the join again")
}

impl BucketRows for GeneralBucketRows {
    const ROW_BYTES: Option<usize> = None;

    fn scatter(
        mut input: SortInput<'_>,
        _facts: &RelationFacts,
        borders: &BucketBorders,
        scatter: &mut Scatter,
    ) -> Result<()> {
        let mut long = Vec::new();
        while input.advance()? {
            input.visit(&mut long, |key, value| {
                scatter.put_parts(borders.bucket(key), [&frame(key, value), key, value])
            })?;
        }
        Ok(())
    }

    fn new(partition: Arc<Partition>, memory: MemoryGrant) -> Self {
        Self { partition, bytes: Vec::new(), spans: Vec::new(), large: None, chosen: 0..0, memory }
    }

    fn load(&mut self, bucket: &Bucket) -> Result<bool> {
        let (stored, rows) = (bucket.stored_bytes() as usize, bucket.rows as usize);
        self.spans.clear();
        if self.bytes.capacity() < stored || self.spans.capacity() < rows {
            // Frees the old content before loading the new.
            (self.bytes, self.spans) = (Vec::new(), Vec::new());
            let wanted = (stored + rows * size_of::<RowSpan>() + bucket.chunks.len() * REQUEST_BYTES) as u64;
            let fits = stored < u32::MAX as usize
                && (wanted <= self.memory.bytes() || self.memory.try_grow(wanted - self.memory.bytes()));
            if !fits {
                return self.sort_large(bucket).map(|()| false);
            }
            self.bytes.reserve_exact(stored);
            self.spans.reserve_exact(rows);
        }
        self.read(bucket)?;
        let (bytes, spans) = (&self.bytes, &mut self.spans);
        let key = |span: &RowSpan| bytes.get(span.key_at as usize..(span.key_at + span.key_bytes) as usize);
        spans.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        Ok(true)
    }

    fn select(&mut self, range: &KeyRange, from: Option<&[u8]>) -> bool {
        let low = from.max(range.from.as_deref());
        let key = |span: &RowSpan| {
            let end = span.key_at + span.key_bytes;
            self.bytes.get(span.key_at as usize..end as usize).unwrap_or_default()
        };
        let start = low.map_or(0, |low| self.spans.partition_point(|span| key(span) < low));
        let to = range.to.as_deref();
        let end = to.map_or(self.spans.len(), |to| self.spans.partition_point(|span| key(span) < to));
        self.chosen = start..end.max(start);
        !self.chosen.is_empty()
    }

    fn merge_next(&mut self, range: &KeyRange, from: Option<&[u8]>) -> Result<bool> {
        let Some(large) = &mut self.large else { return Ok(false) };
        let is_there = large.fill(range, from)?;
        if !is_there {
            self.large = None;
        }
        Ok(is_there)
    }

    fn select_none(&mut self) {
        self.chosen = 0..0;
    }

    fn selected(&self) -> RowsView<'_> {
        match &self.large {
            Some(large) => large.rows(),
            None => {
                RowsView::Spans { bytes: &self.bytes, spans: self.spans.get(self.chosen.clone()).unwrap_or_default() }
            }
        }
    }
}
