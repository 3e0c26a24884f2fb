//! Page files: reference model, crashes, damage, faults, readers and costs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod costs;
mod crash;
mod damage;
mod faults;
mod model;
mod readers;
mod support;
