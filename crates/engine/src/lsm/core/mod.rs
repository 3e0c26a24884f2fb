//! The core of an open store: what its handles, writers and background threads share.
//!
//! [`Core`](store::Core) is the store as a whole, of five parts: `access`, `files`, `contents`, `writes`, `background`.
//! The state under one lock is `shared`. What keeps it consistent is here: changes of its state, failures, the room for
//! tables, the numbers of files. What else is done with it is in the other rooms.

mod access;
mod background;
pub(super) mod contents;
mod file_numbers;
pub(super) mod files;
pub(super) mod groups_in_flight;
pub(super) mod replayed_logs;
pub(super) mod reports;
pub(super) mod room;
pub(super) mod scrub;
pub(super) mod shared;
pub(super) mod store;
pub(super) mod telemetry;
pub(crate) mod wal;
pub(super) mod write_queue;
pub(super) mod writer;
mod writes;
