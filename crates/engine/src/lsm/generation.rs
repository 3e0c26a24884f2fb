//! Generations: what was written since the memtables were last switched.

use super::entry::{KeyspaceId, Operation, Sequence};
use super::memtable::Memtable;
use super::values::ValueHandle;
use crate::block::cache::Reservation;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The memtables of the keyspaces that are written, with the logs and the value files that hold the same durably. They are switched
/// together, and written out together by one edit, so that no log is needed by two generations. A keyspace that is not written has no
/// memtable, and costs nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Generation {
    memtables: BTreeMap<KeyspaceId, Arc<Memtable>>,
    /// What the memtables take, and the least room that one of them has, if any was written.
    bytes: u64,
    room: Option<usize>,
    /// Its logs, oldest first: one that grows, and those that were found when the store was opened.
    pub(crate) logs: Vec<LogPart>,
    pub(crate) values: Vec<Arc<ValueHandle>>,
    /// Value files among them that a write or a sync has failed on: what is in them is copied before a table points to it.
    pub(crate) doubtful: Vec<u64>,
    /// Bytes of older values that its entries are estimated to hide.
    pub(crate) hidden_bytes: u64,
    /// The newest operation in it.
    pub(crate) last_sequence: Sequence,
    /// What of the store's memory is kept for the memtables.
    pub(crate) held: Option<Arc<Reservation>>,
}

/// A log of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogPart {
    pub(crate) number: u64,
    /// Where what counts ends; for the log that grows only its writer knows.
    pub(crate) bytes: u64,
}

impl Generation {
    /// One that begins with these memtables, which are empty.
    pub(crate) fn of(memtables: BTreeMap<KeyspaceId, Arc<Memtable>>) -> Self {
        let bytes = memtables.values().map(|memtable| memtable.memory_bytes()).sum();
        Self { memtables, bytes, ..Self::default() }
    }

    pub(crate) fn memtables(&self) -> &BTreeMap<KeyspaceId, Arc<Memtable>> {
        &self.memtables
    }

    /// Forgets the memtable of a keyspace.
    pub(crate) fn forget(&mut self, keyspace: KeyspaceId) {
        if let Some(memtable) = self.memtables.remove(&keyspace) {
            self.bytes = self.bytes.saturating_sub(memtable.memory_bytes());
        }
    }

    /// Adds a group; `make` makes the memtable of a keyspace that has none yet, unless the keyspace is gone. False where one of the
    /// memtables has no room for its part.
    pub(crate) fn insert(
        &mut self,
        bytes: Vec<u8>,
        mut operations: Vec<Operation>,
        mut make: impl FnMut(KeyspaceId) -> Option<Arc<Memtable>>,
    ) -> bool {
        let mut is_taken = true;
        let bytes = Arc::new(bytes);
        // Most groups are of one keyspace; the order within each is kept.
        if !operations.is_sorted_by_key(|operation| operation.keyspace) {
            operations.sort_by_key(|operation| operation.keyspace);
        }
        for part in operations.chunk_by(|one, next| one.keyspace == next.keyspace) {
            let Some(id) = part.first().map(|operation| operation.keyspace) else { continue };
            if !self.memtables.contains_key(&id)
                && let Some(made) = make(id)
            {
                self.bytes += made.memory_bytes();
                self.memtables.insert(id, made);
            }
            let Some(memtable) = self.memtables.get(&id) else { continue };
            let before = memtable.memory_bytes();
            is_taken &= memtable.add(&bytes, part);
            self.bytes += memtable.memory_bytes().saturating_sub(before);
            self.room = Some(self.room.map_or(memtable.room(), |room| room.min(memtable.room())));
        }
        is_taken
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.memtables.values().all(|memtable| memtable.is_empty())
    }

    /// Whether each memtable takes so many operations more.
    pub(crate) fn has_room(&self, operations: usize) -> bool {
        operations <= self.room.unwrap_or_else(Memtable::room_of_empty)
    }
}
