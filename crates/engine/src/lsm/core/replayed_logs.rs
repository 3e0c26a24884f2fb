//! The replayed logs of a reader, with which its next version goes on.

use crate::block::BlockCache;
use crate::block::cache::Reservation;
use crate::block::header::StoreBinding;
use crate::lsm::objects::KnownChain;
use crate::lsm::state::entry::KeyspaceId;
use crate::lsm::state::memtable_set::MemtableSet;
use crate::lsm::state::version::{ManifestState, ReadManifest};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Memory for the memtables of a reader is reserved in multiples of this.
const READER_MEMORY_STEP_BYTES: u64 = 4 << 20;

/// A log of which a reader has replayed everything.
#[derive(Clone, Debug)]
pub(in crate::lsm) struct ReplayedLog {
    pub(in crate::lsm) number: u64,
    pub(in crate::lsm) binding: StoreBinding,
    /// `None` if it is to be read anew the next time.
    pub(in crate::lsm) known: Option<KnownChain>,
    pub(in crate::lsm) memtable_set: MemtableSet,
    /// The memory of the memtables.
    pub(in crate::lsm) reserved: Vec<Arc<Reservation>>,
}

impl ReplayedLog {
    /// Reserves the memory, in steps, so that a version that adds little evicts nothing.
    pub(in crate::lsm) fn reserve(&mut self, cache: &Arc<BlockCache>) {
        let reserved_bytes: u64 = self.reserved.iter().map(|part| part.bytes()).sum();
        let missing_bytes = self.memtable_set.memory_bytes().saturating_sub(reserved_bytes);
        if missing_bytes > 0 {
            let part = cache.reserve_scoped(missing_bytes.next_multiple_of(READER_MEMORY_STEP_BYTES));
            self.reserved.push(Arc::new(part));
        }
    }
}

/// What a reader has replayed. In a store on an object store, logs only grow, and versions of entries are told apart by
/// their sequence numbers: so the next version adds to the same memtables, and those who read this one see no more.
#[derive(Debug)]
pub(in crate::lsm) struct ReplayedLogs {
    /// The manifest, as far as it was read.
    pub(in crate::lsm) manifest: Option<(ReadManifest, KnownChain)>,
    pub(in crate::lsm) keyspaces: HashSet<KeyspaceId>,
    pub(in crate::lsm) logs: Vec<ReplayedLog>,
    pub(in crate::lsm) ends: BTreeMap<u64, u64>,
}

impl ReplayedLogs {
    /// The beginnings of logs that need not be read again.
    pub(in crate::lsm) fn known_logs(&self) -> impl Iterator<Item = (u64, KnownChain)> + '_ {
        self.logs.iter().filter_map(|log| Some((log.number, log.known?)))
    }

    /// Whether a later state of the store goes on with these logs: some may be flushed, and others new.
    pub(in crate::lsm) fn is_part_of(&self, state: &ManifestState) -> bool {
        let known = |number: u64| self.logs.iter().find(|log| log.number == number && log.known.is_some());
        let newest = self.logs.last().map_or(0, |log| log.number);
        let goes_on = |number: u64| match known(number) {
            Some(log) => state.binding_of(number) == log.binding,
            None => number > newest,
        };
        state.logs.iter().all(|&number| goes_on(number))
            && self.keyspaces.len() == state.keyspaces.len()
            && self.keyspaces.iter().all(|id| state.keyspaces.contains_key(id))
    }
}
