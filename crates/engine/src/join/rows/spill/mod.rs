//! Spill files: temporary files for rows that exceed the memory of a join.
//!
//! All files of one join carry the same claim in their names, sixteen random hexadecimal digits, and the join holds a
//! lock under that claim while it runs:
//!
//! ```text
//! out.0123456789abcdef.spill-lock     held by the join
//! out.0123456789abcdef-000.spill      its first file; any name with this beginning belongs to it
//! out.0123456789abcdef-001.spill
//! ```
//!
//! Each file is removed when its owner drops it: on success, on an error, and on interruption. Files of a killed join
//! are removed by the next join with the same prefix, which can acquire the dead join's lock. It cannot acquire the
//! lock of a running join, and leaves that join's files alone.
//!
//! Files consist of checksummed chunks, as those of every external sort.

mod claim;
mod files;
#[cfg(test)]
mod tests;

pub(crate) use claim::Spill;
pub use claim::SpillName;
pub(crate) use files::{ByteReader, ByteWriter, ChunkWriter, SpillFile, SpilledBytes};
