//! Runs of blocks read together, and the reader that plans and reads them.

use super::read_shape::{StreamShape, worthwhile_gap_bytes};
use crate::error::Result;
use crate::io::{LARGE_PAGE_BYTES, LargeBuffer, Profile, Purpose, ReadRequest, ReadableFile};
use crate::join::rows::read_lanes::StartedRead;
use crate::join::rows::task::Task;
use crate::table::Table;
use std::collections::VecDeque;
use std::mem;
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
pub(in crate::join) const RUN_OVERHEAD_BYTES: u64 = ALIGNMENT as u64;
pub(in crate::join) const LOCATION_BYTES: u64 = size_of::<BlockLocation>() as u64;

/// A run of blocks in memory, as stored.
#[derive(Debug, Default)]
pub(in crate::join) struct BlockRun {
    buffer: LargeBuffer,
    /// Number and file offset of each block, and its position in the buffer.
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
    pub(in crate::join) fn blocks(&self) -> usize {
        self.locations.len()
    }

    /// The bytes read.
    #[inline]
    pub(in crate::join) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// The offset of a block in [`Self::bytes`].
    pub(in crate::join) fn block_at(&self, number: usize) -> usize {
        self.locations.get(number).map_or(0, |location| location.at as usize)
    }

    /// Number, file offset and bytes of a block.
    pub(in crate::join) fn block(&self, number: usize) -> Option<(u64, u64, &[u8])> {
        let location = *self.locations.get(number)?;
        let at = location.at as usize;
        Some((location.block, location.offset, self.buffer.get(at..at + location.bytes as usize)?))
    }

    fn block_mut(&mut self, number: usize) -> Option<(u64, u64, &mut [u8])> {
        let location = *self.locations.get(number)?;
        let at = location.at as usize;
        Some((location.block, location.offset, self.buffer.get_mut(at..at + location.bytes as usize)?))
    }
}

/// The part of `bytes` that one direct request reads: whole device units, so that a partial unit at the end of a file
/// is read separately and nothing else must be copied.
fn whole_units(bytes: u64) -> u64 {
    let whole = bytes - bytes % ALIGNMENT as u64;
    if whole > 0 { whole } else { bytes }
}

/// Longest request into large pages of memory: of a run that fills a large page, both halves are read in turn. Requests
/// of 2 MiB took 1.2 times as long (a virtual SSD, six runs in flight).
const LARGE_PAGE_REQUEST_BYTES: u64 = LARGE_PAGE_BYTES as u64 / 2;

/// The longest request of a direct read, if the profile gives `request_bytes`.
pub(in crate::join) fn request_bytes_of(task: &Task, is_direct: bool, request_bytes: u64) -> u64 {
    match is_direct && task.fast_paths.large_pages && task.reads_in_turn() {
        true => request_bytes.min(LARGE_PAGE_REQUEST_BYTES),
        false => request_bytes,
    }
}

/// Offset and length of a request.
pub(in crate::join) type Piece = (u64, usize);

/// Cuts ranges of a file into requests of at most `request_bytes`. Direct requests end with a unit of the device where
/// they can.
pub(in crate::join) fn pieces_of(ranges: &[Range<u64>], request_bytes: u64, is_direct: bool) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(ranges.len());
    let most = request_bytes.next_multiple_of(ALIGNMENT as u64);
    for range in ranges {
        let mut offset = range.start;
        while offset < range.end {
            let bytes = (range.end - offset).min(most);
            let bytes = if is_direct { whole_units(bytes) } else { bytes };
            pieces.push((offset, bytes as usize));
            offset += bytes;
        }
    }
    pieces
}

/// Requests longer than this are read in turn where a stream has other runs in flight: one is enough for its thread.
const LONG_REQUEST_BYTES_MIN: usize = 64 << 10;

/// Reads pieces of a file one behind the other into `buffer`: short ones side by side; long ones too, unless `in_turn`.
pub(in crate::join) fn read_pieces(
    file: &dyn ReadableFile,
    pieces: &[Piece],
    mut buffer: &mut [u8],
    in_turn: bool,
) -> Result<()> {
    let mut requests = Vec::with_capacity(pieces.len());
    for &(offset, bytes) in pieces {
        let (own, behind) = mem::take(&mut buffer).split_at_mut(bytes);
        requests.push(ReadRequest { offset, buffer: own, purpose: Purpose::Data });
        buffer = behind;
    }
    if !in_turn {
        return file.read_many(requests);
    }
    let is_long = |request: &ReadRequest<'_>| request.buffer.len() > LONG_REQUEST_BYTES_MIN;
    let (long, short): (Vec<_>, Vec<_>) = requests.into_iter().partition(is_long);
    if !short.is_empty() {
        file.read_many(short)?;
    }
    long.into_iter().try_for_each(|request| file.read(request))
}

