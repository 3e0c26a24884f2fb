//! Runs of blocks read together, and the reader that plans and reads them.

use super::plan::{ReadShape, worthwhile_gap_bytes};
use super::task::Task;
use crate::error::Result;
use crate::io::{Profile, Purpose, ReadRequest};
use crate::table::Table;
use std::ops::Range;
use std::sync::Arc;

/// Alignment of direct reads, in the file and in memory, in bytes: suits every device in use.
const ALIGNMENT: usize = 4096;
/// The first run of a scan is 1/16 of the longest, and each run is twice as long as the one before, so that joining
/// begins soon. A run that takes less than [`FIRST_RUN_LATENCY_RATIO_MIN`] times an empty read is not worth its
/// latency: remote storage is read in full-length runs at once.
const FIRST_RUN_DIVISOR: u64 = 16;
const FIRST_RUN_LATENCY_RATIO_MIN: f64 = 3.0;
/// Memory of a run beside its bytes: for alignment, and per block.
pub(super) const RUN_OVERHEAD_BYTES: u64 = ALIGNMENT as u64;
pub(super) const LOCATION_BYTES: u64 = size_of::<BlockLocation>() as u64;

/// A run of blocks in memory, as stored.
#[derive(Debug, Default)]
pub(super) struct BlockRun {
    buffer: Vec<u8>,
    /// Offset in the buffer at which the data begins.
    begin: usize,
    /// Number and file offset of each block, and its position after `begin`.
    locations: Vec<BlockLocation>,
}

#[derive(Clone, Copy, Debug)]
struct BlockLocation {
    block: u64,
    offset: u64,
    at: u32,
    bytes: u32,
}

impl BlockRun {
    /// Number of blocks.
    pub(super) fn blocks(&self) -> usize {
        self.locations.len()
    }

    /// The bytes read.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.begin..).unwrap_or_default()
    }

    /// The offset of a block in [`Self::bytes`].
    pub(super) fn block_at(&self, number: usize) -> usize {
        self.locations.get(number).map_or(0, |location| location.at as usize)
    }

    /// Number, file offset and bytes of a block.
    pub(super) fn block(&self, number: usize) -> Option<(u64, u64, &[u8])> {
        let location = *self.locations.get(number)?;
        let at = self.begin + location.at as usize;
        Some((location.block, location.offset, self.buffer.get(at..at + location.bytes as usize)?))
    }

    fn block_mut(&mut self, number: usize) -> Option<(u64, u64, &mut [u8])> {
        let location = *self.locations.get(number)?;
        let at = self.begin + location.at as usize;
        Some((location.block, location.offset, self.buffer.get_mut(at..at + location.bytes as usize)?))
    }
}

/// The part of `bytes` that one direct request reads: whole device units, so that a partial unit at the end of a file
/// is read separately and nothing else must be copied.
fn whole_units(bytes: u64) -> u64 {
    let whole = bytes - bytes % ALIGNMENT as u64;
    if whole > 0 { whole } else { bytes }
}

/// Reads the blocks of a table in order, one run at a time.
pub(super) struct BlockRunReader {
    table: Table,
    task: Arc<Task>,
    left: Range<u64>,
    shape: ReadShape,
    gap_bytes: u64,
    buffer_bytes: u64,
    /// Size of the next run in bytes.
    next_bytes: u64,
}

impl BlockRunReader {
    pub(super) fn new(
        table: &Table,
        task: &Arc<Task>,
        blocks: Range<u64>,
        shape: ReadShape,
        buffer_bytes: u64,
    ) -> Self {
        // Even a run of 0 bytes holds at least one block.
        let batch_bytes = if task.fast_paths.prefetch { shape.batch_bytes().min(buffer_bytes) } else { 0 };
        Self {
            table: table.clone(),
            task: task.clone(),
            left: blocks,
            shape,
            gap_bytes: worthwhile_gap_bytes(&task.profile, table.largest_stored_block_bytes()),
            buffer_bytes: batch_bytes,
            next_bytes: first_bytes(&task.profile, shape, batch_bytes),
        }
    }

