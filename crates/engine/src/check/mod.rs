//! Walks over whole stores: to check everything, and to save what can be saved.
//!
//! [`verify_store`] trusts nothing: each file that the manifest names is read to its last byte (`tables`, `values`, `logs`), held against
//! what the manifest says of it, and every pointer is followed. [`repair_store`] makes of a damaged store a sound one that holds all that
//! checksums prove.

mod foreign;
mod logs;
mod mend;
mod rebuild;
mod repair;
mod report;
mod salvage;
mod tables;
mod values;
mod verify;

pub use repair::{Repaired, repair_store};
pub use report::{StoreFinding, StoreReport};
pub use verify::verify_store;
