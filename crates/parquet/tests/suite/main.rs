//! Tests of indexes beside Parquet files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod changes;
mod fixtures;
mod hostile;
mod lakes;
mod lookups;
mod mixed;
mod old_timestamps;
mod orders;
mod scattered;
mod shapes;
mod support;
mod unusual;
mod writers;
