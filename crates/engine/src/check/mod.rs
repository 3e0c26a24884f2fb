//! Verification and repair of whole stores, and repair of tables and indexes.
//!
//! `verify_store` trusts nothing: it reads each file that the manifest names to its last byte (`verify_tables`,
//! `verify_values`, `verify_logs`), compares it with the manifest, and follows every pointer. `repair_store` turns a
//! damaged store into a sound one that keeps all entries that checksums prove. [`repair_table`] and [`repair_index`]
//! copy what checksums prove of a damaged file to a new one, and name the ranges of keys that are lost.

mod foreign;
mod losses;
mod rebuild;
mod recovering_cursor;
mod repair;
mod repair_in_place;
mod repair_index;
mod repair_table;
mod report;
mod verify;
mod verify_logs;
mod verify_tables;
mod verify_values;

pub use losses::{FileRepairReport, LostRange};
pub use repair::{RepairReport, repair_store};
pub use repair_index::repair_index;
pub use repair_table::repair_table;
pub use report::{StoreFinding, StoreReport};
pub(crate) use verify::verify_closed;
pub use verify::verify_store;
