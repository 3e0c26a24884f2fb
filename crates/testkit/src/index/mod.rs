//! Conformance tests of index structures.
//!
//! [`structure_tests!`](crate::structure_tests) tests a [`Structure`](ogive::index::extend::Structure): it compares
//! generated operations with a map of the standard library, inserts key sets that have broken learned indexes in
//! several orders, and damages pages. [`router_tests!`](crate::router_tests) does the same for a
//! [`Router`](ogive::index::extend::Router). Each takes one line:
//!
//! ```
//! # mod tests {
//! use ogive::index::extend::{BtreeRouter, LeafTree};
//! use ogive_testkit::{router_tests, structure_tests};
//!
//! structure_tests!(tree, u64, |layout| Box::new(LeafTree::new(BtreeRouter::default(), layout)), duplicates);
//! router_tests!(inner_nodes, u128, || Box::new(BtreeRouter::default()));
//! # }
//! ```
//!
//! For further tests of a structure, [`StructureHarness`] applies every change to a map as well, and compares every
//! answer with it.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "these functions are tests, which fail by panicking")]

mod counted_pages;
mod damage;
mod orders;
mod routers;
mod scenarios;
mod structures;

pub use counted_pages::CountedPages;
pub use damage::survives_damage;
pub use orders::shuffled;
pub use routers::{
    MakeRouter, router_agrees_with_a_map, router_grows_high, router_survives_damage, router_takes_nasty_sets,
};
pub use scenarios::{
    MakeStructure, agrees_with_a_map, agrees_with_a_map_of_lists, counts_blocks, takes_duplicates, takes_nasty_sets,
    word,
};
pub use structures::{Model, SortedEntries, StructureHarness, page_file};
