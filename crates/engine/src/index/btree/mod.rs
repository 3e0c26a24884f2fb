//! The B+-tree's inner nodes: the baseline, laid out as a good engineer would.
//!
//! A node is one page of separators, which lie side by side for the binary search, and of children: 12 bytes a child
//! where keys have 8.

mod build;
mod insert;
mod node;
mod remove;
mod router;
mod search;
mod walk;

pub use router::BtreeRouter;
