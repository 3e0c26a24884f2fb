//! The validation of transactions, as far as it needs no store: read sets, and what is newer in a view.

pub(in crate::lsm) mod newer;
pub(in crate::lsm) mod read_set;
