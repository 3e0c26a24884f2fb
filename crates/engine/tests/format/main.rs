//! File formats: documented examples, and files of development versions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod development;
mod index_ogive;
mod page;
mod profile;
mod table;
mod types;
