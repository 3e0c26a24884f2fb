//! Records that expire: the time of a store, the points at which readers see it, and the rules of keyspaces.

pub(crate) mod rule;
pub(crate) mod store_time;
