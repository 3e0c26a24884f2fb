//! Joins by the engine's methods: faults, interruptions and crashes. The tests are in `join_tests/faults.rs`; `ogive-papers` runs them for the
//! methods that it registers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "join_tests/faults.rs"]
mod faults;
mod join_support;

use ogive::join::Method;

/// The methods of long tests.
fn some_methods() -> Vec<Method> {
    vec![Method::Merge, Method::Hash, Method::Partition, Method::Inlj]
}
