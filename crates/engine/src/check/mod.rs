//! Verification and repair of whole stores.
//!
//! `verify_store` trusts nothing: it reads each file that the manifest names to its last byte (`verify_tables`,
//! `verify_values`, `verify_logs`), compares it with the manifest, and follows every pointer. `repair_store` turns a
//! damaged store into a sound one that keeps all entries that checksums prove.

mod foreign;
mod rebuild;
mod recovering_cursor;
mod repair;
mod repair_in_place;
mod report;
mod verify;
mod verify_logs;
mod verify_tables;
mod verify_values;

pub use repair::{RepairReport, repair_store};
pub use report::{StoreFinding, StoreReport};
pub use verify::verify_store;
