//! The measurement of a device's storage profile.

use super::clock::{Timer, random_u64};
use super::curve::{FORMAT_VERSION, Profile, save_json};
use crate::error::{Error, Result};
use crate::io::local::direct;
use crate::io::local::large_buffer::{LARGE_PAGE_BYTES, LargeBuffer};
use crate::io::local::positional::{AlignedBuffer, read_aligned, write_exactly};
use crate::io::reads::worker::spawn_helper;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Measured read sizes: powers of two, as exponents.
const SIZE_BITS: RangeInclusive<u32> = 9..=24;
const READ_BYTES_MAX: u64 = 1 << 24;
/// Measured numbers of reads in flight, and the size of each read.
const LEVELS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
const LEVEL_READ_BYTES: usize = 4096;

/// Measured streams: sizes of long reads one behind the other, and how many are in flight.
const STREAMS: [(u64, u32); 4] = [(512 << 10, 8), (1 << 20, 4), (2 << 20, 2), (4 << 20, 4)];
/// Reads of this size or more go into large pages of memory.
const LONG_READ_BYTES_MIN: usize = 512 << 10;
/// Rounds of each stream, in turn with the others.
const STREAM_ROUNDS: u32 = 2;

/// The file is written in pieces of this size, each synced, so that the time covers the device and not the page
/// cache.
const PIECE_BYTES: usize = 16 << 20;
/// Alignment of addresses and, from this size on, of offsets; smaller reads are aligned to their size.
const ALIGNMENT: usize = 4096;

/// Shares of the time.
struct TimeShares {
    /// Writing the file.
    writing: f64,
    /// Reads of all sizes.
    sizes: f64,
    /// All numbers of reads in flight.
    levels: f64,
    /// Streams.
    streams: f64,
}

const TIME_SHARES: TimeShares = TimeShares { writing: 0.3, sizes: 0.35, levels: 0.15, streams: 0.15 };
/// Limits for the number of reads behind a median.
const READS: RangeInclusive<usize> = 2..=2_000;

/// Limits of a measurement.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MeasureOptions {
    /// Size of the temporary file in bytes, at least 32 MiB. Should exceed the caches of the device.
    pub file_bytes: u64,
    /// Seconds after which no further reads are started; very slow devices take somewhat longer.
    pub time_s: f64,
}

impl Default for MeasureOptions {
    fn default() -> Self {
        Self { file_bytes: 256 << 20, time_s: 14.0 }
    }
}

setters! {
    MeasureOptions {
        file_bytes: u64,
        time_s: f64,
    } optional {}
}

/// The measured times of one read size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredPoint {
    /// Number of consecutive bytes read.
    pub size_bytes: u64,
    /// The profile's T: the median, or that of a smaller size if it was larger, so that T never falls.
    pub time_us: f64,
    /// Median in microseconds.
    pub median_us: f64,
    /// 90th percentile in microseconds; none in measurements of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_us: Option<f64>,
    /// 99th percentile in microseconds; the slowest read if there were fewer than a hundred.
    pub p99_us: f64,
    /// 99.9th percentile in microseconds; the slowest read if there were fewer than a thousand. None in measurements of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_us: Option<f64>,
    /// Number of timed reads.
    pub reads: u64,
}

/// The throughput at a number of 4 KiB reads in flight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLevel {
    /// Reads in flight.
    pub in_flight: u32,
    /// Reads completed per second.
    pub requests_per_s: f64,
}

/// The rate of a stream: long reads one behind the other, several in flight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredStream {
    /// Size of a read in bytes.
    pub read_bytes: u64,
    /// Reads in flight.
    pub in_flight: u32,
    /// Rate of all together in MB/s.
    pub mb_per_s: f64,
}

