//! The context of one join, shared by its threads: memory budget, clock, counters and stop flag.

use super::options::{JoinKind, JoinPhase, JoinProgress, JoinWatcher};
use super::read_lanes::{ReadLanes, StartedRead};
use crate::error::{Advice, Cause, Error, Result, Setting, VALUE_BYTES_MAX};
use crate::io::{FastPaths, Profile, Timer};
use crate::types::NullTest;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The smallest memory limit of a join, in bytes: below it, buffers would be shorter than a few blocks.
pub(crate) const MEMORY_BYTES_MIN: u64 = 1 << 20;

/// A scan has memory for at least this many copies of a record: one as read, its copy among others, and room for
/// growth.
pub(crate) const RECORD_COPIES_MIN: u64 = 4;

/// A limit of this many times the longest row has room for it in each part of a join: in scans, sorts, groups of rows
/// with one key, and the writer.
const ROW_SHARE: u64 = 28;

/// A part that holds rows of one key has memory for this many copies of a row.
const ROW_COPIES: u64 = 3;

/// A memory limit from which grants are taken. Clones share the limit.
#[derive(Clone, Debug)]
pub(crate) struct MemoryBudget(Arc<MemoryUse>);

#[derive(Debug)]
struct MemoryUse {
    limit_bytes: u64,
    taken_bytes: AtomicU64,
    peak_bytes: AtomicU64,
    /// The longest row of the output, if it is known.
    row_bytes: Option<u64>,
    /// The longest record for which memory was short.
    record_bytes: AtomicU64,
}

impl MemoryBudget {
    /// A limit for a join whose longest row is known or not.
    ///
    /// # Errors
    /// [`Cause::Input`] for a limit below [`MEMORY_BYTES_MIN`].
    pub(crate) fn new(limit_bytes: u64, row_bytes: Option<u64>) -> Result<Self> {
        if limit_bytes < MEMORY_BYTES_MIN {
            return Err(Error::input(format!(
                "a join needs at least {MEMORY_BYTES_MIN} bytes of memory, and has {limit_bytes}"
            ))
            .advise(Advice::Raise { option: Setting::JoinMemory, to: Some(MEMORY_BYTES_MIN) }));
        }
        Ok(Self(Arc::new(MemoryUse {
            limit_bytes,
            taken_bytes: AtomicU64::new(0),
            peak_bytes: AtomicU64::new(0),
            row_bytes,
            record_bytes: AtomicU64::new(0),
        })))
    }

    /// The error for a record of this length asks for room for rows with such records of both inputs.
    fn note_record(&self, bytes: u64) {
        self.0.record_bytes.fetch_max(bytes, Ordering::Relaxed);
    }

    /// The longest row, as far as it is known.
    fn row_bytes(&self) -> u64 {
        let of_records = || self.0.record_bytes.load(Ordering::Relaxed).saturating_mul(2);
        self.0.row_bytes.unwrap_or_else(of_records)
    }

    /// Takes a grant; `what` names its purpose in errors.
    ///
    /// # Errors
    /// [`Cause::JoinMemory`] if fewer bytes are left.
    pub(crate) fn take(&self, bytes: u64, what: &str) -> Result<MemoryGrant> {
        self.try_take(bytes).ok_or_else(|| {
            let left = self.left_bytes();
            let what =
                format!("{what} of this join takes {bytes} bytes of memory, and {left} bytes of its limit are left");
            self.raised(self.0.limit_bytes.saturating_add(bytes.saturating_sub(left)), what)
        })
    }

    /// The error for a part of the limit that has `part_bytes` but needs `bytes`: the limit must grow in proportion.
    pub(crate) fn short(&self, (bytes, part_bytes): (u64, u64), what: impl Into<String>) -> Error {
        let grown = u128::from(self.0.limit_bytes) * u128::from(bytes) / u128::from(part_bytes.max(1));
        self.raised(u64::try_from(grown).unwrap_or(u64::MAX), what.into())
    }

    /// The error of a sort within this memory: that of a record which is too long for its part names the limit.
    pub(crate) fn sort_error(&self, error: Error) -> Error {
        match error {
            Error { cause: Cause::ValueTooLarge { length, limit }, .. } if limit < VALUE_BYTES_MAX => {
                let what =
                    format!("a row has {length} bytes, and the memory that this join has for sorting takes {limit}");
                self.note_record(length);
                self.short((length, limit), what)
            }
            error => error,
        }
    }

