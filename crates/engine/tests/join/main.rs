//! Goal: joins hold what `suite` promises, by the engine's methods. Method: the tests of `suite`, which
//! `ogive-research` also runs, for the methods that it registers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::print_stdout,
    reason = "a store needs a folder; the rates are printed, and ask the system for the time of the process"
)]

mod in_flight;
mod long_records;
mod suite;
mod support;
mod text_keys;

use ogive::index::extend::Tunable;
use ogive::join::JoinMethod;

/// The methods under test.
fn methods() -> Vec<JoinMethod> {
    JoinMethod::all().into_iter().filter(|method| *method != JoinMethod::Auto).collect()
}

/// The methods of long tests.
fn some_methods() -> Vec<JoinMethod> {
    vec![JoinMethod::Merge, JoinMethod::Hash, JoinMethod::Partition, JoinMethod::Inlj]
}

/// No method of the engine has tunables.
fn drawn_tunables(_: u64) -> Vec<Tunable> {
    Vec::new()
}
