//! A memtable set: the memtables of all written keyspaces, with the logs and value files that back them.

use super::entry::{KeyspaceId, Operation, Sequence};
use super::memtable::Memtable;
use super::tables::value_files::ValueHandle;
use crate::block::cache::Reservation;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The memtables of all written keyspaces, with the logs and value files that back them. They are switched together,
/// and flushed together by one edit, so no log belongs to two sets. An idle keyspace has no memtable.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemtableSet {
    memtables: BTreeMap<KeyspaceId, Arc<Memtable>>,
    /// The memory of the memtables, and the least room in any of them.
    bytes: u64,
    room: Option<usize>,
    /// The logs, oldest first: the current one, and those found at opening.
    pub(crate) logs: Vec<BackingLog>,
    pub(crate) values: Vec<Arc<ValueHandle>>,
    /// Value files with a failed write or sync; their values are copied before a table points to them.
    pub(crate) unconfirmed_values: Vec<u64>,
    /// Estimated bytes of older values that the entries hide.
    pub(crate) hidden_bytes: u64,
    /// The newest operation in the set.
    pub(crate) last_sequence: Sequence,
    /// The memory reservation of the memtables.
    pub(crate) reservation: Option<Arc<Reservation>>,
}

/// A log that backs a memtable set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BackingLog {
    pub(crate) number: u64,
    /// Where its valid groups end; for the current log, only its writer knows.
    pub(crate) bytes: u64,
}

impl MemtableSet {
    /// A set of empty memtables.
    pub(crate) fn of(memtables: BTreeMap<KeyspaceId, Arc<Memtable>>) -> Self {
        let bytes = memtables.values().map(|memtable| memtable.memory_bytes()).sum();
        Self { memtables, bytes, ..Self::default() }
    }

    pub(crate) fn memtables(&self) -> &BTreeMap<KeyspaceId, Arc<Memtable>> {
        &self.memtables
    }

    /// Drops the memtable of a keyspace.
    pub(crate) fn forget(&mut self, keyspace: KeyspaceId) {
        if let Some(memtable) = self.memtables.remove(&keyspace) {
            self.bytes = self.bytes.saturating_sub(memtable.memory_bytes());
        }
    }

    /// Inserts a group. `make` creates a missing memtable, or returns `None` if the keyspace was dropped. Returns
    /// `false` if a memtable has no room for its part.
    pub(crate) fn insert(
        &mut self,
        bytes: Vec<u8>,
        operations: &mut [Operation],
        mut make: impl FnMut(KeyspaceId) -> Option<Arc<Memtable>>,
    ) -> bool {
        let mut is_taken = true;
        let bytes = Arc::new(bytes);
        // Most groups have one keyspace; the order within each is kept.
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

    /// Whether each memtable has room for this many operations.
    pub(crate) fn has_room(&self, operations: usize) -> bool {
        operations <= self.room.unwrap_or_else(Memtable::room_of_empty)
    }
}
