//! Sorts that are left out, or end early: rows are read in the order of an index, or from the end of the key.

mod by_index;
mod last_rows;

pub(crate) use by_index::ReadInIndexOrder;
pub(crate) use last_rows::ReadLastRows;
