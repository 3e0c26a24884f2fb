//! Range removals: which keys were removed by range, and when.
//!
//! Kept as runs of growing size, each with a tree over the pieces that its ends cut the keys into. Adding one costs a few merges
//! of runs; a query costs the logarithm of their size for each run, however the ranges lie.

mod coding;
mod pieces;
mod set;
#[cfg(test)]
mod tests;

pub(crate) use set::{Removals, known_end, reaches};
