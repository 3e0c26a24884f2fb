//! The hash join: a hash table over one relation, probed with each row of the other.
//!
//! ```text
//! build fits memory     build side -> table <- probe side, row by row
//! it does not           both are scattered over files by a hash of the key, and pairs of files joined, each as above;
//!                       a file that still does not fit is scattered again, by another hash; one that does not shrink
//!                       (a key with more rows than memory) is sorted and merged
//! ```
//!
//! Rows come out in the order of the probe side. If key order is requested and the probe side is unsorted, its rows are
//! sorted before they are probed ([`order`]); if the table does not fit memory, or rows of the build side without
//! partner are returned, both sides are sorted and merged.
//!
//! The build side is the smaller relation in an inner join, and the right one otherwise, so that left rows are
//! processed one by one in every kind of join. The paper's hash join (Section 5.3) excludes building the table from its
//! timings; here it counts as loading.
//!
//! Source: DeWitt et al., "Implementation techniques for main memory database systems" (SIGMOD 1984), the Grace hash
//! join.

mod bucket;
mod order;
mod probe;
mod run;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use run::{HashJoin, table_room_bytes};
pub(crate) use table::table_memory_bytes;
