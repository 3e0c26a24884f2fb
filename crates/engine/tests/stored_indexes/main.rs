//! Secondary indexes that a store keeps: every writer against a model, crashes, threads, definitions, lookups,
//! ingestions.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod crash;
mod definitions;
mod ingestion;
mod lookups;
mod model;
mod support;
mod threads;
