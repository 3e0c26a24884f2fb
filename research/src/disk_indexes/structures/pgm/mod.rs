//! The PGM index with the logarithmic method.
//!
//! MergeSource: Ferragina and Vinciguerra, "The PGM-index" (VLDB 2020): Section 2 for the static index, Section 3 for
//! insertions and deletions, in the on-disk form of Lan et al. ("Updatable Learned Indexes Meet Disk-Resident DBMS"):
//! an insert buffer that is a sorted run on disk, and levels that grow by a factor of 8.
//!
//! A *run* is a static PGM: entries packed into consecutive pages, segments over them, segments over those. New entries
//! go to the buffer. A full buffer is merged with the runs of one or more levels into a new run, in fresh pages, in one
//! pass that holds a page of each run in memory. A removed key leaves a tombstone, which is dropped when no older run
//! is left below it. Lookups search the buffer and then the runs, newest first; cursors merge all of them.
//!
//! Differences from the papers: the uppermost level of a run is one or two segments in the run's description, if their
//! misses cost less than another page; else the recursion ends at one page. The oldest and largest run is described in
//! the state, the others at the front of the buffer's page, so that after a bulk load only the run itself is read.
//! Predictions are approximate: a wrong one costs reads, but never an answer.

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
mod structure;
#[cfg(test)]
mod tests;
mod tree;
mod verify;

pub use tree::{PgmOptions, PgmTree};
