//! Crash-safe pages: the storage layer under every index that is updated in place.
//!
//! A [`PageFile`] is a file of pages of one size. Readers take a [`PageSnapshot`]; the single writer takes a
//! [`Transaction`], whose changes become visible atomically at commit. Both implement [`Pages`]. This layer does not
//! interpret the content of pages, and knows no index.
//!
//! A commit appends its changed bytes to a log; a checkpoint copies them to the page file and starts a new log. Readers
//! find a page in the log through a map in memory, and in the page file otherwise. The format is described in
//! `docs/format/page.md`.
//!
//! ```text
//! snapshot, transaction
//!        |
//!      pool --> map of the log --> log segments  NAME.log-7, NAME.log-8     changed byte ranges; first a full page
//!        '-----------------------> page file     NAME                       checkpointed pages, and fresh extents
//! ```
//!
//! A commit appends the byte ranges that its transaction changed, and one record that makes them valid. New nodes of
//! many pages and bulk loads are written directly to free pages of the page file (`fresh`), which are synced before
//! that record. A reader finds the newest version of each page in the log that is not younger than its commit, else the
//! page in the page file. A checkpoint seals a segment, writes the newest pages that the oldest reader allows, and
//! removes the segment. Recovery reads the log in the same way.
//!
//! | files | contents |
//! |---|---|
//! | `file`, `snapshot`, `transaction`, `edit` | handles |
//! | `commit`, `checkpoint`, `spill`, `fresh`, `writer` | writes; when a checkpoint is due, and what it writes |
//! | `log_map`, `log_chain`, `records` | pages in the log; the segments that must exist; the records of a commit |
//! | `space`, `space_map`, `extents` | free pages, and when they are used again |
//! | `pool`, `store` | resident pages within a budget, and what is evicted; pages as checked bytes |
//! | `recovery` | opening after a crash, verification, rescue |
//! | `readers` | readers in other processes |

mod checkpoint;
mod commit;
mod dirty_page;
mod edit;
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
mod recovery;
#[cfg(test)]
mod schedule_tests;
mod shared;
mod snapshot;
mod space;
mod space_map;
mod spill;
mod spilled_pages;
mod statistics;
mod store;
mod telemetry;
mod transaction;
mod write_statistics;
mod writer;
mod writer_state;

pub use edit::PageEdit;
pub use file::PageFile;
pub(crate) use header::USER_BYTES_MAX;
pub use options::PageOptions;
pub use pages::{Page, PageNumber, Pages};
pub use recovery::abandon::LostLog;
pub(crate) use recovery::rescue::RescuedFile;
pub use snapshot::PageSnapshot;
pub use statistics::PageStatistics;
pub use transaction::Transaction;
pub use write_statistics::{PagePhase, PagePhaseStatistics, PageTouch, PageWriteStatistics};
