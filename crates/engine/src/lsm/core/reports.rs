//! Rare events of a store, reported with their metrics.

use super::scrub::ScrubFinding;
use super::shared::SharedState;
use super::store::Core;
use crate::error::Error;
use crate::io::Timer;
use crate::lsm::state::compaction_job::CompactionJob;
use crate::lsm::state::expiry::store_time::TimeReading;
use crate::lsm::state::memtable_set::BackingLog;
use crate::telemetry::EVENT_TARGET;
use std::collections::HashSet;
use tracing::{debug, error, info, warn};

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
            debug!(target: EVENT_TARGET, store = %self.path().display(), tables, written_bytes, duration_s, "flushed");
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
            target: EVENT_TARGET, store = %store.display(), level, ?reason, tables, read_bytes, written_bytes,
            collected_files, moved_value_bytes, duration_s,
            "compacted"
        );
    }

    /// Reports that a write begins to wait.
    pub(in crate::lsm) fn report_stall(&self, shared: &SharedState) {
        let (memtables, running) = (shared.sealed.len(), shared.running.len());
        let store = self.path();
        warn!(
            target: EVENT_TARGET, store = %store.display(), memtables, running,
            "writes wait for flushes or compactions"
        );
    }

    /// Reports that a write has waited.
    pub(in crate::lsm) fn report_stall_end(&self, timer: Timer) {
        let duration_s = timer.elapsed_s();
        self.telemetry.stall_seconds.record(duration_s);
        self.telemetry.counters.stalls.add(1);
        self.telemetry.counters.stall_us.add((duration_s * 1e6) as u64);
        info!(target: EVENT_TARGET, store = %self.path().display(), duration_s, "writes go on");
    }

    /// Reports that the clock is further ahead than it may be.
    pub(in crate::lsm) fn report_clock_ahead(&self, now_ms: u64, clock_ms: u64) {
        let store = self.path();
        warn!(target: EVENT_TARGET, store = %store.display(), now_ms, clock_ms, "the clock is too far ahead");
    }

    /// Reports that the store was closed to writes.
    pub(super) fn report_failure(&self, is_fenced: bool, cause: &Error) {
        self.telemetry.failed.set(1.0);
        let store = self.path();
        match is_fenced {
            true => warn!(target: EVENT_TARGET, store = %store.display(), "taken over by another writer"),
            false => error!(target: EVENT_TARGET, store = %store.display(), %cause, "closed to writes"),
        }
    }

    /// Reports that a failed store takes writes again.
    pub(in crate::lsm) fn report_resumed(&self) {
        self.telemetry.failed.set(0.0);
        info!(target: EVENT_TARGET, store = %self.path().display(), "open to writes again");
    }

    /// Counts bytes that scrubbing has read.
    pub(in crate::lsm) fn note_scrubbed(&self, bytes: u64) {
        self.telemetry.scrubbed_bytes.add(bytes);
        let mut scrubbed = self.background.scrubbed.lock();
        scrubbed.read_bytes += bytes;
        scrubbed.pass_bytes += bytes;
    }

    /// Reports what scrubbing has found in a file.
    pub(in crate::lsm) fn report_scrubbed(&self, file: &str, found: &[ScrubFinding]) {
        let store = self.path();
        for ScrubFinding { offset, detail, .. } in found {
            error!(target: EVENT_TARGET, store = %store.display(), file, offset, detail, "damage found");
        }
        let mut scrubbed = self.background.scrubbed.lock();
        scrubbed.note_file(file, found);
        self.telemetry.damaged_files.set(scrubbed.damaged_files() as f64);
    }

    /// Reports that scrubbing has read all files.
    pub(in crate::lsm) fn end_scrub_pass(&self, files: &HashSet<String>) {
        let mut scrubbed = self.background.scrubbed.lock();
        let read_bytes = scrubbed.pass_bytes;
        scrubbed.end_pass(files);
        let damaged_files = scrubbed.damaged_files();
        drop(scrubbed);
        self.telemetry.scrub_passes.add(1);
        self.telemetry.damaged_files.set(damaged_files as f64);
        let store = self.path();
        debug!(target: EVENT_TARGET, store = %store.display(), read_bytes, damaged_files, "scrubbed");
    }

    /// Reports the opening of a store.
    pub(in crate::lsm) fn report_opening(&self, timer: Timer, opening: &FinishedOpening) {
        let FinishedOpening { logs, log_bytes, is_new, was_closed } = *opening;
        let (store, shared) = (self.path(), self.contents.lock());
        let (tables, read_only, duration_s) = (shared.tables.len(), self.access.is_read_only(), timer.elapsed_s());
        self.telemetry.set_sizes(&shared);
        drop(shared);
        if self.files.objects.is_some() && !(read_only || is_new || was_closed) {
            info!(target: EVENT_TARGET, store = %store.display(), "took over from another writer");
        }
        info!(
            target: EVENT_TARGET, store = %store.display(), read_only, tables, logs, log_bytes, is_new, was_closed,
            duration_s, "opened"
        );
        if let (true, TimeReading { now_ms, clock_ms, is_ahead: true }) = (read_only, self.contents.time.read()) {
            self.report_clock_ahead(now_ms, clock_ms);
        }
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
