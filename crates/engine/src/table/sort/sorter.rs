//! The sorter: fills the buffer, spills runs, and merges them.

use super::buffer::{RecordBuffer, record_bytes};
use super::merge::RunMerge;
use super::run::{RunSize, RunWriter, SortedRun};
use crate::error::{Error, Result};
use crate::io::Storage;
use std::sync::Arc;

/// Least memory of a sort, in bytes.
pub(crate) const SORT_MEMORY_BYTES_MIN: u64 = 64 << 10;

const CHUNK_BYTES_MIN: usize = 4 << 10;
const CHUNK_BYTES_MAX: usize = 64 << 10;
/// Limit for the number of open files.
const FAN_IN_MAX: usize = 128;
/// Limit for the chunks of a run read at a time.
const BUFFER_CHUNKS_MAX: usize = 16;
/// Memory of a waiting run, and of its reader apart from its buffers.
const RUN_OVERHEAD_BYTES: usize = 256;
const CURSOR_OVERHEAD_BYTES: usize = 512;

/// Bytes merged between two calls of an observer.
const OBSERVED_BYTES: u64 = 1 << 20;

/// Sorts records by key within a limit of memory.
///
/// Temporary files are named `PREFIX.000001.ogive-sort` and so on; only one sort of a prefix may run at a time. The
/// files are written and read sequentially and never synced, so a storage that bypasses the page cache is a poor place
/// for them.
#[derive(Debug)]
pub struct Sorter {
    storage: Arc<dyn Storage>,
    prefix: String,
    limits: SortLimits,
    buffer: RecordBuffer,
    /// In the order of arrival.
    runs: Vec<SortedRun>,
    runs_written: u64,
    records: u64,
    record_bytes: u64,
    failed: bool,
}

/// The division of the memory.
#[derive(Clone, Copy, Debug)]
struct SortLimits {
    memory_bytes: usize,
    chunk_bytes: usize,
    record_bytes_max: usize,
    runs_max: usize,
}

impl SortLimits {
    fn new(memory_bytes: u64) -> Result<Self> {
        if memory_bytes < SORT_MEMORY_BYTES_MIN {
            return Err(Error::input(format!(
                "a sort needs at least {SORT_MEMORY_BYTES_MIN} bytes of memory; {memory_bytes} are too few"
            )));
        }
        let memory_bytes = usize::try_from(memory_bytes).unwrap_or(usize::MAX).min(isize::MAX as usize);
        Ok(Self {
            memory_bytes,
            chunk_bytes: (1 << (memory_bytes / 16).ilog2()).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX),
            // Two runs of such records can always be merged: 2 * (1/16 + 1/4) + 1/4 is less than 1.
            record_bytes_max: (memory_bytes / 4).min(u32::MAX as usize),
            runs_max: (memory_bytes / 16 / RUN_OVERHEAD_BYTES).max(16),
        })
    }

    /// Memory left for the buffer besides a writer's chunk and the list of runs.
    fn buffer_bytes(&self) -> usize {
        self.memory_bytes - self.memory_bytes / 8
    }

    /// Memory for merging these runs with one chunk each.
    fn merge_bytes(&self, runs: &[RunSize]) -> usize {
        let longest = runs.iter().map(|run| run.longest_record_bytes).max().unwrap_or(0);
        let read: usize =
            runs.iter().map(|run| self.chunk_bytes + run.longest_record_bytes + CURSOR_OVERHEAD_BYTES).sum();
        read.saturating_add(longest.max(self.chunk_bytes))
    }

    fn can_merge(&self, runs: &[RunSize]) -> bool {
        runs.len() <= FAN_IN_MAX && self.merge_bytes(runs) <= self.memory_bytes
    }

    /// Bytes of each run that may be read at a time: whole chunks.
    fn read_bytes(&self, runs: &[RunSize]) -> usize {
        let spare = self.memory_bytes.saturating_sub(self.merge_bytes(runs));
        (1 + spare / (runs.len().max(1) * self.chunk_bytes)).min(BUFFER_CHUNKS_MAX) * self.chunk_bytes
    }

    /// The first run and the number of neighbours whose merge writes the fewest bytes per run saved. Only merges of
    /// neighbours keep the order of records with equal keys.
    fn choose_neighbours(&self, runs: &[RunSize]) -> (usize, usize) {
        let mut best = (f64::INFINITY, (0, runs.len().min(2)));
        for start in 0..runs.len().saturating_sub(1) {
            // Two can always be merged.
            let mut count = 2;
            while runs.get(start..=start + count).is_some_and(|runs| self.can_merge(runs)) {
                count += 1;
            }
            let written: u64 = runs.iter().skip(start).take(count).map(|run| run.record_bytes).sum();
            let cost = written as f64 / (count - 1) as f64;
            if cost < best.0 {
                best = (cost, (start, count));
            }
        }
        best.1
    }

    /// Bytes that are merged before the last merge.
    fn planned_bytes(&self, mut runs: Vec<RunSize>) -> u64 {
        let mut planned = 0;
        while !self.can_merge(&runs) {
            let (start, count) = self.choose_neighbours(&runs);
            let merged = runs.drain(start..start + count).fold(
                RunSize { record_bytes: 0, longest_record_bytes: 0 },
                |whole, run| RunSize {
                    record_bytes: whole.record_bytes + run.record_bytes,
                    longest_record_bytes: whole.longest_record_bytes.max(run.longest_record_bytes),
                },
            );
            planned += merged.record_bytes;
            runs.insert(start, merged);
        }
        planned
    }
}

