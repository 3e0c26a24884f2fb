//! Goal: each fast path (cache, filter, separators, models, prefetch, batches, unqueued writes, deferred values,
//! write-behind) can be switched off, and the answers of tables, stores and joins are the same with it and without;
//! and a switch switches something. Method: key sets that broke learned indexes, and stores of several levels with
//! snapshots, removed ranges and values apart, under all paths, without each one, without any, and under some that are
//! drawn, are held against ordered maps. Then requests are counted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod cases;
#[path = "../join/support/mod.rs"]
mod join_support;
mod policies;
mod support;
