//! Range tombstones: tombstones of key ranges, with their sequence numbers.
//!
//! They are kept as runs of growing size. Each run has a tree over the disjoint fragments into which the ends of its
//! ranges divide the keys. Adding a tombstone costs a few merges of runs; a query costs the logarithm of the size of
//! each run, however the ranges overlap.

mod coding;
mod fragments;
mod set;
#[cfg(test)]
mod tests;

pub(crate) use set::{RangeTombstones, known_end, reaches};
