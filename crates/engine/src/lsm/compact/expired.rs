//! Entries that have expired: the time from which on they need not be kept, and when to look for them again.

use crate::lsm::core::shared::SharedState;
use crate::lsm::core::store::Core;
use crate::lsm::state::expiry::store_time::millis;

/// The least time between two checks for entries that have expired, in microseconds.
const EXPIRY_WAIT_US_MIN: f64 = 1e6;

impl Core {
    /// Entries that expire up to this time need not be kept: it is the grace period ago, and no snapshot sees them. 0
    /// if there are none.
    pub(super) fn expired_by_ms(&self) -> u64 {
        if !self.contents.time.is_used() {
            return 0;
        }
        let before_ms = self.contents.time.now_ms().saturating_sub(millis(self.options.expiry.grace));
        self.contents.live_snapshots.earliest_ms().map_or(before_ms, |earliest_ms| before_ms.min(earliest_ms))
    }

    /// Checks all keyspaces for compactions if entries have expired that make some due.
    pub(super) fn recheck_expired(&self, shared: &mut SharedState) {
        if shared.expiry_due_ms.is_some_and(|due_ms| due_ms <= self.expired_by_ms()) {
            shared.expiry_due_ms = None;
            shared.recheck_all();
        }
    }

    /// The time until entries expire that make a compaction due, in microseconds.
    pub(super) fn expiry_wait_us(&self, shared: &SharedState) -> Option<f64> {
        let wait_ms = shared.expiry_due_ms?.saturating_sub(self.expired_by_ms());
        // A snapshot may keep it from becoming due.
        Some((wait_ms as f64 * 1e3).max(EXPIRY_WAIT_US_MIN))
    }
}
