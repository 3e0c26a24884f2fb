//! Joins by the engine's methods: the rows of a plain reference. The tests are in `join_tests/reference.rs`; `ogive-papers` runs them for the
//! methods that it registers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "a store needs a folder")]

mod join_support;
#[path = "join_tests/reference.rs"]
mod reference;

use ogive::index::extend::Tunable;
use ogive::join::Method;

/// The methods under test.
fn methods() -> Vec<Method> {
    Method::all().into_iter().filter(|method| *method != Method::Auto).collect()
}

/// The methods of long tests.
fn some_methods() -> Vec<Method> {
    vec![Method::Merge, Method::Hash, Method::Partition, Method::Inlj]
}

/// No method of the engine has tunables.
fn drawn_tunables(_: u64) -> Vec<Tunable> {
    Vec::new()
}
