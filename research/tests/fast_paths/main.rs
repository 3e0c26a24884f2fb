//! Fast paths with models. Goal and method are those of the engine's tests of fast paths, whose cases run here with the
//! learning policies of this crate. Then lookups by models are counted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../../crates/engine/tests/fast_paths/cases.rs"]
mod cases;
#[path = "../../../crates/engine/tests/join/support/mod.rs"]
mod join_support;
mod models;
mod policies;
#[path = "../../../crates/engine/tests/fast_paths/support.rs"]
mod support;
