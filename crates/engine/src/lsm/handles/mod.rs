//! The handles of the public interface: stores, keyspaces and their types, batches, transactions, ranges, snapshots,
//! statistics.

pub(super) mod batch;
pub(super) mod changes;
mod checkpoint;
pub(super) mod db;
pub(super) mod futures;
mod ingest;
pub(super) mod keyspace;
pub(super) mod keyspace_index;
#[cfg(test)]
mod keyspace_tests;
pub(super) mod lookups;
mod open;
mod own_writes;
pub(super) mod pinned_types;
pub(super) mod range;
#[cfg(test)]
mod schedule_tests;
pub(super) mod snapshot;
pub(super) mod stats;
pub(super) mod table_stats;
pub(super) mod transaction;
pub(super) mod transaction_range;
#[cfg(test)]
mod transaction_tests;
