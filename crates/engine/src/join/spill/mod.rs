//! Spill files: what a join puts aside while memory is short.
//!
//! All files of one join have one claim, sixteen random hexadecimal digits, in their names, and the join holds a lock under that claim for as long as
//! it lives:
//!
//! ```text
//! out.0123456789abcdef.spill-lock     held by the join
//! out.0123456789abcdef-000.spill      its first file; whatever begins with this name belongs to it
//! out.0123456789abcdef-001.spill
//! ```
//!
//! Each file is removed when whoever holds it lets go, on success, on an error, and when the join is interrupted. What a killed join left is removed by
//! the next join of the same prefix, which can take the dead one's lock; it cannot take that of a join that lives, whose files it
//! leaves alone.
//!
//! Files consist of chunks, each under a checksum that also says where the chunk belongs. Nothing is made durable: after a
//! crash nobody wants it.

mod claim;
mod file;
mod stream;
#[cfg(test)]
mod tests;

pub(crate) use claim::{Spill, SpillName};
pub(crate) use file::{ChunkWriter, Place, SpillFile};
pub(crate) use stream::{ByteReader, ByteWriter, Bytes, Section};
