//! Read-ahead of scans: rows of consecutive blocks, of which the next ones are in flight while one is used.
//!
//! ```text
//! records   | row in use | in flight | in flight |
//! ```
//!
//! Rows grow, so that a short scan reads little: from one block if that is in memory, else from as many as take hardly
//! longer than one. Others are in flight only once a row of full length was used.

use super::context::ReadContext;
use super::reader::TableInner;
use crate::error::Result;
use crate::io::local::sync::Mutex;
use crate::io::{PendingReads, Profile, RangeRequest};
use crate::table::format::meta::Section;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Rows in flight ahead of the one in use.
const ROWS_AHEAD: usize = 2;
/// Shortest and longest full row in bytes: below, calls cost more than the bytes read; above, no known device gains.
const ROW_BYTES_MIN: u64 = 256 << 10;
const ROW_BYTES_MAX: u64 = 4 << 20;
/// A full row is so long that its read takes this many times as long as an empty one: with two in flight, the device
/// then gives its bandwidth.
const LATENCY_RATIO_MIN: f64 = 2.0;
/// The first row takes at most this many times as long to read as its first block.
const FIRST_ROW_TIMES: f64 = 1.1;
/// The three rows of a scan take at most 3/16 of the memory for work on a table, or 3/64 of the budget of a store: its
/// scans hold rows of several tables.
const WORKING_DIVISOR: u64 = 16;
const STORE_DIVISOR: u64 = 64;

/// The rows of a scan in one direction.
#[derive(Debug, Default)]
pub(in crate::table) struct RowsAhead {
    /// Blocks of the row in use, in the direction of the scan.
    blocks: VecDeque<(u64, Arc<[u8]>)>,
    /// Rows in flight, in the direction of the scan. The lock is never waited for: it lets threads share a scan that
    /// holds reads which they must not share.
    started: Mutex<VecDeque<(Range<u64>, Result<StartedRow>)>>,
    /// Number of blocks of the row in use.
    reach: u64,
}

/// Consecutive blocks whose read was started.
#[derive(Debug)]
struct StartedRow {
    first: u64,
    /// The blocks that were in the cache.
    found: Vec<Option<Arc<[u8]>>>,
    /// Contiguous runs of the others, and the reads in progress.
    runs: Vec<(Section, Range<u64>)>,
    pending: Option<Box<dyn PendingReads>>,
    /// Whether the blocks are offered to the cache.
    is_kept: bool,
}

/// Size of a full row in bytes, at most `most_bytes`.
fn row_bytes(profile: &Profile, most_bytes: u64) -> u64 {
    let is_short = |bytes: u64| profile.time_us(bytes) < LATENCY_RATIO_MIN * profile.time_us(0);
    let mut bytes = ROW_BYTES_MIN;
    while bytes < ROW_BYTES_MAX && is_short(bytes) {
        bytes *= 2;
    }
    bytes.min(most_bytes)
}

/// Number of blocks of the first row of a scan, at most `full`.
fn first_row_blocks(profile: &Profile, block_bytes: u64, full: u64) -> u64 {
    let limit_us = FIRST_ROW_TIMES * profile.time_us(block_bytes);
    let (mut least, mut most) = (1, full);
    while least < most {
        let middle = least + (most - least).div_ceil(2);
        if profile.time_us(middle * block_bytes) <= limit_us { least = middle } else { most = middle - 1 }
    }
    least
}

impl RowsAhead {
    /// Forgets all rows; the next one has one block.
    pub(in crate::table) fn forget(&mut self) {
        self.blocks.clear();
        self.started.get_mut().clear();
        self.reach = 0;
    }

    /// The block, if it is in the row in use.
    pub(in crate::table) fn in_use(&mut self, block: u64) -> Option<Arc<[u8]>> {
        while self.blocks.front().is_some_and(|&(number, _)| number != block) {
            self.blocks.pop_front();
        }
        self.blocks.front().map(|(_, bytes)| bytes.clone())
    }

    /// Starts to read the first row of a scan that begins with a block, in a direction. Nothing is done if the block is
    /// in the cache, or if it has no location: then its own read fails.
    pub(in crate::table) fn start(&mut self, inner: &TableInner, block: u64, forward: bool) {
        let is_missing = inner.cached(block).is_none();
        if is_missing {
            let blocks = first_row_blocks(&inner.profile, inner.meta.block_bytes.max(1), inner.full_row_blocks());
            let row = match forward {
                true => block..block.saturating_add(blocks).min(inner.meta.blocks),
                false => (block + 1).saturating_sub(blocks)..block + 1,
            };
            self.started.get_mut().push_back((row.clone(), inner.start_row(row, true)));
        }
    }

