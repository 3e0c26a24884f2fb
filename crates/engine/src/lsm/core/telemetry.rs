//! Metrics of a store.

use super::shared::SharedState;
use crate::lsm::state::counters::DbCounters;
use crate::lsm::state::version::LEVELS;
use crate::telemetry::{self, Counter, Gauge, Histogram};
use std::array;
use std::path::Path;

/// Metrics of a store.
#[derive(Debug)]
pub(crate) struct StoreTelemetry {
    pub(in crate::lsm) counters: DbCounters,
    pub(in crate::lsm) gets: Counter,
    pub(in crate::lsm) batched_gets: Counter,
    pub(super) flush_seconds: Histogram,
    pub(super) compaction_seconds: Histogram,
    pub(super) stall_seconds: Histogram,
    level_tables: [Gauge; LEVELS],
    level_bytes: [Gauge; LEVELS],
    unflushed_memtables: Gauge,
    value_files: Gauge,
    value_file_bytes: Gauge,
    dead_value_bytes: Gauge,
    pub(super) scrubbed_bytes: Counter,
    pub(super) scrub_passes: Counter,
    pub(super) damaged_files: Gauge,
    pub(super) failed: Gauge,
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
            counters: DbCounters::register(folder),
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
            scrubbed_bytes: counter(telemetry::STORE_SCRUBBED_BYTES),
            scrub_passes: counter(telemetry::STORE_SCRUB_PASSES),
            damaged_files: gauge(telemetry::STORE_DAMAGED_FILES),
            failed: gauge(telemetry::STORE_FAILED),
        }
    }

    /// States the sizes of a store, after they have changed.
    pub(super) fn set_sizes(&self, shared: &SharedState) {
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
