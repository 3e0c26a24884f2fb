//! Telemetry of a page file: its checkpoints, and the failure that closes it to writes.

use crate::error::Error;
use crate::io::Timer;
use crate::telemetry::{self, Counter, EVENT_TARGET, Histogram};
use std::path::Path;
use tracing::{debug, error};

/// Metrics of a page file.
#[derive(Debug)]
pub(super) struct PageTelemetry {
    checkpoints: Counter,
    checkpoint_seconds: Histogram,
}

impl PageTelemetry {
    /// Registers the metrics of the page file at a path.
    pub(super) fn register(path: &Path) -> Self {
        let index = path.display().to_string();
        let labels = [("index", &*index)];
        Self {
            checkpoints: Counter::register(telemetry::INDEX_CHECKPOINTS, &labels),
            checkpoint_seconds: Histogram::register(telemetry::INDEX_CHECKPOINT_SECONDS, &labels),
        }
    }

    /// Reports a checkpoint that copied `pages` and removed `segments` of the log.
    pub(super) fn report_checkpoint(&self, path: &Path, timer: Timer, pages: usize, segments: usize) {
        let duration_s = timer.elapsed_s();
        self.checkpoints.add(1);
        self.checkpoint_seconds.record(duration_s);
        debug!(target: EVENT_TARGET, index = %path.display(), pages, segments, duration_s, "checkpoint written");
    }
}

/// Reports the failure that closes a page file to writes.
pub(super) fn report_failure(path: &Path, cause: &Error) {
    error!(target: EVENT_TARGET, index = %path.display(), %cause, "closed to writes");
}
