//! The options of a page file: page size, memory, durability and log limits.

use crate::durability::Durability;
use crate::error::{Error, Result};
use crate::io::FastPaths;

/// Options for creating and opening a page file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PageOptions {
    /// Page size in bytes, a power of two from 512 to 65,536. For an existing file, the size stored in it applies.
    pub page_bytes: usize,
    /// The upper limit, in bytes, of all memory that the file keeps and works with: cached pages, the log map and the
    /// changed pages of a transaction together; with 0, no page is cached between operations. Only the least that a
    /// writer needs is taken beyond it: one byte per page of the file, up to 1 MiB for the log map, 1 MiB for changed
    /// pages, and, for each page that a transaction changes beyond that, 250 bytes to 1 KiB until it ends.
    pub memory_bytes: u64,
    /// The part of the memory reserved for inner pages, those nearest to the root first.
    pub resident_bytes: u64,
    /// When a commit is durable.
    pub durability: Durability,
    /// With [`Durability::Grouped`], a power loss loses fewer than this many commits.
    pub group_commits: u32,
    /// With [`Durability::Grouped`], a power loss loses about this many bytes of log at most.
    pub group_bytes: u64,
    /// A commit that leaves the log longer than this triggers a checkpoint.
    pub checkpoint_bytes: u64,
    /// Limit of the log in bytes. If the log is longer, because an old snapshot delays checkpoints, no new transaction
    /// can begin. A running transaction may exceed it.
    pub log_limit_bytes: u64,
    /// The part of the memory for the changed pages of a transaction. Beyond it, changes spill to the log before the
    /// commit. 0 means an eighth of the memory, and at least 1 MiB.
    pub transaction_bytes: u64,
    /// For tests and measurements: the fast paths that may be taken (the cache, and batches in an index). They do not
    /// change answers.
    #[doc(hidden)]
    pub fast_paths: FastPaths,
}

impl Default for PageOptions {
    fn default() -> Self {
        Self {
            page_bytes: 4096,
            memory_bytes: 64 << 20,
            resident_bytes: 0,
            durability: Durability::Synced,
            group_commits: 64,
            group_bytes: 4 << 20,
            checkpoint_bytes: 64 << 20,
            log_limit_bytes: 1 << 30,
            transaction_bytes: 0,
            fast_paths: FastPaths::ALL,
        }
    }
}

setters! {
    PageOptions {
        page_bytes: usize,
        memory_bytes: u64,
        resident_bytes: u64,
        durability: Durability,
        group_commits: u32,
        group_bytes: u64,
        checkpoint_bytes: u64,
        log_limit_bytes: u64,
        transaction_bytes: u64,
        #[doc(hidden)]
        fast_paths: FastPaths,
    } optional {}
}

/// Smallest and largest page size in bytes.
const PAGE_BYTES_LIMITS: std::ops::RangeInclusive<usize> = 512..=65_536;

/// Smallest memory of each part that a writer needs, whatever the limit.
const MEMORY_PART_BYTES_MIN: u64 = 1 << 20;

impl PageOptions {
    pub(super) fn check(&self) -> Result<()> {
        check_page_bytes(self.page_bytes).map_err(Error::input)
    }

    /// Size of the page pool: three quarters of the unreserved memory.
    pub(super) fn pool_bytes(&self) -> u64 {
        self.memory_bytes.saturating_sub(self.resident_bytes) / 4 * 3
    }

    /// Size that the log map may reach before a checkpoint empties it.
    pub(super) fn log_map_bytes(&self) -> u64 {
        (self.memory_bytes.saturating_sub(self.resident_bytes) / 8).max(MEMORY_PART_BYTES_MIN)
    }

    /// Size that the changed pages of a transaction may reach before they spill to the log.
    pub(super) fn dirty_bytes(&self) -> u64 {
        if self.transaction_bytes > 0 {
            return self.transaction_bytes;
        }
        (self.memory_bytes.saturating_sub(self.resident_bytes) / 8).max(MEMORY_PART_BYTES_MIN)
    }
}

/// Checks a page size; the error names the valid range.
pub(super) fn check_page_bytes(page_bytes: usize) -> Result<(), String> {
    if page_bytes.is_power_of_two() && PAGE_BYTES_LIMITS.contains(&page_bytes) {
        return Ok(());
    }
    Err(format!("a page size of {page_bytes} bytes is not supported; give a power of two from 512 to 65536"))
}
