//! Blocks of the inner table: batches that are fetched, decoded and kept.

pub(super) mod block_batch;
pub(super) mod decoded;
pub(super) mod fetch;
pub(super) mod inner_table;
pub(super) mod load;
