//! The kinds of index, join methods and stored models of this crate.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod format_index;
mod kinds;
mod shapes;
mod stores;