/// Reads the blocks of a table in order: several runs in flight, one at a time for the caller.
pub(in crate::join) struct BlockRunReader {
    table: Table,
    task: Arc<Task>,
    left: Range<u64>,
    shape: StreamShape,
    gap_bytes: u64,
    /// Size of the longest run in bytes.
    run_bytes: u64,
    /// Size of the next run in bytes.
    next_bytes: u64,
    in_flight: usize,
    started: VecDeque<StartedRead<BlockRun>>,
}

impl BlockRunReader {
    /// A reader of runs of `shape`, of which the longest has at most `most_bytes` unless a block is longer.
    pub(in crate::join) fn new(
        table: &Table,
        task: &Arc<Task>,
        blocks: Range<u64>,
        shape: StreamShape,
        most_bytes: u64,
    ) -> Self {
        // Even a run of 0 bytes holds at least one block.
        let run_bytes = if task.fast_paths.prefetch { shape.run.batch_bytes().min(most_bytes) } else { 0 };
        Self {
            table: table.clone(),
            task: task.clone(),
            left: blocks,
            shape,
            gap_bytes: worthwhile_gap_bytes(&task.profile, table.largest_stored_block_bytes()),
            run_bytes,
            next_bytes: first_bytes(&task.profile, shape.run.at_once, run_bytes),
            in_flight: if task.reads_ahead(table.is_direct()) { shape.in_flight as usize } else { 1 },
            started: VecDeque::new(),
        }
    }

    /// Replaces `run`, whose buffer is used again, by the next one; `false` at the end. With the runs in flight, the
    /// reader holds one buffer more than it has in flight, that of `run`.
    pub(in crate::join) fn fill(&mut self, run: &mut BlockRun) -> Result<bool> {
        self.task.check()?;
        let mut spare = Some(mem::take(run));
        while self.started.len() < self.in_flight && !self.left.is_empty() {
            let started = self.start(spare.take().unwrap_or_default())?;
            self.started.push_back(started);
        }
        let Some(next) = self.started.pop_front() else { return Ok(false) };
        *run = next.wait()?;
        Ok(true)
    }

    /// Plans the next run, and starts to read it.
    fn start(&mut self, mut run: BlockRun) -> Result<StartedRead<BlockRun>> {
        run.locations.clear();
        let ranges = self.plan(&mut run)?;
        let read_bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        let is_direct = self.table.is_direct();
        let request_bytes = self.shape.run.request_bytes_of(read_bytes);
        let request_bytes = request_bytes_of(&self.task, is_direct, request_bytes);
        let pieces = pieces_of(&ranges, request_bytes, is_direct);
        self.task.count_reads(pieces.len() as u64, read_bytes);
        self.next_bytes = (self.next_bytes * 2).min(self.run_bytes);
        let needed = read_bytes as usize;
        let most_bytes = (self.run_bytes as usize).min(needed * 2);
        let large_pages = self.task.fast_paths.large_pages && is_direct;
        let in_turn = self.task.reads_in_turn();
        let table = self.table.clone();
        let path = self.table.path();
        let read = move || {
            run.buffer.make_room(needed, most_bytes, large_pages);
            read_pieces(&**table.data_file(), &pieces, &mut run.buffer, in_turn)?;
            // Checksums are verified here because the bytes are in this core's cache, and to relieve the joining
            // thread.
            for number in 0..run.locations.len() {
                if let Some((block, offset, bytes)) = run.block_mut(number) {
                    table.check_block(block, offset, bytes)?;
                }
            }
            Ok(run)
        };
        Ok(if self.in_flight > 1 { self.task.start_read(path, read) } else { StartedRead::later(path, read) })
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

/// Size of the first run in bytes, of runs of `batch_bytes` that are read by `at_once` requests.
pub(in crate::join) fn first_bytes(profile: &Profile, at_once: u32, batch_bytes: u64) -> u64 {
    let mut bytes = batch_bytes / FIRST_RUN_DIVISOR;
    let takes_us = |bytes: u64| profile.time_us(bytes / u64::from(at_once.max(1)));
    while bytes < batch_bytes && takes_us(bytes) < FIRST_RUN_LATENCY_RATIO_MIN * profile.time_us(0) {
        bytes = (bytes * 2).clamp(1, batch_bytes);
    }
    bytes
}
