//! Writes to an open store: waiting batches, the current writer, and groups in flight.

use super::groups_in_flight::GroupsInFlight;
use super::write_queue::WriteQueue;
use super::writer::WriterState;
use crate::io::local::sync::{Condvar, Mutex};
use crate::io::reads::fair::FairMutex;
use crate::lsm::state::entry::Sequence;
use crate::lsm::state::memtable_set::MemtableSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Memtables may hide 1/48 of all live values; a level may hide three times as much before it is merged.
const MEMTABLE_HIDDEN_DIVISOR: u64 = 48;

/// Memtables may always hide this many bytes, so that small stores do not write tiny tables.
const HIDDEN_BYTES_MIN: u64 = 1 << 20;

/// The writes to an open store.
#[derive(Debug)]
pub(in crate::lsm) struct Writes {
    /// Batches that wait to be written.
    pub(in crate::lsm) queue: Mutex<WriteQueue>,
    /// Signalled when a group was written.
    pub(in crate::lsm) written: Condvar,
    /// The lock of writers, taken in the order of requests.
    pub(in crate::lsm) writer: FairMutex<WriterState>,
    /// On an object store: groups that are being put.
    pub(in crate::lsm) in_flight: GroupsInFlight,
    /// Held while an index is built. It is taken before the lock of writers.
    pub(in crate::lsm) building: Mutex<()>,
    hidden_limit_bytes: AtomicU64,
    is_switch_requested: AtomicBool,
    /// The parts of the validation of transactions that are made.
    #[cfg(test)]
    pub(in crate::lsm) checks: Mutex<crate::lsm::state::transactions::newer::ConflictChecks>,
}

impl Writes {
    pub(super) fn new(next_sequence: Sequence) -> Self {
        Self {
            queue: Mutex::default(),
            written: Condvar::default(),
            writer: FairMutex::new(WriterState::new(None, MemtableSet::default(), next_sequence)),
            in_flight: GroupsInFlight::default(),
            building: Mutex::default(),
            hidden_limit_bytes: AtomicU64::new(HIDDEN_BYTES_MIN),
            is_switch_requested: AtomicBool::new(false),
            #[cfg(test)]
            checks: Mutex::default(),
        }
    }

    /// Notes the bytes of all live values.
    pub(super) fn set_live_bytes(&self, live_bytes: u64) {
        let limit_bytes = (live_bytes / MEMTABLE_HIDDEN_DIVISOR).max(HIDDEN_BYTES_MIN);
        self.hidden_limit_bytes.store(limit_bytes, Ordering::Relaxed);
    }

    /// Memtables are switched when they hide more bytes of older values than this.
    pub(in crate::lsm) fn hidden_limit_bytes(&self) -> u64 {
        self.hidden_limit_bytes.load(Ordering::Relaxed)
    }

    /// Whether the next group must switch memtables even if they are not full.
    pub(in crate::lsm) fn is_switch_requested(&self) -> bool {
        self.is_switch_requested.load(Ordering::Relaxed)
    }

    /// Requests a switch of memtables, or withdraws the request.
    pub(in crate::lsm) fn request_switch(&self, is_requested: bool) {
        self.is_switch_requested.store(is_requested, Ordering::Relaxed);
    }
}
