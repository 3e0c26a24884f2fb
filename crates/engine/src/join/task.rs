//! The context of one join, shared by its threads: memory budget, clock, counters and stop flag.

use super::options::{JoinKind, JoinOptions, JoinProgress, MEMORY_BYTES_MIN, Phase, Watcher};
use super::report::{JoinReport, Seconds};
use crate::error::{Error, Result};
use crate::io::{FastPaths, Profile, Timer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A scan has room for so many records at least: one as it comes, its copy among others, and what that grows into.
pub(crate) const RECORD_PART: u64 = 4;

/// A limit of memory that is given out in shares. Clones give out of the same limit.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<Tally>);

#[derive(Debug)]
struct Tally {
    limit_bytes: u64,
    taken_bytes: AtomicU64,
    peak_bytes: AtomicU64,
}

impl Budget {
    /// # Errors
    /// [`Error::InvalidArgument`] for a limit below [`MEMORY_BYTES_MIN`].
    pub(crate) fn new(limit_bytes: u64) -> Result<Self> {
        if limit_bytes < MEMORY_BYTES_MIN {
            return Err(Error::InvalidArgument(format!(
                "a join needs at least {MEMORY_BYTES_MIN} bytes of memory; {limit_bytes} are too few"
            )));
        }
        Ok(Self(Arc::new(Tally { limit_bytes, taken_bytes: AtomicU64::new(0), peak_bytes: AtomicU64::new(0) })))
    }

    /// A share; `what` names in the error what it is for.
    ///
    /// # Errors
    /// [`Error::JoinMemoryShort`] where so much is not left.
    pub(crate) fn take(&self, bytes: u64, what: &str) -> Result<Share> {
        self.try_take(bytes).ok_or_else(|| {
            let left = self.left_bytes();
            let what = format!("{what} of this join takes {bytes} bytes of memory, and {left} of its limit are left");
            self.raised(self.0.limit_bytes.saturating_add(bytes.saturating_sub(left)), what)
        })
    }

    /// The error for a part of the limit that has `part_bytes`, where `bytes` are needed: the limit grows as its part must.
    pub(crate) fn short(&self, (bytes, part_bytes): (u64, u64), what: impl Into<String>) -> Error {
        let grown = u128::from(self.0.limit_bytes) * u128::from(bytes) / u128::from(part_bytes.max(1));
        self.raised(u64::try_from(grown).unwrap_or(u64::MAX), what.into())
    }

    /// The error that asks for so much at least. What is needed may grow with the limit, too: half as much again ends in a few raises,
    /// whatever it is.
    fn raised(&self, least_bytes: u64, what: String) -> Error {
        let given_bytes = self.0.limit_bytes;
        let needed_bytes = least_bytes.max(given_bytes.saturating_add(given_bytes / 2)).max(given_bytes + 1);
        Error::JoinMemoryShort { what, needed_bytes, given_bytes }
    }

    /// A share; `None` where so much is not left.
    pub(crate) fn try_take(&self, bytes: u64) -> Option<Share> {
        let mut share = Share { budget: self.clone(), bytes: 0 };
        share.try_grow(bytes).then_some(share)
    }

    /// Bytes that are not given out.
    pub(crate) fn left_bytes(&self) -> u64 {
        self.0.limit_bytes.saturating_sub(self.0.taken_bytes.load(Ordering::Relaxed))
    }

    pub(crate) fn limit_bytes(&self) -> u64 {
        self.0.limit_bytes
    }

    /// Most that was given out at one time.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.0.peak_bytes.load(Ordering::Relaxed)
    }
}

/// A share of a [`Budget`], given back when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    bytes: u64,
}

impl Share {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The limit that this is a share of.
    pub(crate) fn limit_bytes(&self) -> u64 {
        self.budget.limit_bytes()
    }

    /// As [`Budget::short`], of what this is a share of.
    pub(crate) fn short(&self, (bytes, part_bytes): (u64, u64), what: impl Into<String>) -> Error {
        self.budget.short((bytes, part_bytes), what)
    }

    /// Sees to it that a scan whose share this is can read a record of so many bytes of the relation `name`.
    ///
    /// # Errors
    /// [`Error::JoinMemoryShort`] where so much is not left.
    pub(crate) fn hold_record(&mut self, bytes: u64, name: &str) -> Result<()> {
        let more = bytes.saturating_mul(RECORD_PART).saturating_sub(self.bytes);
        if more == 0 || self.try_grow(more) {
            return Ok(());
        }
        let (left, limit_bytes) = (self.budget.left_bytes(), self.limit_bytes());
        let what = format!(
            "a record of {name} has {bytes} bytes, reading it takes {more} bytes of memory more, and {left} of this join's are left"
        );
        // Other parts of the join grow with its limit.
        let missing = more - left.min(more);
        Err(self.short((limit_bytes.saturating_mul(2).saturating_add(missing.saturating_mul(4)), limit_bytes), what))
    }

