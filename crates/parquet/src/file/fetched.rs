//! Rounds of reads: the ranges of data files that a step needs, read side by side, and the bytes that came back.

use crate::error::Result;
use crate::trace::{Trace, TracedRequest};
use bytes::{Buf, Bytes};
use ogive::Profile;
use ogive::io::{PendingReads, Purpose, RangeRequest, ReadableFile};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Size up to which the time of a request hardly depends on it: the base of the comparisons of [`Joining`].
const SMALL_READ_BYTES: u64 = 4096;
/// Bounds of the gaps that are read along, and of requests that are joined.
const GAP_BYTES_MAX: u64 = 1 << 20;
const JOINED_BYTES_MIN: u64 = 64 << 10;
const JOINED_BYTES_MAX: u64 = 8 << 20;

/// When neighbouring ranges are read by one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joining {
    /// A gap of up to this many bytes is read along.
    gap_bytes: u64,
    /// No request is joined beyond this size, so that a storage serves several at once.
    joined_bytes: u64,
}

impl Joining {
    /// Gaps that add a twentieth to the time of a small read; requests that take twice its time.
    pub(crate) fn of(profile: &Profile) -> Self {
        let base_us = profile.time_us(SMALL_READ_BYTES);
        let largest = |bound_us: f64, max: u64| {
            let sizes = (0..=max.ilog2()).rev().map(|shift| 1_u64 << shift);
            sizes.into_iter().find(|&bytes| profile.time_us(SMALL_READ_BYTES + bytes) <= bound_us).unwrap_or(0)
        };
        let gap_bytes = largest(1.05 * base_us, GAP_BYTES_MAX);
        let joined_bytes = largest(2.0 * base_us, JOINED_BYTES_MAX).max(JOINED_BYTES_MIN);
        Self { gap_bytes, joined_bytes }
    }

    /// With gaps of at most this many bytes.
    pub(crate) fn with_gaps_within(self, bytes: u64) -> Self {
        Self { gap_bytes: self.gap_bytes.min(bytes), ..self }
    }
}

/// A range of a data file that is needed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wanted {
    /// The number of the file.
    pub(crate) file: usize,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// What it is, for traces.
    pub(crate) part: Part,
}

/// What a range of a data file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The dictionary page of a leaf column.
    Dictionary(usize),
    /// A data page of a leaf column.
    Page(usize, usize),
    /// All pages of a leaf column in a row group.
    Chunk(usize),
}

/// Bytes of one data file.
#[derive(Clone, Debug, Default)]
pub(crate) struct FetchedFile {
    file_bytes: u64,
    ranges: BTreeMap<u64, Bytes>,
    /// Ranges that were taken over, which may lie within others.
    held: BTreeMap<u64, Bytes>,
}

/// Bytes of data files, by the number of the file.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    files: BTreeMap<usize, FetchedFile>,
}

impl Fetched {
    /// Takes ranges over from what was fetched before.
    pub(crate) fn hold(&mut self, held: &[Wanted], before: &Self) {
        for range in held {
            let Some(of_file) = before.files.get(&range.file) else { continue };
            let Ok(bytes) = of_file.get_bytes(range.offset, range.bytes as usize) else { continue };
            let file = self.files.entry(range.file).or_insert_with(|| FetchedFile::of(of_file.file_bytes));
            // A copy, so that the request that it is a part of can go.
            file.held.insert(range.offset, Bytes::copy_from_slice(&bytes));
        }
    }

    /// The bytes of a file, for a reader of it.
    pub(crate) fn file(&self, file: usize) -> FetchedFile {
        self.files.get(&file).cloned().unwrap_or_default()
    }
}

/// Reads of some files that are under way.
#[derive(Debug, Default)]
pub(crate) struct StartedFetch(Vec<StartedFile>);

/// Reads of a file that are under way.
#[derive(Debug)]
struct StartedFile {
    number: usize,
    file_bytes: u64,
    /// The offset of each request.
    offsets: Vec<u64>,
    reads: Box<dyn PendingReads>,
}

impl StartedFetch {
    /// Waits for the reads.
    ///
    /// # Errors
    /// Storage errors.
    pub(crate) fn wait(self) -> Result<Fetched> {
        let mut fetched = Fetched::default();
        for StartedFile { number, file_bytes, offsets, reads } in self.0 {
            let entry = fetched.files.entry(number).or_insert_with(|| FetchedFile::of(file_bytes));
            for (offset, buffer) in offsets.into_iter().zip(reads.wait()?) {
                entry.ranges.insert(offset, Bytes::copy_from_slice(&buffer));
            }
        }
        Ok(fetched)
    }
}