    /// The error that asks for a limit of at least `least_bytes`. The need may grow with the limit, so it asks for at
    /// least half as much again: a few retries then suffice.
    fn raised(&self, least_bytes: u64, what: String) -> Error {
        let given_bytes = self.0.limit_bytes;
        let grown_bytes = given_bytes.saturating_add(given_bytes / 2).max(given_bytes + 1);
        let needed_bytes = least_bytes.max(grown_bytes).max(self.row_bytes().saturating_mul(ROW_SHARE));
        Error::join_memory(what, needed_bytes, given_bytes)
    }

    /// A grant of nothing, which can grow.
    pub(crate) fn empty_grant(&self) -> MemoryGrant {
        MemoryGrant { budget: self.clone(), bytes: 0 }
    }

    /// Takes a grant; `None` if fewer bytes are left.
    pub(crate) fn try_take(&self, bytes: u64) -> Option<MemoryGrant> {
        let mut grant = self.empty_grant();
        grant.try_grow(bytes).then_some(grant)
    }

    /// Bytes not granted.
    pub(crate) fn left_bytes(&self) -> u64 {
        self.0.limit_bytes.saturating_sub(self.0.taken_bytes.load(Ordering::Relaxed))
    }

    pub(crate) fn limit_bytes(&self) -> u64 {
        self.0.limit_bytes
    }

    /// Peak of the granted bytes.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.0.peak_bytes.load(Ordering::Relaxed)
    }
}

/// A part of the memory of a join, returned to it on drop.
#[derive(Debug)]
pub struct MemoryGrant {
    budget: MemoryBudget,
    bytes: u64,
}

impl MemoryGrant {
    /// Its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The limit of the budget.
    pub(crate) fn limit_bytes(&self) -> u64 {
        self.budget.limit_bytes()
    }

    /// The error [`Cause::JoinMemory`] for a part of this memory that has `part_bytes` but needs `bytes`: the
    /// limit of the join must grow in proportion. `what` says so in words.
    #[must_use]
    pub fn short(&self, (bytes, part_bytes): (u64, u64), what: impl Into<String>) -> Error {
        self.budget.short((bytes, part_bytes), what)
    }

    /// As [`Self::short`], for a part of `part_bytes` that does not hold a row: it is to hold the longest one, as far
    /// as that is known, with room for growth.
    pub(crate) fn short_of_row(&self, part_bytes: u64, what: impl Into<String>) -> Error {
        let bytes = self.budget.row_bytes().saturating_mul(ROW_COPIES).max(part_bytes.saturating_mul(2));
        self.budget.short((bytes, part_bytes), what)
    }

    /// Ensures that the scan with this grant can read a record of `bytes` of the relation `name`.
    ///
    /// # Errors
    /// [`Cause::JoinMemory`] if less is left.
    pub(crate) fn hold_record(&mut self, bytes: u64, name: &str) -> Result<()> {
        self.grow_for_record(bytes.saturating_mul(RECORD_COPIES_MIN).saturating_sub(self.bytes), bytes, name)
    }

    /// Takes `more` bytes for a record of `bytes` of the relation `name`.
    ///
    /// # Errors
    /// [`Cause::JoinMemory`] if less is left.
    pub(crate) fn grow_for_record(&mut self, more: u64, bytes: u64, name: &str) -> Result<()> {
        if more == 0 || self.try_grow(more) {
            return Ok(());
        }
        self.budget.note_record(bytes);
        let (left, limit_bytes) = (self.budget.left_bytes(), self.limit_bytes());
        let what = format!(
            "a record of {name} has {bytes} bytes, reading it takes {more} more bytes of memory, and {left} bytes of \
             this join's limit are left"
        );
        // Other parts of the join grow with the limit as well.
        let missing = more - left.min(more);
        Err(self.short((limit_bytes.saturating_mul(2).saturating_add(missing.saturating_mul(4)), limit_bytes), what))
    }

    /// Takes more bytes, if they are left.
    #[must_use]
    pub fn try_grow(&mut self, bytes: u64) -> bool {
        let MemoryUse { limit_bytes, taken_bytes, peak_bytes, .. } = &*self.budget.0;
        let more = |taken: u64| taken.checked_add(bytes).filter(|taken| taken <= limit_bytes);
        let Ok(before) = taken_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) else { return false };
        peak_bytes.fetch_max(before + bytes, Ordering::Relaxed);
        self.bytes += bytes;
        true
    }

    /// Returns all but `bytes`.
    pub fn shrink_to(&mut self, bytes: u64) {
        let back = self.bytes.saturating_sub(bytes);
        self.budget.0.taken_bytes.fetch_sub(back, Ordering::Relaxed);
        self.bytes -= back;
    }
}

impl Drop for MemoryGrant {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

/// Phases that are timed; the rest of the time counts as joining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimedPhase {
    Planning,
    Loading,
    /// A joining thread waits for data.
    Reading,
    /// A joining thread waits for the writer, or the output is completed.
    Writing,
}

