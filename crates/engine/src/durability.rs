//! Durability: when a write survives a power loss.

/// When a write of a store, or a commit of an index, is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When the call returns: the write is synced to the device. Concurrent writers of a store share one sync.
    #[default]
    Synced,
    /// With its group, at the latest. The write is handed to the operating system, and survives the end of the process.
    /// It is synced with the next synced write, or when the group is full:
    /// [`DbWriteOptions::group_bytes`](crate::lsm::DbWriteOptions::group_bytes) of a store,
    /// [`PageOptions::group_commits`](crate::page::PageOptions::group_commits) and `group_bytes` of an index. A power
    /// loss takes an incomplete group, from its end.
    Grouped,
    /// The write is handed to the operating system: it survives the end of the process, but a power loss takes the
    /// newest writes. It is synced with the next synced write, by `Index::sync`, `Db::persist` or `Db::close`, when a
    /// memtable is flushed (stores) or at the next checkpoint (indexes).
    ///
    /// Others call this an unsynced write-ahead log (RocksDB with `sync = false`, its default), `MDB_NOSYNC` (LMDB), or
    /// `Durability::None` (redb, where even the end of the process loses such writes). Here and in RocksDB a power loss
    /// leaves a prefix of the writes; LMDB's file may be damaged by it.
    Buffered,
}
