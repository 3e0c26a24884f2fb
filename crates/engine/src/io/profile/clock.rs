//! The clock and the random source of the machine.

use super::boot::{SinceBoot, since_boot};
use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Instant, SystemTime};

/// A monotonic stopwatch, used for all real-time measurements.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    start: Instant,
}

impl Timer {
    /// Starts a timer.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Microseconds since the start.
    pub fn elapsed_us(&self) -> f64 {
        self.start.elapsed().as_nanos() as f64 / 1e3
    }

    /// Seconds since the start.
    pub fn elapsed_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

thread_local! {
    static DRAWN: Cell<Option<u64>> = const { Cell::new(None) };
    static TIME_S: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Seconds since the start of 1970, by the clock of the machine, which may be wrong.
pub(crate) fn unix_time_s() -> u64 {
    unix_time_ms() / 1000
}

/// As `unix_time_s`, in milliseconds.
pub fn unix_time_ms() -> u64 {
    let elapsed = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let stopped_ms = TIME_S.get().map(|time_s| time_s.saturating_mul(1000));
    stopped_ms.unwrap_or_else(|| elapsed().map_or(0, |elapsed| elapsed.as_millis() as u64))
}

/// What has passed since the machine was started, if it is known; not while a test has stopped the clock of the thread.
pub(super) fn time_since_boot() -> Option<SinceBoot> {
    if TIME_S.get().is_some() { None } else { since_boot() }
}

/// Stops the clock of `unix_time_s` on this thread at a time, so that a test can let time pass; `None` starts it
/// again.
pub fn set_unix_time_s(time_s: Option<u64>) {
    TIME_S.set(time_s);
}

/// Makes [`random_u64`] deterministic on this thread, with the sequence of `seed`, so that a test can repeat a run
/// exactly; `None` makes it random again.
pub fn seed_random(seed: Option<u64>) {
    DRAWN.set(seed);
}

/// A random number that differs between calls and runs; not for cryptography.
pub fn random_u64() -> u64 {
    if let Some(drawn) = DRAWN.get() {
        // SplitMix64.
        let next = drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
        DRAWN.set(Some(next));
        let mixed = (next ^ next >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        return mixed ^ mixed >> 31;
    }
    // Each `RandomState` has its own keys, seeded by the operating system.
    RandomState::new().build_hasher().finish()
}

/// Number of threads that this machine runs in parallel; 1 if unknown.
pub fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
