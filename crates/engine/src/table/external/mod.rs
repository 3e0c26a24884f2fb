//! Indexes over files of other programs.

pub(in crate::table) mod build;
pub(in crate::table) mod scan_index;

pub use build::{RecordFile, compare_records, index_records, index_table};
