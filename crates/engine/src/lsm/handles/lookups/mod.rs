//! Lookups through indexes that the store keeps: rows in the order of an index, as of a snapshot or in a transaction.

pub(in crate::lsm) mod in_transaction;
pub(super) mod index_rows;
pub(super) mod own_entries;
