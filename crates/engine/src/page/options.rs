//! The options of a page file: page size, memory, durability and log limits.

use crate::error::{Error, Result};
use crate::io::FastPaths;

/// When a commit is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When [`super::Transaction::commit`] returns.
    #[default]
    EachCommit,
    /// When a group is full, at the latest; commits of a group not yet full may be lost, the latest first.
    Grouped {
        /// Commits in a group.
        commits: u32,
        /// Bytes of log in a group.
        bytes: u64,
    },
    /// At the next checkpoint, or when [`super::PageFile::sync`] returns.
    AtCheckpoint,
}

/// How a page file is made and opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PageOptions {
    /// Size of a page, a power of two from 512 to 65,536. Read from the file where it exists.
    pub page_bytes: usize,
    /// Memory for pages and for the map of the log; with 0 no page is kept from one operation to the next. What a writer cannot do
    /// without comes on top: a byte for each page of the file, the map of the log up to 1 MiB, and 1 MiB of changed pages; and for
    /// each page that a transaction changes beyond that, 250 bytes to 1 KiB until it ends.
    pub budget_bytes: u64,
    /// The part of the budget that is for inner pages alone, those nearest to the root first.
    pub resident_bytes: u64,
    /// When a commit is durable.
    pub durability: Durability,
    /// A commit that leaves more log than this makes a checkpoint.
    pub checkpoint_bytes: u64,
    /// With more log than this, because an old snapshot keeps checkpoints back, no transaction begins any more. One that has begun may
    /// be of any size.
    pub log_limit_bytes: u64,
    /// Memory for the changed pages of a transaction, as part of the budget; beyond it, changes are spilled to the log before the commit.
    /// 0 stands for an eighth of the budget, and at least 1 MiB.
    pub transaction_bytes: u64,
    /// For tests and for measuring: which fast paths are taken, of the cache, and in an index of batches. Answers are the same.
    pub fast_paths: FastPaths,
}

impl Default for PageOptions {
    fn default() -> Self {
        Self {
            page_bytes: 4096,
            budget_bytes: 64 << 20,
            resident_bytes: 0,
            durability: Durability::EachCommit,
            checkpoint_bytes: 64 << 20,
            log_limit_bytes: 1 << 30,
            transaction_bytes: 0,
            fast_paths: FastPaths::ALL,
        }
    }
}

/// Smallest and largest size of a page.
const PAGE_BYTES: std::ops::RangeInclusive<usize> = 512..=65_536;

/// What every writer may use, however small the budget.
const FLOOR_BYTES: u64 = 1 << 20;

impl PageOptions {
    pub(super) fn check(&self) -> Result<()> {
        check_page_bytes(self.page_bytes).map_err(Error::InvalidArgument)
    }

    /// What the pool may hold: three quarters of what is not reserved.
    pub(super) fn pool_bytes(&self) -> u64 {
        self.budget_bytes.saturating_sub(self.resident_bytes) / 4 * 3
    }

    /// What the map of the log may take before a checkpoint empties it.
    pub(super) fn log_map_bytes(&self) -> u64 {
        (self.budget_bytes.saturating_sub(self.resident_bytes) / 8).max(FLOOR_BYTES)
    }

    /// What the changed pages of a transaction may take before they are written to the log.
    pub(super) fn dirty_bytes(&self) -> u64 {
        if self.transaction_bytes > 0 {
            return self.transaction_bytes;
        }
        (self.budget_bytes.saturating_sub(self.resident_bytes) / 8).max(FLOOR_BYTES)
    }
}

/// Says what is wrong with a size of pages.
pub(super) fn check_page_bytes(page_bytes: usize) -> Result<(), String> {
    if page_bytes.is_power_of_two() && PAGE_BYTES.contains(&page_bytes) {
        return Ok(());
    }
    Err(format!("pages of {page_bytes} bytes are not possible; give a power of two from 512 to 65536"))
}
