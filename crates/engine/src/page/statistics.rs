//! Counters of a page file.

use std::sync::atomic::AtomicU64;

/// Counters of a page file. Those marked *since open* start at zero with each open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageStatistics {
    /// Page size in bytes.
    pub page_bytes: u64,
    /// Pages in the file, free ones and the header's included.
    pub pages: u64,
    /// Pages that are free.
    pub free_pages: u64,
    /// Pages that hold the space map.
    pub map_pages: u64,
    /// Length of the page file in bytes, the log excluded. New pages may be only in the log until a checkpoint, and
    /// after a failed write the file may be longer than its pages until it is opened for writing.
    pub file_bytes: u64,
    /// Bytes of the log now.
    pub log_bytes: u64,
    /// Number of the last commit.
    pub sequence: u64,
    /// Number of the last commit that a checkpoint brought into the page file.
    pub checkpointed: u64,
    /// Commits since open.
    pub commits: u64,
    /// Checkpoints since open.
    pub checkpoints: u64,
    /// Bytes of log written since open.
    pub log_bytes_written: u64,
    /// Whole pages among what was logged since open.
    pub images_logged: u64,
    /// Changes of pages among what was logged since open.
    pub changes_logged: u64,
    /// Pages written to the page file since open, by checkpoints and directly.
    pub pages_written: u64,
    /// Bytes that the map of the log takes in memory.
    pub log_map_bytes: u64,
}

/// Counters updated by the writer.
#[derive(Debug, Default)]
pub(super) struct PageCounters {
    pub(super) commits: AtomicU64,
    pub(super) checkpoints: AtomicU64,
    pub(super) log_bytes_written: AtomicU64,
    pub(super) log_bytes: AtomicU64,
    pub(super) images_logged: AtomicU64,
    pub(super) changes_logged: AtomicU64,
    pub(super) pages_written: AtomicU64,
    pub(super) free_pages: AtomicU64,
    pub(super) map_pages: AtomicU64,
    pub(super) page_count: AtomicU64,
    pub(super) checkpointed: AtomicU64,
}
