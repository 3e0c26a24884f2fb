//! The vocabulary of followers of a store: positions in its history, and the record of what is kept of it.

pub(in crate::lsm) mod kept;
pub(in crate::lsm) mod position;
pub(in crate::lsm) mod small_file;
