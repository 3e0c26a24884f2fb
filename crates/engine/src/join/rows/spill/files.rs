//! Spill files: the temporary files of the external sort, under the names of a join.

use super::claim::SpillName;
use crate::table::sort::{ByteStream, ByteStreamReader, ByteStreamWriter, ChunkFile, ChunkFileWriter};

/// Writes chunks to a spill file.
pub(crate) type ChunkWriter = ChunkFileWriter<SpillName>;
/// A completed spill file.
pub(crate) type SpillFile = ChunkFile<SpillName>;
/// Writes byte streams consecutively to a spill file.
pub(crate) type ByteWriter = ByteStreamWriter<SpillName>;
/// A byte stream of a spill file.
pub(crate) type SpilledBytes = ByteStream<SpillName>;
/// Reads a byte stream of a spill file.
pub(crate) type ByteReader = ByteStreamReader<SpillName>;
