//! The methods of joins: merge, hash, partition, lookup. They know inputs, and neither the planner nor outputs.

mod cursor;
pub(super) mod emit;
pub(super) mod group;
pub(super) mod group_where;
pub(super) mod hash;
pub(super) mod lookup;
pub(super) mod merge;
#[cfg(test)]
mod merge_tests;
pub(super) mod overflow;
pub(super) mod parallel;
pub(super) mod partition;
