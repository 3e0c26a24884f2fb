//! Pages that survive crashes: the layer under every index that is updated in place.
//!
//! A [`PageFile`] is a file of pages of one size. Readers take a [`Snapshot`]; the one writer takes a [`Transaction`], whose
//! changes become visible, all together, by its commit. Both are [`Pages`] to those who read them. `page` knows no index: what
//! a page means is the business of whoever wrote it.
//!
//! A commit appends the bytes that it changed to a log; a checkpoint brings them into the page file and starts the log anew.
//! Readers find a page in the log through a map in memory, and in the page file where the map has none. The format is
//! described in `docs/format/page.md`.

mod abandon;
mod checkpoint;
mod commit;
mod edit;
mod epochs;
mod extents;
mod file;
mod fresh;
mod header;
mod log_chain;
mod log_map;
mod options;
mod pages;
mod pool;
mod readers;
mod records;
mod recover;
#[cfg(test)]
mod schedule_tests;
mod shared;
mod snapshot;
mod space;
mod spill;
mod statistics;
mod tally;
mod transaction;
mod verify;
mod writer;

pub use abandon::LostLog;
pub use edit::PageEdit;
pub use file::PageFile;
pub use options::{Durability, PageOptions};
pub use pages::{Page, PageNumber, Pages};
pub use snapshot::Snapshot;
pub use statistics::PageStatistics;
pub use tally::{Phase, PhaseTally, Tally, Touched};
pub use transaction::Transaction;
