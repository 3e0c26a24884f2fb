//! The steps of a lookup in a store, for breakdowns of its time.

/// A step of a lookup in a store. A lookup repeats the steps of tables until one of them decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LookupStep {
    /// Searching the memtables.
    SearchMemtables,
    /// Finding the next table that may contain the key.
    FindTable,
    /// The same by a [`LevelGuide`](crate::lsm::extend::LevelGuide).
    SearchLevel,
    /// Finding the block of the key in a table.
    SearchIndex,
    /// Querying the filter of the table.
    SearchFilter,
    /// Loading the block, from the cache or the storage.
    LoadBlock,
    /// Finding the record in the block. In blocks that the fast path does not support, the whole search.
    SearchBlock,
    /// Reading the value, which may be in a value file.
    ReadValue,
}
