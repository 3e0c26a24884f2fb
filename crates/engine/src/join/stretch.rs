//! Runs of blocks read together, and the reader that plans and reads them.

use super::plan::{ReadShape, worthwhile_gap_bytes};
use super::task::Task;
use crate::error::Result;
use crate::io::{Profile, Purpose, ReadRequest};
use crate::table::Table;
use std::ops::Range;
use std::sync::Arc;

/// Reads past the page cache begin at multiples of this in the file and in memory, in bytes: it suits every device in use.
const ALIGNMENT: usize = 4096;
/// The first stretch of a scan is this part of the others, and each is twice as long as the one before: joining begins soon. A stretch that takes
/// less than [`WORTHWHILE_TIMES`] the time of an empty read is not worth its latency, so that far storage is read in whole stretches at once.
const FIRST_PART: u64 = 16;
const WORTHWHILE_TIMES: f64 = 3.0;
/// Beside the bytes read, a stretch takes so many for its alignment, and for each block its place.
pub(super) const STRETCH_OVERHEAD_BYTES: u64 = ALIGNMENT as u64;
pub(super) const PLACE_BYTES: u64 = size_of::<BlockPlace>() as u64;

/// Blocks in memory, as they were read.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    buffer: Vec<u8>,
    /// Where in the buffer what was read begins.
    begin: usize,
    /// Number and offset of each block in the file, and its place behind `begin`.
    places: Vec<BlockPlace>,
}

#[derive(Clone, Copy, Debug)]
struct BlockPlace {
    block: u64,
    offset: u64,
    at: u32,
    bytes: u32,
}

impl Stretch {
    /// Number of blocks.
    pub(super) fn blocks(&self) -> usize {
        self.places.len()
    }

    /// What was read.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.begin..).unwrap_or_default()
    }

    /// Where the bytes of a block begin in [`Self::bytes`].
    pub(super) fn block_at(&self, number: usize) -> usize {
        self.places.get(number).map_or(0, |place| place.at as usize)
    }

    /// Number and offset of a block in the file, and its bytes.
    pub(super) fn block(&self, number: usize) -> Option<(u64, u64, &[u8])> {
        let place = *self.places.get(number)?;
        let at = self.begin + place.at as usize;
        Some((place.block, place.offset, self.buffer.get(at..at + place.bytes as usize)?))
    }

    fn block_mut(&mut self, number: usize) -> Option<(u64, u64, &mut [u8])> {
        let place = *self.places.get(number)?;
        let at = self.begin + place.at as usize;
        Some((place.block, place.offset, self.buffer.get_mut(at..at + place.bytes as usize)?))
    }
}

/// What of so many bytes one request reads: whole units of the device first, so that what is left of one, at the end of a file, comes alone and
/// nothing else has to be copied for its sake.
fn whole_units(bytes: u64) -> u64 {
    let whole = bytes - bytes % ALIGNMENT as u64;
    if whole > 0 { whole } else { bytes }
}

/// Reads blocks of a table in order, many at a time.
pub(super) struct StretchReader {
    table: Table,
    task: Arc<Task>,
    left: Range<u64>,
    shape: ReadShape,
    gap_bytes: u64,
    buffer_bytes: u64,
    /// Bytes of the next stretch.
    next_bytes: u64,
}

impl StretchReader {
    pub(super) fn new(
        table: &Table,
        task: &Arc<Task>,
        blocks: Range<u64>,
        shape: ReadShape,
        buffer_bytes: u64,
    ) -> Self {
        // At least one block is read.
        let batch_bytes = if task.fast_paths.prefetch { shape.batch_bytes().min(buffer_bytes) } else { 0 };
        Self {
            table: table.clone(),
            task: task.clone(),
            left: blocks,
            shape,
            gap_bytes: worthwhile_gap_bytes(&task.profile, table.largest_block_bytes()),
            buffer_bytes: batch_bytes,
            next_bytes: first_bytes(&task.profile, shape, batch_bytes),
        }
    }

    /// A buffer for stretches; it grows to what a stretch takes when it is filled.
    pub(super) fn buffer(&self) -> Stretch {
        Stretch::default()
    }

    /// Reads the next blocks; `false` where none are left.
    pub(super) fn fill(&mut self, stretch: &mut Stretch) -> Result<bool> {
        self.task.check()?;
        stretch.places.clear();
        if self.left.is_empty() {
            return Ok(false);
        }
        let ranges = self.plan(stretch)?;
        let read_bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        let needed = read_bytes as usize + ALIGNMENT;
        if stretch.buffer.len() < needed {
            stretch.buffer = Vec::new();
            stretch.buffer = vec![0; needed.max((self.buffer_bytes as usize + ALIGNMENT).min(needed * 2))];
        }
        stretch.begin = stretch.buffer.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        let mut rest = stretch.buffer.get_mut(stretch.begin..).unwrap_or_default();
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
        // Here, because the bytes are in this core's cache, and the thread that joins has enough to do.
        for number in 0..stretch.places.len() {
            if let Some((block, offset, bytes)) = stretch.block_mut(number) {
                self.table.check_block(block, offset, bytes)?;
            }
        }
        self.next_bytes = (self.next_bytes * 2).min(self.buffer_bytes);
        Ok(true)
    }

    /// Chooses the blocks of the next stretch; returns what is to be read of the file.
    fn plan(&mut self, stretch: &mut Stretch) -> Result<Vec<Range<u64>>> {
        let file_bytes = self.table.data_file().len();
        let aligned = self.table.data_file().is_direct();
        // Whole units of the device, as far as the file has them.
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
            if !stretch.places.is_empty() && held + (end - begin) > self.next_bytes {
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
            stretch.places.push(BlockPlace { block, offset, at, bytes: bytes as u32 });
            self.left.start += 1;
        }
        Ok(ranges)
    }
}

/// Length of the first stretch.
fn first_bytes(profile: &Profile, shape: ReadShape, batch_bytes: u64) -> u64 {
    let mut bytes = batch_bytes / FIRST_PART;
    let takes_us = |bytes: u64| profile.time_us(bytes / u64::from(shape.at_once.max(1)));
    while bytes < batch_bytes && takes_us(bytes) < WORTHWHILE_TIMES * profile.time_us(0) {
        bytes = (bytes * 2).clamp(1, batch_bytes);
    }
    bytes
}
