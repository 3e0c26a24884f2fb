//! Joins by the engine's methods: drawn options. The tests are in `join_tests/draws.rs`; `ogive-papers` runs them for the
//! methods that it registers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "files lie in a folder")]

#[path = "join_tests/draws.rs"]
mod draws;
mod join_support;

use ogive::index::extend::Tunable;
use ogive::join::Method;

/// The methods under test.
fn methods() -> Vec<Method> {
    Method::all().into_iter().filter(|method| *method != Method::Auto).collect()
}

/// No method of the engine has tunables.
fn drawn_tunables(_: u64) -> Vec<Tunable> {
    Vec::new()
}
