//! Rows that lie apart: those of keys in files that are not sorted by the key.
//!
//! The index tells which rows are wanted, in key order. They are read in the order of the files, each page once, and
//! then brought into key order, in bounded memory:
//!
//! ```text
//! index --> rows in key order --> in file order --> pages, in rounds --> rows --> in key order
//!           `windows`             `list`            `reading`                     `gather`, or `spill` on disk
//! ```
//!
//! A scan does not know how far it is followed. So it begins with a window of one row, and each further window has
//! eight times the rows, as long as all windows together cost little beside one reading of all rows that are left. Then
//! it reads these at once. A scan that is followed to its end thus costs hardly more than one reading, and one that is
//! dropped at once about a lookup. Prices are those of the profile of the storage, and of decoding (`Data::price_us`).

pub(crate) mod gather;
mod list;
pub(crate) mod memory;
pub(crate) mod reading;
mod spill;
pub(crate) mod windows;
