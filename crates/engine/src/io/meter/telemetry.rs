//! Telemetry of storages: counts of reads and writes, and events of slow reads and retries.

use crate::error::Result;
use crate::io::profile::clock::Timer;
use crate::io::reads::read_ahead::{PendingReads, ReadBuffer};
use crate::telemetry::{self, Counter, EVENT_TARGET, Gauge};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tracing::{Level, level_enabled, warn};

/// A read is slow beyond this time, and its time per byte. A hard disk or an object store answers in some tens of
/// milliseconds, and a loaded one in a hundred: beyond that a device is failing, throttled or overloaded.
const SLOW_READ_US: f64 = 250_000.0;
/// The slowest device in use transfers about 20 MB/s.
const SLOW_READ_US_PER_BYTE: f64 = 0.05;

/// Counts of a kind of storage, and events of its slow reads and retries. A [`Storage`](crate::io::Storage) of another
/// crate reports by one of its own.
///
/// Reads are timed only while a subscriber of `tracing` takes warnings.
#[derive(Clone, Debug)]
pub struct StorageTelemetry {
    reads: Counter,
    read_bytes: Counter,
    written_bytes: Counter,
    retries: Counter,
}

impl StorageTelemetry {
    /// Registers the counts of a kind of storage, which is the label `storage`.
    #[must_use]
    pub fn register(kind: &str) -> Self {
        let counter = |metric| Counter::register(metric, &[("storage", kind)]);
        Self {
            reads: counter(telemetry::STORAGE_READS),
            read_bytes: counter(telemetry::STORAGE_READ_BYTES),
            written_bytes: counter(telemetry::STORAGE_WRITTEN_BYTES),
            retries: counter(telemetry::STORAGE_RETRIES),
        }
    }

    /// Counts ranges that were read.
    #[inline]
    pub fn note_reads(&self, ranges: u64, bytes: u64) {
        self.reads.add(ranges);
        self.read_bytes.add(bytes);
    }

    /// Counts bytes that were written.
    #[inline]
    pub fn note_written(&self, bytes: u64) {
        self.written_bytes.add(bytes);
    }

    /// Counts a request that failed and is made again, and reports it. `failure` must not show credentials.
    pub fn note_retry(&self, action: &str, path: &Path, attempt: u32, wait_s: f64, failure: &str) {
        self.retries.add(1);
        warn!(target: EVENT_TARGET, action, path = %path.display(), attempt, wait_s, failure, "retrying a request");
    }

    /// Runs `work`, which waits for `bytes` to be read, and reports it if it is slow.
    ///
    /// # Errors
    /// Those of `work`.
    #[inline]
    pub fn timed<T>(path: &Path, bytes: u64, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if !reports_slow_reads() {
            return work();
        }
        let timer = Timer::start();
        let outcome = work();
        Self::note_duration(path, bytes, timer.elapsed_us());
        outcome
    }

    /// Reports a read that took this long, if it is slow.
    pub fn note_duration(path: &Path, bytes: u64, duration_us: f64) {
        if duration_us >= SLOW_READ_US + SLOW_READ_US_PER_BYTE * bytes as f64 {
            warn!(target: EVENT_TARGET, path = %path.display(), bytes, duration_s = duration_us / 1e6, "slow read");
        }
    }

    /// Reads in progress, which are reported if their caller waits for long.
    pub(in crate::io) fn watch(path: &Path, bytes: u64, inner: Box<dyn PendingReads>) -> Box<dyn PendingReads> {
        match reports_slow_reads() {
            true => Box::new(WatchedReads { inner, path: path.to_owned(), bytes }),
            false => inner,
        }
    }
}

/// Whether anyone listens to warnings: one load.
#[inline]
fn reports_slow_reads() -> bool {
    level_enabled!(Level::WARN)
}

#[derive(Debug)]
struct WatchedReads {
    inner: Box<dyn PendingReads>,
    path: PathBuf,
    bytes: u64,
}

impl PendingReads for WatchedReads {
    fn wait(self: Box<Self>) -> Result<Vec<ReadBuffer>> {
        let Self { inner, path, bytes } = *self;
        StorageTelemetry::timed(&path, bytes, || inner.wait())
    }
}

/// Counts of open files, over all budgets of handles of the process.
#[derive(Debug)]
pub(in crate::io) struct OpenFileTelemetry {
    pub(in crate::io) open: Gauge,
    pub(in crate::io) reopened: Counter,
    limit: Gauge,
    limit_files: f64,
}

impl OpenFileTelemetry {
    /// Registers the counts of a budget of `limit` handles.
    pub(in crate::io) fn register(limit: usize) -> Self {
        let (gauge, limit_files) = (Gauge::register(telemetry::OPEN_FILES_LIMIT, &[]), limit as f64);
        gauge.change(limit_files);
        Self {
            open: Gauge::register(telemetry::OPEN_FILES, &[]),
            reopened: Counter::register(telemetry::REOPENED_FILES, &[]),
            limit: gauge,
            limit_files,
        }
    }
}

impl Drop for OpenFileTelemetry {
    fn drop(&mut self) {
        self.limit.change(-self.limit_files);
    }
}

/// The counts of local files.
pub(in crate::io) fn of_local_files() -> Arc<StorageTelemetry> {
    Arc::new(StorageTelemetry::register("local"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::Mutex;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn only_reads_that_are_slow_for_their_length_are_reported() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber =
            tracing_subscriber::fmt().with_writer(move || writer.clone()).without_time().with_ansi(false).finish();
        tracing::subscriber::with_default(subscriber, || {
            StorageTelemetry::note_duration(Path::new("quick"), 4096, 200_000.0);
            StorageTelemetry::note_duration(Path::new("long"), 100 << 20, 3e6);
            StorageTelemetry::note_duration(Path::new("slow"), 4096, 300_000.0);
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains("slow read path=slow bytes=4096 duration_s=0.3"), "{text}");
    }
}