/// Starts to read ranges of several files in one round: all requests are under way before any is waited for.
///
/// # Errors
/// Storage errors.
pub(crate) fn start(
    mut wanted: Vec<Wanted>,
    files: &dyn Fn(usize) -> Result<Arc<dyn ReadableFile>>,
    joining: Joining,
    mut trace: Option<&mut Trace>,
    label: &dyn Fn(usize, Part) -> String,
) -> Result<StartedFetch> {
    order(&mut wanted);
    let mut started = StartedFetch::default();
    if let Some(trace) = trace.as_deref_mut().filter(|_| !wanted.is_empty()) {
        trace.begin_round();
    }
    for of_file in wanted.chunk_by(|left, right| left.file == right.file) {
        let number = of_file[0].file;
        let file = files(number)?;
        let requests = join(of_file, joining);
        let ranges: Vec<RangeRequest> = requests
            .iter()
            .map(|&(offset, end)| RangeRequest { offset, bytes: (end - offset) as usize, purpose: Purpose::Data })
            .collect();
        for (at, end) in &requests {
            check_range(&*file, *at, *end)?;
        }
        if let Some(trace) = trace.as_deref_mut() {
            for &(offset, end) in &requests {
                let parts = of_file.iter().filter(|part| (offset..end).contains(&part.offset));
                let parts = parts.map(|part| label(number, part.part)).collect();
                trace.push(TracedRequest::data(file.path(), offset, end - offset, parts));
            }
        }
        let offsets = requests.iter().map(|&(offset, _)| offset).collect();
        started.0.push(StartedFile { number, file_bytes: file.len(), offsets, reads: file.start_reads(&ranges)? });
    }
    Ok(started)
}

/// Sorts ranges, and drops those that occur before.
fn order(wanted: &mut Vec<Wanted>) {
    wanted.sort();
    wanted.dedup_by(|later, earlier| {
        (later.file, later.offset, later.bytes) == (earlier.file, earlier.offset, earlier.bytes)
    });
}

/// Sizes of the requests that [`start`] would make, with the bytes between ranges.
pub(crate) fn request_sizes(mut wanted: Vec<Wanted>, joining: Joining) -> Vec<u64> {
    order(&mut wanted);
    let of_files = wanted.chunk_by(|left, right| left.file == right.file);
    of_files.flat_map(|of_file| join(of_file, joining)).map(|(offset, end)| end - offset).collect()
}

fn check_range(file: &dyn ReadableFile, offset: u64, end: u64) -> Result<()> {
    if end <= file.len() && offset <= end {
        return Ok(());
    }
    let detail = format!("bytes {offset} to {end} were indexed, but it has {}", file.len());
    Err(crate::error::ParquetIndexError::Changed { path: file.path().to_owned(), detail, may_be_copy: false })
}

/// The requests for sorted ranges of one file, as pairs of offset and end.
fn join(wanted: &[Wanted], joining: Joining) -> Vec<(u64, u64)> {
    let mut requests: Vec<(u64, u64)> = Vec::new();
    for range in wanted {
        let end = range.offset + range.bytes;
        match requests.last_mut() {
            Some((start, last))
                if range.offset <= *last
                    || range.offset - *last <= joining.gap_bytes && end - *start <= joining.joined_bytes =>
            {
                *last = end.max(*last);
            }
            _ => requests.push((range.offset, end)),
        }
    }
    requests
}

impl Length for FetchedFile {
    fn len(&self) -> u64 {
        self.file_bytes
    }
}

impl FetchedFile {
    fn of(file_bytes: u64) -> Self {
        Self { file_bytes, ..Self::default() }
    }

    /// What was fetched from `start` on, up to the end of a request.
    fn from(&self, start: u64) -> Result<Bytes, ParquetError> {
        let from = |ranges: &BTreeMap<u64, Bytes>, is_empty: bool| {
            let (offset, bytes) = ranges.range(..=start).next_back()?;
            let skipped = usize::try_from(start - offset).ok()?;
            (skipped < bytes.len() || is_empty && skipped == bytes.len()).then(|| bytes.slice(skipped..))
        };
        let found = from(&self.held, false).or_else(|| from(&self.ranges, true));
        found
            .ok_or_else(|| ParquetError::General(format!("a page refers to byte {start}, which is outside its column")))
    }
}

impl ChunkReader for FetchedFile {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let found = self.from(start)?;
        if length > found.len() {
            let detail = format!("a page of {length} bytes at byte {start} ends outside its column");
            return Err(ParquetError::General(detail));
        }
        Ok(found.slice(..length))
    }
}
