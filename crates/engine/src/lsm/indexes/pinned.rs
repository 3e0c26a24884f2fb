//! The newest operation, kept from compactions while the changes of indexes are computed from it and committed.

use crate::lsm::core::store::Core;
use crate::lsm::state::expiry::store_time::ReadPoint;
use crate::lsm::state::live_snapshots::SnapshotId;

/// A snapshot that ends when this is dropped.
pub(in crate::lsm) struct PinnedNewest<'a> {
    core: &'a Core,
    id: SnapshotId,
    now_ms: u64,
}

impl PinnedNewest<'_> {
    pub(in crate::lsm) fn point(&self) -> ReadPoint {
        ReadPoint::at_time(self.id.0, self.now_ms)
    }
}

impl Drop for PinnedNewest<'_> {
    fn drop(&mut self) {
        if self.core.contents.live_snapshots.release(self.id)
            && !self.core.contents.lock().waiting_for_snapshot.is_empty()
        {
            self.core.contents.notify_changed();
        }
    }
}

impl Core {
    /// Pins the newest operation.
    pub(in crate::lsm) fn pin_newest(&self) -> PinnedNewest<'_> {
        let (id, kept) = self.contents.live_snapshots.acquire(|| self.newest_point());
        PinnedNewest { core: self, id, now_ms: kept.now_ms }
    }
}