/// What a join is run with, as far as its context must know.
pub(crate) struct TaskSettings {
    pub(crate) kind: JoinKind,
    /// The memory limit, in bytes.
    pub(crate) memory_bytes: u64,
    /// The longest row of the output, in bytes, if it is known.
    pub(crate) row_bytes: Option<u64>,
    pub(crate) profile: Profile,
    pub(crate) fast_paths: FastPaths,
    pub(crate) null_test: Option<NullTest>,
    /// The join stops once one of them is set.
    pub(crate) stops: [Option<Arc<AtomicBool>>; 2],
    pub(crate) watcher: Option<JoinWatcher>,
}

/// The measurements of a join so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskCounts {
    /// Seconds by phase; all together are the time since the start of the clock.
    pub(crate) planning_s: f64,
    pub(crate) loading_s: f64,
    pub(crate) reading_s: f64,
    pub(crate) joining_s: f64,
    pub(crate) writing_s: f64,
    /// Read requests, and the bytes that they read.
    pub(crate) requests: u64,
    pub(crate) bytes_read: u64,
    pub(crate) peak_memory_bytes: u64,
}

/// The context of a running join, shared by its threads.
pub(crate) struct Task {
    pub(crate) kind: JoinKind,
    pub(crate) budget: MemoryBudget,
    pub(crate) profile: Profile,
    pub(crate) fast_paths: FastPaths,
    /// The test for keys with nulls, which match no key, if there may be any.
    pub(crate) null_test: Option<NullTest>,
    stops: [Option<Arc<AtomicBool>>; 2],
    watcher: Option<JoinWatcher>,
    timer: Timer,
    /// Nanoseconds by [`TimedPhase`].
    phase_ns: [AtomicU64; 4],
    requests: AtomicU64,
    bytes_read: AtomicU64,
    lanes: ReadLanes,
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
    /// As [`MemoryBudget::new`].
    pub(crate) fn new(settings: impl Into<TaskSettings>) -> Result<Arc<Self>> {
        let TaskSettings { kind, memory_bytes, row_bytes, profile, fast_paths, null_test, stops, watcher } =
            settings.into();
        Ok(Arc::new(Self {
            kind,
            budget: MemoryBudget::new(memory_bytes, row_bytes)?,
            profile,
            fast_paths,
            null_test,
            stops,
            watcher,
            timer: Timer::start(),
            phase_ns: Default::default(),
            requests: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            lanes: ReadLanes::default(),
        }))
    }

    /// Whether a key has a null, so that it matches no key.
    #[inline]
    pub(crate) fn has_null(&self, key: &[u8]) -> bool {
        self.null_test.as_ref().is_some_and(|test| test.has_null(key))
    }

    /// # Errors
    /// [`Cause::Interrupted`] after a request to stop. Called for every chunk.
    pub(crate) fn check(&self) -> Result<()> {
        let is_stopped = self.stops.iter().flatten().any(|stop| stop.load(Ordering::Relaxed));
        if is_stopped { Err(Error::interrupted()) } else { Ok(()) }
    }

    /// Reports progress to the watcher.
    pub(crate) fn report(&self, phase: JoinPhase, done: u64, total: u64) {
        if let Some(watcher) = &self.watcher {
            watcher(JoinProgress { phase, done, total });
        }
    }

    /// Runs `work`, and adds its time to a phase.
    pub(crate) fn timed<T>(&self, on: TimedPhase, work: impl FnOnce() -> T) -> T {
        let timer = Timer::start();
        let outcome = work();
        self.phase_ns[on as usize].fetch_add((timer.elapsed_us() * 1e3) as u64, Ordering::Relaxed);
        outcome
    }

    /// Runs `work` on this many joining threads. Phases grow by the mean of their times, not by the sum.
    pub(crate) fn averaged<T>(&self, threads: usize, work: impl FnOnce() -> T) -> T {
        let before = self.phase_ns.each_ref().map(|phase| phase.load(Ordering::Relaxed));
        let outcome = work();
        for (phase, before) in self.phase_ns.iter().zip(before) {
            let grown = phase.load(Ordering::Relaxed) - before;
            phase.fetch_sub(grown - grown / threads.max(1) as u64, Ordering::Relaxed);
        }
        outcome
    }

    /// Adds time to a phase, in microseconds.
    pub(crate) fn add_time(&self, on: TimedPhase, us: f64) {
        self.phase_ns[on as usize].fetch_add((us * 1e3) as u64, Ordering::Relaxed);
    }

