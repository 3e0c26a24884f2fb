//! The hash join: a table of the rows of one relation, asked for each row of the other.
//!
//! ```text
//! build fits memory     build side -> table <- probe side, row by row
//! it does not           both are scattered over files by a hash of the key, and pairs of files joined, each as above;
//!                       a file that still does not fit is scattered again, by another hash; what does not get smaller that way
//!                       (a key with more rows than memory) is sorted and merged
//! ```
//!
//! Rows come out in the order of the probe side. Where key order is wanted and that is none, they are sorted once more ([`order`]).
//!
//! The build side is the smaller relation in an inner join, else the right one: left rows are then dealt with one by one, whatever the kind. The
//! paper's hash join (Section 5.3) leaves the building of its table out of what it times; here it counts as loading.
//!
//! Source of the scheme: DeWitt et al., "Implementation techniques for main memory database systems" (SIGMOD 1984), the Grace hash join.

mod bucket;
mod order;
mod probe;
mod run;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use run::HashJoin;