/// The result of a measurement. Its JSON form contains all fields of a [`Profile`], and can be loaded as one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredProfile {
    ogive_profile: u32,
    /// The place of the measurement.
    pub name: String,
    /// P: number of reads served at once, the highest throughput of all levels times the time of a single read.
    pub parallel: u32,
    /// T(n), smallest size first.
    pub points: Vec<MeasuredPoint>,
    /// Throughput by reads in flight.
    pub levels: Vec<MeasuredLevel>,
    /// Rates of long reads; none in measurements of earlier versions.
    #[serde(default)]
    pub streams: Vec<MeasuredStream>,
    /// The highest of these rates, in MB/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_mb_per_s: Option<f64>,
    /// Whether reads bypassed the page cache. If not, the figures are those of the cache, not of the device.
    pub cold: bool,
    /// Smallest read that the device supports, in bytes; smaller sizes have no point.
    pub smallest_read_bytes: u64,
    /// Size of the temporary file in bytes.
    pub file_bytes: u64,
}

impl MeasuredProfile {
    /// Measures the device under `directory` with direct reads of a temporary file, which is always removed: median and
    /// 99th percentile of the time to read 512 B to 16 MiB, the throughput of 1 to 64 reads in flight (the PDAM model:
    /// Bender et al., "Small Refinements to the DAM Can Have Big Consequences for Data-Structure Design", 2019), and
    /// the rate of long reads with several in flight. `progress` receives the number of steps done and in total.
    ///
    /// # Errors
    /// `Cause::Input` for a time that is not a positive number; `Cause::Io` if the file cannot be created,
    /// written or read.
    pub fn measure(directory: &Path, options: &MeasureOptions, progress: &mut dyn FnMut(u64, u64)) -> Result<Self> {
        if !(options.time_s > 0.0 && options.time_s.is_finite()) {
            return Err(Error::input(format!(
                "a measurement cannot take {} seconds; give a number above 0",
                options.time_s
            )));
        }
        let steps = 1 + SIZE_BITS.count() as u64 + LEVELS.len() as u64 + 1;
        progress(0, steps);
        let scratch = ScratchFile::create(directory, options)?;
        progress(1, steps);
        let mut done = 1;
        let mut points = Vec::new();
        let slice_s = options.time_s * TIME_SHARES.sizes / SIZE_BITS.count() as f64;
        for bits in SIZE_BITS {
            points.extend(scratch.time_reads(1 << bits, slice_s, points.last())?);
            done += 1;
            progress(done, steps);
        }
        let mut levels = Vec::new();
        for in_flight in LEVELS {
            let requests_per_s =
                scratch.throughput(in_flight, options.time_s * TIME_SHARES.levels / LEVELS.len() as f64)?;
            levels.push(MeasuredLevel { in_flight, requests_per_s });
            done += 1;
            progress(done, steps);
        }
        let streams = scratch.streams(options.time_s * TIME_SHARES.streams)?;
        progress(done + 1, steps);
        Ok(MeasuredProfile {
            ogive_profile: FORMAT_VERSION,
            name: directory.display().to_string(),
            parallel: parallel(&points, &levels),
            smallest_read_bytes: points.first().map_or(0, |point| point.size_bytes),
            points,
            levels,
            peak_mb_per_s: streams.iter().map(|stream| stream.mb_per_s).max_by(f64::total_cmp),
            streams,
            cold: scratch.cold,
            file_bytes: scratch.length_bytes,
        })
    }

    /// Converts the measurement to a profile.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if the times are not those of a device, such as a median of zero.
    pub fn to_profile(&self) -> Result<Profile> {
        // Its JSON form is that of a profile, which knows what earlier versions lack.
        let form = serde_json::to_value(self).and_then(serde_json::from_value);
        form.map_err(|error| Error::input(error.to_string()))
    }

    /// A warning for the user if the figures are not those of the device.
    pub fn warning(&self) -> Option<String> {
        (!self.cold).then(|| {
            format!("the file system of {} refuses direct reads: the figures are those of its cache", self.name)
        })
    }

    /// Writes the measurement as JSON, replacing the file at `path`.
    ///
    /// # Errors
    /// [`Cause::Io`](crate::Cause::Io) if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        save_json(self, path)
    }
}

/// The number of reads served at once by Little's law: the best throughput times the time of one read. That time was
/// measured twice, and the shorter one is used: a disturbance can only have lengthened it.
fn parallel(points: &[MeasuredPoint], levels: &[MeasuredLevel]) -> u32 {
    let alone_us = points
        .iter()
        .filter(|point| point.size_bytes == LEVEL_READ_BYTES as u64)
        .map(|point| point.median_us)
        .chain(levels.iter().filter(|level| level.in_flight == 1).map(|level| 1e6 / level.requests_per_s))
        .fold(f64::INFINITY, f64::min);
    let best_per_us = levels.iter().map(|level| level.requests_per_s / 1e6).fold(0.0, f64::max);
    // NaN becomes 0 in the conversion, and 1 by the clamp.
    ((best_per_us * alone_us).round() as u32).clamp(1, 64)
}

