//! The simulated disk, the fault injector and the reference model.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod disk;
mod fault;
mod reference;
