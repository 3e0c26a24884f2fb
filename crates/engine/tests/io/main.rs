//! Storages, meters and measured profiles.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod lenient;
mod measure;
mod meter;
mod storage;
mod update;
