//! Secondary indexes that the store keeps itself: the changes of entries that belong to a write, the making of an
//! index on a store in use, the entries of ingested rows, and the comparison of entries and rows.

mod build;
pub(crate) mod compare;
mod declare;
mod ingested;
mod ingested_rows;
mod pinned;
mod rows;
mod unique;
mod upkeep;
