//! Joins by the engine's methods: rates for the planner. The tests are in `join_tests/rates.rs`; `ogive-papers` runs them for the
//! methods that it registers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::print_stdout,
    reason = "shows figures, and asks the system for the time of the process"
)]

mod join_support;
#[path = "join_tests/rates.rs"]
mod rates;

use ogive::join::Method;

/// The methods under test.
fn methods() -> Vec<Method> {
    Method::all().into_iter().filter(|method| *method != Method::Auto).collect()
}
