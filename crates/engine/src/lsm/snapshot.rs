//! Snapshots: read views of a store at one sequence number.

use super::db::Db;
use super::entry::Sequence;
use super::keyspace::Keyspace;
use super::range::Range;
use crate::block::Slice;
use crate::error::Result;
use crate::io::sync::Mutex;
use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::sync::Arc;

/// The moments that snapshots look at; what they need is kept.
#[derive(Debug, Default)]
pub(super) struct Moments(Mutex<BTreeMap<Sequence, usize>>);

impl Moments {
    /// Takes hold of the moment that `visible` tells, once nobody can miss that it is held.
    fn hold(&self, visible: impl FnOnce() -> Sequence) -> Sequence {
        let mut moments = self.0.lock();
        let sequence = visible();
        *moments.entry(sequence).or_default() += 1;
        sequence
    }

    /// Lets a moment go; whether it was the oldest one, which others waited for.
    fn release(&self, sequence: Sequence) -> bool {
        let mut moments = self.0.lock();
        let is_oldest = moments.keys().next() == Some(&sequence);
        if let Some(holders) = moments.get_mut(&sequence) {
            *holders -= 1;
            if *holders == 0 {
                moments.remove(&sequence);
                return is_oldest;
            }
        }
        false
    }

    /// The oldest moment that is held.
    pub(super) fn oldest(&self) -> Option<Sequence> {
        self.0.lock().keys().next().copied()
    }

    /// The moments that are held, oldest first.
    pub(super) fn held(&self) -> Vec<Sequence> {
        self.0.lock().keys().copied().collect()
    }
}

/// The store as it was at one moment, in all its keyspaces; cheap to take and to clone. What it sees is kept on disk until
/// its last clone is dropped.
#[derive(Clone, Debug)]
pub struct Snapshot {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    db: Db,
    sequence: Sequence,
}

impl Drop for Held {
    fn drop(&mut self) {
        let core = self.db.core();
        if core.moments.release(self.sequence) {
            // What it kept may be dropped now: background work looks again.
            drop(core.shared.lock());
            core.changed.notify_all();
        }
    }
}

impl Snapshot {
    pub(super) fn new(db: Db) -> Self {
        let core = db.core();
        let sequence = core.moments.hold(|| core.visible());
        Self { held: Arc::new(Held { db, sequence }) }
    }

    /// The value that a key had.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn get(&self, keyspace: impl AsRef<Keyspace>, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        keyspace.as_ref().check_store(self.held.db.open())?;
        keyspace.as_ref().get_at(key.as_ref(), self.held.sequence)
    }

    /// Whether a key was there.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn contains_key(&self, keyspace: impl AsRef<Keyspace>, key: impl AsRef<[u8]>) -> Result<bool> {
        keyspace.as_ref().check_store(self.held.db.open())?;
        keyspace.as_ref().contains_at(key.as_ref(), self.held.sequence)
    }

    /// The records that a range had.
    #[must_use]
    pub fn range<K: AsRef<[u8]>>(&self, keyspace: impl AsRef<Keyspace>, bounds: impl RangeBounds<K>) -> Range {
        keyspace.as_ref().range_at(bounds, self.held.sequence).of_store(self.held.db.open())
    }

    /// The records whose keys began with `prefix`.
    #[must_use]
    pub fn prefix(&self, keyspace: impl AsRef<Keyspace>, prefix: impl AsRef<[u8]>) -> Range {
        keyspace.as_ref().prefix_at(prefix.as_ref(), self.held.sequence).of_store(self.held.db.open())
    }
}