    /// Takes so many bytes more, if they are left.
    pub(crate) fn try_grow(&mut self, bytes: u64) -> bool {
        let Tally { limit_bytes, taken_bytes, peak_bytes } = &*self.budget.0;
        let more = |taken: u64| taken.checked_add(bytes).filter(|taken| taken <= limit_bytes);
        let Ok(before) = taken_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) else { return false };
        peak_bytes.fetch_max(before + bytes, Ordering::Relaxed);
        self.bytes += bytes;
        true
    }

    /// Gives back all but so many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: u64) {
        let back = self.bytes.saturating_sub(bytes);
        self.budget.0.taken_bytes.fetch_sub(back, Ordering::Relaxed);
        self.bytes -= back;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

/// What time is spent on, apart from joining itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spent {
    Planning,
    Loading,
    /// A joining thread waited for data.
    Reading,
    /// A joining thread waited for the writer, or the output was completed.
    Writing,
}

/// One join at work; shared by its threads.
pub(crate) struct Task {
    pub(crate) kind: JoinKind,
    pub(crate) budget: Budget,
    pub(crate) profile: Profile,
    pub(crate) fast_paths: FastPaths,
    stop: Option<Arc<AtomicBool>>,
    watcher: Option<Watcher>,
    timer: Timer,
    /// Nanoseconds by [`Spent`].
    spent_ns: [AtomicU64; 4],
    requests: AtomicU64,
    bytes_read: AtomicU64,
}

impl std::fmt::Debug for Task {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Task").field("kind", &self.kind).field("budget", &self.budget).finish_non_exhaustive()
    }
}

impl Task {
    /// Starts the clock.
    ///
    /// # Errors
    /// As [`Budget::new`].
    pub(crate) fn new(options: &JoinOptions) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            kind: options.kind,
            budget: Budget::new(options.memory_bytes)?,
            profile: options.profile.clone(),
            fast_paths: options.fast_paths,
            stop: options.stop.clone(),
            watcher: options.watcher.clone(),
            timer: Timer::start(),
            spent_ns: Default::default(),
            requests: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
        }))
    }

    /// # Errors
    /// [`Error::Interrupted`] once somebody has asked to stop. To be called at every chunk.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }

    /// Tells whoever watches.
    pub(crate) fn report(&self, phase: Phase, done: u64, total: u64) {
        if let Some(watcher) = &self.watcher {
            watcher(JoinProgress { phase, done, total });
        }
    }

    /// Does work whose time counts as spent on something.
    pub(crate) fn spend<T>(&self, on: Spent, work: impl FnOnce() -> T) -> T {
        let timer = Timer::start();
        let outcome = work();
        self.spent_ns[on as usize].fetch_add((timer.elapsed_us() * 1e3) as u64, Ordering::Relaxed);
        outcome
    }

    /// Counts time that was spent on something, in microseconds.
    pub(crate) fn count_spent(&self, on: Spent, us: f64) {
        self.spent_ns[on as usize].fetch_add((us * 1e3) as u64, Ordering::Relaxed);
    }

    /// Counts requests that were made.
    pub(crate) fn count_reads(&self, requests: u64, bytes: u64) {
        self.requests.fetch_add(requests, Ordering::Relaxed);
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Completes a report.
    pub(crate) fn complete(&self, report: &mut JoinReport) {
        let seconds = |on: Spent| self.spent_ns[on as usize].load(Ordering::Relaxed) as f64 / 1e9;
        let [planning, loading, reading, writing] =
            [Spent::Planning, Spent::Loading, Spent::Reading, Spent::Writing].map(seconds);
        let joining = (self.timer.elapsed_s() - planning - loading - reading - writing).max(0.0);
        report.seconds = Seconds { planning, loading, reading, joining, writing };
        report.requests = self.requests.load(Ordering::Relaxed);
        report.bytes_read = self.bytes_read.load(Ordering::Relaxed);
        report.peak_memory_bytes = self.budget.peak_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_never_exceed_the_limit_and_come_back() {
        let budget = Budget::new(MEMORY_BYTES_MIN).unwrap();
        let mut first = budget.take(1000, "a buffer").unwrap();
        assert!(budget.try_take(MEMORY_BYTES_MIN - 999).is_none());
        assert!(first.try_grow(MEMORY_BYTES_MIN - 1000));
        assert_eq!(budget.left_bytes(), 0);
        first.shrink_to(10);
        assert_eq!((first.bytes(), budget.left_bytes()), (10, MEMORY_BYTES_MIN - 10));
        assert!(matches!(budget.take(MEMORY_BYTES_MIN, "a buffer"), Err(Error::JoinMemoryShort { .. })));
        drop(first);
        assert_eq!((budget.left_bytes(), budget.peak_bytes()), (MEMORY_BYTES_MIN, MEMORY_BYTES_MIN));
        assert!(matches!(Budget::new(MEMORY_BYTES_MIN - 1), Err(Error::InvalidArgument(_))));
    }
}
