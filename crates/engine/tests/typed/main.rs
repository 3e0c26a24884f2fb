//! Keyspaces and tables with Rust types: keyspaces, tables, multimaps and secondary indexes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod altering;
mod indexes;
mod keyspaces;
mod multimaps;
mod stating;
mod tables;
mod types;
