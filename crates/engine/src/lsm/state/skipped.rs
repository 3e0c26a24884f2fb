//! Removed entries that iterators skipped, and the cleanups due for them.

use super::entry::KeyspaceId;
use super::version::KeyBounds;
use std::ops::Bound;

/// Shorter runs are not counted; they take a reader about ten microseconds.
pub(crate) const SKIPPED_RUN_MIN: u64 = 256;

/// Entries that one move of an iterator skipped consecutively.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SkippedRun {
    pub(crate) entries: u64,
    /// Keys near both ends of the run.
    pub(crate) from: Vec<u8>,
    pub(crate) to: Vec<u8>,
}

/// Entries that iterators over a keyspace skipped since its last cleanup.
#[derive(Debug)]
pub(in crate::lsm) struct SkippedEntries {
    pub(in crate::lsm) run: SkippedRun,
    /// The number of skipped entries at which a flush or a cleanup pays off, as of the last check.
    pub(in crate::lsm) cost: u64,
}

/// Pending compactions that drop removed entries between two keys.
#[derive(Debug)]
pub(in crate::lsm) struct TombstoneCleanup {
    pub(in crate::lsm) keyspace: KeyspaceId,
    pub(in crate::lsm) from: Vec<u8>,
    pub(in crate::lsm) to: Vec<u8>,
    pub(in crate::lsm) jobs_left: u32,
}

impl SkippedRun {
    pub(in crate::lsm) fn bounds(&self) -> KeyBounds<'_> {
        (Bound::Included(&self.from), Bound::Included(&self.to))
    }

    pub(in crate::lsm) fn add(&mut self, other: Self) {
        self.entries += other.entries;
        if other.from < self.from {
            self.from = other.from;
        }
        if other.to > self.to {
            self.to = other.to;
        }
    }
}
