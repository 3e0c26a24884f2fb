//! B+-tree leaves under any [`Router`](crate::index::extend::Router), and all operations on them.
//!
//! ```text
//!   state: first, last, tail, low, the router's state
//!                 |
//!              router: separators --> leaves, all but the last
//!             /   |                                    \
//!   [1 2 5] <-> [6 8 8] <-> [9 9 9] <-> [9 9] <-> [11 12]     doubly linked pages of sorted entries
//!     head        head        head   continuation   last: in the state
//! ```
//!
//! Entries of one key never span leaves that hold other keys. If they exceed a leaf, they form a *run*: a head and
//! continuation leaves after it, which hold only that key. The router maps only the head (AULID, Section 4.3.2, second
//! method), under exactly the key of the run, so that greater keys lead past the whole run.

mod batch;
mod build;
mod chain;
mod change;
mod cursor;
mod insert;
mod leaf;
mod operations;
mod pending;
mod remove;
mod rescue;
mod search;
mod split;
mod tree;
mod walk;

pub use tree::LeafTree;
