//! Waves of values: the values of many pointers, read from all value files side by side.

use crate::block::Slice;
use crate::error::Result;
use crate::io::{PendingReads, RangeRequest};
use crate::lsm::state::tables::value_files::ValueFiles;
use crate::vlog::{ValueFile, ValueFilePointer};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The reads of one wave take at most 1/N of the memory of a store.
const WAVE_DIVISOR: u64 = 16;

/// Values with at most this many bytes between them are read by one request: direct reads fetch whole blocks anyway.
const GAP_BYTES_MAX: u64 = 4096;

/// Longest request that is made for several values, in bytes.
const JOINED_BYTES_MAX: u64 = 256 << 10;

/// Limits and names that a batch needs of its store.
pub(in crate::lsm) struct BatchLimits<'a> {
    pub(in crate::lsm) memory_bytes: u64,
    /// The folder of the store, for error messages.
    pub(in crate::lsm) path: &'a dyn Fn() -> PathBuf,
}

impl BatchLimits<'_> {
    /// Bytes of one wave.
    pub(super) fn wave_bytes(&self) -> u64 {
        (self.memory_bytes / WAVE_DIVISOR).max(1)
    }
}

/// A value to read: its range, its pointer, and the index of its key.
type WantedValue = (RangeRequest, ValueFilePointer, usize);

/// Values of one file that are read in one wave.
struct FileWave<'a> {
    file: &'a ValueFile,
    values: Vec<WantedValue>,
}

/// The reads of a [`FileWave`], and the request of each of its values.
struct StartedWave {
    pending: Box<dyn PendingReads>,
    requests: Vec<RangeRequest>,
    request_of: Vec<usize>,
}

impl FileWave<'_> {
    /// Starts to read the values in the order of the file.
    fn start(&mut self) -> Result<StartedWave> {
        self.values.sort_unstable_by_key(|&(range, ..)| range.offset);
        let mut requests: Vec<RangeRequest> = Vec::new();
        let mut request_of = Vec::with_capacity(self.values.len());
        for &(range, ..) in &self.values {
            let end = range.offset + range.bytes as u64;
            let joined = requests.last_mut().filter(|request| {
                range.offset <= request.offset + request.bytes as u64 + GAP_BYTES_MAX
                    && end.saturating_sub(request.offset) <= JOINED_BYTES_MAX
            });
            match joined {
                Some(request) => request.bytes = request.bytes.max((end - request.offset) as usize),
                None => requests.push(range),
            }
            request_of.push(requests.len() - 1);
        }
        Ok(StartedWave { pending: self.file.start_reads(&requests)?, requests, request_of })
    }

    fn finish(&self, started: StartedWave, found: &mut [Option<Slice>]) -> Result<()> {
        let filled = started.pending.wait()?;
        for ((range, pointer, index), &request) in self.values.iter().zip(&started.request_of) {
            let at = (range.offset - started.requests[request].offset) as usize;
            found[*index] = Some(self.file.value_in(pointer, &filled[request][at..][..range.bytes])?);
        }
        Ok(())
    }
}

/// Reads the values at encoded pointers, each for an index of `found`; in as many waves as the memory requires.
///
/// # Errors
/// As [`ValueFiles::get`]; some values may have been read.
pub(super) fn read_values(
    files: &ValueFiles,
    pointers: &[(usize, Slice)],
    found: &mut [Option<Slice>],
    limits: &BatchLimits<'_>,
) -> Result<()> {
    let (mut wave, mut bytes): (BTreeMap<u64, FileWave<'_>>, u64) = (BTreeMap::new(), 0);
    for (index, pointer) in pointers {
        let (file, pointer) = files.resolve(pointer, limits.path)?;
        let Some(range) = file.range_of(&pointer, limits.memory_bytes)? else {
            found[*index] = Some(file.get(&pointer, limits.memory_bytes)?);
            continue;
        };
        if bytes + range.bytes as u64 > limits.wave_bytes() {
            read_wave(&mut wave, found)?;
            bytes = 0;
        }
        // The bytes of a gap are read, too.
        bytes += range.bytes as u64 + GAP_BYTES_MAX;
        let of_file = wave.entry(pointer.file).or_insert_with(|| FileWave { file, values: Vec::new() });
        of_file.values.push((range, pointer, *index));
    }
    read_wave(&mut wave, found)
}

/// Reads a wave of all files, and empties it.
fn read_wave(wave: &mut BTreeMap<u64, FileWave<'_>>, found: &mut [Option<Slice>]) -> Result<()> {
    let started: Vec<StartedWave> = wave.values_mut().map(FileWave::start).collect::<Result<_>>()?;
    let files = wave.values().zip(started);
    files.into_iter().try_for_each(|(file, started)| file.finish(started, found))?;
    wave.clear();
    Ok(())
}
