//! The PGM index with the logarithmic method.
//!
//! Source: Ferragina and Vinciguerra, "The PGM-index" (VLDB 2020): Section 2 for the static index, Section 3 for
//! insertions and deletions, in the on-disk form of Lan et al. ("Updatable Learned Indexes Meet Disk-Resident DBMS"):
//! an insert buffer that is a sorted run on disk, and levels that grow by a factor of 8.
//!
//! A *run* is a static PGM: entries packed over consecutive pages, segments over them, segments over those. New entries
//! go to the buffer; a full buffer is merged with the runs of as many levels as it takes into one new run, in fresh
//! pages, in one pass that holds a page of each run in memory. A removed key leaves a tombstone, which goes when no
//! older run is left below it. Look-ups ask the buffer and then the runs, newest first; cursors merge all of them.
//!
//! What is ours: the uppermost level of a run is at most two segments, kept beside the run's description, when their
//! misses cost less than another page would; else the recursion ends at one page. The oldest and largest run is
//! described in the state, the others at the front of the buffer's page, so that after a bulk load nothing but the run
//! itself is read. What models say is a hint: a wrong one costs reads, never an answer.

mod buffer;
mod build;
mod cursor;
mod insert;
mod levels;
pub(super) mod line;
mod merge;
pub(super) mod packed;
mod remove;
mod run;
mod search;
mod state;
#[cfg(test)]
mod tests;
mod tree;
mod verify;

pub use tree::{Pgm, PgmOptions};
