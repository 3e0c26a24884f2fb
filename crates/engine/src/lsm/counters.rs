//! Activity counters of an open store.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
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
            pub(crate) fn activity(&self) -> Activity {
                Activity { $($name: self.$name.get(),)* }
            }
        }
    };
}

counters! {
    /// Operations written.
    operations,
    /// Bytes of keys and values written.
    user_bytes,
    /// Bytes written to the write-ahead log.
    log_bytes,
    /// Bytes of values written to value files, except values moved by collection.
    value_bytes,
    /// Write groups, each one commit of the log with one or more batches.
    groups,
    /// Batches written.
    batches,
    /// Syncs of the log.
    syncs,
    /// Memtables flushed.
    flushes,
    /// Bytes of tables written by flushes.
    flushed_bytes,
    /// Compactions.
    compactions,
    /// Bytes of tables read by compactions.
    compaction_read_bytes,
    /// Bytes of tables written by compactions.
    compaction_written_bytes,
    /// Bytes of values moved out of value files by collection.
    moved_value_bytes,
    /// Microseconds spent in flushes.
    flush_us,
    /// Microseconds spent in compactions.
    compaction_us,
    /// Removed entries skipped by iterators, in runs of at least 256.
    skipped_entries,
    /// Writes that stalled for flushes or compactions.
    stalls,
    /// Microseconds that writes stalled.
    stall_us,
}

/// A monotonic counter.
#[derive(Debug, Default)]
pub(crate) struct ActivityCounter(AtomicU64);

impl ActivityCounter {
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
