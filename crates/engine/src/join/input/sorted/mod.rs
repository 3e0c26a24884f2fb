//! Sorted copies of unsorted relations: the external sort of a sort-merge join.
//!
//! Rows of one width, the usual case, are sorted in place ([`dense`]): runs as long as memory allows, written
//! consecutively to one spill file and merged by a loser tree. Rows of any length go through the
//! [`Sorter`](crate::table::sort::Sorter) of the tables. Relations that fit memory are never written.

mod copy;
mod dense;
mod general;
mod input;
mod merge;
mod relation;
mod runs;
#[cfg(test)]
mod tests;
mod width;

pub(crate) use copy::sorted_copy;
pub(crate) use dense::sort_rows;
pub(crate) use general::{SORTED_CHUNK_BYTES_MAX, SortedChunks};
pub(crate) use input::{SortInput, input_bytes};
pub(crate) use merge::RowRunMerge;
pub(crate) use relation::sorted_facts;
pub(crate) use runs::{RunSorter, SortOutcome, merge_runs};
pub(crate) use width::for_width;
