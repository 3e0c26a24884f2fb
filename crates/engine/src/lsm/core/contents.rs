//! The contents of an open store: its keyspaces and versions, and who reads which.

use super::replayed_logs::ReplayedLogs;
use super::shared::SharedState;
use crate::io::local::sync::{Condvar, Mutex, MutexGuard};
use crate::lsm::objects::StoreVersion;
use crate::lsm::state::entry::Sequence;
use crate::lsm::state::expiry::store_time::StoreTime;
use crate::lsm::state::live_snapshots::LiveSnapshots;
use crate::lsm::state::transactions::open_transactions::OpenTransactions;
use crate::lsm::state::version::KeptChanges;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The contents of an open store.
#[derive(Debug)]
pub(in crate::lsm) struct Contents {
    shared: Mutex<SharedState>,
    /// Signalled when the shared state has changed.
    changed: Condvar,
    visible: AtomicU64,
    /// The time by which records expire.
    pub(in crate::lsm) time: Arc<StoreTime>,
    pub(in crate::lsm) live_snapshots: LiveSnapshots,
    pub(in crate::lsm) open_transactions: Arc<OpenTransactions>,
    /// On an object store: the version of a reader.
    pub(in crate::lsm) version: Option<StoreVersion>,
    /// In a folder: what is kept for subscribers. Its lock is taken last.
    pub(in crate::lsm) kept: Mutex<KeptChanges>,
    /// Of a reader: what it has of the logs, until its next version goes on with that.
    replayed: Mutex<Option<ReplayedLogs>>,
}

impl Contents {
    pub(in crate::lsm) fn new(
        shared: SharedState,
        version: Option<StoreVersion>,
        replayed: Option<ReplayedLogs>,
    ) -> Self {
        Self {
            visible: AtomicU64::new(shared.state.last_sequence),
            time: Arc::clone(&shared.empty_view.time),
            shared: Mutex::new(shared),
            changed: Condvar::default(),
            live_snapshots: LiveSnapshots::default(),
            open_transactions: Arc::default(),
            version,
            kept: Mutex::default(),
            replayed: Mutex::new(replayed),
        }
    }

    /// Locks the shared state.
    pub(in crate::lsm) fn lock(&self) -> MutexGuard<'_, SharedState> {
        self.shared.lock()
    }

    /// Waits until the shared state has changed, or for no reason.
    pub(in crate::lsm) fn wait<'a>(&'a self, shared: MutexGuard<'a, SharedState>) -> MutexGuard<'a, SharedState> {
        self.changed.wait(&self.shared, shared)
    }

    /// As [`Self::wait`], for at most this number of microseconds.
    pub(in crate::lsm) fn wait_for<'a>(
        &'a self,
        shared: MutexGuard<'a, SharedState>,
        at_most_us: f64,
    ) -> MutexGuard<'a, SharedState> {
        self.changed.wait_for(&self.shared, shared, at_most_us)
    }

    /// Wakes all who wait for a change of the shared state.
    pub(in crate::lsm) fn notify_changed(&self) {
        self.changed.notify_all();
    }

    /// The newest operation visible to readers.
    pub(in crate::lsm) fn visible(&self) -> Sequence {
        self.visible.load(Ordering::Acquire)
    }

    /// Shows operations to readers, up to this one.
    pub(in crate::lsm) fn show(&self, last: Sequence) {
        self.visible.store(last, Ordering::Release);
    }

    /// What a reader has replayed of the logs, for its next version.
    pub(in crate::lsm) fn take_replayed(&self) -> Option<ReplayedLogs> {
        self.replayed.lock().take()
    }
}