/// The temporary file. It is unlinked as soon as it is open, so that nothing is left even if the process is killed.
struct ScratchFile {
    reader: File,
    cold: bool,
    length_bytes: u64,
    path: PathBuf,
    named: bool,
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        if self.named {
            // A destructor cannot report an error, and nothing more can be done.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl ScratchFile {
    fn create(directory: &Path, options: &MeasureOptions) -> Result<Self> {
        let path = directory.join(format!(".ogive-profile-{:016x}.tmp", random_u64()));
        let writer = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|source| Error::io("create", &path, source))?;
        let opened = direct::open(&path, false).and_then(|opened| match opened {
            Some((file, _)) => Ok((file, true)),
            None => Ok((File::open(&path)?, false)),
        });
        let named = std::fs::remove_file(&path).is_err();
        let (reader, cold) = opened.map_err(|source| Error::io("open", &path, source))?;
        let mut scratch = Self { reader, cold, length_bytes: 0, path, named };
        scratch.fill(&writer, options).map_err(|source| Error::io("write", &scratch.path, source))?;
        Ok(scratch)
    }

    /// Writes incompressible bytes, and syncs each piece.
    fn fill(&mut self, writer: &File, options: &MeasureOptions) -> io::Result<()> {
        let timer = Timer::start();
        let mut piece = vec![0_u8; PIECE_BYTES];
        let mut random = XorShift::new();
        while self.length_bytes < 2 * READ_BYTES_MAX
            || (self.length_bytes < options.file_bytes && timer.elapsed_s() < options.time_s * TIME_SHARES.writing)
        {
            for word in piece.chunks_exact_mut(8) {
                word.copy_from_slice(&random.next().to_le_bytes());
            }
            write_exactly(writer, &piece, self.length_bytes)?;
            writer.sync_all()?;
            self.length_bytes += PIECE_BYTES as u64;
        }
        Ok(())
    }

