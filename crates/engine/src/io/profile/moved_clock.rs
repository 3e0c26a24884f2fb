//! The clocks that a store tells the time by: those of the machine, or ones that a test moves.

use super::boot::SinceBoot;
use super::clock::{Timer, time_since_boot, unix_time_ms};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The time of day, which jumps when it is set, and the time that has passed, which does not.
#[derive(Clone, Debug)]
pub struct Clock {
    started: Timer,
    moved: Option<Arc<MovedTimes>>,
}

#[derive(Debug)]
struct MovedTimes {
    unix_ms: AtomicU64,
    passed_ms: AtomicU64,
    /// How often the machine was started.
    boot: AtomicU64,
}

impl Default for Clock {
    fn default() -> Self {
        Self { started: Timer::start(), moved: None }
    }
}

impl Clock {
    /// A clock that stands still until it is moved; its clones move with it.
    pub fn moved_by_hand(unix_ms: u64) -> Self {
        let moved =
            MovedTimes { unix_ms: AtomicU64::new(unix_ms), passed_ms: AtomicU64::new(0), boot: AtomicU64::new(1) };
        Self { moved: Some(Arc::new(moved)), ..Self::default() }
    }

    /// Milliseconds since the start of 1970, by the time of day.
    pub fn unix_ms(&self) -> u64 {
        self.moved.as_ref().map_or_else(unix_time_ms, |moved| moved.unix_ms.load(Ordering::SeqCst))
    }

    /// Milliseconds that have passed since some time.
    pub fn passed_ms(&self) -> u64 {
        let passed = |moved: &Arc<MovedTimes>| moved.passed_ms.load(Ordering::SeqCst);
        self.moved.as_ref().map_or_else(|| (self.started.elapsed_us() / 1e3) as u64, passed)
    }

    /// What has passed since the machine was started, if that is known.
    pub(crate) fn since_boot(&self) -> Option<SinceBoot> {
        let since = |moved: &Arc<MovedTimes>| {
            let boot = moved.boot.load(Ordering::SeqCst);
            Some(SinceBoot { boot, ms: moved.passed_ms.load(Ordering::SeqCst) })
        };
        self.moved.as_ref().map_or_else(time_since_boot, since)
    }

    /// Starts the machine again, if the clock is moved by hand: nothing tells how long it was off.
    pub fn restart(&self) {
        if let Some(moved) = &self.moved {
            moved.boot.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Lets time pass, by both clocks, if they are moved by hand.
    pub fn pass(&self, ms: u64) {
        if let Some(moved) = &self.moved {
            moved.passed_ms.fetch_add(ms, Ordering::SeqCst);
            moved.unix_ms.fetch_add(ms, Ordering::SeqCst);
        }
    }

    /// Sets the time of day alone, if it is moved by hand.
    pub fn set_unix_ms(&self, unix_ms: u64) {
        if let Some(moved) = &self.moved {
            moved.unix_ms.store(unix_ms, Ordering::SeqCst);
        }
    }
}
