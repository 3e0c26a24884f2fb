//! File formats: documented examples, and fixtures that older versions wrote.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod fixtures;
mod index_fixtures;
mod index_ogive;
mod page;
mod profile;
mod store;
mod store_models;
mod table;
mod types;
