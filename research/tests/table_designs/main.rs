//! Tables of the papers' designs. Goal: they answer as a sorted vector, make the reads that they state, and none is
//! faster than the tuned one. Method: the engine's tests of tables, with these designs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../../crates/engine/tests/table/designs.rs"]
mod designs;
mod named;
#[path = "../../../crates/engine/tests/table/nasty_keys.rs"]
mod nasty_keys;
#[path = "../../../crates/engine/tests/table/reads.rs"]
mod reads;
#[path = "../../../crates/engine/tests/table/support/mod.rs"]
mod support;
