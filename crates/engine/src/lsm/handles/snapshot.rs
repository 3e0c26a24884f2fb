//! Snapshots: read views of a store at one sequence number.

use super::db::{Db, check_name};
use super::keyspace::Keyspace;
use super::range::DbRange;
use crate::block::Slice;
use crate::error::{Cause, Error, Result};
use crate::lsm::state::entry::Sequence;
use crate::lsm::state::expiry::store_time::ReadPoint;
use crate::lsm::state::live_snapshots::{KeptKeyspaces, SnapshotId};
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// A consistent read view of all keyspaces of a store at one time, those that are dropped later too, with the records
/// that had not expired then. It is cheap to create and to clone. The entries it sees are kept on disk until its last
/// clone is dropped.
#[derive(Clone, Debug)]
pub struct DbSnapshot {
    pin: Arc<PinnedSequence>,
}

#[derive(Debug)]
struct PinnedSequence {
    db: Db,
    id: SnapshotId,
    kept: Arc<KeptKeyspaces>,
}

impl PinnedSequence {
    fn sequence(&self) -> Sequence {
        self.id.0
    }
}

impl Drop for PinnedSequence {
    fn drop(&mut self) {
        let core = self.db.core();
        if core.contents.live_snapshots.release(self.id) {
            // Entries kept for the snapshot may be dropped now, so background work checks again.
            drop(core.contents.lock());
            core.contents.notify_changed();
        }
    }
}

impl DbSnapshot {
    pub(in crate::lsm) fn new(db: Db) -> Self {
        let core = db.core();
        let (id, kept) = core.contents.live_snapshots.acquire(|| core.newest_point());
        Self { pin: Arc::new(PinnedSequence { db, id, kept }) }
    }

    /// The time as of which it sees records that expire; `None` if it is from before there were any.
    pub(super) fn now_ms(&self) -> Option<u64> {
        Some(self.pin.kept.now_ms).filter(|&now_ms| now_ms > 0)
    }

    /// What it sees.
    fn point(&self) -> ReadPoint {
        ReadPoint::at_time(self.pin.id.0, self.pin.kept.now_ms)
    }

    /// The keyspace with this name, if the store has one, or had one that was dropped since; its handle reads with this
    /// snapshot then.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// let db = ogive::lsm::Db::open(storage, &ogive::lsm::DbOptions::default())?;
    /// db.keyspace("fruit")?.insert("apple", "red")?;
    /// let before = db.snapshot();
    /// db.drop_keyspace("fruit")?;
    /// let fruit = before.keyspace("fruit").expect("the snapshot has it");
    /// assert_eq!(before.get(&fruit, "apple")?.as_deref(), Some(&b"red"[..]));
    /// assert!(before.keyspace("vegetables").is_none());
    /// # Ok::<(), ogive::Error>(())
    /// ```
    #[must_use]
    pub fn keyspace(&self, name: &str) -> Option<Keyspace> {
        check_name(name).ok()?;
        let kept = self.pin.kept.dropped.lock();
        let dropped = kept.values().map(|kept| &kept.dropped).find(|tree| tree.name == name && tree.is_dropped());
        let tree = dropped.cloned();
        drop(kept);
        let current = || self.pin.db.core().contents.lock().tree_named(name).cloned();
        tree.or_else(current).map(|tree| Keyspace::new(Arc::clone(self.pin.db.open()), tree))
    }

    /// The handle that reads the last view of a keyspace, if that was dropped since.
    fn kept(&self, keyspace: &Keyspace) -> Option<Keyspace> {
        if !keyspace.tree().is_dropped() {
            return None;
        }
        let kept = self.pin.kept.dropped.lock();
        let last = Arc::clone(&kept.get(&keyspace.id())?.last);
        Some(Keyspace::new(Arc::clone(keyspace.open()), last).read_as(keyspace))
    }

    /// Reads a keyspace; again if it is dropped meanwhile.
    fn read<T>(&self, keyspace: &Keyspace, read: impl Fn(&Keyspace) -> Result<T>) -> Result<T> {
        keyspace.check_store(self.pin.db.open())?;
        if let Some(kept) = self.kept(keyspace) {
            return read(&kept);
        }
        let outcome = read(keyspace);
        match (&outcome, self.kept(keyspace)) {
            (Err(Error { cause: Cause::KeyspaceDropped, .. }), Some(kept)) => read(&kept),
            _ => outcome,
        }
    }

    /// A range of a keyspace, which goes on if the keyspace is dropped. It is an error if that was dropped before.
    fn read_range(&self, keyspace: &Keyspace, range: impl Fn(&Keyspace) -> DbRange) -> DbRange {
        let was_dropped = keyspace.tree().is_dropped();
        let found = range(keyspace);
        // A view that was taken after a drop is empty.
        let found = match self.kept(keyspace) {
            Some(kept) => range(&kept).outliving_drops(),
            None if was_dropped => found,
            None => found.outliving_drops(),
        };
        found.checked_for_store(self.pin.db.open())
    }

    /// The number of the last write that it sees, counted from the creation of the store.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.pin.sequence()
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn get(&self, keyspace: impl AsRef<Keyspace>, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        self.read(keyspace.as_ref(), |keyspace| keyspace.get_at(key.as_ref(), self.point()))
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
        let keys: Vec<K> = keys.into_iter().collect();
        self.read(keyspace.as_ref(), |keyspace| keyspace.multi_get_at(&keys, self.point(), u64::MAX))
    }

    /// Whether a key is present.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn contains_key(&self, keyspace: impl AsRef<Keyspace>, key: impl AsRef<[u8]>) -> Result<bool> {
        self.read(keyspace.as_ref(), |keyspace| keyspace.contains_at(key.as_ref(), self.point()))
    }

    /// The records in a key range.
    #[must_use]
    pub fn range<K: AsRef<[u8]>>(&self, keyspace: impl AsRef<Keyspace>, bounds: impl RangeBounds<K>) -> DbRange {
        let own = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        let bounds = (own(bounds.start_bound()), own(bounds.end_bound()));
        self.read_range(keyspace.as_ref(), |keyspace| keyspace.range_at(bounds.clone(), self.point()))
    }

    /// The records whose keys begin with `prefix`.
    #[must_use]
    pub fn prefix(&self, keyspace: impl AsRef<Keyspace>, prefix: impl AsRef<[u8]>) -> DbRange {
        self.read_range(keyspace.as_ref(), |keyspace| keyspace.prefix_at(prefix.as_ref(), self.point()))
    }
}
