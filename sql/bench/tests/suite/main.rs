//! TPC-H, random queries, and the measurements on small data.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

mod cluster;
mod measure;
mod random;
mod tpch;
