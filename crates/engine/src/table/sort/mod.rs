//! External sort: records in any order become a stream in key order, within a limit of memory.
//!
//! Records collect in one buffer. When it is full, they are sorted and written to a *run*, a temporary file of
//! checksummed chunks. At the end all runs are merged, reading each from front to back:
//!
//! ```text
//! push ... push | full | push ... push | full | push ... finish
//!                 \ run 1                \ run 2        \ run 3
//!                    `-------- merged, in key order --------'
//! ```
//!
//! If the buffers of all runs together would exceed the memory, some neighbouring runs are merged into one first. Input
//! that fits the buffer is never written to storage.
//!
//! Guarantees: records are in the order of the key's bytes, and records with equal keys keep the order of their
//! arrival. The limit is of all memory that the sort holds; a record that was returned belongs to the caller. Run
//! files are removed when the sort ends, even on failure; those of a killed process are found by their names
//! (`remove_leftovers`). A damaged run is an error, never a shorter result.
//!
//! Joins sort rows of one width in place, without an index of records, and may read their runs repeatedly
//! (`join/input/sorted`). Both sorts share temporary files of checksummed chunks (`chunks.rs`), byte streams in them
//! (`stream.rs`), and the loser tree.
//!
//! Source: Knuth, The Art of Computer Programming, volume 3, section 5.4 (balanced merging, trees of losers).

mod buffer;
mod chunks;
mod loser_tree;
mod merge;
mod run;
mod sorter;
pub(super) mod sorting;
mod stream;
#[cfg(test)]
mod tests;

pub(crate) use chunks::{ChunkFile, ChunkFileWriter, ChunkLocation, TemporaryFile};
pub(crate) use loser_tree::LoserTree;
pub(crate) use run::{SORT_SUFFIX, remove_leftovers};
pub(crate) use sorter::SORT_MEMORY_BYTES_MIN;
pub(crate) use stream::{ByteStream, ByteStreamReader, ByteStreamWriter, StreamRange};

// Seams for the other crates of this repository: hidden, and free to change with any version.
#[doc(hidden)]
pub use sorter::{Sorted, Sorter};
