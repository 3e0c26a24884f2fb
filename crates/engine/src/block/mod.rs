//! Blocks: the checksum that ties each to its place, its compression, and the cache that keeps some in memory.
//!
//! `block` knows bytes and places, not records.

pub mod cache;
pub mod checksum;
pub mod compress;
mod slice;

pub use cache::{BlockCache, BlockKey};
pub use compress::{CodecError, Compression};
pub use slice::Slice;
