//! Goal: a join by the methods of this crate stays within its memory limit. Method: the engine's tests of the memory of
//! joins, with the methods registered here in place of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "relations larger than memory need a real folder")]

#[path = "../../crates/engine/tests/join/memory/mod.rs"]
mod join_memory_tests;

use ogive::join::JoinMethod;
use ogive_research::joins::{BTREE, METHODS};
use ogive_research::register;

/// The methods under test.
fn methods() -> Vec<JoinMethod> {
    register();
    METHODS.to_vec()
}

/// The methods of long tests.
fn some_methods() -> Vec<JoinMethod> {
    register();
    vec![BTREE]
}
