//! Telemetry of a store: metrics, and events of what is rare.

use super::core::{Core, SharedState};
use super::memtable_set::BackingLog;
use super::version::LEVELS;
use crate::error::Error;
use crate::io::Timer;
use crate::lsm::state::compaction_job::CompactionJob;
use crate::telemetry::{self, Counter, Gauge, Histogram};
use std::array;
use std::path::Path;
use tracing::{debug, error, info, warn};

/// Metrics of a store besides its [activity counters](super::counters::DbCounters).
#[derive(Debug)]
pub(crate) struct StoreTelemetry {
    pub(in crate::lsm) gets: Counter,
    pub(in crate::lsm) batched_gets: Counter,
    flush_seconds: Histogram,
    compaction_seconds: Histogram,
    stall_seconds: Histogram,
    level_tables: [Gauge; LEVELS],
    level_bytes: [Gauge; LEVELS],
    unflushed_memtables: Gauge,
    value_files: Gauge,
    value_file_bytes: Gauge,
    dead_value_bytes: Gauge,
    failed: Gauge,
}

impl StoreTelemetry {
    /// Registers the metrics of the store in a folder.
    pub(in crate::lsm) fn register(folder: &Path) -> Self {
        let store = folder.display().to_string();
        let labels = [("store", &*store)];
        let (counter, gauge) = (|metric| Counter::register(metric, &labels), |metric| Gauge::register(metric, &labels));
        let histogram = |metric| Histogram::register(metric, &labels);
        let of_level =
            |metric, level: usize| Gauge::register(metric, &[("store", &*store), ("level", &level.to_string())]);
        Self {
            gets: counter(telemetry::STORE_GETS),
            batched_gets: counter(telemetry::STORE_BATCHED_GETS),
            flush_seconds: histogram(telemetry::STORE_FLUSH_SECONDS),
            compaction_seconds: histogram(telemetry::STORE_COMPACTION_SECONDS),
            stall_seconds: histogram(telemetry::STORE_STALL_SECONDS),
            level_tables: array::from_fn(|level| of_level(telemetry::STORE_LEVEL_TABLES, level)),
            level_bytes: array::from_fn(|level| of_level(telemetry::STORE_LEVEL_BYTES, level)),
            unflushed_memtables: gauge(telemetry::STORE_UNFLUSHED_MEMTABLES),
            value_files: gauge(telemetry::STORE_VALUE_FILES),
            value_file_bytes: gauge(telemetry::STORE_VALUE_FILE_BYTES),
            dead_value_bytes: gauge(telemetry::STORE_DEAD_VALUE_BYTES),
            failed: gauge(telemetry::STORE_FAILED),
        }
    }

    /// States the sizes of a store, after they have changed.
    pub(in crate::lsm) fn set_sizes(&self, shared: &SharedState) {
        if cfg!(not(feature = "metrics")) {
            return;
        }
        let (mut tables, mut bytes) = ([0_u64; LEVELS], [0_u64; LEVELS]);
        for (_, level, meta) in shared.state.tables() {
            tables[level] += 1;
            bytes[level] += meta.bytes;
        }
        for level in 0..LEVELS {
            self.level_tables[level].set(tables[level] as f64);
            self.level_bytes[level].set(bytes[level] as f64);
        }
        let files = shared.state.value_files.values();
        let (held, live) = files.fold((0, 0), |(held, live), file| (held + file.bytes, live + file.live_bytes));
        self.value_files.set(shared.state.value_files.len() as f64);
        self.value_file_bytes.set(held as f64);
        self.dead_value_bytes.set(held.saturating_sub(live) as f64);
        self.unflushed_memtables.set(shared.sealed.len() as f64);
        self.failed.set(f64::from(u8::from(shared.failure.is_some())));
    }
}

/// The work of a flush or a compaction, for its event.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::lsm) struct FinishedJob {
    pub(in crate::lsm) tables: usize,
    pub(in crate::lsm) read_bytes: u64,
    pub(in crate::lsm) written_bytes: u64,
    pub(in crate::lsm) moved_value_bytes: u64,
}

