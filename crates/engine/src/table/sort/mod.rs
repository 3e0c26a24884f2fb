//! External sort: records in any order become a stream in key order, within a budget of memory.
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
//! Where the buffers of all runs together would exceed the budget, some neighbouring runs are merged into one first.
//! Input that fits the buffer never touches the storage.
//!
//! Guarantees: the order is that of the key's bytes, and records of equal keys keep the order of their arrival. The
//! budget bounds all memory that the sort holds; a record that is handed out belongs to the caller. Run files are gone
//! when the sort ends, well or badly; those of a process that was killed are found by their names
//! ([`remove_leftovers`]). A damaged run is an error, never a shorter result.
//!
//! Source: Knuth, The Art of Computer Programming, volume 3, section 5.4 (balanced merging, trees of losers).

mod buffer;
mod merge;
mod run;
mod sorter;
#[cfg(test)]
mod tests;

pub use run::{SORT_SUFFIX, remove_leftovers};
pub use sorter::{SORT_BUDGET_BYTES_MIN, Sorted, Sorter};
