//! Secondary indexes that a store keeps: every writer against a model, crashes, threads, definitions, lookups.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod crash;
mod definitions;
mod lookups;
mod model;
mod support;
mod threads;
