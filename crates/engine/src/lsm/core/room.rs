//! The room for open tables: the share of the memory that their resident parts may take, and what flushes and
//! compactions of the records that are there need of it.
//!
//! An opening accepts a store whose tables fit their share. Then all its records can be flushed and compacted with the
//! same memory:
//!
//! * An opening for writing keeps memtables only if there is also room for the tables that they become; otherwise it
//!   flushes them. Compactions leave this room free.
//! * A flush or compaction whose output does not fit is run again in a [coarser form](crate::lsm::compact::TableForm).
//!   The coarsest one counts no more than its inputs: they are merged into one table, whose blocks are as large as
//!   those of any of them. What a table counts beside its blocks and its root is a constant, and range tombstones count
//!   each for itself.
//!
//! New records need room of their own. A flush that finds none runs compactions that are due, and then merges tables
//! that need no merge, as an ingestion does; it fails only if there are none.

use super::shared::{SharedState, StateChange};
use super::store::Core;
use crate::error::{Error, Result};
use crate::lsm::state::memtable::Memtable;
use crate::lsm::state::options::{DbOptions, MEMORY_OPTION};
use crate::lsm::state::tables::table_file::TABLE_BYTES_MIN;
use std::collections::HashSet;
use std::path::PathBuf;

/// The blocks of a flushed memtable, in the coarsest form, take at most 1/1024 of its memory: blocks of at least 16 KiB
/// that are half full, and eight bytes for each.
const FLUSHED_BLOCKS_DIVISOR: u64 = 1024;

impl Memtable {
    /// Bytes that its table counts if it is flushed in the coarsest form, at most; 0 if there is nothing to flush.
    fn flushed_bytes_max(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        TABLE_BYTES_MIN + self.memory_bytes() / FLUSHED_BLOCKS_DIVISOR + self.tombstones().counted_bytes()
    }
}

impl SharedState {
    /// Bytes that the open tables count.
    pub(in crate::lsm) fn table_bytes(&self) -> u64 {
        self.tables.values().map(|table| table.reserved_bytes()).sum()
    }

    /// Bytes that the tables of all memtables count once they are flushed in the coarsest form, at most.
    pub(in crate::lsm) fn unflushed_bytes(&self) -> u64 {
        let sealed = self.sealed.iter().flat_map(|memtable_set| memtable_set.memtables().values());
        self.active.values().chain(sealed).map(|memtable| memtable.flushed_bytes_max()).sum()
    }
}

impl Core {
    /// Refuses a change after which open tables would use more than their share of memory without `free_bytes`, unless
    /// they use no more than before.
    ///
    /// # Errors
    /// [`Cause::Memory`](crate::Cause::Memory); nothing has changed then.
    pub(in crate::lsm) fn check_room(&self, shared: &SharedState, change: &StateChange, free_bytes: u64) -> Result<()> {
        let gone: HashSet<u64> = change.edit.removed.iter().map(|(.., number)| *number).collect();
        let kept = shared.tables.values().filter(|table| !gone.contains(&table.meta.number)).chain(&change.tables);
        let after: u64 = kept.map(|table| table.reserved_bytes()).sum();
        if after <= shared.table_bytes() {
            return Ok(());
        }
        check_room(&self.options, after.saturating_add(free_bytes), || self.path())
    }

    /// Whether the memtables can be flushed later.
    pub(in crate::lsm) fn has_room_to_flush(&self, shared: &SharedState) -> bool {
        shared.table_bytes().saturating_add(shared.unflushed_bytes()) <= self.options.tables_limit_bytes()
    }

    /// Memory with which the store, as it is now, can be opened and all its records can be flushed and compacted.
    pub(in crate::lsm) fn least_memory_bytes(&self, shared: &SharedState) -> u64 {
        self.options.memory_for_tables(shared.table_bytes().saturating_add(shared.unflushed_bytes()))
    }
}

/// Refuses if open tables exceed their share of memory.
pub(in crate::lsm) fn check_room(options: &DbOptions, reserved_bytes: u64, path: impl Fn() -> PathBuf) -> Result<()> {
    if reserved_bytes <= options.tables_limit_bytes() {
        return Ok(());
    }
    let needed_bytes = options.memory_for_tables(reserved_bytes);
    Err(Error::memory(path(), needed_bytes, options.memory_bytes, MEMORY_OPTION))
}