    /// Whether a row in flight begins with the block.
    pub(in crate::table) fn is_next(&mut self, block: u64, forward: bool) -> bool {
        let first = |row: &Range<u64>| if forward { row.start } else { row.end - 1 };
        self.started.get_mut().front().is_some_and(|(row, _)| first(row) == block)
    }

    /// Returns the block, read together with those that follow in this direction, of which `last` is the last.
    pub(in crate::table) fn block(
        &mut self,
        inner: &TableInner,
        block: u64,
        last: u64,
        forward: bool,
        reads: &mut ReadContext<'_>,
    ) -> Result<Arc<[u8]>> {
        if let Some(found) = self.in_use(block) {
            return Ok(found);
        }
        let reach = self.reach;
        let read = self.next_row(inner, block, last, forward, reads);
        if read.is_err() {
            // It may be asked for again, and is then the same row.
            self.reach = reach;
        }
        read
    }

    /// Reads the row that begins with a block, and returns the block.
    fn next_row(
        &mut self,
        inner: &TableInner,
        block: u64,
        last: u64,
        forward: bool,
        reads: &mut ReadContext<'_>,
    ) -> Result<Arc<[u8]>> {
        let is_ahead = inner.fast_paths.prefetch;
        let full = if is_ahead { inner.full_row_blocks() } else { 1 };
        let next = |from: u64, blocks: u64| match forward {
            true => from..from.saturating_add(blocks).min(last + 1),
            false => (from + 1).saturating_sub(blocks).max(last)..from + 1,
        };
        let started = match self.is_next(block, forward) {
            true => self.started.get_mut().pop_front(),
            false => {
                self.started.get_mut().clear();
                None
            }
        };
        // Nothing is gained by rows of one block, with which each read is shown by itself.
        let is_long = is_ahead && inner.fast_paths.in_flight && self.reach == full && full > 1;
        let in_flight = if is_long { ROWS_AHEAD } else { 0 };
        // What must be read is not read in less than takes hardly longer than a block, also behind blocks in the cache.
        let least = match is_ahead && inner.cached(block).is_none() {
            true => first_row_blocks(&inner.profile, inner.meta.block_bytes.max(1), full),
            false => 1,
        };
        self.reach = (self.reach * 2).clamp(least, full);
        let (row, current) = match started {
            Some((row, current)) => (row, Some(current?)),
            None => (next(block, self.reach), None),
        };
        // A scan that goes through more than the cache holds would find nothing of it again.
        let is_kept = !is_long || inner.fits_cache();
        let current = match current {
            None if in_flight > 0 => Some(inner.start_row(row.clone(), is_kept)?),
            current => current,
        };
        let started = self.started.get_mut();
        while started.len() < in_flight {
            let before = started.back().map_or(&row, |(row, _)| row);
            let from = match forward {
                true if before.end <= last => before.end,
                false if before.start > last => before.start - 1,
                _ => break,
            };
            let row = next(from, full);
            // An error counts only where the scan comes to these blocks.
            started.push_back((row.clone(), inner.start_row(row, is_kept)));
        }
        let first = row.start;
        let blocks = match current {
            Some(current) => inner.finish_row(current, reads)?,
            None => inner.row(0, row.start, row.end - 1, reads)?,
        };
        self.blocks = (first..).zip(blocks).collect();
        if !forward {
            self.blocks.make_contiguous().reverse();
        }
        self.in_use(block).ok_or_else(|| inner.malformed(block))
    }
}

impl TableInner {
    /// The memory for a row of a scan, in bytes.
    fn row_bytes_max(&self) -> u64 {
        if self.memory.is_of_store() {
            self.memory.cache().budget_bytes() / STORE_DIVISOR
        } else {
            self.memory.working_bytes() / WORKING_DIVISOR
        }
    }

    /// Whether the cache could hold all data blocks.
    fn fits_cache(&self) -> bool {
        self.meta.blocks.saturating_mul(self.meta.block_bytes) <= self.memory.cache().budget_bytes()
    }

    /// Number of blocks of a full row of a scan.
    fn full_row_blocks(&self) -> u64 {
        (row_bytes(&self.profile, self.row_bytes_max()) / self.meta.block_bytes.max(1)).max(1)
    }

