//! The example of a structure of another crate. Goal: the example runs, and its structure is right. Method: its `main`,
//! and the common tests of routers and kinds.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/custom_structure.rs"]
mod example;

use example::{DIRECTORY, Directory};
use ogive::index::IndexKind;
use ogive_testkit::index::router_agrees_with_a_map;
use ogive_testkit::kind_tests;

kind_tests!(kind, registered(), duplicates);

fn registered() -> IndexKind {
    DIRECTORY.register().unwrap();
    DIRECTORY
}

#[test]
fn the_example_runs() {
    example::main().unwrap();
}

// The other tests of routers take minutes for one that is written anew for every change.
#[test]
fn the_router_agrees_with_a_map() {
    router_agrees_with_a_map::<u128>(&|| Box::new(Directory));
}
