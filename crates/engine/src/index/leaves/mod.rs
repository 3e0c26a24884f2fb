//! B+-tree leaves, and everything that happens in them, under any [`Router`](super::extend::Router).
//!
//! ```text
//!   state: first, last, tail, low, the router's state
//!                 |
//!              router: separators --> leaves, all but the last
//!             /   |                                    \
//!   [1 2 5] <-> [6 8 8] <-> [9 9 9] <-> [9 9] <-> [11 12]     doubly linked pages of sorted entries
//!     head        head        head   continuation   last: known to the state
//! ```
//!
//! A boundary between two leaves never parts entries of one key, unless all of the leaf have that key and there are
//! more. Then they are a *run*: a head, and continuation leaves behind it, none of which holds another key. The router
//! knows only the head (AULID, Section 4.3.2, the second way), under exactly the key of the run, so that keys above it
//! lead past all of the run.

mod build;
mod cursor;
mod frame;
mod insert;
mod leaf;
mod pending;
mod remove;
mod search;
mod split;
mod tree;
mod walk;

pub use tree::LeafTree;
