//! The papers' designs over level inputs. Goal: each is valid, costs what it states, and none is faster than what the
//! tuner finds. Method: the engine's tests of the tuner, with these designs; and each keeps the error that it is given.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod families;
mod named;
#[path = "../../../crates/engine/tests/tune/quality.rs"]
mod quality;
#[path = "../../../crates/engine/tests/tune/support/mod.rs"]
mod support;
#[path = "../../../crates/engine/tests/tune/validity.rs"]
mod validity;
#[path = "../../../crates/engine/tests/tune/workload.rs"]
mod workload;
