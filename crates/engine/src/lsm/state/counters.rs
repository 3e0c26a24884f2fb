//! Activity counters of an open store.

use crate::telemetry::{self, Counter};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident $(as $metric:ident)?,)*) => {
        /// Atomic counters, updated by all threads.
        #[derive(Debug, Default)]
        pub(crate) struct DbCounters {
            $(pub(crate) $name: ActivityCounter,)*
        }

        /// Activity counters of a store since it was opened.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
        #[non_exhaustive]
        pub struct Activity {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl DbCounters {
            /// Counters that count in metrics of the store in a folder, too.
            pub(crate) fn register(folder: &Path) -> Self {
                let store = folder.display().to_string();
                let mut counters = Self::default();
                $($(counters.$name.metric = Counter::register(telemetry::$metric, &[("store", &*store)]);)?)*
                counters
            }

            pub(crate) fn activity(&self) -> Activity {
                Activity { $($name: self.$name.get(),)* }
            }
        }
    };
}

counters! {
    /// Operations written.
    operations as STORE_OPERATIONS,
    /// Bytes of keys and values written.
    user_bytes as STORE_USER_BYTES,
    /// Bytes written to the write-ahead log.
    log_bytes as STORE_LOG_BYTES,
    /// Bytes of values written to value files, except values moved by collection.
    value_bytes as STORE_VALUE_BYTES,
    /// Write groups, each one commit of the log with one or more batches.
    groups as STORE_GROUPS,
    /// Batches written.
    batches as STORE_BATCHES,
    /// Syncs of the log.
    syncs as STORE_SYNCS,
    /// Memtables flushed.
    flushes as STORE_FLUSHES,
    /// Bytes of tables written by flushes.
    flushed_bytes as STORE_FLUSHED_BYTES,
    /// Compactions.
    compactions as STORE_COMPACTIONS,
    /// Bytes of tables read by compactions.
    compaction_read_bytes as STORE_COMPACTION_READ_BYTES,
    /// Bytes of tables written by compactions.
    compaction_written_bytes as STORE_COMPACTION_WRITTEN_BYTES,
    /// Bytes of values moved out of value files by collection.
    moved_value_bytes as STORE_MOVED_VALUE_BYTES,
    /// Microseconds spent in flushes.
    flush_us,
    /// Microseconds spent in compactions.
    compaction_us,
    /// Removed entries skipped by iterators, in runs of at least 256.
    skipped_entries as STORE_SKIPPED_ENTRIES,
    /// Writes that stalled for flushes or compactions.
    stalls as STORE_STALLS,
    /// Microseconds that writes stalled.
    stall_us,
}

/// A monotonic counter.
#[derive(Debug, Default)]
pub(crate) struct ActivityCounter {
    total: AtomicU64,
    metric: Counter,
}

impl ActivityCounter {
    pub(crate) fn add(&self, amount: u64) {
        self.total.fetch_add(amount, Ordering::Relaxed);
        self.metric.add(amount);
    }

    pub(crate) fn get(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
}