    /// Counts read requests and their bytes.
    pub(crate) fn count_reads(&self, requests: u64, bytes: u64) {
        self.requests.fetch_add(requests, Ordering::Relaxed);
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Whether several reads of one stream are in flight.
    pub(crate) fn has_lanes(&self) -> bool {
        self.fast_paths.prefetch && self.fast_paths.in_flight
    }

    /// Whether runs of a file are read ahead. Not through the page cache of a measured device: the kernel reads ahead,
    /// and with reads in flight joins took 0.9 to 1.4 of the time.
    pub(crate) fn reads_ahead(&self, is_direct: bool) -> bool {
        self.has_lanes() && (is_direct || self.profile.peak_mb_per_s().is_none())
    }

    /// Whether the long requests of one run are read in turn: other runs fill the device. If its peak is unknown, a run
    /// has to fill it by itself.
    pub(crate) fn reads_in_turn(&self) -> bool {
        self.has_lanes() && self.profile.peak_mb_per_s().is_some()
    }

    /// Starts a read of the file at `path` on a thread of the join, or leaves it to the caller that waits for it. The
    /// read must not hold this task, which waits for its threads when it ends.
    pub(in crate::join) fn start_read<T: Send + 'static>(
        &self,
        path: &Path,
        read: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> StartedRead<T> {
        match self.has_lanes() {
            true => self.lanes.start(path, read),
            false => StartedRead::later(path, read),
        }
    }

    /// The measurements so far.
    pub(crate) fn counts(&self) -> TaskCounts {
        let seconds = |on: TimedPhase| self.phase_ns[on as usize].load(Ordering::Relaxed) as f64 / 1e9;
        let [planning, loading, reading, writing] =
            [TimedPhase::Planning, TimedPhase::Loading, TimedPhase::Reading, TimedPhase::Writing].map(seconds);
        let (elapsed, measured) = (self.timer.elapsed_s(), planning + loading + reading + writing);
        // A planned scan looks up on a second thread, so that waits for both relations may pass at the same time.
        let share = if measured > elapsed { elapsed / measured } else { 1.0 };
        TaskCounts {
            planning_s: planning * share,
            loading_s: loading * share,
            reading_s: reading * share,
            joining_s: (elapsed - measured).max(0.0),
            writing_s: writing * share,
            requests: self.requests.load(Ordering::Relaxed),
            bytes_read: self.bytes_read.load(Ordering::Relaxed),
            peak_memory_bytes: self.budget.peak_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::{JoinOptions, JoinReport};

    #[test]
    fn grants_never_exceed_the_limit_and_come_back() {
        let budget = MemoryBudget::new(MEMORY_BYTES_MIN, None).unwrap();
        let mut first = budget.take(1000, "a buffer").unwrap();
        assert!(budget.try_take(MEMORY_BYTES_MIN - 999).is_none());
        assert!(first.try_grow(MEMORY_BYTES_MIN - 1000));
        assert_eq!(budget.left_bytes(), 0);
        first.shrink_to(10);
        assert_eq!((first.bytes(), budget.left_bytes()), (10, MEMORY_BYTES_MIN - 10));
        assert!(matches!(
            budget.take(MEMORY_BYTES_MIN, "a buffer"),
            Err(Error { cause: Cause::JoinMemory { .. }, .. })
        ));
        drop(first);
        assert_eq!((budget.left_bytes(), budget.peak_bytes()), (MEMORY_BYTES_MIN, MEMORY_BYTES_MIN));
        assert!(matches!(MemoryBudget::new(MEMORY_BYTES_MIN - 1, None), Err(Error { cause: Cause::Input, .. })));
    }

    #[test]
    fn phases_of_threads_count_once_and_add_up_to_the_time() {
        let phases = |task: &Task| {
            let mut report = JoinReport::new(crate::join::JoinMethod::Merge);
            report.measured(&task.counts());
            report.seconds
        };
        let task = Task::new(&JoinOptions::default()).unwrap();
        task.averaged(4, || (0..4).for_each(|_| task.add_time(TimedPhase::Reading, 1.0)));
        assert_eq!(task.phase_ns[TimedPhase::Reading as usize].load(Ordering::Relaxed), 1000);
        // Waits for an hour, of two threads at the same time.
        (0..2).for_each(|_| task.add_time(TimedPhase::Reading, 3.6e9));
        task.add_time(TimedPhase::Loading, 3.6e9);
        let seconds = phases(&task);
        assert!(seconds.total() <= task.timer.elapsed_s(), "{seconds:?}");
        assert!((seconds.reading / seconds.total() - 2.0 / 3.0).abs() < 1e-6 && seconds.joining == 0.0, "{seconds:?}");
    }
}
