//! Sorted copies of relations that are not sorted: external sort, the first half of a sort-merge join of unsorted input.
//!
//! Rows of one width, as most are, are sorted as they stand ([`dense`]): runs as long as memory allows, written one behind the other into
//! one spill file, merged by a tree of losers. Rows of any length go through the [`Sorter`](crate::table::sort::Sorter) of the tables. What
//! fits memory is never written.

mod arrange;
mod dense;
mod general;
mod input;
mod merge;
mod relation;
mod runs;
#[cfg(test)]
mod tests;
mod width;

pub(crate) use arrange::arrange;
pub(crate) use dense::sort_rows;
pub(crate) use input::{Input, Progress, input_bytes};
pub(crate) use merge::RunMerge;
pub(crate) use relation::sorted_facts;
pub(crate) use runs::{RunSorter, Sorted, merge_runs};
pub(crate) use width::for_width;