    /// Times reads of one size at random offsets; `None` if the device does not support reads of that size.
    fn time_reads(&self, size: usize, slice_s: f64, smaller: Option<&MeasuredPoint>) -> Result<Option<MeasuredPoint>> {
        let mut reads = RandomReads::new(self, size);
        match reads.read() {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput && size < ALIGNMENT => return Ok(None),
            // The first read may wake the device up; it is not timed.
            outcome => outcome.map_err(|source| Error::io("read", &self.path, source))?,
        }
        let slice = Timer::start();
        let mut times_us = Vec::new();
        while times_us.len() < *READS.start() || (times_us.len() < *READS.end() && slice.elapsed_s() < slice_s) {
            let timer = Timer::start();
            reads.read().map_err(|source| Error::io("read", &self.path, source))?;
            times_us.push(timer.elapsed_us());
        }
        times_us.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let rank = (times_us.len() as f64 * share).ceil() as usize;
            times_us.get(rank.max(1) - 1).copied().unwrap_or_default()
        };
        let median_us = quantile(0.5);
        Ok(Some(MeasuredPoint {
            size_bytes: size as u64,
            time_us: smaller.map_or(median_us, |point| point.time_us.max(median_us)),
            median_us,
            p90_us: Some(quantile(0.9)),
            p99_us: quantile(0.99),
            p999_us: Some(quantile(0.999)),
            reads: times_us.len() as u64,
        }))
    }

    /// 4 KiB reads per second with this number of threads.
    fn throughput(&self, threads: u32, slice_s: f64) -> Result<f64> {
        self.reads_per_s(threads, slice_s, LEVEL_READ_BYTES, None)
    }

    /// The rates of all streams, within this time.
    fn streams(&self, time_s: f64) -> Result<Vec<MeasuredStream>> {
        let slice_s = time_s / STREAMS.len() as f64 / f64::from(STREAM_ROUNDS);
        let mut rates = [0.0; STREAMS.len()];
        let next = AtomicU64::new(0);
        for _ in 0..STREAM_ROUNDS {
            for (&(read_bytes, in_flight), rate) in STREAMS.iter().zip(&mut rates) {
                let reads_per_s = self.reads_per_s(in_flight, slice_s, read_bytes as usize, Some(&next))?;
                *rate += reads_per_s * read_bytes as f64 / 1e6 / f64::from(STREAM_ROUNDS);
            }
        }
        let measured = |(&(read_bytes, in_flight), mb_per_s)| MeasuredStream { read_bytes, in_flight, mb_per_s };
        Ok(STREAMS.iter().zip(rates).map(measured).collect())
    }

    /// Reads of one size per second with this number of threads: one behind the other from a counter on, or at random.
    fn reads_per_s(&self, threads: u32, slice_s: f64, size: usize, in_order: Option<&AtomicU64>) -> Result<f64> {
        let timer = Timer::start();
        let work = || -> io::Result<u64> {
            let mut reads = RandomReads::new(self, size);
            let mut count = 0;
            // At least one read: the slice may be over before a thread runs.
            while count == 0 || timer.elapsed_s() < slice_s {
                match in_order {
                    Some(next) => reads.read_at(next.fetch_add(1, Ordering::Relaxed))?,
                    None => reads.read()?,
                }
                count += 1;
            }
            Ok(count)
        };
        let total = std::thread::scope(|scope| {
            let started: io::Result<Vec<_>> =
                (0..threads).map(|_| spawn_helper(scope, "ogive-measure", work)).collect();
            let workers = started?;
            workers.into_iter().try_fold(0, |total, worker| match worker.join() {
                Ok(count) => count.map(|count| total + count),
                Err(panic) => std::panic::resume_unwind(panic),
            })
        });
        let total = total.map_err(|source| Error::io("read", &self.path, source))?;
        Ok(total as f64 / timer.elapsed_s())
    }
}

/// Reads of one size at random multiples of it.
struct RandomReads<'a> {
    file: &'a ScratchFile,
    size: usize,
    buffer: LargeBuffer,
    places: XorShift,
}

impl<'a> RandomReads<'a> {
    fn new(file: &'a ScratchFile, size: usize) -> Self {
        let mut buffer = LargeBuffer::default();
        // Long reads are those of scans, which have such buffers.
        match size >= LONG_READ_BYTES_MIN {
            true => buffer.make_room(size.max(LARGE_PAGE_BYTES), 0, true),
            false => buffer.make_room(size, 0, false),
        }
        Self { file, size, buffer, places: XorShift::new() }
    }

    fn read(&mut self) -> io::Result<()> {
        let place = self.places.next();
        self.read_at(place)
    }

    /// Reads at a multiple of the size, counted around the file.
    fn read_at(&mut self, place: u64) -> io::Result<()> {
        let place = place % (self.file.length_bytes / self.size as u64).max(1);
        let buffer = &mut self.buffer[..self.size];
        // The buffer is aligned already, so the read goes directly into it.
        let mut unused = AlignedBuffer::default();
        let alignment = self.size.min(ALIGNMENT);
        read_aligned(&self.file.reader, &mut unused, buffer, place * self.size as u64, alignment)
    }
}

/// A fast random number generator (Marsaglia's xorshift64, randomly seeded).
struct XorShift(u64);

impl XorShift {
    fn new() -> Self {
        Self(random_u64() | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_served_at_once_follow_from_throughput_and_time() {
        let point = MeasuredPoint {
            size_bytes: 4096,
            time_us: 120.0,
            median_us: 100.0,
            p90_us: None,
            p99_us: 200.0,
            p999_us: None,
            reads: 9,
        };
        let levels = |best| {
            [(1, 5_000.0), (2, 20_000.0), (4, best)]
                .map(|(in_flight, requests_per_s)| MeasuredLevel { in_flight, requests_per_s })
        };
        assert_eq!(parallel(&[point], &levels(78_000.0)), 8);
        assert_eq!(parallel(&[], &levels(78_000.0)), 16);
        assert_eq!(parallel(&[point], &levels(1e9)), 64);
        assert_eq!(parallel(&[], &[]), 1);
    }
}
