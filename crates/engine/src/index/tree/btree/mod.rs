//! Inner nodes of a B+-tree, the baseline of the other structures.
//!
//! A node is one page: an array of separators for binary search, then an array of children. With keys of 8 bytes, a
//! child takes 12 bytes.

mod build;
mod insert;
mod node;
mod remove;
mod router;
mod search;
mod walk;

pub use router::BtreeRouter;
