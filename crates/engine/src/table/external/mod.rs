//! Indexes over files of other programs.

pub(in crate::table) mod build;
pub(in crate::table) mod scan_index;

pub use build::{RecordFile, index_records, index_table};

// Seams for the other crates of this repository: hidden, and free to change with any version.
#[doc(hidden)]
pub use build::compare_records;
