//! The live snapshots of a store, with the keyspaces that were dropped since.

use super::entry::{KeyspaceId, Sequence};
use super::expiry::store_time::ReadPoint;
use super::keyspace_tree::KeyspaceTree;
use super::view::KeyspaceView;
use crate::io::local::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The live snapshots, whose entries must be kept.
#[derive(Debug, Default)]
pub(in crate::lsm) struct LiveSnapshots(Mutex<BTreeMap<SnapshotId, Arc<KeptKeyspaces>>>);

/// The sequence number of a snapshot, and a number that tells those of one sequence number apart.
pub(in crate::lsm) type SnapshotId = (Sequence, u64);

/// What a live snapshot has beside its sequence number.
#[derive(Debug)]
pub(in crate::lsm) struct KeptKeyspaces {
    /// The time as of which it sees records that expire.
    pub(in crate::lsm) now_ms: u64,
    /// The keyspaces that were dropped since it was taken, each with its last view, which keeps its files.
    pub(in crate::lsm) dropped: Mutex<BTreeMap<KeyspaceId, KeptKeyspace>>,
}

/// A sequence number at which there are snapshots, and the earliest time as of which they see records that expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeenAt {
    pub(crate) sequence: Sequence,
    pub(crate) now_ms: u64,
}

#[derive(Debug)]
pub(in crate::lsm) struct KeptKeyspace {
    /// Its handles have this tree, whose view is empty.
    pub(in crate::lsm) dropped: Arc<KeyspaceTree>,
    pub(in crate::lsm) last: Arc<KeyspaceTree>,
}

impl LiveSnapshots {
    /// Registers a snapshot at the point that `newest` returns, read under the lock, so that no compaction misses it.
    pub(in crate::lsm) fn acquire(&self, newest: impl FnOnce() -> ReadPoint) -> (SnapshotId, Arc<KeptKeyspaces>) {
        let mut live_snapshots = self.0.lock();
        let point = newest();
        let last = live_snapshots.range((point.at, 0)..=(point.at, u64::MAX)).next_back();
        let id = (point.at, last.map_or(0, |((_, number), _)| number + 1));
        let kept = Arc::new(KeptKeyspaces { now_ms: point.fixed_ms().unwrap_or(0), dropped: Mutex::default() });
        live_snapshots.insert(id, Arc::clone(&kept));
        (id, kept)
    }

    /// Releases a snapshot; returns whether it was the last one of the oldest sequence number.
    pub(in crate::lsm) fn release(&self, id: SnapshotId) -> bool {
        let mut live_snapshots = self.0.lock();
        live_snapshots.remove(&id);
        live_snapshots.keys().next().is_none_or(|(oldest, _)| *oldest > id.0)
    }

    /// The oldest live snapshot.
    pub(in crate::lsm) fn oldest(&self) -> Option<Sequence> {
        self.0.lock().keys().next().map(|(sequence, _)| *sequence)
    }

    /// The points of live snapshots, oldest first.
    pub(in crate::lsm) fn points(&self) -> Vec<SeenAt> {
        let live_snapshots = self.0.lock();
        let points = live_snapshots.iter().map(|(&(sequence, _), kept)| SeenAt { sequence, now_ms: kept.now_ms });
        let mut points: Vec<SeenAt> = points.collect();
        points.dedup_by(|next, kept| {
            let is_same = next.sequence == kept.sequence;
            if is_same {
                kept.now_ms = kept.now_ms.min(next.now_ms);
            }
            is_same
        });
        points
    }

    /// The earliest time as of which a live snapshot sees records that expire. One from before there were any sees
    /// none.
    pub(in crate::lsm) fn earliest_ms(&self) -> Option<u64> {
        self.0.lock().values().map(|kept| kept.now_ms).filter(|&now_ms| now_ms > 0).min()
    }

    /// Keeps a keyspace that is about to be dropped, for all live snapshots. The caller holds the writer's lock.
    pub(in crate::lsm) fn keep(&self, dropped: &Arc<KeyspaceTree>) {
        let live_snapshots = self.0.lock();
        if live_snapshots.is_empty() {
            return;
        }
        let last = Arc::new(dropped.copy());
        for kept in live_snapshots.values() {
            let (dropped, last) = (Arc::clone(dropped), Arc::clone(&last));
            kept.dropped.lock().insert(dropped.id, KeptKeyspace { dropped, last });
        }
    }

    /// Releases the files of kept keyspaces, of a store that is closed.
    pub(in crate::lsm) fn forget_kept(&self, empty_view: &KeyspaceView) {
        for kept in self.0.lock().values() {
            for keyspace in kept.dropped.lock().values() {
                keyspace.last.mark_dropped(true);
                keyspace.last.view.set(empty_view.clone());
            }
        }
    }
}
