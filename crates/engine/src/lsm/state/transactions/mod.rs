//! Transactions as far as they need no store: sets of keys, what was read, what is newer in a view, and which are open.

pub(in crate::lsm) mod key_intervals;
pub(in crate::lsm) mod newer;
pub(in crate::lsm) mod open_transactions;
pub(in crate::lsm) mod read_set;
