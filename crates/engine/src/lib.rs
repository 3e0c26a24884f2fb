//! # Ogive
//!
//! A storage engine that learns the cumulative curve of its keys and uses it to turn a key into the fewest bytes read
//! from wherever the data lives.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking"))]

pub mod block;
mod error;
pub mod io;
pub mod table;

pub use error::{Error, Result};
