//! The scatter step: appends rows to one buffer per bucket, and writes a buffer as a chunk when it is full.

use super::borders::BucketBorders;
use crate::error::Result;
use crate::join::rows::relation::KeyRange;
use crate::join::rows::spill::{ChunkWriter, Spill, SpillFile};
use crate::join::rows::task::MemoryGrant;
use crate::table::sort::ChunkLocation;
use std::sync::Arc;

/// A bucket in the spill file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bucket {
    pub(crate) rows: u64,
    /// Payload bytes of all chunks.
    pub(crate) bytes: u64,
    pub(crate) chunks: Vec<ChunkLocation>,
}

impl Bucket {
    /// Stored bytes of the largest chunk.
    pub(crate) fn chunk_bytes_max(&self) -> usize {
        self.chunks.iter().map(|location| location.stored_bytes as usize).max().unwrap_or(0)
    }

    /// Stored bytes of all chunks, with checksums.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.chunks.iter().map(|location| u64::from(location.stored_bytes)).sum()
    }
}

/// Writes rows to buckets of one file: random memory, sequential storage, like the write combining of a radix partition
/// one level further down.
#[derive(Debug)]
pub(crate) struct Scatter {
    writer: ChunkWriter,
    /// One buffer per bucket, with room for a checksum.
    buffers: Vec<u8>,
    buffer_bytes: usize,
    fill: Vec<u32>,
    buckets: Vec<Bucket>,
    /// Memory of the lists of chunks.
    memory: MemoryGrant,
    listed: usize,
}

/// Chunk locations are charged in batches of this size.
const LOCATION_BATCH: usize = 256;

impl Scatter {
    /// Largest memory of the chunk lists for `bytes` of rows.
    pub(crate) fn list_bytes(bytes: u64, payload_bytes: usize) -> u64 {
        // A growing list has up to twice the capacity it uses.
        bytes.div_ceil(payload_bytes.max(1) as u64).saturating_mul(2 * size_of::<ChunkLocation>() as u64)
    }

    /// Memory of `buckets` with buffers of `payload_bytes`.
    pub(crate) fn memory_bytes(buckets: usize, payload_bytes: usize) -> u64 {
        let each = payload_bytes + ChunkWriter::OVERHEAD_BYTES + size_of::<u32>() + size_of::<Bucket>();
        (buckets * each + LOCATION_BATCH * size_of::<ChunkLocation>()) as u64
    }

    /// Creates a file of `buckets` buckets, each with a buffer for `payload_bytes`.
    ///
    /// # Errors
    /// Errors of the storage; [`crate::Cause::JoinMemory`] if memory is short.
    pub(crate) fn create(spill: &Arc<Spill>, buckets: usize, payload_bytes: usize) -> Result<Self> {
        let memory = spill.task().budget.take(Self::memory_bytes(buckets, payload_bytes), "scattering")?;
        let buffer_bytes = payload_bytes + ChunkWriter::OVERHEAD_BYTES;
        Ok(Self {
            writer: spill.create()?,
            buffers: vec![0; buckets * buffer_bytes],
            buffer_bytes,
            fill: vec![0; buckets],
            buckets: vec![Bucket::default(); buckets],
            memory,
            listed: 0,
        })
    }

    /// Appends a row to a bucket. The row width must divide the buffer size.
    ///
    /// # Errors
    /// Those of the storage.
    #[inline]
    pub(crate) fn put<const N: usize>(&mut self, bucket: usize, row: &[u8; N]) -> Result<()> {
        let fill = self.fill[bucket] as usize;
        let at = bucket * self.buffer_bytes + fill;
        self.buffers[at..at + N].copy_from_slice(row);
        self.fill[bucket] = (fill + N) as u32;
        if fill + 2 * N + ChunkWriter::OVERHEAD_BYTES > self.buffer_bytes {
            return self.flush(bucket);
        }
        Ok(())
    }

