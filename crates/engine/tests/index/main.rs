//! Indexes: kinds, structures, leaves and links.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod batches;
mod kinds;
mod leaves;
mod links;
mod sectors;
mod structures;
mod types;
