//! The tuner: validity and quality of designs, and the figures of the paper.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod named;
mod paper;
mod quality;
mod sampled;
mod search;
mod support;
mod validity;
mod workload;
