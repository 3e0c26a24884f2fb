//! Snapshots: read views of a store at one sequence number.

use super::db::Db;
use super::entry::Sequence;
use super::keyspace::Keyspace;
use super::range::DbRange;
use crate::block::Slice;
use crate::error::Result;
use crate::io::sync::Mutex;
use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::sync::Arc;

/// The sequence numbers of live snapshots, whose entries must be kept.
#[derive(Debug, Default)]
pub(super) struct LiveSnapshots(Mutex<BTreeMap<Sequence, usize>>);

impl LiveSnapshots {
    /// Registers a snapshot at the sequence number that `visible` returns, read under the lock, so that no compaction
    /// misses it.
    fn acquire(&self, visible: impl FnOnce() -> Sequence) -> Sequence {
        let mut live_snapshots = self.0.lock();
        let sequence = visible();
        *live_snapshots.entry(sequence).or_default() += 1;
        sequence
    }

    /// Releases a sequence number; returns whether it was the oldest one.
    fn release(&self, sequence: Sequence) -> bool {
        let mut live_snapshots = self.0.lock();
        let is_oldest = live_snapshots.keys().next() == Some(&sequence);
        if let Some(holders) = live_snapshots.get_mut(&sequence) {
            *holders -= 1;
            if *holders == 0 {
                live_snapshots.remove(&sequence);
                return is_oldest;
            }
        }
        false
    }

    /// The oldest live snapshot.
    pub(super) fn oldest(&self) -> Option<Sequence> {
        self.0.lock().keys().next().copied()
    }

    /// The sequence numbers of live snapshots, oldest first.
    pub(super) fn sequences(&self) -> Vec<Sequence> {
        self.0.lock().keys().copied().collect()
    }
}

/// A consistent read view of all keyspaces of a store at one time. It is cheap to create and to clone. The entries it
/// sees are kept on disk until its last clone is dropped.
#[derive(Clone, Debug)]
pub struct DbSnapshot {
    pin: Arc<PinnedSequence>,
}

#[derive(Debug)]
struct PinnedSequence {
    db: Db,
    sequence: Sequence,
}

impl Drop for PinnedSequence {
    fn drop(&mut self) {
        let core = self.db.core();
        if core.live_snapshots.release(self.sequence) {
            // Entries kept for the snapshot may be dropped now, so background work checks again.
            drop(core.shared.lock());
            core.changed.notify_all();
        }
    }
}

impl DbSnapshot {
    pub(super) fn new(db: Db) -> Self {
        let core = db.core();
        let sequence = core.live_snapshots.acquire(|| core.visible());
        Self { pin: Arc::new(PinnedSequence { db, sequence }) }
    }

    /// The number of the last write that it sees, counted from the creation of the store.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.pin.sequence
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn get(&self, keyspace: impl AsRef<Keyspace>, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        keyspace.as_ref().check_store(self.pin.db.open())?;
        keyspace.as_ref().get_at(key.as_ref(), self.pin.sequence)
    }

    /// Returns the values of many keys, in their order, as [`Keyspace::multi_get`] does.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn multi_get<K: AsRef<[u8]>>(
        &self,
        keyspace: impl AsRef<Keyspace>,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<Slice>>> {
        keyspace.as_ref().check_store(self.pin.db.open())?;
        keyspace.as_ref().multi_get_at(keys.into_iter().collect(), self.pin.sequence)
    }

    /// Whether a key is present.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn contains_key(&self, keyspace: impl AsRef<Keyspace>, key: impl AsRef<[u8]>) -> Result<bool> {
        keyspace.as_ref().check_store(self.pin.db.open())?;
        keyspace.as_ref().contains_at(key.as_ref(), self.pin.sequence)
    }

    /// The records in a key range.
    #[must_use]
    pub fn range<K: AsRef<[u8]>>(&self, keyspace: impl AsRef<Keyspace>, bounds: impl RangeBounds<K>) -> DbRange {
        keyspace.as_ref().range_at(bounds, self.pin.sequence).checked_for_store(self.pin.db.open())
    }

    /// The records whose keys begin with `prefix`.
    #[must_use]
    pub fn prefix(&self, keyspace: impl AsRef<Keyspace>, prefix: impl AsRef<[u8]>) -> DbRange {
        keyspace.as_ref().prefix_at(prefix.as_ref(), self.pin.sequence).checked_for_store(self.pin.db.open())
    }
}
