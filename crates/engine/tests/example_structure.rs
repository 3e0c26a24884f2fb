//! The example of a structure of another crate. Goal: the example runs, and its structure is right. Method: its `main`,
//! and the common tests of routers, structures and kinds.

#[path = "../examples/custom_structure.rs"]
mod example;

use example::{DIRECTORY, Directory};
use ogive::index::Kind;
use ogive::index::extend::LeafTree;
use ogive_testkit::{kind_tests, router_tests, structure_tests};

router_tests!(router, u128, || Box::new(Directory));
structure_tests!(structure, u64, |layout| Box::new(LeafTree::new(Directory, layout)), duplicates);
kind_tests!(kind, registered(), duplicates);

#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
fn registered() -> Kind {
    DIRECTORY.register().unwrap();
    DIRECTORY
}

#[test]
fn the_example_runs() {
    example::main().unwrap();
}
