//! Blocks: the checksum that ties each to its place, its compression, and the cache that keeps some in memory.
//!
//! `block` knows bytes and places, not records.

pub mod checksum;
pub mod compress;

pub use compress::{CodecError, Compression};
