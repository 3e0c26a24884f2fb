//! Joins by the engine's methods: the rows of the output. The tests are in `join_tests/rows.rs`; `ogive-papers` runs them for the
//! methods that it registers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod join_support;
#[path = "join_tests/rows.rs"]
mod rows;

use ogive::join::Method;

/// The methods under test.
fn methods() -> Vec<Method> {
    Method::all().into_iter().filter(|method| *method != Method::Auto).collect()
}

/// The methods of long tests.
fn some_methods() -> Vec<Method> {
    vec![Method::Merge, Method::Hash, Method::Partition, Method::Inlj]
}