    /// Appends a row of any length to a bucket. A row that fits a chunk never crosses two.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn put_parts(&mut self, bucket: usize, parts: [&[u8]; 3]) -> Result<()> {
        self.buckets[bucket].rows += 1;
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let room = self.buffer_bytes - ChunkWriter::OVERHEAD_BYTES;
        if self.fill[bucket] as usize + bytes > room {
            self.flush(bucket)?;
        }
        if bytes > room {
            let mut chunk = Vec::with_capacity(bytes + ChunkWriter::OVERHEAD_BYTES);
            parts.iter().for_each(|part| chunk.extend_from_slice(part));
            let location = self.writer.append(&mut chunk)?;
            return self.note(bucket, location);
        }
        for part in parts {
            let at = bucket * self.buffer_bytes + self.fill[bucket] as usize;
            self.buffers[at..at + part.len()].copy_from_slice(part);
            self.fill[bucket] += part.len() as u32;
        }
        Ok(())
    }

    fn flush(&mut self, bucket: usize) -> Result<()> {
        let fill = self.fill[bucket] as usize;
        if fill == 0 {
            return Ok(());
        }
        let at = bucket * self.buffer_bytes;
        let location = self.writer.append_sealed(&mut self.buffers[at..at + fill + ChunkWriter::OVERHEAD_BYTES])?;
        self.fill[bucket] = 0;
        self.note(bucket, location)
    }

    fn note(&mut self, bucket: usize, location: ChunkLocation) -> Result<()> {
        if self.listed > 0 && self.listed.is_multiple_of(LOCATION_BATCH) {
            // A list that grows is as long again as it is full.
            let more = 2 * LOCATION_BATCH * size_of::<ChunkLocation>();
            if !self.memory.try_grow(more as u64) {
                let limit_bytes = self.memory.limit_bytes();
                let what = "the list of the chunks scattered by this join exceeds the remaining memory";
                return Err(self.memory.short((limit_bytes + more as u64, limit_bytes), what));
            }
        }
        self.listed += 1;
        let bucket = &mut self.buckets[bucket];
        bucket.bytes += location.payload_bytes() as u64;
        bucket.chunks.push(location);
        Ok(())
    }

    /// Ends the input and releases the buffers; the chunk lists keep their memory. Counts the rows if they have one
    /// `width`.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn finish(mut self, width: Option<usize>) -> Result<Buckets> {
        for bucket in 0..self.buckets.len() {
            self.flush(bucket)?;
        }
        let Self { writer, buffers, fill, mut buckets, mut memory, .. } = self;
        drop((buffers, fill));
        let mut listed = 0;
        for bucket in &mut buckets {
            bucket.chunks.shrink_to_fit();
            listed += bucket.chunks.len();
            if let Some(width) = width {
                bucket.rows = bucket.bytes / width as u64;
            }
        }
        memory.shrink_to((buckets.len() * size_of::<Bucket>() + listed * size_of::<ChunkLocation>()) as u64);
        Ok(Buckets { file: writer.finish()?, buckets, _memory: memory })
    }
}

/// The scattered rows.
#[derive(Debug)]
pub(crate) struct Buckets {
    pub(crate) file: Arc<SpillFile>,
    pub(crate) buckets: Vec<Bucket>,
    _memory: MemoryGrant,
}

impl Buckets {
    /// Reads all chunks of a bucket with their checksums into `bytes`, which has room for exactly that.
    pub(super) fn read(&self, bucket: &Bucket, bytes: &mut [u8]) -> Result<()> {
        let mut rest = bytes;
        let mut chunks = Vec::with_capacity(bucket.chunks.len());
        for location in &bucket.chunks {
            let (chunk, later) = rest.split_at_mut(location.stored_bytes as usize);
            chunks.push((location.offset, chunk));
            rest = later;
        }
        self.file.read_chunks(chunks)
    }

    /// Passes the chunks of a bucket to `visit` without their checksums, one at a time, in memory for the largest.
    pub(super) fn visit_chunks(&self, bucket: &Bucket, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut chunk = Vec::with_capacity(bucket.chunk_bytes_max());
        bucket.chunks.iter().try_for_each(|location| {
            chunk.resize(location.stored_bytes as usize, 0);
            self.file.read_chunks(vec![(location.offset, &mut chunk[..])])?;
            visit(&chunk[..location.payload_bytes()])
        })
    }
}

/// The buckets that a stream has yet to load.
#[derive(Debug)]
pub(super) struct BucketQueue {
    next: usize,
    end: usize,
}

impl BucketQueue {
    /// The buckets, of `buckets`, that can hold keys of a range.
    pub(super) fn of_range(range: &KeyRange, borders: &BucketBorders, buckets: usize) -> Self {
        let next = range.from.as_deref().map_or(0, |from| borders.bucket(from));
        let end = range.to.as_deref().map_or(buckets, |to| borders.bucket(to) + 1);
        Self { next, end: end.min(buckets) }
    }

    /// Takes the next bucket that can hold keys from `from` on.
    pub(super) fn take(&mut self, borders: &BucketBorders, from: Option<&[u8]>) -> Option<usize> {
        let first = from.map_or(0, |from| borders.bucket(from));
        let bucket = self.next.max(first);
        self.next = bucket.saturating_add(1);
        (bucket < self.end).then_some(bucket)
    }
}
