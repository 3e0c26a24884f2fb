//! Records that expire: all reads against a model, clocks, compactions, crashes, indexes, followers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "a test waits for the threads of a store")]

mod clocks;
mod compactions;
mod crash;
mod indexes;
mod model;
mod rules;
mod support;
mod typed;
mod writes;
