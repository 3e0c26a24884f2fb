//! The measurement of an object store: T(n), and the number of requests served at once.

use ogive::io::{PendingReads, Profile, ProfilePoint, Purpose, RangeRequest, ReadableFile, Storage, Timer, random_u64};
use ogive::{Error, Result};
use std::sync::Arc;

/// Sizes of the reads that are timed: powers of two, as exponents.
const SIZE_BITS: [u32; 8] = [10, 14, 16, 18, 20, 21, 22, 23];
/// Size of the object in bytes: that of the largest read, and the end that its opening request brings.
const OBJECT_BYTES: u64 = 12 << 20;
/// Reads lie before the end of the object, which the opening request brings.
const READ_END: u64 = 8 << 20;
/// Numbers of requests in flight, of small reads.
const LEVELS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
const LEVEL_READ_BYTES: u64 = 4096;
/// A level is better if it serves this many times the requests of the best so far.
const LEVEL_GAIN: f64 = 1.15;
/// Rounds of a measurement.
const ROUNDS: (usize, usize) = (3, 200);

/// Limits of a measurement.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ObjectMeasureOptions {
    /// Seconds after which no further requests are started; slow stores take somewhat longer.
    pub time_s: f64,
}

impl Default for ObjectMeasureOptions {
    fn default() -> Self {
        Self { time_s: 14.0 }
    }
}

impl ObjectMeasureOptions {
    /// Sets the seconds after which no further requests are started.
    #[must_use]
    pub fn time_s(self, time_s: f64) -> Self {
        Self { time_s }
    }
}

/// Measures the store behind a folder with an object of its own, which is removed afterwards: the median time to read
/// 1 KiB to 8 MiB, and the throughput of 1 to 64 small requests in flight. The profile is named `name`. `progress`
/// receives the number of steps done and in total.
///
/// # Errors
/// [`Cause::Input`](ogive::Cause::Input) for a time that is not a positive number; errors of the store.
pub fn measure_objects(
    storage: &Arc<dyn Storage>,
    name: &str,
    options: &ObjectMeasureOptions,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Profile> {
    let time_s = options.time_s;
    if !(time_s > 0.0 && time_s.is_finite()) {
        return Err(Error::input(format!("a measurement cannot take {time_s} seconds; give more than 0")));
    }
    let steps = (1 + SIZE_BITS.len() + LEVELS.len()) as u64;
    progress(0, steps);
    let scratch = ScratchObject::write(storage)?;
    let file = storage.open(&scratch.name)?;
    progress(1, steps);
    let (mut points, mut done) = (Vec::<ProfilePoint>::new(), 1);
    for bits in SIZE_BITS {
        let mut times_us = rounds_us(&*file, 1 << bits, 1, time_s / 2.0 / SIZE_BITS.len() as f64)?;
        times_us.sort_by(f64::total_cmp);
        let before = points.last().map_or(1.0, |point| point.time_us);
        points.push(ProfilePoint { size_bytes: 1 << bits, time_us: times_us[times_us.len() / 2].max(before) });
        done += 1;
        progress(done, steps);
    }
    let (mut parallel, mut best) = (1, 0.0);
    for level in LEVELS {
        let times_us = rounds_us(&*file, LEVEL_READ_BYTES, level, time_s / 2.0 / LEVELS.len() as f64)?;
        let requests_per_us = f64::from(level) * times_us.len() as f64 / times_us.iter().sum::<f64>();
        if requests_per_us > LEVEL_GAIN * best {
            (parallel, best) = (level, requests_per_us);
        }
        done += 1;
        progress(done, steps);
    }
    scratch.remove()?;
    Profile::from_points(name, points, parallel)
}

/// The object of a measurement, removed at its end.
struct ScratchObject {
    storage: Arc<dyn Storage>,
    name: String,
    is_removed: bool,
}

impl ScratchObject {
    fn write(storage: &Arc<dyn Storage>) -> Result<Self> {
        let name = format!("ogive-profile-{:016x}.tmp", random_u64());
        let content: Vec<u8> = (0..OBJECT_BYTES / 8).flat_map(|_| random_u64().to_le_bytes()).collect();
        storage.put_if_absent(&name, &content)?;
        Ok(Self { storage: Arc::clone(storage), name, is_removed: false })
    }

    fn remove(mut self) -> Result<()> {
        self.is_removed = true;
        self.storage.remove(&self.name)
    }
}

impl Drop for ScratchObject {
    fn drop(&mut self) {
        if !self.is_removed {
            // After a failure, which says more.
            _ = self.storage.remove(&self.name);
        }
    }
}

/// The times of rounds of reads at random places, each begun at once and waited for together.
fn rounds_us(file: &dyn ReadableFile, bytes: u64, in_flight: u32, time_s: f64) -> Result<Vec<f64>> {
    let (mut times_us, total) = (Vec::new(), Timer::start());
    while times_us.len() < ROUNDS.0 || (total.elapsed_us() < time_s * 1e6 && times_us.len() < ROUNDS.1) {
        let round = Timer::start();
        let start = |_| {
            let offset = random_u64() % (READ_END / bytes) * bytes;
            // A purpose for which no cache is asked.
            file.start_reads(&[RangeRequest { offset, bytes: bytes as usize, purpose: Purpose::Walk }])
        };
        let started: Vec<Box<dyn PendingReads>> = (0..in_flight).map(start).collect::<Result<_>>()?;
        for reads in started {
            reads.wait()?;
        }
        times_us.push(round.elapsed_us().max(0.001));
    }
    Ok(times_us)
}
