//! Table verification: a walk over every byte, every record and every index route of a table.
//!
//! A reader trusts data with a valid checksum; the walk trusts nothing. It recomputes the checksum of every block and
//! page (`layers`, `blocks`); compares the records with their stated order and with metadata, counts and filter
//! (`blocks`); routes every key, and absent keys on both sides of each border between blocks, through the index within
//! the reads that the file states (`route`); and accounts for every byte of the file (`space`). It therefore also finds
//! defects that a checksum cannot: an index that was manipulated, or written by a faulty program.
//!
//! The walk reads the table front to back, and holds one run of blocks in addition to the memory of an open table.

mod blocks;
mod layers;
mod report;
pub(super) mod rescue;
mod route;
mod space;
#[cfg(test)]
mod tests;
mod walk;

pub use report::{Finding, TableVerifyReport};
pub(crate) use walk::WalkStep;
