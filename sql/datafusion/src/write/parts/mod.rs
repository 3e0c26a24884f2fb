//! Rows as tables of ranges of keys, written by tasks on several machines.
//!
//! ```text
//! 1. rows -> SampleKeysExec                                     keys of a sample: where to cut
//! 2. rows -> KeyRangesExec -> exchange -> WriteTablesExec       a table a range, and its name as a row
//! ```
//!
//! The statement then adds the tables to its target in one commit. A task that is run twice writes two tables: a row
//! names one, and the other is removed.

mod encoder;
mod node;
mod ranges;
mod sample;
mod tables;

pub use node::{PartsNode, PartsPlanner, PartsStep};
pub use ranges::KeyRangesExec;
pub use sample::{SampleKeysExec, cuts_of};
pub use tables::{TablesPlace, WriteTablesExec};