    /// Starts to read consecutive blocks, except those in the cache.
    fn start_row(&self, blocks: Range<u64>, is_kept: bool) -> Result<StartedRow> {
        let mut found = Vec::with_capacity((blocks.end - blocks.start) as usize);
        let mut runs: Vec<(Section, Range<u64>)> = Vec::new();
        for block in blocks.clone() {
            let cached = self.cached(block);
            if cached.is_none() {
                let section = self.section(0, block)?;
                match runs.last_mut() {
                    Some((whole, blocks)) if blocks.end == block && whole.end() == section.offset => {
                        whole.bytes += section.bytes;
                        blocks.end += 1;
                    }
                    _ => runs.push((section, block..block + 1)),
                }
            }
            found.push(cached);
        }
        let range = |(whole, _): &(Section, Range<u64>)| RangeRequest {
            offset: whole.offset,
            bytes: whole.bytes as usize,
            purpose: Self::purpose(0),
        };
        let ranges: Vec<RangeRequest> = runs.iter().map(range).collect();
        let pending = if ranges.is_empty() { None } else { Some(self.files.data().start_reads(&ranges)?) };
        Ok(StartedRow { first: blocks.start, found, runs, pending, is_kept })
    }

    /// Waits for blocks, checks them, and perhaps offers them to the cache.
    fn finish_row(&self, row: StartedRow, reads: &mut ReadContext<'_>) -> Result<Vec<Arc<[u8]>>> {
        let StartedRow { first, mut found, runs, pending, is_kept } = row;
        let filled = pending.map_or(Ok(Vec::new()), PendingReads::wait)?;
        for ((whole, blocks), bytes) in runs.into_iter().zip(filled) {
            reads.note(Self::purpose(0), whole);
            for block in blocks {
                let section = self.section(0, block)?;
                let at = (section.offset - whole.offset) as usize;
                let bytes = bytes.get(at..at + section.bytes as usize).unwrap_or_default();
                let checked = match is_kept {
                    true => self.keep(0, block, section, bytes)?,
                    false => self.check(0, block, section, bytes)?,
                };
                found[(block - first) as usize] = Some(checked);
            }
        }
        Ok(found.into_iter().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::error::Result;
    use crate::io::{FastPaths, MemoryStorage, Profile, ReadRequest, ReadableFile, Storage, StorageWrapper};
    use crate::table::{Table, TableOptions, TableWriteOptions, TableWriter};
    use crate::types::KeyType;
    use proptest::prelude::*;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Counts the bytes whose read was started, waited for or not.
    #[derive(Debug)]
    struct CountingStorage {
        inner: Arc<dyn Storage>,
        bytes: Arc<AtomicU64>,
    }

    #[derive(Debug)]
    struct CountingFile {
        inner: Arc<dyn ReadableFile>,
        bytes: Arc<AtomicU64>,
    }

    impl StorageWrapper for CountingStorage {
        fn inner(&self) -> &dyn Storage {
            &*self.inner
        }

        fn open(&self, name: &str) -> Result<Arc<dyn ReadableFile>> {
            Ok(Arc::new(CountingFile { inner: self.inner.open(name)?, bytes: self.bytes.clone() }))
        }
    }

    impl ReadableFile for CountingFile {
        fn len(&self) -> u64 {
            self.inner.len()
        }

        fn read(&self, request: ReadRequest<'_>) -> Result<()> {
            self.bytes.fetch_add(request.buffer.len() as u64, Ordering::Relaxed);
            self.inner.read(request)
        }

        fn path(&self) -> &Path {
            self.inner.path()
        }
    }

    /// A table of this many numbers, in blocks of 512 bytes.
    fn storage(records: u64) -> Arc<dyn Storage> {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let options = TableWriteOptions {
            key_type: KeyType::U64,
            value_width: Some(8),
            block_bytes: Some(512),
            coding: false,
            ..TableWriteOptions::default()
        };
        let mut writer = TableWriter::create((storage.clone(), "t"), options).unwrap();
        (0..records).for_each(|i| writer.append(&i.to_be_bytes(), &(i * 7).to_be_bytes()).unwrap());
        writer.finish().unwrap();
        storage
    }

    fn open(storage: &Arc<dyn Storage>, memory_bytes: u64, in_flight: bool) -> Table {
        let fast_paths = FastPaths { in_flight, ..FastPaths::ALL };
        let options = TableOptions::default().memory_bytes(memory_bytes).fast_paths(fast_paths);
        Table::open((Arc::clone(storage), "t"), &options).unwrap()
    }

    fn number(record: crate::Result<(Vec<u8>, Vec<u8>)>) -> u64 {
        let (key, value) = record.unwrap();
        let key = u64::from_be_bytes(key.try_into().unwrap());
        assert_eq!(value, (key * 7).to_be_bytes());
        key
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn scans_from_both_ends_give_every_record_once(
            records in 0_u64..6000,
            bits in 14_u32..21,
            from in 0_u64..6000,
            turns in proptest::collection::vec(0_usize..900, 1..12),
        ) {
            let table = open(&storage(records), 1 << bits, true);
            let mut range = table.range(from.to_be_bytes()..);
            let (mut next, mut end) = (from.min(records), records);
            for (turn, taken) in turns.into_iter().chain([6000, 6000]).enumerate() {
                for _ in 0..taken {
                    let found = if turn % 2 == 0 { range.next() } else { range.next_back() };
                    if next == end {
                        prop_assert!(found.is_none());
                        break;
                    }
                    let expected = if turn % 2 == 0 { next } else { end - 1 };
                    prop_assert_eq!(number(found.unwrap()), expected);
                    if turn % 2 == 0 { next += 1 } else { end -= 1 }
                }
            }
        }

        #[test]
        fn a_cursor_finds_the_same_wherever_it_goes(
            records in 1_u64..6000,
            bits in 14_u32..21,
            steps in proptest::collection::vec((0_u64..6000, 0_usize..1500, 0_usize..40), 1..6),
        ) {
            let table = open(&storage(records), 1 << bits, true);
            let mut cursor = table.cursor();
            for (to, nexts, prevs) in steps {
                cursor.seek(&to.to_be_bytes(), u64::MAX).unwrap();
                let mut at = Some(to).filter(|&to| to < records);
                for step in 0..nexts + prevs {
                    let key = cursor.entry().map(|entry| u64::from_be_bytes(entry.key.try_into().unwrap()));
                    prop_assert_eq!(key, at);
                    if step < nexts { cursor.next().unwrap() } else { cursor.prev().unwrap() }
                    at = match step < nexts {
                        true => at.map(|at| at + 1).filter(|&at| at < records),
                        false => at.and_then(|at| at.checked_sub(1)),
                    };
                }
            }
        }
    }

    #[test]
    fn a_short_scan_reads_no_more_and_a_long_one_little_more() {
        let records = 400_000;
        let started = Arc::new(AtomicU64::new(0));
        let shared: Arc<dyn Storage> = Arc::new(CountingStorage { inner: storage(records), bytes: started.clone() });
        // Rows of 64 KiB, of 4096 records.
        let read = |in_flight, taken| {
            let table = open(&shared, 2 << 20, in_flight);
            started.store(0, Ordering::Relaxed);
            assert_eq!(table.iter().take(taken).count(), taken);
            started.load(Ordering::Relaxed)
        };
        for taken in [1, 100, 3000, 7000] {
            assert_eq!(read(true, taken), read(false, taken), "{taken} records");
        }
        for taken in [13_000, 50_000, 200_000] {
            let [ahead, each] = [true, false].map(|in_flight| read(in_flight, taken));
            assert!(ahead > each && ahead <= each + (3 << 16), "{taken} records: {ahead} and {each} bytes");
        }
        assert_eq!(read(true, records as usize), read(false, records as usize));
    }

    #[test]
    fn a_scan_behind_a_block_in_the_cache_reads_as_much_at_once_as_another() {
        let objects = Profile::affine("objects", 40_000.0, 90.0, 64).unwrap();
        let options = TableOptions::default().profile(objects);
        let reads = |is_warm: bool| {
            let table = Table::open((storage(20_000), "t"), &options).unwrap();
            if is_warm {
                table.get(&0_u64.to_be_bytes()).unwrap().unwrap();
            }
            let mut range = table.iter().traced();
            assert_eq!(range.by_ref().count(), 20_000);
            range.trace().unwrap().reads.iter().map(|read| read.bytes).collect::<Vec<_>>()
        };
        // 335 kB, which take less time than two blocks.
        assert_eq!(reads(false).len(), 1);
        assert_eq!(reads(true).len(), 1);
    }

    #[test]
    fn rows_are_longer_where_latency_is_and_within_their_memory() {
        let slow = Profile::affine("slow", 40_000.0, 90.0, 64).unwrap();
        let fast = Profile::affine("fast", 60.0, 1200.0, 16).unwrap();
        assert_eq!(super::row_bytes(&fast, u64::MAX), super::ROW_BYTES_MIN);
        assert_eq!(super::row_bytes(&slow, u64::MAX), super::ROW_BYTES_MAX);
        assert_eq!(super::row_bytes(&slow, 70_000), 70_000);
    }
}
