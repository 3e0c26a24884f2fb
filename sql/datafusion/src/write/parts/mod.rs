//! Rows as tables of ranges of keys, which tasks of several machines write.
//!
//! ```text
//! 1. rows -> SampleKeysExec                                     keys of a sample: where to cut
//! 2. rows -> KeyRangesExec -> exchange -> WriteTablesExec       a table a range, and its name as a row
//! ```
//!
//! The statement then gives the tables to its target by one commit. A task that is run twice writes two tables: one is
//! named by a row, and the other removed.

mod encoder;
mod node;
mod ranges;
mod sample;
mod tables;

pub use node::{PartsNode, PartsPlanner, PartsStep};
pub use ranges::KeyRangesExec;
pub use sample::{SampleKeysExec, cuts_of};
pub use tables::{TablesPlace, WriteTablesExec};
