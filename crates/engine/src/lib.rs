//! # Ogive
//!
//! A storage engine that learns the cumulative curve of its keys and uses it to turn a key into the fewest bytes read
//! from wherever the data lives.

pub mod block;
mod error;
pub mod io;
pub mod table;
pub mod tune;

pub use error::{Error, Result};
