//! Generations: what was written since the memtables were last switched.

use super::entry::{KeyspaceId, Sequence};
use super::memtable::Memtable;
use super::values::ValueHandle;
use crate::block::cache::Held;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The memtables of all keyspaces, with the logs and the value files that hold the same durably. They are switched together, and
/// written out together by one edit, so that no log is needed by two generations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Generation {
    pub(crate) memtables: BTreeMap<KeyspaceId, Arc<Memtable>>,
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
    pub(crate) held: Option<Arc<Held>>,
}

/// A log of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogPart {
    pub(crate) number: u64,
    /// Where what counts ends; for the log that grows only its writer knows.
    pub(crate) bytes: u64,
}

impl Generation {
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memtables.values().map(|memtable| memtable.memory_bytes()).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.memtables.values().all(|memtable| memtable.is_empty())
    }

    /// Whether each memtable takes so many operations more.
    pub(crate) fn has_room(&self, operations: usize) -> bool {
        self.memtables.values().all(|memtable| memtable.has_room(operations))
    }
}
