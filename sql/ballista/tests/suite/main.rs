//! Queries and statements in clusters: within this process, and of processes on the loopback.
//!
//! One program, since each that links DataFusion and Ballista takes as long to build as these tests run.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by it")]

mod common;
mod constants;
mod exact;
mod processes;
mod queries;
mod standalone;
mod write;
