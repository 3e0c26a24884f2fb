//! Activity counters of an open store.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters that all threads add to.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)*
        }

        /// What a store has done since it was opened.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
        #[non_exhaustive]
        pub struct Activity {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            pub(crate) fn activity(&self) -> Activity {
                Activity { $($name: self.$name.get(),)* }
            }
        }
    };
}

counters! {
    /// Operations that were written.
    operations,
    /// Keys and values that were written, in bytes.
    user_bytes,
    /// Bytes of write-ahead log.
    log_bytes,
    /// Bytes of values that were written to value files, without those that were moved.
    value_bytes,
    /// Commits of the log; each may hold many batches.
    groups,
    /// Batches.
    batches,
    /// Syncs of the log.
    syncs,
    /// Memtables written out.
    flushes,
    /// Bytes of tables from memtables.
    flushed_bytes,
    /// Compactions.
    compactions,
    /// Bytes of tables that compactions read.
    compaction_read_bytes,
    /// Bytes of tables that compactions wrote.
    compaction_written_bytes,
    /// Bytes of values that were moved out of files with many dead ones.
    moved_value_bytes,
    /// Microseconds that flushes took.
    flush_us,
    /// Microseconds that compactions took.
    compaction_us,
    /// Removed entries that iterators skipped, in runs of 256 and more.
    skipped_entries,
    /// Times that a write had to wait for flushes or compactions.
    stalls,
    /// Microseconds of waiting.
    stall_us,
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
