//! Table verification: a walk over every byte, every record and every index route of a table.
//!
//! A reader trusts what carries a valid checksum; the walk trusts nothing. It recomputes the checksum of every block and page
//! (`layers`, `blocks`), holds the records against the order that was promised and against what the metadata, the counts and
//! the filter say of them (`blocks`), asks the index for every key, and for absent ones on both sides of each border between
//! blocks, whether it leads there within the reads that the file promises (`route`), and accounts for every byte of the
//! file (`space`). So it also finds what a checksum cannot: an index that was forged, or written by a faulty program.
//!
//! It reads the table front to back, and holds one stretch of blocks at a time beside what an open table holds anyway.

mod blocks;
mod layers;
mod report;
mod route;
mod space;
#[cfg(test)]
mod tests;
mod walk;

pub use report::{Finding, TableVerifyReport};