impl Core {
    /// Reports a flush.
    pub(in crate::lsm) fn report_flush(&self, timer: Timer, job: FinishedJob) {
        let FinishedJob { tables, written_bytes, .. } = job;
        let duration_s = timer.elapsed_s();
        self.telemetry.flush_seconds.record(duration_s);
        // An opening flushes a set without entries, too.
        if tables > 0 {
            debug!(store = %self.path().display(), tables, written_bytes, duration_s, "flushed");
        }
    }

    /// Reports a compaction, and the value files that it collects.
    pub(in crate::lsm) fn report_compaction(&self, timer: Timer, job: &CompactionJob, done: FinishedJob) {
        let FinishedJob { tables, read_bytes, written_bytes, moved_value_bytes } = done;
        let (level, reason, collected_files) = (job.output_level, job.reason, job.collect.len());
        let duration_s = timer.elapsed_s();
        self.telemetry.compaction_seconds.record(duration_s);
        let store = self.path();
        debug!(
            store = %store.display(), level, ?reason, tables, read_bytes, written_bytes, collected_files,
            moved_value_bytes, duration_s,
            "compacted"
        );
    }

    /// Reports that a write begins to wait.
    pub(in crate::lsm) fn report_stall(&self, shared: &SharedState) {
        let (memtables, running) = (shared.sealed.len(), shared.running.len());
        warn!(store = %self.path().display(), memtables, running, "writes wait for flushes or compactions");
    }

    /// Reports that a write has waited.
    pub(in crate::lsm) fn report_stall_end(&self, timer: Timer) {
        let duration_s = timer.elapsed_s();
        self.telemetry.stall_seconds.record(duration_s);
        self.counters.stalls.add(1);
        self.counters.stall_us.add((duration_s * 1e6) as u64);
        info!(store = %self.path().display(), duration_s, "writes go on");
    }

    /// Reports that the store was closed to writes.
    pub(in crate::lsm) fn report_failure(&self, is_fenced: bool, cause: &Error) {
        self.telemetry.failed.set(1.0);
        let store = self.path();
        match is_fenced {
            true => warn!(store = %store.display(), "taken over by another writer"),
            false => error!(store = %store.display(), %cause, "closed to writes"),
        }
    }

    /// Reports that a failed store takes writes again.
    pub(in crate::lsm) fn report_resumed(&self) {
        self.telemetry.failed.set(0.0);
        info!(store = %self.path().display(), "open to writes again");
    }

    /// Reports the opening of a store.
    pub(in crate::lsm) fn report_opening(&self, timer: Timer, opening: &FinishedOpening) {
        let FinishedOpening { logs, log_bytes, is_new, was_closed } = *opening;
        let (store, shared) = (self.path(), self.shared.lock());
        let (tables, read_only, duration_s) = (shared.tables.len(), self.read_only, timer.elapsed_s());
        self.telemetry.set_sizes(&shared);
        drop(shared);
        if self.objects.is_some() && !(read_only || is_new || was_closed) {
            info!(store = %store.display(), "took over from another writer");
        }
        info!(store = %store.display(), read_only, tables, logs, log_bytes, is_new, was_closed, duration_s, "opened");
    }
}

/// The work of an opening, for its event.
#[derive(Clone, Copy, Debug)]
pub(in crate::lsm) struct FinishedOpening {
    /// Logs that were replayed, and their bytes.
    pub(in crate::lsm) logs: usize,
    pub(in crate::lsm) log_bytes: u64,
    /// Whether the store was created.
    pub(in crate::lsm) is_new: bool,
    /// Whether the last writer had closed it. On an object store, the files of one that had not are sealed.
    pub(in crate::lsm) was_closed: bool,
}

impl FinishedOpening {
    pub(in crate::lsm) fn of(logs: &[BackingLog], is_new: bool, was_closed: bool) -> Self {
        Self { logs: logs.len(), log_bytes: logs.iter().map(|log| log.bytes).sum(), is_new, was_closed }
    }
}