    /// An empty buffer; it grows when it is filled.
    pub(super) fn buffer(&self) -> BlockRun {
        BlockRun::default()
    }

    /// Reads the next run; `false` at the end.
    pub(super) fn fill(&mut self, run: &mut BlockRun) -> Result<bool> {
        self.task.check()?;
        run.locations.clear();
        if self.left.is_empty() {
            return Ok(false);
        }
        let ranges = self.plan(run)?;
        let read_bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        let needed = read_bytes as usize + ALIGNMENT;
        if run.buffer.len() < needed {
            run.buffer = Vec::new();
            run.buffer = vec![0; needed.max((self.buffer_bytes as usize + ALIGNMENT).min(needed * 2))];
        }
        run.begin = run.buffer.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        let mut rest = run.buffer.get_mut(run.begin..).unwrap_or_default();
        let mut requests = Vec::new();
        for range in &ranges {
            let mut offset = range.start;
            while offset < range.end {
                let most = self.shape.request_bytes.next_multiple_of(ALIGNMENT as u64);
                let bytes = (range.end - offset).min(most);
                let bytes = if self.table.is_direct() { whole_units(bytes) } else { bytes };
                let (buffer, behind) = std::mem::take(&mut rest).split_at_mut(bytes as usize);
                rest = behind;
                requests.push(ReadRequest { offset, buffer, purpose: Purpose::Data });
                offset += bytes;
            }
        }
        self.task.count_reads(requests.len() as u64, read_bytes);
        self.table.data_file().read_many(requests)?;
        // Checksums are verified here because the bytes are in this core's cache, and to relieve the joining thread.
        for number in 0..run.locations.len() {
            if let Some((block, offset, bytes)) = run.block_mut(number) {
                self.table.check_block(block, offset, bytes)?;
            }
        }
        self.next_bytes = (self.next_bytes * 2).min(self.buffer_bytes);
        Ok(true)
    }

    /// Chooses the blocks of the next run; returns the file ranges to read.
    fn plan(&mut self, run: &mut BlockRun) -> Result<Vec<Range<u64>>> {
        let file_bytes = self.table.data_file().len();
        let aligned = self.table.data_file().is_direct();
        // Whole device units, clipped to the file.
        let outer = |begin: u64, end: u64| match aligned {
            true => begin - begin % ALIGNMENT as u64..end.next_multiple_of(ALIGNMENT as u64).min(file_bytes),
            false => begin..end,
        };
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut before = 0;
        while !self.left.is_empty() {
            let block = self.left.start;
            let (offset, bytes) = self.table.block_place(block)?;
            let own = outer(offset, offset + bytes);
            let joins =
                ranges.last().is_some_and(|last| own.start <= last.end + self.gap_bytes && own.start >= last.start);
            let (begin, end) = match ranges.last() {
                Some(last) if joins => (last.start, last.end.max(own.end)),
                _ => (own.start, own.end),
            };
            let held = if joins { before } else { before + ranges.last().map_or(0, |last| last.end - last.start) };
            if !run.locations.is_empty() && held + (end - begin) > self.next_bytes {
                break;
            }
            if joins {
                if let Some(last) = ranges.last_mut() {
                    last.end = end;
                }
            } else {
                before = held;
                ranges.push(begin..end);
            }
            let at = (before + offset - begin) as u32;
            run.locations.push(BlockLocation { block, offset, at, bytes: bytes as u32 });
            self.left.start += 1;
        }
        Ok(ranges)
    }
}

/// Size of the first run in bytes.
fn first_bytes(profile: &Profile, shape: ReadShape, batch_bytes: u64) -> u64 {
    let mut bytes = batch_bytes / FIRST_RUN_DIVISOR;
    let takes_us = |bytes: u64| profile.time_us(bytes / u64::from(shape.at_once.max(1)));
    while bytes < batch_bytes && takes_us(bytes) < FIRST_RUN_LATENCY_RATIO_MIN * profile.time_us(0) {
        bytes = (bytes * 2).clamp(1, batch_bytes);
    }
    bytes
}
