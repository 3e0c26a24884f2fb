//! The crash enumerator: tries every point at which power can be lost.

use crate::disk::SimulatedDisk;
use crate::image::Survival;
use crate::random::Random;
use crate::repeat::Repeat;
use std::fmt;

/// The thoroughness of [`enumerate_crashes`].
#[derive(Clone, Copy, Debug)]
pub struct CrashOptions {
    /// Random images for each point, half of them prefixes and half subsets, beside the four fixed ones.
    pub random_images: u32,
    /// Interval between the points tried; 1 tries all of them.
    pub stride: u64,
    /// Seed of the random images.
    pub seed: u64,
}

impl Default for CrashOptions {
    fn default() -> Self {
        Self { random_images: 8, stride: 1, seed: 1 }
    }
}

/// One moment and one way of losing power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrashPoint {
    /// The mutating call that failed, counted from 0; when `completed`, the number of calls that there were.
    pub call: u64,
    /// The unsynced changes that survived.
    pub survival: Survival,
    /// Whether the work had come to its end before the power went.
    pub completed: bool,
}

/// The extent of an enumeration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrashReport {
    /// Simulated power losses, including one after the end.
    pub points: u64,
    /// Disks that were checked.
    pub images: u64,
}

/// A disk that the checker refused: how to get it again, and what was wrong with it.
#[derive(Clone, Debug)]
pub struct CrashFailure {
    /// The moment and the way.
    pub point: CrashPoint,
    /// The checker's words.
    pub detail: String,
}

impl fmt::Display for CrashFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "after {:?}: {}", self.point, self.detail)
    }
}

impl std::error::Error for CrashFailure {}

/// Runs `work` on a copy of `start` once for each of its mutating calls, with the power gone at that call, and shows
/// `check` the disks that may be found afterwards; at last once to its end. What `work` returns (what was acknowledged,
/// say) is handed to `check`.
///
/// For a crash in recovery, `check` can itself enumerate the crashes of recovering the disk that it is shown.
///
/// # Errors
/// The first disk that `check` refuses.
pub fn enumerate_crashes<T>(
    options: CrashOptions,
    start: &SimulatedDisk,
    mut work: impl FnMut(&SimulatedDisk) -> T,
    mut check: impl FnMut(&T, &SimulatedDisk, &CrashPoint) -> Result<(), String>,
) -> Result<CrashReport, CrashFailure> {
    let mut report = CrashReport::default();
    let mut stop = 0;
    loop {
        let disk = start.fork();
        disk.stop_at(stop);
        let outcome = work(&disk);
        let completed = !disk.is_stopped();
        let call = if completed { disk.mutating_calls() } else { stop };
        report.points += 1;
        for survival in survivals(options, call) {
            report.images += 1;
            let point = CrashPoint { call, survival, completed };
            check(&outcome, &disk.crash(survival), &point).map_err(|detail| CrashFailure { point, detail })?;
        }
        if completed {
            return Ok(report);
        }
        stop += options.stride.max(1);
    }
}

/// Runs [`enumerate_crashes`] on an empty disk for each of these seeds of a test binary, with two random images at each
/// point.
///
/// # Panics
/// When `check` refuses a disk.
#[expect(clippy::panic, reason = "a test fails by panicking")]
pub fn check_crashes<T>(
    binary: &str,
    seeds: impl IntoIterator<Item = u64>,
    mut work: impl FnMut(&SimulatedDisk, u64) -> T,
    mut check: impl FnMut(&T, &SimulatedDisk) -> Result<(), String>,
) {
    for seed in seeds {
        let _repeat = Repeat::new(binary, seed);
        let options = CrashOptions { random_images: 2, stride: 1, seed };
        let start = SimulatedDisk::new();
        let outcome = enumerate_crashes(options, &start, |disk| work(disk, seed), |done, disk, _| check(done, disk));
        if let Err(failure) = outcome {
            panic!("seed {seed}: {failure}");
        }
    }
}

fn survivals(options: CrashOptions, call: u64) -> impl Iterator<Item = Survival> {
    let mut random = Random::new(options.seed.wrapping_mul(0x1_0000_0001).wrapping_add(call));
    let drawn = (0..options.random_images).map(move |image| {
        let seed = random.next_u64();
        if image % 2 == 0 { Survival::Subset(seed) } else { Survival::Prefix(seed) }
    });
    [Survival::Nothing, Survival::Everything, Survival::NamesOnly, Survival::WritesOnly].into_iter().chain(drawn)
}
