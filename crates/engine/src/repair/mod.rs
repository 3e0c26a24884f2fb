//! Repair of damaged stores, tables and indexes.
//!
//! [`repair_store`] turns a damaged store into a sound one that keeps all entries that checksums prove.
//! [`repair_table`] and [`repair_index`] copy what checksums prove of a damaged file to a new one, and name the ranges
//! of keys that are lost.

mod foreign;
mod in_place;
#[cfg(feature = "index")]
mod index;
mod losses;
mod rebuild;
mod recovering_cursor;
mod store;
mod table;

#[cfg(feature = "index")]
pub use index::repair_index;
pub use losses::{FileRepairReport, LostRange};
pub use store::{RepairReport, repair_store};
pub use table::repair_table;
