//! Blocks: checksums bound to a location, compression, and the block cache. This module knows bytes and offsets, not
//! records.

pub(crate) mod appender;
pub mod cache;
pub mod checksum;
pub mod compress;
pub(crate) mod header;
mod key_prefix;
mod number_hash;
mod slice;
pub(crate) mod stream;
#[cfg(test)]
pub(crate) mod test_examples;
pub(crate) mod varint;
pub(crate) mod window;

pub use cache::{BlockCache, BlockKey};
pub use compress::{CodecError, Compression};
pub(crate) use key_prefix::{KeyPrefixes, key_prefix, key_prefix_after, key_prefix_at};
pub(crate) use number_hash::NumberHash;
pub use slice::Slice;