impl Sorter {
    /// Creates a sorter that holds at most `memory_bytes` of memory and stores temporary files in `storage` under names
    /// that begin with `prefix`.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for less memory than [`SORT_MEMORY_BYTES_MIN`].
    pub fn new(storage: Arc<dyn Storage>, memory_bytes: u64, prefix: &str) -> Result<Self> {
        let limits = SortLimits::new(memory_bytes)?;
        let buffer = RecordBuffer::new(limits.buffer_bytes());
        let prefix = prefix.to_owned();
        Ok(Self {
            storage,
            prefix,
            limits,
            buffer,
            runs: Vec::new(),
            runs_written: 0,
            records: 0,
            record_bytes: 0,
            failed: false,
        })
    }

    /// Limit for the size of key and value together: a quarter of the memory. Longer values must be stored elsewhere,
    /// and their locations sorted.
    #[must_use]
    pub fn record_bytes_max(&self) -> u64 {
        self.limits.record_bytes_max.saturating_sub(record_bytes(&[], &[])) as u64
    }

    /// Adds a record.
    ///
    /// # Errors
    /// `Cause::ValueTooLarge` for a record larger than [`Sorter::record_bytes_max`], which leaves the sorter usable.
    /// Any other error, such as a full disk, ends the sort: further calls return `Cause::Poisoned`.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.push_in_parts(key, [value, &[]])
    }

    /// As [`Self::push`], for a value in two parts.
    pub(super) fn push_in_parts(&mut self, key: &[u8], value: [&[u8]; 2]) -> Result<()> {
        self.check_usable()?;
        let bytes = record_bytes(key, value[0]) + value[1].len();
        if bytes > self.limits.record_bytes_max {
            let (path, limit) = (self.storage.path(&self.prefix), self.record_bytes_max());
            return Err(Error::value_too_large(path, (bytes - record_bytes(&[], &[])) as u64, limit));
        }
        let pushed = self.push_or_spill(key, value);
        self.failed = pushed.is_err();
        if pushed.is_ok() {
            self.records += 1;
            self.record_bytes += bytes as u64;
        }
        pushed
    }

    /// Bytes of the records added so far, as the sort stores them: what its last merge reads.
    #[must_use]
    pub fn record_bytes(&self) -> u64 {
        self.record_bytes
    }

    /// Number of records added so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Ends the input and returns all records in order.
    ///
    /// # Errors
    /// Storage errors, and [`Cause::Poisoned`](crate::Cause::Poisoned) after a failed [`Sorter::push`].
    pub fn finish(self) -> Result<Sorted> {
        self.finish_observed(&mut |_, _| {})
    }

    /// As [`Self::finish`]. `progress` receives the bytes of records merged so far, and those of all merges, including
    /// the last one, in which the records are returned.
    ///
    /// # Errors
    /// As there.
    pub fn finish_observed(mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<Sorted> {
        self.check_usable()?;
        let (mut merged_bytes, mut read_bytes) = (0, 0);
        let source = if self.runs.is_empty() {
            self.buffer.sort();
            SortedSource::Memory { buffer: self.buffer, next: 0 }
        } else {
            self.spill()?;
            self.buffer.release();
            let total_bytes = self.record_bytes + self.limits.planned_bytes(self.sizes());
            while !self.limits.can_merge(&self.sizes()) {
                self.merge_some(&mut |bytes| {
                    merged_bytes += bytes;
                    progress(merged_bytes, total_bytes);
                })?;
            }
            read_bytes = self.limits.read_bytes(&self.sizes());
            SortedSource::Runs(RunMerge::open(std::mem::take(&mut self.runs), read_bytes)?)
        };
        let total_bytes = merged_bytes + self.record_bytes;
        Ok(Sorted { source, records: self.records, merged_bytes, total_bytes, read_bytes, failed: false })
    }

    fn sizes(&self) -> Vec<RunSize> {
        self.runs.iter().map(SortedRun::size).collect()
    }

    fn check_usable(&self) -> Result<()> {
        if self.failed { Err(Error::poisoned(self.storage.path(&self.prefix))) } else { Ok(()) }
    }

    fn push_or_spill(&mut self, key: &[u8], value: [&[u8]; 2]) -> Result<()> {
        if self.buffer.push(key, value) {
            return Ok(());
        }
        self.spill()?;
        if self.buffer.push(key, value) {
            return Ok(());
        }
        let message =
            format!("the system refuses the {} bytes of memory for a sort; give it less", self.limits.buffer_bytes());
        Err(Error::input(message))
    }

    /// Writes the buffer as a run.
    fn spill(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.buffer.sort();
        let mut writer = self.create_run()?;
        for position in 0..self.buffer.len() {
            if let Some((key, value)) = self.buffer.get(position) {
                writer.push(key, value)?;
            }
        }
        self.runs.push(writer.finish()?);
        self.buffer.clear();
        if self.runs.len() >= self.limits.runs_max {
            self.merge_some(&mut |_| {})?;
        }
        Ok(())
    }

    fn create_run(&mut self) -> Result<RunWriter> {
        self.runs_written += 1;
        RunWriter::create(&self.storage, &self.prefix, self.runs_written, self.limits.chunk_bytes)
    }

    /// Merges some neighbouring runs into one that takes their place, in the memory of the empty buffer. `progress`
    /// receives the bytes merged since its last call.
    fn merge_some(&mut self, progress: &mut dyn FnMut(u64)) -> Result<()> {
        self.buffer.release();
        let sizes = self.sizes();
        let (start, count) = self.limits.choose_neighbours(&sizes);
        let runs: Vec<SortedRun> = self.runs.drain(start..start + count).collect();
        let read_bytes = self.limits.read_bytes(&sizes[start..start + count]);
        let mut unobserved = 0;
        let mut merge = RunMerge::open(runs, read_bytes)?;
        let mut writer = self.create_run()?;
        while merge.advance()? {
            if let Some((key, value)) = merge.current() {
                writer.push(key, value)?;
                unobserved += record_bytes(key, value) as u64;
                if unobserved >= OBSERVED_BYTES {
                    progress(std::mem::take(&mut unobserved));
                }
            }
        }
        progress(unobserved);
        self.runs.insert(start, writer.finish()?);
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn allocated_bytes(&self) -> usize {
        self.buffer.allocated_bytes() + self.runs.capacity() * size_of::<SortedRun>()
    }

    #[cfg(test)]
    pub(super) fn runs(&self) -> &[SortedRun] {
        &self.runs
    }
}

#[derive(Debug)]
enum SortedSource {
    Memory { buffer: RecordBuffer, next: usize },
    Runs(RunMerge),
}

/// All records of a sort, in key order. Temporary files are removed as they are used up, or when this is dropped.
///
/// After an error no further record is returned, only the end.
#[derive(Debug)]
pub struct Sorted {
    source: SortedSource,
    records: u64,
    /// Bytes merged by now, and in all.
    merged_bytes: u64,
    total_bytes: u64,
    /// Bytes of a read of a run; 0 if there are none.
    read_bytes: usize,
    failed: bool,
}

impl Sorted {
    /// Number of records in the whole sort.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The bytes of records merged so far, and those of all merges: as for [`Sorter::finish_observed`].
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.merged_bytes, self.total_bytes)
    }

    /// The reads of runs by all merges, and their bytes, of records alone.
    pub(crate) fn reads(&self) -> (u64, u64) {
        match self.read_bytes {
            0 => (0, 0),
            read_bytes => (self.total_bytes.div_ceil(read_bytes as u64), self.total_bytes),
        }
    }

    /// Key and value of the next record, without copying.
    ///
    /// # Errors
    /// Storage errors, and [`Cause::Damaged`](crate::Cause::Damaged) if a temporary file is not what was written.
    pub fn next_record(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.failed {
            return Ok(None);
        }
        let record = match &mut self.source {
            SortedSource::Memory { buffer, next } => {
                *next += 1;
                buffer.get(*next - 1)
            }
            SortedSource::Runs(merge) => {
                let advanced = merge.advance();
                self.failed = advanced.is_err();
                if advanced? { merge.current() } else { None }
            }
        };
        self.merged_bytes += record.map_or(0, |(key, value)| record_bytes(key, value) as u64);
        Ok(record)
    }

    #[cfg(test)]
    pub(super) fn allocated_bytes(&self) -> usize {
        match &self.source {
            SortedSource::Memory { buffer, .. } => buffer.allocated_bytes(),
            SortedSource::Runs(merge) => merge.allocated_bytes(),
        }
    }
}

impl Iterator for Sorted {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.next_record().transpose()?;
        Some(record.map(|(key, value)| (key.to_vec(), value.to_vec())))
    }
}

impl std::iter::FusedIterator for Sorted {}
