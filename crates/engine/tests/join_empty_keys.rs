//! Joins by the engine's methods: the empty key. The tests are in `join_tests/empty_keys.rs`; `ogive-papers` runs them for the
//! methods that it registers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "a store needs a folder")]

#[path = "join_tests/empty_keys.rs"]
mod empty_keys;
mod join_support;

use ogive::join::Method;

/// The methods under test.
fn methods() -> Vec<Method> {
    Method::all().into_iter().filter(|method| *method != Method::Auto).collect()
}
