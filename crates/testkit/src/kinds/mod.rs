//! Conformance tests of kinds of index, through [`Index`](ogive::index::Index): a reference model, crashes, damaged
//! files, repair, failing calls, snapshots, repeated keys.
//!
//! [`kind_tests!`](crate::kind_tests) generates all of them for one [`IndexKind`](ogive::index::IndexKind), which the
//! expression must register:
//!
//! ```
//! # mod tests {
//! use ogive::index::IndexKind;
//! use ogive_testkit::kind_tests;
//!
//! kind_tests!(btree, IndexKind::BTREE, duplicates);
//! # }
//! ```

#![expect(clippy::unwrap_used, clippy::panic, reason = "these functions are tests, which fail by panicking")]

pub mod batches;
pub mod crash;
pub mod damage;
pub mod duplicates;
pub mod fast_paths;
pub mod faults;
mod list;
pub mod readers;
pub mod reference;
pub mod repair;
pub mod support;
