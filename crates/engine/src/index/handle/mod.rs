//! Handles of indexes: readers, transactions, ranges, loading, verification, rescue.

pub(super) mod header;
pub(super) mod load;
pub(super) mod loader;
pub(super) mod open;
pub(super) mod range;
pub(super) mod reader;
pub(super) mod rescue;
pub(super) mod shared;
pub(super) mod verify;
pub(super) mod view;
pub(super) mod write;
